/*
 * matmul m=23,n=50,k=19
 *
 * Written by Tilewright VERSION from the scheme
 *
 *     L(m, 1x5 + 3x6) R(n) S(c) T(k,19) U(m,λ) V(n,16)
 *
 *     for m in 1 step of 5:
 *       for n in 4 steps of 16:
 *         with the tile of c in registers:
 *           for k in 19 steps of 1:
 *             register tile 5m × 16n
 *     for m in 3 steps of 6 from 5:
 *       for n in 4 steps of 16:
 *         with the tile of c in registers:
 *           for k in 19 steps of 1:
 *             register tile 6m × 16n
 *
 * Microkernels:
 *     f32_matmul_ukernel_5mx16n__avx512f: 5 FMAs, 6 loads and no stores per step, 6 of 32 registers (5 accumulators)
 *     f32_matmul_ukernel_6mx16n__avx512f: 6 FMAs, 7 loads and no stores per step, 7 of 32 registers (6 accumulators)
 *
 * Operands, row-major f32:
 *     X: a[m, k] of 23 x 19
 *     W: b[k, n] of 19 x 50
 *     Y: c[m, n] of 23 x 50
 *     W is packed: the scheme's panels, one after the other, with reduction points in the order of its loops.
 */
#include <immintrin.h>

/* Elements between neighbours along each axis: X_h is along the axis h of X. W has none: tiles read it packed, in the
 * order of the loops. */
static const long X_m = 19;
static const long X_k = 1;
static const long Y_m = 50;
static const long Y_n = 1;

#define TAIL ((__mmask16)0x0003) /* the 2 lanes used of the last vector */

/* 5 rows x 1 vectors, summed over k from 0 to 19; n < 48. */
static void tile0_5mx16n(const float *x, const float *w, float *y)
{
    __m512 acc_0_0 = _mm512_setzero_ps();
    __m512 acc_1_0 = _mm512_setzero_ps();
    __m512 acc_2_0 = _mm512_setzero_ps();
    __m512 acc_3_0 = _mm512_setzero_ps();
    __m512 acc_4_0 = _mm512_setzero_ps();
    for (long k = 0; k < 19; ++k) {
        const float *x_k = x + k * X_k;
        const float *w_k = w + 16 * k;
        const __m512 w_0 = _mm512_loadu_ps(w_k);
        { const __m512 x_0 = _mm512_set1_ps(*(x_k)); acc_0_0 = _mm512_fmadd_ps(x_0, w_0, acc_0_0); }
        { const __m512 x_1 = _mm512_set1_ps(*(x_k + X_m)); acc_1_0 = _mm512_fmadd_ps(x_1, w_0, acc_1_0); }
        { const __m512 x_2 = _mm512_set1_ps(*(x_k + 2 * X_m)); acc_2_0 = _mm512_fmadd_ps(x_2, w_0, acc_2_0); }
        { const __m512 x_3 = _mm512_set1_ps(*(x_k + 3 * X_m)); acc_3_0 = _mm512_fmadd_ps(x_3, w_0, acc_3_0); }
        { const __m512 x_4 = _mm512_set1_ps(*(x_k + 4 * X_m)); acc_4_0 = _mm512_fmadd_ps(x_4, w_0, acc_4_0); }
    }
    _mm512_storeu_ps(y, acc_0_0);
    _mm512_storeu_ps(y + Y_m, acc_1_0);
    _mm512_storeu_ps(y + 2 * Y_m, acc_2_0);
    _mm512_storeu_ps(y + 3 * Y_m, acc_3_0);
    _mm512_storeu_ps(y + 4 * Y_m, acc_4_0);
}

/* 5 rows x 1 vectors, summed over k from 0 to 19; 48 <= n. */
static void tile1_5mx16n_tail(const float *x, const float *w, float *y)
{
    __m512 acc_0_0 = _mm512_setzero_ps();
    __m512 acc_1_0 = _mm512_setzero_ps();
    __m512 acc_2_0 = _mm512_setzero_ps();
    __m512 acc_3_0 = _mm512_setzero_ps();
    __m512 acc_4_0 = _mm512_setzero_ps();
    for (long k = 0; k < 19; ++k) {
        const float *x_k = x + k * X_k;
        const float *w_k = w + 16 * k;
        const __m512 w_0 = _mm512_loadu_ps(w_k);
        { const __m512 x_0 = _mm512_set1_ps(*(x_k)); acc_0_0 = _mm512_fmadd_ps(x_0, w_0, acc_0_0); }
        { const __m512 x_1 = _mm512_set1_ps(*(x_k + X_m)); acc_1_0 = _mm512_fmadd_ps(x_1, w_0, acc_1_0); }
        { const __m512 x_2 = _mm512_set1_ps(*(x_k + 2 * X_m)); acc_2_0 = _mm512_fmadd_ps(x_2, w_0, acc_2_0); }
        { const __m512 x_3 = _mm512_set1_ps(*(x_k + 3 * X_m)); acc_3_0 = _mm512_fmadd_ps(x_3, w_0, acc_3_0); }
        { const __m512 x_4 = _mm512_set1_ps(*(x_k + 4 * X_m)); acc_4_0 = _mm512_fmadd_ps(x_4, w_0, acc_4_0); }
    }
    _mm512_mask_storeu_ps(y, TAIL, acc_0_0);
    _mm512_mask_storeu_ps(y + Y_m, TAIL, acc_1_0);
    _mm512_mask_storeu_ps(y + 2 * Y_m, TAIL, acc_2_0);
    _mm512_mask_storeu_ps(y + 3 * Y_m, TAIL, acc_3_0);
    _mm512_mask_storeu_ps(y + 4 * Y_m, TAIL, acc_4_0);
}

/* 6 rows x 1 vectors, summed over k from 0 to 19; n < 48. */
static void tile2_6mx16n(const float *x, const float *w, float *y)
{
    __m512 acc_0_0 = _mm512_setzero_ps();
    __m512 acc_1_0 = _mm512_setzero_ps();
    __m512 acc_2_0 = _mm512_setzero_ps();
    __m512 acc_3_0 = _mm512_setzero_ps();
    __m512 acc_4_0 = _mm512_setzero_ps();
    __m512 acc_5_0 = _mm512_setzero_ps();
    for (long k = 0; k < 19; ++k) {
        const float *x_k = x + k * X_k;
        const float *w_k = w + 16 * k;
        const __m512 w_0 = _mm512_loadu_ps(w_k);
        { const __m512 x_0 = _mm512_set1_ps(*(x_k)); acc_0_0 = _mm512_fmadd_ps(x_0, w_0, acc_0_0); }
        { const __m512 x_1 = _mm512_set1_ps(*(x_k + X_m)); acc_1_0 = _mm512_fmadd_ps(x_1, w_0, acc_1_0); }
        { const __m512 x_2 = _mm512_set1_ps(*(x_k + 2 * X_m)); acc_2_0 = _mm512_fmadd_ps(x_2, w_0, acc_2_0); }
        { const __m512 x_3 = _mm512_set1_ps(*(x_k + 3 * X_m)); acc_3_0 = _mm512_fmadd_ps(x_3, w_0, acc_3_0); }
        { const __m512 x_4 = _mm512_set1_ps(*(x_k + 4 * X_m)); acc_4_0 = _mm512_fmadd_ps(x_4, w_0, acc_4_0); }
        { const __m512 x_5 = _mm512_set1_ps(*(x_k + 5 * X_m)); acc_5_0 = _mm512_fmadd_ps(x_5, w_0, acc_5_0); }
    }
    _mm512_storeu_ps(y, acc_0_0);
    _mm512_storeu_ps(y + Y_m, acc_1_0);
    _mm512_storeu_ps(y + 2 * Y_m, acc_2_0);
    _mm512_storeu_ps(y + 3 * Y_m, acc_3_0);
    _mm512_storeu_ps(y + 4 * Y_m, acc_4_0);
    _mm512_storeu_ps(y + 5 * Y_m, acc_5_0);
}

/* 6 rows x 1 vectors, summed over k from 0 to 19; 48 <= n. */
static void tile3_6mx16n_tail(const float *x, const float *w, float *y)
{
    __m512 acc_0_0 = _mm512_setzero_ps();
    __m512 acc_1_0 = _mm512_setzero_ps();
    __m512 acc_2_0 = _mm512_setzero_ps();
    __m512 acc_3_0 = _mm512_setzero_ps();
    __m512 acc_4_0 = _mm512_setzero_ps();
    __m512 acc_5_0 = _mm512_setzero_ps();
    for (long k = 0; k < 19; ++k) {
        const float *x_k = x + k * X_k;
        const float *w_k = w + 16 * k;
        const __m512 w_0 = _mm512_loadu_ps(w_k);
        { const __m512 x_0 = _mm512_set1_ps(*(x_k)); acc_0_0 = _mm512_fmadd_ps(x_0, w_0, acc_0_0); }
        { const __m512 x_1 = _mm512_set1_ps(*(x_k + X_m)); acc_1_0 = _mm512_fmadd_ps(x_1, w_0, acc_1_0); }
        { const __m512 x_2 = _mm512_set1_ps(*(x_k + 2 * X_m)); acc_2_0 = _mm512_fmadd_ps(x_2, w_0, acc_2_0); }
        { const __m512 x_3 = _mm512_set1_ps(*(x_k + 3 * X_m)); acc_3_0 = _mm512_fmadd_ps(x_3, w_0, acc_3_0); }
        { const __m512 x_4 = _mm512_set1_ps(*(x_k + 4 * X_m)); acc_4_0 = _mm512_fmadd_ps(x_4, w_0, acc_4_0); }
        { const __m512 x_5 = _mm512_set1_ps(*(x_k + 5 * X_m)); acc_5_0 = _mm512_fmadd_ps(x_5, w_0, acc_5_0); }
    }
    _mm512_mask_storeu_ps(y, TAIL, acc_0_0);
    _mm512_mask_storeu_ps(y + Y_m, TAIL, acc_1_0);
    _mm512_mask_storeu_ps(y + 2 * Y_m, TAIL, acc_2_0);
    _mm512_mask_storeu_ps(y + 3 * Y_m, TAIL, acc_3_0);
    _mm512_mask_storeu_ps(y + 4 * Y_m, TAIL, acc_4_0);
    _mm512_mask_storeu_ps(y + 5 * Y_m, TAIL, acc_5_0);
}

/* Whether this CPU runs the kernel. This function and the packing run on any CPU. */
__attribute__((target("no-avx"))) int matmul_f32_m23_n50_k19__avx512f_supported(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("fma");
}

/* The loops over tiles. Their variables are positions. A tile gets pointers to its own first x, panel and y. */
void matmul_f32_m23_n50_k19__avx512f_run(const float *restrict X, const float *restrict W, float *restrict Y)
{
    for (long n = 0; n < 64; n += 16) {
        if (n < 48) {
            tile0_5mx16n(X, W + 19 * n, Y + n * Y_n);
        } else {
            tile1_5mx16n_tail(X, W + 19 * n, Y + n * Y_n);
        }
    }
    for (long m = 5; m < 23; m += 6) {
        for (long n = 0; n < 64; n += 16) {
            if (n < 48) {
                tile2_6mx16n(X + m * X_m, W + 19 * n, Y + m * Y_m + n * Y_n);
            } else {
                tile3_6mx16n_tail(X + m * X_m, W + 19 * n, Y + m * Y_m + n * Y_n);
            }
        }
    }
}

/* Packs the weights. They lie in memory as b[k, n] of 19 x 50. */
__attribute__((target("no-avx"))) void matmul_f32_m23_n50_k19__avx512f_pack_run(const float *restrict W, float *restrict packed)
{
    const long W_k = 50, W_n = 1;
    for (long n = 0; n < 64; n += 16) {
        for (long k = 0; k < 19; ++k) {
            for (long lane = 0; lane < 16; ++lane) {
                if (n + lane < 50) {
                    packed[19 * n + lane + 16 * k] = W[k * W_k + (n + lane) * W_n];
                } else {
                    packed[19 * n + lane + 16 * k] = 0;
                }
            }
        }
    }
}

/*
 * A whole call: it checks the CPU.
 * A caller that has done so calls matmul_f32_m23_n50_k19__avx512f_run.
 */
#include <stdio.h>
#include <stdlib.h>

void matmul_f32_m23_n50_k19__avx512f(const float *restrict X, const float *restrict W, float *restrict Y)
{
    if (!matmul_f32_m23_n50_k19__avx512f_supported()) {
        fputs("matmul_f32_m23_n50_k19__avx512f: this CPU lacks avx512f or avx512vl or fma\n", stderr);
        abort();
    }
    matmul_f32_m23_n50_k19__avx512f_run(X, W, Y);
}

/* Packs the weights, once for many calls. */
__attribute__((target("no-avx"))) void matmul_f32_m23_n50_k19__avx512f_pack(const float *restrict W, float *restrict packed)
{
    matmul_f32_m23_n50_k19__avx512f_pack_run(W, packed);
}
