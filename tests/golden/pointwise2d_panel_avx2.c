/*
 * pointwise2d n=2,c=12,h=9,w=11,k=18,r=1,s=1,layout=nchw
 *
 * Written by Tilewright VERSION from the scheme
 *
 *     T(k,3)@core S(x) R(n) R(w) T(k,2) S(y) T(c,12) U(k,3) V(w,8)
 *
 *     for k in 3 steps of 6:  on cores
 *       with the tile of x in a packed panel:
 *         for n in 2 steps of 1:
 *           for w in 13 steps of 8:
 *             for k in 2 steps of 3:
 *               with the tile of y in registers:
 *                 for c in 12 steps of 1:
 *                   register tile 3k × 8w
 *
 * Microkernels:
 *     f32_pointwise2d_ukernel_3kx8w__avx2: 3 FMAs, 4 loads and no stores per step but 1 where it packs x, 5 of 16 registers (3 accumulators)
 *
 * Operands, row-major f32:
 *     X: x[n, c, w] of 2 x 12 x 99
 *     W: w[k, c] of 18 x 12
 *     Y: y[n, k, w] of 2 x 18 x 99
 *     W is packed: the scheme's panels, one after the other, with reduction points in the order of its loops.
 */
#include <immintrin.h>

/* Elements between neighbours along each axis: X_h is along the axis h of X. W has none: tiles read it packed, in the
 * order of the loops. */
static const long X_n = 1188;
static const long X_c = 99;
static const long X_w = 1;
static const long Y_n = 1782;
static const long Y_k = 99;
static const long Y_w = 1;

/* The 3 lanes used of the last vector. A lane counts where its sign bit is set. */
static const int tail_lanes[8] = {-1, -1, -1, 0, 0, 0, 0, 0};
#define TAIL _mm256_loadu_si256((const __m256i *)tail_lanes)

/* Stores the first lanes of v by stores of 4, 2 and 1 lanes. A Zen 3 takes 12 cycles for a masked store. */
static inline __attribute__((always_inline)) void store_lanes(float *p, __m256 v, int lanes)
{
    __m128 rest = _mm256_castps256_ps128(v);
    if (lanes & 4) {
        _mm_storeu_ps(p, rest);
        rest = _mm256_extractf128_ps(v, 1);
    }
    if (lanes & 2) {
        _mm_storel_pi((__m64 *)(p + (lanes & 4)), rest);
        rest = _mm_movehl_ps(rest, rest);
    }
    if (lanes & 1)
        _mm_store_ss(p + (lanes & 6), rest);
}

/* 3 rows x 1 vectors, summed over c from 0 to 12; x is packed on the way; w < 96. */
static void tile0_3kx8w_packs(const float *x, const float *w, float *y, float *panel)
{
    __m256 acc_0_0 = _mm256_setzero_ps();
    __m256 acc_1_0 = _mm256_setzero_ps();
    __m256 acc_2_0 = _mm256_setzero_ps();
    for (long c = 0; c < 12; ++c) {
        float *panel_c = panel + 8 * c;
        const float *x_c = x + c * X_c;
        const float *w_c = w + 3 * c;
        const __m256 x_0 = _mm256_loadu_ps(x_c);
        _mm256_storeu_ps(panel_c, x_0);
        { const __m256 w_0 = _mm256_broadcast_ss(w_c); acc_0_0 = _mm256_fmadd_ps(w_0, x_0, acc_0_0); }
        { const __m256 w_1 = _mm256_broadcast_ss(w_c + 1); acc_1_0 = _mm256_fmadd_ps(w_1, x_0, acc_1_0); }
        { const __m256 w_2 = _mm256_broadcast_ss(w_c + 2); acc_2_0 = _mm256_fmadd_ps(w_2, x_0, acc_2_0); }
    }
    _mm256_storeu_ps(y, acc_0_0);
    _mm256_storeu_ps(y + Y_k, acc_1_0);
    _mm256_storeu_ps(y + 2 * Y_k, acc_2_0);
}

/* 3 rows x 1 vectors, summed over c from 0 to 12; x is packed on the way; 96 <= w. */
static void tile1_3kx8w_packs_tail(const float *x, const float *w, float *y, float *panel)
{
    __m256 acc_0_0 = _mm256_setzero_ps();
    __m256 acc_1_0 = _mm256_setzero_ps();
    __m256 acc_2_0 = _mm256_setzero_ps();
    for (long c = 0; c < 12; ++c) {
        float *panel_c = panel + 8 * c;
        const float *x_c = x + c * X_c;
        const float *w_c = w + 3 * c;
        const __m256 x_0 = _mm256_maskload_ps(x_c, TAIL);
        _mm256_storeu_ps(panel_c, x_0);
        { const __m256 w_0 = _mm256_broadcast_ss(w_c); acc_0_0 = _mm256_fmadd_ps(w_0, x_0, acc_0_0); }
        { const __m256 w_1 = _mm256_broadcast_ss(w_c + 1); acc_1_0 = _mm256_fmadd_ps(w_1, x_0, acc_1_0); }
        { const __m256 w_2 = _mm256_broadcast_ss(w_c + 2); acc_2_0 = _mm256_fmadd_ps(w_2, x_0, acc_2_0); }
    }
    store_lanes(y, acc_0_0, 3);
    store_lanes(y + Y_k, acc_1_0, 3);
    store_lanes(y + 2 * Y_k, acc_2_0, 3);
}

/* 3 rows x 1 vectors, summed over c from 0 to 12; x comes from the panel; w < 96. */
static void tile2_3kx8w_packed(const float *w, float *y, float *panel)
{
    __m256 acc_0_0 = _mm256_setzero_ps();
    __m256 acc_1_0 = _mm256_setzero_ps();
    __m256 acc_2_0 = _mm256_setzero_ps();
    #pragma GCC unroll 4
    for (long c = 0; c < 12; ++c) {
        const float *w_c = w + 3 * c;
        float *panel_c = panel + 8 * c;
        const __m256 panel_0 = _mm256_loadu_ps(panel_c);
        { const __m256 w_0 = _mm256_broadcast_ss(w_c); acc_0_0 = _mm256_fmadd_ps(w_0, panel_0, acc_0_0); }
        { const __m256 w_1 = _mm256_broadcast_ss(w_c + 1); acc_1_0 = _mm256_fmadd_ps(w_1, panel_0, acc_1_0); }
        { const __m256 w_2 = _mm256_broadcast_ss(w_c + 2); acc_2_0 = _mm256_fmadd_ps(w_2, panel_0, acc_2_0); }
    }
    _mm256_storeu_ps(y, acc_0_0);
    _mm256_storeu_ps(y + Y_k, acc_1_0);
    _mm256_storeu_ps(y + 2 * Y_k, acc_2_0);
}

/* 3 rows x 1 vectors, summed over c from 0 to 12; x comes from the panel; 96 <= w. */
static void tile3_3kx8w_packed_tail(const float *w, float *y, float *panel)
{
    __m256 acc_0_0 = _mm256_setzero_ps();
    __m256 acc_1_0 = _mm256_setzero_ps();
    __m256 acc_2_0 = _mm256_setzero_ps();
    #pragma GCC unroll 4
    for (long c = 0; c < 12; ++c) {
        const float *w_c = w + 3 * c;
        float *panel_c = panel + 8 * c;
        const __m256 panel_0 = _mm256_loadu_ps(panel_c);
        { const __m256 w_0 = _mm256_broadcast_ss(w_c); acc_0_0 = _mm256_fmadd_ps(w_0, panel_0, acc_0_0); }
        { const __m256 w_1 = _mm256_broadcast_ss(w_c + 1); acc_1_0 = _mm256_fmadd_ps(w_1, panel_0, acc_1_0); }
        { const __m256 w_2 = _mm256_broadcast_ss(w_c + 2); acc_2_0 = _mm256_fmadd_ps(w_2, panel_0, acc_2_0); }
    }
    store_lanes(y, acc_0_0, 3);
    store_lanes(y + Y_k, acc_1_0, 3);
    store_lanes(y + 2 * Y_k, acc_2_0, 3);
}

/* Whether this CPU runs the kernel. This function and the packing run on any CPU. */
__attribute__((target("no-avx"))) int pointwise2d_f32_n2_c12_h9_w11_k18_r1_s1_layoutnchw__avx2_t2_supported(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

/* The loops over tiles. Their variables are positions. A tile gets pointers to its own first x, panel and y. */
/* The part of a call that thread `thread` of `threads` does. All run it at once. */
/* `scratch`: 19968 bytes for this call alone, which begin with a cache line. */
/* Every thread has a panel there: the pixels that tiles of several rows share, tile by tile, and in each the vectors of
 * one channel after the other. The first tile that reads them also packs them. */
void pointwise2d_f32_n2_c12_h9_w11_k18_r1_s1_layoutnchw__avx2_t2_run(const float *restrict X, const float *restrict W, float *restrict Y, char *restrict scratch, long thread, long threads)
{
    float *const panel = (float *)(scratch + 9984 * thread);
    /* The first task packs the panel, for all that this thread runs. */
    int unpacked = 1;
    for (long worker = 3 * thread / threads; worker < (3 * thread + 3) / threads; ++worker) {
        const long k_1 = 6 * worker;
        for (long n = 0; n < 2; ++n) {
            for (long w = 0; w < 104; w += 8) {
                for (long k = k_1; k < k_1 + 6; k += 3) {
                    if (unpacked && k - k_1 == 0) {
                        if (w < 96) {
                            tile0_3kx8w_packs(X + n * X_n + w * X_w, W + 12 * k, Y + n * Y_n + k * Y_k + w * Y_w, panel + 1248 * n + 12 * w);
                        } else {
                            tile1_3kx8w_packs_tail(X + n * X_n + w * X_w, W + 12 * k, Y + n * Y_n + k * Y_k + w * Y_w, panel + 1248 * n + 12 * w);
                        }
                    } else if (w < 96) {
                        tile2_3kx8w_packed(W + 12 * k, Y + n * Y_n + k * Y_k + w * Y_w, panel + 1248 * n + 12 * w);
                    } else {
                        tile3_3kx8w_packed_tail(W + 12 * k, Y + n * Y_n + k * Y_k + w * Y_w, panel + 1248 * n + 12 * w);
                    }
                }
            }
        }
        unpacked = 0;
    }
}

/* Packs the weights: the part of thread `thread` of `threads`. They lie in memory as w[k, c] of 18 x 12. */
__attribute__((target("no-avx"))) void pointwise2d_f32_n2_c12_h9_w11_k18_r1_s1_layoutnchw__avx2_t2_pack_run(const float *restrict W, float *restrict packed, long thread, long threads)
{
    const long W_k = 12, W_c = 1;
    for (long worker = 72 * thread / threads; worker < (72 * thread + 72) / threads; ++worker) {
        const long k_1 = 6 * (worker / 24);
        const long k = k_1 + 3 * (worker / 12 % 2);
        const long c = worker % 12;
        for (long k_u = 0; k_u < 3; ++k_u) {
            packed[12 * k + k_u + 3 * c] = W[(k + k_u) * W_k + c * W_c];
        }
    }
}

/*
 * A whole call: it checks the CPU, allocates scratch memory and starts a team of threads.
 * A caller that has done so calls pointwise2d_f32_n2_c12_h9_w11_k18_r1_s1_layoutnchw__avx2_t2_run.
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

void pointwise2d_f32_n2_c12_h9_w11_k18_r1_s1_layoutnchw__avx2_t2(const float *restrict X, const float *restrict W, float *restrict Y)
{
    if (!pointwise2d_f32_n2_c12_h9_w11_k18_r1_s1_layoutnchw__avx2_t2_supported()) {
        fputs("pointwise2d_f32_n2_c12_h9_w11_k18_r1_s1_layoutnchw__avx2_t2: this CPU lacks avx2 or fma\n", stderr);
        abort();
    }
    char *const scratch = aligned_alloc(64, 19968);
    if (!scratch) {
        fputs("pointwise2d_f32_n2_c12_h9_w11_k18_r1_s1_layoutnchw__avx2_t2: no memory for what it computes in between\n", stderr);
        abort();
    }
    const int dynamic = omp_get_dynamic();
    omp_set_dynamic(0); /* the team has THREADS threads, whatever OMP_DYNAMIC says */
    #pragma omp parallel num_threads(THREADS)
    pointwise2d_f32_n2_c12_h9_w11_k18_r1_s1_layoutnchw__avx2_t2_run(X, W, Y, scratch, omp_get_thread_num(), omp_get_num_threads());
    omp_set_dynamic(dynamic);
    free(scratch);
}

/* Packs the weights, once for many calls. */
__attribute__((target("no-avx"))) void pointwise2d_f32_n2_c12_h9_w11_k18_r1_s1_layoutnchw__avx2_t2_pack(const float *restrict W, float *restrict packed)
{
    const int dynamic = omp_get_dynamic();
    omp_set_dynamic(0); /* the team has THREADS threads, whatever OMP_DYNAMIC says */
    #pragma omp parallel num_threads(THREADS)
    pointwise2d_f32_n2_c12_h9_w11_k18_r1_s1_layoutnchw__avx2_t2_pack_run(W, packed, omp_get_thread_num(), omp_get_num_threads());
    omp_set_dynamic(dynamic);
}
