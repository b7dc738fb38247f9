/* The clock, in C: how long a kernel takes, how fast one core multiplies, and how
 * fast it reads and writes. Self-contained; built by timer.py with the flags of
 * one ISA and -DTW_LANES=<floats in a vector>.
 *
 * Every rate is the best of many short chunks: interrupts and neighbours only ever
 * make a chunk slower, so the best one is nearest to what the core can do. */
#include <stddef.h>
#include <stdint.h>
#include <time.h>
/* Instructions of x86 have the names that compilers know by themselves: to read immintrin.h, which has
 * the usual ones, takes twice as long as all else here. */

typedef float vector __attribute__((vector_size(4 * TW_LANES)));
typedef int32_t bits __attribute__((vector_size(4 * TW_LANES), may_alias));

/* To hide latency a core needs latency x throughput independent chains: 4 or 5
 * cycles x 2 per cycle = 8 to 10 on x86, 4 x 4 = 16 on wide Arm cores. Sixteen
 * chains and two constants fit in 32 vector registers; where there are only 16,
 * twelve chains, two constants and one product (no FMA) do. */
#if defined(__AVX512VL__) || (defined(__AVX512F__) && TW_LANES == 16) || defined(__aarch64__)
#define TW_CHAINS 16
#define EACH_CHAIN(DO) EACH_OF_12(DO) DO(12) DO(13) DO(14) DO(15)
#else
#define TW_CHAINS 12
#define EACH_CHAIN(DO) EACH_OF_12(DO)
#endif
#define EACH_OF_8(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7)
#define EACH_OF_12(DO) EACH_OF_8(DO) DO(8) DO(9) DO(10) DO(11)

/* The compiler must neither drop nor merge what is measured: constants come from
 * here and results go here, whole: of one lane alone it could drop the others. */
static volatile float float_in[2] = {0.5f, 0.5f};
static volatile int32_t int_in = 7;
static volatile vector float_out;
static volatile bits int_out;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* GFLOP/s (f32, an FMA is two operations) of this thread, measured for `seconds`. */
double tw_peak(double seconds) {
    const long rounds = 1 << 14;
    const vector zero = {0};
    const vector a = zero + float_in[0], b = zero + float_in[1];
#define START(k) vector acc##k = zero + float_in[0] * (k + 1);
    EACH_CHAIN(START)
    double best = 0.0, begin = now(), before = begin, after;
    do {
        for (long i = 0; i < rounds; i++) {
#define FMA(k) acc##k = acc##k * a + b;
            EACH_CHAIN(FMA)
        }
        /* The chains pass through here, so no chunk can move past the clock. */
        vector sum = zero;
#define ADD(k) sum += acc##k;
        EACH_CHAIN(ADD)
        float_out = sum;
        after = now();
        double rate = 2e-9 * TW_LANES * TW_CHAINS * (double)rounds / (after - before);
        if (rate > best) best = rate;
        before = now();
    } while (after - begin < seconds);
    return best;
}

/* A kernel takes x, w, y and up to four more arrays. The switch stands outside the clock. */
typedef void (*tw_kernel)(void);
typedef const void *in;

#define CALLS(TYPES, ...)                                                              \
    do {                                                                               \
        void (*run)TYPES = (void (*)TYPES)kernel;                                      \
        double begin = now();                                                          \
        for (int i = 0; i < calls; i++) run(__VA_ARGS__);                              \
        return now() - begin;                                                          \
    } while (0)

static double time_of(tw_kernel kernel, void *const *a, int arrays, int calls) {
    switch (arrays) {
    case 3: CALLS((in, in, void *), a[0], a[1], a[2]);
    case 4: CALLS((in, in, void *, in), a[0], a[1], a[2], a[3]);
    case 5: CALLS((in, in, void *, in, in), a[0], a[1], a[2], a[3], a[4]);
    case 6: CALLS((in, in, void *, in, in, in), a[0], a[1], a[2], a[3], a[4], a[5]);
    default: CALLS((in, in, void *, in, in, in, in), a[0], a[1], a[2], a[3], a[4], a[5], a[6]);
    }
}

/* Fills seconds[samples] with seconds per call. Each sample is as many calls as
 * last min_sample_seconds; returns that number of calls. */
int tw_time(tw_kernel kernel, void *const *a, int arrays, int warmup, int samples,
            double min_sample_seconds, double *seconds) {
    time_of(kernel, a, arrays, warmup);
    int calls = 1;
    double took = time_of(kernel, a, arrays, calls);
    while (took < min_sample_seconds && calls < 1 << 28) {
        /* At most eightfold a step: one slow first call must not fix the number,
         * nor a clock that did not tick make it enormous. */
        double wanted = 1.1 * calls * min_sample_seconds / (took > 1e-9 ? took : 1e-9);
        calls = wanted > 8.0 * calls ? 8 * calls : (int)wanted + 1;
        took = time_of(kernel, a, arrays, calls);
    }
    for (int s = 0; s < samples; s++) seconds[s] = time_of(kernel, a, arrays, calls) / calls;
    return calls;
}

/* Writes what lies in `bytes` bytes back to memory, out of the caches of all cores. */
static int emptied(const char *first, size_t bytes) {
#if defined(__SSE2__)
    for (size_t at = 0; at < bytes; at += 64) __builtin_ia32_clflush(first + at);
    if (bytes) __builtin_ia32_clflush(first + bytes - 1);
    __builtin_ia32_mfence();
    return 1;
#elif defined(__aarch64__)
    for (size_t at = 0; at < bytes; at += 16) __asm__ volatile("dc civac, %0" ::"r"(first + at) : "memory");
    __asm__ volatile("dsb sy" ::: "memory");
    return 1;
#else
    (void)first, (void)bytes;
    return 0;
#endif
}

/* Fills seconds[at most samples] with single calls, each with all arrays in memory and not in caches, until the calls
 * have taken `most` seconds; returns how many, at least one. 0: this CPU has no instruction that empties caches. */
int tw_time_cold(tw_kernel kernel, void *const *a, const size_t *bytes, int arrays, int samples, double most,
                 double *seconds) {
    double spent = 0.0;
    int done = 0;
    while (done < samples && (done == 0 || spent < most)) {
        for (int i = 0; i < arrays; i++)
            if (!emptied(a[i], bytes[i])) return 0;
        seconds[done] = time_of(kernel, a, arrays, 1);
        spent += seconds[done++];
    }
    return done;
}

/* A buffer as whole blocks of 8 aligned vectors, and the passes over it that make
 * one chunk: at least 4 MiB, so that the clock's own cost disappears. */
typedef struct { bits *first; size_t blocks, passes; } blocks;

static blocks blocks_in(const void *buffer, size_t bytes) {
    const uintptr_t align = 64;
    uintptr_t begin = ((uintptr_t)buffer + align - 1) & ~(align - 1);
    size_t lost = begin - (uintptr_t)buffer, block = 8 * sizeof(bits);
    blocks all = {(bits *)begin, bytes > lost ? (bytes - lost) / block : 0, 1};
    if (all.blocks) all.passes += ((size_t)4 << 20) / (all.blocks * block);
    return all;
}

#define BEST_RATE(PASS, FINISH)                                                        \
    blocks all = blocks_in(buffer, bytes);                                             \
    if (!all.blocks) return 0.0;                                                       \
    double size = (double)all.blocks * 8 * sizeof(bits) * (double)all.passes;          \
    double best = 0.0, begin = now(), before = begin, after;                           \
    do {                                                                               \
        for (size_t pass = 0; pass < all.passes; pass++) {                             \
            bits *p = all.first, *end = p + 8 * all.blocks;                            \
            for (; p != end; p += 8) { EACH_OF_8(PASS) }                               \
            __asm__ volatile("" ::: "memory"); /* each pass touches memory again */    \
        }                                                                              \
        FINISH                                                                         \
        after = now();                                                                 \
        if (size / (after - before) > best) best = size / (after - before);            \
        before = now();                                                                \
    } while (after - begin < seconds)

/* Bytes/s read in order. Eight sums, each a load and an operation of one cycle, so
 * that loads are what limits it. 0 for a buffer of less than one block. */
double tw_read_bandwidth(const void *buffer, size_t bytes, double seconds) {
    const bits zero = {0};
    bits sum = zero;
#define CLEAR(k) bits acc##k = zero;
    EACH_OF_8(CLEAR)
#define LOAD(k) acc##k ^= p[k];
    BEST_RATE(LOAD, );
#define FOLD(k) sum ^= acc##k;
    EACH_OF_8(FOLD)
    int_out = sum;
    return best;
}

/* Bytes/s stored in order with plain stores; the reads that a cache makes to own
 * the lines are not counted. */
double tw_write_bandwidth(void *buffer, size_t bytes, double seconds) {
    const bits zero = {0};
    const bits value = zero + int_in;
#define STORE(k) p[k] = value;
    BEST_RATE(STORE, );
    return best;
}

/* Stores that bypass the caches, where the ISA has them at this width. */
#ifndef __has_builtin
#define __has_builtin(name) 0
#endif
#if __has_builtin(__builtin_nontemporal_store)
#define STREAM(k) __builtin_nontemporal_store(value, p + (k));
#elif defined(__AVX512F__) && TW_LANES == 16
#define STREAM(k) __builtin_ia32_movntps512((float *)(p + (k)), (vector)value);
#elif defined(__AVX__) && TW_LANES == 8
#define STREAM(k) __builtin_ia32_movntps256((float *)(p + (k)), (vector)value);
#elif defined(__SSE2__) && TW_LANES == 4
#define STREAM(k) __builtin_ia32_movntps((float *)(p + (k)), (vector)value);
#else
#define STREAM(k) STORE(k)
#endif
#if defined(__SSE2__)
#define DRAIN __builtin_ia32_sfence(); /* streamed bytes still in buffers count as time */
#else
#define DRAIN
#endif

/* Bytes/s stored in order with streaming stores (plain ones where there are none). */
double tw_stream_bandwidth(void *buffer, size_t bytes, double seconds) {
    const bits zero = {0};
    const bits value = zero + int_in;
    BEST_RATE(STREAM, DRAIN);
    return best;
}
