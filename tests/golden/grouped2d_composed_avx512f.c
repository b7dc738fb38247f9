/*
 * grouped2d n=2,c=44,h=9,w=8,k=44,r=3,s=3,groups=11,pad=1
 *
 * Written by Tilewright VERSION from the scheme
 *
 *     R(n) T(h,3) L(w, 1x3 + 1x5) R(k) S(y) T(r,3) U(s,3) U(h,3) U(c,2) U(w,λ) U(c,2) V(k,16)
 *
 *     for n in 2 steps of 1:
 *       for h in 3 steps of 3:
 *         for w in 1 steps of 3:
 *           for k in 3 steps of 16:
 *             with the tile of y in registers:
 *               for r in 3 steps of 1:
 *                 register tile 16k × 4c × 3h × 3w × 3s
 *         for w in 1 steps of 5 from 3:
 *           for k in 3 steps of 16:
 *             with the tile of y in registers:
 *               for r in 3 steps of 1:
 *                 register tile 16k × 4c × 3h × 5w × 3s
 *
 * Microkernels:
 *     f32_grouped2d_ukernel_3hx3wx16kx3sx4c_s1__avx512f: 108 FMAs, 27 loads and no stores per step, 10 of 32 registers (9 accumulators)
 *     f32_grouped2d_ukernel_3hx5wx16kx3sx4c_s1__avx512f: 180 FMAs, 33 loads and no stores per step, 16 of 32 registers (15 accumulators)
 *
 * Operands, row-major f32:
 *     X: x[n, h + r - 1, w + s - 1, k ^ c] of 2 x 9 x 8 x 44
 *     W: w[k, (k ^ c) % 4, r, s] of 44 x 4 x 3 x 3
 *     Y: y[n, h, w, k] of 2 x 9 x 8 x 44
 *     W holds the panels that the scheme reads, one after the other, reduction points in the order of its loops.
 */
#include <immintrin.h>
#include <stdio.h>
#include <stdlib.h>

/* Floats that the address of X or Y moves when a dim grows by one; X_PAD is how far the first tap stands before X,
 * W_PANEL the reduction points of a panel, PANEL_v the floats of v weight vectors side by side. */
static const long X_n = 3168;
static const long X_k = 1;
static const long X_h = 352;
static const long X_w = 44;
static const long X_r = 352;
static const long X_s = 44;
static const long Y_n = 3168;
static const long Y_k = 1;
static const long Y_h = 352;
static const long Y_w = 44;
static const long X_PAD = 396;
static const long W_PANEL = 36;
static const long PANEL_1 = 16;
#define TAIL ((__mmask16)0x0fff) /* the 12 lanes used of the last vector */

/* All registers are taken: without this fence the compiler keeps an x for later and spills an accumulator for it. */
#define KEEP_APART __asm__ volatile("" ::: "memory")

/* Lane l of exchange_c(x) is lane l ^ c of x: in 4 steps every lane meets all 4 channels of its group. */
#ifdef __clang__
#define PICK(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
typedef int places __attribute__((vector_size(64)));
#define PICK(a, b, ...) __builtin_shuffle(a, b, (places){__VA_ARGS__})
#endif
static inline __m512 exchange_1(__m512 x) { return PICK(x, x, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14); }
static inline __m512 exchange_2(__m512 x) { return PICK(x, x, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13); }
static inline __m512 exchange_3(__m512 x) { return PICK(x, x, 3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12); }

/* 9 rows x 1 vectors, summed over r by 1 to 3; padding along w: rows on the image for each tap of s are 0:1-2 1:0-2 2:0-2. */
static void tile0_3hx3wx16kx4cx3s_wpad0(const float *x, const float *w, float *y)
{
    __m512 acc_0_0 = _mm512_setzero_ps();
    __m512 acc_1_0 = _mm512_setzero_ps();
    __m512 acc_2_0 = _mm512_setzero_ps();
    __m512 acc_3_0 = _mm512_setzero_ps();
    __m512 acc_4_0 = _mm512_setzero_ps();
    __m512 acc_5_0 = _mm512_setzero_ps();
    __m512 acc_6_0 = _mm512_setzero_ps();
    __m512 acc_7_0 = _mm512_setzero_ps();
    __m512 acc_8_0 = _mm512_setzero_ps();
    for (long r = 0; r < 3; ++r) {
        const float *x_r = x + r * X_r;
        const float *w_r = w + r * 12 * PANEL_1;
        const __m512 w_0_0 = _mm512_loadu_ps(w_r);
        const __m512 w_1_0 = _mm512_loadu_ps(w_r + 1 * PANEL_1);
        const __m512 w_2_0 = _mm512_loadu_ps(w_r + 2 * PANEL_1);
        const __m512 w_3_0 = _mm512_loadu_ps(w_r + 3 * PANEL_1);
        const __m512 w_4_0 = _mm512_loadu_ps(w_r + 4 * PANEL_1);
        const __m512 w_5_0 = _mm512_loadu_ps(w_r + 5 * PANEL_1);
        const __m512 w_6_0 = _mm512_loadu_ps(w_r + 6 * PANEL_1);
        const __m512 w_7_0 = _mm512_loadu_ps(w_r + 7 * PANEL_1);
        const __m512 w_8_0 = _mm512_loadu_ps(w_r + 8 * PANEL_1);
        const __m512 w_9_0 = _mm512_loadu_ps(w_r + 9 * PANEL_1);
        const __m512 w_10_0 = _mm512_loadu_ps(w_r + 10 * PANEL_1);
        const __m512 w_11_0 = _mm512_loadu_ps(w_r + 11 * PANEL_1);
        { const __m512 x_0 = _mm512_loadu_ps(x_r + X_w); acc_1_0 = _mm512_fmadd_ps(x_0, w_0_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_0, w_4_0, acc_0_0); }
        { const __m512 x_1 = exchange_1(_mm512_loadu_ps(x_r + X_w)); acc_1_0 = _mm512_fmadd_ps(x_1, w_1_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_1, w_5_0, acc_0_0); }
        { const __m512 x_2 = exchange_2(_mm512_loadu_ps(x_r + X_w)); acc_1_0 = _mm512_fmadd_ps(x_2, w_2_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_2, w_6_0, acc_0_0); }
        { const __m512 x_3 = exchange_3(_mm512_loadu_ps(x_r + X_w)); acc_1_0 = _mm512_fmadd_ps(x_3, w_3_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_3, w_7_0, acc_0_0); }
        { const __m512 x_4 = _mm512_loadu_ps(x_r + 2 * X_w); acc_2_0 = _mm512_fmadd_ps(x_4, w_0_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_4, w_4_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_4, w_8_0, acc_0_0); }
        { const __m512 x_5 = exchange_1(_mm512_loadu_ps(x_r + 2 * X_w)); acc_2_0 = _mm512_fmadd_ps(x_5, w_1_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_5, w_5_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_5, w_9_0, acc_0_0); }
        { const __m512 x_6 = exchange_2(_mm512_loadu_ps(x_r + 2 * X_w)); acc_2_0 = _mm512_fmadd_ps(x_6, w_2_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_6, w_6_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_6, w_10_0, acc_0_0); }
        { const __m512 x_7 = exchange_3(_mm512_loadu_ps(x_r + 2 * X_w)); acc_2_0 = _mm512_fmadd_ps(x_7, w_3_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_7, w_7_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_7, w_11_0, acc_0_0); }
        { const __m512 x_8 = _mm512_loadu_ps(x_r + 2 * X_w + X_s); acc_2_0 = _mm512_fmadd_ps(x_8, w_4_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_8, w_8_0, acc_1_0); }
        { const __m512 x_9 = exchange_1(_mm512_loadu_ps(x_r + 2 * X_w + X_s)); acc_2_0 = _mm512_fmadd_ps(x_9, w_5_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_9, w_9_0, acc_1_0); }
        { const __m512 x_10 = exchange_2(_mm512_loadu_ps(x_r + 2 * X_w + X_s)); acc_2_0 = _mm512_fmadd_ps(x_10, w_6_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_10, w_10_0, acc_1_0); }
        { const __m512 x_11 = exchange_3(_mm512_loadu_ps(x_r + 2 * X_w + X_s)); acc_2_0 = _mm512_fmadd_ps(x_11, w_7_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_11, w_11_0, acc_1_0); }
        { const __m512 x_12 = _mm512_loadu_ps(x_r + 2 * X_w + 2 * X_s); acc_2_0 = _mm512_fmadd_ps(x_12, w_8_0, acc_2_0); }
        { const __m512 x_13 = exchange_1(_mm512_loadu_ps(x_r + 2 * X_w + 2 * X_s)); acc_2_0 = _mm512_fmadd_ps(x_13, w_9_0, acc_2_0); }
        { const __m512 x_14 = exchange_2(_mm512_loadu_ps(x_r + 2 * X_w + 2 * X_s)); acc_2_0 = _mm512_fmadd_ps(x_14, w_10_0, acc_2_0); }
        { const __m512 x_15 = exchange_3(_mm512_loadu_ps(x_r + 2 * X_w + 2 * X_s)); acc_2_0 = _mm512_fmadd_ps(x_15, w_11_0, acc_2_0); }
        { const __m512 x_16 = _mm512_loadu_ps(x_r + X_h + X_w); acc_4_0 = _mm512_fmadd_ps(x_16, w_0_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_16, w_4_0, acc_3_0); }
        { const __m512 x_17 = exchange_1(_mm512_loadu_ps(x_r + X_h + X_w)); acc_4_0 = _mm512_fmadd_ps(x_17, w_1_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_17, w_5_0, acc_3_0); }
        { const __m512 x_18 = exchange_2(_mm512_loadu_ps(x_r + X_h + X_w)); acc_4_0 = _mm512_fmadd_ps(x_18, w_2_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_18, w_6_0, acc_3_0); }
        { const __m512 x_19 = exchange_3(_mm512_loadu_ps(x_r + X_h + X_w)); acc_4_0 = _mm512_fmadd_ps(x_19, w_3_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_19, w_7_0, acc_3_0); }
        { const __m512 x_20 = _mm512_loadu_ps(x_r + X_h + 2 * X_w); acc_5_0 = _mm512_fmadd_ps(x_20, w_0_0, acc_5_0); acc_4_0 = _mm512_fmadd_ps(x_20, w_4_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_20, w_8_0, acc_3_0); }
        { const __m512 x_21 = exchange_1(_mm512_loadu_ps(x_r + X_h + 2 * X_w)); acc_5_0 = _mm512_fmadd_ps(x_21, w_1_0, acc_5_0); acc_4_0 = _mm512_fmadd_ps(x_21, w_5_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_21, w_9_0, acc_3_0); }
        { const __m512 x_22 = exchange_2(_mm512_loadu_ps(x_r + X_h + 2 * X_w)); acc_5_0 = _mm512_fmadd_ps(x_22, w_2_0, acc_5_0); acc_4_0 = _mm512_fmadd_ps(x_22, w_6_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_22, w_10_0, acc_3_0); }
        { const __m512 x_23 = exchange_3(_mm512_loadu_ps(x_r + X_h + 2 * X_w)); acc_5_0 = _mm512_fmadd_ps(x_23, w_3_0, acc_5_0); acc_4_0 = _mm512_fmadd_ps(x_23, w_7_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_23, w_11_0, acc_3_0); }
        { const __m512 x_24 = _mm512_loadu_ps(x_r + X_h + 2 * X_w + X_s); acc_5_0 = _mm512_fmadd_ps(x_24, w_4_0, acc_5_0); acc_4_0 = _mm512_fmadd_ps(x_24, w_8_0, acc_4_0); }
        { const __m512 x_25 = exchange_1(_mm512_loadu_ps(x_r + X_h + 2 * X_w + X_s)); acc_5_0 = _mm512_fmadd_ps(x_25, w_5_0, acc_5_0); acc_4_0 = _mm512_fmadd_ps(x_25, w_9_0, acc_4_0); }
        { const __m512 x_26 = exchange_2(_mm512_loadu_ps(x_r + X_h + 2 * X_w + X_s)); acc_5_0 = _mm512_fmadd_ps(x_26, w_6_0, acc_5_0); acc_4_0 = _mm512_fmadd_ps(x_26, w_10_0, acc_4_0); }
        { const __m512 x_27 = exchange_3(_mm512_loadu_ps(x_r + X_h + 2 * X_w + X_s)); acc_5_0 = _mm512_fmadd_ps(x_27, w_7_0, acc_5_0); acc_4_0 = _mm512_fmadd_ps(x_27, w_11_0, acc_4_0); }
        { const __m512 x_28 = _mm512_loadu_ps(x_r + X_h + 2 * X_w + 2 * X_s); acc_5_0 = _mm512_fmadd_ps(x_28, w_8_0, acc_5_0); }
        { const __m512 x_29 = exchange_1(_mm512_loadu_ps(x_r + X_h + 2 * X_w + 2 * X_s)); acc_5_0 = _mm512_fmadd_ps(x_29, w_9_0, acc_5_0); }
        { const __m512 x_30 = exchange_2(_mm512_loadu_ps(x_r + X_h + 2 * X_w + 2 * X_s)); acc_5_0 = _mm512_fmadd_ps(x_30, w_10_0, acc_5_0); }
        { const __m512 x_31 = exchange_3(_mm512_loadu_ps(x_r + X_h + 2 * X_w + 2 * X_s)); acc_5_0 = _mm512_fmadd_ps(x_31, w_11_0, acc_5_0); }
        { const __m512 x_32 = _mm512_loadu_ps(x_r + 2 * X_h + X_w); acc_7_0 = _mm512_fmadd_ps(x_32, w_0_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_32, w_4_0, acc_6_0); }
        { const __m512 x_33 = exchange_1(_mm512_loadu_ps(x_r + 2 * X_h + X_w)); acc_7_0 = _mm512_fmadd_ps(x_33, w_1_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_33, w_5_0, acc_6_0); }
        { const __m512 x_34 = exchange_2(_mm512_loadu_ps(x_r + 2 * X_h + X_w)); acc_7_0 = _mm512_fmadd_ps(x_34, w_2_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_34, w_6_0, acc_6_0); }
        { const __m512 x_35 = exchange_3(_mm512_loadu_ps(x_r + 2 * X_h + X_w)); acc_7_0 = _mm512_fmadd_ps(x_35, w_3_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_35, w_7_0, acc_6_0); }
        { const __m512 x_36 = _mm512_loadu_ps(x_r + 2 * X_h + 2 * X_w); acc_8_0 = _mm512_fmadd_ps(x_36, w_0_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_36, w_4_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_36, w_8_0, acc_6_0); }
        { const __m512 x_37 = exchange_1(_mm512_loadu_ps(x_r + 2 * X_h + 2 * X_w)); acc_8_0 = _mm512_fmadd_ps(x_37, w_1_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_37, w_5_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_37, w_9_0, acc_6_0); }
        { const __m512 x_38 = exchange_2(_mm512_loadu_ps(x_r + 2 * X_h + 2 * X_w)); acc_8_0 = _mm512_fmadd_ps(x_38, w_2_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_38, w_6_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_38, w_10_0, acc_6_0); }
        { const __m512 x_39 = exchange_3(_mm512_loadu_ps(x_r + 2 * X_h + 2 * X_w)); acc_8_0 = _mm512_fmadd_ps(x_39, w_3_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_39, w_7_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_39, w_11_0, acc_6_0); }
        { const __m512 x_40 = _mm512_loadu_ps(x_r + 2 * X_h + 2 * X_w + X_s); acc_8_0 = _mm512_fmadd_ps(x_40, w_4_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_40, w_8_0, acc_7_0); }
        { const __m512 x_41 = exchange_1(_mm512_loadu_ps(x_r + 2 * X_h + 2 * X_w + X_s)); acc_8_0 = _mm512_fmadd_ps(x_41, w_5_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_41, w_9_0, acc_7_0); }
        { const __m512 x_42 = exchange_2(_mm512_loadu_ps(x_r + 2 * X_h + 2 * X_w + X_s)); acc_8_0 = _mm512_fmadd_ps(x_42, w_6_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_42, w_10_0, acc_7_0); }
        { const __m512 x_43 = exchange_3(_mm512_loadu_ps(x_r + 2 * X_h + 2 * X_w + X_s)); acc_8_0 = _mm512_fmadd_ps(x_43, w_7_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_43, w_11_0, acc_7_0); }
        { const __m512 x_44 = _mm512_loadu_ps(x_r + 2 * X_h + 2 * X_w + 2 * X_s); acc_8_0 = _mm512_fmadd_ps(x_44, w_8_0, acc_8_0); }
        { const __m512 x_45 = exchange_1(_mm512_loadu_ps(x_r + 2 * X_h + 2 * X_w + 2 * X_s)); acc_8_0 = _mm512_fmadd_ps(x_45, w_9_0, acc_8_0); }
        { const __m512 x_46 = exchange_2(_mm512_loadu_ps(x_r + 2 * X_h + 2 * X_w + 2 * X_s)); acc_8_0 = _mm512_fmadd_ps(x_46, w_10_0, acc_8_0); }
        { const __m512 x_47 = exchange_3(_mm512_loadu_ps(x_r + 2 * X_h + 2 * X_w + 2 * X_s)); acc_8_0 = _mm512_fmadd_ps(x_47, w_11_0, acc_8_0); }
    }
    _mm512_storeu_ps(y, acc_0_0);
    _mm512_storeu_ps(y + Y_w, acc_1_0);
    _mm512_storeu_ps(y + 2 * Y_w, acc_2_0);
    _mm512_storeu_ps(y + Y_h, acc_3_0);
    _mm512_storeu_ps(y + Y_h + Y_w, acc_4_0);
    _mm512_storeu_ps(y + Y_h + 2 * Y_w, acc_5_0);
    _mm512_storeu_ps(y + 2 * Y_h, acc_6_0);
    _mm512_storeu_ps(y + 2 * Y_h + Y_w, acc_7_0);
    _mm512_storeu_ps(y + 2 * Y_h + 2 * Y_w, acc_8_0);
}

/* 9 rows x 1 vectors, summed over r by 1 to 3; padding along w: rows on the image for each tap of s are 0:1-2 1:0-2 2:0-2; the last vector is masked. */
static void tile0_3hx3wx16kx4cx3s_wpad0_tail(const float *x, const float *w, float *y)
{
    __m512 acc_0_0 = _mm512_setzero_ps();
    __m512 acc_1_0 = _mm512_setzero_ps();
    __m512 acc_2_0 = _mm512_setzero_ps();
    __m512 acc_3_0 = _mm512_setzero_ps();
    __m512 acc_4_0 = _mm512_setzero_ps();
    __m512 acc_5_0 = _mm512_setzero_ps();
    __m512 acc_6_0 = _mm512_setzero_ps();
    __m512 acc_7_0 = _mm512_setzero_ps();
    __m512 acc_8_0 = _mm512_setzero_ps();
    for (long r = 0; r < 3; ++r) {
        const float *x_r = x + r * X_r;
        const float *w_r = w + r * 12 * PANEL_1;
        const __m512 w_0_0 = _mm512_loadu_ps(w_r);
        const __m512 w_1_0 = _mm512_loadu_ps(w_r + 1 * PANEL_1);
        const __m512 w_2_0 = _mm512_loadu_ps(w_r + 2 * PANEL_1);
        const __m512 w_3_0 = _mm512_loadu_ps(w_r + 3 * PANEL_1);
        const __m512 w_4_0 = _mm512_loadu_ps(w_r + 4 * PANEL_1);
        const __m512 w_5_0 = _mm512_loadu_ps(w_r + 5 * PANEL_1);
        const __m512 w_6_0 = _mm512_loadu_ps(w_r + 6 * PANEL_1);
        const __m512 w_7_0 = _mm512_loadu_ps(w_r + 7 * PANEL_1);
        const __m512 w_8_0 = _mm512_loadu_ps(w_r + 8 * PANEL_1);
        const __m512 w_9_0 = _mm512_loadu_ps(w_r + 9 * PANEL_1);
        const __m512 w_10_0 = _mm512_loadu_ps(w_r + 10 * PANEL_1);
        const __m512 w_11_0 = _mm512_loadu_ps(w_r + 11 * PANEL_1);
        { const __m512 x_0 = _mm512_maskz_loadu_ps(TAIL, x_r + X_w); acc_1_0 = _mm512_fmadd_ps(x_0, w_0_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_0, w_4_0, acc_0_0); }
        { const __m512 x_1 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + X_w)); acc_1_0 = _mm512_fmadd_ps(x_1, w_1_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_1, w_5_0, acc_0_0); }
        { const __m512 x_2 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + X_w)); acc_1_0 = _mm512_fmadd_ps(x_2, w_2_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_2, w_6_0, acc_0_0); }
        { const __m512 x_3 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + X_w)); acc_1_0 = _mm512_fmadd_ps(x_3, w_3_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_3, w_7_0, acc_0_0); }
        { const __m512 x_4 = _mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_w); acc_2_0 = _mm512_fmadd_ps(x_4, w_0_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_4, w_4_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_4, w_8_0, acc_0_0); }
        { const __m512 x_5 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_w)); acc_2_0 = _mm512_fmadd_ps(x_5, w_1_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_5, w_5_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_5, w_9_0, acc_0_0); }
        { const __m512 x_6 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_w)); acc_2_0 = _mm512_fmadd_ps(x_6, w_2_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_6, w_6_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_6, w_10_0, acc_0_0); }
        { const __m512 x_7 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_w)); acc_2_0 = _mm512_fmadd_ps(x_7, w_3_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_7, w_7_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_7, w_11_0, acc_0_0); }
        { const __m512 x_8 = _mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_w + X_s); acc_2_0 = _mm512_fmadd_ps(x_8, w_4_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_8, w_8_0, acc_1_0); }
        { const __m512 x_9 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_w + X_s)); acc_2_0 = _mm512_fmadd_ps(x_9, w_5_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_9, w_9_0, acc_1_0); }
        { const __m512 x_10 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_w + X_s)); acc_2_0 = _mm512_fmadd_ps(x_10, w_6_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_10, w_10_0, acc_1_0); }
        { const __m512 x_11 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_w + X_s)); acc_2_0 = _mm512_fmadd_ps(x_11, w_7_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_11, w_11_0, acc_1_0); }
        { const __m512 x_12 = _mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_w + 2 * X_s); acc_2_0 = _mm512_fmadd_ps(x_12, w_8_0, acc_2_0); }
        { const __m512 x_13 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_w + 2 * X_s)); acc_2_0 = _mm512_fmadd_ps(x_13, w_9_0, acc_2_0); }
        { const __m512 x_14 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_w + 2 * X_s)); acc_2_0 = _mm512_fmadd_ps(x_14, w_10_0, acc_2_0); }
        { const __m512 x_15 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_w + 2 * X_s)); acc_2_0 = _mm512_fmadd_ps(x_15, w_11_0, acc_2_0); }
        { const __m512 x_16 = _mm512_maskz_loadu_ps(TAIL, x_r + X_h + X_w); acc_4_0 = _mm512_fmadd_ps(x_16, w_0_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_16, w_4_0, acc_3_0); }
        { const __m512 x_17 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + X_w)); acc_4_0 = _mm512_fmadd_ps(x_17, w_1_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_17, w_5_0, acc_3_0); }
        { const __m512 x_18 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + X_w)); acc_4_0 = _mm512_fmadd_ps(x_18, w_2_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_18, w_6_0, acc_3_0); }
        { const __m512 x_19 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + X_w)); acc_4_0 = _mm512_fmadd_ps(x_19, w_3_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_19, w_7_0, acc_3_0); }
        { const __m512 x_20 = _mm512_maskz_loadu_ps(TAIL, x_r + X_h + 2 * X_w); acc_5_0 = _mm512_fmadd_ps(x_20, w_0_0, acc_5_0); acc_4_0 = _mm512_fmadd_ps(x_20, w_4_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_20, w_8_0, acc_3_0); }
        { const __m512 x_21 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + 2 * X_w)); acc_5_0 = _mm512_fmadd_ps(x_21, w_1_0, acc_5_0); acc_4_0 = _mm512_fmadd_ps(x_21, w_5_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_21, w_9_0, acc_3_0); }
        { const __m512 x_22 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + 2 * X_w)); acc_5_0 = _mm512_fmadd_ps(x_22, w_2_0, acc_5_0); acc_4_0 = _mm512_fmadd_ps(x_22, w_6_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_22, w_10_0, acc_3_0); }
        { const __m512 x_23 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + 2 * X_w)); acc_5_0 = _mm512_fmadd_ps(x_23, w_3_0, acc_5_0); acc_4_0 = _mm512_fmadd_ps(x_23, w_7_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_23, w_11_0, acc_3_0); }
        { const __m512 x_24 = _mm512_maskz_loadu_ps(TAIL, x_r + X_h + 2 * X_w + X_s); acc_5_0 = _mm512_fmadd_ps(x_24, w_4_0, acc_5_0); acc_4_0 = _mm512_fmadd_ps(x_24, w_8_0, acc_4_0); }
        { const __m512 x_25 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + 2 * X_w + X_s)); acc_5_0 = _mm512_fmadd_ps(x_25, w_5_0, acc_5_0); acc_4_0 = _mm512_fmadd_ps(x_25, w_9_0, acc_4_0); }
        { const __m512 x_26 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + 2 * X_w + X_s)); acc_5_0 = _mm512_fmadd_ps(x_26, w_6_0, acc_5_0); acc_4_0 = _mm512_fmadd_ps(x_26, w_10_0, acc_4_0); }
        { const __m512 x_27 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + 2 * X_w + X_s)); acc_5_0 = _mm512_fmadd_ps(x_27, w_7_0, acc_5_0); acc_4_0 = _mm512_fmadd_ps(x_27, w_11_0, acc_4_0); }
        { const __m512 x_28 = _mm512_maskz_loadu_ps(TAIL, x_r + X_h + 2 * X_w + 2 * X_s); acc_5_0 = _mm512_fmadd_ps(x_28, w_8_0, acc_5_0); }
        { const __m512 x_29 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + 2 * X_w + 2 * X_s)); acc_5_0 = _mm512_fmadd_ps(x_29, w_9_0, acc_5_0); }
        { const __m512 x_30 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + 2 * X_w + 2 * X_s)); acc_5_0 = _mm512_fmadd_ps(x_30, w_10_0, acc_5_0); }
        { const __m512 x_31 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + 2 * X_w + 2 * X_s)); acc_5_0 = _mm512_fmadd_ps(x_31, w_11_0, acc_5_0); }
        { const __m512 x_32 = _mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + X_w); acc_7_0 = _mm512_fmadd_ps(x_32, w_0_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_32, w_4_0, acc_6_0); }
        { const __m512 x_33 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + X_w)); acc_7_0 = _mm512_fmadd_ps(x_33, w_1_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_33, w_5_0, acc_6_0); }
        { const __m512 x_34 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + X_w)); acc_7_0 = _mm512_fmadd_ps(x_34, w_2_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_34, w_6_0, acc_6_0); }
        { const __m512 x_35 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + X_w)); acc_7_0 = _mm512_fmadd_ps(x_35, w_3_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_35, w_7_0, acc_6_0); }
        { const __m512 x_36 = _mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + 2 * X_w); acc_8_0 = _mm512_fmadd_ps(x_36, w_0_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_36, w_4_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_36, w_8_0, acc_6_0); }
        { const __m512 x_37 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + 2 * X_w)); acc_8_0 = _mm512_fmadd_ps(x_37, w_1_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_37, w_5_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_37, w_9_0, acc_6_0); }
        { const __m512 x_38 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + 2 * X_w)); acc_8_0 = _mm512_fmadd_ps(x_38, w_2_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_38, w_6_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_38, w_10_0, acc_6_0); }
        { const __m512 x_39 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + 2 * X_w)); acc_8_0 = _mm512_fmadd_ps(x_39, w_3_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_39, w_7_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_39, w_11_0, acc_6_0); }
        { const __m512 x_40 = _mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + 2 * X_w + X_s); acc_8_0 = _mm512_fmadd_ps(x_40, w_4_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_40, w_8_0, acc_7_0); }
        { const __m512 x_41 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + 2 * X_w + X_s)); acc_8_0 = _mm512_fmadd_ps(x_41, w_5_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_41, w_9_0, acc_7_0); }
        { const __m512 x_42 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + 2 * X_w + X_s)); acc_8_0 = _mm512_fmadd_ps(x_42, w_6_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_42, w_10_0, acc_7_0); }
        { const __m512 x_43 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + 2 * X_w + X_s)); acc_8_0 = _mm512_fmadd_ps(x_43, w_7_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_43, w_11_0, acc_7_0); }
        { const __m512 x_44 = _mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + 2 * X_w + 2 * X_s); acc_8_0 = _mm512_fmadd_ps(x_44, w_8_0, acc_8_0); }
        { const __m512 x_45 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + 2 * X_w + 2 * X_s)); acc_8_0 = _mm512_fmadd_ps(x_45, w_9_0, acc_8_0); }
        { const __m512 x_46 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + 2 * X_w + 2 * X_s)); acc_8_0 = _mm512_fmadd_ps(x_46, w_10_0, acc_8_0); }
        { const __m512 x_47 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + 2 * X_w + 2 * X_s)); acc_8_0 = _mm512_fmadd_ps(x_47, w_11_0, acc_8_0); }
    }
    _mm512_mask_storeu_ps(y, TAIL, acc_0_0);
    _mm512_mask_storeu_ps(y + Y_w, TAIL, acc_1_0);
    _mm512_mask_storeu_ps(y + 2 * Y_w, TAIL, acc_2_0);
    _mm512_mask_storeu_ps(y + Y_h, TAIL, acc_3_0);
    _mm512_mask_storeu_ps(y + Y_h + Y_w, TAIL, acc_4_0);
    _mm512_mask_storeu_ps(y + Y_h + 2 * Y_w, TAIL, acc_5_0);
    _mm512_mask_storeu_ps(y + 2 * Y_h, TAIL, acc_6_0);
    _mm512_mask_storeu_ps(y + 2 * Y_h + Y_w, TAIL, acc_7_0);
    _mm512_mask_storeu_ps(y + 2 * Y_h + 2 * Y_w, TAIL, acc_8_0);
}

/* 9 rows x 1 vectors, summed over r by 1 to 3; padding along h: rows on the image for each tap of r are 0:1-2 1:0-2 2:0-2; padding along w: rows on the image for each tap of s are 0:1-2 1:0-2 2:0-2. */
static void tile0_3hx3wx16kx4cx3s_hpad1_wpad0(const float *x, const float *w, float *y)
{
    __m512 acc_0_0 = _mm512_setzero_ps();
    __m512 acc_1_0 = _mm512_setzero_ps();
    __m512 acc_2_0 = _mm512_setzero_ps();
    __m512 acc_3_0 = _mm512_setzero_ps();
    __m512 acc_4_0 = _mm512_setzero_ps();
    __m512 acc_5_0 = _mm512_setzero_ps();
    __m512 acc_6_0 = _mm512_setzero_ps();
    __m512 acc_7_0 = _mm512_setzero_ps();
    __m512 acc_8_0 = _mm512_setzero_ps();
    { /* r = 0 */
        const float *x_r = x + 0 * X_r;
        const float *w_r = w + 0 * 12 * PANEL_1;
        const __m512 w_0_0 = _mm512_loadu_ps(w_r);
        const __m512 w_1_0 = _mm512_loadu_ps(w_r + 1 * PANEL_1);
        const __m512 w_2_0 = _mm512_loadu_ps(w_r + 2 * PANEL_1);
        const __m512 w_3_0 = _mm512_loadu_ps(w_r + 3 * PANEL_1);
        const __m512 w_4_0 = _mm512_loadu_ps(w_r + 4 * PANEL_1);
        const __m512 w_5_0 = _mm512_loadu_ps(w_r + 5 * PANEL_1);
        const __m512 w_6_0 = _mm512_loadu_ps(w_r + 6 * PANEL_1);
        const __m512 w_7_0 = _mm512_loadu_ps(w_r + 7 * PANEL_1);
        const __m512 w_8_0 = _mm512_loadu_ps(w_r + 8 * PANEL_1);
        const __m512 w_9_0 = _mm512_loadu_ps(w_r + 9 * PANEL_1);
        const __m512 w_10_0 = _mm512_loadu_ps(w_r + 10 * PANEL_1);
        const __m512 w_11_0 = _mm512_loadu_ps(w_r + 11 * PANEL_1);
        { const __m512 x_0 = _mm512_loadu_ps(x_r + X_h + X_w); acc_4_0 = _mm512_fmadd_ps(x_0, w_0_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_0, w_4_0, acc_3_0); }
        { const __m512 x_1 = exchange_1(_mm512_loadu_ps(x_r + X_h + X_w)); acc_4_0 = _mm512_fmadd_ps(x_1, w_1_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_1, w_5_0, acc_3_0); }
        { const __m512 x_2 = exchange_2(_mm512_loadu_ps(x_r + X_h + X_w)); acc_4_0 = _mm512_fmadd_ps(x_2, w_2_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_2, w_6_0, acc_3_0); }
        { const __m512 x_3 = exchange_3(_mm512_loadu_ps(x_r + X_h + X_w)); acc_4_0 = _mm512_fmadd_ps(x_3, w_3_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_3, w_7_0, acc_3_0); }
        { const __m512 x_4 = _mm512_loadu_ps(x_r + X_h + 2 * X_w); acc_5_0 = _mm512_fmadd_ps(x_4, w_0_0, acc_5_0); acc_4_0 = _mm512_fmadd_ps(x_4, w_4_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_4, w_8_0, acc_3_0); }
        { const __m512 x_5 = exchange_1(_mm512_loadu_ps(x_r + X_h + 2 * X_w)); acc_5_0 = _mm512_fmadd_ps(x_5, w_1_0, acc_5_0); acc_4_0 = _mm512_fmadd_ps(x_5, w_5_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_5, w_9_0, acc_3_0); }
        { const __m512 x_6 = exchange_2(_mm512_loadu_ps(x_r + X_h + 2 * X_w)); acc_5_0 = _mm512_fmadd_ps(x_6, w_2_0, acc_5_0); acc_4_0 = _mm512_fmadd_ps(x_6, w_6_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_6, w_10_0, acc_3_0); }
        { const __m512 x_7 = exchange_3(_mm512_loadu_ps(x_r + X_h + 2 * X_w)); acc_5_0 = _mm512_fmadd_ps(x_7, w_3_0, acc_5_0); acc_4_0 = _mm512_fmadd_ps(x_7, w_7_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_7, w_11_0, acc_3_0); }
        { const __m512 x_8 = _mm512_loadu_ps(x_r + X_h + 2 * X_w + X_s); acc_5_0 = _mm512_fmadd_ps(x_8, w_4_0, acc_5_0); acc_4_0 = _mm512_fmadd_ps(x_8, w_8_0, acc_4_0); }
        { const __m512 x_9 = exchange_1(_mm512_loadu_ps(x_r + X_h + 2 * X_w + X_s)); acc_5_0 = _mm512_fmadd_ps(x_9, w_5_0, acc_5_0); acc_4_0 = _mm512_fmadd_ps(x_9, w_9_0, acc_4_0); }
        { const __m512 x_10 = exchange_2(_mm512_loadu_ps(x_r + X_h + 2 * X_w + X_s)); acc_5_0 = _mm512_fmadd_ps(x_10, w_6_0, acc_5_0); acc_4_0 = _mm512_fmadd_ps(x_10, w_10_0, acc_4_0); }
        { const __m512 x_11 = exchange_3(_mm512_loadu_ps(x_r + X_h + 2 * X_w + X_s)); acc_5_0 = _mm512_fmadd_ps(x_11, w_7_0, acc_5_0); acc_4_0 = _mm512_fmadd_ps(x_11, w_11_0, acc_4_0); }
        { const __m512 x_12 = _mm512_loadu_ps(x_r + X_h + 2 * X_w + 2 * X_s); acc_5_0 = _mm512_fmadd_ps(x_12, w_8_0, acc_5_0); }
        { const __m512 x_13 = exchange_1(_mm512_loadu_ps(x_r + X_h + 2 * X_w + 2 * X_s)); acc_5_0 = _mm512_fmadd_ps(x_13, w_9_0, acc_5_0); }
        { const __m512 x_14 = exchange_2(_mm512_loadu_ps(x_r + X_h + 2 * X_w + 2 * X_s)); acc_5_0 = _mm512_fmadd_ps(x_14, w_10_0, acc_5_0); }
        { const __m512 x_15 = exchange_3(_mm512_loadu_ps(x_r + X_h + 2 * X_w + 2 * X_s)); acc_5_0 = _mm512_fmadd_ps(x_15, w_11_0, acc_5_0); }
        { const __m512 x_16 = _mm512_loadu_ps(x_r + 2 * X_h + X_w); acc_7_0 = _mm512_fmadd_ps(x_16, w_0_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_16, w_4_0, acc_6_0); }
        { const __m512 x_17 = exchange_1(_mm512_loadu_ps(x_r + 2 * X_h + X_w)); acc_7_0 = _mm512_fmadd_ps(x_17, w_1_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_17, w_5_0, acc_6_0); }
        { const __m512 x_18 = exchange_2(_mm512_loadu_ps(x_r + 2 * X_h + X_w)); acc_7_0 = _mm512_fmadd_ps(x_18, w_2_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_18, w_6_0, acc_6_0); }
        { const __m512 x_19 = exchange_3(_mm512_loadu_ps(x_r + 2 * X_h + X_w)); acc_7_0 = _mm512_fmadd_ps(x_19, w_3_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_19, w_7_0, acc_6_0); }
        { const __m512 x_20 = _mm512_loadu_ps(x_r + 2 * X_h + 2 * X_w); acc_8_0 = _mm512_fmadd_ps(x_20, w_0_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_20, w_4_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_20, w_8_0, acc_6_0); }
        { const __m512 x_21 = exchange_1(_mm512_loadu_ps(x_r + 2 * X_h + 2 * X_w)); acc_8_0 = _mm512_fmadd_ps(x_21, w_1_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_21, w_5_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_21, w_9_0, acc_6_0); }
        { const __m512 x_22 = exchange_2(_mm512_loadu_ps(x_r + 2 * X_h + 2 * X_w)); acc_8_0 = _mm512_fmadd_ps(x_22, w_2_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_22, w_6_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_22, w_10_0, acc_6_0); }
        { const __m512 x_23 = exchange_3(_mm512_loadu_ps(x_r + 2 * X_h + 2 * X_w)); acc_8_0 = _mm512_fmadd_ps(x_23, w_3_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_23, w_7_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_23, w_11_0, acc_6_0); }
        { const __m512 x_24 = _mm512_loadu_ps(x_r + 2 * X_h + 2 * X_w + X_s); acc_8_0 = _mm512_fmadd_ps(x_24, w_4_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_24, w_8_0, acc_7_0); }
        { const __m512 x_25 = exchange_1(_mm512_loadu_ps(x_r + 2 * X_h + 2 * X_w + X_s)); acc_8_0 = _mm512_fmadd_ps(x_25, w_5_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_25, w_9_0, acc_7_0); }
        { const __m512 x_26 = exchange_2(_mm512_loadu_ps(x_r + 2 * X_h + 2 * X_w + X_s)); acc_8_0 = _mm512_fmadd_ps(x_26, w_6_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_26, w_10_0, acc_7_0); }
        { const __m512 x_27 = exchange_3(_mm512_loadu_ps(x_r + 2 * X_h + 2 * X_w + X_s)); acc_8_0 = _mm512_fmadd_ps(x_27, w_7_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_27, w_11_0, acc_7_0); }
        { const __m512 x_28 = _mm512_loadu_ps(x_r + 2 * X_h + 2 * X_w + 2 * X_s); acc_8_0 = _mm512_fmadd_ps(x_28, w_8_0, acc_8_0); }
        { const __m512 x_29 = exchange_1(_mm512_loadu_ps(x_r + 2 * X_h + 2 * X_w + 2 * X_s)); acc_8_0 = _mm512_fmadd_ps(x_29, w_9_0, acc_8_0); }
        { const __m512 x_30 = exchange_2(_mm512_loadu_ps(x_r + 2 * X_h + 2 * X_w + 2 * X_s)); acc_8_0 = _mm512_fmadd_ps(x_30, w_10_0, acc_8_0); }
        { const __m512 x_31 = exchange_3(_mm512_loadu_ps(x_r + 2 * X_h + 2 * X_w + 2 * X_s)); acc_8_0 = _mm512_fmadd_ps(x_31, w_11_0, acc_8_0); }
    }
    for (long r = 1; r < 3; ++r) {
        const float *x_r = x + r * X_r;
        const float *w_r = w + r * 12 * PANEL_1;
        const __m512 w_0_0 = _mm512_loadu_ps(w_r);
        const __m512 w_1_0 = _mm512_loadu_ps(w_r + 1 * PANEL_1);
        const __m512 w_2_0 = _mm512_loadu_ps(w_r + 2 * PANEL_1);
        const __m512 w_3_0 = _mm512_loadu_ps(w_r + 3 * PANEL_1);
        const __m512 w_4_0 = _mm512_loadu_ps(w_r + 4 * PANEL_1);
        const __m512 w_5_0 = _mm512_loadu_ps(w_r + 5 * PANEL_1);
        const __m512 w_6_0 = _mm512_loadu_ps(w_r + 6 * PANEL_1);
        const __m512 w_7_0 = _mm512_loadu_ps(w_r + 7 * PANEL_1);
        const __m512 w_8_0 = _mm512_loadu_ps(w_r + 8 * PANEL_1);
        const __m512 w_9_0 = _mm512_loadu_ps(w_r + 9 * PANEL_1);
        const __m512 w_10_0 = _mm512_loadu_ps(w_r + 10 * PANEL_1);
        const __m512 w_11_0 = _mm512_loadu_ps(w_r + 11 * PANEL_1);
        { const __m512 x_0 = _mm512_loadu_ps(x_r + X_w); acc_1_0 = _mm512_fmadd_ps(x_0, w_0_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_0, w_4_0, acc_0_0); }
        { const __m512 x_1 = exchange_1(_mm512_loadu_ps(x_r + X_w)); acc_1_0 = _mm512_fmadd_ps(x_1, w_1_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_1, w_5_0, acc_0_0); }
        { const __m512 x_2 = exchange_2(_mm512_loadu_ps(x_r + X_w)); acc_1_0 = _mm512_fmadd_ps(x_2, w_2_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_2, w_6_0, acc_0_0); }
        { const __m512 x_3 = exchange_3(_mm512_loadu_ps(x_r + X_w)); acc_1_0 = _mm512_fmadd_ps(x_3, w_3_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_3, w_7_0, acc_0_0); }
        { const __m512 x_4 = _mm512_loadu_ps(x_r + 2 * X_w); acc_2_0 = _mm512_fmadd_ps(x_4, w_0_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_4, w_4_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_4, w_8_0, acc_0_0); }
        { const __m512 x_5 = exchange_1(_mm512_loadu_ps(x_r + 2 * X_w)); acc_2_0 = _mm512_fmadd_ps(x_5, w_1_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_5, w_5_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_5, w_9_0, acc_0_0); }
        { const __m512 x_6 = exchange_2(_mm512_loadu_ps(x_r + 2 * X_w)); acc_2_0 = _mm512_fmadd_ps(x_6, w_2_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_6, w_6_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_6, w_10_0, acc_0_0); }
        { const __m512 x_7 = exchange_3(_mm512_loadu_ps(x_r + 2 * X_w)); acc_2_0 = _mm512_fmadd_ps(x_7, w_3_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_7, w_7_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_7, w_11_0, acc_0_0); }
        { const __m512 x_8 = _mm512_loadu_ps(x_r + 2 * X_w + X_s); acc_2_0 = _mm512_fmadd_ps(x_8, w_4_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_8, w_8_0, acc_1_0); }
        { const __m512 x_9 = exchange_1(_mm512_loadu_ps(x_r + 2 * X_w + X_s)); acc_2_0 = _mm512_fmadd_ps(x_9, w_5_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_9, w_9_0, acc_1_0); }
        { const __m512 x_10 = exchange_2(_mm512_loadu_ps(x_r + 2 * X_w + X_s)); acc_2_0 = _mm512_fmadd_ps(x_10, w_6_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_10, w_10_0, acc_1_0); }
        { const __m512 x_11 = exchange_3(_mm512_loadu_ps(x_r + 2 * X_w + X_s)); acc_2_0 = _mm512_fmadd_ps(x_11, w_7_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_11, w_11_0, acc_1_0); }
        { const __m512 x_12 = _mm512_loadu_ps(x_r + 2 * X_w + 2 * X_s); acc_2_0 = _mm512_fmadd_ps(x_12, w_8_0, acc_2_0); }
        { const __m512 x_13 = exchange_1(_mm512_loadu_ps(x_r + 2 * X_w + 2 * X_s)); acc_2_0 = _mm512_fmadd_ps(x_13, w_9_0, acc_2_0); }
        { const __m512 x_14 = exchange_2(_mm512_loadu_ps(x_r + 2 * X_w + 2 * X_s)); acc_2_0 = _mm512_fmadd_ps(x_14, w_10_0, acc_2_0); }
        { const __m512 x_15 = exchange_3(_mm512_loadu_ps(x_r + 2 * X_w + 2 * X_s)); acc_2_0 = _mm512_fmadd_ps(x_15, w_11_0, acc_2_0); }
        { const __m512 x_16 = _mm512_loadu_ps(x_r + X_h + X_w); acc_4_0 = _mm512_fmadd_ps(x_16, w_0_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_16, w_4_0, acc_3_0); }
        { const __m512 x_17 = exchange_1(_mm512_loadu_ps(x_r + X_h + X_w)); acc_4_0 = _mm512_fmadd_ps(x_17, w_1_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_17, w_5_0, acc_3_0); }
        { const __m512 x_18 = exchange_2(_mm512_loadu_ps(x_r + X_h + X_w)); acc_4_0 = _mm512_fmadd_ps(x_18, w_2_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_18, w_6_0, acc_3_0); }
        { const __m512 x_19 = exchange_3(_mm512_loadu_ps(x_r + X_h + X_w)); acc_4_0 = _mm512_fmadd_ps(x_19, w_3_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_19, w_7_0, acc_3_0); }
        { const __m512 x_20 = _mm512_loadu_ps(x_r + X_h + 2 * X_w); acc_5_0 = _mm512_fmadd_ps(x_20, w_0_0, acc_5_0); acc_4_0 = _mm512_fmadd_ps(x_20, w_4_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_20, w_8_0, acc_3_0); }
        { const __m512 x_21 = exchange_1(_mm512_loadu_ps(x_r + X_h + 2 * X_w)); acc_5_0 = _mm512_fmadd_ps(x_21, w_1_0, acc_5_0); acc_4_0 = _mm512_fmadd_ps(x_21, w_5_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_21, w_9_0, acc_3_0); }
        { const __m512 x_22 = exchange_2(_mm512_loadu_ps(x_r + X_h + 2 * X_w)); acc_5_0 = _mm512_fmadd_ps(x_22, w_2_0, acc_5_0); acc_4_0 = _mm512_fmadd_ps(x_22, w_6_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_22, w_10_0, acc_3_0); }
        { const __m512 x_23 = exchange_3(_mm512_loadu_ps(x_r + X_h + 2 * X_w)); acc_5_0 = _mm512_fmadd_ps(x_23, w_3_0, acc_5_0); acc_4_0 = _mm512_fmadd_ps(x_23, w_7_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_23, w_11_0, acc_3_0); }
        { const __m512 x_24 = _mm512_loadu_ps(x_r + X_h + 2 * X_w + X_s); acc_5_0 = _mm512_fmadd_ps(x_24, w_4_0, acc_5_0); acc_4_0 = _mm512_fmadd_ps(x_24, w_8_0, acc_4_0); }
        { const __m512 x_25 = exchange_1(_mm512_loadu_ps(x_r + X_h + 2 * X_w + X_s)); acc_5_0 = _mm512_fmadd_ps(x_25, w_5_0, acc_5_0); acc_4_0 = _mm512_fmadd_ps(x_25, w_9_0, acc_4_0); }
        { const __m512 x_26 = exchange_2(_mm512_loadu_ps(x_r + X_h + 2 * X_w + X_s)); acc_5_0 = _mm512_fmadd_ps(x_26, w_6_0, acc_5_0); acc_4_0 = _mm512_fmadd_ps(x_26, w_10_0, acc_4_0); }
        { const __m512 x_27 = exchange_3(_mm512_loadu_ps(x_r + X_h + 2 * X_w + X_s)); acc_5_0 = _mm512_fmadd_ps(x_27, w_7_0, acc_5_0); acc_4_0 = _mm512_fmadd_ps(x_27, w_11_0, acc_4_0); }
        { const __m512 x_28 = _mm512_loadu_ps(x_r + X_h + 2 * X_w + 2 * X_s); acc_5_0 = _mm512_fmadd_ps(x_28, w_8_0, acc_5_0); }
        { const __m512 x_29 = exchange_1(_mm512_loadu_ps(x_r + X_h + 2 * X_w + 2 * X_s)); acc_5_0 = _mm512_fmadd_ps(x_29, w_9_0, acc_5_0); }
        { const __m512 x_30 = exchange_2(_mm512_loadu_ps(x_r + X_h + 2 * X_w + 2 * X_s)); acc_5_0 = _mm512_fmadd_ps(x_30, w_10_0, acc_5_0); }
        { const __m512 x_31 = exchange_3(_mm512_loadu_ps(x_r + X_h + 2 * X_w + 2 * X_s)); acc_5_0 = _mm512_fmadd_ps(x_31, w_11_0, acc_5_0); }
        { const __m512 x_32 = _mm512_loadu_ps(x_r + 2 * X_h + X_w); acc_7_0 = _mm512_fmadd_ps(x_32, w_0_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_32, w_4_0, acc_6_0); }
        { const __m512 x_33 = exchange_1(_mm512_loadu_ps(x_r + 2 * X_h + X_w)); acc_7_0 = _mm512_fmadd_ps(x_33, w_1_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_33, w_5_0, acc_6_0); }
        { const __m512 x_34 = exchange_2(_mm512_loadu_ps(x_r + 2 * X_h + X_w)); acc_7_0 = _mm512_fmadd_ps(x_34, w_2_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_34, w_6_0, acc_6_0); }
        { const __m512 x_35 = exchange_3(_mm512_loadu_ps(x_r + 2 * X_h + X_w)); acc_7_0 = _mm512_fmadd_ps(x_35, w_3_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_35, w_7_0, acc_6_0); }
        { const __m512 x_36 = _mm512_loadu_ps(x_r + 2 * X_h + 2 * X_w); acc_8_0 = _mm512_fmadd_ps(x_36, w_0_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_36, w_4_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_36, w_8_0, acc_6_0); }
        { const __m512 x_37 = exchange_1(_mm512_loadu_ps(x_r + 2 * X_h + 2 * X_w)); acc_8_0 = _mm512_fmadd_ps(x_37, w_1_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_37, w_5_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_37, w_9_0, acc_6_0); }
        { const __m512 x_38 = exchange_2(_mm512_loadu_ps(x_r + 2 * X_h + 2 * X_w)); acc_8_0 = _mm512_fmadd_ps(x_38, w_2_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_38, w_6_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_38, w_10_0, acc_6_0); }
        { const __m512 x_39 = exchange_3(_mm512_loadu_ps(x_r + 2 * X_h + 2 * X_w)); acc_8_0 = _mm512_fmadd_ps(x_39, w_3_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_39, w_7_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_39, w_11_0, acc_6_0); }
        { const __m512 x_40 = _mm512_loadu_ps(x_r + 2 * X_h + 2 * X_w + X_s); acc_8_0 = _mm512_fmadd_ps(x_40, w_4_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_40, w_8_0, acc_7_0); }
        { const __m512 x_41 = exchange_1(_mm512_loadu_ps(x_r + 2 * X_h + 2 * X_w + X_s)); acc_8_0 = _mm512_fmadd_ps(x_41, w_5_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_41, w_9_0, acc_7_0); }
        { const __m512 x_42 = exchange_2(_mm512_loadu_ps(x_r + 2 * X_h + 2 * X_w + X_s)); acc_8_0 = _mm512_fmadd_ps(x_42, w_6_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_42, w_10_0, acc_7_0); }
        { const __m512 x_43 = exchange_3(_mm512_loadu_ps(x_r + 2 * X_h + 2 * X_w + X_s)); acc_8_0 = _mm512_fmadd_ps(x_43, w_7_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_43, w_11_0, acc_7_0); }
        { const __m512 x_44 = _mm512_loadu_ps(x_r + 2 * X_h + 2 * X_w + 2 * X_s); acc_8_0 = _mm512_fmadd_ps(x_44, w_8_0, acc_8_0); }
        { const __m512 x_45 = exchange_1(_mm512_loadu_ps(x_r + 2 * X_h + 2 * X_w + 2 * X_s)); acc_8_0 = _mm512_fmadd_ps(x_45, w_9_0, acc_8_0); }
        { const __m512 x_46 = exchange_2(_mm512_loadu_ps(x_r + 2 * X_h + 2 * X_w + 2 * X_s)); acc_8_0 = _mm512_fmadd_ps(x_46, w_10_0, acc_8_0); }
        { const __m512 x_47 = exchange_3(_mm512_loadu_ps(x_r + 2 * X_h + 2 * X_w + 2 * X_s)); acc_8_0 = _mm512_fmadd_ps(x_47, w_11_0, acc_8_0); }
    }
    _mm512_storeu_ps(y, acc_0_0);
    _mm512_storeu_ps(y + Y_w, acc_1_0);
    _mm512_storeu_ps(y + 2 * Y_w, acc_2_0);
    _mm512_storeu_ps(y + Y_h, acc_3_0);
    _mm512_storeu_ps(y + Y_h + Y_w, acc_4_0);
    _mm512_storeu_ps(y + Y_h + 2 * Y_w, acc_5_0);
    _mm512_storeu_ps(y + 2 * Y_h, acc_6_0);
    _mm512_storeu_ps(y + 2 * Y_h + Y_w, acc_7_0);
    _mm512_storeu_ps(y + 2 * Y_h + 2 * Y_w, acc_8_0);
}

/* 9 rows x 1 vectors, summed over r by 1 to 3; padding along h: rows on the image for each tap of r are 0:1-2 1:0-2 2:0-2; padding along w: rows on the image for each tap of s are 0:1-2 1:0-2 2:0-2; the last vector is masked. */
static void tile0_3hx3wx16kx4cx3s_hpad1_wpad0_tail(const float *x, const float *w, float *y)
{
    __m512 acc_0_0 = _mm512_setzero_ps();
    __m512 acc_1_0 = _mm512_setzero_ps();
    __m512 acc_2_0 = _mm512_setzero_ps();
    __m512 acc_3_0 = _mm512_setzero_ps();
    __m512 acc_4_0 = _mm512_setzero_ps();
    __m512 acc_5_0 = _mm512_setzero_ps();
    __m512 acc_6_0 = _mm512_setzero_ps();
    __m512 acc_7_0 = _mm512_setzero_ps();
    __m512 acc_8_0 = _mm512_setzero_ps();
    { /* r = 0 */
        const float *x_r = x + 0 * X_r;
        const float *w_r = w + 0 * 12 * PANEL_1;
        const __m512 w_0_0 = _mm512_loadu_ps(w_r);
        const __m512 w_1_0 = _mm512_loadu_ps(w_r + 1 * PANEL_1);
        const __m512 w_2_0 = _mm512_loadu_ps(w_r + 2 * PANEL_1);
        const __m512 w_3_0 = _mm512_loadu_ps(w_r + 3 * PANEL_1);
        const __m512 w_4_0 = _mm512_loadu_ps(w_r + 4 * PANEL_1);
        const __m512 w_5_0 = _mm512_loadu_ps(w_r + 5 * PANEL_1);
        const __m512 w_6_0 = _mm512_loadu_ps(w_r + 6 * PANEL_1);
        const __m512 w_7_0 = _mm512_loadu_ps(w_r + 7 * PANEL_1);
        const __m512 w_8_0 = _mm512_loadu_ps(w_r + 8 * PANEL_1);
        const __m512 w_9_0 = _mm512_loadu_ps(w_r + 9 * PANEL_1);
        const __m512 w_10_0 = _mm512_loadu_ps(w_r + 10 * PANEL_1);
        const __m512 w_11_0 = _mm512_loadu_ps(w_r + 11 * PANEL_1);
        { const __m512 x_0 = _mm512_maskz_loadu_ps(TAIL, x_r + X_h + X_w); acc_4_0 = _mm512_fmadd_ps(x_0, w_0_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_0, w_4_0, acc_3_0); }
        { const __m512 x_1 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + X_w)); acc_4_0 = _mm512_fmadd_ps(x_1, w_1_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_1, w_5_0, acc_3_0); }
        { const __m512 x_2 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + X_w)); acc_4_0 = _mm512_fmadd_ps(x_2, w_2_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_2, w_6_0, acc_3_0); }
        { const __m512 x_3 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + X_w)); acc_4_0 = _mm512_fmadd_ps(x_3, w_3_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_3, w_7_0, acc_3_0); }
        { const __m512 x_4 = _mm512_maskz_loadu_ps(TAIL, x_r + X_h + 2 * X_w); acc_5_0 = _mm512_fmadd_ps(x_4, w_0_0, acc_5_0); acc_4_0 = _mm512_fmadd_ps(x_4, w_4_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_4, w_8_0, acc_3_0); }
        { const __m512 x_5 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + 2 * X_w)); acc_5_0 = _mm512_fmadd_ps(x_5, w_1_0, acc_5_0); acc_4_0 = _mm512_fmadd_ps(x_5, w_5_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_5, w_9_0, acc_3_0); }
        { const __m512 x_6 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + 2 * X_w)); acc_5_0 = _mm512_fmadd_ps(x_6, w_2_0, acc_5_0); acc_4_0 = _mm512_fmadd_ps(x_6, w_6_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_6, w_10_0, acc_3_0); }
        { const __m512 x_7 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + 2 * X_w)); acc_5_0 = _mm512_fmadd_ps(x_7, w_3_0, acc_5_0); acc_4_0 = _mm512_fmadd_ps(x_7, w_7_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_7, w_11_0, acc_3_0); }
        { const __m512 x_8 = _mm512_maskz_loadu_ps(TAIL, x_r + X_h + 2 * X_w + X_s); acc_5_0 = _mm512_fmadd_ps(x_8, w_4_0, acc_5_0); acc_4_0 = _mm512_fmadd_ps(x_8, w_8_0, acc_4_0); }
        { const __m512 x_9 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + 2 * X_w + X_s)); acc_5_0 = _mm512_fmadd_ps(x_9, w_5_0, acc_5_0); acc_4_0 = _mm512_fmadd_ps(x_9, w_9_0, acc_4_0); }
        { const __m512 x_10 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + 2 * X_w + X_s)); acc_5_0 = _mm512_fmadd_ps(x_10, w_6_0, acc_5_0); acc_4_0 = _mm512_fmadd_ps(x_10, w_10_0, acc_4_0); }
        { const __m512 x_11 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + 2 * X_w + X_s)); acc_5_0 = _mm512_fmadd_ps(x_11, w_7_0, acc_5_0); acc_4_0 = _mm512_fmadd_ps(x_11, w_11_0, acc_4_0); }
        { const __m512 x_12 = _mm512_maskz_loadu_ps(TAIL, x_r + X_h + 2 * X_w + 2 * X_s); acc_5_0 = _mm512_fmadd_ps(x_12, w_8_0, acc_5_0); }
        { const __m512 x_13 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + 2 * X_w + 2 * X_s)); acc_5_0 = _mm512_fmadd_ps(x_13, w_9_0, acc_5_0); }
        { const __m512 x_14 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + 2 * X_w + 2 * X_s)); acc_5_0 = _mm512_fmadd_ps(x_14, w_10_0, acc_5_0); }
        { const __m512 x_15 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + 2 * X_w + 2 * X_s)); acc_5_0 = _mm512_fmadd_ps(x_15, w_11_0, acc_5_0); }
        { const __m512 x_16 = _mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + X_w); acc_7_0 = _mm512_fmadd_ps(x_16, w_0_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_16, w_4_0, acc_6_0); }
        { const __m512 x_17 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + X_w)); acc_7_0 = _mm512_fmadd_ps(x_17, w_1_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_17, w_5_0, acc_6_0); }
        { const __m512 x_18 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + X_w)); acc_7_0 = _mm512_fmadd_ps(x_18, w_2_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_18, w_6_0, acc_6_0); }
        { const __m512 x_19 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + X_w)); acc_7_0 = _mm512_fmadd_ps(x_19, w_3_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_19, w_7_0, acc_6_0); }
        { const __m512 x_20 = _mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + 2 * X_w); acc_8_0 = _mm512_fmadd_ps(x_20, w_0_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_20, w_4_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_20, w_8_0, acc_6_0); }
        { const __m512 x_21 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + 2 * X_w)); acc_8_0 = _mm512_fmadd_ps(x_21, w_1_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_21, w_5_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_21, w_9_0, acc_6_0); }
        { const __m512 x_22 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + 2 * X_w)); acc_8_0 = _mm512_fmadd_ps(x_22, w_2_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_22, w_6_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_22, w_10_0, acc_6_0); }
        { const __m512 x_23 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + 2 * X_w)); acc_8_0 = _mm512_fmadd_ps(x_23, w_3_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_23, w_7_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_23, w_11_0, acc_6_0); }
        { const __m512 x_24 = _mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + 2 * X_w + X_s); acc_8_0 = _mm512_fmadd_ps(x_24, w_4_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_24, w_8_0, acc_7_0); }
        { const __m512 x_25 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + 2 * X_w + X_s)); acc_8_0 = _mm512_fmadd_ps(x_25, w_5_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_25, w_9_0, acc_7_0); }
        { const __m512 x_26 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + 2 * X_w + X_s)); acc_8_0 = _mm512_fmadd_ps(x_26, w_6_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_26, w_10_0, acc_7_0); }
        { const __m512 x_27 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + 2 * X_w + X_s)); acc_8_0 = _mm512_fmadd_ps(x_27, w_7_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_27, w_11_0, acc_7_0); }
        { const __m512 x_28 = _mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + 2 * X_w + 2 * X_s); acc_8_0 = _mm512_fmadd_ps(x_28, w_8_0, acc_8_0); }
        { const __m512 x_29 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + 2 * X_w + 2 * X_s)); acc_8_0 = _mm512_fmadd_ps(x_29, w_9_0, acc_8_0); }
        { const __m512 x_30 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + 2 * X_w + 2 * X_s)); acc_8_0 = _mm512_fmadd_ps(x_30, w_10_0, acc_8_0); }
        { const __m512 x_31 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + 2 * X_w + 2 * X_s)); acc_8_0 = _mm512_fmadd_ps(x_31, w_11_0, acc_8_0); }
    }
    for (long r = 1; r < 3; ++r) {
        const float *x_r = x + r * X_r;
        const float *w_r = w + r * 12 * PANEL_1;
        const __m512 w_0_0 = _mm512_loadu_ps(w_r);
        const __m512 w_1_0 = _mm512_loadu_ps(w_r + 1 * PANEL_1);
        const __m512 w_2_0 = _mm512_loadu_ps(w_r + 2 * PANEL_1);
        const __m512 w_3_0 = _mm512_loadu_ps(w_r + 3 * PANEL_1);
        const __m512 w_4_0 = _mm512_loadu_ps(w_r + 4 * PANEL_1);
        const __m512 w_5_0 = _mm512_loadu_ps(w_r + 5 * PANEL_1);
        const __m512 w_6_0 = _mm512_loadu_ps(w_r + 6 * PANEL_1);
        const __m512 w_7_0 = _mm512_loadu_ps(w_r + 7 * PANEL_1);
        const __m512 w_8_0 = _mm512_loadu_ps(w_r + 8 * PANEL_1);
        const __m512 w_9_0 = _mm512_loadu_ps(w_r + 9 * PANEL_1);
        const __m512 w_10_0 = _mm512_loadu_ps(w_r + 10 * PANEL_1);
        const __m512 w_11_0 = _mm512_loadu_ps(w_r + 11 * PANEL_1);
        { const __m512 x_0 = _mm512_maskz_loadu_ps(TAIL, x_r + X_w); acc_1_0 = _mm512_fmadd_ps(x_0, w_0_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_0, w_4_0, acc_0_0); }
        { const __m512 x_1 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + X_w)); acc_1_0 = _mm512_fmadd_ps(x_1, w_1_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_1, w_5_0, acc_0_0); }
        { const __m512 x_2 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + X_w)); acc_1_0 = _mm512_fmadd_ps(x_2, w_2_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_2, w_6_0, acc_0_0); }
        { const __m512 x_3 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + X_w)); acc_1_0 = _mm512_fmadd_ps(x_3, w_3_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_3, w_7_0, acc_0_0); }
        { const __m512 x_4 = _mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_w); acc_2_0 = _mm512_fmadd_ps(x_4, w_0_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_4, w_4_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_4, w_8_0, acc_0_0); }
        { const __m512 x_5 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_w)); acc_2_0 = _mm512_fmadd_ps(x_5, w_1_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_5, w_5_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_5, w_9_0, acc_0_0); }
        { const __m512 x_6 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_w)); acc_2_0 = _mm512_fmadd_ps(x_6, w_2_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_6, w_6_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_6, w_10_0, acc_0_0); }
        { const __m512 x_7 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_w)); acc_2_0 = _mm512_fmadd_ps(x_7, w_3_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_7, w_7_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_7, w_11_0, acc_0_0); }
        { const __m512 x_8 = _mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_w + X_s); acc_2_0 = _mm512_fmadd_ps(x_8, w_4_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_8, w_8_0, acc_1_0); }
        { const __m512 x_9 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_w + X_s)); acc_2_0 = _mm512_fmadd_ps(x_9, w_5_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_9, w_9_0, acc_1_0); }
        { const __m512 x_10 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_w + X_s)); acc_2_0 = _mm512_fmadd_ps(x_10, w_6_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_10, w_10_0, acc_1_0); }
        { const __m512 x_11 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_w + X_s)); acc_2_0 = _mm512_fmadd_ps(x_11, w_7_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_11, w_11_0, acc_1_0); }
        { const __m512 x_12 = _mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_w + 2 * X_s); acc_2_0 = _mm512_fmadd_ps(x_12, w_8_0, acc_2_0); }
        { const __m512 x_13 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_w + 2 * X_s)); acc_2_0 = _mm512_fmadd_ps(x_13, w_9_0, acc_2_0); }
        { const __m512 x_14 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_w + 2 * X_s)); acc_2_0 = _mm512_fmadd_ps(x_14, w_10_0, acc_2_0); }
        { const __m512 x_15 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_w + 2 * X_s)); acc_2_0 = _mm512_fmadd_ps(x_15, w_11_0, acc_2_0); }
        { const __m512 x_16 = _mm512_maskz_loadu_ps(TAIL, x_r + X_h + X_w); acc_4_0 = _mm512_fmadd_ps(x_16, w_0_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_16, w_4_0, acc_3_0); }
        { const __m512 x_17 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + X_w)); acc_4_0 = _mm512_fmadd_ps(x_17, w_1_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_17, w_5_0, acc_3_0); }
        { const __m512 x_18 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + X_w)); acc_4_0 = _mm512_fmadd_ps(x_18, w_2_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_18, w_6_0, acc_3_0); }
        { const __m512 x_19 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + X_w)); acc_4_0 = _mm512_fmadd_ps(x_19, w_3_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_19, w_7_0, acc_3_0); }
        { const __m512 x_20 = _mm512_maskz_loadu_ps(TAIL, x_r + X_h + 2 * X_w); acc_5_0 = _mm512_fmadd_ps(x_20, w_0_0, acc_5_0); acc_4_0 = _mm512_fmadd_ps(x_20, w_4_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_20, w_8_0, acc_3_0); }
        { const __m512 x_21 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + 2 * X_w)); acc_5_0 = _mm512_fmadd_ps(x_21, w_1_0, acc_5_0); acc_4_0 = _mm512_fmadd_ps(x_21, w_5_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_21, w_9_0, acc_3_0); }
        { const __m512 x_22 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + 2 * X_w)); acc_5_0 = _mm512_fmadd_ps(x_22, w_2_0, acc_5_0); acc_4_0 = _mm512_fmadd_ps(x_22, w_6_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_22, w_10_0, acc_3_0); }
        { const __m512 x_23 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + 2 * X_w)); acc_5_0 = _mm512_fmadd_ps(x_23, w_3_0, acc_5_0); acc_4_0 = _mm512_fmadd_ps(x_23, w_7_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_23, w_11_0, acc_3_0); }
        { const __m512 x_24 = _mm512_maskz_loadu_ps(TAIL, x_r + X_h + 2 * X_w + X_s); acc_5_0 = _mm512_fmadd_ps(x_24, w_4_0, acc_5_0); acc_4_0 = _mm512_fmadd_ps(x_24, w_8_0, acc_4_0); }
        { const __m512 x_25 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + 2 * X_w + X_s)); acc_5_0 = _mm512_fmadd_ps(x_25, w_5_0, acc_5_0); acc_4_0 = _mm512_fmadd_ps(x_25, w_9_0, acc_4_0); }
        { const __m512 x_26 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + 2 * X_w + X_s)); acc_5_0 = _mm512_fmadd_ps(x_26, w_6_0, acc_5_0); acc_4_0 = _mm512_fmadd_ps(x_26, w_10_0, acc_4_0); }
        { const __m512 x_27 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + 2 * X_w + X_s)); acc_5_0 = _mm512_fmadd_ps(x_27, w_7_0, acc_5_0); acc_4_0 = _mm512_fmadd_ps(x_27, w_11_0, acc_4_0); }
        { const __m512 x_28 = _mm512_maskz_loadu_ps(TAIL, x_r + X_h + 2 * X_w + 2 * X_s); acc_5_0 = _mm512_fmadd_ps(x_28, w_8_0, acc_5_0); }
        { const __m512 x_29 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + 2 * X_w + 2 * X_s)); acc_5_0 = _mm512_fmadd_ps(x_29, w_9_0, acc_5_0); }
        { const __m512 x_30 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + 2 * X_w + 2 * X_s)); acc_5_0 = _mm512_fmadd_ps(x_30, w_10_0, acc_5_0); }
        { const __m512 x_31 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + 2 * X_w + 2 * X_s)); acc_5_0 = _mm512_fmadd_ps(x_31, w_11_0, acc_5_0); }
        { const __m512 x_32 = _mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + X_w); acc_7_0 = _mm512_fmadd_ps(x_32, w_0_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_32, w_4_0, acc_6_0); }
        { const __m512 x_33 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + X_w)); acc_7_0 = _mm512_fmadd_ps(x_33, w_1_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_33, w_5_0, acc_6_0); }
        { const __m512 x_34 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + X_w)); acc_7_0 = _mm512_fmadd_ps(x_34, w_2_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_34, w_6_0, acc_6_0); }
        { const __m512 x_35 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + X_w)); acc_7_0 = _mm512_fmadd_ps(x_35, w_3_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_35, w_7_0, acc_6_0); }
        { const __m512 x_36 = _mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + 2 * X_w); acc_8_0 = _mm512_fmadd_ps(x_36, w_0_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_36, w_4_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_36, w_8_0, acc_6_0); }
        { const __m512 x_37 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + 2 * X_w)); acc_8_0 = _mm512_fmadd_ps(x_37, w_1_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_37, w_5_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_37, w_9_0, acc_6_0); }
        { const __m512 x_38 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + 2 * X_w)); acc_8_0 = _mm512_fmadd_ps(x_38, w_2_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_38, w_6_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_38, w_10_0, acc_6_0); }
        { const __m512 x_39 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + 2 * X_w)); acc_8_0 = _mm512_fmadd_ps(x_39, w_3_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_39, w_7_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_39, w_11_0, acc_6_0); }
        { const __m512 x_40 = _mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + 2 * X_w + X_s); acc_8_0 = _mm512_fmadd_ps(x_40, w_4_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_40, w_8_0, acc_7_0); }
        { const __m512 x_41 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + 2 * X_w + X_s)); acc_8_0 = _mm512_fmadd_ps(x_41, w_5_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_41, w_9_0, acc_7_0); }
        { const __m512 x_42 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + 2 * X_w + X_s)); acc_8_0 = _mm512_fmadd_ps(x_42, w_6_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_42, w_10_0, acc_7_0); }
        { const __m512 x_43 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + 2 * X_w + X_s)); acc_8_0 = _mm512_fmadd_ps(x_43, w_7_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_43, w_11_0, acc_7_0); }
        { const __m512 x_44 = _mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + 2 * X_w + 2 * X_s); acc_8_0 = _mm512_fmadd_ps(x_44, w_8_0, acc_8_0); }
        { const __m512 x_45 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + 2 * X_w + 2 * X_s)); acc_8_0 = _mm512_fmadd_ps(x_45, w_9_0, acc_8_0); }
        { const __m512 x_46 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + 2 * X_w + 2 * X_s)); acc_8_0 = _mm512_fmadd_ps(x_46, w_10_0, acc_8_0); }
        { const __m512 x_47 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + 2 * X_w + 2 * X_s)); acc_8_0 = _mm512_fmadd_ps(x_47, w_11_0, acc_8_0); }
    }
    _mm512_mask_storeu_ps(y, TAIL, acc_0_0);
    _mm512_mask_storeu_ps(y + Y_w, TAIL, acc_1_0);
    _mm512_mask_storeu_ps(y + 2 * Y_w, TAIL, acc_2_0);
    _mm512_mask_storeu_ps(y + Y_h, TAIL, acc_3_0);
    _mm512_mask_storeu_ps(y + Y_h + Y_w, TAIL, acc_4_0);
    _mm512_mask_storeu_ps(y + Y_h + 2 * Y_w, TAIL, acc_5_0);
    _mm512_mask_storeu_ps(y + 2 * Y_h, TAIL, acc_6_0);
    _mm512_mask_storeu_ps(y + 2 * Y_h + Y_w, TAIL, acc_7_0);
    _mm512_mask_storeu_ps(y + 2 * Y_h + 2 * Y_w, TAIL, acc_8_0);
}

/* 9 rows x 1 vectors, summed over r by 1 to 3; padding along h: rows on the image for each tap of r are 0:0-2 1:0-2 2:0-1; padding along w: rows on the image for each tap of s are 0:1-2 1:0-2 2:0-2. */
static void tile0_3hx3wx16kx4cx3s_hpad2_wpad0(const float *x, const float *w, float *y)
{
    __m512 acc_0_0 = _mm512_setzero_ps();
    __m512 acc_1_0 = _mm512_setzero_ps();
    __m512 acc_2_0 = _mm512_setzero_ps();
    __m512 acc_3_0 = _mm512_setzero_ps();
    __m512 acc_4_0 = _mm512_setzero_ps();
    __m512 acc_5_0 = _mm512_setzero_ps();
    __m512 acc_6_0 = _mm512_setzero_ps();
    __m512 acc_7_0 = _mm512_setzero_ps();
    __m512 acc_8_0 = _mm512_setzero_ps();
    for (long r = 0; r < 2; ++r) {
        const float *x_r = x + r * X_r;
        const float *w_r = w + r * 12 * PANEL_1;
        const __m512 w_0_0 = _mm512_loadu_ps(w_r);
        const __m512 w_1_0 = _mm512_loadu_ps(w_r + 1 * PANEL_1);
        const __m512 w_2_0 = _mm512_loadu_ps(w_r + 2 * PANEL_1);
        const __m512 w_3_0 = _mm512_loadu_ps(w_r + 3 * PANEL_1);
        const __m512 w_4_0 = _mm512_loadu_ps(w_r + 4 * PANEL_1);
        const __m512 w_5_0 = _mm512_loadu_ps(w_r + 5 * PANEL_1);
        const __m512 w_6_0 = _mm512_loadu_ps(w_r + 6 * PANEL_1);
        const __m512 w_7_0 = _mm512_loadu_ps(w_r + 7 * PANEL_1);
        const __m512 w_8_0 = _mm512_loadu_ps(w_r + 8 * PANEL_1);
        const __m512 w_9_0 = _mm512_loadu_ps(w_r + 9 * PANEL_1);
        const __m512 w_10_0 = _mm512_loadu_ps(w_r + 10 * PANEL_1);
        const __m512 w_11_0 = _mm512_loadu_ps(w_r + 11 * PANEL_1);
        { const __m512 x_0 = _mm512_loadu_ps(x_r + X_w); acc_1_0 = _mm512_fmadd_ps(x_0, w_0_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_0, w_4_0, acc_0_0); }
        { const __m512 x_1 = exchange_1(_mm512_loadu_ps(x_r + X_w)); acc_1_0 = _mm512_fmadd_ps(x_1, w_1_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_1, w_5_0, acc_0_0); }
        { const __m512 x_2 = exchange_2(_mm512_loadu_ps(x_r + X_w)); acc_1_0 = _mm512_fmadd_ps(x_2, w_2_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_2, w_6_0, acc_0_0); }
        { const __m512 x_3 = exchange_3(_mm512_loadu_ps(x_r + X_w)); acc_1_0 = _mm512_fmadd_ps(x_3, w_3_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_3, w_7_0, acc_0_0); }
        { const __m512 x_4 = _mm512_loadu_ps(x_r + 2 * X_w); acc_2_0 = _mm512_fmadd_ps(x_4, w_0_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_4, w_4_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_4, w_8_0, acc_0_0); }
        { const __m512 x_5 = exchange_1(_mm512_loadu_ps(x_r + 2 * X_w)); acc_2_0 = _mm512_fmadd_ps(x_5, w_1_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_5, w_5_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_5, w_9_0, acc_0_0); }
        { const __m512 x_6 = exchange_2(_mm512_loadu_ps(x_r + 2 * X_w)); acc_2_0 = _mm512_fmadd_ps(x_6, w_2_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_6, w_6_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_6, w_10_0, acc_0_0); }
        { const __m512 x_7 = exchange_3(_mm512_loadu_ps(x_r + 2 * X_w)); acc_2_0 = _mm512_fmadd_ps(x_7, w_3_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_7, w_7_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_7, w_11_0, acc_0_0); }
        { const __m512 x_8 = _mm512_loadu_ps(x_r + 2 * X_w + X_s); acc_2_0 = _mm512_fmadd_ps(x_8, w_4_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_8, w_8_0, acc_1_0); }
        { const __m512 x_9 = exchange_1(_mm512_loadu_ps(x_r + 2 * X_w + X_s)); acc_2_0 = _mm512_fmadd_ps(x_9, w_5_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_9, w_9_0, acc_1_0); }
        { const __m512 x_10 = exchange_2(_mm512_loadu_ps(x_r + 2 * X_w + X_s)); acc_2_0 = _mm512_fmadd_ps(x_10, w_6_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_10, w_10_0, acc_1_0); }
        { const __m512 x_11 = exchange_3(_mm512_loadu_ps(x_r + 2 * X_w + X_s)); acc_2_0 = _mm512_fmadd_ps(x_11, w_7_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_11, w_11_0, acc_1_0); }
        { const __m512 x_12 = _mm512_loadu_ps(x_r + 2 * X_w + 2 * X_s); acc_2_0 = _mm512_fmadd_ps(x_12, w_8_0, acc_2_0); }
        { const __m512 x_13 = exchange_1(_mm512_loadu_ps(x_r + 2 * X_w + 2 * X_s)); acc_2_0 = _mm512_fmadd_ps(x_13, w_9_0, acc_2_0); }
        { const __m512 x_14 = exchange_2(_mm512_loadu_ps(x_r + 2 * X_w + 2 * X_s)); acc_2_0 = _mm512_fmadd_ps(x_14, w_10_0, acc_2_0); }
        { const __m512 x_15 = exchange_3(_mm512_loadu_ps(x_r + 2 * X_w + 2 * X_s)); acc_2_0 = _mm512_fmadd_ps(x_15, w_11_0, acc_2_0); }
        { const __m512 x_16 = _mm512_loadu_ps(x_r + X_h + X_w); acc_4_0 = _mm512_fmadd_ps(x_16, w_0_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_16, w_4_0, acc_3_0); }
        { const __m512 x_17 = exchange_1(_mm512_loadu_ps(x_r + X_h + X_w)); acc_4_0 = _mm512_fmadd_ps(x_17, w_1_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_17, w_5_0, acc_3_0); }
        { const __m512 x_18 = exchange_2(_mm512_loadu_ps(x_r + X_h + X_w)); acc_4_0 = _mm512_fmadd_ps(x_18, w_2_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_18, w_6_0, acc_3_0); }
        { const __m512 x_19 = exchange_3(_mm512_loadu_ps(x_r + X_h + X_w)); acc_4_0 = _mm512_fmadd_ps(x_19, w_3_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_19, w_7_0, acc_3_0); }
        { const __m512 x_20 = _mm512_loadu_ps(x_r + X_h + 2 * X_w); acc_5_0 = _mm512_fmadd_ps(x_20, w_0_0, acc_5_0); acc_4_0 = _mm512_fmadd_ps(x_20, w_4_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_20, w_8_0, acc_3_0); }
        { const __m512 x_21 = exchange_1(_mm512_loadu_ps(x_r + X_h + 2 * X_w)); acc_5_0 = _mm512_fmadd_ps(x_21, w_1_0, acc_5_0); acc_4_0 = _mm512_fmadd_ps(x_21, w_5_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_21, w_9_0, acc_3_0); }
        { const __m512 x_22 = exchange_2(_mm512_loadu_ps(x_r + X_h + 2 * X_w)); acc_5_0 = _mm512_fmadd_ps(x_22, w_2_0, acc_5_0); acc_4_0 = _mm512_fmadd_ps(x_22, w_6_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_22, w_10_0, acc_3_0); }
        { const __m512 x_23 = exchange_3(_mm512_loadu_ps(x_r + X_h + 2 * X_w)); acc_5_0 = _mm512_fmadd_ps(x_23, w_3_0, acc_5_0); acc_4_0 = _mm512_fmadd_ps(x_23, w_7_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_23, w_11_0, acc_3_0); }
        { const __m512 x_24 = _mm512_loadu_ps(x_r + X_h + 2 * X_w + X_s); acc_5_0 = _mm512_fmadd_ps(x_24, w_4_0, acc_5_0); acc_4_0 = _mm512_fmadd_ps(x_24, w_8_0, acc_4_0); }
        { const __m512 x_25 = exchange_1(_mm512_loadu_ps(x_r + X_h + 2 * X_w + X_s)); acc_5_0 = _mm512_fmadd_ps(x_25, w_5_0, acc_5_0); acc_4_0 = _mm512_fmadd_ps(x_25, w_9_0, acc_4_0); }
        { const __m512 x_26 = exchange_2(_mm512_loadu_ps(x_r + X_h + 2 * X_w + X_s)); acc_5_0 = _mm512_fmadd_ps(x_26, w_6_0, acc_5_0); acc_4_0 = _mm512_fmadd_ps(x_26, w_10_0, acc_4_0); }
        { const __m512 x_27 = exchange_3(_mm512_loadu_ps(x_r + X_h + 2 * X_w + X_s)); acc_5_0 = _mm512_fmadd_ps(x_27, w_7_0, acc_5_0); acc_4_0 = _mm512_fmadd_ps(x_27, w_11_0, acc_4_0); }
        { const __m512 x_28 = _mm512_loadu_ps(x_r + X_h + 2 * X_w + 2 * X_s); acc_5_0 = _mm512_fmadd_ps(x_28, w_8_0, acc_5_0); }
        { const __m512 x_29 = exchange_1(_mm512_loadu_ps(x_r + X_h + 2 * X_w + 2 * X_s)); acc_5_0 = _mm512_fmadd_ps(x_29, w_9_0, acc_5_0); }
        { const __m512 x_30 = exchange_2(_mm512_loadu_ps(x_r + X_h + 2 * X_w + 2 * X_s)); acc_5_0 = _mm512_fmadd_ps(x_30, w_10_0, acc_5_0); }
        { const __m512 x_31 = exchange_3(_mm512_loadu_ps(x_r + X_h + 2 * X_w + 2 * X_s)); acc_5_0 = _mm512_fmadd_ps(x_31, w_11_0, acc_5_0); }
        { const __m512 x_32 = _mm512_loadu_ps(x_r + 2 * X_h + X_w); acc_7_0 = _mm512_fmadd_ps(x_32, w_0_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_32, w_4_0, acc_6_0); }
        { const __m512 x_33 = exchange_1(_mm512_loadu_ps(x_r + 2 * X_h + X_w)); acc_7_0 = _mm512_fmadd_ps(x_33, w_1_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_33, w_5_0, acc_6_0); }
        { const __m512 x_34 = exchange_2(_mm512_loadu_ps(x_r + 2 * X_h + X_w)); acc_7_0 = _mm512_fmadd_ps(x_34, w_2_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_34, w_6_0, acc_6_0); }
        { const __m512 x_35 = exchange_3(_mm512_loadu_ps(x_r + 2 * X_h + X_w)); acc_7_0 = _mm512_fmadd_ps(x_35, w_3_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_35, w_7_0, acc_6_0); }
        { const __m512 x_36 = _mm512_loadu_ps(x_r + 2 * X_h + 2 * X_w); acc_8_0 = _mm512_fmadd_ps(x_36, w_0_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_36, w_4_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_36, w_8_0, acc_6_0); }
        { const __m512 x_37 = exchange_1(_mm512_loadu_ps(x_r + 2 * X_h + 2 * X_w)); acc_8_0 = _mm512_fmadd_ps(x_37, w_1_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_37, w_5_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_37, w_9_0, acc_6_0); }
        { const __m512 x_38 = exchange_2(_mm512_loadu_ps(x_r + 2 * X_h + 2 * X_w)); acc_8_0 = _mm512_fmadd_ps(x_38, w_2_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_38, w_6_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_38, w_10_0, acc_6_0); }
        { const __m512 x_39 = exchange_3(_mm512_loadu_ps(x_r + 2 * X_h + 2 * X_w)); acc_8_0 = _mm512_fmadd_ps(x_39, w_3_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_39, w_7_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_39, w_11_0, acc_6_0); }
        { const __m512 x_40 = _mm512_loadu_ps(x_r + 2 * X_h + 2 * X_w + X_s); acc_8_0 = _mm512_fmadd_ps(x_40, w_4_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_40, w_8_0, acc_7_0); }
        { const __m512 x_41 = exchange_1(_mm512_loadu_ps(x_r + 2 * X_h + 2 * X_w + X_s)); acc_8_0 = _mm512_fmadd_ps(x_41, w_5_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_41, w_9_0, acc_7_0); }
        { const __m512 x_42 = exchange_2(_mm512_loadu_ps(x_r + 2 * X_h + 2 * X_w + X_s)); acc_8_0 = _mm512_fmadd_ps(x_42, w_6_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_42, w_10_0, acc_7_0); }
        { const __m512 x_43 = exchange_3(_mm512_loadu_ps(x_r + 2 * X_h + 2 * X_w + X_s)); acc_8_0 = _mm512_fmadd_ps(x_43, w_7_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_43, w_11_0, acc_7_0); }
        { const __m512 x_44 = _mm512_loadu_ps(x_r + 2 * X_h + 2 * X_w + 2 * X_s); acc_8_0 = _mm512_fmadd_ps(x_44, w_8_0, acc_8_0); }
        { const __m512 x_45 = exchange_1(_mm512_loadu_ps(x_r + 2 * X_h + 2 * X_w + 2 * X_s)); acc_8_0 = _mm512_fmadd_ps(x_45, w_9_0, acc_8_0); }
        { const __m512 x_46 = exchange_2(_mm512_loadu_ps(x_r + 2 * X_h + 2 * X_w + 2 * X_s)); acc_8_0 = _mm512_fmadd_ps(x_46, w_10_0, acc_8_0); }
        { const __m512 x_47 = exchange_3(_mm512_loadu_ps(x_r + 2 * X_h + 2 * X_w + 2 * X_s)); acc_8_0 = _mm512_fmadd_ps(x_47, w_11_0, acc_8_0); }
    }
    { /* r = 2 */
        const float *x_r = x + 2 * X_r;
        const float *w_r = w + 2 * 12 * PANEL_1;
        const __m512 w_0_0 = _mm512_loadu_ps(w_r);
        const __m512 w_1_0 = _mm512_loadu_ps(w_r + 1 * PANEL_1);
        const __m512 w_2_0 = _mm512_loadu_ps(w_r + 2 * PANEL_1);
        const __m512 w_3_0 = _mm512_loadu_ps(w_r + 3 * PANEL_1);
        const __m512 w_4_0 = _mm512_loadu_ps(w_r + 4 * PANEL_1);
        const __m512 w_5_0 = _mm512_loadu_ps(w_r + 5 * PANEL_1);
        const __m512 w_6_0 = _mm512_loadu_ps(w_r + 6 * PANEL_1);
        const __m512 w_7_0 = _mm512_loadu_ps(w_r + 7 * PANEL_1);
        const __m512 w_8_0 = _mm512_loadu_ps(w_r + 8 * PANEL_1);
        const __m512 w_9_0 = _mm512_loadu_ps(w_r + 9 * PANEL_1);
        const __m512 w_10_0 = _mm512_loadu_ps(w_r + 10 * PANEL_1);
        const __m512 w_11_0 = _mm512_loadu_ps(w_r + 11 * PANEL_1);
        { const __m512 x_0 = _mm512_loadu_ps(x_r + X_w); acc_1_0 = _mm512_fmadd_ps(x_0, w_0_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_0, w_4_0, acc_0_0); }
        { const __m512 x_1 = exchange_1(_mm512_loadu_ps(x_r + X_w)); acc_1_0 = _mm512_fmadd_ps(x_1, w_1_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_1, w_5_0, acc_0_0); }
        { const __m512 x_2 = exchange_2(_mm512_loadu_ps(x_r + X_w)); acc_1_0 = _mm512_fmadd_ps(x_2, w_2_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_2, w_6_0, acc_0_0); }
        { const __m512 x_3 = exchange_3(_mm512_loadu_ps(x_r + X_w)); acc_1_0 = _mm512_fmadd_ps(x_3, w_3_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_3, w_7_0, acc_0_0); }
        { const __m512 x_4 = _mm512_loadu_ps(x_r + 2 * X_w); acc_2_0 = _mm512_fmadd_ps(x_4, w_0_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_4, w_4_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_4, w_8_0, acc_0_0); }
        { const __m512 x_5 = exchange_1(_mm512_loadu_ps(x_r + 2 * X_w)); acc_2_0 = _mm512_fmadd_ps(x_5, w_1_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_5, w_5_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_5, w_9_0, acc_0_0); }
        { const __m512 x_6 = exchange_2(_mm512_loadu_ps(x_r + 2 * X_w)); acc_2_0 = _mm512_fmadd_ps(x_6, w_2_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_6, w_6_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_6, w_10_0, acc_0_0); }
        { const __m512 x_7 = exchange_3(_mm512_loadu_ps(x_r + 2 * X_w)); acc_2_0 = _mm512_fmadd_ps(x_7, w_3_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_7, w_7_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_7, w_11_0, acc_0_0); }
        { const __m512 x_8 = _mm512_loadu_ps(x_r + 2 * X_w + X_s); acc_2_0 = _mm512_fmadd_ps(x_8, w_4_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_8, w_8_0, acc_1_0); }
        { const __m512 x_9 = exchange_1(_mm512_loadu_ps(x_r + 2 * X_w + X_s)); acc_2_0 = _mm512_fmadd_ps(x_9, w_5_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_9, w_9_0, acc_1_0); }
        { const __m512 x_10 = exchange_2(_mm512_loadu_ps(x_r + 2 * X_w + X_s)); acc_2_0 = _mm512_fmadd_ps(x_10, w_6_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_10, w_10_0, acc_1_0); }
        { const __m512 x_11 = exchange_3(_mm512_loadu_ps(x_r + 2 * X_w + X_s)); acc_2_0 = _mm512_fmadd_ps(x_11, w_7_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_11, w_11_0, acc_1_0); }
        { const __m512 x_12 = _mm512_loadu_ps(x_r + 2 * X_w + 2 * X_s); acc_2_0 = _mm512_fmadd_ps(x_12, w_8_0, acc_2_0); }
        { const __m512 x_13 = exchange_1(_mm512_loadu_ps(x_r + 2 * X_w + 2 * X_s)); acc_2_0 = _mm512_fmadd_ps(x_13, w_9_0, acc_2_0); }
        { const __m512 x_14 = exchange_2(_mm512_loadu_ps(x_r + 2 * X_w + 2 * X_s)); acc_2_0 = _mm512_fmadd_ps(x_14, w_10_0, acc_2_0); }
        { const __m512 x_15 = exchange_3(_mm512_loadu_ps(x_r + 2 * X_w + 2 * X_s)); acc_2_0 = _mm512_fmadd_ps(x_15, w_11_0, acc_2_0); }
        { const __m512 x_16 = _mm512_loadu_ps(x_r + X_h + X_w); acc_4_0 = _mm512_fmadd_ps(x_16, w_0_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_16, w_4_0, acc_3_0); }
        { const __m512 x_17 = exchange_1(_mm512_loadu_ps(x_r + X_h + X_w)); acc_4_0 = _mm512_fmadd_ps(x_17, w_1_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_17, w_5_0, acc_3_0); }
        { const __m512 x_18 = exchange_2(_mm512_loadu_ps(x_r + X_h + X_w)); acc_4_0 = _mm512_fmadd_ps(x_18, w_2_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_18, w_6_0, acc_3_0); }
        { const __m512 x_19 = exchange_3(_mm512_loadu_ps(x_r + X_h + X_w)); acc_4_0 = _mm512_fmadd_ps(x_19, w_3_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_19, w_7_0, acc_3_0); }
        { const __m512 x_20 = _mm512_loadu_ps(x_r + X_h + 2 * X_w); acc_5_0 = _mm512_fmadd_ps(x_20, w_0_0, acc_5_0); acc_4_0 = _mm512_fmadd_ps(x_20, w_4_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_20, w_8_0, acc_3_0); }
        { const __m512 x_21 = exchange_1(_mm512_loadu_ps(x_r + X_h + 2 * X_w)); acc_5_0 = _mm512_fmadd_ps(x_21, w_1_0, acc_5_0); acc_4_0 = _mm512_fmadd_ps(x_21, w_5_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_21, w_9_0, acc_3_0); }
        { const __m512 x_22 = exchange_2(_mm512_loadu_ps(x_r + X_h + 2 * X_w)); acc_5_0 = _mm512_fmadd_ps(x_22, w_2_0, acc_5_0); acc_4_0 = _mm512_fmadd_ps(x_22, w_6_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_22, w_10_0, acc_3_0); }
        { const __m512 x_23 = exchange_3(_mm512_loadu_ps(x_r + X_h + 2 * X_w)); acc_5_0 = _mm512_fmadd_ps(x_23, w_3_0, acc_5_0); acc_4_0 = _mm512_fmadd_ps(x_23, w_7_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_23, w_11_0, acc_3_0); }
        { const __m512 x_24 = _mm512_loadu_ps(x_r + X_h + 2 * X_w + X_s); acc_5_0 = _mm512_fmadd_ps(x_24, w_4_0, acc_5_0); acc_4_0 = _mm512_fmadd_ps(x_24, w_8_0, acc_4_0); }
        { const __m512 x_25 = exchange_1(_mm512_loadu_ps(x_r + X_h + 2 * X_w + X_s)); acc_5_0 = _mm512_fmadd_ps(x_25, w_5_0, acc_5_0); acc_4_0 = _mm512_fmadd_ps(x_25, w_9_0, acc_4_0); }
        { const __m512 x_26 = exchange_2(_mm512_loadu_ps(x_r + X_h + 2 * X_w + X_s)); acc_5_0 = _mm512_fmadd_ps(x_26, w_6_0, acc_5_0); acc_4_0 = _mm512_fmadd_ps(x_26, w_10_0, acc_4_0); }
        { const __m512 x_27 = exchange_3(_mm512_loadu_ps(x_r + X_h + 2 * X_w + X_s)); acc_5_0 = _mm512_fmadd_ps(x_27, w_7_0, acc_5_0); acc_4_0 = _mm512_fmadd_ps(x_27, w_11_0, acc_4_0); }
        { const __m512 x_28 = _mm512_loadu_ps(x_r + X_h + 2 * X_w + 2 * X_s); acc_5_0 = _mm512_fmadd_ps(x_28, w_8_0, acc_5_0); }
        { const __m512 x_29 = exchange_1(_mm512_loadu_ps(x_r + X_h + 2 * X_w + 2 * X_s)); acc_5_0 = _mm512_fmadd_ps(x_29, w_9_0, acc_5_0); }
        { const __m512 x_30 = exchange_2(_mm512_loadu_ps(x_r + X_h + 2 * X_w + 2 * X_s)); acc_5_0 = _mm512_fmadd_ps(x_30, w_10_0, acc_5_0); }
        { const __m512 x_31 = exchange_3(_mm512_loadu_ps(x_r + X_h + 2 * X_w + 2 * X_s)); acc_5_0 = _mm512_fmadd_ps(x_31, w_11_0, acc_5_0); }
    }
    _mm512_storeu_ps(y, acc_0_0);
    _mm512_storeu_ps(y + Y_w, acc_1_0);
    _mm512_storeu_ps(y + 2 * Y_w, acc_2_0);
    _mm512_storeu_ps(y + Y_h, acc_3_0);
    _mm512_storeu_ps(y + Y_h + Y_w, acc_4_0);
    _mm512_storeu_ps(y + Y_h + 2 * Y_w, acc_5_0);
    _mm512_storeu_ps(y + 2 * Y_h, acc_6_0);
    _mm512_storeu_ps(y + 2 * Y_h + Y_w, acc_7_0);
    _mm512_storeu_ps(y + 2 * Y_h + 2 * Y_w, acc_8_0);
}

/* 9 rows x 1 vectors, summed over r by 1 to 3; padding along h: rows on the image for each tap of r are 0:0-2 1:0-2 2:0-1; padding along w: rows on the image for each tap of s are 0:1-2 1:0-2 2:0-2; the last vector is masked. */
static void tile0_3hx3wx16kx4cx3s_hpad2_wpad0_tail(const float *x, const float *w, float *y)
{
    __m512 acc_0_0 = _mm512_setzero_ps();
    __m512 acc_1_0 = _mm512_setzero_ps();
    __m512 acc_2_0 = _mm512_setzero_ps();
    __m512 acc_3_0 = _mm512_setzero_ps();
    __m512 acc_4_0 = _mm512_setzero_ps();
    __m512 acc_5_0 = _mm512_setzero_ps();
    __m512 acc_6_0 = _mm512_setzero_ps();
    __m512 acc_7_0 = _mm512_setzero_ps();
    __m512 acc_8_0 = _mm512_setzero_ps();
    for (long r = 0; r < 2; ++r) {
        const float *x_r = x + r * X_r;
        const float *w_r = w + r * 12 * PANEL_1;
        const __m512 w_0_0 = _mm512_loadu_ps(w_r);
        const __m512 w_1_0 = _mm512_loadu_ps(w_r + 1 * PANEL_1);
        const __m512 w_2_0 = _mm512_loadu_ps(w_r + 2 * PANEL_1);
        const __m512 w_3_0 = _mm512_loadu_ps(w_r + 3 * PANEL_1);
        const __m512 w_4_0 = _mm512_loadu_ps(w_r + 4 * PANEL_1);
        const __m512 w_5_0 = _mm512_loadu_ps(w_r + 5 * PANEL_1);
        const __m512 w_6_0 = _mm512_loadu_ps(w_r + 6 * PANEL_1);
        const __m512 w_7_0 = _mm512_loadu_ps(w_r + 7 * PANEL_1);
        const __m512 w_8_0 = _mm512_loadu_ps(w_r + 8 * PANEL_1);
        const __m512 w_9_0 = _mm512_loadu_ps(w_r + 9 * PANEL_1);
        const __m512 w_10_0 = _mm512_loadu_ps(w_r + 10 * PANEL_1);
        const __m512 w_11_0 = _mm512_loadu_ps(w_r + 11 * PANEL_1);
        { const __m512 x_0 = _mm512_maskz_loadu_ps(TAIL, x_r + X_w); acc_1_0 = _mm512_fmadd_ps(x_0, w_0_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_0, w_4_0, acc_0_0); }
        { const __m512 x_1 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + X_w)); acc_1_0 = _mm512_fmadd_ps(x_1, w_1_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_1, w_5_0, acc_0_0); }
        { const __m512 x_2 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + X_w)); acc_1_0 = _mm512_fmadd_ps(x_2, w_2_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_2, w_6_0, acc_0_0); }
        { const __m512 x_3 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + X_w)); acc_1_0 = _mm512_fmadd_ps(x_3, w_3_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_3, w_7_0, acc_0_0); }
        { const __m512 x_4 = _mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_w); acc_2_0 = _mm512_fmadd_ps(x_4, w_0_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_4, w_4_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_4, w_8_0, acc_0_0); }
        { const __m512 x_5 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_w)); acc_2_0 = _mm512_fmadd_ps(x_5, w_1_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_5, w_5_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_5, w_9_0, acc_0_0); }
        { const __m512 x_6 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_w)); acc_2_0 = _mm512_fmadd_ps(x_6, w_2_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_6, w_6_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_6, w_10_0, acc_0_0); }
        { const __m512 x_7 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_w)); acc_2_0 = _mm512_fmadd_ps(x_7, w_3_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_7, w_7_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_7, w_11_0, acc_0_0); }
        { const __m512 x_8 = _mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_w + X_s); acc_2_0 = _mm512_fmadd_ps(x_8, w_4_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_8, w_8_0, acc_1_0); }
        { const __m512 x_9 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_w + X_s)); acc_2_0 = _mm512_fmadd_ps(x_9, w_5_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_9, w_9_0, acc_1_0); }
        { const __m512 x_10 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_w + X_s)); acc_2_0 = _mm512_fmadd_ps(x_10, w_6_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_10, w_10_0, acc_1_0); }
        { const __m512 x_11 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_w + X_s)); acc_2_0 = _mm512_fmadd_ps(x_11, w_7_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_11, w_11_0, acc_1_0); }
        { const __m512 x_12 = _mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_w + 2 * X_s); acc_2_0 = _mm512_fmadd_ps(x_12, w_8_0, acc_2_0); }
        { const __m512 x_13 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_w + 2 * X_s)); acc_2_0 = _mm512_fmadd_ps(x_13, w_9_0, acc_2_0); }
        { const __m512 x_14 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_w + 2 * X_s)); acc_2_0 = _mm512_fmadd_ps(x_14, w_10_0, acc_2_0); }
        { const __m512 x_15 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_w + 2 * X_s)); acc_2_0 = _mm512_fmadd_ps(x_15, w_11_0, acc_2_0); }
        { const __m512 x_16 = _mm512_maskz_loadu_ps(TAIL, x_r + X_h + X_w); acc_4_0 = _mm512_fmadd_ps(x_16, w_0_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_16, w_4_0, acc_3_0); }
        { const __m512 x_17 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + X_w)); acc_4_0 = _mm512_fmadd_ps(x_17, w_1_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_17, w_5_0, acc_3_0); }
        { const __m512 x_18 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + X_w)); acc_4_0 = _mm512_fmadd_ps(x_18, w_2_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_18, w_6_0, acc_3_0); }
        { const __m512 x_19 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + X_w)); acc_4_0 = _mm512_fmadd_ps(x_19, w_3_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_19, w_7_0, acc_3_0); }
        { const __m512 x_20 = _mm512_maskz_loadu_ps(TAIL, x_r + X_h + 2 * X_w); acc_5_0 = _mm512_fmadd_ps(x_20, w_0_0, acc_5_0); acc_4_0 = _mm512_fmadd_ps(x_20, w_4_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_20, w_8_0, acc_3_0); }
        { const __m512 x_21 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + 2 * X_w)); acc_5_0 = _mm512_fmadd_ps(x_21, w_1_0, acc_5_0); acc_4_0 = _mm512_fmadd_ps(x_21, w_5_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_21, w_9_0, acc_3_0); }
        { const __m512 x_22 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + 2 * X_w)); acc_5_0 = _mm512_fmadd_ps(x_22, w_2_0, acc_5_0); acc_4_0 = _mm512_fmadd_ps(x_22, w_6_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_22, w_10_0, acc_3_0); }
        { const __m512 x_23 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + 2 * X_w)); acc_5_0 = _mm512_fmadd_ps(x_23, w_3_0, acc_5_0); acc_4_0 = _mm512_fmadd_ps(x_23, w_7_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_23, w_11_0, acc_3_0); }
        { const __m512 x_24 = _mm512_maskz_loadu_ps(TAIL, x_r + X_h + 2 * X_w + X_s); acc_5_0 = _mm512_fmadd_ps(x_24, w_4_0, acc_5_0); acc_4_0 = _mm512_fmadd_ps(x_24, w_8_0, acc_4_0); }
        { const __m512 x_25 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + 2 * X_w + X_s)); acc_5_0 = _mm512_fmadd_ps(x_25, w_5_0, acc_5_0); acc_4_0 = _mm512_fmadd_ps(x_25, w_9_0, acc_4_0); }
        { const __m512 x_26 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + 2 * X_w + X_s)); acc_5_0 = _mm512_fmadd_ps(x_26, w_6_0, acc_5_0); acc_4_0 = _mm512_fmadd_ps(x_26, w_10_0, acc_4_0); }
        { const __m512 x_27 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + 2 * X_w + X_s)); acc_5_0 = _mm512_fmadd_ps(x_27, w_7_0, acc_5_0); acc_4_0 = _mm512_fmadd_ps(x_27, w_11_0, acc_4_0); }
        { const __m512 x_28 = _mm512_maskz_loadu_ps(TAIL, x_r + X_h + 2 * X_w + 2 * X_s); acc_5_0 = _mm512_fmadd_ps(x_28, w_8_0, acc_5_0); }
        { const __m512 x_29 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + 2 * X_w + 2 * X_s)); acc_5_0 = _mm512_fmadd_ps(x_29, w_9_0, acc_5_0); }
        { const __m512 x_30 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + 2 * X_w + 2 * X_s)); acc_5_0 = _mm512_fmadd_ps(x_30, w_10_0, acc_5_0); }
        { const __m512 x_31 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + 2 * X_w + 2 * X_s)); acc_5_0 = _mm512_fmadd_ps(x_31, w_11_0, acc_5_0); }
        { const __m512 x_32 = _mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + X_w); acc_7_0 = _mm512_fmadd_ps(x_32, w_0_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_32, w_4_0, acc_6_0); }
        { const __m512 x_33 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + X_w)); acc_7_0 = _mm512_fmadd_ps(x_33, w_1_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_33, w_5_0, acc_6_0); }
        { const __m512 x_34 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + X_w)); acc_7_0 = _mm512_fmadd_ps(x_34, w_2_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_34, w_6_0, acc_6_0); }
        { const __m512 x_35 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + X_w)); acc_7_0 = _mm512_fmadd_ps(x_35, w_3_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_35, w_7_0, acc_6_0); }
        { const __m512 x_36 = _mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + 2 * X_w); acc_8_0 = _mm512_fmadd_ps(x_36, w_0_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_36, w_4_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_36, w_8_0, acc_6_0); }
        { const __m512 x_37 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + 2 * X_w)); acc_8_0 = _mm512_fmadd_ps(x_37, w_1_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_37, w_5_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_37, w_9_0, acc_6_0); }
        { const __m512 x_38 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + 2 * X_w)); acc_8_0 = _mm512_fmadd_ps(x_38, w_2_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_38, w_6_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_38, w_10_0, acc_6_0); }
        { const __m512 x_39 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + 2 * X_w)); acc_8_0 = _mm512_fmadd_ps(x_39, w_3_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_39, w_7_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_39, w_11_0, acc_6_0); }
        { const __m512 x_40 = _mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + 2 * X_w + X_s); acc_8_0 = _mm512_fmadd_ps(x_40, w_4_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_40, w_8_0, acc_7_0); }
        { const __m512 x_41 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + 2 * X_w + X_s)); acc_8_0 = _mm512_fmadd_ps(x_41, w_5_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_41, w_9_0, acc_7_0); }
        { const __m512 x_42 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + 2 * X_w + X_s)); acc_8_0 = _mm512_fmadd_ps(x_42, w_6_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_42, w_10_0, acc_7_0); }
        { const __m512 x_43 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + 2 * X_w + X_s)); acc_8_0 = _mm512_fmadd_ps(x_43, w_7_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_43, w_11_0, acc_7_0); }
        { const __m512 x_44 = _mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + 2 * X_w + 2 * X_s); acc_8_0 = _mm512_fmadd_ps(x_44, w_8_0, acc_8_0); }
        { const __m512 x_45 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + 2 * X_w + 2 * X_s)); acc_8_0 = _mm512_fmadd_ps(x_45, w_9_0, acc_8_0); }
        { const __m512 x_46 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + 2 * X_w + 2 * X_s)); acc_8_0 = _mm512_fmadd_ps(x_46, w_10_0, acc_8_0); }
        { const __m512 x_47 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + 2 * X_w + 2 * X_s)); acc_8_0 = _mm512_fmadd_ps(x_47, w_11_0, acc_8_0); }
    }
    { /* r = 2 */
        const float *x_r = x + 2 * X_r;
        const float *w_r = w + 2 * 12 * PANEL_1;
        const __m512 w_0_0 = _mm512_loadu_ps(w_r);
        const __m512 w_1_0 = _mm512_loadu_ps(w_r + 1 * PANEL_1);
        const __m512 w_2_0 = _mm512_loadu_ps(w_r + 2 * PANEL_1);
        const __m512 w_3_0 = _mm512_loadu_ps(w_r + 3 * PANEL_1);
        const __m512 w_4_0 = _mm512_loadu_ps(w_r + 4 * PANEL_1);
        const __m512 w_5_0 = _mm512_loadu_ps(w_r + 5 * PANEL_1);
        const __m512 w_6_0 = _mm512_loadu_ps(w_r + 6 * PANEL_1);
        const __m512 w_7_0 = _mm512_loadu_ps(w_r + 7 * PANEL_1);
        const __m512 w_8_0 = _mm512_loadu_ps(w_r + 8 * PANEL_1);
        const __m512 w_9_0 = _mm512_loadu_ps(w_r + 9 * PANEL_1);
        const __m512 w_10_0 = _mm512_loadu_ps(w_r + 10 * PANEL_1);
        const __m512 w_11_0 = _mm512_loadu_ps(w_r + 11 * PANEL_1);
        { const __m512 x_0 = _mm512_maskz_loadu_ps(TAIL, x_r + X_w); acc_1_0 = _mm512_fmadd_ps(x_0, w_0_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_0, w_4_0, acc_0_0); }
        { const __m512 x_1 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + X_w)); acc_1_0 = _mm512_fmadd_ps(x_1, w_1_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_1, w_5_0, acc_0_0); }
        { const __m512 x_2 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + X_w)); acc_1_0 = _mm512_fmadd_ps(x_2, w_2_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_2, w_6_0, acc_0_0); }
        { const __m512 x_3 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + X_w)); acc_1_0 = _mm512_fmadd_ps(x_3, w_3_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_3, w_7_0, acc_0_0); }
        { const __m512 x_4 = _mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_w); acc_2_0 = _mm512_fmadd_ps(x_4, w_0_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_4, w_4_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_4, w_8_0, acc_0_0); }
        { const __m512 x_5 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_w)); acc_2_0 = _mm512_fmadd_ps(x_5, w_1_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_5, w_5_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_5, w_9_0, acc_0_0); }
        { const __m512 x_6 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_w)); acc_2_0 = _mm512_fmadd_ps(x_6, w_2_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_6, w_6_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_6, w_10_0, acc_0_0); }
        { const __m512 x_7 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_w)); acc_2_0 = _mm512_fmadd_ps(x_7, w_3_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_7, w_7_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_7, w_11_0, acc_0_0); }
        { const __m512 x_8 = _mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_w + X_s); acc_2_0 = _mm512_fmadd_ps(x_8, w_4_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_8, w_8_0, acc_1_0); }
        { const __m512 x_9 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_w + X_s)); acc_2_0 = _mm512_fmadd_ps(x_9, w_5_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_9, w_9_0, acc_1_0); }
        { const __m512 x_10 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_w + X_s)); acc_2_0 = _mm512_fmadd_ps(x_10, w_6_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_10, w_10_0, acc_1_0); }
        { const __m512 x_11 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_w + X_s)); acc_2_0 = _mm512_fmadd_ps(x_11, w_7_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_11, w_11_0, acc_1_0); }
        { const __m512 x_12 = _mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_w + 2 * X_s); acc_2_0 = _mm512_fmadd_ps(x_12, w_8_0, acc_2_0); }
        { const __m512 x_13 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_w + 2 * X_s)); acc_2_0 = _mm512_fmadd_ps(x_13, w_9_0, acc_2_0); }
        { const __m512 x_14 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_w + 2 * X_s)); acc_2_0 = _mm512_fmadd_ps(x_14, w_10_0, acc_2_0); }
        { const __m512 x_15 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_w + 2 * X_s)); acc_2_0 = _mm512_fmadd_ps(x_15, w_11_0, acc_2_0); }
        { const __m512 x_16 = _mm512_maskz_loadu_ps(TAIL, x_r + X_h + X_w); acc_4_0 = _mm512_fmadd_ps(x_16, w_0_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_16, w_4_0, acc_3_0); }
        { const __m512 x_17 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + X_w)); acc_4_0 = _mm512_fmadd_ps(x_17, w_1_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_17, w_5_0, acc_3_0); }
        { const __m512 x_18 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + X_w)); acc_4_0 = _mm512_fmadd_ps(x_18, w_2_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_18, w_6_0, acc_3_0); }
        { const __m512 x_19 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + X_w)); acc_4_0 = _mm512_fmadd_ps(x_19, w_3_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_19, w_7_0, acc_3_0); }
        { const __m512 x_20 = _mm512_maskz_loadu_ps(TAIL, x_r + X_h + 2 * X_w); acc_5_0 = _mm512_fmadd_ps(x_20, w_0_0, acc_5_0); acc_4_0 = _mm512_fmadd_ps(x_20, w_4_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_20, w_8_0, acc_3_0); }
        { const __m512 x_21 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + 2 * X_w)); acc_5_0 = _mm512_fmadd_ps(x_21, w_1_0, acc_5_0); acc_4_0 = _mm512_fmadd_ps(x_21, w_5_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_21, w_9_0, acc_3_0); }
        { const __m512 x_22 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + 2 * X_w)); acc_5_0 = _mm512_fmadd_ps(x_22, w_2_0, acc_5_0); acc_4_0 = _mm512_fmadd_ps(x_22, w_6_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_22, w_10_0, acc_3_0); }
        { const __m512 x_23 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + 2 * X_w)); acc_5_0 = _mm512_fmadd_ps(x_23, w_3_0, acc_5_0); acc_4_0 = _mm512_fmadd_ps(x_23, w_7_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_23, w_11_0, acc_3_0); }
        { const __m512 x_24 = _mm512_maskz_loadu_ps(TAIL, x_r + X_h + 2 * X_w + X_s); acc_5_0 = _mm512_fmadd_ps(x_24, w_4_0, acc_5_0); acc_4_0 = _mm512_fmadd_ps(x_24, w_8_0, acc_4_0); }
        { const __m512 x_25 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + 2 * X_w + X_s)); acc_5_0 = _mm512_fmadd_ps(x_25, w_5_0, acc_5_0); acc_4_0 = _mm512_fmadd_ps(x_25, w_9_0, acc_4_0); }
        { const __m512 x_26 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + 2 * X_w + X_s)); acc_5_0 = _mm512_fmadd_ps(x_26, w_6_0, acc_5_0); acc_4_0 = _mm512_fmadd_ps(x_26, w_10_0, acc_4_0); }
        { const __m512 x_27 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + 2 * X_w + X_s)); acc_5_0 = _mm512_fmadd_ps(x_27, w_7_0, acc_5_0); acc_4_0 = _mm512_fmadd_ps(x_27, w_11_0, acc_4_0); }
        { const __m512 x_28 = _mm512_maskz_loadu_ps(TAIL, x_r + X_h + 2 * X_w + 2 * X_s); acc_5_0 = _mm512_fmadd_ps(x_28, w_8_0, acc_5_0); }
        { const __m512 x_29 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + 2 * X_w + 2 * X_s)); acc_5_0 = _mm512_fmadd_ps(x_29, w_9_0, acc_5_0); }
        { const __m512 x_30 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + 2 * X_w + 2 * X_s)); acc_5_0 = _mm512_fmadd_ps(x_30, w_10_0, acc_5_0); }
        { const __m512 x_31 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + 2 * X_w + 2 * X_s)); acc_5_0 = _mm512_fmadd_ps(x_31, w_11_0, acc_5_0); }
    }
    _mm512_mask_storeu_ps(y, TAIL, acc_0_0);
    _mm512_mask_storeu_ps(y + Y_w, TAIL, acc_1_0);
    _mm512_mask_storeu_ps(y + 2 * Y_w, TAIL, acc_2_0);
    _mm512_mask_storeu_ps(y + Y_h, TAIL, acc_3_0);
    _mm512_mask_storeu_ps(y + Y_h + Y_w, TAIL, acc_4_0);
    _mm512_mask_storeu_ps(y + Y_h + 2 * Y_w, TAIL, acc_5_0);
    _mm512_mask_storeu_ps(y + 2 * Y_h, TAIL, acc_6_0);
    _mm512_mask_storeu_ps(y + 2 * Y_h + Y_w, TAIL, acc_7_0);
    _mm512_mask_storeu_ps(y + 2 * Y_h + 2 * Y_w, TAIL, acc_8_0);
}

/* 15 rows x 1 vectors, summed over r by 1 to 3; padding along w: rows on the image for each tap of s are 0:0-4 1:0-4 2:0-3. */
static void tile1_3hx5wx16kx4cx3s_wpad0(const float *x, const float *w, float *y)
{
    __m512 acc_0_0 = _mm512_setzero_ps();
    __m512 acc_1_0 = _mm512_setzero_ps();
    __m512 acc_2_0 = _mm512_setzero_ps();
    __m512 acc_3_0 = _mm512_setzero_ps();
    __m512 acc_4_0 = _mm512_setzero_ps();
    __m512 acc_5_0 = _mm512_setzero_ps();
    __m512 acc_6_0 = _mm512_setzero_ps();
    __m512 acc_7_0 = _mm512_setzero_ps();
    __m512 acc_8_0 = _mm512_setzero_ps();
    __m512 acc_9_0 = _mm512_setzero_ps();
    __m512 acc_10_0 = _mm512_setzero_ps();
    __m512 acc_11_0 = _mm512_setzero_ps();
    __m512 acc_12_0 = _mm512_setzero_ps();
    __m512 acc_13_0 = _mm512_setzero_ps();
    __m512 acc_14_0 = _mm512_setzero_ps();
    for (long r = 0; r < 3; ++r) {
        const float *x_r = x + r * X_r;
        const float *w_r = w + r * 12 * PANEL_1;
        const __m512 w_0_0 = _mm512_loadu_ps(w_r);
        const __m512 w_1_0 = _mm512_loadu_ps(w_r + 1 * PANEL_1);
        const __m512 w_2_0 = _mm512_loadu_ps(w_r + 2 * PANEL_1);
        const __m512 w_3_0 = _mm512_loadu_ps(w_r + 3 * PANEL_1);
        const __m512 w_4_0 = _mm512_loadu_ps(w_r + 4 * PANEL_1);
        const __m512 w_5_0 = _mm512_loadu_ps(w_r + 5 * PANEL_1);
        const __m512 w_6_0 = _mm512_loadu_ps(w_r + 6 * PANEL_1);
        const __m512 w_7_0 = _mm512_loadu_ps(w_r + 7 * PANEL_1);
        const __m512 w_8_0 = _mm512_loadu_ps(w_r + 8 * PANEL_1);
        const __m512 w_9_0 = _mm512_loadu_ps(w_r + 9 * PANEL_1);
        const __m512 w_10_0 = _mm512_loadu_ps(w_r + 10 * PANEL_1);
        const __m512 w_11_0 = _mm512_loadu_ps(w_r + 11 * PANEL_1);
        { const __m512 x_0 = _mm512_loadu_ps(x_r); acc_0_0 = _mm512_fmadd_ps(x_0, w_0_0, acc_0_0); }
        { const __m512 x_1 = exchange_1(_mm512_loadu_ps(x_r)); acc_0_0 = _mm512_fmadd_ps(x_1, w_1_0, acc_0_0); }
        { const __m512 x_2 = exchange_2(_mm512_loadu_ps(x_r)); acc_0_0 = _mm512_fmadd_ps(x_2, w_2_0, acc_0_0); }
        { const __m512 x_3 = exchange_3(_mm512_loadu_ps(x_r)); acc_0_0 = _mm512_fmadd_ps(x_3, w_3_0, acc_0_0); }
        { const __m512 x_4 = _mm512_loadu_ps(x_r + X_w); acc_1_0 = _mm512_fmadd_ps(x_4, w_0_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_4, w_4_0, acc_0_0); }
        { const __m512 x_5 = exchange_1(_mm512_loadu_ps(x_r + X_w)); acc_1_0 = _mm512_fmadd_ps(x_5, w_1_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_5, w_5_0, acc_0_0); }
        { const __m512 x_6 = exchange_2(_mm512_loadu_ps(x_r + X_w)); acc_1_0 = _mm512_fmadd_ps(x_6, w_2_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_6, w_6_0, acc_0_0); }
        { const __m512 x_7 = exchange_3(_mm512_loadu_ps(x_r + X_w)); acc_1_0 = _mm512_fmadd_ps(x_7, w_3_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_7, w_7_0, acc_0_0); }
        { const __m512 x_8 = _mm512_loadu_ps(x_r + 2 * X_w); acc_2_0 = _mm512_fmadd_ps(x_8, w_0_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_8, w_4_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_8, w_8_0, acc_0_0); }
        { const __m512 x_9 = exchange_1(_mm512_loadu_ps(x_r + 2 * X_w)); acc_2_0 = _mm512_fmadd_ps(x_9, w_1_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_9, w_5_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_9, w_9_0, acc_0_0); }
        { const __m512 x_10 = exchange_2(_mm512_loadu_ps(x_r + 2 * X_w)); acc_2_0 = _mm512_fmadd_ps(x_10, w_2_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_10, w_6_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_10, w_10_0, acc_0_0); }
        { const __m512 x_11 = exchange_3(_mm512_loadu_ps(x_r + 2 * X_w)); acc_2_0 = _mm512_fmadd_ps(x_11, w_3_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_11, w_7_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_11, w_11_0, acc_0_0); }
        { const __m512 x_12 = _mm512_loadu_ps(x_r + 3 * X_w); acc_3_0 = _mm512_fmadd_ps(x_12, w_0_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_12, w_4_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_12, w_8_0, acc_1_0); }
        { const __m512 x_13 = exchange_1(_mm512_loadu_ps(x_r + 3 * X_w)); acc_3_0 = _mm512_fmadd_ps(x_13, w_1_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_13, w_5_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_13, w_9_0, acc_1_0); }
        { const __m512 x_14 = exchange_2(_mm512_loadu_ps(x_r + 3 * X_w)); acc_3_0 = _mm512_fmadd_ps(x_14, w_2_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_14, w_6_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_14, w_10_0, acc_1_0); }
        { const __m512 x_15 = exchange_3(_mm512_loadu_ps(x_r + 3 * X_w)); acc_3_0 = _mm512_fmadd_ps(x_15, w_3_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_15, w_7_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_15, w_11_0, acc_1_0); }
        { const __m512 x_16 = _mm512_loadu_ps(x_r + 4 * X_w); acc_4_0 = _mm512_fmadd_ps(x_16, w_0_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_16, w_4_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_16, w_8_0, acc_2_0); }
        { const __m512 x_17 = exchange_1(_mm512_loadu_ps(x_r + 4 * X_w)); acc_4_0 = _mm512_fmadd_ps(x_17, w_1_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_17, w_5_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_17, w_9_0, acc_2_0); }
        { const __m512 x_18 = exchange_2(_mm512_loadu_ps(x_r + 4 * X_w)); acc_4_0 = _mm512_fmadd_ps(x_18, w_2_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_18, w_6_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_18, w_10_0, acc_2_0); }
        { const __m512 x_19 = exchange_3(_mm512_loadu_ps(x_r + 4 * X_w)); acc_4_0 = _mm512_fmadd_ps(x_19, w_3_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_19, w_7_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_19, w_11_0, acc_2_0); }
        { const __m512 x_20 = _mm512_loadu_ps(x_r + 4 * X_w + X_s); acc_4_0 = _mm512_fmadd_ps(x_20, w_4_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_20, w_8_0, acc_3_0); }
        { const __m512 x_21 = exchange_1(_mm512_loadu_ps(x_r + 4 * X_w + X_s)); acc_4_0 = _mm512_fmadd_ps(x_21, w_5_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_21, w_9_0, acc_3_0); }
        { const __m512 x_22 = exchange_2(_mm512_loadu_ps(x_r + 4 * X_w + X_s)); acc_4_0 = _mm512_fmadd_ps(x_22, w_6_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_22, w_10_0, acc_3_0); }
        { const __m512 x_23 = exchange_3(_mm512_loadu_ps(x_r + 4 * X_w + X_s)); acc_4_0 = _mm512_fmadd_ps(x_23, w_7_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_23, w_11_0, acc_3_0); }
        { const __m512 x_24 = _mm512_loadu_ps(x_r + X_h); acc_5_0 = _mm512_fmadd_ps(x_24, w_0_0, acc_5_0); }
        { const __m512 x_25 = exchange_1(_mm512_loadu_ps(x_r + X_h)); acc_5_0 = _mm512_fmadd_ps(x_25, w_1_0, acc_5_0); }
        { const __m512 x_26 = exchange_2(_mm512_loadu_ps(x_r + X_h)); acc_5_0 = _mm512_fmadd_ps(x_26, w_2_0, acc_5_0); }
        { const __m512 x_27 = exchange_3(_mm512_loadu_ps(x_r + X_h)); acc_5_0 = _mm512_fmadd_ps(x_27, w_3_0, acc_5_0); }
        { const __m512 x_28 = _mm512_loadu_ps(x_r + X_h + X_w); acc_6_0 = _mm512_fmadd_ps(x_28, w_0_0, acc_6_0); acc_5_0 = _mm512_fmadd_ps(x_28, w_4_0, acc_5_0); }
        { const __m512 x_29 = exchange_1(_mm512_loadu_ps(x_r + X_h + X_w)); acc_6_0 = _mm512_fmadd_ps(x_29, w_1_0, acc_6_0); acc_5_0 = _mm512_fmadd_ps(x_29, w_5_0, acc_5_0); }
        { const __m512 x_30 = exchange_2(_mm512_loadu_ps(x_r + X_h + X_w)); acc_6_0 = _mm512_fmadd_ps(x_30, w_2_0, acc_6_0); acc_5_0 = _mm512_fmadd_ps(x_30, w_6_0, acc_5_0); }
        { const __m512 x_31 = exchange_3(_mm512_loadu_ps(x_r + X_h + X_w)); acc_6_0 = _mm512_fmadd_ps(x_31, w_3_0, acc_6_0); acc_5_0 = _mm512_fmadd_ps(x_31, w_7_0, acc_5_0); }
        { const __m512 x_32 = _mm512_loadu_ps(x_r + X_h + 2 * X_w); acc_7_0 = _mm512_fmadd_ps(x_32, w_0_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_32, w_4_0, acc_6_0); acc_5_0 = _mm512_fmadd_ps(x_32, w_8_0, acc_5_0); }
        { const __m512 x_33 = exchange_1(_mm512_loadu_ps(x_r + X_h + 2 * X_w)); acc_7_0 = _mm512_fmadd_ps(x_33, w_1_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_33, w_5_0, acc_6_0); acc_5_0 = _mm512_fmadd_ps(x_33, w_9_0, acc_5_0); }
        { const __m512 x_34 = exchange_2(_mm512_loadu_ps(x_r + X_h + 2 * X_w)); acc_7_0 = _mm512_fmadd_ps(x_34, w_2_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_34, w_6_0, acc_6_0); acc_5_0 = _mm512_fmadd_ps(x_34, w_10_0, acc_5_0); }
        { const __m512 x_35 = exchange_3(_mm512_loadu_ps(x_r + X_h + 2 * X_w)); acc_7_0 = _mm512_fmadd_ps(x_35, w_3_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_35, w_7_0, acc_6_0); acc_5_0 = _mm512_fmadd_ps(x_35, w_11_0, acc_5_0); }
        { const __m512 x_36 = _mm512_loadu_ps(x_r + X_h + 3 * X_w); acc_8_0 = _mm512_fmadd_ps(x_36, w_0_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_36, w_4_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_36, w_8_0, acc_6_0); }
        { const __m512 x_37 = exchange_1(_mm512_loadu_ps(x_r + X_h + 3 * X_w)); acc_8_0 = _mm512_fmadd_ps(x_37, w_1_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_37, w_5_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_37, w_9_0, acc_6_0); }
        { const __m512 x_38 = exchange_2(_mm512_loadu_ps(x_r + X_h + 3 * X_w)); acc_8_0 = _mm512_fmadd_ps(x_38, w_2_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_38, w_6_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_38, w_10_0, acc_6_0); }
        { const __m512 x_39 = exchange_3(_mm512_loadu_ps(x_r + X_h + 3 * X_w)); acc_8_0 = _mm512_fmadd_ps(x_39, w_3_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_39, w_7_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_39, w_11_0, acc_6_0); }
        { const __m512 x_40 = _mm512_loadu_ps(x_r + X_h + 4 * X_w); acc_9_0 = _mm512_fmadd_ps(x_40, w_0_0, acc_9_0); acc_8_0 = _mm512_fmadd_ps(x_40, w_4_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_40, w_8_0, acc_7_0); }
        { const __m512 x_41 = exchange_1(_mm512_loadu_ps(x_r + X_h + 4 * X_w)); acc_9_0 = _mm512_fmadd_ps(x_41, w_1_0, acc_9_0); acc_8_0 = _mm512_fmadd_ps(x_41, w_5_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_41, w_9_0, acc_7_0); }
        { const __m512 x_42 = exchange_2(_mm512_loadu_ps(x_r + X_h + 4 * X_w)); acc_9_0 = _mm512_fmadd_ps(x_42, w_2_0, acc_9_0); acc_8_0 = _mm512_fmadd_ps(x_42, w_6_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_42, w_10_0, acc_7_0); }
        { const __m512 x_43 = exchange_3(_mm512_loadu_ps(x_r + X_h + 4 * X_w)); acc_9_0 = _mm512_fmadd_ps(x_43, w_3_0, acc_9_0); acc_8_0 = _mm512_fmadd_ps(x_43, w_7_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_43, w_11_0, acc_7_0); }
        { const __m512 x_44 = _mm512_loadu_ps(x_r + X_h + 4 * X_w + X_s); acc_9_0 = _mm512_fmadd_ps(x_44, w_4_0, acc_9_0); acc_8_0 = _mm512_fmadd_ps(x_44, w_8_0, acc_8_0); }
        { const __m512 x_45 = exchange_1(_mm512_loadu_ps(x_r + X_h + 4 * X_w + X_s)); acc_9_0 = _mm512_fmadd_ps(x_45, w_5_0, acc_9_0); acc_8_0 = _mm512_fmadd_ps(x_45, w_9_0, acc_8_0); }
        { const __m512 x_46 = exchange_2(_mm512_loadu_ps(x_r + X_h + 4 * X_w + X_s)); acc_9_0 = _mm512_fmadd_ps(x_46, w_6_0, acc_9_0); acc_8_0 = _mm512_fmadd_ps(x_46, w_10_0, acc_8_0); }
        { const __m512 x_47 = exchange_3(_mm512_loadu_ps(x_r + X_h + 4 * X_w + X_s)); acc_9_0 = _mm512_fmadd_ps(x_47, w_7_0, acc_9_0); acc_8_0 = _mm512_fmadd_ps(x_47, w_11_0, acc_8_0); }
        { const __m512 x_48 = _mm512_loadu_ps(x_r + 2 * X_h); acc_10_0 = _mm512_fmadd_ps(x_48, w_0_0, acc_10_0); }
        { const __m512 x_49 = exchange_1(_mm512_loadu_ps(x_r + 2 * X_h)); acc_10_0 = _mm512_fmadd_ps(x_49, w_1_0, acc_10_0); }
        { const __m512 x_50 = exchange_2(_mm512_loadu_ps(x_r + 2 * X_h)); acc_10_0 = _mm512_fmadd_ps(x_50, w_2_0, acc_10_0); }
        { const __m512 x_51 = exchange_3(_mm512_loadu_ps(x_r + 2 * X_h)); acc_10_0 = _mm512_fmadd_ps(x_51, w_3_0, acc_10_0); }
        { const __m512 x_52 = _mm512_loadu_ps(x_r + 2 * X_h + X_w); acc_11_0 = _mm512_fmadd_ps(x_52, w_0_0, acc_11_0); acc_10_0 = _mm512_fmadd_ps(x_52, w_4_0, acc_10_0); }
        { const __m512 x_53 = exchange_1(_mm512_loadu_ps(x_r + 2 * X_h + X_w)); acc_11_0 = _mm512_fmadd_ps(x_53, w_1_0, acc_11_0); acc_10_0 = _mm512_fmadd_ps(x_53, w_5_0, acc_10_0); }
        { const __m512 x_54 = exchange_2(_mm512_loadu_ps(x_r + 2 * X_h + X_w)); acc_11_0 = _mm512_fmadd_ps(x_54, w_2_0, acc_11_0); acc_10_0 = _mm512_fmadd_ps(x_54, w_6_0, acc_10_0); }
        { const __m512 x_55 = exchange_3(_mm512_loadu_ps(x_r + 2 * X_h + X_w)); acc_11_0 = _mm512_fmadd_ps(x_55, w_3_0, acc_11_0); acc_10_0 = _mm512_fmadd_ps(x_55, w_7_0, acc_10_0); }
        { const __m512 x_56 = _mm512_loadu_ps(x_r + 2 * X_h + 2 * X_w); acc_12_0 = _mm512_fmadd_ps(x_56, w_0_0, acc_12_0); acc_11_0 = _mm512_fmadd_ps(x_56, w_4_0, acc_11_0); acc_10_0 = _mm512_fmadd_ps(x_56, w_8_0, acc_10_0); }
        { const __m512 x_57 = exchange_1(_mm512_loadu_ps(x_r + 2 * X_h + 2 * X_w)); acc_12_0 = _mm512_fmadd_ps(x_57, w_1_0, acc_12_0); acc_11_0 = _mm512_fmadd_ps(x_57, w_5_0, acc_11_0); acc_10_0 = _mm512_fmadd_ps(x_57, w_9_0, acc_10_0); }
        { const __m512 x_58 = exchange_2(_mm512_loadu_ps(x_r + 2 * X_h + 2 * X_w)); acc_12_0 = _mm512_fmadd_ps(x_58, w_2_0, acc_12_0); acc_11_0 = _mm512_fmadd_ps(x_58, w_6_0, acc_11_0); acc_10_0 = _mm512_fmadd_ps(x_58, w_10_0, acc_10_0); }
        { const __m512 x_59 = exchange_3(_mm512_loadu_ps(x_r + 2 * X_h + 2 * X_w)); acc_12_0 = _mm512_fmadd_ps(x_59, w_3_0, acc_12_0); acc_11_0 = _mm512_fmadd_ps(x_59, w_7_0, acc_11_0); acc_10_0 = _mm512_fmadd_ps(x_59, w_11_0, acc_10_0); }
        { const __m512 x_60 = _mm512_loadu_ps(x_r + 2 * X_h + 3 * X_w); acc_13_0 = _mm512_fmadd_ps(x_60, w_0_0, acc_13_0); acc_12_0 = _mm512_fmadd_ps(x_60, w_4_0, acc_12_0); acc_11_0 = _mm512_fmadd_ps(x_60, w_8_0, acc_11_0); }
        { const __m512 x_61 = exchange_1(_mm512_loadu_ps(x_r + 2 * X_h + 3 * X_w)); acc_13_0 = _mm512_fmadd_ps(x_61, w_1_0, acc_13_0); acc_12_0 = _mm512_fmadd_ps(x_61, w_5_0, acc_12_0); acc_11_0 = _mm512_fmadd_ps(x_61, w_9_0, acc_11_0); }
        { const __m512 x_62 = exchange_2(_mm512_loadu_ps(x_r + 2 * X_h + 3 * X_w)); acc_13_0 = _mm512_fmadd_ps(x_62, w_2_0, acc_13_0); acc_12_0 = _mm512_fmadd_ps(x_62, w_6_0, acc_12_0); acc_11_0 = _mm512_fmadd_ps(x_62, w_10_0, acc_11_0); }
        { const __m512 x_63 = exchange_3(_mm512_loadu_ps(x_r + 2 * X_h + 3 * X_w)); acc_13_0 = _mm512_fmadd_ps(x_63, w_3_0, acc_13_0); acc_12_0 = _mm512_fmadd_ps(x_63, w_7_0, acc_12_0); acc_11_0 = _mm512_fmadd_ps(x_63, w_11_0, acc_11_0); }
        { const __m512 x_64 = _mm512_loadu_ps(x_r + 2 * X_h + 4 * X_w); acc_14_0 = _mm512_fmadd_ps(x_64, w_0_0, acc_14_0); acc_13_0 = _mm512_fmadd_ps(x_64, w_4_0, acc_13_0); acc_12_0 = _mm512_fmadd_ps(x_64, w_8_0, acc_12_0); }
        { const __m512 x_65 = exchange_1(_mm512_loadu_ps(x_r + 2 * X_h + 4 * X_w)); acc_14_0 = _mm512_fmadd_ps(x_65, w_1_0, acc_14_0); acc_13_0 = _mm512_fmadd_ps(x_65, w_5_0, acc_13_0); acc_12_0 = _mm512_fmadd_ps(x_65, w_9_0, acc_12_0); }
        { const __m512 x_66 = exchange_2(_mm512_loadu_ps(x_r + 2 * X_h + 4 * X_w)); acc_14_0 = _mm512_fmadd_ps(x_66, w_2_0, acc_14_0); acc_13_0 = _mm512_fmadd_ps(x_66, w_6_0, acc_13_0); acc_12_0 = _mm512_fmadd_ps(x_66, w_10_0, acc_12_0); }
        { const __m512 x_67 = exchange_3(_mm512_loadu_ps(x_r + 2 * X_h + 4 * X_w)); acc_14_0 = _mm512_fmadd_ps(x_67, w_3_0, acc_14_0); acc_13_0 = _mm512_fmadd_ps(x_67, w_7_0, acc_13_0); acc_12_0 = _mm512_fmadd_ps(x_67, w_11_0, acc_12_0); }
        { const __m512 x_68 = _mm512_loadu_ps(x_r + 2 * X_h + 4 * X_w + X_s); acc_14_0 = _mm512_fmadd_ps(x_68, w_4_0, acc_14_0); acc_13_0 = _mm512_fmadd_ps(x_68, w_8_0, acc_13_0); }
        { const __m512 x_69 = exchange_1(_mm512_loadu_ps(x_r + 2 * X_h + 4 * X_w + X_s)); acc_14_0 = _mm512_fmadd_ps(x_69, w_5_0, acc_14_0); acc_13_0 = _mm512_fmadd_ps(x_69, w_9_0, acc_13_0); }
        { const __m512 x_70 = exchange_2(_mm512_loadu_ps(x_r + 2 * X_h + 4 * X_w + X_s)); acc_14_0 = _mm512_fmadd_ps(x_70, w_6_0, acc_14_0); acc_13_0 = _mm512_fmadd_ps(x_70, w_10_0, acc_13_0); }
        { const __m512 x_71 = exchange_3(_mm512_loadu_ps(x_r + 2 * X_h + 4 * X_w + X_s)); acc_14_0 = _mm512_fmadd_ps(x_71, w_7_0, acc_14_0); acc_13_0 = _mm512_fmadd_ps(x_71, w_11_0, acc_13_0); }
    }
    _mm512_storeu_ps(y, acc_0_0);
    _mm512_storeu_ps(y + Y_w, acc_1_0);
    _mm512_storeu_ps(y + 2 * Y_w, acc_2_0);
    _mm512_storeu_ps(y + 3 * Y_w, acc_3_0);
    _mm512_storeu_ps(y + 4 * Y_w, acc_4_0);
    _mm512_storeu_ps(y + Y_h, acc_5_0);
    _mm512_storeu_ps(y + Y_h + Y_w, acc_6_0);
    _mm512_storeu_ps(y + Y_h + 2 * Y_w, acc_7_0);
    _mm512_storeu_ps(y + Y_h + 3 * Y_w, acc_8_0);
    _mm512_storeu_ps(y + Y_h + 4 * Y_w, acc_9_0);
    _mm512_storeu_ps(y + 2 * Y_h, acc_10_0);
    _mm512_storeu_ps(y + 2 * Y_h + Y_w, acc_11_0);
    _mm512_storeu_ps(y + 2 * Y_h + 2 * Y_w, acc_12_0);
    _mm512_storeu_ps(y + 2 * Y_h + 3 * Y_w, acc_13_0);
    _mm512_storeu_ps(y + 2 * Y_h + 4 * Y_w, acc_14_0);
}

/* 15 rows x 1 vectors, summed over r by 1 to 3; padding along w: rows on the image for each tap of s are 0:0-4 1:0-4 2:0-3; the last vector is masked. */
static void tile1_3hx5wx16kx4cx3s_wpad0_tail(const float *x, const float *w, float *y)
{
    __m512 acc_0_0 = _mm512_setzero_ps();
    __m512 acc_1_0 = _mm512_setzero_ps();
    __m512 acc_2_0 = _mm512_setzero_ps();
    __m512 acc_3_0 = _mm512_setzero_ps();
    __m512 acc_4_0 = _mm512_setzero_ps();
    __m512 acc_5_0 = _mm512_setzero_ps();
    __m512 acc_6_0 = _mm512_setzero_ps();
    __m512 acc_7_0 = _mm512_setzero_ps();
    __m512 acc_8_0 = _mm512_setzero_ps();
    __m512 acc_9_0 = _mm512_setzero_ps();
    __m512 acc_10_0 = _mm512_setzero_ps();
    __m512 acc_11_0 = _mm512_setzero_ps();
    __m512 acc_12_0 = _mm512_setzero_ps();
    __m512 acc_13_0 = _mm512_setzero_ps();
    __m512 acc_14_0 = _mm512_setzero_ps();
    for (long r = 0; r < 3; ++r) {
        const float *x_r = x + r * X_r;
        const float *w_r = w + r * 12 * PANEL_1;
        const __m512 w_0_0 = _mm512_loadu_ps(w_r);
        const __m512 w_1_0 = _mm512_loadu_ps(w_r + 1 * PANEL_1);
        const __m512 w_2_0 = _mm512_loadu_ps(w_r + 2 * PANEL_1);
        const __m512 w_3_0 = _mm512_loadu_ps(w_r + 3 * PANEL_1);
        const __m512 w_4_0 = _mm512_loadu_ps(w_r + 4 * PANEL_1);
        const __m512 w_5_0 = _mm512_loadu_ps(w_r + 5 * PANEL_1);
        const __m512 w_6_0 = _mm512_loadu_ps(w_r + 6 * PANEL_1);
        const __m512 w_7_0 = _mm512_loadu_ps(w_r + 7 * PANEL_1);
        const __m512 w_8_0 = _mm512_loadu_ps(w_r + 8 * PANEL_1);
        const __m512 w_9_0 = _mm512_loadu_ps(w_r + 9 * PANEL_1);
        const __m512 w_10_0 = _mm512_loadu_ps(w_r + 10 * PANEL_1);
        const __m512 w_11_0 = _mm512_loadu_ps(w_r + 11 * PANEL_1);
        { const __m512 x_0 = _mm512_maskz_loadu_ps(TAIL, x_r); acc_0_0 = _mm512_fmadd_ps(x_0, w_0_0, acc_0_0); }
        { const __m512 x_1 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r)); acc_0_0 = _mm512_fmadd_ps(x_1, w_1_0, acc_0_0); }
        { const __m512 x_2 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r)); acc_0_0 = _mm512_fmadd_ps(x_2, w_2_0, acc_0_0); }
        { const __m512 x_3 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r)); acc_0_0 = _mm512_fmadd_ps(x_3, w_3_0, acc_0_0); }
        { const __m512 x_4 = _mm512_maskz_loadu_ps(TAIL, x_r + X_w); acc_1_0 = _mm512_fmadd_ps(x_4, w_0_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_4, w_4_0, acc_0_0); }
        { const __m512 x_5 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + X_w)); acc_1_0 = _mm512_fmadd_ps(x_5, w_1_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_5, w_5_0, acc_0_0); }
        { const __m512 x_6 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + X_w)); acc_1_0 = _mm512_fmadd_ps(x_6, w_2_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_6, w_6_0, acc_0_0); }
        { const __m512 x_7 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + X_w)); acc_1_0 = _mm512_fmadd_ps(x_7, w_3_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_7, w_7_0, acc_0_0); }
        { const __m512 x_8 = _mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_w); acc_2_0 = _mm512_fmadd_ps(x_8, w_0_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_8, w_4_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_8, w_8_0, acc_0_0); }
        { const __m512 x_9 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_w)); acc_2_0 = _mm512_fmadd_ps(x_9, w_1_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_9, w_5_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_9, w_9_0, acc_0_0); }
        { const __m512 x_10 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_w)); acc_2_0 = _mm512_fmadd_ps(x_10, w_2_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_10, w_6_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_10, w_10_0, acc_0_0); }
        { const __m512 x_11 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_w)); acc_2_0 = _mm512_fmadd_ps(x_11, w_3_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_11, w_7_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_11, w_11_0, acc_0_0); }
        { const __m512 x_12 = _mm512_maskz_loadu_ps(TAIL, x_r + 3 * X_w); acc_3_0 = _mm512_fmadd_ps(x_12, w_0_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_12, w_4_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_12, w_8_0, acc_1_0); }
        { const __m512 x_13 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + 3 * X_w)); acc_3_0 = _mm512_fmadd_ps(x_13, w_1_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_13, w_5_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_13, w_9_0, acc_1_0); }
        { const __m512 x_14 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + 3 * X_w)); acc_3_0 = _mm512_fmadd_ps(x_14, w_2_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_14, w_6_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_14, w_10_0, acc_1_0); }
        { const __m512 x_15 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + 3 * X_w)); acc_3_0 = _mm512_fmadd_ps(x_15, w_3_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_15, w_7_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_15, w_11_0, acc_1_0); }
        { const __m512 x_16 = _mm512_maskz_loadu_ps(TAIL, x_r + 4 * X_w); acc_4_0 = _mm512_fmadd_ps(x_16, w_0_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_16, w_4_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_16, w_8_0, acc_2_0); }
        { const __m512 x_17 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + 4 * X_w)); acc_4_0 = _mm512_fmadd_ps(x_17, w_1_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_17, w_5_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_17, w_9_0, acc_2_0); }
        { const __m512 x_18 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + 4 * X_w)); acc_4_0 = _mm512_fmadd_ps(x_18, w_2_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_18, w_6_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_18, w_10_0, acc_2_0); }
        { const __m512 x_19 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + 4 * X_w)); acc_4_0 = _mm512_fmadd_ps(x_19, w_3_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_19, w_7_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_19, w_11_0, acc_2_0); }
        { const __m512 x_20 = _mm512_maskz_loadu_ps(TAIL, x_r + 4 * X_w + X_s); acc_4_0 = _mm512_fmadd_ps(x_20, w_4_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_20, w_8_0, acc_3_0); }
        { const __m512 x_21 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + 4 * X_w + X_s)); acc_4_0 = _mm512_fmadd_ps(x_21, w_5_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_21, w_9_0, acc_3_0); }
        { const __m512 x_22 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + 4 * X_w + X_s)); acc_4_0 = _mm512_fmadd_ps(x_22, w_6_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_22, w_10_0, acc_3_0); }
        { const __m512 x_23 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + 4 * X_w + X_s)); acc_4_0 = _mm512_fmadd_ps(x_23, w_7_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_23, w_11_0, acc_3_0); }
        { const __m512 x_24 = _mm512_maskz_loadu_ps(TAIL, x_r + X_h); acc_5_0 = _mm512_fmadd_ps(x_24, w_0_0, acc_5_0); }
        { const __m512 x_25 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + X_h)); acc_5_0 = _mm512_fmadd_ps(x_25, w_1_0, acc_5_0); }
        { const __m512 x_26 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + X_h)); acc_5_0 = _mm512_fmadd_ps(x_26, w_2_0, acc_5_0); }
        { const __m512 x_27 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + X_h)); acc_5_0 = _mm512_fmadd_ps(x_27, w_3_0, acc_5_0); }
        { const __m512 x_28 = _mm512_maskz_loadu_ps(TAIL, x_r + X_h + X_w); acc_6_0 = _mm512_fmadd_ps(x_28, w_0_0, acc_6_0); acc_5_0 = _mm512_fmadd_ps(x_28, w_4_0, acc_5_0); }
        { const __m512 x_29 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + X_w)); acc_6_0 = _mm512_fmadd_ps(x_29, w_1_0, acc_6_0); acc_5_0 = _mm512_fmadd_ps(x_29, w_5_0, acc_5_0); }
        { const __m512 x_30 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + X_w)); acc_6_0 = _mm512_fmadd_ps(x_30, w_2_0, acc_6_0); acc_5_0 = _mm512_fmadd_ps(x_30, w_6_0, acc_5_0); }
        { const __m512 x_31 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + X_w)); acc_6_0 = _mm512_fmadd_ps(x_31, w_3_0, acc_6_0); acc_5_0 = _mm512_fmadd_ps(x_31, w_7_0, acc_5_0); }
        { const __m512 x_32 = _mm512_maskz_loadu_ps(TAIL, x_r + X_h + 2 * X_w); acc_7_0 = _mm512_fmadd_ps(x_32, w_0_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_32, w_4_0, acc_6_0); acc_5_0 = _mm512_fmadd_ps(x_32, w_8_0, acc_5_0); }
        { const __m512 x_33 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + 2 * X_w)); acc_7_0 = _mm512_fmadd_ps(x_33, w_1_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_33, w_5_0, acc_6_0); acc_5_0 = _mm512_fmadd_ps(x_33, w_9_0, acc_5_0); }
        { const __m512 x_34 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + 2 * X_w)); acc_7_0 = _mm512_fmadd_ps(x_34, w_2_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_34, w_6_0, acc_6_0); acc_5_0 = _mm512_fmadd_ps(x_34, w_10_0, acc_5_0); }
        { const __m512 x_35 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + 2 * X_w)); acc_7_0 = _mm512_fmadd_ps(x_35, w_3_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_35, w_7_0, acc_6_0); acc_5_0 = _mm512_fmadd_ps(x_35, w_11_0, acc_5_0); }
        { const __m512 x_36 = _mm512_maskz_loadu_ps(TAIL, x_r + X_h + 3 * X_w); acc_8_0 = _mm512_fmadd_ps(x_36, w_0_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_36, w_4_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_36, w_8_0, acc_6_0); }
        { const __m512 x_37 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + 3 * X_w)); acc_8_0 = _mm512_fmadd_ps(x_37, w_1_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_37, w_5_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_37, w_9_0, acc_6_0); }
        { const __m512 x_38 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + 3 * X_w)); acc_8_0 = _mm512_fmadd_ps(x_38, w_2_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_38, w_6_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_38, w_10_0, acc_6_0); }
        { const __m512 x_39 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + 3 * X_w)); acc_8_0 = _mm512_fmadd_ps(x_39, w_3_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_39, w_7_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_39, w_11_0, acc_6_0); }
        { const __m512 x_40 = _mm512_maskz_loadu_ps(TAIL, x_r + X_h + 4 * X_w); acc_9_0 = _mm512_fmadd_ps(x_40, w_0_0, acc_9_0); acc_8_0 = _mm512_fmadd_ps(x_40, w_4_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_40, w_8_0, acc_7_0); }
        { const __m512 x_41 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + 4 * X_w)); acc_9_0 = _mm512_fmadd_ps(x_41, w_1_0, acc_9_0); acc_8_0 = _mm512_fmadd_ps(x_41, w_5_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_41, w_9_0, acc_7_0); }
        { const __m512 x_42 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + 4 * X_w)); acc_9_0 = _mm512_fmadd_ps(x_42, w_2_0, acc_9_0); acc_8_0 = _mm512_fmadd_ps(x_42, w_6_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_42, w_10_0, acc_7_0); }
        { const __m512 x_43 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + 4 * X_w)); acc_9_0 = _mm512_fmadd_ps(x_43, w_3_0, acc_9_0); acc_8_0 = _mm512_fmadd_ps(x_43, w_7_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_43, w_11_0, acc_7_0); }
        { const __m512 x_44 = _mm512_maskz_loadu_ps(TAIL, x_r + X_h + 4 * X_w + X_s); acc_9_0 = _mm512_fmadd_ps(x_44, w_4_0, acc_9_0); acc_8_0 = _mm512_fmadd_ps(x_44, w_8_0, acc_8_0); }
        { const __m512 x_45 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + 4 * X_w + X_s)); acc_9_0 = _mm512_fmadd_ps(x_45, w_5_0, acc_9_0); acc_8_0 = _mm512_fmadd_ps(x_45, w_9_0, acc_8_0); }
        { const __m512 x_46 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + 4 * X_w + X_s)); acc_9_0 = _mm512_fmadd_ps(x_46, w_6_0, acc_9_0); acc_8_0 = _mm512_fmadd_ps(x_46, w_10_0, acc_8_0); }
        { const __m512 x_47 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + 4 * X_w + X_s)); acc_9_0 = _mm512_fmadd_ps(x_47, w_7_0, acc_9_0); acc_8_0 = _mm512_fmadd_ps(x_47, w_11_0, acc_8_0); }
        { const __m512 x_48 = _mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h); acc_10_0 = _mm512_fmadd_ps(x_48, w_0_0, acc_10_0); }
        { const __m512 x_49 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h)); acc_10_0 = _mm512_fmadd_ps(x_49, w_1_0, acc_10_0); }
        { const __m512 x_50 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h)); acc_10_0 = _mm512_fmadd_ps(x_50, w_2_0, acc_10_0); }
        { const __m512 x_51 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h)); acc_10_0 = _mm512_fmadd_ps(x_51, w_3_0, acc_10_0); }
        { const __m512 x_52 = _mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + X_w); acc_11_0 = _mm512_fmadd_ps(x_52, w_0_0, acc_11_0); acc_10_0 = _mm512_fmadd_ps(x_52, w_4_0, acc_10_0); }
        { const __m512 x_53 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + X_w)); acc_11_0 = _mm512_fmadd_ps(x_53, w_1_0, acc_11_0); acc_10_0 = _mm512_fmadd_ps(x_53, w_5_0, acc_10_0); }
        { const __m512 x_54 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + X_w)); acc_11_0 = _mm512_fmadd_ps(x_54, w_2_0, acc_11_0); acc_10_0 = _mm512_fmadd_ps(x_54, w_6_0, acc_10_0); }
        { const __m512 x_55 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + X_w)); acc_11_0 = _mm512_fmadd_ps(x_55, w_3_0, acc_11_0); acc_10_0 = _mm512_fmadd_ps(x_55, w_7_0, acc_10_0); }
        { const __m512 x_56 = _mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + 2 * X_w); acc_12_0 = _mm512_fmadd_ps(x_56, w_0_0, acc_12_0); acc_11_0 = _mm512_fmadd_ps(x_56, w_4_0, acc_11_0); acc_10_0 = _mm512_fmadd_ps(x_56, w_8_0, acc_10_0); }
        { const __m512 x_57 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + 2 * X_w)); acc_12_0 = _mm512_fmadd_ps(x_57, w_1_0, acc_12_0); acc_11_0 = _mm512_fmadd_ps(x_57, w_5_0, acc_11_0); acc_10_0 = _mm512_fmadd_ps(x_57, w_9_0, acc_10_0); }
        { const __m512 x_58 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + 2 * X_w)); acc_12_0 = _mm512_fmadd_ps(x_58, w_2_0, acc_12_0); acc_11_0 = _mm512_fmadd_ps(x_58, w_6_0, acc_11_0); acc_10_0 = _mm512_fmadd_ps(x_58, w_10_0, acc_10_0); }
        { const __m512 x_59 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + 2 * X_w)); acc_12_0 = _mm512_fmadd_ps(x_59, w_3_0, acc_12_0); acc_11_0 = _mm512_fmadd_ps(x_59, w_7_0, acc_11_0); acc_10_0 = _mm512_fmadd_ps(x_59, w_11_0, acc_10_0); }
        { const __m512 x_60 = _mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + 3 * X_w); acc_13_0 = _mm512_fmadd_ps(x_60, w_0_0, acc_13_0); acc_12_0 = _mm512_fmadd_ps(x_60, w_4_0, acc_12_0); acc_11_0 = _mm512_fmadd_ps(x_60, w_8_0, acc_11_0); }
        { const __m512 x_61 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + 3 * X_w)); acc_13_0 = _mm512_fmadd_ps(x_61, w_1_0, acc_13_0); acc_12_0 = _mm512_fmadd_ps(x_61, w_5_0, acc_12_0); acc_11_0 = _mm512_fmadd_ps(x_61, w_9_0, acc_11_0); }
        { const __m512 x_62 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + 3 * X_w)); acc_13_0 = _mm512_fmadd_ps(x_62, w_2_0, acc_13_0); acc_12_0 = _mm512_fmadd_ps(x_62, w_6_0, acc_12_0); acc_11_0 = _mm512_fmadd_ps(x_62, w_10_0, acc_11_0); }
        { const __m512 x_63 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + 3 * X_w)); acc_13_0 = _mm512_fmadd_ps(x_63, w_3_0, acc_13_0); acc_12_0 = _mm512_fmadd_ps(x_63, w_7_0, acc_12_0); acc_11_0 = _mm512_fmadd_ps(x_63, w_11_0, acc_11_0); }
        { const __m512 x_64 = _mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + 4 * X_w); acc_14_0 = _mm512_fmadd_ps(x_64, w_0_0, acc_14_0); acc_13_0 = _mm512_fmadd_ps(x_64, w_4_0, acc_13_0); acc_12_0 = _mm512_fmadd_ps(x_64, w_8_0, acc_12_0); }
        { const __m512 x_65 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + 4 * X_w)); acc_14_0 = _mm512_fmadd_ps(x_65, w_1_0, acc_14_0); acc_13_0 = _mm512_fmadd_ps(x_65, w_5_0, acc_13_0); acc_12_0 = _mm512_fmadd_ps(x_65, w_9_0, acc_12_0); }
        { const __m512 x_66 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + 4 * X_w)); acc_14_0 = _mm512_fmadd_ps(x_66, w_2_0, acc_14_0); acc_13_0 = _mm512_fmadd_ps(x_66, w_6_0, acc_13_0); acc_12_0 = _mm512_fmadd_ps(x_66, w_10_0, acc_12_0); }
        { const __m512 x_67 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + 4 * X_w)); acc_14_0 = _mm512_fmadd_ps(x_67, w_3_0, acc_14_0); acc_13_0 = _mm512_fmadd_ps(x_67, w_7_0, acc_13_0); acc_12_0 = _mm512_fmadd_ps(x_67, w_11_0, acc_12_0); }
        { const __m512 x_68 = _mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + 4 * X_w + X_s); acc_14_0 = _mm512_fmadd_ps(x_68, w_4_0, acc_14_0); acc_13_0 = _mm512_fmadd_ps(x_68, w_8_0, acc_13_0); }
        { const __m512 x_69 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + 4 * X_w + X_s)); acc_14_0 = _mm512_fmadd_ps(x_69, w_5_0, acc_14_0); acc_13_0 = _mm512_fmadd_ps(x_69, w_9_0, acc_13_0); }
        { const __m512 x_70 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + 4 * X_w + X_s)); acc_14_0 = _mm512_fmadd_ps(x_70, w_6_0, acc_14_0); acc_13_0 = _mm512_fmadd_ps(x_70, w_10_0, acc_13_0); }
        { const __m512 x_71 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + 4 * X_w + X_s)); acc_14_0 = _mm512_fmadd_ps(x_71, w_7_0, acc_14_0); acc_13_0 = _mm512_fmadd_ps(x_71, w_11_0, acc_13_0); }
    }
    _mm512_mask_storeu_ps(y, TAIL, acc_0_0);
    _mm512_mask_storeu_ps(y + Y_w, TAIL, acc_1_0);
    _mm512_mask_storeu_ps(y + 2 * Y_w, TAIL, acc_2_0);
    _mm512_mask_storeu_ps(y + 3 * Y_w, TAIL, acc_3_0);
    _mm512_mask_storeu_ps(y + 4 * Y_w, TAIL, acc_4_0);
    _mm512_mask_storeu_ps(y + Y_h, TAIL, acc_5_0);
    _mm512_mask_storeu_ps(y + Y_h + Y_w, TAIL, acc_6_0);
    _mm512_mask_storeu_ps(y + Y_h + 2 * Y_w, TAIL, acc_7_0);
    _mm512_mask_storeu_ps(y + Y_h + 3 * Y_w, TAIL, acc_8_0);
    _mm512_mask_storeu_ps(y + Y_h + 4 * Y_w, TAIL, acc_9_0);
    _mm512_mask_storeu_ps(y + 2 * Y_h, TAIL, acc_10_0);
    _mm512_mask_storeu_ps(y + 2 * Y_h + Y_w, TAIL, acc_11_0);
    _mm512_mask_storeu_ps(y + 2 * Y_h + 2 * Y_w, TAIL, acc_12_0);
    _mm512_mask_storeu_ps(y + 2 * Y_h + 3 * Y_w, TAIL, acc_13_0);
    _mm512_mask_storeu_ps(y + 2 * Y_h + 4 * Y_w, TAIL, acc_14_0);
}

/* 15 rows x 1 vectors, summed over r by 1 to 3; padding along h: rows on the image for each tap of r are 0:1-2 1:0-2 2:0-2; padding along w: rows on the image for each tap of s are 0:0-4 1:0-4 2:0-3. */
static void tile1_3hx5wx16kx4cx3s_hpad1_wpad0(const float *x, const float *w, float *y)
{
    __m512 acc_0_0 = _mm512_setzero_ps();
    __m512 acc_1_0 = _mm512_setzero_ps();
    __m512 acc_2_0 = _mm512_setzero_ps();
    __m512 acc_3_0 = _mm512_setzero_ps();
    __m512 acc_4_0 = _mm512_setzero_ps();
    __m512 acc_5_0 = _mm512_setzero_ps();
    __m512 acc_6_0 = _mm512_setzero_ps();
    __m512 acc_7_0 = _mm512_setzero_ps();
    __m512 acc_8_0 = _mm512_setzero_ps();
    __m512 acc_9_0 = _mm512_setzero_ps();
    __m512 acc_10_0 = _mm512_setzero_ps();
    __m512 acc_11_0 = _mm512_setzero_ps();
    __m512 acc_12_0 = _mm512_setzero_ps();
    __m512 acc_13_0 = _mm512_setzero_ps();
    __m512 acc_14_0 = _mm512_setzero_ps();
    { /* r = 0 */
        const float *x_r = x + 0 * X_r;
        const float *w_r = w + 0 * 12 * PANEL_1;
        const __m512 w_0_0 = _mm512_loadu_ps(w_r);
        const __m512 w_1_0 = _mm512_loadu_ps(w_r + 1 * PANEL_1);
        const __m512 w_2_0 = _mm512_loadu_ps(w_r + 2 * PANEL_1);
        const __m512 w_3_0 = _mm512_loadu_ps(w_r + 3 * PANEL_1);
        const __m512 w_4_0 = _mm512_loadu_ps(w_r + 4 * PANEL_1);
        const __m512 w_5_0 = _mm512_loadu_ps(w_r + 5 * PANEL_1);
        const __m512 w_6_0 = _mm512_loadu_ps(w_r + 6 * PANEL_1);
        const __m512 w_7_0 = _mm512_loadu_ps(w_r + 7 * PANEL_1);
        const __m512 w_8_0 = _mm512_loadu_ps(w_r + 8 * PANEL_1);
        const __m512 w_9_0 = _mm512_loadu_ps(w_r + 9 * PANEL_1);
        const __m512 w_10_0 = _mm512_loadu_ps(w_r + 10 * PANEL_1);
        const __m512 w_11_0 = _mm512_loadu_ps(w_r + 11 * PANEL_1);
        { const __m512 x_0 = _mm512_loadu_ps(x_r + X_h); acc_5_0 = _mm512_fmadd_ps(x_0, w_0_0, acc_5_0); }
        { const __m512 x_1 = exchange_1(_mm512_loadu_ps(x_r + X_h)); acc_5_0 = _mm512_fmadd_ps(x_1, w_1_0, acc_5_0); }
        { const __m512 x_2 = exchange_2(_mm512_loadu_ps(x_r + X_h)); acc_5_0 = _mm512_fmadd_ps(x_2, w_2_0, acc_5_0); }
        { const __m512 x_3 = exchange_3(_mm512_loadu_ps(x_r + X_h)); acc_5_0 = _mm512_fmadd_ps(x_3, w_3_0, acc_5_0); }
        { const __m512 x_4 = _mm512_loadu_ps(x_r + X_h + X_w); acc_6_0 = _mm512_fmadd_ps(x_4, w_0_0, acc_6_0); acc_5_0 = _mm512_fmadd_ps(x_4, w_4_0, acc_5_0); }
        { const __m512 x_5 = exchange_1(_mm512_loadu_ps(x_r + X_h + X_w)); acc_6_0 = _mm512_fmadd_ps(x_5, w_1_0, acc_6_0); acc_5_0 = _mm512_fmadd_ps(x_5, w_5_0, acc_5_0); }
        { const __m512 x_6 = exchange_2(_mm512_loadu_ps(x_r + X_h + X_w)); acc_6_0 = _mm512_fmadd_ps(x_6, w_2_0, acc_6_0); acc_5_0 = _mm512_fmadd_ps(x_6, w_6_0, acc_5_0); }
        { const __m512 x_7 = exchange_3(_mm512_loadu_ps(x_r + X_h + X_w)); acc_6_0 = _mm512_fmadd_ps(x_7, w_3_0, acc_6_0); acc_5_0 = _mm512_fmadd_ps(x_7, w_7_0, acc_5_0); }
        { const __m512 x_8 = _mm512_loadu_ps(x_r + X_h + 2 * X_w); acc_7_0 = _mm512_fmadd_ps(x_8, w_0_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_8, w_4_0, acc_6_0); acc_5_0 = _mm512_fmadd_ps(x_8, w_8_0, acc_5_0); }
        { const __m512 x_9 = exchange_1(_mm512_loadu_ps(x_r + X_h + 2 * X_w)); acc_7_0 = _mm512_fmadd_ps(x_9, w_1_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_9, w_5_0, acc_6_0); acc_5_0 = _mm512_fmadd_ps(x_9, w_9_0, acc_5_0); }
        { const __m512 x_10 = exchange_2(_mm512_loadu_ps(x_r + X_h + 2 * X_w)); acc_7_0 = _mm512_fmadd_ps(x_10, w_2_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_10, w_6_0, acc_6_0); acc_5_0 = _mm512_fmadd_ps(x_10, w_10_0, acc_5_0); }
        { const __m512 x_11 = exchange_3(_mm512_loadu_ps(x_r + X_h + 2 * X_w)); acc_7_0 = _mm512_fmadd_ps(x_11, w_3_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_11, w_7_0, acc_6_0); acc_5_0 = _mm512_fmadd_ps(x_11, w_11_0, acc_5_0); }
        { const __m512 x_12 = _mm512_loadu_ps(x_r + X_h + 3 * X_w); acc_8_0 = _mm512_fmadd_ps(x_12, w_0_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_12, w_4_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_12, w_8_0, acc_6_0); }
        { const __m512 x_13 = exchange_1(_mm512_loadu_ps(x_r + X_h + 3 * X_w)); acc_8_0 = _mm512_fmadd_ps(x_13, w_1_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_13, w_5_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_13, w_9_0, acc_6_0); }
        { const __m512 x_14 = exchange_2(_mm512_loadu_ps(x_r + X_h + 3 * X_w)); acc_8_0 = _mm512_fmadd_ps(x_14, w_2_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_14, w_6_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_14, w_10_0, acc_6_0); }
        { const __m512 x_15 = exchange_3(_mm512_loadu_ps(x_r + X_h + 3 * X_w)); acc_8_0 = _mm512_fmadd_ps(x_15, w_3_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_15, w_7_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_15, w_11_0, acc_6_0); }
        { const __m512 x_16 = _mm512_loadu_ps(x_r + X_h + 4 * X_w); acc_9_0 = _mm512_fmadd_ps(x_16, w_0_0, acc_9_0); acc_8_0 = _mm512_fmadd_ps(x_16, w_4_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_16, w_8_0, acc_7_0); }
        { const __m512 x_17 = exchange_1(_mm512_loadu_ps(x_r + X_h + 4 * X_w)); acc_9_0 = _mm512_fmadd_ps(x_17, w_1_0, acc_9_0); acc_8_0 = _mm512_fmadd_ps(x_17, w_5_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_17, w_9_0, acc_7_0); }
        { const __m512 x_18 = exchange_2(_mm512_loadu_ps(x_r + X_h + 4 * X_w)); acc_9_0 = _mm512_fmadd_ps(x_18, w_2_0, acc_9_0); acc_8_0 = _mm512_fmadd_ps(x_18, w_6_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_18, w_10_0, acc_7_0); }
        { const __m512 x_19 = exchange_3(_mm512_loadu_ps(x_r + X_h + 4 * X_w)); acc_9_0 = _mm512_fmadd_ps(x_19, w_3_0, acc_9_0); acc_8_0 = _mm512_fmadd_ps(x_19, w_7_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_19, w_11_0, acc_7_0); }
        { const __m512 x_20 = _mm512_loadu_ps(x_r + X_h + 4 * X_w + X_s); acc_9_0 = _mm512_fmadd_ps(x_20, w_4_0, acc_9_0); acc_8_0 = _mm512_fmadd_ps(x_20, w_8_0, acc_8_0); }
        { const __m512 x_21 = exchange_1(_mm512_loadu_ps(x_r + X_h + 4 * X_w + X_s)); acc_9_0 = _mm512_fmadd_ps(x_21, w_5_0, acc_9_0); acc_8_0 = _mm512_fmadd_ps(x_21, w_9_0, acc_8_0); }
        { const __m512 x_22 = exchange_2(_mm512_loadu_ps(x_r + X_h + 4 * X_w + X_s)); acc_9_0 = _mm512_fmadd_ps(x_22, w_6_0, acc_9_0); acc_8_0 = _mm512_fmadd_ps(x_22, w_10_0, acc_8_0); }
        { const __m512 x_23 = exchange_3(_mm512_loadu_ps(x_r + X_h + 4 * X_w + X_s)); acc_9_0 = _mm512_fmadd_ps(x_23, w_7_0, acc_9_0); acc_8_0 = _mm512_fmadd_ps(x_23, w_11_0, acc_8_0); }
        { const __m512 x_24 = _mm512_loadu_ps(x_r + 2 * X_h); acc_10_0 = _mm512_fmadd_ps(x_24, w_0_0, acc_10_0); }
        { const __m512 x_25 = exchange_1(_mm512_loadu_ps(x_r + 2 * X_h)); acc_10_0 = _mm512_fmadd_ps(x_25, w_1_0, acc_10_0); }
        { const __m512 x_26 = exchange_2(_mm512_loadu_ps(x_r + 2 * X_h)); acc_10_0 = _mm512_fmadd_ps(x_26, w_2_0, acc_10_0); }
        { const __m512 x_27 = exchange_3(_mm512_loadu_ps(x_r + 2 * X_h)); acc_10_0 = _mm512_fmadd_ps(x_27, w_3_0, acc_10_0); }
        { const __m512 x_28 = _mm512_loadu_ps(x_r + 2 * X_h + X_w); acc_11_0 = _mm512_fmadd_ps(x_28, w_0_0, acc_11_0); acc_10_0 = _mm512_fmadd_ps(x_28, w_4_0, acc_10_0); }
        { const __m512 x_29 = exchange_1(_mm512_loadu_ps(x_r + 2 * X_h + X_w)); acc_11_0 = _mm512_fmadd_ps(x_29, w_1_0, acc_11_0); acc_10_0 = _mm512_fmadd_ps(x_29, w_5_0, acc_10_0); }
        { const __m512 x_30 = exchange_2(_mm512_loadu_ps(x_r + 2 * X_h + X_w)); acc_11_0 = _mm512_fmadd_ps(x_30, w_2_0, acc_11_0); acc_10_0 = _mm512_fmadd_ps(x_30, w_6_0, acc_10_0); }
        { const __m512 x_31 = exchange_3(_mm512_loadu_ps(x_r + 2 * X_h + X_w)); acc_11_0 = _mm512_fmadd_ps(x_31, w_3_0, acc_11_0); acc_10_0 = _mm512_fmadd_ps(x_31, w_7_0, acc_10_0); }
        { const __m512 x_32 = _mm512_loadu_ps(x_r + 2 * X_h + 2 * X_w); acc_12_0 = _mm512_fmadd_ps(x_32, w_0_0, acc_12_0); acc_11_0 = _mm512_fmadd_ps(x_32, w_4_0, acc_11_0); acc_10_0 = _mm512_fmadd_ps(x_32, w_8_0, acc_10_0); }
        { const __m512 x_33 = exchange_1(_mm512_loadu_ps(x_r + 2 * X_h + 2 * X_w)); acc_12_0 = _mm512_fmadd_ps(x_33, w_1_0, acc_12_0); acc_11_0 = _mm512_fmadd_ps(x_33, w_5_0, acc_11_0); acc_10_0 = _mm512_fmadd_ps(x_33, w_9_0, acc_10_0); }
        { const __m512 x_34 = exchange_2(_mm512_loadu_ps(x_r + 2 * X_h + 2 * X_w)); acc_12_0 = _mm512_fmadd_ps(x_34, w_2_0, acc_12_0); acc_11_0 = _mm512_fmadd_ps(x_34, w_6_0, acc_11_0); acc_10_0 = _mm512_fmadd_ps(x_34, w_10_0, acc_10_0); }
        { const __m512 x_35 = exchange_3(_mm512_loadu_ps(x_r + 2 * X_h + 2 * X_w)); acc_12_0 = _mm512_fmadd_ps(x_35, w_3_0, acc_12_0); acc_11_0 = _mm512_fmadd_ps(x_35, w_7_0, acc_11_0); acc_10_0 = _mm512_fmadd_ps(x_35, w_11_0, acc_10_0); }
        { const __m512 x_36 = _mm512_loadu_ps(x_r + 2 * X_h + 3 * X_w); acc_13_0 = _mm512_fmadd_ps(x_36, w_0_0, acc_13_0); acc_12_0 = _mm512_fmadd_ps(x_36, w_4_0, acc_12_0); acc_11_0 = _mm512_fmadd_ps(x_36, w_8_0, acc_11_0); }
        { const __m512 x_37 = exchange_1(_mm512_loadu_ps(x_r + 2 * X_h + 3 * X_w)); acc_13_0 = _mm512_fmadd_ps(x_37, w_1_0, acc_13_0); acc_12_0 = _mm512_fmadd_ps(x_37, w_5_0, acc_12_0); acc_11_0 = _mm512_fmadd_ps(x_37, w_9_0, acc_11_0); }
        { const __m512 x_38 = exchange_2(_mm512_loadu_ps(x_r + 2 * X_h + 3 * X_w)); acc_13_0 = _mm512_fmadd_ps(x_38, w_2_0, acc_13_0); acc_12_0 = _mm512_fmadd_ps(x_38, w_6_0, acc_12_0); acc_11_0 = _mm512_fmadd_ps(x_38, w_10_0, acc_11_0); }
        { const __m512 x_39 = exchange_3(_mm512_loadu_ps(x_r + 2 * X_h + 3 * X_w)); acc_13_0 = _mm512_fmadd_ps(x_39, w_3_0, acc_13_0); acc_12_0 = _mm512_fmadd_ps(x_39, w_7_0, acc_12_0); acc_11_0 = _mm512_fmadd_ps(x_39, w_11_0, acc_11_0); }
        { const __m512 x_40 = _mm512_loadu_ps(x_r + 2 * X_h + 4 * X_w); acc_14_0 = _mm512_fmadd_ps(x_40, w_0_0, acc_14_0); acc_13_0 = _mm512_fmadd_ps(x_40, w_4_0, acc_13_0); acc_12_0 = _mm512_fmadd_ps(x_40, w_8_0, acc_12_0); }
        { const __m512 x_41 = exchange_1(_mm512_loadu_ps(x_r + 2 * X_h + 4 * X_w)); acc_14_0 = _mm512_fmadd_ps(x_41, w_1_0, acc_14_0); acc_13_0 = _mm512_fmadd_ps(x_41, w_5_0, acc_13_0); acc_12_0 = _mm512_fmadd_ps(x_41, w_9_0, acc_12_0); }
        { const __m512 x_42 = exchange_2(_mm512_loadu_ps(x_r + 2 * X_h + 4 * X_w)); acc_14_0 = _mm512_fmadd_ps(x_42, w_2_0, acc_14_0); acc_13_0 = _mm512_fmadd_ps(x_42, w_6_0, acc_13_0); acc_12_0 = _mm512_fmadd_ps(x_42, w_10_0, acc_12_0); }
        { const __m512 x_43 = exchange_3(_mm512_loadu_ps(x_r + 2 * X_h + 4 * X_w)); acc_14_0 = _mm512_fmadd_ps(x_43, w_3_0, acc_14_0); acc_13_0 = _mm512_fmadd_ps(x_43, w_7_0, acc_13_0); acc_12_0 = _mm512_fmadd_ps(x_43, w_11_0, acc_12_0); }
        { const __m512 x_44 = _mm512_loadu_ps(x_r + 2 * X_h + 4 * X_w + X_s); acc_14_0 = _mm512_fmadd_ps(x_44, w_4_0, acc_14_0); acc_13_0 = _mm512_fmadd_ps(x_44, w_8_0, acc_13_0); }
        { const __m512 x_45 = exchange_1(_mm512_loadu_ps(x_r + 2 * X_h + 4 * X_w + X_s)); acc_14_0 = _mm512_fmadd_ps(x_45, w_5_0, acc_14_0); acc_13_0 = _mm512_fmadd_ps(x_45, w_9_0, acc_13_0); }
        { const __m512 x_46 = exchange_2(_mm512_loadu_ps(x_r + 2 * X_h + 4 * X_w + X_s)); acc_14_0 = _mm512_fmadd_ps(x_46, w_6_0, acc_14_0); acc_13_0 = _mm512_fmadd_ps(x_46, w_10_0, acc_13_0); }
        { const __m512 x_47 = exchange_3(_mm512_loadu_ps(x_r + 2 * X_h + 4 * X_w + X_s)); acc_14_0 = _mm512_fmadd_ps(x_47, w_7_0, acc_14_0); acc_13_0 = _mm512_fmadd_ps(x_47, w_11_0, acc_13_0); }
    }
    for (long r = 1; r < 3; ++r) {
        const float *x_r = x + r * X_r;
        const float *w_r = w + r * 12 * PANEL_1;
        const __m512 w_0_0 = _mm512_loadu_ps(w_r);
        const __m512 w_1_0 = _mm512_loadu_ps(w_r + 1 * PANEL_1);
        const __m512 w_2_0 = _mm512_loadu_ps(w_r + 2 * PANEL_1);
        const __m512 w_3_0 = _mm512_loadu_ps(w_r + 3 * PANEL_1);
        const __m512 w_4_0 = _mm512_loadu_ps(w_r + 4 * PANEL_1);
        const __m512 w_5_0 = _mm512_loadu_ps(w_r + 5 * PANEL_1);
        const __m512 w_6_0 = _mm512_loadu_ps(w_r + 6 * PANEL_1);
        const __m512 w_7_0 = _mm512_loadu_ps(w_r + 7 * PANEL_1);
        const __m512 w_8_0 = _mm512_loadu_ps(w_r + 8 * PANEL_1);
        const __m512 w_9_0 = _mm512_loadu_ps(w_r + 9 * PANEL_1);
        const __m512 w_10_0 = _mm512_loadu_ps(w_r + 10 * PANEL_1);
        const __m512 w_11_0 = _mm512_loadu_ps(w_r + 11 * PANEL_1);
        { const __m512 x_0 = _mm512_loadu_ps(x_r); acc_0_0 = _mm512_fmadd_ps(x_0, w_0_0, acc_0_0); }
        { const __m512 x_1 = exchange_1(_mm512_loadu_ps(x_r)); acc_0_0 = _mm512_fmadd_ps(x_1, w_1_0, acc_0_0); }
        { const __m512 x_2 = exchange_2(_mm512_loadu_ps(x_r)); acc_0_0 = _mm512_fmadd_ps(x_2, w_2_0, acc_0_0); }
        { const __m512 x_3 = exchange_3(_mm512_loadu_ps(x_r)); acc_0_0 = _mm512_fmadd_ps(x_3, w_3_0, acc_0_0); }
        { const __m512 x_4 = _mm512_loadu_ps(x_r + X_w); acc_1_0 = _mm512_fmadd_ps(x_4, w_0_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_4, w_4_0, acc_0_0); }
        { const __m512 x_5 = exchange_1(_mm512_loadu_ps(x_r + X_w)); acc_1_0 = _mm512_fmadd_ps(x_5, w_1_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_5, w_5_0, acc_0_0); }
        { const __m512 x_6 = exchange_2(_mm512_loadu_ps(x_r + X_w)); acc_1_0 = _mm512_fmadd_ps(x_6, w_2_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_6, w_6_0, acc_0_0); }
        { const __m512 x_7 = exchange_3(_mm512_loadu_ps(x_r + X_w)); acc_1_0 = _mm512_fmadd_ps(x_7, w_3_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_7, w_7_0, acc_0_0); }
        { const __m512 x_8 = _mm512_loadu_ps(x_r + 2 * X_w); acc_2_0 = _mm512_fmadd_ps(x_8, w_0_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_8, w_4_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_8, w_8_0, acc_0_0); }
        { const __m512 x_9 = exchange_1(_mm512_loadu_ps(x_r + 2 * X_w)); acc_2_0 = _mm512_fmadd_ps(x_9, w_1_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_9, w_5_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_9, w_9_0, acc_0_0); }
        { const __m512 x_10 = exchange_2(_mm512_loadu_ps(x_r + 2 * X_w)); acc_2_0 = _mm512_fmadd_ps(x_10, w_2_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_10, w_6_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_10, w_10_0, acc_0_0); }
        { const __m512 x_11 = exchange_3(_mm512_loadu_ps(x_r + 2 * X_w)); acc_2_0 = _mm512_fmadd_ps(x_11, w_3_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_11, w_7_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_11, w_11_0, acc_0_0); }
        { const __m512 x_12 = _mm512_loadu_ps(x_r + 3 * X_w); acc_3_0 = _mm512_fmadd_ps(x_12, w_0_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_12, w_4_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_12, w_8_0, acc_1_0); }
        { const __m512 x_13 = exchange_1(_mm512_loadu_ps(x_r + 3 * X_w)); acc_3_0 = _mm512_fmadd_ps(x_13, w_1_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_13, w_5_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_13, w_9_0, acc_1_0); }
        { const __m512 x_14 = exchange_2(_mm512_loadu_ps(x_r + 3 * X_w)); acc_3_0 = _mm512_fmadd_ps(x_14, w_2_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_14, w_6_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_14, w_10_0, acc_1_0); }
        { const __m512 x_15 = exchange_3(_mm512_loadu_ps(x_r + 3 * X_w)); acc_3_0 = _mm512_fmadd_ps(x_15, w_3_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_15, w_7_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_15, w_11_0, acc_1_0); }
        { const __m512 x_16 = _mm512_loadu_ps(x_r + 4 * X_w); acc_4_0 = _mm512_fmadd_ps(x_16, w_0_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_16, w_4_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_16, w_8_0, acc_2_0); }
        { const __m512 x_17 = exchange_1(_mm512_loadu_ps(x_r + 4 * X_w)); acc_4_0 = _mm512_fmadd_ps(x_17, w_1_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_17, w_5_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_17, w_9_0, acc_2_0); }
        { const __m512 x_18 = exchange_2(_mm512_loadu_ps(x_r + 4 * X_w)); acc_4_0 = _mm512_fmadd_ps(x_18, w_2_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_18, w_6_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_18, w_10_0, acc_2_0); }
        { const __m512 x_19 = exchange_3(_mm512_loadu_ps(x_r + 4 * X_w)); acc_4_0 = _mm512_fmadd_ps(x_19, w_3_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_19, w_7_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_19, w_11_0, acc_2_0); }
        { const __m512 x_20 = _mm512_loadu_ps(x_r + 4 * X_w + X_s); acc_4_0 = _mm512_fmadd_ps(x_20, w_4_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_20, w_8_0, acc_3_0); }
        { const __m512 x_21 = exchange_1(_mm512_loadu_ps(x_r + 4 * X_w + X_s)); acc_4_0 = _mm512_fmadd_ps(x_21, w_5_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_21, w_9_0, acc_3_0); }
        { const __m512 x_22 = exchange_2(_mm512_loadu_ps(x_r + 4 * X_w + X_s)); acc_4_0 = _mm512_fmadd_ps(x_22, w_6_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_22, w_10_0, acc_3_0); }
        { const __m512 x_23 = exchange_3(_mm512_loadu_ps(x_r + 4 * X_w + X_s)); acc_4_0 = _mm512_fmadd_ps(x_23, w_7_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_23, w_11_0, acc_3_0); }
        { const __m512 x_24 = _mm512_loadu_ps(x_r + X_h); acc_5_0 = _mm512_fmadd_ps(x_24, w_0_0, acc_5_0); }
        { const __m512 x_25 = exchange_1(_mm512_loadu_ps(x_r + X_h)); acc_5_0 = _mm512_fmadd_ps(x_25, w_1_0, acc_5_0); }
        { const __m512 x_26 = exchange_2(_mm512_loadu_ps(x_r + X_h)); acc_5_0 = _mm512_fmadd_ps(x_26, w_2_0, acc_5_0); }
        { const __m512 x_27 = exchange_3(_mm512_loadu_ps(x_r + X_h)); acc_5_0 = _mm512_fmadd_ps(x_27, w_3_0, acc_5_0); }
        { const __m512 x_28 = _mm512_loadu_ps(x_r + X_h + X_w); acc_6_0 = _mm512_fmadd_ps(x_28, w_0_0, acc_6_0); acc_5_0 = _mm512_fmadd_ps(x_28, w_4_0, acc_5_0); }
        { const __m512 x_29 = exchange_1(_mm512_loadu_ps(x_r + X_h + X_w)); acc_6_0 = _mm512_fmadd_ps(x_29, w_1_0, acc_6_0); acc_5_0 = _mm512_fmadd_ps(x_29, w_5_0, acc_5_0); }
        { const __m512 x_30 = exchange_2(_mm512_loadu_ps(x_r + X_h + X_w)); acc_6_0 = _mm512_fmadd_ps(x_30, w_2_0, acc_6_0); acc_5_0 = _mm512_fmadd_ps(x_30, w_6_0, acc_5_0); }
        { const __m512 x_31 = exchange_3(_mm512_loadu_ps(x_r + X_h + X_w)); acc_6_0 = _mm512_fmadd_ps(x_31, w_3_0, acc_6_0); acc_5_0 = _mm512_fmadd_ps(x_31, w_7_0, acc_5_0); }
        { const __m512 x_32 = _mm512_loadu_ps(x_r + X_h + 2 * X_w); acc_7_0 = _mm512_fmadd_ps(x_32, w_0_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_32, w_4_0, acc_6_0); acc_5_0 = _mm512_fmadd_ps(x_32, w_8_0, acc_5_0); }
        { const __m512 x_33 = exchange_1(_mm512_loadu_ps(x_r + X_h + 2 * X_w)); acc_7_0 = _mm512_fmadd_ps(x_33, w_1_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_33, w_5_0, acc_6_0); acc_5_0 = _mm512_fmadd_ps(x_33, w_9_0, acc_5_0); }
        { const __m512 x_34 = exchange_2(_mm512_loadu_ps(x_r + X_h + 2 * X_w)); acc_7_0 = _mm512_fmadd_ps(x_34, w_2_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_34, w_6_0, acc_6_0); acc_5_0 = _mm512_fmadd_ps(x_34, w_10_0, acc_5_0); }
        { const __m512 x_35 = exchange_3(_mm512_loadu_ps(x_r + X_h + 2 * X_w)); acc_7_0 = _mm512_fmadd_ps(x_35, w_3_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_35, w_7_0, acc_6_0); acc_5_0 = _mm512_fmadd_ps(x_35, w_11_0, acc_5_0); }
        { const __m512 x_36 = _mm512_loadu_ps(x_r + X_h + 3 * X_w); acc_8_0 = _mm512_fmadd_ps(x_36, w_0_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_36, w_4_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_36, w_8_0, acc_6_0); }
        { const __m512 x_37 = exchange_1(_mm512_loadu_ps(x_r + X_h + 3 * X_w)); acc_8_0 = _mm512_fmadd_ps(x_37, w_1_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_37, w_5_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_37, w_9_0, acc_6_0); }
        { const __m512 x_38 = exchange_2(_mm512_loadu_ps(x_r + X_h + 3 * X_w)); acc_8_0 = _mm512_fmadd_ps(x_38, w_2_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_38, w_6_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_38, w_10_0, acc_6_0); }
        { const __m512 x_39 = exchange_3(_mm512_loadu_ps(x_r + X_h + 3 * X_w)); acc_8_0 = _mm512_fmadd_ps(x_39, w_3_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_39, w_7_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_39, w_11_0, acc_6_0); }
        { const __m512 x_40 = _mm512_loadu_ps(x_r + X_h + 4 * X_w); acc_9_0 = _mm512_fmadd_ps(x_40, w_0_0, acc_9_0); acc_8_0 = _mm512_fmadd_ps(x_40, w_4_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_40, w_8_0, acc_7_0); }
        { const __m512 x_41 = exchange_1(_mm512_loadu_ps(x_r + X_h + 4 * X_w)); acc_9_0 = _mm512_fmadd_ps(x_41, w_1_0, acc_9_0); acc_8_0 = _mm512_fmadd_ps(x_41, w_5_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_41, w_9_0, acc_7_0); }
        { const __m512 x_42 = exchange_2(_mm512_loadu_ps(x_r + X_h + 4 * X_w)); acc_9_0 = _mm512_fmadd_ps(x_42, w_2_0, acc_9_0); acc_8_0 = _mm512_fmadd_ps(x_42, w_6_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_42, w_10_0, acc_7_0); }
        { const __m512 x_43 = exchange_3(_mm512_loadu_ps(x_r + X_h + 4 * X_w)); acc_9_0 = _mm512_fmadd_ps(x_43, w_3_0, acc_9_0); acc_8_0 = _mm512_fmadd_ps(x_43, w_7_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_43, w_11_0, acc_7_0); }
        { const __m512 x_44 = _mm512_loadu_ps(x_r + X_h + 4 * X_w + X_s); acc_9_0 = _mm512_fmadd_ps(x_44, w_4_0, acc_9_0); acc_8_0 = _mm512_fmadd_ps(x_44, w_8_0, acc_8_0); }
        { const __m512 x_45 = exchange_1(_mm512_loadu_ps(x_r + X_h + 4 * X_w + X_s)); acc_9_0 = _mm512_fmadd_ps(x_45, w_5_0, acc_9_0); acc_8_0 = _mm512_fmadd_ps(x_45, w_9_0, acc_8_0); }
        { const __m512 x_46 = exchange_2(_mm512_loadu_ps(x_r + X_h + 4 * X_w + X_s)); acc_9_0 = _mm512_fmadd_ps(x_46, w_6_0, acc_9_0); acc_8_0 = _mm512_fmadd_ps(x_46, w_10_0, acc_8_0); }
        { const __m512 x_47 = exchange_3(_mm512_loadu_ps(x_r + X_h + 4 * X_w + X_s)); acc_9_0 = _mm512_fmadd_ps(x_47, w_7_0, acc_9_0); acc_8_0 = _mm512_fmadd_ps(x_47, w_11_0, acc_8_0); }
        { const __m512 x_48 = _mm512_loadu_ps(x_r + 2 * X_h); acc_10_0 = _mm512_fmadd_ps(x_48, w_0_0, acc_10_0); }
        { const __m512 x_49 = exchange_1(_mm512_loadu_ps(x_r + 2 * X_h)); acc_10_0 = _mm512_fmadd_ps(x_49, w_1_0, acc_10_0); }
        { const __m512 x_50 = exchange_2(_mm512_loadu_ps(x_r + 2 * X_h)); acc_10_0 = _mm512_fmadd_ps(x_50, w_2_0, acc_10_0); }
        { const __m512 x_51 = exchange_3(_mm512_loadu_ps(x_r + 2 * X_h)); acc_10_0 = _mm512_fmadd_ps(x_51, w_3_0, acc_10_0); }
        { const __m512 x_52 = _mm512_loadu_ps(x_r + 2 * X_h + X_w); acc_11_0 = _mm512_fmadd_ps(x_52, w_0_0, acc_11_0); acc_10_0 = _mm512_fmadd_ps(x_52, w_4_0, acc_10_0); }
        { const __m512 x_53 = exchange_1(_mm512_loadu_ps(x_r + 2 * X_h + X_w)); acc_11_0 = _mm512_fmadd_ps(x_53, w_1_0, acc_11_0); acc_10_0 = _mm512_fmadd_ps(x_53, w_5_0, acc_10_0); }
        { const __m512 x_54 = exchange_2(_mm512_loadu_ps(x_r + 2 * X_h + X_w)); acc_11_0 = _mm512_fmadd_ps(x_54, w_2_0, acc_11_0); acc_10_0 = _mm512_fmadd_ps(x_54, w_6_0, acc_10_0); }
        { const __m512 x_55 = exchange_3(_mm512_loadu_ps(x_r + 2 * X_h + X_w)); acc_11_0 = _mm512_fmadd_ps(x_55, w_3_0, acc_11_0); acc_10_0 = _mm512_fmadd_ps(x_55, w_7_0, acc_10_0); }
        { const __m512 x_56 = _mm512_loadu_ps(x_r + 2 * X_h + 2 * X_w); acc_12_0 = _mm512_fmadd_ps(x_56, w_0_0, acc_12_0); acc_11_0 = _mm512_fmadd_ps(x_56, w_4_0, acc_11_0); acc_10_0 = _mm512_fmadd_ps(x_56, w_8_0, acc_10_0); }
        { const __m512 x_57 = exchange_1(_mm512_loadu_ps(x_r + 2 * X_h + 2 * X_w)); acc_12_0 = _mm512_fmadd_ps(x_57, w_1_0, acc_12_0); acc_11_0 = _mm512_fmadd_ps(x_57, w_5_0, acc_11_0); acc_10_0 = _mm512_fmadd_ps(x_57, w_9_0, acc_10_0); }
        { const __m512 x_58 = exchange_2(_mm512_loadu_ps(x_r + 2 * X_h + 2 * X_w)); acc_12_0 = _mm512_fmadd_ps(x_58, w_2_0, acc_12_0); acc_11_0 = _mm512_fmadd_ps(x_58, w_6_0, acc_11_0); acc_10_0 = _mm512_fmadd_ps(x_58, w_10_0, acc_10_0); }
        { const __m512 x_59 = exchange_3(_mm512_loadu_ps(x_r + 2 * X_h + 2 * X_w)); acc_12_0 = _mm512_fmadd_ps(x_59, w_3_0, acc_12_0); acc_11_0 = _mm512_fmadd_ps(x_59, w_7_0, acc_11_0); acc_10_0 = _mm512_fmadd_ps(x_59, w_11_0, acc_10_0); }
        { const __m512 x_60 = _mm512_loadu_ps(x_r + 2 * X_h + 3 * X_w); acc_13_0 = _mm512_fmadd_ps(x_60, w_0_0, acc_13_0); acc_12_0 = _mm512_fmadd_ps(x_60, w_4_0, acc_12_0); acc_11_0 = _mm512_fmadd_ps(x_60, w_8_0, acc_11_0); }
        { const __m512 x_61 = exchange_1(_mm512_loadu_ps(x_r + 2 * X_h + 3 * X_w)); acc_13_0 = _mm512_fmadd_ps(x_61, w_1_0, acc_13_0); acc_12_0 = _mm512_fmadd_ps(x_61, w_5_0, acc_12_0); acc_11_0 = _mm512_fmadd_ps(x_61, w_9_0, acc_11_0); }
        { const __m512 x_62 = exchange_2(_mm512_loadu_ps(x_r + 2 * X_h + 3 * X_w)); acc_13_0 = _mm512_fmadd_ps(x_62, w_2_0, acc_13_0); acc_12_0 = _mm512_fmadd_ps(x_62, w_6_0, acc_12_0); acc_11_0 = _mm512_fmadd_ps(x_62, w_10_0, acc_11_0); }
        { const __m512 x_63 = exchange_3(_mm512_loadu_ps(x_r + 2 * X_h + 3 * X_w)); acc_13_0 = _mm512_fmadd_ps(x_63, w_3_0, acc_13_0); acc_12_0 = _mm512_fmadd_ps(x_63, w_7_0, acc_12_0); acc_11_0 = _mm512_fmadd_ps(x_63, w_11_0, acc_11_0); }
        { const __m512 x_64 = _mm512_loadu_ps(x_r + 2 * X_h + 4 * X_w); acc_14_0 = _mm512_fmadd_ps(x_64, w_0_0, acc_14_0); acc_13_0 = _mm512_fmadd_ps(x_64, w_4_0, acc_13_0); acc_12_0 = _mm512_fmadd_ps(x_64, w_8_0, acc_12_0); }
        { const __m512 x_65 = exchange_1(_mm512_loadu_ps(x_r + 2 * X_h + 4 * X_w)); acc_14_0 = _mm512_fmadd_ps(x_65, w_1_0, acc_14_0); acc_13_0 = _mm512_fmadd_ps(x_65, w_5_0, acc_13_0); acc_12_0 = _mm512_fmadd_ps(x_65, w_9_0, acc_12_0); }
        { const __m512 x_66 = exchange_2(_mm512_loadu_ps(x_r + 2 * X_h + 4 * X_w)); acc_14_0 = _mm512_fmadd_ps(x_66, w_2_0, acc_14_0); acc_13_0 = _mm512_fmadd_ps(x_66, w_6_0, acc_13_0); acc_12_0 = _mm512_fmadd_ps(x_66, w_10_0, acc_12_0); }
        { const __m512 x_67 = exchange_3(_mm512_loadu_ps(x_r + 2 * X_h + 4 * X_w)); acc_14_0 = _mm512_fmadd_ps(x_67, w_3_0, acc_14_0); acc_13_0 = _mm512_fmadd_ps(x_67, w_7_0, acc_13_0); acc_12_0 = _mm512_fmadd_ps(x_67, w_11_0, acc_12_0); }
        { const __m512 x_68 = _mm512_loadu_ps(x_r + 2 * X_h + 4 * X_w + X_s); acc_14_0 = _mm512_fmadd_ps(x_68, w_4_0, acc_14_0); acc_13_0 = _mm512_fmadd_ps(x_68, w_8_0, acc_13_0); }
        { const __m512 x_69 = exchange_1(_mm512_loadu_ps(x_r + 2 * X_h + 4 * X_w + X_s)); acc_14_0 = _mm512_fmadd_ps(x_69, w_5_0, acc_14_0); acc_13_0 = _mm512_fmadd_ps(x_69, w_9_0, acc_13_0); }
        { const __m512 x_70 = exchange_2(_mm512_loadu_ps(x_r + 2 * X_h + 4 * X_w + X_s)); acc_14_0 = _mm512_fmadd_ps(x_70, w_6_0, acc_14_0); acc_13_0 = _mm512_fmadd_ps(x_70, w_10_0, acc_13_0); }
        { const __m512 x_71 = exchange_3(_mm512_loadu_ps(x_r + 2 * X_h + 4 * X_w + X_s)); acc_14_0 = _mm512_fmadd_ps(x_71, w_7_0, acc_14_0); acc_13_0 = _mm512_fmadd_ps(x_71, w_11_0, acc_13_0); }
    }
    _mm512_storeu_ps(y, acc_0_0);
    _mm512_storeu_ps(y + Y_w, acc_1_0);
    _mm512_storeu_ps(y + 2 * Y_w, acc_2_0);
    _mm512_storeu_ps(y + 3 * Y_w, acc_3_0);
    _mm512_storeu_ps(y + 4 * Y_w, acc_4_0);
    _mm512_storeu_ps(y + Y_h, acc_5_0);
    _mm512_storeu_ps(y + Y_h + Y_w, acc_6_0);
    _mm512_storeu_ps(y + Y_h + 2 * Y_w, acc_7_0);
    _mm512_storeu_ps(y + Y_h + 3 * Y_w, acc_8_0);
    _mm512_storeu_ps(y + Y_h + 4 * Y_w, acc_9_0);
    _mm512_storeu_ps(y + 2 * Y_h, acc_10_0);
    _mm512_storeu_ps(y + 2 * Y_h + Y_w, acc_11_0);
    _mm512_storeu_ps(y + 2 * Y_h + 2 * Y_w, acc_12_0);
    _mm512_storeu_ps(y + 2 * Y_h + 3 * Y_w, acc_13_0);
    _mm512_storeu_ps(y + 2 * Y_h + 4 * Y_w, acc_14_0);
}

/* 15 rows x 1 vectors, summed over r by 1 to 3; padding along h: rows on the image for each tap of r are 0:1-2 1:0-2 2:0-2; padding along w: rows on the image for each tap of s are 0:0-4 1:0-4 2:0-3; the last vector is masked. */
static void tile1_3hx5wx16kx4cx3s_hpad1_wpad0_tail(const float *x, const float *w, float *y)
{
    __m512 acc_0_0 = _mm512_setzero_ps();
    __m512 acc_1_0 = _mm512_setzero_ps();
    __m512 acc_2_0 = _mm512_setzero_ps();
    __m512 acc_3_0 = _mm512_setzero_ps();
    __m512 acc_4_0 = _mm512_setzero_ps();
    __m512 acc_5_0 = _mm512_setzero_ps();
    __m512 acc_6_0 = _mm512_setzero_ps();
    __m512 acc_7_0 = _mm512_setzero_ps();
    __m512 acc_8_0 = _mm512_setzero_ps();
    __m512 acc_9_0 = _mm512_setzero_ps();
    __m512 acc_10_0 = _mm512_setzero_ps();
    __m512 acc_11_0 = _mm512_setzero_ps();
    __m512 acc_12_0 = _mm512_setzero_ps();
    __m512 acc_13_0 = _mm512_setzero_ps();
    __m512 acc_14_0 = _mm512_setzero_ps();
    { /* r = 0 */
        const float *x_r = x + 0 * X_r;
        const float *w_r = w + 0 * 12 * PANEL_1;
        const __m512 w_0_0 = _mm512_loadu_ps(w_r);
        const __m512 w_1_0 = _mm512_loadu_ps(w_r + 1 * PANEL_1);
        const __m512 w_2_0 = _mm512_loadu_ps(w_r + 2 * PANEL_1);
        const __m512 w_3_0 = _mm512_loadu_ps(w_r + 3 * PANEL_1);
        const __m512 w_4_0 = _mm512_loadu_ps(w_r + 4 * PANEL_1);
        const __m512 w_5_0 = _mm512_loadu_ps(w_r + 5 * PANEL_1);
        const __m512 w_6_0 = _mm512_loadu_ps(w_r + 6 * PANEL_1);
        const __m512 w_7_0 = _mm512_loadu_ps(w_r + 7 * PANEL_1);
        const __m512 w_8_0 = _mm512_loadu_ps(w_r + 8 * PANEL_1);
        const __m512 w_9_0 = _mm512_loadu_ps(w_r + 9 * PANEL_1);
        const __m512 w_10_0 = _mm512_loadu_ps(w_r + 10 * PANEL_1);
        const __m512 w_11_0 = _mm512_loadu_ps(w_r + 11 * PANEL_1);
        { const __m512 x_0 = _mm512_maskz_loadu_ps(TAIL, x_r + X_h); acc_5_0 = _mm512_fmadd_ps(x_0, w_0_0, acc_5_0); }
        { const __m512 x_1 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + X_h)); acc_5_0 = _mm512_fmadd_ps(x_1, w_1_0, acc_5_0); }
        { const __m512 x_2 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + X_h)); acc_5_0 = _mm512_fmadd_ps(x_2, w_2_0, acc_5_0); }
        { const __m512 x_3 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + X_h)); acc_5_0 = _mm512_fmadd_ps(x_3, w_3_0, acc_5_0); }
        { const __m512 x_4 = _mm512_maskz_loadu_ps(TAIL, x_r + X_h + X_w); acc_6_0 = _mm512_fmadd_ps(x_4, w_0_0, acc_6_0); acc_5_0 = _mm512_fmadd_ps(x_4, w_4_0, acc_5_0); }
        { const __m512 x_5 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + X_w)); acc_6_0 = _mm512_fmadd_ps(x_5, w_1_0, acc_6_0); acc_5_0 = _mm512_fmadd_ps(x_5, w_5_0, acc_5_0); }
        { const __m512 x_6 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + X_w)); acc_6_0 = _mm512_fmadd_ps(x_6, w_2_0, acc_6_0); acc_5_0 = _mm512_fmadd_ps(x_6, w_6_0, acc_5_0); }
        { const __m512 x_7 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + X_w)); acc_6_0 = _mm512_fmadd_ps(x_7, w_3_0, acc_6_0); acc_5_0 = _mm512_fmadd_ps(x_7, w_7_0, acc_5_0); }
        { const __m512 x_8 = _mm512_maskz_loadu_ps(TAIL, x_r + X_h + 2 * X_w); acc_7_0 = _mm512_fmadd_ps(x_8, w_0_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_8, w_4_0, acc_6_0); acc_5_0 = _mm512_fmadd_ps(x_8, w_8_0, acc_5_0); }
        { const __m512 x_9 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + 2 * X_w)); acc_7_0 = _mm512_fmadd_ps(x_9, w_1_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_9, w_5_0, acc_6_0); acc_5_0 = _mm512_fmadd_ps(x_9, w_9_0, acc_5_0); }
        { const __m512 x_10 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + 2 * X_w)); acc_7_0 = _mm512_fmadd_ps(x_10, w_2_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_10, w_6_0, acc_6_0); acc_5_0 = _mm512_fmadd_ps(x_10, w_10_0, acc_5_0); }
        { const __m512 x_11 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + 2 * X_w)); acc_7_0 = _mm512_fmadd_ps(x_11, w_3_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_11, w_7_0, acc_6_0); acc_5_0 = _mm512_fmadd_ps(x_11, w_11_0, acc_5_0); }
        { const __m512 x_12 = _mm512_maskz_loadu_ps(TAIL, x_r + X_h + 3 * X_w); acc_8_0 = _mm512_fmadd_ps(x_12, w_0_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_12, w_4_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_12, w_8_0, acc_6_0); }
        { const __m512 x_13 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + 3 * X_w)); acc_8_0 = _mm512_fmadd_ps(x_13, w_1_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_13, w_5_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_13, w_9_0, acc_6_0); }
        { const __m512 x_14 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + 3 * X_w)); acc_8_0 = _mm512_fmadd_ps(x_14, w_2_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_14, w_6_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_14, w_10_0, acc_6_0); }
        { const __m512 x_15 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + 3 * X_w)); acc_8_0 = _mm512_fmadd_ps(x_15, w_3_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_15, w_7_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_15, w_11_0, acc_6_0); }
        { const __m512 x_16 = _mm512_maskz_loadu_ps(TAIL, x_r + X_h + 4 * X_w); acc_9_0 = _mm512_fmadd_ps(x_16, w_0_0, acc_9_0); acc_8_0 = _mm512_fmadd_ps(x_16, w_4_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_16, w_8_0, acc_7_0); }
        { const __m512 x_17 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + 4 * X_w)); acc_9_0 = _mm512_fmadd_ps(x_17, w_1_0, acc_9_0); acc_8_0 = _mm512_fmadd_ps(x_17, w_5_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_17, w_9_0, acc_7_0); }
        { const __m512 x_18 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + 4 * X_w)); acc_9_0 = _mm512_fmadd_ps(x_18, w_2_0, acc_9_0); acc_8_0 = _mm512_fmadd_ps(x_18, w_6_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_18, w_10_0, acc_7_0); }
        { const __m512 x_19 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + 4 * X_w)); acc_9_0 = _mm512_fmadd_ps(x_19, w_3_0, acc_9_0); acc_8_0 = _mm512_fmadd_ps(x_19, w_7_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_19, w_11_0, acc_7_0); }
        { const __m512 x_20 = _mm512_maskz_loadu_ps(TAIL, x_r + X_h + 4 * X_w + X_s); acc_9_0 = _mm512_fmadd_ps(x_20, w_4_0, acc_9_0); acc_8_0 = _mm512_fmadd_ps(x_20, w_8_0, acc_8_0); }
        { const __m512 x_21 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + 4 * X_w + X_s)); acc_9_0 = _mm512_fmadd_ps(x_21, w_5_0, acc_9_0); acc_8_0 = _mm512_fmadd_ps(x_21, w_9_0, acc_8_0); }
        { const __m512 x_22 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + 4 * X_w + X_s)); acc_9_0 = _mm512_fmadd_ps(x_22, w_6_0, acc_9_0); acc_8_0 = _mm512_fmadd_ps(x_22, w_10_0, acc_8_0); }
        { const __m512 x_23 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + 4 * X_w + X_s)); acc_9_0 = _mm512_fmadd_ps(x_23, w_7_0, acc_9_0); acc_8_0 = _mm512_fmadd_ps(x_23, w_11_0, acc_8_0); }
        { const __m512 x_24 = _mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h); acc_10_0 = _mm512_fmadd_ps(x_24, w_0_0, acc_10_0); }
        { const __m512 x_25 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h)); acc_10_0 = _mm512_fmadd_ps(x_25, w_1_0, acc_10_0); }
        { const __m512 x_26 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h)); acc_10_0 = _mm512_fmadd_ps(x_26, w_2_0, acc_10_0); }
        { const __m512 x_27 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h)); acc_10_0 = _mm512_fmadd_ps(x_27, w_3_0, acc_10_0); }
        { const __m512 x_28 = _mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + X_w); acc_11_0 = _mm512_fmadd_ps(x_28, w_0_0, acc_11_0); acc_10_0 = _mm512_fmadd_ps(x_28, w_4_0, acc_10_0); }
        { const __m512 x_29 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + X_w)); acc_11_0 = _mm512_fmadd_ps(x_29, w_1_0, acc_11_0); acc_10_0 = _mm512_fmadd_ps(x_29, w_5_0, acc_10_0); }
        { const __m512 x_30 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + X_w)); acc_11_0 = _mm512_fmadd_ps(x_30, w_2_0, acc_11_0); acc_10_0 = _mm512_fmadd_ps(x_30, w_6_0, acc_10_0); }
        { const __m512 x_31 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + X_w)); acc_11_0 = _mm512_fmadd_ps(x_31, w_3_0, acc_11_0); acc_10_0 = _mm512_fmadd_ps(x_31, w_7_0, acc_10_0); }
        { const __m512 x_32 = _mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + 2 * X_w); acc_12_0 = _mm512_fmadd_ps(x_32, w_0_0, acc_12_0); acc_11_0 = _mm512_fmadd_ps(x_32, w_4_0, acc_11_0); acc_10_0 = _mm512_fmadd_ps(x_32, w_8_0, acc_10_0); }
        { const __m512 x_33 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + 2 * X_w)); acc_12_0 = _mm512_fmadd_ps(x_33, w_1_0, acc_12_0); acc_11_0 = _mm512_fmadd_ps(x_33, w_5_0, acc_11_0); acc_10_0 = _mm512_fmadd_ps(x_33, w_9_0, acc_10_0); }
        { const __m512 x_34 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + 2 * X_w)); acc_12_0 = _mm512_fmadd_ps(x_34, w_2_0, acc_12_0); acc_11_0 = _mm512_fmadd_ps(x_34, w_6_0, acc_11_0); acc_10_0 = _mm512_fmadd_ps(x_34, w_10_0, acc_10_0); }
        { const __m512 x_35 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + 2 * X_w)); acc_12_0 = _mm512_fmadd_ps(x_35, w_3_0, acc_12_0); acc_11_0 = _mm512_fmadd_ps(x_35, w_7_0, acc_11_0); acc_10_0 = _mm512_fmadd_ps(x_35, w_11_0, acc_10_0); }
        { const __m512 x_36 = _mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + 3 * X_w); acc_13_0 = _mm512_fmadd_ps(x_36, w_0_0, acc_13_0); acc_12_0 = _mm512_fmadd_ps(x_36, w_4_0, acc_12_0); acc_11_0 = _mm512_fmadd_ps(x_36, w_8_0, acc_11_0); }
        { const __m512 x_37 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + 3 * X_w)); acc_13_0 = _mm512_fmadd_ps(x_37, w_1_0, acc_13_0); acc_12_0 = _mm512_fmadd_ps(x_37, w_5_0, acc_12_0); acc_11_0 = _mm512_fmadd_ps(x_37, w_9_0, acc_11_0); }
        { const __m512 x_38 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + 3 * X_w)); acc_13_0 = _mm512_fmadd_ps(x_38, w_2_0, acc_13_0); acc_12_0 = _mm512_fmadd_ps(x_38, w_6_0, acc_12_0); acc_11_0 = _mm512_fmadd_ps(x_38, w_10_0, acc_11_0); }
        { const __m512 x_39 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + 3 * X_w)); acc_13_0 = _mm512_fmadd_ps(x_39, w_3_0, acc_13_0); acc_12_0 = _mm512_fmadd_ps(x_39, w_7_0, acc_12_0); acc_11_0 = _mm512_fmadd_ps(x_39, w_11_0, acc_11_0); }
        { const __m512 x_40 = _mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + 4 * X_w); acc_14_0 = _mm512_fmadd_ps(x_40, w_0_0, acc_14_0); acc_13_0 = _mm512_fmadd_ps(x_40, w_4_0, acc_13_0); acc_12_0 = _mm512_fmadd_ps(x_40, w_8_0, acc_12_0); }
        { const __m512 x_41 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + 4 * X_w)); acc_14_0 = _mm512_fmadd_ps(x_41, w_1_0, acc_14_0); acc_13_0 = _mm512_fmadd_ps(x_41, w_5_0, acc_13_0); acc_12_0 = _mm512_fmadd_ps(x_41, w_9_0, acc_12_0); }
        { const __m512 x_42 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + 4 * X_w)); acc_14_0 = _mm512_fmadd_ps(x_42, w_2_0, acc_14_0); acc_13_0 = _mm512_fmadd_ps(x_42, w_6_0, acc_13_0); acc_12_0 = _mm512_fmadd_ps(x_42, w_10_0, acc_12_0); }
        { const __m512 x_43 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + 4 * X_w)); acc_14_0 = _mm512_fmadd_ps(x_43, w_3_0, acc_14_0); acc_13_0 = _mm512_fmadd_ps(x_43, w_7_0, acc_13_0); acc_12_0 = _mm512_fmadd_ps(x_43, w_11_0, acc_12_0); }
        { const __m512 x_44 = _mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + 4 * X_w + X_s); acc_14_0 = _mm512_fmadd_ps(x_44, w_4_0, acc_14_0); acc_13_0 = _mm512_fmadd_ps(x_44, w_8_0, acc_13_0); }
        { const __m512 x_45 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + 4 * X_w + X_s)); acc_14_0 = _mm512_fmadd_ps(x_45, w_5_0, acc_14_0); acc_13_0 = _mm512_fmadd_ps(x_45, w_9_0, acc_13_0); }
        { const __m512 x_46 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + 4 * X_w + X_s)); acc_14_0 = _mm512_fmadd_ps(x_46, w_6_0, acc_14_0); acc_13_0 = _mm512_fmadd_ps(x_46, w_10_0, acc_13_0); }
        { const __m512 x_47 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + 4 * X_w + X_s)); acc_14_0 = _mm512_fmadd_ps(x_47, w_7_0, acc_14_0); acc_13_0 = _mm512_fmadd_ps(x_47, w_11_0, acc_13_0); }
    }
    for (long r = 1; r < 3; ++r) {
        const float *x_r = x + r * X_r;
        const float *w_r = w + r * 12 * PANEL_1;
        const __m512 w_0_0 = _mm512_loadu_ps(w_r);
        const __m512 w_1_0 = _mm512_loadu_ps(w_r + 1 * PANEL_1);
        const __m512 w_2_0 = _mm512_loadu_ps(w_r + 2 * PANEL_1);
        const __m512 w_3_0 = _mm512_loadu_ps(w_r + 3 * PANEL_1);
        const __m512 w_4_0 = _mm512_loadu_ps(w_r + 4 * PANEL_1);
        const __m512 w_5_0 = _mm512_loadu_ps(w_r + 5 * PANEL_1);
        const __m512 w_6_0 = _mm512_loadu_ps(w_r + 6 * PANEL_1);
        const __m512 w_7_0 = _mm512_loadu_ps(w_r + 7 * PANEL_1);
        const __m512 w_8_0 = _mm512_loadu_ps(w_r + 8 * PANEL_1);
        const __m512 w_9_0 = _mm512_loadu_ps(w_r + 9 * PANEL_1);
        const __m512 w_10_0 = _mm512_loadu_ps(w_r + 10 * PANEL_1);
        const __m512 w_11_0 = _mm512_loadu_ps(w_r + 11 * PANEL_1);
        { const __m512 x_0 = _mm512_maskz_loadu_ps(TAIL, x_r); acc_0_0 = _mm512_fmadd_ps(x_0, w_0_0, acc_0_0); }
        { const __m512 x_1 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r)); acc_0_0 = _mm512_fmadd_ps(x_1, w_1_0, acc_0_0); }
        { const __m512 x_2 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r)); acc_0_0 = _mm512_fmadd_ps(x_2, w_2_0, acc_0_0); }
        { const __m512 x_3 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r)); acc_0_0 = _mm512_fmadd_ps(x_3, w_3_0, acc_0_0); }
        { const __m512 x_4 = _mm512_maskz_loadu_ps(TAIL, x_r + X_w); acc_1_0 = _mm512_fmadd_ps(x_4, w_0_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_4, w_4_0, acc_0_0); }
        { const __m512 x_5 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + X_w)); acc_1_0 = _mm512_fmadd_ps(x_5, w_1_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_5, w_5_0, acc_0_0); }
        { const __m512 x_6 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + X_w)); acc_1_0 = _mm512_fmadd_ps(x_6, w_2_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_6, w_6_0, acc_0_0); }
        { const __m512 x_7 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + X_w)); acc_1_0 = _mm512_fmadd_ps(x_7, w_3_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_7, w_7_0, acc_0_0); }
        { const __m512 x_8 = _mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_w); acc_2_0 = _mm512_fmadd_ps(x_8, w_0_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_8, w_4_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_8, w_8_0, acc_0_0); }
        { const __m512 x_9 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_w)); acc_2_0 = _mm512_fmadd_ps(x_9, w_1_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_9, w_5_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_9, w_9_0, acc_0_0); }
        { const __m512 x_10 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_w)); acc_2_0 = _mm512_fmadd_ps(x_10, w_2_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_10, w_6_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_10, w_10_0, acc_0_0); }
        { const __m512 x_11 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_w)); acc_2_0 = _mm512_fmadd_ps(x_11, w_3_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_11, w_7_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_11, w_11_0, acc_0_0); }
        { const __m512 x_12 = _mm512_maskz_loadu_ps(TAIL, x_r + 3 * X_w); acc_3_0 = _mm512_fmadd_ps(x_12, w_0_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_12, w_4_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_12, w_8_0, acc_1_0); }
        { const __m512 x_13 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + 3 * X_w)); acc_3_0 = _mm512_fmadd_ps(x_13, w_1_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_13, w_5_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_13, w_9_0, acc_1_0); }
        { const __m512 x_14 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + 3 * X_w)); acc_3_0 = _mm512_fmadd_ps(x_14, w_2_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_14, w_6_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_14, w_10_0, acc_1_0); }
        { const __m512 x_15 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + 3 * X_w)); acc_3_0 = _mm512_fmadd_ps(x_15, w_3_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_15, w_7_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_15, w_11_0, acc_1_0); }
        { const __m512 x_16 = _mm512_maskz_loadu_ps(TAIL, x_r + 4 * X_w); acc_4_0 = _mm512_fmadd_ps(x_16, w_0_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_16, w_4_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_16, w_8_0, acc_2_0); }
        { const __m512 x_17 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + 4 * X_w)); acc_4_0 = _mm512_fmadd_ps(x_17, w_1_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_17, w_5_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_17, w_9_0, acc_2_0); }
        { const __m512 x_18 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + 4 * X_w)); acc_4_0 = _mm512_fmadd_ps(x_18, w_2_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_18, w_6_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_18, w_10_0, acc_2_0); }
        { const __m512 x_19 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + 4 * X_w)); acc_4_0 = _mm512_fmadd_ps(x_19, w_3_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_19, w_7_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_19, w_11_0, acc_2_0); }
        { const __m512 x_20 = _mm512_maskz_loadu_ps(TAIL, x_r + 4 * X_w + X_s); acc_4_0 = _mm512_fmadd_ps(x_20, w_4_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_20, w_8_0, acc_3_0); }
        { const __m512 x_21 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + 4 * X_w + X_s)); acc_4_0 = _mm512_fmadd_ps(x_21, w_5_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_21, w_9_0, acc_3_0); }
        { const __m512 x_22 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + 4 * X_w + X_s)); acc_4_0 = _mm512_fmadd_ps(x_22, w_6_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_22, w_10_0, acc_3_0); }
        { const __m512 x_23 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + 4 * X_w + X_s)); acc_4_0 = _mm512_fmadd_ps(x_23, w_7_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_23, w_11_0, acc_3_0); }
        { const __m512 x_24 = _mm512_maskz_loadu_ps(TAIL, x_r + X_h); acc_5_0 = _mm512_fmadd_ps(x_24, w_0_0, acc_5_0); }
        { const __m512 x_25 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + X_h)); acc_5_0 = _mm512_fmadd_ps(x_25, w_1_0, acc_5_0); }
        { const __m512 x_26 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + X_h)); acc_5_0 = _mm512_fmadd_ps(x_26, w_2_0, acc_5_0); }
        { const __m512 x_27 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + X_h)); acc_5_0 = _mm512_fmadd_ps(x_27, w_3_0, acc_5_0); }
        { const __m512 x_28 = _mm512_maskz_loadu_ps(TAIL, x_r + X_h + X_w); acc_6_0 = _mm512_fmadd_ps(x_28, w_0_0, acc_6_0); acc_5_0 = _mm512_fmadd_ps(x_28, w_4_0, acc_5_0); }
        { const __m512 x_29 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + X_w)); acc_6_0 = _mm512_fmadd_ps(x_29, w_1_0, acc_6_0); acc_5_0 = _mm512_fmadd_ps(x_29, w_5_0, acc_5_0); }
        { const __m512 x_30 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + X_w)); acc_6_0 = _mm512_fmadd_ps(x_30, w_2_0, acc_6_0); acc_5_0 = _mm512_fmadd_ps(x_30, w_6_0, acc_5_0); }
        { const __m512 x_31 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + X_w)); acc_6_0 = _mm512_fmadd_ps(x_31, w_3_0, acc_6_0); acc_5_0 = _mm512_fmadd_ps(x_31, w_7_0, acc_5_0); }
        { const __m512 x_32 = _mm512_maskz_loadu_ps(TAIL, x_r + X_h + 2 * X_w); acc_7_0 = _mm512_fmadd_ps(x_32, w_0_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_32, w_4_0, acc_6_0); acc_5_0 = _mm512_fmadd_ps(x_32, w_8_0, acc_5_0); }
        { const __m512 x_33 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + 2 * X_w)); acc_7_0 = _mm512_fmadd_ps(x_33, w_1_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_33, w_5_0, acc_6_0); acc_5_0 = _mm512_fmadd_ps(x_33, w_9_0, acc_5_0); }
        { const __m512 x_34 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + 2 * X_w)); acc_7_0 = _mm512_fmadd_ps(x_34, w_2_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_34, w_6_0, acc_6_0); acc_5_0 = _mm512_fmadd_ps(x_34, w_10_0, acc_5_0); }
        { const __m512 x_35 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + 2 * X_w)); acc_7_0 = _mm512_fmadd_ps(x_35, w_3_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_35, w_7_0, acc_6_0); acc_5_0 = _mm512_fmadd_ps(x_35, w_11_0, acc_5_0); }
        { const __m512 x_36 = _mm512_maskz_loadu_ps(TAIL, x_r + X_h + 3 * X_w); acc_8_0 = _mm512_fmadd_ps(x_36, w_0_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_36, w_4_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_36, w_8_0, acc_6_0); }
        { const __m512 x_37 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + 3 * X_w)); acc_8_0 = _mm512_fmadd_ps(x_37, w_1_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_37, w_5_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_37, w_9_0, acc_6_0); }
        { const __m512 x_38 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + 3 * X_w)); acc_8_0 = _mm512_fmadd_ps(x_38, w_2_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_38, w_6_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_38, w_10_0, acc_6_0); }
        { const __m512 x_39 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + 3 * X_w)); acc_8_0 = _mm512_fmadd_ps(x_39, w_3_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_39, w_7_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_39, w_11_0, acc_6_0); }
        { const __m512 x_40 = _mm512_maskz_loadu_ps(TAIL, x_r + X_h + 4 * X_w); acc_9_0 = _mm512_fmadd_ps(x_40, w_0_0, acc_9_0); acc_8_0 = _mm512_fmadd_ps(x_40, w_4_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_40, w_8_0, acc_7_0); }
        { const __m512 x_41 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + 4 * X_w)); acc_9_0 = _mm512_fmadd_ps(x_41, w_1_0, acc_9_0); acc_8_0 = _mm512_fmadd_ps(x_41, w_5_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_41, w_9_0, acc_7_0); }
        { const __m512 x_42 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + 4 * X_w)); acc_9_0 = _mm512_fmadd_ps(x_42, w_2_0, acc_9_0); acc_8_0 = _mm512_fmadd_ps(x_42, w_6_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_42, w_10_0, acc_7_0); }
        { const __m512 x_43 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + 4 * X_w)); acc_9_0 = _mm512_fmadd_ps(x_43, w_3_0, acc_9_0); acc_8_0 = _mm512_fmadd_ps(x_43, w_7_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_43, w_11_0, acc_7_0); }
        { const __m512 x_44 = _mm512_maskz_loadu_ps(TAIL, x_r + X_h + 4 * X_w + X_s); acc_9_0 = _mm512_fmadd_ps(x_44, w_4_0, acc_9_0); acc_8_0 = _mm512_fmadd_ps(x_44, w_8_0, acc_8_0); }
        { const __m512 x_45 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + 4 * X_w + X_s)); acc_9_0 = _mm512_fmadd_ps(x_45, w_5_0, acc_9_0); acc_8_0 = _mm512_fmadd_ps(x_45, w_9_0, acc_8_0); }
        { const __m512 x_46 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + 4 * X_w + X_s)); acc_9_0 = _mm512_fmadd_ps(x_46, w_6_0, acc_9_0); acc_8_0 = _mm512_fmadd_ps(x_46, w_10_0, acc_8_0); }
        { const __m512 x_47 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + 4 * X_w + X_s)); acc_9_0 = _mm512_fmadd_ps(x_47, w_7_0, acc_9_0); acc_8_0 = _mm512_fmadd_ps(x_47, w_11_0, acc_8_0); }
        { const __m512 x_48 = _mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h); acc_10_0 = _mm512_fmadd_ps(x_48, w_0_0, acc_10_0); }
        { const __m512 x_49 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h)); acc_10_0 = _mm512_fmadd_ps(x_49, w_1_0, acc_10_0); }
        { const __m512 x_50 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h)); acc_10_0 = _mm512_fmadd_ps(x_50, w_2_0, acc_10_0); }
        { const __m512 x_51 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h)); acc_10_0 = _mm512_fmadd_ps(x_51, w_3_0, acc_10_0); }
        { const __m512 x_52 = _mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + X_w); acc_11_0 = _mm512_fmadd_ps(x_52, w_0_0, acc_11_0); acc_10_0 = _mm512_fmadd_ps(x_52, w_4_0, acc_10_0); }
        { const __m512 x_53 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + X_w)); acc_11_0 = _mm512_fmadd_ps(x_53, w_1_0, acc_11_0); acc_10_0 = _mm512_fmadd_ps(x_53, w_5_0, acc_10_0); }
        { const __m512 x_54 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + X_w)); acc_11_0 = _mm512_fmadd_ps(x_54, w_2_0, acc_11_0); acc_10_0 = _mm512_fmadd_ps(x_54, w_6_0, acc_10_0); }
        { const __m512 x_55 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + X_w)); acc_11_0 = _mm512_fmadd_ps(x_55, w_3_0, acc_11_0); acc_10_0 = _mm512_fmadd_ps(x_55, w_7_0, acc_10_0); }
        { const __m512 x_56 = _mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + 2 * X_w); acc_12_0 = _mm512_fmadd_ps(x_56, w_0_0, acc_12_0); acc_11_0 = _mm512_fmadd_ps(x_56, w_4_0, acc_11_0); acc_10_0 = _mm512_fmadd_ps(x_56, w_8_0, acc_10_0); }
        { const __m512 x_57 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + 2 * X_w)); acc_12_0 = _mm512_fmadd_ps(x_57, w_1_0, acc_12_0); acc_11_0 = _mm512_fmadd_ps(x_57, w_5_0, acc_11_0); acc_10_0 = _mm512_fmadd_ps(x_57, w_9_0, acc_10_0); }
        { const __m512 x_58 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + 2 * X_w)); acc_12_0 = _mm512_fmadd_ps(x_58, w_2_0, acc_12_0); acc_11_0 = _mm512_fmadd_ps(x_58, w_6_0, acc_11_0); acc_10_0 = _mm512_fmadd_ps(x_58, w_10_0, acc_10_0); }
        { const __m512 x_59 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + 2 * X_w)); acc_12_0 = _mm512_fmadd_ps(x_59, w_3_0, acc_12_0); acc_11_0 = _mm512_fmadd_ps(x_59, w_7_0, acc_11_0); acc_10_0 = _mm512_fmadd_ps(x_59, w_11_0, acc_10_0); }
        { const __m512 x_60 = _mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + 3 * X_w); acc_13_0 = _mm512_fmadd_ps(x_60, w_0_0, acc_13_0); acc_12_0 = _mm512_fmadd_ps(x_60, w_4_0, acc_12_0); acc_11_0 = _mm512_fmadd_ps(x_60, w_8_0, acc_11_0); }
        { const __m512 x_61 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + 3 * X_w)); acc_13_0 = _mm512_fmadd_ps(x_61, w_1_0, acc_13_0); acc_12_0 = _mm512_fmadd_ps(x_61, w_5_0, acc_12_0); acc_11_0 = _mm512_fmadd_ps(x_61, w_9_0, acc_11_0); }
        { const __m512 x_62 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + 3 * X_w)); acc_13_0 = _mm512_fmadd_ps(x_62, w_2_0, acc_13_0); acc_12_0 = _mm512_fmadd_ps(x_62, w_6_0, acc_12_0); acc_11_0 = _mm512_fmadd_ps(x_62, w_10_0, acc_11_0); }
        { const __m512 x_63 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + 3 * X_w)); acc_13_0 = _mm512_fmadd_ps(x_63, w_3_0, acc_13_0); acc_12_0 = _mm512_fmadd_ps(x_63, w_7_0, acc_12_0); acc_11_0 = _mm512_fmadd_ps(x_63, w_11_0, acc_11_0); }
        { const __m512 x_64 = _mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + 4 * X_w); acc_14_0 = _mm512_fmadd_ps(x_64, w_0_0, acc_14_0); acc_13_0 = _mm512_fmadd_ps(x_64, w_4_0, acc_13_0); acc_12_0 = _mm512_fmadd_ps(x_64, w_8_0, acc_12_0); }
        { const __m512 x_65 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + 4 * X_w)); acc_14_0 = _mm512_fmadd_ps(x_65, w_1_0, acc_14_0); acc_13_0 = _mm512_fmadd_ps(x_65, w_5_0, acc_13_0); acc_12_0 = _mm512_fmadd_ps(x_65, w_9_0, acc_12_0); }
        { const __m512 x_66 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + 4 * X_w)); acc_14_0 = _mm512_fmadd_ps(x_66, w_2_0, acc_14_0); acc_13_0 = _mm512_fmadd_ps(x_66, w_6_0, acc_13_0); acc_12_0 = _mm512_fmadd_ps(x_66, w_10_0, acc_12_0); }
        { const __m512 x_67 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + 4 * X_w)); acc_14_0 = _mm512_fmadd_ps(x_67, w_3_0, acc_14_0); acc_13_0 = _mm512_fmadd_ps(x_67, w_7_0, acc_13_0); acc_12_0 = _mm512_fmadd_ps(x_67, w_11_0, acc_12_0); }
        { const __m512 x_68 = _mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + 4 * X_w + X_s); acc_14_0 = _mm512_fmadd_ps(x_68, w_4_0, acc_14_0); acc_13_0 = _mm512_fmadd_ps(x_68, w_8_0, acc_13_0); }
        { const __m512 x_69 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + 4 * X_w + X_s)); acc_14_0 = _mm512_fmadd_ps(x_69, w_5_0, acc_14_0); acc_13_0 = _mm512_fmadd_ps(x_69, w_9_0, acc_13_0); }
        { const __m512 x_70 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + 4 * X_w + X_s)); acc_14_0 = _mm512_fmadd_ps(x_70, w_6_0, acc_14_0); acc_13_0 = _mm512_fmadd_ps(x_70, w_10_0, acc_13_0); }
        { const __m512 x_71 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + 4 * X_w + X_s)); acc_14_0 = _mm512_fmadd_ps(x_71, w_7_0, acc_14_0); acc_13_0 = _mm512_fmadd_ps(x_71, w_11_0, acc_13_0); }
    }
    _mm512_mask_storeu_ps(y, TAIL, acc_0_0);
    _mm512_mask_storeu_ps(y + Y_w, TAIL, acc_1_0);
    _mm512_mask_storeu_ps(y + 2 * Y_w, TAIL, acc_2_0);
    _mm512_mask_storeu_ps(y + 3 * Y_w, TAIL, acc_3_0);
    _mm512_mask_storeu_ps(y + 4 * Y_w, TAIL, acc_4_0);
    _mm512_mask_storeu_ps(y + Y_h, TAIL, acc_5_0);
    _mm512_mask_storeu_ps(y + Y_h + Y_w, TAIL, acc_6_0);
    _mm512_mask_storeu_ps(y + Y_h + 2 * Y_w, TAIL, acc_7_0);
    _mm512_mask_storeu_ps(y + Y_h + 3 * Y_w, TAIL, acc_8_0);
    _mm512_mask_storeu_ps(y + Y_h + 4 * Y_w, TAIL, acc_9_0);
    _mm512_mask_storeu_ps(y + 2 * Y_h, TAIL, acc_10_0);
    _mm512_mask_storeu_ps(y + 2 * Y_h + Y_w, TAIL, acc_11_0);
    _mm512_mask_storeu_ps(y + 2 * Y_h + 2 * Y_w, TAIL, acc_12_0);
    _mm512_mask_storeu_ps(y + 2 * Y_h + 3 * Y_w, TAIL, acc_13_0);
    _mm512_mask_storeu_ps(y + 2 * Y_h + 4 * Y_w, TAIL, acc_14_0);
}

/* 15 rows x 1 vectors, summed over r by 1 to 3; padding along h: rows on the image for each tap of r are 0:0-2 1:0-2 2:0-1; padding along w: rows on the image for each tap of s are 0:0-4 1:0-4 2:0-3. */
static void tile1_3hx5wx16kx4cx3s_hpad2_wpad0(const float *x, const float *w, float *y)
{
    __m512 acc_0_0 = _mm512_setzero_ps();
    __m512 acc_1_0 = _mm512_setzero_ps();
    __m512 acc_2_0 = _mm512_setzero_ps();
    __m512 acc_3_0 = _mm512_setzero_ps();
    __m512 acc_4_0 = _mm512_setzero_ps();
    __m512 acc_5_0 = _mm512_setzero_ps();
    __m512 acc_6_0 = _mm512_setzero_ps();
    __m512 acc_7_0 = _mm512_setzero_ps();
    __m512 acc_8_0 = _mm512_setzero_ps();
    __m512 acc_9_0 = _mm512_setzero_ps();
    __m512 acc_10_0 = _mm512_setzero_ps();
    __m512 acc_11_0 = _mm512_setzero_ps();
    __m512 acc_12_0 = _mm512_setzero_ps();
    __m512 acc_13_0 = _mm512_setzero_ps();
    __m512 acc_14_0 = _mm512_setzero_ps();
    for (long r = 0; r < 2; ++r) {
        const float *x_r = x + r * X_r;
        const float *w_r = w + r * 12 * PANEL_1;
        const __m512 w_0_0 = _mm512_loadu_ps(w_r);
        const __m512 w_1_0 = _mm512_loadu_ps(w_r + 1 * PANEL_1);
        const __m512 w_2_0 = _mm512_loadu_ps(w_r + 2 * PANEL_1);
        const __m512 w_3_0 = _mm512_loadu_ps(w_r + 3 * PANEL_1);
        const __m512 w_4_0 = _mm512_loadu_ps(w_r + 4 * PANEL_1);
        const __m512 w_5_0 = _mm512_loadu_ps(w_r + 5 * PANEL_1);
        const __m512 w_6_0 = _mm512_loadu_ps(w_r + 6 * PANEL_1);
        const __m512 w_7_0 = _mm512_loadu_ps(w_r + 7 * PANEL_1);
        const __m512 w_8_0 = _mm512_loadu_ps(w_r + 8 * PANEL_1);
        const __m512 w_9_0 = _mm512_loadu_ps(w_r + 9 * PANEL_1);
        const __m512 w_10_0 = _mm512_loadu_ps(w_r + 10 * PANEL_1);
        const __m512 w_11_0 = _mm512_loadu_ps(w_r + 11 * PANEL_1);
        { const __m512 x_0 = _mm512_loadu_ps(x_r); acc_0_0 = _mm512_fmadd_ps(x_0, w_0_0, acc_0_0); }
        { const __m512 x_1 = exchange_1(_mm512_loadu_ps(x_r)); acc_0_0 = _mm512_fmadd_ps(x_1, w_1_0, acc_0_0); }
        { const __m512 x_2 = exchange_2(_mm512_loadu_ps(x_r)); acc_0_0 = _mm512_fmadd_ps(x_2, w_2_0, acc_0_0); }
        { const __m512 x_3 = exchange_3(_mm512_loadu_ps(x_r)); acc_0_0 = _mm512_fmadd_ps(x_3, w_3_0, acc_0_0); }
        { const __m512 x_4 = _mm512_loadu_ps(x_r + X_w); acc_1_0 = _mm512_fmadd_ps(x_4, w_0_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_4, w_4_0, acc_0_0); }
        { const __m512 x_5 = exchange_1(_mm512_loadu_ps(x_r + X_w)); acc_1_0 = _mm512_fmadd_ps(x_5, w_1_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_5, w_5_0, acc_0_0); }
        { const __m512 x_6 = exchange_2(_mm512_loadu_ps(x_r + X_w)); acc_1_0 = _mm512_fmadd_ps(x_6, w_2_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_6, w_6_0, acc_0_0); }
        { const __m512 x_7 = exchange_3(_mm512_loadu_ps(x_r + X_w)); acc_1_0 = _mm512_fmadd_ps(x_7, w_3_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_7, w_7_0, acc_0_0); }
        { const __m512 x_8 = _mm512_loadu_ps(x_r + 2 * X_w); acc_2_0 = _mm512_fmadd_ps(x_8, w_0_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_8, w_4_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_8, w_8_0, acc_0_0); }
        { const __m512 x_9 = exchange_1(_mm512_loadu_ps(x_r + 2 * X_w)); acc_2_0 = _mm512_fmadd_ps(x_9, w_1_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_9, w_5_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_9, w_9_0, acc_0_0); }
        { const __m512 x_10 = exchange_2(_mm512_loadu_ps(x_r + 2 * X_w)); acc_2_0 = _mm512_fmadd_ps(x_10, w_2_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_10, w_6_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_10, w_10_0, acc_0_0); }
        { const __m512 x_11 = exchange_3(_mm512_loadu_ps(x_r + 2 * X_w)); acc_2_0 = _mm512_fmadd_ps(x_11, w_3_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_11, w_7_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_11, w_11_0, acc_0_0); }
        { const __m512 x_12 = _mm512_loadu_ps(x_r + 3 * X_w); acc_3_0 = _mm512_fmadd_ps(x_12, w_0_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_12, w_4_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_12, w_8_0, acc_1_0); }
        { const __m512 x_13 = exchange_1(_mm512_loadu_ps(x_r + 3 * X_w)); acc_3_0 = _mm512_fmadd_ps(x_13, w_1_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_13, w_5_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_13, w_9_0, acc_1_0); }
        { const __m512 x_14 = exchange_2(_mm512_loadu_ps(x_r + 3 * X_w)); acc_3_0 = _mm512_fmadd_ps(x_14, w_2_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_14, w_6_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_14, w_10_0, acc_1_0); }
        { const __m512 x_15 = exchange_3(_mm512_loadu_ps(x_r + 3 * X_w)); acc_3_0 = _mm512_fmadd_ps(x_15, w_3_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_15, w_7_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_15, w_11_0, acc_1_0); }
        { const __m512 x_16 = _mm512_loadu_ps(x_r + 4 * X_w); acc_4_0 = _mm512_fmadd_ps(x_16, w_0_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_16, w_4_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_16, w_8_0, acc_2_0); }
        { const __m512 x_17 = exchange_1(_mm512_loadu_ps(x_r + 4 * X_w)); acc_4_0 = _mm512_fmadd_ps(x_17, w_1_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_17, w_5_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_17, w_9_0, acc_2_0); }
        { const __m512 x_18 = exchange_2(_mm512_loadu_ps(x_r + 4 * X_w)); acc_4_0 = _mm512_fmadd_ps(x_18, w_2_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_18, w_6_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_18, w_10_0, acc_2_0); }
        { const __m512 x_19 = exchange_3(_mm512_loadu_ps(x_r + 4 * X_w)); acc_4_0 = _mm512_fmadd_ps(x_19, w_3_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_19, w_7_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_19, w_11_0, acc_2_0); }
        { const __m512 x_20 = _mm512_loadu_ps(x_r + 4 * X_w + X_s); acc_4_0 = _mm512_fmadd_ps(x_20, w_4_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_20, w_8_0, acc_3_0); }
        { const __m512 x_21 = exchange_1(_mm512_loadu_ps(x_r + 4 * X_w + X_s)); acc_4_0 = _mm512_fmadd_ps(x_21, w_5_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_21, w_9_0, acc_3_0); }
        { const __m512 x_22 = exchange_2(_mm512_loadu_ps(x_r + 4 * X_w + X_s)); acc_4_0 = _mm512_fmadd_ps(x_22, w_6_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_22, w_10_0, acc_3_0); }
        { const __m512 x_23 = exchange_3(_mm512_loadu_ps(x_r + 4 * X_w + X_s)); acc_4_0 = _mm512_fmadd_ps(x_23, w_7_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_23, w_11_0, acc_3_0); }
        { const __m512 x_24 = _mm512_loadu_ps(x_r + X_h); acc_5_0 = _mm512_fmadd_ps(x_24, w_0_0, acc_5_0); }
        { const __m512 x_25 = exchange_1(_mm512_loadu_ps(x_r + X_h)); acc_5_0 = _mm512_fmadd_ps(x_25, w_1_0, acc_5_0); }
        { const __m512 x_26 = exchange_2(_mm512_loadu_ps(x_r + X_h)); acc_5_0 = _mm512_fmadd_ps(x_26, w_2_0, acc_5_0); }
        { const __m512 x_27 = exchange_3(_mm512_loadu_ps(x_r + X_h)); acc_5_0 = _mm512_fmadd_ps(x_27, w_3_0, acc_5_0); }
        { const __m512 x_28 = _mm512_loadu_ps(x_r + X_h + X_w); acc_6_0 = _mm512_fmadd_ps(x_28, w_0_0, acc_6_0); acc_5_0 = _mm512_fmadd_ps(x_28, w_4_0, acc_5_0); }
        { const __m512 x_29 = exchange_1(_mm512_loadu_ps(x_r + X_h + X_w)); acc_6_0 = _mm512_fmadd_ps(x_29, w_1_0, acc_6_0); acc_5_0 = _mm512_fmadd_ps(x_29, w_5_0, acc_5_0); }
        { const __m512 x_30 = exchange_2(_mm512_loadu_ps(x_r + X_h + X_w)); acc_6_0 = _mm512_fmadd_ps(x_30, w_2_0, acc_6_0); acc_5_0 = _mm512_fmadd_ps(x_30, w_6_0, acc_5_0); }
        { const __m512 x_31 = exchange_3(_mm512_loadu_ps(x_r + X_h + X_w)); acc_6_0 = _mm512_fmadd_ps(x_31, w_3_0, acc_6_0); acc_5_0 = _mm512_fmadd_ps(x_31, w_7_0, acc_5_0); }
        { const __m512 x_32 = _mm512_loadu_ps(x_r + X_h + 2 * X_w); acc_7_0 = _mm512_fmadd_ps(x_32, w_0_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_32, w_4_0, acc_6_0); acc_5_0 = _mm512_fmadd_ps(x_32, w_8_0, acc_5_0); }
        { const __m512 x_33 = exchange_1(_mm512_loadu_ps(x_r + X_h + 2 * X_w)); acc_7_0 = _mm512_fmadd_ps(x_33, w_1_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_33, w_5_0, acc_6_0); acc_5_0 = _mm512_fmadd_ps(x_33, w_9_0, acc_5_0); }
        { const __m512 x_34 = exchange_2(_mm512_loadu_ps(x_r + X_h + 2 * X_w)); acc_7_0 = _mm512_fmadd_ps(x_34, w_2_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_34, w_6_0, acc_6_0); acc_5_0 = _mm512_fmadd_ps(x_34, w_10_0, acc_5_0); }
        { const __m512 x_35 = exchange_3(_mm512_loadu_ps(x_r + X_h + 2 * X_w)); acc_7_0 = _mm512_fmadd_ps(x_35, w_3_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_35, w_7_0, acc_6_0); acc_5_0 = _mm512_fmadd_ps(x_35, w_11_0, acc_5_0); }
        { const __m512 x_36 = _mm512_loadu_ps(x_r + X_h + 3 * X_w); acc_8_0 = _mm512_fmadd_ps(x_36, w_0_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_36, w_4_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_36, w_8_0, acc_6_0); }
        { const __m512 x_37 = exchange_1(_mm512_loadu_ps(x_r + X_h + 3 * X_w)); acc_8_0 = _mm512_fmadd_ps(x_37, w_1_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_37, w_5_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_37, w_9_0, acc_6_0); }
        { const __m512 x_38 = exchange_2(_mm512_loadu_ps(x_r + X_h + 3 * X_w)); acc_8_0 = _mm512_fmadd_ps(x_38, w_2_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_38, w_6_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_38, w_10_0, acc_6_0); }
        { const __m512 x_39 = exchange_3(_mm512_loadu_ps(x_r + X_h + 3 * X_w)); acc_8_0 = _mm512_fmadd_ps(x_39, w_3_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_39, w_7_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_39, w_11_0, acc_6_0); }
        { const __m512 x_40 = _mm512_loadu_ps(x_r + X_h + 4 * X_w); acc_9_0 = _mm512_fmadd_ps(x_40, w_0_0, acc_9_0); acc_8_0 = _mm512_fmadd_ps(x_40, w_4_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_40, w_8_0, acc_7_0); }
        { const __m512 x_41 = exchange_1(_mm512_loadu_ps(x_r + X_h + 4 * X_w)); acc_9_0 = _mm512_fmadd_ps(x_41, w_1_0, acc_9_0); acc_8_0 = _mm512_fmadd_ps(x_41, w_5_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_41, w_9_0, acc_7_0); }
        { const __m512 x_42 = exchange_2(_mm512_loadu_ps(x_r + X_h + 4 * X_w)); acc_9_0 = _mm512_fmadd_ps(x_42, w_2_0, acc_9_0); acc_8_0 = _mm512_fmadd_ps(x_42, w_6_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_42, w_10_0, acc_7_0); }
        { const __m512 x_43 = exchange_3(_mm512_loadu_ps(x_r + X_h + 4 * X_w)); acc_9_0 = _mm512_fmadd_ps(x_43, w_3_0, acc_9_0); acc_8_0 = _mm512_fmadd_ps(x_43, w_7_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_43, w_11_0, acc_7_0); }
        { const __m512 x_44 = _mm512_loadu_ps(x_r + X_h + 4 * X_w + X_s); acc_9_0 = _mm512_fmadd_ps(x_44, w_4_0, acc_9_0); acc_8_0 = _mm512_fmadd_ps(x_44, w_8_0, acc_8_0); }
        { const __m512 x_45 = exchange_1(_mm512_loadu_ps(x_r + X_h + 4 * X_w + X_s)); acc_9_0 = _mm512_fmadd_ps(x_45, w_5_0, acc_9_0); acc_8_0 = _mm512_fmadd_ps(x_45, w_9_0, acc_8_0); }
        { const __m512 x_46 = exchange_2(_mm512_loadu_ps(x_r + X_h + 4 * X_w + X_s)); acc_9_0 = _mm512_fmadd_ps(x_46, w_6_0, acc_9_0); acc_8_0 = _mm512_fmadd_ps(x_46, w_10_0, acc_8_0); }
        { const __m512 x_47 = exchange_3(_mm512_loadu_ps(x_r + X_h + 4 * X_w + X_s)); acc_9_0 = _mm512_fmadd_ps(x_47, w_7_0, acc_9_0); acc_8_0 = _mm512_fmadd_ps(x_47, w_11_0, acc_8_0); }
        { const __m512 x_48 = _mm512_loadu_ps(x_r + 2 * X_h); acc_10_0 = _mm512_fmadd_ps(x_48, w_0_0, acc_10_0); }
        { const __m512 x_49 = exchange_1(_mm512_loadu_ps(x_r + 2 * X_h)); acc_10_0 = _mm512_fmadd_ps(x_49, w_1_0, acc_10_0); }
        { const __m512 x_50 = exchange_2(_mm512_loadu_ps(x_r + 2 * X_h)); acc_10_0 = _mm512_fmadd_ps(x_50, w_2_0, acc_10_0); }
        { const __m512 x_51 = exchange_3(_mm512_loadu_ps(x_r + 2 * X_h)); acc_10_0 = _mm512_fmadd_ps(x_51, w_3_0, acc_10_0); }
        { const __m512 x_52 = _mm512_loadu_ps(x_r + 2 * X_h + X_w); acc_11_0 = _mm512_fmadd_ps(x_52, w_0_0, acc_11_0); acc_10_0 = _mm512_fmadd_ps(x_52, w_4_0, acc_10_0); }
        { const __m512 x_53 = exchange_1(_mm512_loadu_ps(x_r + 2 * X_h + X_w)); acc_11_0 = _mm512_fmadd_ps(x_53, w_1_0, acc_11_0); acc_10_0 = _mm512_fmadd_ps(x_53, w_5_0, acc_10_0); }
        { const __m512 x_54 = exchange_2(_mm512_loadu_ps(x_r + 2 * X_h + X_w)); acc_11_0 = _mm512_fmadd_ps(x_54, w_2_0, acc_11_0); acc_10_0 = _mm512_fmadd_ps(x_54, w_6_0, acc_10_0); }
        { const __m512 x_55 = exchange_3(_mm512_loadu_ps(x_r + 2 * X_h + X_w)); acc_11_0 = _mm512_fmadd_ps(x_55, w_3_0, acc_11_0); acc_10_0 = _mm512_fmadd_ps(x_55, w_7_0, acc_10_0); }
        { const __m512 x_56 = _mm512_loadu_ps(x_r + 2 * X_h + 2 * X_w); acc_12_0 = _mm512_fmadd_ps(x_56, w_0_0, acc_12_0); acc_11_0 = _mm512_fmadd_ps(x_56, w_4_0, acc_11_0); acc_10_0 = _mm512_fmadd_ps(x_56, w_8_0, acc_10_0); }
        { const __m512 x_57 = exchange_1(_mm512_loadu_ps(x_r + 2 * X_h + 2 * X_w)); acc_12_0 = _mm512_fmadd_ps(x_57, w_1_0, acc_12_0); acc_11_0 = _mm512_fmadd_ps(x_57, w_5_0, acc_11_0); acc_10_0 = _mm512_fmadd_ps(x_57, w_9_0, acc_10_0); }
        { const __m512 x_58 = exchange_2(_mm512_loadu_ps(x_r + 2 * X_h + 2 * X_w)); acc_12_0 = _mm512_fmadd_ps(x_58, w_2_0, acc_12_0); acc_11_0 = _mm512_fmadd_ps(x_58, w_6_0, acc_11_0); acc_10_0 = _mm512_fmadd_ps(x_58, w_10_0, acc_10_0); }
        { const __m512 x_59 = exchange_3(_mm512_loadu_ps(x_r + 2 * X_h + 2 * X_w)); acc_12_0 = _mm512_fmadd_ps(x_59, w_3_0, acc_12_0); acc_11_0 = _mm512_fmadd_ps(x_59, w_7_0, acc_11_0); acc_10_0 = _mm512_fmadd_ps(x_59, w_11_0, acc_10_0); }
        { const __m512 x_60 = _mm512_loadu_ps(x_r + 2 * X_h + 3 * X_w); acc_13_0 = _mm512_fmadd_ps(x_60, w_0_0, acc_13_0); acc_12_0 = _mm512_fmadd_ps(x_60, w_4_0, acc_12_0); acc_11_0 = _mm512_fmadd_ps(x_60, w_8_0, acc_11_0); }
        { const __m512 x_61 = exchange_1(_mm512_loadu_ps(x_r + 2 * X_h + 3 * X_w)); acc_13_0 = _mm512_fmadd_ps(x_61, w_1_0, acc_13_0); acc_12_0 = _mm512_fmadd_ps(x_61, w_5_0, acc_12_0); acc_11_0 = _mm512_fmadd_ps(x_61, w_9_0, acc_11_0); }
        { const __m512 x_62 = exchange_2(_mm512_loadu_ps(x_r + 2 * X_h + 3 * X_w)); acc_13_0 = _mm512_fmadd_ps(x_62, w_2_0, acc_13_0); acc_12_0 = _mm512_fmadd_ps(x_62, w_6_0, acc_12_0); acc_11_0 = _mm512_fmadd_ps(x_62, w_10_0, acc_11_0); }
        { const __m512 x_63 = exchange_3(_mm512_loadu_ps(x_r + 2 * X_h + 3 * X_w)); acc_13_0 = _mm512_fmadd_ps(x_63, w_3_0, acc_13_0); acc_12_0 = _mm512_fmadd_ps(x_63, w_7_0, acc_12_0); acc_11_0 = _mm512_fmadd_ps(x_63, w_11_0, acc_11_0); }
        { const __m512 x_64 = _mm512_loadu_ps(x_r + 2 * X_h + 4 * X_w); acc_14_0 = _mm512_fmadd_ps(x_64, w_0_0, acc_14_0); acc_13_0 = _mm512_fmadd_ps(x_64, w_4_0, acc_13_0); acc_12_0 = _mm512_fmadd_ps(x_64, w_8_0, acc_12_0); }
        { const __m512 x_65 = exchange_1(_mm512_loadu_ps(x_r + 2 * X_h + 4 * X_w)); acc_14_0 = _mm512_fmadd_ps(x_65, w_1_0, acc_14_0); acc_13_0 = _mm512_fmadd_ps(x_65, w_5_0, acc_13_0); acc_12_0 = _mm512_fmadd_ps(x_65, w_9_0, acc_12_0); }
        { const __m512 x_66 = exchange_2(_mm512_loadu_ps(x_r + 2 * X_h + 4 * X_w)); acc_14_0 = _mm512_fmadd_ps(x_66, w_2_0, acc_14_0); acc_13_0 = _mm512_fmadd_ps(x_66, w_6_0, acc_13_0); acc_12_0 = _mm512_fmadd_ps(x_66, w_10_0, acc_12_0); }
        { const __m512 x_67 = exchange_3(_mm512_loadu_ps(x_r + 2 * X_h + 4 * X_w)); acc_14_0 = _mm512_fmadd_ps(x_67, w_3_0, acc_14_0); acc_13_0 = _mm512_fmadd_ps(x_67, w_7_0, acc_13_0); acc_12_0 = _mm512_fmadd_ps(x_67, w_11_0, acc_12_0); }
        { const __m512 x_68 = _mm512_loadu_ps(x_r + 2 * X_h + 4 * X_w + X_s); acc_14_0 = _mm512_fmadd_ps(x_68, w_4_0, acc_14_0); acc_13_0 = _mm512_fmadd_ps(x_68, w_8_0, acc_13_0); }
        { const __m512 x_69 = exchange_1(_mm512_loadu_ps(x_r + 2 * X_h + 4 * X_w + X_s)); acc_14_0 = _mm512_fmadd_ps(x_69, w_5_0, acc_14_0); acc_13_0 = _mm512_fmadd_ps(x_69, w_9_0, acc_13_0); }
        { const __m512 x_70 = exchange_2(_mm512_loadu_ps(x_r + 2 * X_h + 4 * X_w + X_s)); acc_14_0 = _mm512_fmadd_ps(x_70, w_6_0, acc_14_0); acc_13_0 = _mm512_fmadd_ps(x_70, w_10_0, acc_13_0); }
        { const __m512 x_71 = exchange_3(_mm512_loadu_ps(x_r + 2 * X_h + 4 * X_w + X_s)); acc_14_0 = _mm512_fmadd_ps(x_71, w_7_0, acc_14_0); acc_13_0 = _mm512_fmadd_ps(x_71, w_11_0, acc_13_0); }
    }
    { /* r = 2 */
        const float *x_r = x + 2 * X_r;
        const float *w_r = w + 2 * 12 * PANEL_1;
        const __m512 w_0_0 = _mm512_loadu_ps(w_r);
        const __m512 w_1_0 = _mm512_loadu_ps(w_r + 1 * PANEL_1);
        const __m512 w_2_0 = _mm512_loadu_ps(w_r + 2 * PANEL_1);
        const __m512 w_3_0 = _mm512_loadu_ps(w_r + 3 * PANEL_1);
        const __m512 w_4_0 = _mm512_loadu_ps(w_r + 4 * PANEL_1);
        const __m512 w_5_0 = _mm512_loadu_ps(w_r + 5 * PANEL_1);
        const __m512 w_6_0 = _mm512_loadu_ps(w_r + 6 * PANEL_1);
        const __m512 w_7_0 = _mm512_loadu_ps(w_r + 7 * PANEL_1);
        const __m512 w_8_0 = _mm512_loadu_ps(w_r + 8 * PANEL_1);
        const __m512 w_9_0 = _mm512_loadu_ps(w_r + 9 * PANEL_1);
        const __m512 w_10_0 = _mm512_loadu_ps(w_r + 10 * PANEL_1);
        const __m512 w_11_0 = _mm512_loadu_ps(w_r + 11 * PANEL_1);
        { const __m512 x_0 = _mm512_loadu_ps(x_r); acc_0_0 = _mm512_fmadd_ps(x_0, w_0_0, acc_0_0); }
        { const __m512 x_1 = exchange_1(_mm512_loadu_ps(x_r)); acc_0_0 = _mm512_fmadd_ps(x_1, w_1_0, acc_0_0); }
        { const __m512 x_2 = exchange_2(_mm512_loadu_ps(x_r)); acc_0_0 = _mm512_fmadd_ps(x_2, w_2_0, acc_0_0); }
        { const __m512 x_3 = exchange_3(_mm512_loadu_ps(x_r)); acc_0_0 = _mm512_fmadd_ps(x_3, w_3_0, acc_0_0); }
        { const __m512 x_4 = _mm512_loadu_ps(x_r + X_w); acc_1_0 = _mm512_fmadd_ps(x_4, w_0_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_4, w_4_0, acc_0_0); }
        { const __m512 x_5 = exchange_1(_mm512_loadu_ps(x_r + X_w)); acc_1_0 = _mm512_fmadd_ps(x_5, w_1_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_5, w_5_0, acc_0_0); }
        { const __m512 x_6 = exchange_2(_mm512_loadu_ps(x_r + X_w)); acc_1_0 = _mm512_fmadd_ps(x_6, w_2_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_6, w_6_0, acc_0_0); }
        { const __m512 x_7 = exchange_3(_mm512_loadu_ps(x_r + X_w)); acc_1_0 = _mm512_fmadd_ps(x_7, w_3_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_7, w_7_0, acc_0_0); }
        { const __m512 x_8 = _mm512_loadu_ps(x_r + 2 * X_w); acc_2_0 = _mm512_fmadd_ps(x_8, w_0_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_8, w_4_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_8, w_8_0, acc_0_0); }
        { const __m512 x_9 = exchange_1(_mm512_loadu_ps(x_r + 2 * X_w)); acc_2_0 = _mm512_fmadd_ps(x_9, w_1_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_9, w_5_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_9, w_9_0, acc_0_0); }
        { const __m512 x_10 = exchange_2(_mm512_loadu_ps(x_r + 2 * X_w)); acc_2_0 = _mm512_fmadd_ps(x_10, w_2_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_10, w_6_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_10, w_10_0, acc_0_0); }
        { const __m512 x_11 = exchange_3(_mm512_loadu_ps(x_r + 2 * X_w)); acc_2_0 = _mm512_fmadd_ps(x_11, w_3_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_11, w_7_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_11, w_11_0, acc_0_0); }
        { const __m512 x_12 = _mm512_loadu_ps(x_r + 3 * X_w); acc_3_0 = _mm512_fmadd_ps(x_12, w_0_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_12, w_4_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_12, w_8_0, acc_1_0); }
        { const __m512 x_13 = exchange_1(_mm512_loadu_ps(x_r + 3 * X_w)); acc_3_0 = _mm512_fmadd_ps(x_13, w_1_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_13, w_5_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_13, w_9_0, acc_1_0); }
        { const __m512 x_14 = exchange_2(_mm512_loadu_ps(x_r + 3 * X_w)); acc_3_0 = _mm512_fmadd_ps(x_14, w_2_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_14, w_6_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_14, w_10_0, acc_1_0); }
        { const __m512 x_15 = exchange_3(_mm512_loadu_ps(x_r + 3 * X_w)); acc_3_0 = _mm512_fmadd_ps(x_15, w_3_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_15, w_7_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_15, w_11_0, acc_1_0); }
        { const __m512 x_16 = _mm512_loadu_ps(x_r + 4 * X_w); acc_4_0 = _mm512_fmadd_ps(x_16, w_0_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_16, w_4_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_16, w_8_0, acc_2_0); }
        { const __m512 x_17 = exchange_1(_mm512_loadu_ps(x_r + 4 * X_w)); acc_4_0 = _mm512_fmadd_ps(x_17, w_1_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_17, w_5_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_17, w_9_0, acc_2_0); }
        { const __m512 x_18 = exchange_2(_mm512_loadu_ps(x_r + 4 * X_w)); acc_4_0 = _mm512_fmadd_ps(x_18, w_2_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_18, w_6_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_18, w_10_0, acc_2_0); }
        { const __m512 x_19 = exchange_3(_mm512_loadu_ps(x_r + 4 * X_w)); acc_4_0 = _mm512_fmadd_ps(x_19, w_3_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_19, w_7_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_19, w_11_0, acc_2_0); }
        { const __m512 x_20 = _mm512_loadu_ps(x_r + 4 * X_w + X_s); acc_4_0 = _mm512_fmadd_ps(x_20, w_4_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_20, w_8_0, acc_3_0); }
        { const __m512 x_21 = exchange_1(_mm512_loadu_ps(x_r + 4 * X_w + X_s)); acc_4_0 = _mm512_fmadd_ps(x_21, w_5_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_21, w_9_0, acc_3_0); }
        { const __m512 x_22 = exchange_2(_mm512_loadu_ps(x_r + 4 * X_w + X_s)); acc_4_0 = _mm512_fmadd_ps(x_22, w_6_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_22, w_10_0, acc_3_0); }
        { const __m512 x_23 = exchange_3(_mm512_loadu_ps(x_r + 4 * X_w + X_s)); acc_4_0 = _mm512_fmadd_ps(x_23, w_7_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_23, w_11_0, acc_3_0); }
        { const __m512 x_24 = _mm512_loadu_ps(x_r + X_h); acc_5_0 = _mm512_fmadd_ps(x_24, w_0_0, acc_5_0); }
        { const __m512 x_25 = exchange_1(_mm512_loadu_ps(x_r + X_h)); acc_5_0 = _mm512_fmadd_ps(x_25, w_1_0, acc_5_0); }
        { const __m512 x_26 = exchange_2(_mm512_loadu_ps(x_r + X_h)); acc_5_0 = _mm512_fmadd_ps(x_26, w_2_0, acc_5_0); }
        { const __m512 x_27 = exchange_3(_mm512_loadu_ps(x_r + X_h)); acc_5_0 = _mm512_fmadd_ps(x_27, w_3_0, acc_5_0); }
        { const __m512 x_28 = _mm512_loadu_ps(x_r + X_h + X_w); acc_6_0 = _mm512_fmadd_ps(x_28, w_0_0, acc_6_0); acc_5_0 = _mm512_fmadd_ps(x_28, w_4_0, acc_5_0); }
        { const __m512 x_29 = exchange_1(_mm512_loadu_ps(x_r + X_h + X_w)); acc_6_0 = _mm512_fmadd_ps(x_29, w_1_0, acc_6_0); acc_5_0 = _mm512_fmadd_ps(x_29, w_5_0, acc_5_0); }
        { const __m512 x_30 = exchange_2(_mm512_loadu_ps(x_r + X_h + X_w)); acc_6_0 = _mm512_fmadd_ps(x_30, w_2_0, acc_6_0); acc_5_0 = _mm512_fmadd_ps(x_30, w_6_0, acc_5_0); }
        { const __m512 x_31 = exchange_3(_mm512_loadu_ps(x_r + X_h + X_w)); acc_6_0 = _mm512_fmadd_ps(x_31, w_3_0, acc_6_0); acc_5_0 = _mm512_fmadd_ps(x_31, w_7_0, acc_5_0); }
        { const __m512 x_32 = _mm512_loadu_ps(x_r + X_h + 2 * X_w); acc_7_0 = _mm512_fmadd_ps(x_32, w_0_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_32, w_4_0, acc_6_0); acc_5_0 = _mm512_fmadd_ps(x_32, w_8_0, acc_5_0); }
        { const __m512 x_33 = exchange_1(_mm512_loadu_ps(x_r + X_h + 2 * X_w)); acc_7_0 = _mm512_fmadd_ps(x_33, w_1_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_33, w_5_0, acc_6_0); acc_5_0 = _mm512_fmadd_ps(x_33, w_9_0, acc_5_0); }
        { const __m512 x_34 = exchange_2(_mm512_loadu_ps(x_r + X_h + 2 * X_w)); acc_7_0 = _mm512_fmadd_ps(x_34, w_2_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_34, w_6_0, acc_6_0); acc_5_0 = _mm512_fmadd_ps(x_34, w_10_0, acc_5_0); }
        { const __m512 x_35 = exchange_3(_mm512_loadu_ps(x_r + X_h + 2 * X_w)); acc_7_0 = _mm512_fmadd_ps(x_35, w_3_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_35, w_7_0, acc_6_0); acc_5_0 = _mm512_fmadd_ps(x_35, w_11_0, acc_5_0); }
        { const __m512 x_36 = _mm512_loadu_ps(x_r + X_h + 3 * X_w); acc_8_0 = _mm512_fmadd_ps(x_36, w_0_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_36, w_4_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_36, w_8_0, acc_6_0); }
        { const __m512 x_37 = exchange_1(_mm512_loadu_ps(x_r + X_h + 3 * X_w)); acc_8_0 = _mm512_fmadd_ps(x_37, w_1_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_37, w_5_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_37, w_9_0, acc_6_0); }
        { const __m512 x_38 = exchange_2(_mm512_loadu_ps(x_r + X_h + 3 * X_w)); acc_8_0 = _mm512_fmadd_ps(x_38, w_2_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_38, w_6_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_38, w_10_0, acc_6_0); }
        { const __m512 x_39 = exchange_3(_mm512_loadu_ps(x_r + X_h + 3 * X_w)); acc_8_0 = _mm512_fmadd_ps(x_39, w_3_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_39, w_7_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_39, w_11_0, acc_6_0); }
        { const __m512 x_40 = _mm512_loadu_ps(x_r + X_h + 4 * X_w); acc_9_0 = _mm512_fmadd_ps(x_40, w_0_0, acc_9_0); acc_8_0 = _mm512_fmadd_ps(x_40, w_4_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_40, w_8_0, acc_7_0); }
        { const __m512 x_41 = exchange_1(_mm512_loadu_ps(x_r + X_h + 4 * X_w)); acc_9_0 = _mm512_fmadd_ps(x_41, w_1_0, acc_9_0); acc_8_0 = _mm512_fmadd_ps(x_41, w_5_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_41, w_9_0, acc_7_0); }
        { const __m512 x_42 = exchange_2(_mm512_loadu_ps(x_r + X_h + 4 * X_w)); acc_9_0 = _mm512_fmadd_ps(x_42, w_2_0, acc_9_0); acc_8_0 = _mm512_fmadd_ps(x_42, w_6_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_42, w_10_0, acc_7_0); }
        { const __m512 x_43 = exchange_3(_mm512_loadu_ps(x_r + X_h + 4 * X_w)); acc_9_0 = _mm512_fmadd_ps(x_43, w_3_0, acc_9_0); acc_8_0 = _mm512_fmadd_ps(x_43, w_7_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_43, w_11_0, acc_7_0); }
        { const __m512 x_44 = _mm512_loadu_ps(x_r + X_h + 4 * X_w + X_s); acc_9_0 = _mm512_fmadd_ps(x_44, w_4_0, acc_9_0); acc_8_0 = _mm512_fmadd_ps(x_44, w_8_0, acc_8_0); }
        { const __m512 x_45 = exchange_1(_mm512_loadu_ps(x_r + X_h + 4 * X_w + X_s)); acc_9_0 = _mm512_fmadd_ps(x_45, w_5_0, acc_9_0); acc_8_0 = _mm512_fmadd_ps(x_45, w_9_0, acc_8_0); }
        { const __m512 x_46 = exchange_2(_mm512_loadu_ps(x_r + X_h + 4 * X_w + X_s)); acc_9_0 = _mm512_fmadd_ps(x_46, w_6_0, acc_9_0); acc_8_0 = _mm512_fmadd_ps(x_46, w_10_0, acc_8_0); }
        { const __m512 x_47 = exchange_3(_mm512_loadu_ps(x_r + X_h + 4 * X_w + X_s)); acc_9_0 = _mm512_fmadd_ps(x_47, w_7_0, acc_9_0); acc_8_0 = _mm512_fmadd_ps(x_47, w_11_0, acc_8_0); }
    }
    _mm512_storeu_ps(y, acc_0_0);
    _mm512_storeu_ps(y + Y_w, acc_1_0);
    _mm512_storeu_ps(y + 2 * Y_w, acc_2_0);
    _mm512_storeu_ps(y + 3 * Y_w, acc_3_0);
    _mm512_storeu_ps(y + 4 * Y_w, acc_4_0);
    _mm512_storeu_ps(y + Y_h, acc_5_0);
    _mm512_storeu_ps(y + Y_h + Y_w, acc_6_0);
    _mm512_storeu_ps(y + Y_h + 2 * Y_w, acc_7_0);
    _mm512_storeu_ps(y + Y_h + 3 * Y_w, acc_8_0);
    _mm512_storeu_ps(y + Y_h + 4 * Y_w, acc_9_0);
    _mm512_storeu_ps(y + 2 * Y_h, acc_10_0);
    _mm512_storeu_ps(y + 2 * Y_h + Y_w, acc_11_0);
    _mm512_storeu_ps(y + 2 * Y_h + 2 * Y_w, acc_12_0);
    _mm512_storeu_ps(y + 2 * Y_h + 3 * Y_w, acc_13_0);
    _mm512_storeu_ps(y + 2 * Y_h + 4 * Y_w, acc_14_0);
}

/* 15 rows x 1 vectors, summed over r by 1 to 3; padding along h: rows on the image for each tap of r are 0:0-2 1:0-2 2:0-1; padding along w: rows on the image for each tap of s are 0:0-4 1:0-4 2:0-3; the last vector is masked. */
static void tile1_3hx5wx16kx4cx3s_hpad2_wpad0_tail(const float *x, const float *w, float *y)
{
    __m512 acc_0_0 = _mm512_setzero_ps();
    __m512 acc_1_0 = _mm512_setzero_ps();
    __m512 acc_2_0 = _mm512_setzero_ps();
    __m512 acc_3_0 = _mm512_setzero_ps();
    __m512 acc_4_0 = _mm512_setzero_ps();
    __m512 acc_5_0 = _mm512_setzero_ps();
    __m512 acc_6_0 = _mm512_setzero_ps();
    __m512 acc_7_0 = _mm512_setzero_ps();
    __m512 acc_8_0 = _mm512_setzero_ps();
    __m512 acc_9_0 = _mm512_setzero_ps();
    __m512 acc_10_0 = _mm512_setzero_ps();
    __m512 acc_11_0 = _mm512_setzero_ps();
    __m512 acc_12_0 = _mm512_setzero_ps();
    __m512 acc_13_0 = _mm512_setzero_ps();
    __m512 acc_14_0 = _mm512_setzero_ps();
    for (long r = 0; r < 2; ++r) {
        const float *x_r = x + r * X_r;
        const float *w_r = w + r * 12 * PANEL_1;
        const __m512 w_0_0 = _mm512_loadu_ps(w_r);
        const __m512 w_1_0 = _mm512_loadu_ps(w_r + 1 * PANEL_1);
        const __m512 w_2_0 = _mm512_loadu_ps(w_r + 2 * PANEL_1);
        const __m512 w_3_0 = _mm512_loadu_ps(w_r + 3 * PANEL_1);
        const __m512 w_4_0 = _mm512_loadu_ps(w_r + 4 * PANEL_1);
        const __m512 w_5_0 = _mm512_loadu_ps(w_r + 5 * PANEL_1);
        const __m512 w_6_0 = _mm512_loadu_ps(w_r + 6 * PANEL_1);
        const __m512 w_7_0 = _mm512_loadu_ps(w_r + 7 * PANEL_1);
        const __m512 w_8_0 = _mm512_loadu_ps(w_r + 8 * PANEL_1);
        const __m512 w_9_0 = _mm512_loadu_ps(w_r + 9 * PANEL_1);
        const __m512 w_10_0 = _mm512_loadu_ps(w_r + 10 * PANEL_1);
        const __m512 w_11_0 = _mm512_loadu_ps(w_r + 11 * PANEL_1);
        { const __m512 x_0 = _mm512_maskz_loadu_ps(TAIL, x_r); acc_0_0 = _mm512_fmadd_ps(x_0, w_0_0, acc_0_0); }
        { const __m512 x_1 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r)); acc_0_0 = _mm512_fmadd_ps(x_1, w_1_0, acc_0_0); }
        { const __m512 x_2 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r)); acc_0_0 = _mm512_fmadd_ps(x_2, w_2_0, acc_0_0); }
        { const __m512 x_3 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r)); acc_0_0 = _mm512_fmadd_ps(x_3, w_3_0, acc_0_0); }
        { const __m512 x_4 = _mm512_maskz_loadu_ps(TAIL, x_r + X_w); acc_1_0 = _mm512_fmadd_ps(x_4, w_0_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_4, w_4_0, acc_0_0); }
        { const __m512 x_5 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + X_w)); acc_1_0 = _mm512_fmadd_ps(x_5, w_1_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_5, w_5_0, acc_0_0); }
        { const __m512 x_6 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + X_w)); acc_1_0 = _mm512_fmadd_ps(x_6, w_2_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_6, w_6_0, acc_0_0); }
        { const __m512 x_7 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + X_w)); acc_1_0 = _mm512_fmadd_ps(x_7, w_3_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_7, w_7_0, acc_0_0); }
        { const __m512 x_8 = _mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_w); acc_2_0 = _mm512_fmadd_ps(x_8, w_0_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_8, w_4_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_8, w_8_0, acc_0_0); }
        { const __m512 x_9 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_w)); acc_2_0 = _mm512_fmadd_ps(x_9, w_1_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_9, w_5_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_9, w_9_0, acc_0_0); }
        { const __m512 x_10 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_w)); acc_2_0 = _mm512_fmadd_ps(x_10, w_2_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_10, w_6_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_10, w_10_0, acc_0_0); }
        { const __m512 x_11 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_w)); acc_2_0 = _mm512_fmadd_ps(x_11, w_3_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_11, w_7_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_11, w_11_0, acc_0_0); }
        { const __m512 x_12 = _mm512_maskz_loadu_ps(TAIL, x_r + 3 * X_w); acc_3_0 = _mm512_fmadd_ps(x_12, w_0_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_12, w_4_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_12, w_8_0, acc_1_0); }
        { const __m512 x_13 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + 3 * X_w)); acc_3_0 = _mm512_fmadd_ps(x_13, w_1_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_13, w_5_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_13, w_9_0, acc_1_0); }
        { const __m512 x_14 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + 3 * X_w)); acc_3_0 = _mm512_fmadd_ps(x_14, w_2_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_14, w_6_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_14, w_10_0, acc_1_0); }
        { const __m512 x_15 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + 3 * X_w)); acc_3_0 = _mm512_fmadd_ps(x_15, w_3_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_15, w_7_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_15, w_11_0, acc_1_0); }
        { const __m512 x_16 = _mm512_maskz_loadu_ps(TAIL, x_r + 4 * X_w); acc_4_0 = _mm512_fmadd_ps(x_16, w_0_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_16, w_4_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_16, w_8_0, acc_2_0); }
        { const __m512 x_17 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + 4 * X_w)); acc_4_0 = _mm512_fmadd_ps(x_17, w_1_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_17, w_5_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_17, w_9_0, acc_2_0); }
        { const __m512 x_18 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + 4 * X_w)); acc_4_0 = _mm512_fmadd_ps(x_18, w_2_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_18, w_6_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_18, w_10_0, acc_2_0); }
        { const __m512 x_19 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + 4 * X_w)); acc_4_0 = _mm512_fmadd_ps(x_19, w_3_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_19, w_7_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_19, w_11_0, acc_2_0); }
        { const __m512 x_20 = _mm512_maskz_loadu_ps(TAIL, x_r + 4 * X_w + X_s); acc_4_0 = _mm512_fmadd_ps(x_20, w_4_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_20, w_8_0, acc_3_0); }
        { const __m512 x_21 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + 4 * X_w + X_s)); acc_4_0 = _mm512_fmadd_ps(x_21, w_5_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_21, w_9_0, acc_3_0); }
        { const __m512 x_22 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + 4 * X_w + X_s)); acc_4_0 = _mm512_fmadd_ps(x_22, w_6_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_22, w_10_0, acc_3_0); }
        { const __m512 x_23 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + 4 * X_w + X_s)); acc_4_0 = _mm512_fmadd_ps(x_23, w_7_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_23, w_11_0, acc_3_0); }
        { const __m512 x_24 = _mm512_maskz_loadu_ps(TAIL, x_r + X_h); acc_5_0 = _mm512_fmadd_ps(x_24, w_0_0, acc_5_0); }
        { const __m512 x_25 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + X_h)); acc_5_0 = _mm512_fmadd_ps(x_25, w_1_0, acc_5_0); }
        { const __m512 x_26 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + X_h)); acc_5_0 = _mm512_fmadd_ps(x_26, w_2_0, acc_5_0); }
        { const __m512 x_27 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + X_h)); acc_5_0 = _mm512_fmadd_ps(x_27, w_3_0, acc_5_0); }
        { const __m512 x_28 = _mm512_maskz_loadu_ps(TAIL, x_r + X_h + X_w); acc_6_0 = _mm512_fmadd_ps(x_28, w_0_0, acc_6_0); acc_5_0 = _mm512_fmadd_ps(x_28, w_4_0, acc_5_0); }
        { const __m512 x_29 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + X_w)); acc_6_0 = _mm512_fmadd_ps(x_29, w_1_0, acc_6_0); acc_5_0 = _mm512_fmadd_ps(x_29, w_5_0, acc_5_0); }
        { const __m512 x_30 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + X_w)); acc_6_0 = _mm512_fmadd_ps(x_30, w_2_0, acc_6_0); acc_5_0 = _mm512_fmadd_ps(x_30, w_6_0, acc_5_0); }
        { const __m512 x_31 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + X_w)); acc_6_0 = _mm512_fmadd_ps(x_31, w_3_0, acc_6_0); acc_5_0 = _mm512_fmadd_ps(x_31, w_7_0, acc_5_0); }
        { const __m512 x_32 = _mm512_maskz_loadu_ps(TAIL, x_r + X_h + 2 * X_w); acc_7_0 = _mm512_fmadd_ps(x_32, w_0_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_32, w_4_0, acc_6_0); acc_5_0 = _mm512_fmadd_ps(x_32, w_8_0, acc_5_0); }
        { const __m512 x_33 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + 2 * X_w)); acc_7_0 = _mm512_fmadd_ps(x_33, w_1_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_33, w_5_0, acc_6_0); acc_5_0 = _mm512_fmadd_ps(x_33, w_9_0, acc_5_0); }
        { const __m512 x_34 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + 2 * X_w)); acc_7_0 = _mm512_fmadd_ps(x_34, w_2_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_34, w_6_0, acc_6_0); acc_5_0 = _mm512_fmadd_ps(x_34, w_10_0, acc_5_0); }
        { const __m512 x_35 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + 2 * X_w)); acc_7_0 = _mm512_fmadd_ps(x_35, w_3_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_35, w_7_0, acc_6_0); acc_5_0 = _mm512_fmadd_ps(x_35, w_11_0, acc_5_0); }
        { const __m512 x_36 = _mm512_maskz_loadu_ps(TAIL, x_r + X_h + 3 * X_w); acc_8_0 = _mm512_fmadd_ps(x_36, w_0_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_36, w_4_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_36, w_8_0, acc_6_0); }
        { const __m512 x_37 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + 3 * X_w)); acc_8_0 = _mm512_fmadd_ps(x_37, w_1_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_37, w_5_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_37, w_9_0, acc_6_0); }
        { const __m512 x_38 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + 3 * X_w)); acc_8_0 = _mm512_fmadd_ps(x_38, w_2_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_38, w_6_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_38, w_10_0, acc_6_0); }
        { const __m512 x_39 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + 3 * X_w)); acc_8_0 = _mm512_fmadd_ps(x_39, w_3_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_39, w_7_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_39, w_11_0, acc_6_0); }
        { const __m512 x_40 = _mm512_maskz_loadu_ps(TAIL, x_r + X_h + 4 * X_w); acc_9_0 = _mm512_fmadd_ps(x_40, w_0_0, acc_9_0); acc_8_0 = _mm512_fmadd_ps(x_40, w_4_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_40, w_8_0, acc_7_0); }
        { const __m512 x_41 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + 4 * X_w)); acc_9_0 = _mm512_fmadd_ps(x_41, w_1_0, acc_9_0); acc_8_0 = _mm512_fmadd_ps(x_41, w_5_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_41, w_9_0, acc_7_0); }
        { const __m512 x_42 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + 4 * X_w)); acc_9_0 = _mm512_fmadd_ps(x_42, w_2_0, acc_9_0); acc_8_0 = _mm512_fmadd_ps(x_42, w_6_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_42, w_10_0, acc_7_0); }
        { const __m512 x_43 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + 4 * X_w)); acc_9_0 = _mm512_fmadd_ps(x_43, w_3_0, acc_9_0); acc_8_0 = _mm512_fmadd_ps(x_43, w_7_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_43, w_11_0, acc_7_0); }
        { const __m512 x_44 = _mm512_maskz_loadu_ps(TAIL, x_r + X_h + 4 * X_w + X_s); acc_9_0 = _mm512_fmadd_ps(x_44, w_4_0, acc_9_0); acc_8_0 = _mm512_fmadd_ps(x_44, w_8_0, acc_8_0); }
        { const __m512 x_45 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + 4 * X_w + X_s)); acc_9_0 = _mm512_fmadd_ps(x_45, w_5_0, acc_9_0); acc_8_0 = _mm512_fmadd_ps(x_45, w_9_0, acc_8_0); }
        { const __m512 x_46 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + 4 * X_w + X_s)); acc_9_0 = _mm512_fmadd_ps(x_46, w_6_0, acc_9_0); acc_8_0 = _mm512_fmadd_ps(x_46, w_10_0, acc_8_0); }
        { const __m512 x_47 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + 4 * X_w + X_s)); acc_9_0 = _mm512_fmadd_ps(x_47, w_7_0, acc_9_0); acc_8_0 = _mm512_fmadd_ps(x_47, w_11_0, acc_8_0); }
        { const __m512 x_48 = _mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h); acc_10_0 = _mm512_fmadd_ps(x_48, w_0_0, acc_10_0); }
        { const __m512 x_49 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h)); acc_10_0 = _mm512_fmadd_ps(x_49, w_1_0, acc_10_0); }
        { const __m512 x_50 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h)); acc_10_0 = _mm512_fmadd_ps(x_50, w_2_0, acc_10_0); }
        { const __m512 x_51 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h)); acc_10_0 = _mm512_fmadd_ps(x_51, w_3_0, acc_10_0); }
        { const __m512 x_52 = _mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + X_w); acc_11_0 = _mm512_fmadd_ps(x_52, w_0_0, acc_11_0); acc_10_0 = _mm512_fmadd_ps(x_52, w_4_0, acc_10_0); }
        { const __m512 x_53 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + X_w)); acc_11_0 = _mm512_fmadd_ps(x_53, w_1_0, acc_11_0); acc_10_0 = _mm512_fmadd_ps(x_53, w_5_0, acc_10_0); }
        { const __m512 x_54 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + X_w)); acc_11_0 = _mm512_fmadd_ps(x_54, w_2_0, acc_11_0); acc_10_0 = _mm512_fmadd_ps(x_54, w_6_0, acc_10_0); }
        { const __m512 x_55 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + X_w)); acc_11_0 = _mm512_fmadd_ps(x_55, w_3_0, acc_11_0); acc_10_0 = _mm512_fmadd_ps(x_55, w_7_0, acc_10_0); }
        { const __m512 x_56 = _mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + 2 * X_w); acc_12_0 = _mm512_fmadd_ps(x_56, w_0_0, acc_12_0); acc_11_0 = _mm512_fmadd_ps(x_56, w_4_0, acc_11_0); acc_10_0 = _mm512_fmadd_ps(x_56, w_8_0, acc_10_0); }
        { const __m512 x_57 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + 2 * X_w)); acc_12_0 = _mm512_fmadd_ps(x_57, w_1_0, acc_12_0); acc_11_0 = _mm512_fmadd_ps(x_57, w_5_0, acc_11_0); acc_10_0 = _mm512_fmadd_ps(x_57, w_9_0, acc_10_0); }
        { const __m512 x_58 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + 2 * X_w)); acc_12_0 = _mm512_fmadd_ps(x_58, w_2_0, acc_12_0); acc_11_0 = _mm512_fmadd_ps(x_58, w_6_0, acc_11_0); acc_10_0 = _mm512_fmadd_ps(x_58, w_10_0, acc_10_0); }
        { const __m512 x_59 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + 2 * X_w)); acc_12_0 = _mm512_fmadd_ps(x_59, w_3_0, acc_12_0); acc_11_0 = _mm512_fmadd_ps(x_59, w_7_0, acc_11_0); acc_10_0 = _mm512_fmadd_ps(x_59, w_11_0, acc_10_0); }
        { const __m512 x_60 = _mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + 3 * X_w); acc_13_0 = _mm512_fmadd_ps(x_60, w_0_0, acc_13_0); acc_12_0 = _mm512_fmadd_ps(x_60, w_4_0, acc_12_0); acc_11_0 = _mm512_fmadd_ps(x_60, w_8_0, acc_11_0); }
        { const __m512 x_61 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + 3 * X_w)); acc_13_0 = _mm512_fmadd_ps(x_61, w_1_0, acc_13_0); acc_12_0 = _mm512_fmadd_ps(x_61, w_5_0, acc_12_0); acc_11_0 = _mm512_fmadd_ps(x_61, w_9_0, acc_11_0); }
        { const __m512 x_62 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + 3 * X_w)); acc_13_0 = _mm512_fmadd_ps(x_62, w_2_0, acc_13_0); acc_12_0 = _mm512_fmadd_ps(x_62, w_6_0, acc_12_0); acc_11_0 = _mm512_fmadd_ps(x_62, w_10_0, acc_11_0); }
        { const __m512 x_63 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + 3 * X_w)); acc_13_0 = _mm512_fmadd_ps(x_63, w_3_0, acc_13_0); acc_12_0 = _mm512_fmadd_ps(x_63, w_7_0, acc_12_0); acc_11_0 = _mm512_fmadd_ps(x_63, w_11_0, acc_11_0); }
        { const __m512 x_64 = _mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + 4 * X_w); acc_14_0 = _mm512_fmadd_ps(x_64, w_0_0, acc_14_0); acc_13_0 = _mm512_fmadd_ps(x_64, w_4_0, acc_13_0); acc_12_0 = _mm512_fmadd_ps(x_64, w_8_0, acc_12_0); }
        { const __m512 x_65 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + 4 * X_w)); acc_14_0 = _mm512_fmadd_ps(x_65, w_1_0, acc_14_0); acc_13_0 = _mm512_fmadd_ps(x_65, w_5_0, acc_13_0); acc_12_0 = _mm512_fmadd_ps(x_65, w_9_0, acc_12_0); }
        { const __m512 x_66 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + 4 * X_w)); acc_14_0 = _mm512_fmadd_ps(x_66, w_2_0, acc_14_0); acc_13_0 = _mm512_fmadd_ps(x_66, w_6_0, acc_13_0); acc_12_0 = _mm512_fmadd_ps(x_66, w_10_0, acc_12_0); }
        { const __m512 x_67 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + 4 * X_w)); acc_14_0 = _mm512_fmadd_ps(x_67, w_3_0, acc_14_0); acc_13_0 = _mm512_fmadd_ps(x_67, w_7_0, acc_13_0); acc_12_0 = _mm512_fmadd_ps(x_67, w_11_0, acc_12_0); }
        { const __m512 x_68 = _mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + 4 * X_w + X_s); acc_14_0 = _mm512_fmadd_ps(x_68, w_4_0, acc_14_0); acc_13_0 = _mm512_fmadd_ps(x_68, w_8_0, acc_13_0); }
        { const __m512 x_69 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + 4 * X_w + X_s)); acc_14_0 = _mm512_fmadd_ps(x_69, w_5_0, acc_14_0); acc_13_0 = _mm512_fmadd_ps(x_69, w_9_0, acc_13_0); }
        { const __m512 x_70 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + 4 * X_w + X_s)); acc_14_0 = _mm512_fmadd_ps(x_70, w_6_0, acc_14_0); acc_13_0 = _mm512_fmadd_ps(x_70, w_10_0, acc_13_0); }
        { const __m512 x_71 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_h + 4 * X_w + X_s)); acc_14_0 = _mm512_fmadd_ps(x_71, w_7_0, acc_14_0); acc_13_0 = _mm512_fmadd_ps(x_71, w_11_0, acc_13_0); }
    }
    { /* r = 2 */
        const float *x_r = x + 2 * X_r;
        const float *w_r = w + 2 * 12 * PANEL_1;
        const __m512 w_0_0 = _mm512_loadu_ps(w_r);
        const __m512 w_1_0 = _mm512_loadu_ps(w_r + 1 * PANEL_1);
        const __m512 w_2_0 = _mm512_loadu_ps(w_r + 2 * PANEL_1);
        const __m512 w_3_0 = _mm512_loadu_ps(w_r + 3 * PANEL_1);
        const __m512 w_4_0 = _mm512_loadu_ps(w_r + 4 * PANEL_1);
        const __m512 w_5_0 = _mm512_loadu_ps(w_r + 5 * PANEL_1);
        const __m512 w_6_0 = _mm512_loadu_ps(w_r + 6 * PANEL_1);
        const __m512 w_7_0 = _mm512_loadu_ps(w_r + 7 * PANEL_1);
        const __m512 w_8_0 = _mm512_loadu_ps(w_r + 8 * PANEL_1);
        const __m512 w_9_0 = _mm512_loadu_ps(w_r + 9 * PANEL_1);
        const __m512 w_10_0 = _mm512_loadu_ps(w_r + 10 * PANEL_1);
        const __m512 w_11_0 = _mm512_loadu_ps(w_r + 11 * PANEL_1);
        { const __m512 x_0 = _mm512_maskz_loadu_ps(TAIL, x_r); acc_0_0 = _mm512_fmadd_ps(x_0, w_0_0, acc_0_0); }
        { const __m512 x_1 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r)); acc_0_0 = _mm512_fmadd_ps(x_1, w_1_0, acc_0_0); }
        { const __m512 x_2 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r)); acc_0_0 = _mm512_fmadd_ps(x_2, w_2_0, acc_0_0); }
        { const __m512 x_3 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r)); acc_0_0 = _mm512_fmadd_ps(x_3, w_3_0, acc_0_0); }
        { const __m512 x_4 = _mm512_maskz_loadu_ps(TAIL, x_r + X_w); acc_1_0 = _mm512_fmadd_ps(x_4, w_0_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_4, w_4_0, acc_0_0); }
        { const __m512 x_5 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + X_w)); acc_1_0 = _mm512_fmadd_ps(x_5, w_1_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_5, w_5_0, acc_0_0); }
        { const __m512 x_6 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + X_w)); acc_1_0 = _mm512_fmadd_ps(x_6, w_2_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_6, w_6_0, acc_0_0); }
        { const __m512 x_7 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + X_w)); acc_1_0 = _mm512_fmadd_ps(x_7, w_3_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_7, w_7_0, acc_0_0); }
        { const __m512 x_8 = _mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_w); acc_2_0 = _mm512_fmadd_ps(x_8, w_0_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_8, w_4_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_8, w_8_0, acc_0_0); }
        { const __m512 x_9 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_w)); acc_2_0 = _mm512_fmadd_ps(x_9, w_1_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_9, w_5_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_9, w_9_0, acc_0_0); }
        { const __m512 x_10 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_w)); acc_2_0 = _mm512_fmadd_ps(x_10, w_2_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_10, w_6_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_10, w_10_0, acc_0_0); }
        { const __m512 x_11 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_w)); acc_2_0 = _mm512_fmadd_ps(x_11, w_3_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_11, w_7_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_11, w_11_0, acc_0_0); }
        { const __m512 x_12 = _mm512_maskz_loadu_ps(TAIL, x_r + 3 * X_w); acc_3_0 = _mm512_fmadd_ps(x_12, w_0_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_12, w_4_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_12, w_8_0, acc_1_0); }
        { const __m512 x_13 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + 3 * X_w)); acc_3_0 = _mm512_fmadd_ps(x_13, w_1_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_13, w_5_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_13, w_9_0, acc_1_0); }
        { const __m512 x_14 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + 3 * X_w)); acc_3_0 = _mm512_fmadd_ps(x_14, w_2_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_14, w_6_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_14, w_10_0, acc_1_0); }
        { const __m512 x_15 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + 3 * X_w)); acc_3_0 = _mm512_fmadd_ps(x_15, w_3_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_15, w_7_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_15, w_11_0, acc_1_0); }
        { const __m512 x_16 = _mm512_maskz_loadu_ps(TAIL, x_r + 4 * X_w); acc_4_0 = _mm512_fmadd_ps(x_16, w_0_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_16, w_4_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_16, w_8_0, acc_2_0); }
        { const __m512 x_17 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + 4 * X_w)); acc_4_0 = _mm512_fmadd_ps(x_17, w_1_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_17, w_5_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_17, w_9_0, acc_2_0); }
        { const __m512 x_18 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + 4 * X_w)); acc_4_0 = _mm512_fmadd_ps(x_18, w_2_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_18, w_6_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_18, w_10_0, acc_2_0); }
        { const __m512 x_19 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + 4 * X_w)); acc_4_0 = _mm512_fmadd_ps(x_19, w_3_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_19, w_7_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_19, w_11_0, acc_2_0); }
        { const __m512 x_20 = _mm512_maskz_loadu_ps(TAIL, x_r + 4 * X_w + X_s); acc_4_0 = _mm512_fmadd_ps(x_20, w_4_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_20, w_8_0, acc_3_0); }
        { const __m512 x_21 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + 4 * X_w + X_s)); acc_4_0 = _mm512_fmadd_ps(x_21, w_5_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_21, w_9_0, acc_3_0); }
        { const __m512 x_22 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + 4 * X_w + X_s)); acc_4_0 = _mm512_fmadd_ps(x_22, w_6_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_22, w_10_0, acc_3_0); }
        { const __m512 x_23 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + 4 * X_w + X_s)); acc_4_0 = _mm512_fmadd_ps(x_23, w_7_0, acc_4_0); acc_3_0 = _mm512_fmadd_ps(x_23, w_11_0, acc_3_0); }
        { const __m512 x_24 = _mm512_maskz_loadu_ps(TAIL, x_r + X_h); acc_5_0 = _mm512_fmadd_ps(x_24, w_0_0, acc_5_0); }
        { const __m512 x_25 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + X_h)); acc_5_0 = _mm512_fmadd_ps(x_25, w_1_0, acc_5_0); }
        { const __m512 x_26 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + X_h)); acc_5_0 = _mm512_fmadd_ps(x_26, w_2_0, acc_5_0); }
        { const __m512 x_27 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + X_h)); acc_5_0 = _mm512_fmadd_ps(x_27, w_3_0, acc_5_0); }
        { const __m512 x_28 = _mm512_maskz_loadu_ps(TAIL, x_r + X_h + X_w); acc_6_0 = _mm512_fmadd_ps(x_28, w_0_0, acc_6_0); acc_5_0 = _mm512_fmadd_ps(x_28, w_4_0, acc_5_0); }
        { const __m512 x_29 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + X_w)); acc_6_0 = _mm512_fmadd_ps(x_29, w_1_0, acc_6_0); acc_5_0 = _mm512_fmadd_ps(x_29, w_5_0, acc_5_0); }
        { const __m512 x_30 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + X_w)); acc_6_0 = _mm512_fmadd_ps(x_30, w_2_0, acc_6_0); acc_5_0 = _mm512_fmadd_ps(x_30, w_6_0, acc_5_0); }
        { const __m512 x_31 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + X_w)); acc_6_0 = _mm512_fmadd_ps(x_31, w_3_0, acc_6_0); acc_5_0 = _mm512_fmadd_ps(x_31, w_7_0, acc_5_0); }
        { const __m512 x_32 = _mm512_maskz_loadu_ps(TAIL, x_r + X_h + 2 * X_w); acc_7_0 = _mm512_fmadd_ps(x_32, w_0_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_32, w_4_0, acc_6_0); acc_5_0 = _mm512_fmadd_ps(x_32, w_8_0, acc_5_0); }
        { const __m512 x_33 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + 2 * X_w)); acc_7_0 = _mm512_fmadd_ps(x_33, w_1_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_33, w_5_0, acc_6_0); acc_5_0 = _mm512_fmadd_ps(x_33, w_9_0, acc_5_0); }
        { const __m512 x_34 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + 2 * X_w)); acc_7_0 = _mm512_fmadd_ps(x_34, w_2_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_34, w_6_0, acc_6_0); acc_5_0 = _mm512_fmadd_ps(x_34, w_10_0, acc_5_0); }
        { const __m512 x_35 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + 2 * X_w)); acc_7_0 = _mm512_fmadd_ps(x_35, w_3_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_35, w_7_0, acc_6_0); acc_5_0 = _mm512_fmadd_ps(x_35, w_11_0, acc_5_0); }
        { const __m512 x_36 = _mm512_maskz_loadu_ps(TAIL, x_r + X_h + 3 * X_w); acc_8_0 = _mm512_fmadd_ps(x_36, w_0_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_36, w_4_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_36, w_8_0, acc_6_0); }
        { const __m512 x_37 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + 3 * X_w)); acc_8_0 = _mm512_fmadd_ps(x_37, w_1_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_37, w_5_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_37, w_9_0, acc_6_0); }
        { const __m512 x_38 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + 3 * X_w)); acc_8_0 = _mm512_fmadd_ps(x_38, w_2_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_38, w_6_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_38, w_10_0, acc_6_0); }
        { const __m512 x_39 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + 3 * X_w)); acc_8_0 = _mm512_fmadd_ps(x_39, w_3_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_39, w_7_0, acc_7_0); acc_6_0 = _mm512_fmadd_ps(x_39, w_11_0, acc_6_0); }
        { const __m512 x_40 = _mm512_maskz_loadu_ps(TAIL, x_r + X_h + 4 * X_w); acc_9_0 = _mm512_fmadd_ps(x_40, w_0_0, acc_9_0); acc_8_0 = _mm512_fmadd_ps(x_40, w_4_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_40, w_8_0, acc_7_0); }
        { const __m512 x_41 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + 4 * X_w)); acc_9_0 = _mm512_fmadd_ps(x_41, w_1_0, acc_9_0); acc_8_0 = _mm512_fmadd_ps(x_41, w_5_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_41, w_9_0, acc_7_0); }
        { const __m512 x_42 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + 4 * X_w)); acc_9_0 = _mm512_fmadd_ps(x_42, w_2_0, acc_9_0); acc_8_0 = _mm512_fmadd_ps(x_42, w_6_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_42, w_10_0, acc_7_0); }
        { const __m512 x_43 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + 4 * X_w)); acc_9_0 = _mm512_fmadd_ps(x_43, w_3_0, acc_9_0); acc_8_0 = _mm512_fmadd_ps(x_43, w_7_0, acc_8_0); acc_7_0 = _mm512_fmadd_ps(x_43, w_11_0, acc_7_0); }
        { const __m512 x_44 = _mm512_maskz_loadu_ps(TAIL, x_r + X_h + 4 * X_w + X_s); acc_9_0 = _mm512_fmadd_ps(x_44, w_4_0, acc_9_0); acc_8_0 = _mm512_fmadd_ps(x_44, w_8_0, acc_8_0); }
        { const __m512 x_45 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + 4 * X_w + X_s)); acc_9_0 = _mm512_fmadd_ps(x_45, w_5_0, acc_9_0); acc_8_0 = _mm512_fmadd_ps(x_45, w_9_0, acc_8_0); }
        { const __m512 x_46 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + 4 * X_w + X_s)); acc_9_0 = _mm512_fmadd_ps(x_46, w_6_0, acc_9_0); acc_8_0 = _mm512_fmadd_ps(x_46, w_10_0, acc_8_0); }
        { const __m512 x_47 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + X_h + 4 * X_w + X_s)); acc_9_0 = _mm512_fmadd_ps(x_47, w_7_0, acc_9_0); acc_8_0 = _mm512_fmadd_ps(x_47, w_11_0, acc_8_0); }
    }
    _mm512_mask_storeu_ps(y, TAIL, acc_0_0);
    _mm512_mask_storeu_ps(y + Y_w, TAIL, acc_1_0);
    _mm512_mask_storeu_ps(y + 2 * Y_w, TAIL, acc_2_0);
    _mm512_mask_storeu_ps(y + 3 * Y_w, TAIL, acc_3_0);
    _mm512_mask_storeu_ps(y + 4 * Y_w, TAIL, acc_4_0);
    _mm512_mask_storeu_ps(y + Y_h, TAIL, acc_5_0);
    _mm512_mask_storeu_ps(y + Y_h + Y_w, TAIL, acc_6_0);
    _mm512_mask_storeu_ps(y + Y_h + 2 * Y_w, TAIL, acc_7_0);
    _mm512_mask_storeu_ps(y + Y_h + 3 * Y_w, TAIL, acc_8_0);
    _mm512_mask_storeu_ps(y + Y_h + 4 * Y_w, TAIL, acc_9_0);
    _mm512_mask_storeu_ps(y + 2 * Y_h, TAIL, acc_10_0);
    _mm512_mask_storeu_ps(y + 2 * Y_h + Y_w, TAIL, acc_11_0);
    _mm512_mask_storeu_ps(y + 2 * Y_h + 2 * Y_w, TAIL, acc_12_0);
    _mm512_mask_storeu_ps(y + 2 * Y_h + 3 * Y_w, TAIL, acc_13_0);
    _mm512_mask_storeu_ps(y + 2 * Y_h + 4 * Y_w, TAIL, acc_14_0);
}

/* Whether this CPU runs the kernel. This function and the packing run on any. */
__attribute__((target("no-avx"))) int grouped2d_f32_n2_c44_h9_w8_k44_r3_s3_groups11_pad1__avx512f_supported(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("fma");
}

/* The loops over tiles; their variables are positions. Tiles get pointers to their own first x, panel and y. */
void grouped2d_f32_n2_c44_h9_w8_k44_r3_s3_groups11_pad1__avx512f(const float *restrict X, const float *restrict W, float *restrict Y)
{
    if (!grouped2d_f32_n2_c44_h9_w8_k44_r3_s3_groups11_pad1__avx512f_supported()) {
        fputs("grouped2d_f32_n2_c44_h9_w8_k44_r3_s3_groups11_pad1__avx512f: this CPU lacks avx512f or avx512vl or fma\n", stderr);
        abort();
    }
    for (long n = 0; n < 2; ++n) {
        for (long h = 0; h < 9; h += 3) {
            for (long k = 0; k < 48; k += 16) {
                if (k < 32) {
                    if (h >= 3 && h <= 3) {
                        tile0_3hx3wx16kx4cx3s_wpad0(X + n * X_n + k * X_k + h * X_h - X_PAD, W + k * W_PANEL, Y + n * Y_n + k * Y_k + h * Y_h);
                    } else if (h <= 0) {
                        tile0_3hx3wx16kx4cx3s_hpad1_wpad0(X + n * X_n + k * X_k + h * X_h - X_PAD, W + k * W_PANEL, Y + n * Y_n + k * Y_k + h * Y_h);
                    } else {
                        tile0_3hx3wx16kx4cx3s_hpad2_wpad0(X + n * X_n + k * X_k + h * X_h - X_PAD, W + k * W_PANEL, Y + n * Y_n + k * Y_k + h * Y_h);
                    }
                } else {
                    if (h >= 3 && h <= 3) {
                        tile0_3hx3wx16kx4cx3s_wpad0_tail(X + n * X_n + k * X_k + h * X_h - X_PAD, W + k * W_PANEL, Y + n * Y_n + k * Y_k + h * Y_h);
                    } else if (h <= 0) {
                        tile0_3hx3wx16kx4cx3s_hpad1_wpad0_tail(X + n * X_n + k * X_k + h * X_h - X_PAD, W + k * W_PANEL, Y + n * Y_n + k * Y_k + h * Y_h);
                    } else {
                        tile0_3hx3wx16kx4cx3s_hpad2_wpad0_tail(X + n * X_n + k * X_k + h * X_h - X_PAD, W + k * W_PANEL, Y + n * Y_n + k * Y_k + h * Y_h);
                    }
                }
            }
            for (long k = 0; k < 48; k += 16) {
                if (k < 32) {
                    if (h >= 3 && h <= 3) {
                        tile1_3hx5wx16kx4cx3s_wpad0(X + n * X_n + k * X_k + h * X_h + 3 * X_w - X_PAD, W + k * W_PANEL, Y + n * Y_n + k * Y_k + h * Y_h + 3 * Y_w);
                    } else if (h <= 0) {
                        tile1_3hx5wx16kx4cx3s_hpad1_wpad0(X + n * X_n + k * X_k + h * X_h + 3 * X_w - X_PAD, W + k * W_PANEL, Y + n * Y_n + k * Y_k + h * Y_h + 3 * Y_w);
                    } else {
                        tile1_3hx5wx16kx4cx3s_hpad2_wpad0(X + n * X_n + k * X_k + h * X_h + 3 * X_w - X_PAD, W + k * W_PANEL, Y + n * Y_n + k * Y_k + h * Y_h + 3 * Y_w);
                    }
                } else {
                    if (h >= 3 && h <= 3) {
                        tile1_3hx5wx16kx4cx3s_wpad0_tail(X + n * X_n + k * X_k + h * X_h + 3 * X_w - X_PAD, W + k * W_PANEL, Y + n * Y_n + k * Y_k + h * Y_h + 3 * Y_w);
                    } else if (h <= 0) {
                        tile1_3hx5wx16kx4cx3s_hpad1_wpad0_tail(X + n * X_n + k * X_k + h * X_h + 3 * X_w - X_PAD, W + k * W_PANEL, Y + n * Y_n + k * Y_k + h * Y_h + 3 * Y_w);
                    } else {
                        tile1_3hx5wx16kx4cx3s_hpad2_wpad0_tail(X + n * X_n + k * X_k + h * X_h + 3 * X_w - X_PAD, W + k * W_PANEL, Y + n * Y_n + k * Y_k + h * Y_h + 3 * Y_w);
                    }
                }
            }
        }
    }
}

/* Packs weights that lie as w[k, (k ^ c) % 4, r, s] of 44 x 4 x 3 x 3. */
__attribute__((target("no-avx"))) void grouped2d_f32_n2_c44_h9_w8_k44_r3_s3_groups11_pad1__avx512f_pack(const float *restrict W, float *restrict packed)
{
    for (long k = 0; k <= 32; k += 16)
        for (long r = 0; r < 3; r += 1)
            for (long s = 0; s < 3; s += 1)
                for (long c = 0; c < 4; c += 1)
                    for (long lane = 0; lane < 16; ++lane)
                        *packed++ = k + lane < 44 ? W[(k + lane) * 36 + (c ^ (lane % 4)) * 9 + r * 3 + s * 1] : 0;
}
