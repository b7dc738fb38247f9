/*
 * conv2d n=2,c=64,h=5,w=5,k=16,r=3,s=3,pad=1,dtype=int8
 *
 * Written by Tilewright VERSION from the scheme
 *
 *     T(n,2)@core T(hw,3) S(x) R(k) S(y) T(r,3) T(s,3) R(c) U(hw,10) D(c,64) V(k,16)
 *
 *     for n in 2 steps of 1:  on cores
 *       for w in 3 steps of 10:
 *         with the tile of x in a packed panel:
 *           for k in 1 step of 16:
 *             with the tile of y in registers:
 *               for r in 3 steps of 1:
 *                 for s in 3 steps of 1:
 *                   for c in 1 step of 1:
 *                     register tile 16k × 10w
 *
 * Microkernels:
 *     int8_conv2d_ukernel_10wx16k_s1__amxint8: 10 rows x 1 vectors of sums in tile registers
 *
 * Operands, row-major u8, s8, s32:
 *     X: x[n, h + r - 1, w + s - 1, c] of 2 x 5 x 5 x 64
 *     W: w[k, c, r, s] of 16 x 64 x 3 x 3
 *     Y: y[n, h, w, k] of 2 x 5 x 5 x 16
 *     X is copied strip by strip: rows of an image, one after the other, with zeros between them.
 *     W is packed: the scheme's panels, one after the other, with reduction points in the order of its loops.
 */
#include <immintrin.h>
#include <stdint.h>
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A dot group: neighbours that an instruction multiplies and adds, several numbers of x or of a lane of the weights. */
typedef uint32_t word;

/* Tile register t holds rows[t] rows of bytes[t] bytes. */
struct shapes {
    uint8_t palette, start, reserved[14];
    uint16_t bytes[16];
    uint8_t rows[16];
};
static inline const struct shapes *shaped(const struct shapes *wanted, const struct shapes *now)
{
    if (wanted != now) __asm__ volatile("ldtilecfg %0" : : "m"(*wanted));
    return wanted;
}
/* Tile registers are tmm0 to tmm7. */
#define tiles_end() __asm__ volatile("tilerelease")
#define tile_zero(t) __asm__ volatile("tilezero %%" #t : :)
#define tile_load(t, p, step) \
    __asm__ volatile("tileloadd (%0,%1,1), %%" #t : : "r"(p), "r"((long)(step)) : "memory")
#define tile_store(t, p, step) \
    __asm__ volatile("tilestored %%" #t ", (%0,%1,1)" : : "r"(p), "r"((long)(step)) : "memory")
/* Adds to row i and lane j of tile acc the products of row i of tile x and column j of tile w. */
#define tile_dot(acc, x, w) __asm__ volatile("tdpbusd %%" #w ", %%" #x ", %%" #acc : :)

/* Multiplies two vectors, for its side effect. The units that multiply vectors sleep after some 600 ns without work,
 * and the next tile_store then waits 250 ns for them. With this, 36 steps and their stores take 910 ns; without it,
 * 1173 (`python -m bench.tiles` on Sapphire Rapids). */
#define stay_awake() __asm__ volatile("vpmaddwd %%xmm15, %%xmm15, %%xmm15" : : : "xmm15")

/* Whether the CPU has tile registers and the system gives them to this process. Asked once: the process then keeps
 * them, and its signal stacks must have room for them. */
static __attribute__((target("no-avx"))) int tiles_given(void)
{
    static int known = -1;
    unsigned a, b, c, d;
    int given = __atomic_load_n(&known, __ATOMIC_RELAXED);
    if (given < 0) {
        const int there = __get_cpuid_count(7, 0, &a, &b, &c, &d) && d >> 24 & 1 && d >> 25 & 1;
        given = there && syscall(SYS_arch_prctl, 0x1023, 18) == 0;
        __atomic_store_n(&known, given, __ATOMIC_RELAXED);
    }
    return given;
}
#include <string.h>

/* Elements (words of X) between neighbours along each axis: X_h is along h of X. W has none: tiles read it packed, in
 * the order of the loops. */
static const long X_n = 1600;
static const long X_h = 320;
static const long X_w = 64;
static const long Y_n = 400;
static const long Y_w = 16;
static const long PANEL_w = 16;

/* Tiles go over all points of an image, w, as if it were one row. The first 5 of each
 * 6 points are pixels of Y, on 5 lines. */

/* The shapes of the tile registers in each kind of register tile: rows of sums, of x and of the weights. */
static const struct shapes SHAPES_0 = {1, 0, {0}, {64, 64, 64}, {10, 10, 16}};

/* The points from `first` on of an image, 6 to a row, and the zeros between rows. */
static void laid_out(const uint8_t *x, word *panel, long first)
{
    const long origin = first + 5;
    for (long row = (first + 5) / 6; row < (first + 28) / 6 + 1; ++row) {
        const long begin = (origin > 6 * row ? origin : 6 * row);
        const long end = (origin + 24 < 6 * row + 6 ? origin + 24 : 6 * row + 6);
        if (row >= 2 && row < 7) {
            for (long point = begin; point < (end < 6 * row + 5 ? end : 6 * row + 5); ++point) {
                memcpy(panel + (point - origin) * PANEL_w, x + (row - 2) * X_h + (point - 6 * row) * X_w, 16 * sizeof *panel);
            }
            for (long point = (begin > 6 * row + 5 ? begin : 6 * row + 5); point < end; ++point) {
                memset(panel + (point - origin) * PANEL_w, 0, 16 * sizeof *panel);
            }
        } else {
            for (long point = begin; point < end; ++point) {
                memset(panel + (point - origin) * PANEL_w, 0, 16 * sizeof *panel);
            }
        }
    }
}

/* 10 rows x 1 vectors, summed over r from 0 to 3, s from 0 to 3. */
static void tile0_10wx16k(const word *w, int32_t *y, word *panel, long point)
{
    __m512 acc[10][1];
    tile_zero(tmm0);
    for (long r = 0; r < 3; ++r) {
        word *panel_r = panel + 6 * r * PANEL_w;
        const word *w_r = w + 768 * r;
        for (long s = 0; s < 3; ++s) {
            word *panel_s = panel_r + s * PANEL_w;
            const word *w_s = w_r + 256 * s;
            { tile_load(tmm1, panel_s, PANEL_w * sizeof *panel); tile_load(tmm2, w_s, 16 * sizeof *w); tile_dot(tmm0, tmm1, tmm2); }
            stay_awake();
        }
    }
    tile_store(tmm0, &acc[0][0], sizeof *acc);
    for (long line = point / 6; line < (5 < (point + 9) / 6 + 1 ? 5 : (point + 9) / 6 + 1); ++line) {
        int32_t *y_line = y + -line * Y_w;
        for (long w_u = (0 > 6 * line - point ? 0 : 6 * line - point); w_u < (10 < 6 * line - point + 5 ? 10 : 6 * line - point + 5); ++w_u) {
            int32_t *y_w_u = y_line + w_u * Y_w;
            _mm512_storeu_ps(y_w_u, acc[w_u][0]);
        }
    }
}

/* Whether this CPU runs the kernel. This function and the packing run on any CPU. */
__attribute__((target("no-avx"))) int conv2d_int8_n2_c64_h5_w5_k16_r3_s3_pad1__amxint8_t2_supported(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vnni") && tiles_given();
}

/* The loops over tiles. Their variables are positions. A tile gets pointers to its own first x, panel and y. */
/* The part of a call that thread `thread` of `threads` does. All run it at once. */
/* `scratch`: 3072 bytes for this call alone, which begin with a cache line. */
/* Every thread has a panel there: a strip of X, which the tiles inside share. */
void conv2d_int8_n2_c64_h5_w5_k16_r3_s3_pad1__amxint8_t2_run(const uint8_t *restrict X, const int8_t *restrict packed, int32_t *restrict Y, char *restrict scratch, long thread, long threads)
{
    const word *const W = (const word *)packed;
    word *const panel = (word *)(scratch + 1536 * thread);
    for (long worker = 2 * thread / threads; worker < (2 * thread + 2) / threads; ++worker) {
        const struct shapes *shape = 0;
        const long n = worker;
        for (long w = 0; w < 30; w += 10) {
            laid_out(X + n * X_n, panel, w);
            const long point = w;
            shape = shaped(&SHAPES_0, shape);
            tile0_10wx16k(W, Y + n * Y_n + w * Y_w, panel, point);
        }
        tiles_end();
    }
}

/* Packs the weights: the part of thread `thread` of `threads`. They lie in memory as w[k, c, r, s] of 16 x 64 x 3 x 3. */
__attribute__((target("no-avx"))) void conv2d_int8_n2_c64_h5_w5_k16_r3_s3_pad1__amxint8_t2_pack_run(const int8_t *restrict W, int8_t *restrict packed, long thread, long threads)
{
    const long W_k = 576, W_c = 9, W_r = 3, W_s = 1;
    for (long worker = 9 * thread / threads; worker < (9 * thread + 9) / threads; ++worker) {
        const long r = worker / 3;
        const long s = worker % 3;
        for (long word = 0; word < 16; ++word) {
            for (long lane = 0; lane < 16; ++lane) {
                for (long number = 0; number < 4; ++number) {
                    packed[4 * lane + 3072 * r + 1024 * s + 64 * word + number] = W[lane * W_k + (4 * word + number) * W_c + r * W_r + s * W_s];
                }
            }
        }
    }
}

/*
 * A whole call: it checks the CPU, allocates scratch memory and starts a team of threads.
 * A caller that has done so calls conv2d_int8_n2_c64_h5_w5_k16_r3_s3_pad1__amxint8_t2_run.
 */
#include <stdio.h>
#include <stdlib.h>
enum { THREADS = 2 };
#ifdef _OPENMP
#include <omp.h>
#if !defined(__clang__) && __GNUC__ >= 9
#include <pthread.h>
/* A forked child has one thread, but gcc's OpenMP would wait for the whole team there. So the team ends before a fork,
 * and both processes start new threads. */
static void end_threads(void) { omp_pause_resource_all(omp_pause_soft); }
__attribute__((constructor)) static void before_forks(void) { pthread_atfork(end_threads, 0, 0); }
#endif
#else
static int omp_get_dynamic(void) { return 0; }
static void omp_set_dynamic(int dynamic) { (void)dynamic; }
static int omp_get_thread_num(void) { return 0; }
static int omp_get_num_threads(void) { return 1; }
#endif

void conv2d_int8_n2_c64_h5_w5_k16_r3_s3_pad1__amxint8_t2(const uint8_t *restrict X, const int8_t *restrict packed, int32_t *restrict Y)
{
    if (!conv2d_int8_n2_c64_h5_w5_k16_r3_s3_pad1__amxint8_t2_supported()) {
        fputs("conv2d_int8_n2_c64_h5_w5_k16_r3_s3_pad1__amxint8_t2: this CPU lacks avx512f or avx512vl or fma or avx512bw or avx512_vnni or amx_tile or amx_int8\n", stderr);
        abort();
    }
    char *const scratch = aligned_alloc(64, 3072);
    if (!scratch) {
        fputs("conv2d_int8_n2_c64_h5_w5_k16_r3_s3_pad1__amxint8_t2: no memory for what it computes in between\n", stderr);
        abort();
    }
    const int dynamic = omp_get_dynamic();
    omp_set_dynamic(0); /* the team has THREADS threads, whatever OMP_DYNAMIC says */
    #pragma omp parallel num_threads(THREADS)
    conv2d_int8_n2_c64_h5_w5_k16_r3_s3_pad1__amxint8_t2_run(X, packed, Y, scratch, omp_get_thread_num(), omp_get_num_threads());
    omp_set_dynamic(dynamic);
    free(scratch);
}

/* Packs the weights, once for many calls. */
__attribute__((target("no-avx"))) void conv2d_int8_n2_c64_h5_w5_k16_r3_s3_pad1__amxint8_t2_pack(const int8_t *restrict W, int8_t *restrict packed)
{
    const int dynamic = omp_get_dynamic();
    omp_set_dynamic(0); /* the team has THREADS threads, whatever OMP_DYNAMIC says */
    #pragma omp parallel num_threads(THREADS)
    conv2d_int8_n2_c64_h5_w5_k16_r3_s3_pad1__amxint8_t2_pack_run(W, packed, omp_get_thread_num(), omp_get_num_threads());
    omp_set_dynamic(dynamic);
}
