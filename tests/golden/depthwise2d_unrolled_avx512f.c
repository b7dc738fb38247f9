/*
 * depthwise2d n=2,c=37,h=9,w=8,k=37,r=3,s=3,groups=37,pad=1
 *
 * Written by Tilewright VERSION from the scheme
 *
 *     R(n) R(c) T(h,9) T(w,2) S(y) U(r,3) U(s,3) U(w,4) V(c,16)
 *
 *     for n in 2 steps of 1:
 *       for c in 3 steps of 16:
 *         for h in 9 steps of 1:
 *           for w in 2 steps of 4:
 *             with the tile of y in registers:
 *               register tile 16c × 4w × 3r × 3s
 *
 * Microkernels:
 *     f32_depthwise2d_ukernel_4wx16cx3rx3s_s1__avx512f: 36 FMAs, 27 loads and no stores per step, 5 of 32 registers (4 accumulators)
 *
 * Operands, row-major f32:
 *     X: x[n, h + r - 1, w + s - 1, c] of 2 x 9 x 8 x 37
 *     W: w[c, 0, r, s] of 37 x 1 x 3 x 3
 *     Y: y[n, h, w, c] of 2 x 9 x 8 x 37
 *     W holds the panels that the scheme reads, one after the other, reduction points in the order of its loops.
 */
#include <immintrin.h>
#include <stdio.h>
#include <stdlib.h>

/* Floats that the address of X or Y moves when a dim grows by one; X_PAD is how far the first tap stands before X,
 * W_PANEL the reduction points of a panel, PANEL_v the floats of v weight vectors side by side. */
static const long X_n = 2664;
static const long X_c = 1;
static const long X_h = 296;
static const long X_w = 37;
static const long X_r = 296;
static const long X_s = 37;
static const long Y_n = 2664;
static const long Y_c = 1;
static const long Y_h = 296;
static const long Y_w = 37;
static const long X_PAD = 333;
static const long W_PANEL = 9;
static const long PANEL_1 = 16;
#define TAIL ((__mmask16)0x001f) /* the 5 lanes used of the last vector */

/* All registers are taken: without this fence the compiler keeps an x for later and spills an accumulator for it. */
#define KEEP_APART __asm__ volatile("" ::: "memory")

/* 4 rows x 1 vectors, summed over one step; padding along w: rows on the image for each tap of s are 0:1-3 1:0-3 2:0-3. */
static void tile0_4wx16cx3rx3s_wpad0(const float *x, const float *w, float *y)
{
    __m512 acc_0_0 = _mm512_setzero_ps();
    __m512 acc_1_0 = _mm512_setzero_ps();
    __m512 acc_2_0 = _mm512_setzero_ps();
    __m512 acc_3_0 = _mm512_setzero_ps();
    const __m512 w_0_0 = _mm512_loadu_ps(w);
    const __m512 w_1_0 = _mm512_loadu_ps(w + 1 * PANEL_1);
    const __m512 w_2_0 = _mm512_loadu_ps(w + 2 * PANEL_1);
    const __m512 w_3_0 = _mm512_loadu_ps(w + 3 * PANEL_1);
    const __m512 w_4_0 = _mm512_loadu_ps(w + 4 * PANEL_1);
    const __m512 w_5_0 = _mm512_loadu_ps(w + 5 * PANEL_1);
    const __m512 w_6_0 = _mm512_loadu_ps(w + 6 * PANEL_1);
    const __m512 w_7_0 = _mm512_loadu_ps(w + 7 * PANEL_1);
    const __m512 w_8_0 = _mm512_loadu_ps(w + 8 * PANEL_1);
    { const __m512 x_0 = _mm512_loadu_ps(x + X_w); acc_1_0 = _mm512_fmadd_ps(x_0, w_0_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_0, w_1_0, acc_0_0); }
    { const __m512 x_1 = _mm512_loadu_ps(x + 2 * X_w); acc_2_0 = _mm512_fmadd_ps(x_1, w_0_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_1, w_1_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_1, w_2_0, acc_0_0); }
    { const __m512 x_2 = _mm512_loadu_ps(x + 3 * X_w); acc_3_0 = _mm512_fmadd_ps(x_2, w_0_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_2, w_1_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_2, w_2_0, acc_1_0); }
    { const __m512 x_3 = _mm512_loadu_ps(x + 3 * X_w + X_s); acc_3_0 = _mm512_fmadd_ps(x_3, w_1_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_3, w_2_0, acc_2_0); }
    { const __m512 x_4 = _mm512_loadu_ps(x + 3 * X_w + 2 * X_s); acc_3_0 = _mm512_fmadd_ps(x_4, w_2_0, acc_3_0); }
    { const __m512 x_5 = _mm512_loadu_ps(x + X_w + X_r); acc_1_0 = _mm512_fmadd_ps(x_5, w_3_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_5, w_4_0, acc_0_0); }
    { const __m512 x_6 = _mm512_loadu_ps(x + 2 * X_w + X_r); acc_2_0 = _mm512_fmadd_ps(x_6, w_3_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_6, w_4_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_6, w_5_0, acc_0_0); }
    { const __m512 x_7 = _mm512_loadu_ps(x + 3 * X_w + X_r); acc_3_0 = _mm512_fmadd_ps(x_7, w_3_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_7, w_4_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_7, w_5_0, acc_1_0); }
    { const __m512 x_8 = _mm512_loadu_ps(x + 3 * X_w + X_r + X_s); acc_3_0 = _mm512_fmadd_ps(x_8, w_4_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_8, w_5_0, acc_2_0); }
    { const __m512 x_9 = _mm512_loadu_ps(x + 3 * X_w + X_r + 2 * X_s); acc_3_0 = _mm512_fmadd_ps(x_9, w_5_0, acc_3_0); }
    { const __m512 x_10 = _mm512_loadu_ps(x + X_w + 2 * X_r); acc_1_0 = _mm512_fmadd_ps(x_10, w_6_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_10, w_7_0, acc_0_0); }
    { const __m512 x_11 = _mm512_loadu_ps(x + 2 * X_w + 2 * X_r); acc_2_0 = _mm512_fmadd_ps(x_11, w_6_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_11, w_7_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_11, w_8_0, acc_0_0); }
    { const __m512 x_12 = _mm512_loadu_ps(x + 3 * X_w + 2 * X_r); acc_3_0 = _mm512_fmadd_ps(x_12, w_6_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_12, w_7_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_12, w_8_0, acc_1_0); }
    { const __m512 x_13 = _mm512_loadu_ps(x + 3 * X_w + 2 * X_r + X_s); acc_3_0 = _mm512_fmadd_ps(x_13, w_7_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_13, w_8_0, acc_2_0); }
    { const __m512 x_14 = _mm512_loadu_ps(x + 3 * X_w + 2 * X_r + 2 * X_s); acc_3_0 = _mm512_fmadd_ps(x_14, w_8_0, acc_3_0); }
    _mm512_storeu_ps(y, acc_0_0);
    _mm512_storeu_ps(y + Y_w, acc_1_0);
    _mm512_storeu_ps(y + 2 * Y_w, acc_2_0);
    _mm512_storeu_ps(y + 3 * Y_w, acc_3_0);
}

/* 4 rows x 1 vectors, summed over one step; padding along w: rows on the image for each tap of s are 0:1-3 1:0-3 2:0-3; the last vector is masked. */
static void tile0_4wx16cx3rx3s_wpad0_tail(const float *x, const float *w, float *y)
{
    __m512 acc_0_0 = _mm512_setzero_ps();
    __m512 acc_1_0 = _mm512_setzero_ps();
    __m512 acc_2_0 = _mm512_setzero_ps();
    __m512 acc_3_0 = _mm512_setzero_ps();
    const __m512 w_0_0 = _mm512_loadu_ps(w);
    const __m512 w_1_0 = _mm512_loadu_ps(w + 1 * PANEL_1);
    const __m512 w_2_0 = _mm512_loadu_ps(w + 2 * PANEL_1);
    const __m512 w_3_0 = _mm512_loadu_ps(w + 3 * PANEL_1);
    const __m512 w_4_0 = _mm512_loadu_ps(w + 4 * PANEL_1);
    const __m512 w_5_0 = _mm512_loadu_ps(w + 5 * PANEL_1);
    const __m512 w_6_0 = _mm512_loadu_ps(w + 6 * PANEL_1);
    const __m512 w_7_0 = _mm512_loadu_ps(w + 7 * PANEL_1);
    const __m512 w_8_0 = _mm512_loadu_ps(w + 8 * PANEL_1);
    { const __m512 x_0 = _mm512_maskz_loadu_ps(TAIL, x + X_w); acc_1_0 = _mm512_fmadd_ps(x_0, w_0_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_0, w_1_0, acc_0_0); }
    { const __m512 x_1 = _mm512_maskz_loadu_ps(TAIL, x + 2 * X_w); acc_2_0 = _mm512_fmadd_ps(x_1, w_0_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_1, w_1_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_1, w_2_0, acc_0_0); }
    { const __m512 x_2 = _mm512_maskz_loadu_ps(TAIL, x + 3 * X_w); acc_3_0 = _mm512_fmadd_ps(x_2, w_0_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_2, w_1_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_2, w_2_0, acc_1_0); }
    { const __m512 x_3 = _mm512_maskz_loadu_ps(TAIL, x + 3 * X_w + X_s); acc_3_0 = _mm512_fmadd_ps(x_3, w_1_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_3, w_2_0, acc_2_0); }
    { const __m512 x_4 = _mm512_maskz_loadu_ps(TAIL, x + 3 * X_w + 2 * X_s); acc_3_0 = _mm512_fmadd_ps(x_4, w_2_0, acc_3_0); }
    { const __m512 x_5 = _mm512_maskz_loadu_ps(TAIL, x + X_w + X_r); acc_1_0 = _mm512_fmadd_ps(x_5, w_3_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_5, w_4_0, acc_0_0); }
    { const __m512 x_6 = _mm512_maskz_loadu_ps(TAIL, x + 2 * X_w + X_r); acc_2_0 = _mm512_fmadd_ps(x_6, w_3_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_6, w_4_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_6, w_5_0, acc_0_0); }
    { const __m512 x_7 = _mm512_maskz_loadu_ps(TAIL, x + 3 * X_w + X_r); acc_3_0 = _mm512_fmadd_ps(x_7, w_3_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_7, w_4_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_7, w_5_0, acc_1_0); }
    { const __m512 x_8 = _mm512_maskz_loadu_ps(TAIL, x + 3 * X_w + X_r + X_s); acc_3_0 = _mm512_fmadd_ps(x_8, w_4_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_8, w_5_0, acc_2_0); }
    { const __m512 x_9 = _mm512_maskz_loadu_ps(TAIL, x + 3 * X_w + X_r + 2 * X_s); acc_3_0 = _mm512_fmadd_ps(x_9, w_5_0, acc_3_0); }
    { const __m512 x_10 = _mm512_maskz_loadu_ps(TAIL, x + X_w + 2 * X_r); acc_1_0 = _mm512_fmadd_ps(x_10, w_6_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_10, w_7_0, acc_0_0); }
    { const __m512 x_11 = _mm512_maskz_loadu_ps(TAIL, x + 2 * X_w + 2 * X_r); acc_2_0 = _mm512_fmadd_ps(x_11, w_6_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_11, w_7_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_11, w_8_0, acc_0_0); }
    { const __m512 x_12 = _mm512_maskz_loadu_ps(TAIL, x + 3 * X_w + 2 * X_r); acc_3_0 = _mm512_fmadd_ps(x_12, w_6_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_12, w_7_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_12, w_8_0, acc_1_0); }
    { const __m512 x_13 = _mm512_maskz_loadu_ps(TAIL, x + 3 * X_w + 2 * X_r + X_s); acc_3_0 = _mm512_fmadd_ps(x_13, w_7_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_13, w_8_0, acc_2_0); }
    { const __m512 x_14 = _mm512_maskz_loadu_ps(TAIL, x + 3 * X_w + 2 * X_r + 2 * X_s); acc_3_0 = _mm512_fmadd_ps(x_14, w_8_0, acc_3_0); }
    _mm512_mask_storeu_ps(y, TAIL, acc_0_0);
    _mm512_mask_storeu_ps(y + Y_w, TAIL, acc_1_0);
    _mm512_mask_storeu_ps(y + 2 * Y_w, TAIL, acc_2_0);
    _mm512_mask_storeu_ps(y + 3 * Y_w, TAIL, acc_3_0);
}

/* 4 rows x 1 vectors, summed over one step; padding along w: rows on the image for each tap of s are 0:0-3 1:0-3 2:0-2. */
static void tile0_4wx16cx3rx3s_wpad1(const float *x, const float *w, float *y)
{
    __m512 acc_0_0 = _mm512_setzero_ps();
    __m512 acc_1_0 = _mm512_setzero_ps();
    __m512 acc_2_0 = _mm512_setzero_ps();
    __m512 acc_3_0 = _mm512_setzero_ps();
    const __m512 w_0_0 = _mm512_loadu_ps(w);
    const __m512 w_1_0 = _mm512_loadu_ps(w + 1 * PANEL_1);
    const __m512 w_2_0 = _mm512_loadu_ps(w + 2 * PANEL_1);
    const __m512 w_3_0 = _mm512_loadu_ps(w + 3 * PANEL_1);
    const __m512 w_4_0 = _mm512_loadu_ps(w + 4 * PANEL_1);
    const __m512 w_5_0 = _mm512_loadu_ps(w + 5 * PANEL_1);
    const __m512 w_6_0 = _mm512_loadu_ps(w + 6 * PANEL_1);
    const __m512 w_7_0 = _mm512_loadu_ps(w + 7 * PANEL_1);
    const __m512 w_8_0 = _mm512_loadu_ps(w + 8 * PANEL_1);
    { const __m512 x_0 = _mm512_loadu_ps(x); acc_0_0 = _mm512_fmadd_ps(x_0, w_0_0, acc_0_0); }
    { const __m512 x_1 = _mm512_loadu_ps(x + X_w); acc_1_0 = _mm512_fmadd_ps(x_1, w_0_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_1, w_1_0, acc_0_0); }
    { const __m512 x_2 = _mm512_loadu_ps(x + 2 * X_w); acc_2_0 = _mm512_fmadd_ps(x_2, w_0_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_2, w_1_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_2, w_2_0, acc_0_0); }
    { const __m512 x_3 = _mm512_loadu_ps(x + 3 * X_w); acc_3_0 = _mm512_fmadd_ps(x_3, w_0_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_3, w_1_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_3, w_2_0, acc_1_0); }
    { const __m512 x_4 = _mm512_loadu_ps(x + 3 * X_w + X_s); acc_3_0 = _mm512_fmadd_ps(x_4, w_1_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_4, w_2_0, acc_2_0); }
    { const __m512 x_5 = _mm512_loadu_ps(x + X_r); acc_0_0 = _mm512_fmadd_ps(x_5, w_3_0, acc_0_0); }
    { const __m512 x_6 = _mm512_loadu_ps(x + X_w + X_r); acc_1_0 = _mm512_fmadd_ps(x_6, w_3_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_6, w_4_0, acc_0_0); }
    { const __m512 x_7 = _mm512_loadu_ps(x + 2 * X_w + X_r); acc_2_0 = _mm512_fmadd_ps(x_7, w_3_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_7, w_4_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_7, w_5_0, acc_0_0); }
    { const __m512 x_8 = _mm512_loadu_ps(x + 3 * X_w + X_r); acc_3_0 = _mm512_fmadd_ps(x_8, w_3_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_8, w_4_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_8, w_5_0, acc_1_0); }
    { const __m512 x_9 = _mm512_loadu_ps(x + 3 * X_w + X_r + X_s); acc_3_0 = _mm512_fmadd_ps(x_9, w_4_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_9, w_5_0, acc_2_0); }
    { const __m512 x_10 = _mm512_loadu_ps(x + 2 * X_r); acc_0_0 = _mm512_fmadd_ps(x_10, w_6_0, acc_0_0); }
    { const __m512 x_11 = _mm512_loadu_ps(x + X_w + 2 * X_r); acc_1_0 = _mm512_fmadd_ps(x_11, w_6_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_11, w_7_0, acc_0_0); }
    { const __m512 x_12 = _mm512_loadu_ps(x + 2 * X_w + 2 * X_r); acc_2_0 = _mm512_fmadd_ps(x_12, w_6_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_12, w_7_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_12, w_8_0, acc_0_0); }
    { const __m512 x_13 = _mm512_loadu_ps(x + 3 * X_w + 2 * X_r); acc_3_0 = _mm512_fmadd_ps(x_13, w_6_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_13, w_7_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_13, w_8_0, acc_1_0); }
    { const __m512 x_14 = _mm512_loadu_ps(x + 3 * X_w + 2 * X_r + X_s); acc_3_0 = _mm512_fmadd_ps(x_14, w_7_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_14, w_8_0, acc_2_0); }
    _mm512_storeu_ps(y, acc_0_0);
    _mm512_storeu_ps(y + Y_w, acc_1_0);
    _mm512_storeu_ps(y + 2 * Y_w, acc_2_0);
    _mm512_storeu_ps(y + 3 * Y_w, acc_3_0);
}

/* 4 rows x 1 vectors, summed over one step; padding along w: rows on the image for each tap of s are 0:0-3 1:0-3 2:0-2; the last vector is masked. */
static void tile0_4wx16cx3rx3s_wpad1_tail(const float *x, const float *w, float *y)
{
    __m512 acc_0_0 = _mm512_setzero_ps();
    __m512 acc_1_0 = _mm512_setzero_ps();
    __m512 acc_2_0 = _mm512_setzero_ps();
    __m512 acc_3_0 = _mm512_setzero_ps();
    const __m512 w_0_0 = _mm512_loadu_ps(w);
    const __m512 w_1_0 = _mm512_loadu_ps(w + 1 * PANEL_1);
    const __m512 w_2_0 = _mm512_loadu_ps(w + 2 * PANEL_1);
    const __m512 w_3_0 = _mm512_loadu_ps(w + 3 * PANEL_1);
    const __m512 w_4_0 = _mm512_loadu_ps(w + 4 * PANEL_1);
    const __m512 w_5_0 = _mm512_loadu_ps(w + 5 * PANEL_1);
    const __m512 w_6_0 = _mm512_loadu_ps(w + 6 * PANEL_1);
    const __m512 w_7_0 = _mm512_loadu_ps(w + 7 * PANEL_1);
    const __m512 w_8_0 = _mm512_loadu_ps(w + 8 * PANEL_1);
    { const __m512 x_0 = _mm512_maskz_loadu_ps(TAIL, x); acc_0_0 = _mm512_fmadd_ps(x_0, w_0_0, acc_0_0); }
    { const __m512 x_1 = _mm512_maskz_loadu_ps(TAIL, x + X_w); acc_1_0 = _mm512_fmadd_ps(x_1, w_0_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_1, w_1_0, acc_0_0); }
    { const __m512 x_2 = _mm512_maskz_loadu_ps(TAIL, x + 2 * X_w); acc_2_0 = _mm512_fmadd_ps(x_2, w_0_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_2, w_1_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_2, w_2_0, acc_0_0); }
    { const __m512 x_3 = _mm512_maskz_loadu_ps(TAIL, x + 3 * X_w); acc_3_0 = _mm512_fmadd_ps(x_3, w_0_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_3, w_1_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_3, w_2_0, acc_1_0); }
    { const __m512 x_4 = _mm512_maskz_loadu_ps(TAIL, x + 3 * X_w + X_s); acc_3_0 = _mm512_fmadd_ps(x_4, w_1_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_4, w_2_0, acc_2_0); }
    { const __m512 x_5 = _mm512_maskz_loadu_ps(TAIL, x + X_r); acc_0_0 = _mm512_fmadd_ps(x_5, w_3_0, acc_0_0); }
    { const __m512 x_6 = _mm512_maskz_loadu_ps(TAIL, x + X_w + X_r); acc_1_0 = _mm512_fmadd_ps(x_6, w_3_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_6, w_4_0, acc_0_0); }
    { const __m512 x_7 = _mm512_maskz_loadu_ps(TAIL, x + 2 * X_w + X_r); acc_2_0 = _mm512_fmadd_ps(x_7, w_3_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_7, w_4_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_7, w_5_0, acc_0_0); }
    { const __m512 x_8 = _mm512_maskz_loadu_ps(TAIL, x + 3 * X_w + X_r); acc_3_0 = _mm512_fmadd_ps(x_8, w_3_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_8, w_4_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_8, w_5_0, acc_1_0); }
    { const __m512 x_9 = _mm512_maskz_loadu_ps(TAIL, x + 3 * X_w + X_r + X_s); acc_3_0 = _mm512_fmadd_ps(x_9, w_4_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_9, w_5_0, acc_2_0); }
    { const __m512 x_10 = _mm512_maskz_loadu_ps(TAIL, x + 2 * X_r); acc_0_0 = _mm512_fmadd_ps(x_10, w_6_0, acc_0_0); }
    { const __m512 x_11 = _mm512_maskz_loadu_ps(TAIL, x + X_w + 2 * X_r); acc_1_0 = _mm512_fmadd_ps(x_11, w_6_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_11, w_7_0, acc_0_0); }
    { const __m512 x_12 = _mm512_maskz_loadu_ps(TAIL, x + 2 * X_w + 2 * X_r); acc_2_0 = _mm512_fmadd_ps(x_12, w_6_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_12, w_7_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_12, w_8_0, acc_0_0); }
    { const __m512 x_13 = _mm512_maskz_loadu_ps(TAIL, x + 3 * X_w + 2 * X_r); acc_3_0 = _mm512_fmadd_ps(x_13, w_6_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_13, w_7_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_13, w_8_0, acc_1_0); }
    { const __m512 x_14 = _mm512_maskz_loadu_ps(TAIL, x + 3 * X_w + 2 * X_r + X_s); acc_3_0 = _mm512_fmadd_ps(x_14, w_7_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_14, w_8_0, acc_2_0); }
    _mm512_mask_storeu_ps(y, TAIL, acc_0_0);
    _mm512_mask_storeu_ps(y + Y_w, TAIL, acc_1_0);
    _mm512_mask_storeu_ps(y + 2 * Y_w, TAIL, acc_2_0);
    _mm512_mask_storeu_ps(y + 3 * Y_w, TAIL, acc_3_0);
}

/* 4 rows x 1 vectors, summed over one step; padding along h: rows on the image for each tap of r are 0:none 1:0-0 2:0-0; padding along w: rows on the image for each tap of s are 0:1-3 1:0-3 2:0-3. */
static void tile0_4wx16cx3rx3s_hpad1_wpad0(const float *x, const float *w, float *y)
{
    __m512 acc_0_0 = _mm512_setzero_ps();
    __m512 acc_1_0 = _mm512_setzero_ps();
    __m512 acc_2_0 = _mm512_setzero_ps();
    __m512 acc_3_0 = _mm512_setzero_ps();
    const __m512 w_0_0 = _mm512_loadu_ps(w + 3 * PANEL_1);
    const __m512 w_1_0 = _mm512_loadu_ps(w + 4 * PANEL_1);
    const __m512 w_2_0 = _mm512_loadu_ps(w + 5 * PANEL_1);
    const __m512 w_3_0 = _mm512_loadu_ps(w + 6 * PANEL_1);
    const __m512 w_4_0 = _mm512_loadu_ps(w + 7 * PANEL_1);
    const __m512 w_5_0 = _mm512_loadu_ps(w + 8 * PANEL_1);
    { const __m512 x_0 = _mm512_loadu_ps(x + X_w + X_r); acc_1_0 = _mm512_fmadd_ps(x_0, w_0_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_0, w_1_0, acc_0_0); }
    { const __m512 x_1 = _mm512_loadu_ps(x + 2 * X_w + X_r); acc_2_0 = _mm512_fmadd_ps(x_1, w_0_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_1, w_1_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_1, w_2_0, acc_0_0); }
    { const __m512 x_2 = _mm512_loadu_ps(x + 3 * X_w + X_r); acc_3_0 = _mm512_fmadd_ps(x_2, w_0_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_2, w_1_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_2, w_2_0, acc_1_0); }
    { const __m512 x_3 = _mm512_loadu_ps(x + 3 * X_w + X_r + X_s); acc_3_0 = _mm512_fmadd_ps(x_3, w_1_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_3, w_2_0, acc_2_0); }
    { const __m512 x_4 = _mm512_loadu_ps(x + 3 * X_w + X_r + 2 * X_s); acc_3_0 = _mm512_fmadd_ps(x_4, w_2_0, acc_3_0); }
    { const __m512 x_5 = _mm512_loadu_ps(x + X_w + 2 * X_r); acc_1_0 = _mm512_fmadd_ps(x_5, w_3_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_5, w_4_0, acc_0_0); }
    { const __m512 x_6 = _mm512_loadu_ps(x + 2 * X_w + 2 * X_r); acc_2_0 = _mm512_fmadd_ps(x_6, w_3_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_6, w_4_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_6, w_5_0, acc_0_0); }
    { const __m512 x_7 = _mm512_loadu_ps(x + 3 * X_w + 2 * X_r); acc_3_0 = _mm512_fmadd_ps(x_7, w_3_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_7, w_4_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_7, w_5_0, acc_1_0); }
    { const __m512 x_8 = _mm512_loadu_ps(x + 3 * X_w + 2 * X_r + X_s); acc_3_0 = _mm512_fmadd_ps(x_8, w_4_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_8, w_5_0, acc_2_0); }
    { const __m512 x_9 = _mm512_loadu_ps(x + 3 * X_w + 2 * X_r + 2 * X_s); acc_3_0 = _mm512_fmadd_ps(x_9, w_5_0, acc_3_0); }
    _mm512_storeu_ps(y, acc_0_0);
    _mm512_storeu_ps(y + Y_w, acc_1_0);
    _mm512_storeu_ps(y + 2 * Y_w, acc_2_0);
    _mm512_storeu_ps(y + 3 * Y_w, acc_3_0);
}

/* 4 rows x 1 vectors, summed over one step; padding along h: rows on the image for each tap of r are 0:none 1:0-0 2:0-0; padding along w: rows on the image for each tap of s are 0:1-3 1:0-3 2:0-3; the last vector is masked. */
static void tile0_4wx16cx3rx3s_hpad1_wpad0_tail(const float *x, const float *w, float *y)
{
    __m512 acc_0_0 = _mm512_setzero_ps();
    __m512 acc_1_0 = _mm512_setzero_ps();
    __m512 acc_2_0 = _mm512_setzero_ps();
    __m512 acc_3_0 = _mm512_setzero_ps();
    const __m512 w_0_0 = _mm512_loadu_ps(w + 3 * PANEL_1);
    const __m512 w_1_0 = _mm512_loadu_ps(w + 4 * PANEL_1);
    const __m512 w_2_0 = _mm512_loadu_ps(w + 5 * PANEL_1);
    const __m512 w_3_0 = _mm512_loadu_ps(w + 6 * PANEL_1);
    const __m512 w_4_0 = _mm512_loadu_ps(w + 7 * PANEL_1);
    const __m512 w_5_0 = _mm512_loadu_ps(w + 8 * PANEL_1);
    { const __m512 x_0 = _mm512_maskz_loadu_ps(TAIL, x + X_w + X_r); acc_1_0 = _mm512_fmadd_ps(x_0, w_0_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_0, w_1_0, acc_0_0); }
    { const __m512 x_1 = _mm512_maskz_loadu_ps(TAIL, x + 2 * X_w + X_r); acc_2_0 = _mm512_fmadd_ps(x_1, w_0_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_1, w_1_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_1, w_2_0, acc_0_0); }
    { const __m512 x_2 = _mm512_maskz_loadu_ps(TAIL, x + 3 * X_w + X_r); acc_3_0 = _mm512_fmadd_ps(x_2, w_0_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_2, w_1_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_2, w_2_0, acc_1_0); }
    { const __m512 x_3 = _mm512_maskz_loadu_ps(TAIL, x + 3 * X_w + X_r + X_s); acc_3_0 = _mm512_fmadd_ps(x_3, w_1_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_3, w_2_0, acc_2_0); }
    { const __m512 x_4 = _mm512_maskz_loadu_ps(TAIL, x + 3 * X_w + X_r + 2 * X_s); acc_3_0 = _mm512_fmadd_ps(x_4, w_2_0, acc_3_0); }
    { const __m512 x_5 = _mm512_maskz_loadu_ps(TAIL, x + X_w + 2 * X_r); acc_1_0 = _mm512_fmadd_ps(x_5, w_3_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_5, w_4_0, acc_0_0); }
    { const __m512 x_6 = _mm512_maskz_loadu_ps(TAIL, x + 2 * X_w + 2 * X_r); acc_2_0 = _mm512_fmadd_ps(x_6, w_3_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_6, w_4_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_6, w_5_0, acc_0_0); }
    { const __m512 x_7 = _mm512_maskz_loadu_ps(TAIL, x + 3 * X_w + 2 * X_r); acc_3_0 = _mm512_fmadd_ps(x_7, w_3_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_7, w_4_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_7, w_5_0, acc_1_0); }
    { const __m512 x_8 = _mm512_maskz_loadu_ps(TAIL, x + 3 * X_w + 2 * X_r + X_s); acc_3_0 = _mm512_fmadd_ps(x_8, w_4_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_8, w_5_0, acc_2_0); }
    { const __m512 x_9 = _mm512_maskz_loadu_ps(TAIL, x + 3 * X_w + 2 * X_r + 2 * X_s); acc_3_0 = _mm512_fmadd_ps(x_9, w_5_0, acc_3_0); }
    _mm512_mask_storeu_ps(y, TAIL, acc_0_0);
    _mm512_mask_storeu_ps(y + Y_w, TAIL, acc_1_0);
    _mm512_mask_storeu_ps(y + 2 * Y_w, TAIL, acc_2_0);
    _mm512_mask_storeu_ps(y + 3 * Y_w, TAIL, acc_3_0);
}

/* 4 rows x 1 vectors, summed over one step; padding along h: rows on the image for each tap of r are 0:none 1:0-0 2:0-0; padding along w: rows on the image for each tap of s are 0:0-3 1:0-3 2:0-2. */
static void tile0_4wx16cx3rx3s_hpad1_wpad1(const float *x, const float *w, float *y)
{
    __m512 acc_0_0 = _mm512_setzero_ps();
    __m512 acc_1_0 = _mm512_setzero_ps();
    __m512 acc_2_0 = _mm512_setzero_ps();
    __m512 acc_3_0 = _mm512_setzero_ps();
    const __m512 w_0_0 = _mm512_loadu_ps(w + 3 * PANEL_1);
    const __m512 w_1_0 = _mm512_loadu_ps(w + 4 * PANEL_1);
    const __m512 w_2_0 = _mm512_loadu_ps(w + 5 * PANEL_1);
    const __m512 w_3_0 = _mm512_loadu_ps(w + 6 * PANEL_1);
    const __m512 w_4_0 = _mm512_loadu_ps(w + 7 * PANEL_1);
    const __m512 w_5_0 = _mm512_loadu_ps(w + 8 * PANEL_1);
    { const __m512 x_0 = _mm512_loadu_ps(x + X_r); acc_0_0 = _mm512_fmadd_ps(x_0, w_0_0, acc_0_0); }
    { const __m512 x_1 = _mm512_loadu_ps(x + X_w + X_r); acc_1_0 = _mm512_fmadd_ps(x_1, w_0_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_1, w_1_0, acc_0_0); }
    { const __m512 x_2 = _mm512_loadu_ps(x + 2 * X_w + X_r); acc_2_0 = _mm512_fmadd_ps(x_2, w_0_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_2, w_1_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_2, w_2_0, acc_0_0); }
    { const __m512 x_3 = _mm512_loadu_ps(x + 3 * X_w + X_r); acc_3_0 = _mm512_fmadd_ps(x_3, w_0_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_3, w_1_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_3, w_2_0, acc_1_0); }
    { const __m512 x_4 = _mm512_loadu_ps(x + 3 * X_w + X_r + X_s); acc_3_0 = _mm512_fmadd_ps(x_4, w_1_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_4, w_2_0, acc_2_0); }
    { const __m512 x_5 = _mm512_loadu_ps(x + 2 * X_r); acc_0_0 = _mm512_fmadd_ps(x_5, w_3_0, acc_0_0); }
    { const __m512 x_6 = _mm512_loadu_ps(x + X_w + 2 * X_r); acc_1_0 = _mm512_fmadd_ps(x_6, w_3_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_6, w_4_0, acc_0_0); }
    { const __m512 x_7 = _mm512_loadu_ps(x + 2 * X_w + 2 * X_r); acc_2_0 = _mm512_fmadd_ps(x_7, w_3_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_7, w_4_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_7, w_5_0, acc_0_0); }
    { const __m512 x_8 = _mm512_loadu_ps(x + 3 * X_w + 2 * X_r); acc_3_0 = _mm512_fmadd_ps(x_8, w_3_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_8, w_4_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_8, w_5_0, acc_1_0); }
    { const __m512 x_9 = _mm512_loadu_ps(x + 3 * X_w + 2 * X_r + X_s); acc_3_0 = _mm512_fmadd_ps(x_9, w_4_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_9, w_5_0, acc_2_0); }
    _mm512_storeu_ps(y, acc_0_0);
    _mm512_storeu_ps(y + Y_w, acc_1_0);
    _mm512_storeu_ps(y + 2 * Y_w, acc_2_0);
    _mm512_storeu_ps(y + 3 * Y_w, acc_3_0);
}

/* 4 rows x 1 vectors, summed over one step; padding along h: rows on the image for each tap of r are 0:none 1:0-0 2:0-0; padding along w: rows on the image for each tap of s are 0:0-3 1:0-3 2:0-2; the last vector is masked. */
static void tile0_4wx16cx3rx3s_hpad1_wpad1_tail(const float *x, const float *w, float *y)
{
    __m512 acc_0_0 = _mm512_setzero_ps();
    __m512 acc_1_0 = _mm512_setzero_ps();
    __m512 acc_2_0 = _mm512_setzero_ps();
    __m512 acc_3_0 = _mm512_setzero_ps();
    const __m512 w_0_0 = _mm512_loadu_ps(w + 3 * PANEL_1);
    const __m512 w_1_0 = _mm512_loadu_ps(w + 4 * PANEL_1);
    const __m512 w_2_0 = _mm512_loadu_ps(w + 5 * PANEL_1);
    const __m512 w_3_0 = _mm512_loadu_ps(w + 6 * PANEL_1);
    const __m512 w_4_0 = _mm512_loadu_ps(w + 7 * PANEL_1);
    const __m512 w_5_0 = _mm512_loadu_ps(w + 8 * PANEL_1);
    { const __m512 x_0 = _mm512_maskz_loadu_ps(TAIL, x + X_r); acc_0_0 = _mm512_fmadd_ps(x_0, w_0_0, acc_0_0); }
    { const __m512 x_1 = _mm512_maskz_loadu_ps(TAIL, x + X_w + X_r); acc_1_0 = _mm512_fmadd_ps(x_1, w_0_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_1, w_1_0, acc_0_0); }
    { const __m512 x_2 = _mm512_maskz_loadu_ps(TAIL, x + 2 * X_w + X_r); acc_2_0 = _mm512_fmadd_ps(x_2, w_0_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_2, w_1_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_2, w_2_0, acc_0_0); }
    { const __m512 x_3 = _mm512_maskz_loadu_ps(TAIL, x + 3 * X_w + X_r); acc_3_0 = _mm512_fmadd_ps(x_3, w_0_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_3, w_1_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_3, w_2_0, acc_1_0); }
    { const __m512 x_4 = _mm512_maskz_loadu_ps(TAIL, x + 3 * X_w + X_r + X_s); acc_3_0 = _mm512_fmadd_ps(x_4, w_1_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_4, w_2_0, acc_2_0); }
    { const __m512 x_5 = _mm512_maskz_loadu_ps(TAIL, x + 2 * X_r); acc_0_0 = _mm512_fmadd_ps(x_5, w_3_0, acc_0_0); }
    { const __m512 x_6 = _mm512_maskz_loadu_ps(TAIL, x + X_w + 2 * X_r); acc_1_0 = _mm512_fmadd_ps(x_6, w_3_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_6, w_4_0, acc_0_0); }
    { const __m512 x_7 = _mm512_maskz_loadu_ps(TAIL, x + 2 * X_w + 2 * X_r); acc_2_0 = _mm512_fmadd_ps(x_7, w_3_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_7, w_4_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_7, w_5_0, acc_0_0); }
    { const __m512 x_8 = _mm512_maskz_loadu_ps(TAIL, x + 3 * X_w + 2 * X_r); acc_3_0 = _mm512_fmadd_ps(x_8, w_3_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_8, w_4_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_8, w_5_0, acc_1_0); }
    { const __m512 x_9 = _mm512_maskz_loadu_ps(TAIL, x + 3 * X_w + 2 * X_r + X_s); acc_3_0 = _mm512_fmadd_ps(x_9, w_4_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_9, w_5_0, acc_2_0); }
    _mm512_mask_storeu_ps(y, TAIL, acc_0_0);
    _mm512_mask_storeu_ps(y + Y_w, TAIL, acc_1_0);
    _mm512_mask_storeu_ps(y + 2 * Y_w, TAIL, acc_2_0);
    _mm512_mask_storeu_ps(y + 3 * Y_w, TAIL, acc_3_0);
}

/* 4 rows x 1 vectors, summed over one step; padding along h: rows on the image for each tap of r are 0:0-0 1:0-0 2:none; padding along w: rows on the image for each tap of s are 0:1-3 1:0-3 2:0-3. */
static void tile0_4wx16cx3rx3s_hpad2_wpad0(const float *x, const float *w, float *y)
{
    __m512 acc_0_0 = _mm512_setzero_ps();
    __m512 acc_1_0 = _mm512_setzero_ps();
    __m512 acc_2_0 = _mm512_setzero_ps();
    __m512 acc_3_0 = _mm512_setzero_ps();
    const __m512 w_0_0 = _mm512_loadu_ps(w);
    const __m512 w_1_0 = _mm512_loadu_ps(w + 1 * PANEL_1);
    const __m512 w_2_0 = _mm512_loadu_ps(w + 2 * PANEL_1);
    const __m512 w_3_0 = _mm512_loadu_ps(w + 3 * PANEL_1);
    const __m512 w_4_0 = _mm512_loadu_ps(w + 4 * PANEL_1);
    const __m512 w_5_0 = _mm512_loadu_ps(w + 5 * PANEL_1);
    { const __m512 x_0 = _mm512_loadu_ps(x + X_w); acc_1_0 = _mm512_fmadd_ps(x_0, w_0_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_0, w_1_0, acc_0_0); }
    { const __m512 x_1 = _mm512_loadu_ps(x + 2 * X_w); acc_2_0 = _mm512_fmadd_ps(x_1, w_0_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_1, w_1_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_1, w_2_0, acc_0_0); }
    { const __m512 x_2 = _mm512_loadu_ps(x + 3 * X_w); acc_3_0 = _mm512_fmadd_ps(x_2, w_0_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_2, w_1_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_2, w_2_0, acc_1_0); }
    { const __m512 x_3 = _mm512_loadu_ps(x + 3 * X_w + X_s); acc_3_0 = _mm512_fmadd_ps(x_3, w_1_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_3, w_2_0, acc_2_0); }
    { const __m512 x_4 = _mm512_loadu_ps(x + 3 * X_w + 2 * X_s); acc_3_0 = _mm512_fmadd_ps(x_4, w_2_0, acc_3_0); }
    { const __m512 x_5 = _mm512_loadu_ps(x + X_w + X_r); acc_1_0 = _mm512_fmadd_ps(x_5, w_3_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_5, w_4_0, acc_0_0); }
    { const __m512 x_6 = _mm512_loadu_ps(x + 2 * X_w + X_r); acc_2_0 = _mm512_fmadd_ps(x_6, w_3_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_6, w_4_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_6, w_5_0, acc_0_0); }
    { const __m512 x_7 = _mm512_loadu_ps(x + 3 * X_w + X_r); acc_3_0 = _mm512_fmadd_ps(x_7, w_3_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_7, w_4_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_7, w_5_0, acc_1_0); }
    { const __m512 x_8 = _mm512_loadu_ps(x + 3 * X_w + X_r + X_s); acc_3_0 = _mm512_fmadd_ps(x_8, w_4_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_8, w_5_0, acc_2_0); }
    { const __m512 x_9 = _mm512_loadu_ps(x + 3 * X_w + X_r + 2 * X_s); acc_3_0 = _mm512_fmadd_ps(x_9, w_5_0, acc_3_0); }
    _mm512_storeu_ps(y, acc_0_0);
    _mm512_storeu_ps(y + Y_w, acc_1_0);
    _mm512_storeu_ps(y + 2 * Y_w, acc_2_0);
    _mm512_storeu_ps(y + 3 * Y_w, acc_3_0);
}

/* 4 rows x 1 vectors, summed over one step; padding along h: rows on the image for each tap of r are 0:0-0 1:0-0 2:none; padding along w: rows on the image for each tap of s are 0:1-3 1:0-3 2:0-3; the last vector is masked. */
static void tile0_4wx16cx3rx3s_hpad2_wpad0_tail(const float *x, const float *w, float *y)
{
    __m512 acc_0_0 = _mm512_setzero_ps();
    __m512 acc_1_0 = _mm512_setzero_ps();
    __m512 acc_2_0 = _mm512_setzero_ps();
    __m512 acc_3_0 = _mm512_setzero_ps();
    const __m512 w_0_0 = _mm512_loadu_ps(w);
    const __m512 w_1_0 = _mm512_loadu_ps(w + 1 * PANEL_1);
    const __m512 w_2_0 = _mm512_loadu_ps(w + 2 * PANEL_1);
    const __m512 w_3_0 = _mm512_loadu_ps(w + 3 * PANEL_1);
    const __m512 w_4_0 = _mm512_loadu_ps(w + 4 * PANEL_1);
    const __m512 w_5_0 = _mm512_loadu_ps(w + 5 * PANEL_1);
    { const __m512 x_0 = _mm512_maskz_loadu_ps(TAIL, x + X_w); acc_1_0 = _mm512_fmadd_ps(x_0, w_0_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_0, w_1_0, acc_0_0); }
    { const __m512 x_1 = _mm512_maskz_loadu_ps(TAIL, x + 2 * X_w); acc_2_0 = _mm512_fmadd_ps(x_1, w_0_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_1, w_1_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_1, w_2_0, acc_0_0); }
    { const __m512 x_2 = _mm512_maskz_loadu_ps(TAIL, x + 3 * X_w); acc_3_0 = _mm512_fmadd_ps(x_2, w_0_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_2, w_1_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_2, w_2_0, acc_1_0); }
    { const __m512 x_3 = _mm512_maskz_loadu_ps(TAIL, x + 3 * X_w + X_s); acc_3_0 = _mm512_fmadd_ps(x_3, w_1_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_3, w_2_0, acc_2_0); }
    { const __m512 x_4 = _mm512_maskz_loadu_ps(TAIL, x + 3 * X_w + 2 * X_s); acc_3_0 = _mm512_fmadd_ps(x_4, w_2_0, acc_3_0); }
    { const __m512 x_5 = _mm512_maskz_loadu_ps(TAIL, x + X_w + X_r); acc_1_0 = _mm512_fmadd_ps(x_5, w_3_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_5, w_4_0, acc_0_0); }
    { const __m512 x_6 = _mm512_maskz_loadu_ps(TAIL, x + 2 * X_w + X_r); acc_2_0 = _mm512_fmadd_ps(x_6, w_3_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_6, w_4_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_6, w_5_0, acc_0_0); }
    { const __m512 x_7 = _mm512_maskz_loadu_ps(TAIL, x + 3 * X_w + X_r); acc_3_0 = _mm512_fmadd_ps(x_7, w_3_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_7, w_4_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_7, w_5_0, acc_1_0); }
    { const __m512 x_8 = _mm512_maskz_loadu_ps(TAIL, x + 3 * X_w + X_r + X_s); acc_3_0 = _mm512_fmadd_ps(x_8, w_4_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_8, w_5_0, acc_2_0); }
    { const __m512 x_9 = _mm512_maskz_loadu_ps(TAIL, x + 3 * X_w + X_r + 2 * X_s); acc_3_0 = _mm512_fmadd_ps(x_9, w_5_0, acc_3_0); }
    _mm512_mask_storeu_ps(y, TAIL, acc_0_0);
    _mm512_mask_storeu_ps(y + Y_w, TAIL, acc_1_0);
    _mm512_mask_storeu_ps(y + 2 * Y_w, TAIL, acc_2_0);
    _mm512_mask_storeu_ps(y + 3 * Y_w, TAIL, acc_3_0);
}

/* 4 rows x 1 vectors, summed over one step; padding along h: rows on the image for each tap of r are 0:0-0 1:0-0 2:none; padding along w: rows on the image for each tap of s are 0:0-3 1:0-3 2:0-2. */
static void tile0_4wx16cx3rx3s_hpad2_wpad1(const float *x, const float *w, float *y)
{
    __m512 acc_0_0 = _mm512_setzero_ps();
    __m512 acc_1_0 = _mm512_setzero_ps();
    __m512 acc_2_0 = _mm512_setzero_ps();
    __m512 acc_3_0 = _mm512_setzero_ps();
    const __m512 w_0_0 = _mm512_loadu_ps(w);
    const __m512 w_1_0 = _mm512_loadu_ps(w + 1 * PANEL_1);
    const __m512 w_2_0 = _mm512_loadu_ps(w + 2 * PANEL_1);
    const __m512 w_3_0 = _mm512_loadu_ps(w + 3 * PANEL_1);
    const __m512 w_4_0 = _mm512_loadu_ps(w + 4 * PANEL_1);
    const __m512 w_5_0 = _mm512_loadu_ps(w + 5 * PANEL_1);
    { const __m512 x_0 = _mm512_loadu_ps(x); acc_0_0 = _mm512_fmadd_ps(x_0, w_0_0, acc_0_0); }
    { const __m512 x_1 = _mm512_loadu_ps(x + X_w); acc_1_0 = _mm512_fmadd_ps(x_1, w_0_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_1, w_1_0, acc_0_0); }
    { const __m512 x_2 = _mm512_loadu_ps(x + 2 * X_w); acc_2_0 = _mm512_fmadd_ps(x_2, w_0_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_2, w_1_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_2, w_2_0, acc_0_0); }
    { const __m512 x_3 = _mm512_loadu_ps(x + 3 * X_w); acc_3_0 = _mm512_fmadd_ps(x_3, w_0_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_3, w_1_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_3, w_2_0, acc_1_0); }
    { const __m512 x_4 = _mm512_loadu_ps(x + 3 * X_w + X_s); acc_3_0 = _mm512_fmadd_ps(x_4, w_1_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_4, w_2_0, acc_2_0); }
    { const __m512 x_5 = _mm512_loadu_ps(x + X_r); acc_0_0 = _mm512_fmadd_ps(x_5, w_3_0, acc_0_0); }
    { const __m512 x_6 = _mm512_loadu_ps(x + X_w + X_r); acc_1_0 = _mm512_fmadd_ps(x_6, w_3_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_6, w_4_0, acc_0_0); }
    { const __m512 x_7 = _mm512_loadu_ps(x + 2 * X_w + X_r); acc_2_0 = _mm512_fmadd_ps(x_7, w_3_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_7, w_4_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_7, w_5_0, acc_0_0); }
    { const __m512 x_8 = _mm512_loadu_ps(x + 3 * X_w + X_r); acc_3_0 = _mm512_fmadd_ps(x_8, w_3_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_8, w_4_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_8, w_5_0, acc_1_0); }
    { const __m512 x_9 = _mm512_loadu_ps(x + 3 * X_w + X_r + X_s); acc_3_0 = _mm512_fmadd_ps(x_9, w_4_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_9, w_5_0, acc_2_0); }
    _mm512_storeu_ps(y, acc_0_0);
    _mm512_storeu_ps(y + Y_w, acc_1_0);
    _mm512_storeu_ps(y + 2 * Y_w, acc_2_0);
    _mm512_storeu_ps(y + 3 * Y_w, acc_3_0);
}

/* 4 rows x 1 vectors, summed over one step; padding along h: rows on the image for each tap of r are 0:0-0 1:0-0 2:none; padding along w: rows on the image for each tap of s are 0:0-3 1:0-3 2:0-2; the last vector is masked. */
static void tile0_4wx16cx3rx3s_hpad2_wpad1_tail(const float *x, const float *w, float *y)
{
    __m512 acc_0_0 = _mm512_setzero_ps();
    __m512 acc_1_0 = _mm512_setzero_ps();
    __m512 acc_2_0 = _mm512_setzero_ps();
    __m512 acc_3_0 = _mm512_setzero_ps();
    const __m512 w_0_0 = _mm512_loadu_ps(w);
    const __m512 w_1_0 = _mm512_loadu_ps(w + 1 * PANEL_1);
    const __m512 w_2_0 = _mm512_loadu_ps(w + 2 * PANEL_1);
    const __m512 w_3_0 = _mm512_loadu_ps(w + 3 * PANEL_1);
    const __m512 w_4_0 = _mm512_loadu_ps(w + 4 * PANEL_1);
    const __m512 w_5_0 = _mm512_loadu_ps(w + 5 * PANEL_1);
    { const __m512 x_0 = _mm512_maskz_loadu_ps(TAIL, x); acc_0_0 = _mm512_fmadd_ps(x_0, w_0_0, acc_0_0); }
    { const __m512 x_1 = _mm512_maskz_loadu_ps(TAIL, x + X_w); acc_1_0 = _mm512_fmadd_ps(x_1, w_0_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_1, w_1_0, acc_0_0); }
    { const __m512 x_2 = _mm512_maskz_loadu_ps(TAIL, x + 2 * X_w); acc_2_0 = _mm512_fmadd_ps(x_2, w_0_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_2, w_1_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_2, w_2_0, acc_0_0); }
    { const __m512 x_3 = _mm512_maskz_loadu_ps(TAIL, x + 3 * X_w); acc_3_0 = _mm512_fmadd_ps(x_3, w_0_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_3, w_1_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_3, w_2_0, acc_1_0); }
    { const __m512 x_4 = _mm512_maskz_loadu_ps(TAIL, x + 3 * X_w + X_s); acc_3_0 = _mm512_fmadd_ps(x_4, w_1_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_4, w_2_0, acc_2_0); }
    { const __m512 x_5 = _mm512_maskz_loadu_ps(TAIL, x + X_r); acc_0_0 = _mm512_fmadd_ps(x_5, w_3_0, acc_0_0); }
    { const __m512 x_6 = _mm512_maskz_loadu_ps(TAIL, x + X_w + X_r); acc_1_0 = _mm512_fmadd_ps(x_6, w_3_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_6, w_4_0, acc_0_0); }
    { const __m512 x_7 = _mm512_maskz_loadu_ps(TAIL, x + 2 * X_w + X_r); acc_2_0 = _mm512_fmadd_ps(x_7, w_3_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_7, w_4_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_7, w_5_0, acc_0_0); }
    { const __m512 x_8 = _mm512_maskz_loadu_ps(TAIL, x + 3 * X_w + X_r); acc_3_0 = _mm512_fmadd_ps(x_8, w_3_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_8, w_4_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_8, w_5_0, acc_1_0); }
    { const __m512 x_9 = _mm512_maskz_loadu_ps(TAIL, x + 3 * X_w + X_r + X_s); acc_3_0 = _mm512_fmadd_ps(x_9, w_4_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_9, w_5_0, acc_2_0); }
    _mm512_mask_storeu_ps(y, TAIL, acc_0_0);
    _mm512_mask_storeu_ps(y + Y_w, TAIL, acc_1_0);
    _mm512_mask_storeu_ps(y + 2 * Y_w, TAIL, acc_2_0);
    _mm512_mask_storeu_ps(y + 3 * Y_w, TAIL, acc_3_0);
}

/* Whether this CPU runs the kernel. This function and the packing run on any. */
__attribute__((target("no-avx"))) int depthwise2d_f32_n2_c37_h9_w8_k37_r3_s3_groups37_pad1__avx512f_supported(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("fma");
}

/* The loops over tiles; their variables are positions. Tiles get pointers to their own first x, panel and y. */
void depthwise2d_f32_n2_c37_h9_w8_k37_r3_s3_groups37_pad1__avx512f(const float *restrict X, const float *restrict W, float *restrict Y)
{
    if (!depthwise2d_f32_n2_c37_h9_w8_k37_r3_s3_groups37_pad1__avx512f_supported()) {
        fputs("depthwise2d_f32_n2_c37_h9_w8_k37_r3_s3_groups37_pad1__avx512f: this CPU lacks avx512f or avx512vl or fma\n", stderr);
        abort();
    }
    for (long n = 0; n < 2; ++n) {
        for (long c = 0; c < 48; c += 16) {
            for (long h = 0; h < 9; ++h) {
                for (long w = 0; w < 8; w += 4) {
                    if (c < 32) {
                        if (h >= 1 && h <= 7) {
                            if (w <= 0) {
                                tile0_4wx16cx3rx3s_wpad0(X + n * X_n + c * X_c + h * X_h + w * X_w - X_PAD, W + c * W_PANEL, Y + n * Y_n + c * Y_c + h * Y_h + w * Y_w);
                            } else {
                                tile0_4wx16cx3rx3s_wpad1(X + n * X_n + c * X_c + h * X_h + w * X_w - X_PAD, W + c * W_PANEL, Y + n * Y_n + c * Y_c + h * Y_h + w * Y_w);
                            }
                        } else if (h <= 0) {
                            if (w <= 0) {
                                tile0_4wx16cx3rx3s_hpad1_wpad0(X + n * X_n + c * X_c + h * X_h + w * X_w - X_PAD, W + c * W_PANEL, Y + n * Y_n + c * Y_c + h * Y_h + w * Y_w);
                            } else {
                                tile0_4wx16cx3rx3s_hpad1_wpad1(X + n * X_n + c * X_c + h * X_h + w * X_w - X_PAD, W + c * W_PANEL, Y + n * Y_n + c * Y_c + h * Y_h + w * Y_w);
                            }
                        } else {
                            if (w <= 0) {
                                tile0_4wx16cx3rx3s_hpad2_wpad0(X + n * X_n + c * X_c + h * X_h + w * X_w - X_PAD, W + c * W_PANEL, Y + n * Y_n + c * Y_c + h * Y_h + w * Y_w);
                            } else {
                                tile0_4wx16cx3rx3s_hpad2_wpad1(X + n * X_n + c * X_c + h * X_h + w * X_w - X_PAD, W + c * W_PANEL, Y + n * Y_n + c * Y_c + h * Y_h + w * Y_w);
                            }
                        }
                    } else {
                        if (h >= 1 && h <= 7) {
                            if (w <= 0) {
                                tile0_4wx16cx3rx3s_wpad0_tail(X + n * X_n + c * X_c + h * X_h + w * X_w - X_PAD, W + c * W_PANEL, Y + n * Y_n + c * Y_c + h * Y_h + w * Y_w);
                            } else {
                                tile0_4wx16cx3rx3s_wpad1_tail(X + n * X_n + c * X_c + h * X_h + w * X_w - X_PAD, W + c * W_PANEL, Y + n * Y_n + c * Y_c + h * Y_h + w * Y_w);
                            }
                        } else if (h <= 0) {
                            if (w <= 0) {
                                tile0_4wx16cx3rx3s_hpad1_wpad0_tail(X + n * X_n + c * X_c + h * X_h + w * X_w - X_PAD, W + c * W_PANEL, Y + n * Y_n + c * Y_c + h * Y_h + w * Y_w);
                            } else {
                                tile0_4wx16cx3rx3s_hpad1_wpad1_tail(X + n * X_n + c * X_c + h * X_h + w * X_w - X_PAD, W + c * W_PANEL, Y + n * Y_n + c * Y_c + h * Y_h + w * Y_w);
                            }
                        } else {
                            if (w <= 0) {
                                tile0_4wx16cx3rx3s_hpad2_wpad0_tail(X + n * X_n + c * X_c + h * X_h + w * X_w - X_PAD, W + c * W_PANEL, Y + n * Y_n + c * Y_c + h * Y_h + w * Y_w);
                            } else {
                                tile0_4wx16cx3rx3s_hpad2_wpad1_tail(X + n * X_n + c * X_c + h * X_h + w * X_w - X_PAD, W + c * W_PANEL, Y + n * Y_n + c * Y_c + h * Y_h + w * Y_w);
                            }
                        }
                    }
                }
            }
        }
    }
}

/* Packs weights that lie as w[c, 0, r, s] of 37 x 1 x 3 x 3. */
__attribute__((target("no-avx"))) void depthwise2d_f32_n2_c37_h9_w8_k37_r3_s3_groups37_pad1__avx512f_pack(const float *restrict W, float *restrict packed)
{
    for (long c = 0; c <= 32; c += 16)
        for (long r = 0; r < 3; r += 1)
            for (long s = 0; s < 3; s += 1)
                for (long lane = 0; lane < 16; ++lane)
                    *packed++ = c + lane < 37 ? W[(c + lane) * 9 + r * 3 + s * 1] : 0;
}
