/*
 * The twin of elements.cuh: every element that a kernel reads or writes is checked.
 *
 *   bounds   It lies in the block's shared memory or in an array, at a multiple of its size.
 *   roles    Nothing writes to an input. Each byte of an output is written exactly once.
 *   races    Each byte knows who wrote and read it, in shared and in global memory. An access that needs a barrier
 *            before it, and has none, is an error; so is one that would need another launch.
 */

#define INF_F32 INFINITY
#define NAN_F32 NAN
#define INF_F64 ((double)INFINITY)
#define NAN_F64 ((double)NAN)

/* TWIN_ROOM: memory between launches, or of a block, that may be written to again. */
enum twin_role { TWIN_INPUT, TWIN_OUTPUT, TWIN_ROOM };

/* Who wrote and read a byte, and between which barriers. A block counts from 1; 0 is nobody. A reader is -2 - w for
 * several lanes of warp w, -1 for threads of several warps; its block is -1 for several blocks. */
struct twin_touch {
    uint32_t write_epoch, write_warp_epoch, read_epoch, read_warp_epoch;
    int write_block, read_block;
    int16_t writer, reader;
};

struct twin_array { char *base; long bytes; enum twin_role role; struct twin_touch *touches; };

static struct { struct twin_array *arrays; int count; struct twin_touch *shared; } twin_elements;

static void *twin_shared_at(long at) { return twin_here()->shared + at; }
#define SHARED(type, at) ((type *)twin_shared_at(at))

DEVICE void report(int *outside) { *outside = 1; }

static int twin_block_now(void) { return 1 + (int)(twin.first_block + (unsigned)(twin.here - twin.blocks)); }

/* Whether an access of a thread, or of several, may come after what this thread does now. */
static int twin_may_race(int block, uint32_t epoch, uint32_t warp_epoch, int thread, int shared)
{
    const int self = twin.thread;
    if (block == 0 || (shared && block != twin_block_now()))
        return 0;                    /* the shared memory of a block that has ended was another one */
    if (block != twin_block_now())
        return 1;
    if (epoch != twin_here()->epoch || thread == self)
        return 0;
    const int warp = thread >= 0 ? thread / 32 : -2 - thread;
    return warp != self / 32 || warp_epoch == twin.current->warp_epoch;
}

static void twin_note_reader(struct twin_touch *t, int shared)
{
    const int self = twin.thread, block = twin_block_now();
    int reader = self, by = block;
    if (t->read_block && !(shared && t->read_block != block)) {
        if (t->read_block != block)
            by = -1;
        else if (t->read_epoch == twin_here()->epoch && t->reader != self)
            reader = (t->reader >= 0 ? t->reader / 32 : -2 - t->reader) == self / 32 ? -2 - self / 32 : -1;
    }
    t->read_block = by;
    t->reader = (int16_t)reader;
    t->read_epoch = twin_here()->epoch;
    t->read_warp_epoch = twin.current->warp_epoch;
}

static unsigned twin_address(const void *p) { return TWIN_BASE + (unsigned)((const char *)p - twin_here()->shared); }

/* Checks and notes an access; whether it reads global memory. */
static int twin_check(const void *place, int bytes, int align, int write, const char *what)
{
    const char *p = place, *base = twin_here()->shared;
    struct twin_touch *touches = twin_elements.shared + (twin_here() - twin.blocks) * twin.shared_bytes;
    struct twin_array *array = NULL;
    const int shared = p >= base && p < base + twin.shared_bytes;
    if (shared) {
        if (p + bytes > base + twin.shared_bytes)
            twin_fail("%s touches memory behind the %d bytes of shared memory", what, twin.shared_bytes);
        if (write)
            twin_note_write(twin_address(p), bytes, what); /* whether the copy engine reads or writes it */
        else
            twin_note_read(twin_address(p), bytes, twin_self(), what);
    } else {
        for (int i = 0; i < twin_elements.count && !array; ++i) {
            struct twin_array *a = twin_elements.arrays + i;
            array = p >= a->base && p + bytes <= a->base + a->bytes ? a : NULL;
        }
        if (!array)
            twin_fail("%s touches memory outside every array", what);
        base = array->base;
        touches = array->touches;
        if (write && array->role == TWIN_INPUT)
            twin_fail("%s writes to an input", what);
    }
    if ((uintptr_t)p % (uintptr_t)align)
        twin_fail("%s needs an address that is a multiple of %d", what, align);
    const char *where = shared ? "shared memory" : "global memory";
    for (int i = 0; touches && i < bytes; ++i) {
        struct twin_touch *t = touches + (p - base) + i;
        const long at = (long)(p - base) + i;
        if (twin_may_race(t->write_block, t->write_epoch, t->write_warp_epoch, t->writer, shared))
            twin_fail("%s touches byte %ld of %s, which thread %d of block %d wrote: a barrier is missing", what, at,
                      where, t->writer, t->write_block - 1);
        if (!write) {
            twin_note_reader(t, shared);
            continue;
        }
        if (twin_may_race(t->read_block, t->read_epoch, t->read_warp_epoch, t->reader, shared))
            twin_fail("%s overwrites byte %ld of %s, which another thread read: a barrier is missing", what, at, where);
        if (!shared && array->role == TWIN_OUTPUT && t->write_block)
            twin_fail("%s writes byte %ld of an output a second time", what, at);
        t->write_block = twin_block_now();
        t->write_epoch = twin_here()->epoch;
        t->write_warp_epoch = twin.current->warp_epoch;
        t->writer = (int16_t)twin.thread;
    }
    return !write && !shared;
}

/* The same of an access by registers: the twin counts what they load. */
static void twin_touch(const void *place, int bytes, int align, int write, const char *what)
{
    twin.report->loads += twin_check(place, bytes, align, write, what);
}

static float twin_plain_half(unsigned short bits) { return twin_half_of(bits); }
static float twin_plain_bf16(unsigned short bits) { return twin_bf16_of(bits); }

#define ELEMENTS(dtype, type, stored, taken, made) \
    DEVICE type get_##dtype(const stored *p) \
    { \
        twin_touch(p, sizeof *p, sizeof *p, 0, "get_" #dtype); \
        return taken(*p); \
    } \
    DEVICE void put_##dtype(stored *p, type v) \
    { \
        twin_touch(p, sizeof *p, sizeof *p, 1, "put_" #dtype); \
        *p = made(v); \
    } \
    DEVICE void get2_##dtype(type *to, const stored *p) \
    { \
        twin_touch(p, 2 * sizeof *p, 2 * sizeof *p, 0, "get2_" #dtype); \
        to[0] = taken(p[0]); \
        to[1] = taken(p[1]); \
    } \
    DEVICE void put2_##dtype(stored *p, const type *from) \
    { \
        twin_touch(p, 2 * sizeof *p, 2 * sizeof *p, 1, "put2_" #dtype); \
        p[0] = made(from[0]); \
        p[1] = made(from[1]); \
    } \
    DEVICE void get4_##dtype(type *to, const stored *p) \
    { \
        twin_touch(p, 4 * sizeof *p, 4 * sizeof *p < 16 ? 4 * sizeof *p : 16, 0, "get4_" #dtype); \
        for (int i = 0; i < 4; ++i) \
            to[i] = taken(p[i]); \
    } \
    DEVICE void put4_##dtype(stored *p, const type *from) \
    { \
        twin_touch(p, 4 * sizeof *p, 4 * sizeof *p < 16 ? 4 * sizeof *p : 16, 1, "put4_" #dtype); \
        for (int i = 0; i < 4; ++i) \
            p[i] = made(from[i]); \
    }

ELEMENTS(f32, float, float, , )
ELEMENTS(f64, double, double, , )
ELEMENTS(f16, float, unsigned short, twin_plain_half, twin_to_half)
ELEMENTS(bf16, float, unsigned short, twin_plain_bf16, twin_to_bf16)
ELEMENTS(s64, long long, long long, , )
ELEMENTS(u64, unsigned long long, unsigned long long, , )
ELEMENTS(s32, int, int, , )
ELEMENTS(u32, unsigned, unsigned, , )
ELEMENTS(s16, short, short, , (short))
ELEMENTS(u16, unsigned short, unsigned short, , (unsigned short))
ELEMENTS(s8, signed char, signed char, , (signed char))
ELEMENTS(u8, unsigned char, unsigned char, , (unsigned char))
ELEMENTS(bool, int, unsigned char, , (unsigned char))
ELEMENTS(tf32, unsigned, unsigned, , )

DEVICE unsigned tf32_of(float v) { return round_tf32(twin_bits(v)); }

DEVICE unsigned shared_address(const void *p) { return twin_address(p); }

/* Copies are noted in the history of twin.h, which get_matrices asks too. */
#define COPIES(bytes) \
    DEVICE void copy_async_##bytes(void *to, const void *from, int inside) \
    { \
        if (inside) \
            twin_check(from, bytes, bytes, 0, "copy_async_" #bytes); \
        twin_start_copy(twin_address(to), from, inside, bytes, "copy_async_" #bytes); \
    }

COPIES(16)
COPIES(8)
COPIES(4)

/* The place of a row that this lane gives. */
static unsigned twin_row(const void *p, const char *what)
{
    twin_touch(p, 16, 16, 0, what);
    return twin_address(p);
}

DEVICE void get_matrices(unsigned *to, const void *p) { ldmatrix_x4(to, twin_row(p, "get_matrices")); }
DEVICE void get_matrices_tf32(unsigned *to, const void *p)
{
    get_matrices(to, p);
    for (int i = 0; i < 4; ++i)
        to[i] = round_tf32(to[i]);
}
DEVICE void get_matrices_across(unsigned *to, const void *p) { ldmatrix_x4_trans(to, twin_row(p, "get_matrices_across")); }

DEVICE float round_f16(float v) { return twin_half_of(twin_to_half(v)); }
DEVICE float round_bf16(float v) { return twin_bf16_of(twin_to_bf16(v)); }

/* Rounds once: the f32 between is rounded towards zero, with a last bit of 1 where something was lost. */
DEVICE float round_f16_of_f64(double v)
{
    float near = (float)v;
    if (!isfinite(near) || (double)near == v)
        return round_f16(near);
    uint32_t bits = twin_bits(near);
    bits -= fabs((double)near) > fabs(v);
    return round_f16(twin_from_bits(bits | 1));
}

static void twin_exchange(struct twin_thread *lanes)
{
    char values[32][8];
    for (int lane = 0; lane < 32; ++lane)
        memcpy(values[lane], lanes[lane].arguments[0], *(size_t *)lanes[lane].arguments[2]);
    for (int lane = 0; lane < 32; ++lane)
        memcpy(lanes[lane].arguments[0], values[lane ^ *(int *)lanes[lane].arguments[1]], *(size_t *)lanes[lane].arguments[2]);
}

#define FROM_MEMBER(dtype, type) \
    DEVICE type from_member_##dtype(type v, int step) \
    { \
        size_t bytes = sizeof v; \
        twin_collective("from_member_" #dtype, twin_exchange, &v, &step, &bytes); \
        return v; \
    }

FROM_MEMBER(f32, float)
FROM_MEMBER(f64, double)
FROM_MEMBER(s32, int)
FROM_MEMBER(s64, long long)
FROM_MEMBER(u64, unsigned long long)
FROM_MEMBER(bool, int)

/* Notes a byte that a TMA store writes to an array, at any time; whether it was written before. No thread may touch it
 * in this launch any more. */
static int twin_stored_byte(const char *to)
{
    for (int i = 0; i < twin_elements.count; ++i) {
        struct twin_array *a = twin_elements.arrays + i;
        if (!a->touches || to < a->base || to >= a->base + a->bytes)
            continue;
        const int before = a->touches[to - a->base].write_block;
        a->touches[to - a->base].write_block = -1;
        return a->role == TWIN_OUTPUT && before;
    }
    return 0;
}

/* Runs one launch on arrays with these roles. Returns 0, or 1 with a message. */
static int twin_launch(void (*body)(void), unsigned blocks, int cluster, int threads, int shared_bytes, char **arrays,
                       const long *bytes, const enum twin_role *roles, int count, uint64_t seed,
                       struct twin_report *report)
{
    twin_elements.arrays = calloc((size_t)count + 1, sizeof *twin_elements.arrays);
    twin_elements.shared = calloc((size_t)(cluster * shared_bytes) + 1, sizeof *twin_elements.shared);
    twin_elements.count = count;
    int missing = !twin_elements.arrays || !twin_elements.shared;
    for (int i = 0; i < count && !missing; ++i) {
        struct twin_touch *touches = NULL;
        if (roles[i] != TWIN_INPUT)
            missing |= !(touches = calloc((size_t)bytes[i] + 1, sizeof *touches));
        twin_elements.arrays[i] = (struct twin_array){arrays[i], bytes[i], roles[i], touches};
    }
    twin_stored = twin_stored_byte;
    if (missing)
        snprintf(report->message, sizeof report->message, "the twin has no memory for what it notes of each byte");
    else
        twin_run(body, blocks, cluster, threads, shared_bytes, arrays, bytes, count, 0, seed, report);
    for (int i = 0; i < count && !missing; ++i)
        for (long at = 0; roles[i] == TWIN_OUTPUT && at < bytes[i] && !*report->message; ++at)
            if (!twin_elements.arrays[i].touches[at].write_block)
                snprintf(report->message, sizeof report->message, "byte %ld of output %d was never written", at, i);
    for (int i = 0; i < count && !missing; ++i)
        free(twin_elements.arrays[i].touches);
    twin_stored = NULL;
    free(twin_elements.arrays);
    free(twin_elements.shared);
    return *report->message != 0;
}
