/*
 * pointwise2d n=2,c=12,h=9,w=11,k=18,r=1,s=1,layout=nchw
 *
 * Written by Tilewright VERSION from the scheme
 *
 *     R(w) L(k, 1x8 + 2x5) R(n) S(y) T(c,12) U(k,λ) V(w,16)
 *
 *     for w in 7 steps of 16:
 *       for k in 1 step of 8:
 *         for n in 2 steps of 1:
 *           with the tile of y in registers:
 *             for c in 12 steps of 1:
 *               register tile 8k × 16w
 *       for k in 2 steps of 5 from 8:
 *         for n in 2 steps of 1:
 *           with the tile of y in registers:
 *             for c in 12 steps of 1:
 *               register tile 5k × 16w
 *
 * Microkernels:
 *     f32_pointwise2d_ukernel_8kx16w__avx512f: 8 FMAs, 9 loads and no stores per step, 9 of 32 registers (8 accumulators)
 *     f32_pointwise2d_ukernel_5kx16w__avx512f: 5 FMAs, 6 loads and no stores per step, 6 of 32 registers (5 accumulators)
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

#define TAIL ((__mmask16)0x0007) /* the 3 lanes used of the last vector */

/* 8 rows x 1 vectors, summed over c from 0 to 12; w < 96. */
static void tile0_8kx16w(const float *x, const float *w, float *y)
{
    __m512 acc_0_0 = _mm512_setzero_ps();
    __m512 acc_1_0 = _mm512_setzero_ps();
    __m512 acc_2_0 = _mm512_setzero_ps();
    __m512 acc_3_0 = _mm512_setzero_ps();
    __m512 acc_4_0 = _mm512_setzero_ps();
    __m512 acc_5_0 = _mm512_setzero_ps();
    __m512 acc_6_0 = _mm512_setzero_ps();
    __m512 acc_7_0 = _mm512_setzero_ps();
    for (long c = 0; c < 12; ++c) {
        const float *w_c = w + 8 * c;
        const float *x_c = x + c * X_c;
        const __m512 x_0 = _mm512_loadu_ps(x_c);
        { const __m512 w_0 = _mm512_set1_ps(*(w_c)); acc_0_0 = _mm512_fmadd_ps(w_0, x_0, acc_0_0); }
        { const __m512 w_1 = _mm512_set1_ps(*(w_c + 1)); acc_1_0 = _mm512_fmadd_ps(w_1, x_0, acc_1_0); }
        { const __m512 w_2 = _mm512_set1_ps(*(w_c + 2)); acc_2_0 = _mm512_fmadd_ps(w_2, x_0, acc_2_0); }
        { const __m512 w_3 = _mm512_set1_ps(*(w_c + 3)); acc_3_0 = _mm512_fmadd_ps(w_3, x_0, acc_3_0); }
        { const __m512 w_4 = _mm512_set1_ps(*(w_c + 4)); acc_4_0 = _mm512_fmadd_ps(w_4, x_0, acc_4_0); }
        { const __m512 w_5 = _mm512_set1_ps(*(w_c + 5)); acc_5_0 = _mm512_fmadd_ps(w_5, x_0, acc_5_0); }
        { const __m512 w_6 = _mm512_set1_ps(*(w_c + 6)); acc_6_0 = _mm512_fmadd_ps(w_6, x_0, acc_6_0); }
        { const __m512 w_7 = _mm512_set1_ps(*(w_c + 7)); acc_7_0 = _mm512_fmadd_ps(w_7, x_0, acc_7_0); }
    }
    _mm512_storeu_ps(y, acc_0_0);
    _mm512_storeu_ps(y + Y_k, acc_1_0);
    _mm512_storeu_ps(y + 2 * Y_k, acc_2_0);
    _mm512_storeu_ps(y + 3 * Y_k, acc_3_0);
    _mm512_storeu_ps(y + 4 * Y_k, acc_4_0);
    _mm512_storeu_ps(y + 5 * Y_k, acc_5_0);
    _mm512_storeu_ps(y + 6 * Y_k, acc_6_0);
    _mm512_storeu_ps(y + 7 * Y_k, acc_7_0);
}

/* 8 rows x 1 vectors, summed over c from 0 to 12; 96 <= w. */
static void tile1_8kx16w_tail(const float *x, const float *w, float *y)
{
    __m512 acc_0_0 = _mm512_setzero_ps();
    __m512 acc_1_0 = _mm512_setzero_ps();
    __m512 acc_2_0 = _mm512_setzero_ps();
    __m512 acc_3_0 = _mm512_setzero_ps();
    __m512 acc_4_0 = _mm512_setzero_ps();
    __m512 acc_5_0 = _mm512_setzero_ps();
    __m512 acc_6_0 = _mm512_setzero_ps();
    __m512 acc_7_0 = _mm512_setzero_ps();
    for (long c = 0; c < 12; ++c) {
        const float *w_c = w + 8 * c;
        const float *x_c = x + c * X_c;
        const __m512 x_0 = _mm512_maskz_loadu_ps(TAIL, x_c);
        { const __m512 w_0 = _mm512_set1_ps(*(w_c)); acc_0_0 = _mm512_fmadd_ps(w_0, x_0, acc_0_0); }
        { const __m512 w_1 = _mm512_set1_ps(*(w_c + 1)); acc_1_0 = _mm512_fmadd_ps(w_1, x_0, acc_1_0); }
        { const __m512 w_2 = _mm512_set1_ps(*(w_c + 2)); acc_2_0 = _mm512_fmadd_ps(w_2, x_0, acc_2_0); }
        { const __m512 w_3 = _mm512_set1_ps(*(w_c + 3)); acc_3_0 = _mm512_fmadd_ps(w_3, x_0, acc_3_0); }
        { const __m512 w_4 = _mm512_set1_ps(*(w_c + 4)); acc_4_0 = _mm512_fmadd_ps(w_4, x_0, acc_4_0); }
        { const __m512 w_5 = _mm512_set1_ps(*(w_c + 5)); acc_5_0 = _mm512_fmadd_ps(w_5, x_0, acc_5_0); }
        { const __m512 w_6 = _mm512_set1_ps(*(w_c + 6)); acc_6_0 = _mm512_fmadd_ps(w_6, x_0, acc_6_0); }
        { const __m512 w_7 = _mm512_set1_ps(*(w_c + 7)); acc_7_0 = _mm512_fmadd_ps(w_7, x_0, acc_7_0); }
    }
    _mm512_mask_storeu_ps(y, TAIL, acc_0_0);
    _mm512_mask_storeu_ps(y + Y_k, TAIL, acc_1_0);
    _mm512_mask_storeu_ps(y + 2 * Y_k, TAIL, acc_2_0);
    _mm512_mask_storeu_ps(y + 3 * Y_k, TAIL, acc_3_0);
    _mm512_mask_storeu_ps(y + 4 * Y_k, TAIL, acc_4_0);
    _mm512_mask_storeu_ps(y + 5 * Y_k, TAIL, acc_5_0);
    _mm512_mask_storeu_ps(y + 6 * Y_k, TAIL, acc_6_0);
    _mm512_mask_storeu_ps(y + 7 * Y_k, TAIL, acc_7_0);
}

/* 5 rows x 1 vectors, summed over c from 0 to 12; w < 96. */
static void tile2_5kx16w(const float *x, const float *w, float *y)
{
    __m512 acc_0_0 = _mm512_setzero_ps();
    __m512 acc_1_0 = _mm512_setzero_ps();
    __m512 acc_2_0 = _mm512_setzero_ps();
    __m512 acc_3_0 = _mm512_setzero_ps();
    __m512 acc_4_0 = _mm512_setzero_ps();
    for (long c = 0; c < 12; ++c) {
        const float *w_c = w + 5 * c;
        const float *x_c = x + c * X_c;
        const __m512 x_0 = _mm512_loadu_ps(x_c);
        { const __m512 w_0 = _mm512_set1_ps(*(w_c)); acc_0_0 = _mm512_fmadd_ps(w_0, x_0, acc_0_0); }
        { const __m512 w_1 = _mm512_set1_ps(*(w_c + 1)); acc_1_0 = _mm512_fmadd_ps(w_1, x_0, acc_1_0); }
        { const __m512 w_2 = _mm512_set1_ps(*(w_c + 2)); acc_2_0 = _mm512_fmadd_ps(w_2, x_0, acc_2_0); }
        { const __m512 w_3 = _mm512_set1_ps(*(w_c + 3)); acc_3_0 = _mm512_fmadd_ps(w_3, x_0, acc_3_0); }
        { const __m512 w_4 = _mm512_set1_ps(*(w_c + 4)); acc_4_0 = _mm512_fmadd_ps(w_4, x_0, acc_4_0); }
    }
    _mm512_storeu_ps(y, acc_0_0);
    _mm512_storeu_ps(y + Y_k, acc_1_0);
    _mm512_storeu_ps(y + 2 * Y_k, acc_2_0);
    _mm512_storeu_ps(y + 3 * Y_k, acc_3_0);
    _mm512_storeu_ps(y + 4 * Y_k, acc_4_0);
}

/* 5 rows x 1 vectors, summed over c from 0 to 12; 96 <= w. */
static void tile3_5kx16w_tail(const float *x, const float *w, float *y)
{
    __m512 acc_0_0 = _mm512_setzero_ps();
    __m512 acc_1_0 = _mm512_setzero_ps();
    __m512 acc_2_0 = _mm512_setzero_ps();
    __m512 acc_3_0 = _mm512_setzero_ps();
    __m512 acc_4_0 = _mm512_setzero_ps();
    for (long c = 0; c < 12; ++c) {
        const float *w_c = w + 5 * c;
        const float *x_c = x + c * X_c;
        const __m512 x_0 = _mm512_maskz_loadu_ps(TAIL, x_c);
        { const __m512 w_0 = _mm512_set1_ps(*(w_c)); acc_0_0 = _mm512_fmadd_ps(w_0, x_0, acc_0_0); }
        { const __m512 w_1 = _mm512_set1_ps(*(w_c + 1)); acc_1_0 = _mm512_fmadd_ps(w_1, x_0, acc_1_0); }
        { const __m512 w_2 = _mm512_set1_ps(*(w_c + 2)); acc_2_0 = _mm512_fmadd_ps(w_2, x_0, acc_2_0); }
        { const __m512 w_3 = _mm512_set1_ps(*(w_c + 3)); acc_3_0 = _mm512_fmadd_ps(w_3, x_0, acc_3_0); }
        { const __m512 w_4 = _mm512_set1_ps(*(w_c + 4)); acc_4_0 = _mm512_fmadd_ps(w_4, x_0, acc_4_0); }
    }
    _mm512_mask_storeu_ps(y, TAIL, acc_0_0);
    _mm512_mask_storeu_ps(y + Y_k, TAIL, acc_1_0);
    _mm512_mask_storeu_ps(y + 2 * Y_k, TAIL, acc_2_0);
    _mm512_mask_storeu_ps(y + 3 * Y_k, TAIL, acc_3_0);
    _mm512_mask_storeu_ps(y + 4 * Y_k, TAIL, acc_4_0);
}

/* Whether this CPU runs the kernel. This function and the packing run on any CPU. */
__attribute__((target("no-avx"))) int pointwise2d_f32_n2_c12_h9_w11_k18_r1_s1_layoutnchw__avx512f_supported(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("fma");
}

/* The loops over tiles. Their variables are positions. A tile gets pointers to its own first x, panel and y. */
void pointwise2d_f32_n2_c12_h9_w11_k18_r1_s1_layoutnchw__avx512f_run(const float *restrict X, const float *restrict W, float *restrict Y)
{
    for (long w = 0; w < 112; w += 16) {
        for (long n = 0; n < 2; ++n) {
            if (w < 96) {
                tile0_8kx16w(X + n * X_n + w * X_w, W, Y + n * Y_n + w * Y_w);
            } else {
                tile1_8kx16w_tail(X + n * X_n + w * X_w, W, Y + n * Y_n + w * Y_w);
            }
        }
        for (long k = 8; k < 18; k += 5) {
            for (long n = 0; n < 2; ++n) {
                if (w < 96) {
                    tile2_5kx16w(X + n * X_n + w * X_w, W + 12 * k, Y + n * Y_n + k * Y_k + w * Y_w);
                } else {
                    tile3_5kx16w_tail(X + n * X_n + w * X_w, W + 12 * k, Y + n * Y_n + k * Y_k + w * Y_w);
                }
            }
        }
    }
}

/* Packs the weights. They lie in memory as w[k, c] of 18 x 12. */
__attribute__((target("no-avx"))) void pointwise2d_f32_n2_c12_h9_w11_k18_r1_s1_layoutnchw__avx512f_pack_run(const float *restrict W, float *restrict packed)
{
    const long W_k = 12, W_c = 1;
    for (long c = 0; c < 12; ++c) {
        for (long k_u = 0; k_u < 8; ++k_u) {
            packed[k_u + 8 * c] = W[k_u * W_k + c * W_c];
        }
    }
    for (long k = 8; k < 18; k += 5) {
        for (long c = 0; c < 12; ++c) {
            for (long k_u = 0; k_u < 5; ++k_u) {
                packed[12 * k + k_u + 5 * c] = W[(k + k_u) * W_k + c * W_c];
            }
        }
    }
}

/*
 * A whole call: it checks the CPU.
 * A caller that has done so calls pointwise2d_f32_n2_c12_h9_w11_k18_r1_s1_layoutnchw__avx512f_run.
 */
#include <stdio.h>
#include <stdlib.h>

void pointwise2d_f32_n2_c12_h9_w11_k18_r1_s1_layoutnchw__avx512f(const float *restrict X, const float *restrict W, float *restrict Y)
{
    if (!pointwise2d_f32_n2_c12_h9_w11_k18_r1_s1_layoutnchw__avx512f_supported()) {
        fputs("pointwise2d_f32_n2_c12_h9_w11_k18_r1_s1_layoutnchw__avx512f: this CPU lacks avx512f or avx512vl or fma\n", stderr);
        abort();
    }
    pointwise2d_f32_n2_c12_h9_w11_k18_r1_s1_layoutnchw__avx512f_run(X, W, Y);
}

/* Packs the weights, once for many calls. */
__attribute__((target("no-avx"))) void pointwise2d_f32_n2_c12_h9_w11_k18_r1_s1_layoutnchw__avx512f_pack(const float *restrict W, float *restrict packed)
{
    pointwise2d_f32_n2_c12_h9_w11_k18_r1_s1_layoutnchw__avx512f_pack_run(W, packed);
}
