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
 *     W is packed: the scheme's panels, one after the other, with reduction points in the order of its loops.
 */
#include <immintrin.h>

/* Elements between neighbours along each axis: X_h is along the axis h of X. W has none: tiles read it packed, in the
 * order of the loops. */
static const long X_n = 2664;
static const long X_h = 296;
static const long X_w = 37;
static const long X_c = 1;
static const long Y_n = 2664;
static const long Y_h = 296;
static const long Y_w = 37;
static const long Y_c = 1;

#define TAIL ((__mmask16)0x001f) /* the 5 lanes used of the last vector */

/* 4 rows x 1 vectors, summed over one step; c < 32; 1 <= h < 8; w < 4. */
static void tile0_4wx16cx3rx3s_wpad0(const float *x, const float *w, float *y)
{
    __m512 acc_0_0 = _mm512_setzero_ps();
    __m512 acc_1_0 = _mm512_setzero_ps();
    __m512 acc_2_0 = _mm512_setzero_ps();
    __m512 acc_3_0 = _mm512_setzero_ps();
    const __m512 w_0_0 = _mm512_loadu_ps(w);
    const __m512 w_1_0 = _mm512_loadu_ps(w + 16);
    const __m512 w_2_0 = _mm512_loadu_ps(w + 32);
    const __m512 w_3_0 = _mm512_loadu_ps(w + 48);
    const __m512 w_4_0 = _mm512_loadu_ps(w + 64);
    const __m512 w_5_0 = _mm512_loadu_ps(w + 80);
    const __m512 w_6_0 = _mm512_loadu_ps(w + 96);
    const __m512 w_7_0 = _mm512_loadu_ps(w + 112);
    const __m512 w_8_0 = _mm512_loadu_ps(w + 128);
    { const __m512 x_0 = _mm512_loadu_ps(x + X_w); acc_1_0 = _mm512_fmadd_ps(x_0, w_0_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_0, w_1_0, acc_0_0); }
    { const __m512 x_1 = _mm512_loadu_ps(x + 2 * X_w); acc_2_0 = _mm512_fmadd_ps(x_1, w_0_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_1, w_1_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_1, w_2_0, acc_0_0); }
    { const __m512 x_2 = _mm512_loadu_ps(x + 3 * X_w); acc_3_0 = _mm512_fmadd_ps(x_2, w_0_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_2, w_1_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_2, w_2_0, acc_1_0); }
    { const __m512 x_3 = _mm512_loadu_ps(x + 4 * X_w); acc_3_0 = _mm512_fmadd_ps(x_3, w_1_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_3, w_2_0, acc_2_0); }
    { const __m512 x_4 = _mm512_loadu_ps(x + 5 * X_w); acc_3_0 = _mm512_fmadd_ps(x_4, w_2_0, acc_3_0); }
    { const __m512 x_5 = _mm512_loadu_ps(x + X_h + X_w); acc_1_0 = _mm512_fmadd_ps(x_5, w_3_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_5, w_4_0, acc_0_0); }
    { const __m512 x_6 = _mm512_loadu_ps(x + X_h + 2 * X_w); acc_2_0 = _mm512_fmadd_ps(x_6, w_3_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_6, w_4_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_6, w_5_0, acc_0_0); }
    { const __m512 x_7 = _mm512_loadu_ps(x + X_h + 3 * X_w); acc_3_0 = _mm512_fmadd_ps(x_7, w_3_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_7, w_4_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_7, w_5_0, acc_1_0); }
    { const __m512 x_8 = _mm512_loadu_ps(x + X_h + 4 * X_w); acc_3_0 = _mm512_fmadd_ps(x_8, w_4_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_8, w_5_0, acc_2_0); }
    { const __m512 x_9 = _mm512_loadu_ps(x + X_h + 5 * X_w); acc_3_0 = _mm512_fmadd_ps(x_9, w_5_0, acc_3_0); }
    { const __m512 x_10 = _mm512_loadu_ps(x + 2 * X_h + X_w); acc_1_0 = _mm512_fmadd_ps(x_10, w_6_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_10, w_7_0, acc_0_0); }
    { const __m512 x_11 = _mm512_loadu_ps(x + 2 * X_h + 2 * X_w); acc_2_0 = _mm512_fmadd_ps(x_11, w_6_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_11, w_7_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_11, w_8_0, acc_0_0); }
    { const __m512 x_12 = _mm512_loadu_ps(x + 2 * X_h + 3 * X_w); acc_3_0 = _mm512_fmadd_ps(x_12, w_6_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_12, w_7_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_12, w_8_0, acc_1_0); }
    { const __m512 x_13 = _mm512_loadu_ps(x + 2 * X_h + 4 * X_w); acc_3_0 = _mm512_fmadd_ps(x_13, w_7_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_13, w_8_0, acc_2_0); }
    { const __m512 x_14 = _mm512_loadu_ps(x + 2 * X_h + 5 * X_w); acc_3_0 = _mm512_fmadd_ps(x_14, w_8_0, acc_3_0); }
    _mm512_storeu_ps(y, acc_0_0);
    _mm512_storeu_ps(y + Y_w, acc_1_0);
    _mm512_storeu_ps(y + 2 * Y_w, acc_2_0);
    _mm512_storeu_ps(y + 3 * Y_w, acc_3_0);
}

/* 4 rows x 1 vectors, summed over one step; c < 32; 1 <= h < 8; 4 <= w. */
static void tile1_4wx16cx3rx3s_wpad1(const float *x, const float *w, float *y)
{
    __m512 acc_0_0 = _mm512_setzero_ps();
    __m512 acc_1_0 = _mm512_setzero_ps();
    __m512 acc_2_0 = _mm512_setzero_ps();
    __m512 acc_3_0 = _mm512_setzero_ps();
    const __m512 w_0_0 = _mm512_loadu_ps(w);
    const __m512 w_1_0 = _mm512_loadu_ps(w + 16);
    const __m512 w_2_0 = _mm512_loadu_ps(w + 32);
    const __m512 w_3_0 = _mm512_loadu_ps(w + 48);
    const __m512 w_4_0 = _mm512_loadu_ps(w + 64);
    const __m512 w_5_0 = _mm512_loadu_ps(w + 80);
    const __m512 w_6_0 = _mm512_loadu_ps(w + 96);
    const __m512 w_7_0 = _mm512_loadu_ps(w + 112);
    const __m512 w_8_0 = _mm512_loadu_ps(w + 128);
    { const __m512 x_0 = _mm512_loadu_ps(x); acc_0_0 = _mm512_fmadd_ps(x_0, w_0_0, acc_0_0); }
    { const __m512 x_1 = _mm512_loadu_ps(x + X_w); acc_1_0 = _mm512_fmadd_ps(x_1, w_0_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_1, w_1_0, acc_0_0); }
    { const __m512 x_2 = _mm512_loadu_ps(x + 2 * X_w); acc_2_0 = _mm512_fmadd_ps(x_2, w_0_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_2, w_1_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_2, w_2_0, acc_0_0); }
    { const __m512 x_3 = _mm512_loadu_ps(x + 3 * X_w); acc_3_0 = _mm512_fmadd_ps(x_3, w_0_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_3, w_1_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_3, w_2_0, acc_1_0); }
    { const __m512 x_4 = _mm512_loadu_ps(x + 4 * X_w); acc_3_0 = _mm512_fmadd_ps(x_4, w_1_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_4, w_2_0, acc_2_0); }
    { const __m512 x_5 = _mm512_loadu_ps(x + X_h); acc_0_0 = _mm512_fmadd_ps(x_5, w_3_0, acc_0_0); }
    { const __m512 x_6 = _mm512_loadu_ps(x + X_h + X_w); acc_1_0 = _mm512_fmadd_ps(x_6, w_3_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_6, w_4_0, acc_0_0); }
    { const __m512 x_7 = _mm512_loadu_ps(x + X_h + 2 * X_w); acc_2_0 = _mm512_fmadd_ps(x_7, w_3_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_7, w_4_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_7, w_5_0, acc_0_0); }
    { const __m512 x_8 = _mm512_loadu_ps(x + X_h + 3 * X_w); acc_3_0 = _mm512_fmadd_ps(x_8, w_3_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_8, w_4_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_8, w_5_0, acc_1_0); }
    { const __m512 x_9 = _mm512_loadu_ps(x + X_h + 4 * X_w); acc_3_0 = _mm512_fmadd_ps(x_9, w_4_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_9, w_5_0, acc_2_0); }
    { const __m512 x_10 = _mm512_loadu_ps(x + 2 * X_h); acc_0_0 = _mm512_fmadd_ps(x_10, w_6_0, acc_0_0); }
    { const __m512 x_11 = _mm512_loadu_ps(x + 2 * X_h + X_w); acc_1_0 = _mm512_fmadd_ps(x_11, w_6_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_11, w_7_0, acc_0_0); }
    { const __m512 x_12 = _mm512_loadu_ps(x + 2 * X_h + 2 * X_w); acc_2_0 = _mm512_fmadd_ps(x_12, w_6_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_12, w_7_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_12, w_8_0, acc_0_0); }
    { const __m512 x_13 = _mm512_loadu_ps(x + 2 * X_h + 3 * X_w); acc_3_0 = _mm512_fmadd_ps(x_13, w_6_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_13, w_7_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_13, w_8_0, acc_1_0); }
    { const __m512 x_14 = _mm512_loadu_ps(x + 2 * X_h + 4 * X_w); acc_3_0 = _mm512_fmadd_ps(x_14, w_7_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_14, w_8_0, acc_2_0); }
    _mm512_storeu_ps(y, acc_0_0);
    _mm512_storeu_ps(y + Y_w, acc_1_0);
    _mm512_storeu_ps(y + 2 * Y_w, acc_2_0);
    _mm512_storeu_ps(y + 3 * Y_w, acc_3_0);
}

/* 4 rows x 1 vectors, summed over one step; c < 32; h < 1; w < 4. */
static void tile2_4wx16cx3rx3s_hpad0_wpad0(const float *x, const float *w, float *y)
{
    __m512 acc_0_0 = _mm512_setzero_ps();
    __m512 acc_1_0 = _mm512_setzero_ps();
    __m512 acc_2_0 = _mm512_setzero_ps();
    __m512 acc_3_0 = _mm512_setzero_ps();
    const __m512 w_0_0 = _mm512_loadu_ps(w + 48);
    const __m512 w_1_0 = _mm512_loadu_ps(w + 64);
    const __m512 w_2_0 = _mm512_loadu_ps(w + 80);
    const __m512 w_3_0 = _mm512_loadu_ps(w + 96);
    const __m512 w_4_0 = _mm512_loadu_ps(w + 112);
    const __m512 w_5_0 = _mm512_loadu_ps(w + 128);
    { const __m512 x_0 = _mm512_loadu_ps(x + X_h + X_w); acc_1_0 = _mm512_fmadd_ps(x_0, w_0_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_0, w_1_0, acc_0_0); }
    { const __m512 x_1 = _mm512_loadu_ps(x + X_h + 2 * X_w); acc_2_0 = _mm512_fmadd_ps(x_1, w_0_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_1, w_1_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_1, w_2_0, acc_0_0); }
    { const __m512 x_2 = _mm512_loadu_ps(x + X_h + 3 * X_w); acc_3_0 = _mm512_fmadd_ps(x_2, w_0_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_2, w_1_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_2, w_2_0, acc_1_0); }
    { const __m512 x_3 = _mm512_loadu_ps(x + X_h + 4 * X_w); acc_3_0 = _mm512_fmadd_ps(x_3, w_1_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_3, w_2_0, acc_2_0); }
    { const __m512 x_4 = _mm512_loadu_ps(x + X_h + 5 * X_w); acc_3_0 = _mm512_fmadd_ps(x_4, w_2_0, acc_3_0); }
    { const __m512 x_5 = _mm512_loadu_ps(x + 2 * X_h + X_w); acc_1_0 = _mm512_fmadd_ps(x_5, w_3_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_5, w_4_0, acc_0_0); }
    { const __m512 x_6 = _mm512_loadu_ps(x + 2 * X_h + 2 * X_w); acc_2_0 = _mm512_fmadd_ps(x_6, w_3_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_6, w_4_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_6, w_5_0, acc_0_0); }
    { const __m512 x_7 = _mm512_loadu_ps(x + 2 * X_h + 3 * X_w); acc_3_0 = _mm512_fmadd_ps(x_7, w_3_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_7, w_4_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_7, w_5_0, acc_1_0); }
    { const __m512 x_8 = _mm512_loadu_ps(x + 2 * X_h + 4 * X_w); acc_3_0 = _mm512_fmadd_ps(x_8, w_4_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_8, w_5_0, acc_2_0); }
    { const __m512 x_9 = _mm512_loadu_ps(x + 2 * X_h + 5 * X_w); acc_3_0 = _mm512_fmadd_ps(x_9, w_5_0, acc_3_0); }
    _mm512_storeu_ps(y, acc_0_0);
    _mm512_storeu_ps(y + Y_w, acc_1_0);
    _mm512_storeu_ps(y + 2 * Y_w, acc_2_0);
    _mm512_storeu_ps(y + 3 * Y_w, acc_3_0);
}

/* 4 rows x 1 vectors, summed over one step; c < 32; h < 1; 4 <= w. */
static void tile3_4wx16cx3rx3s_hpad0_wpad1(const float *x, const float *w, float *y)
{
    __m512 acc_0_0 = _mm512_setzero_ps();
    __m512 acc_1_0 = _mm512_setzero_ps();
    __m512 acc_2_0 = _mm512_setzero_ps();
    __m512 acc_3_0 = _mm512_setzero_ps();
    const __m512 w_0_0 = _mm512_loadu_ps(w + 48);
    const __m512 w_1_0 = _mm512_loadu_ps(w + 64);
    const __m512 w_2_0 = _mm512_loadu_ps(w + 80);
    const __m512 w_3_0 = _mm512_loadu_ps(w + 96);
    const __m512 w_4_0 = _mm512_loadu_ps(w + 112);
    const __m512 w_5_0 = _mm512_loadu_ps(w + 128);
    { const __m512 x_0 = _mm512_loadu_ps(x + X_h); acc_0_0 = _mm512_fmadd_ps(x_0, w_0_0, acc_0_0); }
    { const __m512 x_1 = _mm512_loadu_ps(x + X_h + X_w); acc_1_0 = _mm512_fmadd_ps(x_1, w_0_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_1, w_1_0, acc_0_0); }
    { const __m512 x_2 = _mm512_loadu_ps(x + X_h + 2 * X_w); acc_2_0 = _mm512_fmadd_ps(x_2, w_0_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_2, w_1_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_2, w_2_0, acc_0_0); }
    { const __m512 x_3 = _mm512_loadu_ps(x + X_h + 3 * X_w); acc_3_0 = _mm512_fmadd_ps(x_3, w_0_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_3, w_1_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_3, w_2_0, acc_1_0); }
    { const __m512 x_4 = _mm512_loadu_ps(x + X_h + 4 * X_w); acc_3_0 = _mm512_fmadd_ps(x_4, w_1_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_4, w_2_0, acc_2_0); }
    { const __m512 x_5 = _mm512_loadu_ps(x + 2 * X_h); acc_0_0 = _mm512_fmadd_ps(x_5, w_3_0, acc_0_0); }
    { const __m512 x_6 = _mm512_loadu_ps(x + 2 * X_h + X_w); acc_1_0 = _mm512_fmadd_ps(x_6, w_3_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_6, w_4_0, acc_0_0); }
    { const __m512 x_7 = _mm512_loadu_ps(x + 2 * X_h + 2 * X_w); acc_2_0 = _mm512_fmadd_ps(x_7, w_3_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_7, w_4_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_7, w_5_0, acc_0_0); }
    { const __m512 x_8 = _mm512_loadu_ps(x + 2 * X_h + 3 * X_w); acc_3_0 = _mm512_fmadd_ps(x_8, w_3_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_8, w_4_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_8, w_5_0, acc_1_0); }
    { const __m512 x_9 = _mm512_loadu_ps(x + 2 * X_h + 4 * X_w); acc_3_0 = _mm512_fmadd_ps(x_9, w_4_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_9, w_5_0, acc_2_0); }
    _mm512_storeu_ps(y, acc_0_0);
    _mm512_storeu_ps(y + Y_w, acc_1_0);
    _mm512_storeu_ps(y + 2 * Y_w, acc_2_0);
    _mm512_storeu_ps(y + 3 * Y_w, acc_3_0);
}

/* 4 rows x 1 vectors, summed over one step; c < 32; 8 <= h; w < 4. */
static void tile4_4wx16cx3rx3s_hpad2_wpad0(const float *x, const float *w, float *y)
{
    __m512 acc_0_0 = _mm512_setzero_ps();
    __m512 acc_1_0 = _mm512_setzero_ps();
    __m512 acc_2_0 = _mm512_setzero_ps();
    __m512 acc_3_0 = _mm512_setzero_ps();
    const __m512 w_0_0 = _mm512_loadu_ps(w);
    const __m512 w_1_0 = _mm512_loadu_ps(w + 16);
    const __m512 w_2_0 = _mm512_loadu_ps(w + 32);
    const __m512 w_3_0 = _mm512_loadu_ps(w + 48);
    const __m512 w_4_0 = _mm512_loadu_ps(w + 64);
    const __m512 w_5_0 = _mm512_loadu_ps(w + 80);
    { const __m512 x_0 = _mm512_loadu_ps(x + X_w); acc_1_0 = _mm512_fmadd_ps(x_0, w_0_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_0, w_1_0, acc_0_0); }
    { const __m512 x_1 = _mm512_loadu_ps(x + 2 * X_w); acc_2_0 = _mm512_fmadd_ps(x_1, w_0_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_1, w_1_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_1, w_2_0, acc_0_0); }
    { const __m512 x_2 = _mm512_loadu_ps(x + 3 * X_w); acc_3_0 = _mm512_fmadd_ps(x_2, w_0_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_2, w_1_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_2, w_2_0, acc_1_0); }
    { const __m512 x_3 = _mm512_loadu_ps(x + 4 * X_w); acc_3_0 = _mm512_fmadd_ps(x_3, w_1_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_3, w_2_0, acc_2_0); }
    { const __m512 x_4 = _mm512_loadu_ps(x + 5 * X_w); acc_3_0 = _mm512_fmadd_ps(x_4, w_2_0, acc_3_0); }
    { const __m512 x_5 = _mm512_loadu_ps(x + X_h + X_w); acc_1_0 = _mm512_fmadd_ps(x_5, w_3_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_5, w_4_0, acc_0_0); }
    { const __m512 x_6 = _mm512_loadu_ps(x + X_h + 2 * X_w); acc_2_0 = _mm512_fmadd_ps(x_6, w_3_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_6, w_4_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_6, w_5_0, acc_0_0); }
    { const __m512 x_7 = _mm512_loadu_ps(x + X_h + 3 * X_w); acc_3_0 = _mm512_fmadd_ps(x_7, w_3_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_7, w_4_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_7, w_5_0, acc_1_0); }
    { const __m512 x_8 = _mm512_loadu_ps(x + X_h + 4 * X_w); acc_3_0 = _mm512_fmadd_ps(x_8, w_4_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_8, w_5_0, acc_2_0); }
    { const __m512 x_9 = _mm512_loadu_ps(x + X_h + 5 * X_w); acc_3_0 = _mm512_fmadd_ps(x_9, w_5_0, acc_3_0); }
    _mm512_storeu_ps(y, acc_0_0);
    _mm512_storeu_ps(y + Y_w, acc_1_0);
    _mm512_storeu_ps(y + 2 * Y_w, acc_2_0);
    _mm512_storeu_ps(y + 3 * Y_w, acc_3_0);
}

/* 4 rows x 1 vectors, summed over one step; c < 32; 8 <= h; 4 <= w. */
static void tile5_4wx16cx3rx3s_hpad2_wpad1(const float *x, const float *w, float *y)
{
    __m512 acc_0_0 = _mm512_setzero_ps();
    __m512 acc_1_0 = _mm512_setzero_ps();
    __m512 acc_2_0 = _mm512_setzero_ps();
    __m512 acc_3_0 = _mm512_setzero_ps();
    const __m512 w_0_0 = _mm512_loadu_ps(w);
    const __m512 w_1_0 = _mm512_loadu_ps(w + 16);
    const __m512 w_2_0 = _mm512_loadu_ps(w + 32);
    const __m512 w_3_0 = _mm512_loadu_ps(w + 48);
    const __m512 w_4_0 = _mm512_loadu_ps(w + 64);
    const __m512 w_5_0 = _mm512_loadu_ps(w + 80);
    { const __m512 x_0 = _mm512_loadu_ps(x); acc_0_0 = _mm512_fmadd_ps(x_0, w_0_0, acc_0_0); }
    { const __m512 x_1 = _mm512_loadu_ps(x + X_w); acc_1_0 = _mm512_fmadd_ps(x_1, w_0_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_1, w_1_0, acc_0_0); }
    { const __m512 x_2 = _mm512_loadu_ps(x + 2 * X_w); acc_2_0 = _mm512_fmadd_ps(x_2, w_0_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_2, w_1_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_2, w_2_0, acc_0_0); }
    { const __m512 x_3 = _mm512_loadu_ps(x + 3 * X_w); acc_3_0 = _mm512_fmadd_ps(x_3, w_0_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_3, w_1_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_3, w_2_0, acc_1_0); }
    { const __m512 x_4 = _mm512_loadu_ps(x + 4 * X_w); acc_3_0 = _mm512_fmadd_ps(x_4, w_1_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_4, w_2_0, acc_2_0); }
    { const __m512 x_5 = _mm512_loadu_ps(x + X_h); acc_0_0 = _mm512_fmadd_ps(x_5, w_3_0, acc_0_0); }
    { const __m512 x_6 = _mm512_loadu_ps(x + X_h + X_w); acc_1_0 = _mm512_fmadd_ps(x_6, w_3_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_6, w_4_0, acc_0_0); }
    { const __m512 x_7 = _mm512_loadu_ps(x + X_h + 2 * X_w); acc_2_0 = _mm512_fmadd_ps(x_7, w_3_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_7, w_4_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_7, w_5_0, acc_0_0); }
    { const __m512 x_8 = _mm512_loadu_ps(x + X_h + 3 * X_w); acc_3_0 = _mm512_fmadd_ps(x_8, w_3_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_8, w_4_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_8, w_5_0, acc_1_0); }
    { const __m512 x_9 = _mm512_loadu_ps(x + X_h + 4 * X_w); acc_3_0 = _mm512_fmadd_ps(x_9, w_4_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_9, w_5_0, acc_2_0); }
    _mm512_storeu_ps(y, acc_0_0);
    _mm512_storeu_ps(y + Y_w, acc_1_0);
    _mm512_storeu_ps(y + 2 * Y_w, acc_2_0);
    _mm512_storeu_ps(y + 3 * Y_w, acc_3_0);
}

/* 4 rows x 1 vectors, summed over one step; 32 <= c; 1 <= h < 8; w < 4. */
static void tile6_4wx16cx3rx3s_tail_wpad0(const float *x, const float *w, float *y)
{
    __m512 acc_0_0 = _mm512_setzero_ps();
    __m512 acc_1_0 = _mm512_setzero_ps();
    __m512 acc_2_0 = _mm512_setzero_ps();
    __m512 acc_3_0 = _mm512_setzero_ps();
    const __m512 w_0_0 = _mm512_loadu_ps(w);
    const __m512 w_1_0 = _mm512_loadu_ps(w + 16);
    const __m512 w_2_0 = _mm512_loadu_ps(w + 32);
    const __m512 w_3_0 = _mm512_loadu_ps(w + 48);
    const __m512 w_4_0 = _mm512_loadu_ps(w + 64);
    const __m512 w_5_0 = _mm512_loadu_ps(w + 80);
    const __m512 w_6_0 = _mm512_loadu_ps(w + 96);
    const __m512 w_7_0 = _mm512_loadu_ps(w + 112);
    const __m512 w_8_0 = _mm512_loadu_ps(w + 128);
    { const __m512 x_0 = _mm512_maskz_loadu_ps(TAIL, x + X_w); acc_1_0 = _mm512_fmadd_ps(x_0, w_0_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_0, w_1_0, acc_0_0); }
    { const __m512 x_1 = _mm512_maskz_loadu_ps(TAIL, x + 2 * X_w); acc_2_0 = _mm512_fmadd_ps(x_1, w_0_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_1, w_1_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_1, w_2_0, acc_0_0); }
    { const __m512 x_2 = _mm512_maskz_loadu_ps(TAIL, x + 3 * X_w); acc_3_0 = _mm512_fmadd_ps(x_2, w_0_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_2, w_1_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_2, w_2_0, acc_1_0); }
    { const __m512 x_3 = _mm512_maskz_loadu_ps(TAIL, x + 4 * X_w); acc_3_0 = _mm512_fmadd_ps(x_3, w_1_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_3, w_2_0, acc_2_0); }
    { const __m512 x_4 = _mm512_maskz_loadu_ps(TAIL, x + 5 * X_w); acc_3_0 = _mm512_fmadd_ps(x_4, w_2_0, acc_3_0); }
    { const __m512 x_5 = _mm512_maskz_loadu_ps(TAIL, x + X_h + X_w); acc_1_0 = _mm512_fmadd_ps(x_5, w_3_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_5, w_4_0, acc_0_0); }
    { const __m512 x_6 = _mm512_maskz_loadu_ps(TAIL, x + X_h + 2 * X_w); acc_2_0 = _mm512_fmadd_ps(x_6, w_3_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_6, w_4_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_6, w_5_0, acc_0_0); }
    { const __m512 x_7 = _mm512_maskz_loadu_ps(TAIL, x + X_h + 3 * X_w); acc_3_0 = _mm512_fmadd_ps(x_7, w_3_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_7, w_4_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_7, w_5_0, acc_1_0); }
    { const __m512 x_8 = _mm512_maskz_loadu_ps(TAIL, x + X_h + 4 * X_w); acc_3_0 = _mm512_fmadd_ps(x_8, w_4_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_8, w_5_0, acc_2_0); }
    { const __m512 x_9 = _mm512_maskz_loadu_ps(TAIL, x + X_h + 5 * X_w); acc_3_0 = _mm512_fmadd_ps(x_9, w_5_0, acc_3_0); }
    { const __m512 x_10 = _mm512_maskz_loadu_ps(TAIL, x + 2 * X_h + X_w); acc_1_0 = _mm512_fmadd_ps(x_10, w_6_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_10, w_7_0, acc_0_0); }
    { const __m512 x_11 = _mm512_maskz_loadu_ps(TAIL, x + 2 * X_h + 2 * X_w); acc_2_0 = _mm512_fmadd_ps(x_11, w_6_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_11, w_7_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_11, w_8_0, acc_0_0); }
    { const __m512 x_12 = _mm512_maskz_loadu_ps(TAIL, x + 2 * X_h + 3 * X_w); acc_3_0 = _mm512_fmadd_ps(x_12, w_6_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_12, w_7_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_12, w_8_0, acc_1_0); }
    { const __m512 x_13 = _mm512_maskz_loadu_ps(TAIL, x + 2 * X_h + 4 * X_w); acc_3_0 = _mm512_fmadd_ps(x_13, w_7_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_13, w_8_0, acc_2_0); }
    { const __m512 x_14 = _mm512_maskz_loadu_ps(TAIL, x + 2 * X_h + 5 * X_w); acc_3_0 = _mm512_fmadd_ps(x_14, w_8_0, acc_3_0); }
    _mm512_mask_storeu_ps(y, TAIL, acc_0_0);
    _mm512_mask_storeu_ps(y + Y_w, TAIL, acc_1_0);
    _mm512_mask_storeu_ps(y + 2 * Y_w, TAIL, acc_2_0);
    _mm512_mask_storeu_ps(y + 3 * Y_w, TAIL, acc_3_0);
}

/* 4 rows x 1 vectors, summed over one step; 32 <= c; 1 <= h < 8; 4 <= w. */
static void tile7_4wx16cx3rx3s_tail_wpad1(const float *x, const float *w, float *y)
{
    __m512 acc_0_0 = _mm512_setzero_ps();
    __m512 acc_1_0 = _mm512_setzero_ps();
    __m512 acc_2_0 = _mm512_setzero_ps();
    __m512 acc_3_0 = _mm512_setzero_ps();
    const __m512 w_0_0 = _mm512_loadu_ps(w);
    const __m512 w_1_0 = _mm512_loadu_ps(w + 16);
    const __m512 w_2_0 = _mm512_loadu_ps(w + 32);
    const __m512 w_3_0 = _mm512_loadu_ps(w + 48);
    const __m512 w_4_0 = _mm512_loadu_ps(w + 64);
    const __m512 w_5_0 = _mm512_loadu_ps(w + 80);
    const __m512 w_6_0 = _mm512_loadu_ps(w + 96);
    const __m512 w_7_0 = _mm512_loadu_ps(w + 112);
    const __m512 w_8_0 = _mm512_loadu_ps(w + 128);
    { const __m512 x_0 = _mm512_maskz_loadu_ps(TAIL, x); acc_0_0 = _mm512_fmadd_ps(x_0, w_0_0, acc_0_0); }
    { const __m512 x_1 = _mm512_maskz_loadu_ps(TAIL, x + X_w); acc_1_0 = _mm512_fmadd_ps(x_1, w_0_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_1, w_1_0, acc_0_0); }
    { const __m512 x_2 = _mm512_maskz_loadu_ps(TAIL, x + 2 * X_w); acc_2_0 = _mm512_fmadd_ps(x_2, w_0_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_2, w_1_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_2, w_2_0, acc_0_0); }
    { const __m512 x_3 = _mm512_maskz_loadu_ps(TAIL, x + 3 * X_w); acc_3_0 = _mm512_fmadd_ps(x_3, w_0_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_3, w_1_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_3, w_2_0, acc_1_0); }
    { const __m512 x_4 = _mm512_maskz_loadu_ps(TAIL, x + 4 * X_w); acc_3_0 = _mm512_fmadd_ps(x_4, w_1_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_4, w_2_0, acc_2_0); }
    { const __m512 x_5 = _mm512_maskz_loadu_ps(TAIL, x + X_h); acc_0_0 = _mm512_fmadd_ps(x_5, w_3_0, acc_0_0); }
    { const __m512 x_6 = _mm512_maskz_loadu_ps(TAIL, x + X_h + X_w); acc_1_0 = _mm512_fmadd_ps(x_6, w_3_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_6, w_4_0, acc_0_0); }
    { const __m512 x_7 = _mm512_maskz_loadu_ps(TAIL, x + X_h + 2 * X_w); acc_2_0 = _mm512_fmadd_ps(x_7, w_3_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_7, w_4_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_7, w_5_0, acc_0_0); }
    { const __m512 x_8 = _mm512_maskz_loadu_ps(TAIL, x + X_h + 3 * X_w); acc_3_0 = _mm512_fmadd_ps(x_8, w_3_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_8, w_4_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_8, w_5_0, acc_1_0); }
    { const __m512 x_9 = _mm512_maskz_loadu_ps(TAIL, x + X_h + 4 * X_w); acc_3_0 = _mm512_fmadd_ps(x_9, w_4_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_9, w_5_0, acc_2_0); }
    { const __m512 x_10 = _mm512_maskz_loadu_ps(TAIL, x + 2 * X_h); acc_0_0 = _mm512_fmadd_ps(x_10, w_6_0, acc_0_0); }
    { const __m512 x_11 = _mm512_maskz_loadu_ps(TAIL, x + 2 * X_h + X_w); acc_1_0 = _mm512_fmadd_ps(x_11, w_6_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_11, w_7_0, acc_0_0); }
    { const __m512 x_12 = _mm512_maskz_loadu_ps(TAIL, x + 2 * X_h + 2 * X_w); acc_2_0 = _mm512_fmadd_ps(x_12, w_6_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_12, w_7_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_12, w_8_0, acc_0_0); }
    { const __m512 x_13 = _mm512_maskz_loadu_ps(TAIL, x + 2 * X_h + 3 * X_w); acc_3_0 = _mm512_fmadd_ps(x_13, w_6_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_13, w_7_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_13, w_8_0, acc_1_0); }
    { const __m512 x_14 = _mm512_maskz_loadu_ps(TAIL, x + 2 * X_h + 4 * X_w); acc_3_0 = _mm512_fmadd_ps(x_14, w_7_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_14, w_8_0, acc_2_0); }
    _mm512_mask_storeu_ps(y, TAIL, acc_0_0);
    _mm512_mask_storeu_ps(y + Y_w, TAIL, acc_1_0);
    _mm512_mask_storeu_ps(y + 2 * Y_w, TAIL, acc_2_0);
    _mm512_mask_storeu_ps(y + 3 * Y_w, TAIL, acc_3_0);
}

/* 4 rows x 1 vectors, summed over one step; 32 <= c; h < 1; w < 4. */
static void tile8_4wx16cx3rx3s_tail_hpad0_wpad0(const float *x, const float *w, float *y)
{
    __m512 acc_0_0 = _mm512_setzero_ps();
    __m512 acc_1_0 = _mm512_setzero_ps();
    __m512 acc_2_0 = _mm512_setzero_ps();
    __m512 acc_3_0 = _mm512_setzero_ps();
    const __m512 w_0_0 = _mm512_loadu_ps(w + 48);
    const __m512 w_1_0 = _mm512_loadu_ps(w + 64);
    const __m512 w_2_0 = _mm512_loadu_ps(w + 80);
    const __m512 w_3_0 = _mm512_loadu_ps(w + 96);
    const __m512 w_4_0 = _mm512_loadu_ps(w + 112);
    const __m512 w_5_0 = _mm512_loadu_ps(w + 128);
    { const __m512 x_0 = _mm512_maskz_loadu_ps(TAIL, x + X_h + X_w); acc_1_0 = _mm512_fmadd_ps(x_0, w_0_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_0, w_1_0, acc_0_0); }
    { const __m512 x_1 = _mm512_maskz_loadu_ps(TAIL, x + X_h + 2 * X_w); acc_2_0 = _mm512_fmadd_ps(x_1, w_0_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_1, w_1_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_1, w_2_0, acc_0_0); }
    { const __m512 x_2 = _mm512_maskz_loadu_ps(TAIL, x + X_h + 3 * X_w); acc_3_0 = _mm512_fmadd_ps(x_2, w_0_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_2, w_1_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_2, w_2_0, acc_1_0); }
    { const __m512 x_3 = _mm512_maskz_loadu_ps(TAIL, x + X_h + 4 * X_w); acc_3_0 = _mm512_fmadd_ps(x_3, w_1_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_3, w_2_0, acc_2_0); }
    { const __m512 x_4 = _mm512_maskz_loadu_ps(TAIL, x + X_h + 5 * X_w); acc_3_0 = _mm512_fmadd_ps(x_4, w_2_0, acc_3_0); }
    { const __m512 x_5 = _mm512_maskz_loadu_ps(TAIL, x + 2 * X_h + X_w); acc_1_0 = _mm512_fmadd_ps(x_5, w_3_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_5, w_4_0, acc_0_0); }
    { const __m512 x_6 = _mm512_maskz_loadu_ps(TAIL, x + 2 * X_h + 2 * X_w); acc_2_0 = _mm512_fmadd_ps(x_6, w_3_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_6, w_4_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_6, w_5_0, acc_0_0); }
    { const __m512 x_7 = _mm512_maskz_loadu_ps(TAIL, x + 2 * X_h + 3 * X_w); acc_3_0 = _mm512_fmadd_ps(x_7, w_3_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_7, w_4_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_7, w_5_0, acc_1_0); }
    { const __m512 x_8 = _mm512_maskz_loadu_ps(TAIL, x + 2 * X_h + 4 * X_w); acc_3_0 = _mm512_fmadd_ps(x_8, w_4_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_8, w_5_0, acc_2_0); }
    { const __m512 x_9 = _mm512_maskz_loadu_ps(TAIL, x + 2 * X_h + 5 * X_w); acc_3_0 = _mm512_fmadd_ps(x_9, w_5_0, acc_3_0); }
    _mm512_mask_storeu_ps(y, TAIL, acc_0_0);
    _mm512_mask_storeu_ps(y + Y_w, TAIL, acc_1_0);
    _mm512_mask_storeu_ps(y + 2 * Y_w, TAIL, acc_2_0);
    _mm512_mask_storeu_ps(y + 3 * Y_w, TAIL, acc_3_0);
}

/* 4 rows x 1 vectors, summed over one step; 32 <= c; h < 1; 4 <= w. */
static void tile9_4wx16cx3rx3s_tail_hpad0_wpad1(const float *x, const float *w, float *y)
{
    __m512 acc_0_0 = _mm512_setzero_ps();
    __m512 acc_1_0 = _mm512_setzero_ps();
    __m512 acc_2_0 = _mm512_setzero_ps();
    __m512 acc_3_0 = _mm512_setzero_ps();
    const __m512 w_0_0 = _mm512_loadu_ps(w + 48);
    const __m512 w_1_0 = _mm512_loadu_ps(w + 64);
    const __m512 w_2_0 = _mm512_loadu_ps(w + 80);
    const __m512 w_3_0 = _mm512_loadu_ps(w + 96);
    const __m512 w_4_0 = _mm512_loadu_ps(w + 112);
    const __m512 w_5_0 = _mm512_loadu_ps(w + 128);
    { const __m512 x_0 = _mm512_maskz_loadu_ps(TAIL, x + X_h); acc_0_0 = _mm512_fmadd_ps(x_0, w_0_0, acc_0_0); }
    { const __m512 x_1 = _mm512_maskz_loadu_ps(TAIL, x + X_h + X_w); acc_1_0 = _mm512_fmadd_ps(x_1, w_0_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_1, w_1_0, acc_0_0); }
    { const __m512 x_2 = _mm512_maskz_loadu_ps(TAIL, x + X_h + 2 * X_w); acc_2_0 = _mm512_fmadd_ps(x_2, w_0_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_2, w_1_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_2, w_2_0, acc_0_0); }
    { const __m512 x_3 = _mm512_maskz_loadu_ps(TAIL, x + X_h + 3 * X_w); acc_3_0 = _mm512_fmadd_ps(x_3, w_0_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_3, w_1_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_3, w_2_0, acc_1_0); }
    { const __m512 x_4 = _mm512_maskz_loadu_ps(TAIL, x + X_h + 4 * X_w); acc_3_0 = _mm512_fmadd_ps(x_4, w_1_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_4, w_2_0, acc_2_0); }
    { const __m512 x_5 = _mm512_maskz_loadu_ps(TAIL, x + 2 * X_h); acc_0_0 = _mm512_fmadd_ps(x_5, w_3_0, acc_0_0); }
    { const __m512 x_6 = _mm512_maskz_loadu_ps(TAIL, x + 2 * X_h + X_w); acc_1_0 = _mm512_fmadd_ps(x_6, w_3_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_6, w_4_0, acc_0_0); }
    { const __m512 x_7 = _mm512_maskz_loadu_ps(TAIL, x + 2 * X_h + 2 * X_w); acc_2_0 = _mm512_fmadd_ps(x_7, w_3_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_7, w_4_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_7, w_5_0, acc_0_0); }
    { const __m512 x_8 = _mm512_maskz_loadu_ps(TAIL, x + 2 * X_h + 3 * X_w); acc_3_0 = _mm512_fmadd_ps(x_8, w_3_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_8, w_4_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_8, w_5_0, acc_1_0); }
    { const __m512 x_9 = _mm512_maskz_loadu_ps(TAIL, x + 2 * X_h + 4 * X_w); acc_3_0 = _mm512_fmadd_ps(x_9, w_4_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_9, w_5_0, acc_2_0); }
    _mm512_mask_storeu_ps(y, TAIL, acc_0_0);
    _mm512_mask_storeu_ps(y + Y_w, TAIL, acc_1_0);
    _mm512_mask_storeu_ps(y + 2 * Y_w, TAIL, acc_2_0);
    _mm512_mask_storeu_ps(y + 3 * Y_w, TAIL, acc_3_0);
}

/* 4 rows x 1 vectors, summed over one step; 32 <= c; 8 <= h; w < 4. */
static void tile10_4wx16cx3rx3s_tail_hpad2_wpad0(const float *x, const float *w, float *y)
{
    __m512 acc_0_0 = _mm512_setzero_ps();
    __m512 acc_1_0 = _mm512_setzero_ps();
    __m512 acc_2_0 = _mm512_setzero_ps();
    __m512 acc_3_0 = _mm512_setzero_ps();
    const __m512 w_0_0 = _mm512_loadu_ps(w);
    const __m512 w_1_0 = _mm512_loadu_ps(w + 16);
    const __m512 w_2_0 = _mm512_loadu_ps(w + 32);
    const __m512 w_3_0 = _mm512_loadu_ps(w + 48);
    const __m512 w_4_0 = _mm512_loadu_ps(w + 64);
    const __m512 w_5_0 = _mm512_loadu_ps(w + 80);
    { const __m512 x_0 = _mm512_maskz_loadu_ps(TAIL, x + X_w); acc_1_0 = _mm512_fmadd_ps(x_0, w_0_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_0, w_1_0, acc_0_0); }
    { const __m512 x_1 = _mm512_maskz_loadu_ps(TAIL, x + 2 * X_w); acc_2_0 = _mm512_fmadd_ps(x_1, w_0_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_1, w_1_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_1, w_2_0, acc_0_0); }
    { const __m512 x_2 = _mm512_maskz_loadu_ps(TAIL, x + 3 * X_w); acc_3_0 = _mm512_fmadd_ps(x_2, w_0_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_2, w_1_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_2, w_2_0, acc_1_0); }
    { const __m512 x_3 = _mm512_maskz_loadu_ps(TAIL, x + 4 * X_w); acc_3_0 = _mm512_fmadd_ps(x_3, w_1_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_3, w_2_0, acc_2_0); }
    { const __m512 x_4 = _mm512_maskz_loadu_ps(TAIL, x + 5 * X_w); acc_3_0 = _mm512_fmadd_ps(x_4, w_2_0, acc_3_0); }
    { const __m512 x_5 = _mm512_maskz_loadu_ps(TAIL, x + X_h + X_w); acc_1_0 = _mm512_fmadd_ps(x_5, w_3_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_5, w_4_0, acc_0_0); }
    { const __m512 x_6 = _mm512_maskz_loadu_ps(TAIL, x + X_h + 2 * X_w); acc_2_0 = _mm512_fmadd_ps(x_6, w_3_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_6, w_4_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_6, w_5_0, acc_0_0); }
    { const __m512 x_7 = _mm512_maskz_loadu_ps(TAIL, x + X_h + 3 * X_w); acc_3_0 = _mm512_fmadd_ps(x_7, w_3_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_7, w_4_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_7, w_5_0, acc_1_0); }
    { const __m512 x_8 = _mm512_maskz_loadu_ps(TAIL, x + X_h + 4 * X_w); acc_3_0 = _mm512_fmadd_ps(x_8, w_4_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_8, w_5_0, acc_2_0); }
    { const __m512 x_9 = _mm512_maskz_loadu_ps(TAIL, x + X_h + 5 * X_w); acc_3_0 = _mm512_fmadd_ps(x_9, w_5_0, acc_3_0); }
    _mm512_mask_storeu_ps(y, TAIL, acc_0_0);
    _mm512_mask_storeu_ps(y + Y_w, TAIL, acc_1_0);
    _mm512_mask_storeu_ps(y + 2 * Y_w, TAIL, acc_2_0);
    _mm512_mask_storeu_ps(y + 3 * Y_w, TAIL, acc_3_0);
}

/* 4 rows x 1 vectors, summed over one step; 32 <= c; 8 <= h; 4 <= w. */
static void tile11_4wx16cx3rx3s_tail_hpad2_wpad1(const float *x, const float *w, float *y)
{
    __m512 acc_0_0 = _mm512_setzero_ps();
    __m512 acc_1_0 = _mm512_setzero_ps();
    __m512 acc_2_0 = _mm512_setzero_ps();
    __m512 acc_3_0 = _mm512_setzero_ps();
    const __m512 w_0_0 = _mm512_loadu_ps(w);
    const __m512 w_1_0 = _mm512_loadu_ps(w + 16);
    const __m512 w_2_0 = _mm512_loadu_ps(w + 32);
    const __m512 w_3_0 = _mm512_loadu_ps(w + 48);
    const __m512 w_4_0 = _mm512_loadu_ps(w + 64);
    const __m512 w_5_0 = _mm512_loadu_ps(w + 80);
    { const __m512 x_0 = _mm512_maskz_loadu_ps(TAIL, x); acc_0_0 = _mm512_fmadd_ps(x_0, w_0_0, acc_0_0); }
    { const __m512 x_1 = _mm512_maskz_loadu_ps(TAIL, x + X_w); acc_1_0 = _mm512_fmadd_ps(x_1, w_0_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_1, w_1_0, acc_0_0); }
    { const __m512 x_2 = _mm512_maskz_loadu_ps(TAIL, x + 2 * X_w); acc_2_0 = _mm512_fmadd_ps(x_2, w_0_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_2, w_1_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_2, w_2_0, acc_0_0); }
    { const __m512 x_3 = _mm512_maskz_loadu_ps(TAIL, x + 3 * X_w); acc_3_0 = _mm512_fmadd_ps(x_3, w_0_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_3, w_1_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_3, w_2_0, acc_1_0); }
    { const __m512 x_4 = _mm512_maskz_loadu_ps(TAIL, x + 4 * X_w); acc_3_0 = _mm512_fmadd_ps(x_4, w_1_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_4, w_2_0, acc_2_0); }
    { const __m512 x_5 = _mm512_maskz_loadu_ps(TAIL, x + X_h); acc_0_0 = _mm512_fmadd_ps(x_5, w_3_0, acc_0_0); }
    { const __m512 x_6 = _mm512_maskz_loadu_ps(TAIL, x + X_h + X_w); acc_1_0 = _mm512_fmadd_ps(x_6, w_3_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_6, w_4_0, acc_0_0); }
    { const __m512 x_7 = _mm512_maskz_loadu_ps(TAIL, x + X_h + 2 * X_w); acc_2_0 = _mm512_fmadd_ps(x_7, w_3_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_7, w_4_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_7, w_5_0, acc_0_0); }
    { const __m512 x_8 = _mm512_maskz_loadu_ps(TAIL, x + X_h + 3 * X_w); acc_3_0 = _mm512_fmadd_ps(x_8, w_3_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_8, w_4_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_8, w_5_0, acc_1_0); }
    { const __m512 x_9 = _mm512_maskz_loadu_ps(TAIL, x + X_h + 4 * X_w); acc_3_0 = _mm512_fmadd_ps(x_9, w_4_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_9, w_5_0, acc_2_0); }
    _mm512_mask_storeu_ps(y, TAIL, acc_0_0);
    _mm512_mask_storeu_ps(y + Y_w, TAIL, acc_1_0);
    _mm512_mask_storeu_ps(y + 2 * Y_w, TAIL, acc_2_0);
    _mm512_mask_storeu_ps(y + 3 * Y_w, TAIL, acc_3_0);
}

/* Whether this CPU runs the kernel. This function and the packing run on any CPU. */
__attribute__((target("no-avx"))) int depthwise2d_f32_n2_c37_h9_w8_k37_r3_s3_groups37_pad1__avx512f_supported(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("fma");
}

/* The loops over tiles. Their variables are positions. A tile gets pointers to its own first x, panel and y. */
void depthwise2d_f32_n2_c37_h9_w8_k37_r3_s3_groups37_pad1__avx512f_run(const float *restrict X, const float *restrict W, float *restrict Y)
{
    for (long n = 0; n < 2; ++n) {
        for (long c = 0; c < 48; c += 16) {
            for (long h = 0; h < 9; ++h) {
                for (long w = 0; w < 8; w += 4) {
                    if (c < 32) {
                        if (h >= 1 && h < 8) {
                            if (w < 4) {
                                tile0_4wx16cx3rx3s_wpad0(X + n * X_n + (h - 1) * X_h + (w - 1) * X_w + c * X_c, W + 9 * c, Y + n * Y_n + h * Y_h + w * Y_w + c * Y_c);
                            } else {
                                tile1_4wx16cx3rx3s_wpad1(X + n * X_n + (h - 1) * X_h + (w - 1) * X_w + c * X_c, W + 9 * c, Y + n * Y_n + h * Y_h + w * Y_w + c * Y_c);
                            }
                        } else if (h < 1) {
                            if (w < 4) {
                                tile2_4wx16cx3rx3s_hpad0_wpad0(X + n * X_n + (h - 1) * X_h + (w - 1) * X_w + c * X_c, W + 9 * c, Y + n * Y_n + h * Y_h + w * Y_w + c * Y_c);
                            } else {
                                tile3_4wx16cx3rx3s_hpad0_wpad1(X + n * X_n + (h - 1) * X_h + (w - 1) * X_w + c * X_c, W + 9 * c, Y + n * Y_n + h * Y_h + w * Y_w + c * Y_c);
                            }
                        } else if (w < 4) {
                            tile4_4wx16cx3rx3s_hpad2_wpad0(X + n * X_n + (h - 1) * X_h + (w - 1) * X_w + c * X_c, W + 9 * c, Y + n * Y_n + h * Y_h + w * Y_w + c * Y_c);
                        } else {
                            tile5_4wx16cx3rx3s_hpad2_wpad1(X + n * X_n + (h - 1) * X_h + (w - 1) * X_w + c * X_c, W + 9 * c, Y + n * Y_n + h * Y_h + w * Y_w + c * Y_c);
                        }
                    } else if (h >= 1 && h < 8) {
                        if (w < 4) {
                            tile6_4wx16cx3rx3s_tail_wpad0(X + n * X_n + (h - 1) * X_h + (w - 1) * X_w + c * X_c, W + 9 * c, Y + n * Y_n + h * Y_h + w * Y_w + c * Y_c);
                        } else {
                            tile7_4wx16cx3rx3s_tail_wpad1(X + n * X_n + (h - 1) * X_h + (w - 1) * X_w + c * X_c, W + 9 * c, Y + n * Y_n + h * Y_h + w * Y_w + c * Y_c);
                        }
                    } else if (h < 1) {
                        if (w < 4) {
                            tile8_4wx16cx3rx3s_tail_hpad0_wpad0(X + n * X_n + (h - 1) * X_h + (w - 1) * X_w + c * X_c, W + 9 * c, Y + n * Y_n + h * Y_h + w * Y_w + c * Y_c);
                        } else {
                            tile9_4wx16cx3rx3s_tail_hpad0_wpad1(X + n * X_n + (h - 1) * X_h + (w - 1) * X_w + c * X_c, W + 9 * c, Y + n * Y_n + h * Y_h + w * Y_w + c * Y_c);
                        }
                    } else if (w < 4) {
                        tile10_4wx16cx3rx3s_tail_hpad2_wpad0(X + n * X_n + (h - 1) * X_h + (w - 1) * X_w + c * X_c, W + 9 * c, Y + n * Y_n + h * Y_h + w * Y_w + c * Y_c);
                    } else {
                        tile11_4wx16cx3rx3s_tail_hpad2_wpad1(X + n * X_n + (h - 1) * X_h + (w - 1) * X_w + c * X_c, W + 9 * c, Y + n * Y_n + h * Y_h + w * Y_w + c * Y_c);
                    }
                }
            }
        }
    }
}

/* Packs the weights. They lie in memory as w[c, 0, r, s] of 37 x 1 x 3 x 3. */
__attribute__((target("no-avx"))) void depthwise2d_f32_n2_c37_h9_w8_k37_r3_s3_groups37_pad1__avx512f_pack_run(const float *restrict W, float *restrict packed)
{
    const long W_c = 9, W_r = 3, W_s = 1;
    for (long c = 0; c < 48; c += 16) {
        for (long r_u = 0; r_u < 3; ++r_u) {
            for (long s_u = 0; s_u < 3; ++s_u) {
                for (long lane = 0; lane < 16; ++lane) {
                    if (c + lane < 37) {
                        packed[9 * c + lane + 48 * r_u + 16 * s_u] = W[(c + lane) * W_c + r_u * W_r + s_u * W_s];
                    } else {
                        packed[9 * c + lane + 48 * r_u + 16 * s_u] = 0;
                    }
                }
            }
        }
    }
}

/*
 * A whole call: it checks the CPU.
 * A caller that has done so calls depthwise2d_f32_n2_c37_h9_w8_k37_r3_s3_groups37_pad1__avx512f_run.
 */
#include <stdio.h>
#include <stdlib.h>

void depthwise2d_f32_n2_c37_h9_w8_k37_r3_s3_groups37_pad1__avx512f(const float *restrict X, const float *restrict W, float *restrict Y)
{
    if (!depthwise2d_f32_n2_c37_h9_w8_k37_r3_s3_groups37_pad1__avx512f_supported()) {
        fputs("depthwise2d_f32_n2_c37_h9_w8_k37_r3_s3_groups37_pad1__avx512f: this CPU lacks avx512f or avx512vl or fma\n", stderr);
        abort();
    }
    depthwise2d_f32_n2_c37_h9_w8_k37_r3_s3_groups37_pad1__avx512f_run(X, W, Y);
}

/* Packs the weights, once for many calls. */
__attribute__((target("no-avx"))) void depthwise2d_f32_n2_c37_h9_w8_k37_r3_s3_groups37_pad1__avx512f_pack(const float *restrict W, float *restrict packed)
{
    depthwise2d_f32_n2_c37_h9_w8_k37_r3_s3_groups37_pad1__avx512f_pack_run(W, packed);
}
