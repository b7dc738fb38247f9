/*
 * depthwise2d n=2,c=37,h=9,w=8,k=37,r=3,s=3,groups=37,pad=1
 *
 * Written by Tilewright VERSION from the scheme
 *
 *     R(n) T(h,3) L(w, 1x3 + 1x5) R(c) S(y) T(r,3) U(s,3) U(h,3) U(w,λ) V(c,8)
 *
 *     for n in 2 steps of 1:
 *       for h in 3 steps of 3:
 *         for w in 1 steps of 3:
 *           for c in 5 steps of 8:
 *             with the tile of y in registers:
 *               for r in 3 steps of 1:
 *                 register tile 8c × 3h × 3w × 3s
 *         for w in 1 steps of 5 from 3:
 *           for c in 5 steps of 8:
 *             with the tile of y in registers:
 *               for r in 3 steps of 1:
 *                 register tile 8c × 3h × 5w × 3s
 *
 * Microkernels:
 *     f32_depthwise2d_ukernel_3hx3wx8cx3s_s1__avx2: 27 FMAs, 18 loads and no stores per step, 11 of 16 registers (9 accumulators)
 *     f32_depthwise2d_ukernel_3hx5wx8cx3s_s1__avx2: 45 FMAs, 48 loads and no stores per step, 17 of 16 registers, so some are spilled (15 accumulators)
 *
 * Operands, row-major f32:
 *     X: x[n, h + r - 1, w + s - 1, c] of 2 x 9 x 8 x 37
 *     W: w[c, 0, r, s] of 37 x 1 x 3 x 3
 *     Y: y[n, h, w, c] of 2 x 9 x 8 x 37
 *     W holds the panels that the scheme reads, one after the other, reduction points in the order of its loops.
 */
#include <immintrin.h>

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
static const long PANEL_1 = 8;
/* The 5 lanes used of the last vector: a lane counts where its sign bit is set. */
static const int tail_lanes[8] = {-1, -1, -1, -1, -1, 0, 0, 0};
#define TAIL _mm256_loadu_si256((const __m256i *)tail_lanes)

/* All registers are taken: without this fence the compiler keeps an x for later and spills an accumulator for it. */
#define KEEP_APART __asm__ volatile("" ::: "memory")

/* 9 rows x 1 vectors, summed over r by 1 to 3; padding along w: rows on the image for each tap of s are 0:1-2 1:0-2 2:0-2. */
static void tile0_3hx3wx8cx3s_wpad0(const float *x, const float *w, float *y)
{
    __m256 acc_0_0 = _mm256_setzero_ps();
    __m256 acc_1_0 = _mm256_setzero_ps();
    __m256 acc_2_0 = _mm256_setzero_ps();
    __m256 acc_3_0 = _mm256_setzero_ps();
    __m256 acc_4_0 = _mm256_setzero_ps();
    __m256 acc_5_0 = _mm256_setzero_ps();
    __m256 acc_6_0 = _mm256_setzero_ps();
    __m256 acc_7_0 = _mm256_setzero_ps();
    __m256 acc_8_0 = _mm256_setzero_ps();
    for (long r = 0; r < 3; ++r) {
        const float *x_r = x + r * X_r;
        const float *w_r = w + r * 3 * PANEL_1;
        const __m256 w_0_0 = _mm256_loadu_ps(w_r);
        const __m256 w_1_0 = _mm256_loadu_ps(w_r + 1 * PANEL_1);
        const __m256 w_2_0 = _mm256_loadu_ps(w_r + 2 * PANEL_1);
        { const __m256 x_0 = _mm256_loadu_ps(x_r + X_w); acc_1_0 = _mm256_fmadd_ps(x_0, w_0_0, acc_1_0); acc_0_0 = _mm256_fmadd_ps(x_0, w_1_0, acc_0_0); }
        { const __m256 x_1 = _mm256_loadu_ps(x_r + 2 * X_w); acc_2_0 = _mm256_fmadd_ps(x_1, w_0_0, acc_2_0); acc_1_0 = _mm256_fmadd_ps(x_1, w_1_0, acc_1_0); acc_0_0 = _mm256_fmadd_ps(x_1, w_2_0, acc_0_0); }
        { const __m256 x_2 = _mm256_loadu_ps(x_r + 2 * X_w + X_s); acc_2_0 = _mm256_fmadd_ps(x_2, w_1_0, acc_2_0); acc_1_0 = _mm256_fmadd_ps(x_2, w_2_0, acc_1_0); }
        { const __m256 x_3 = _mm256_loadu_ps(x_r + 2 * X_w + 2 * X_s); acc_2_0 = _mm256_fmadd_ps(x_3, w_2_0, acc_2_0); }
        { const __m256 x_4 = _mm256_loadu_ps(x_r + X_h + X_w); acc_4_0 = _mm256_fmadd_ps(x_4, w_0_0, acc_4_0); acc_3_0 = _mm256_fmadd_ps(x_4, w_1_0, acc_3_0); }
        { const __m256 x_5 = _mm256_loadu_ps(x_r + X_h + 2 * X_w); acc_5_0 = _mm256_fmadd_ps(x_5, w_0_0, acc_5_0); acc_4_0 = _mm256_fmadd_ps(x_5, w_1_0, acc_4_0); acc_3_0 = _mm256_fmadd_ps(x_5, w_2_0, acc_3_0); }
        { const __m256 x_6 = _mm256_loadu_ps(x_r + X_h + 2 * X_w + X_s); acc_5_0 = _mm256_fmadd_ps(x_6, w_1_0, acc_5_0); acc_4_0 = _mm256_fmadd_ps(x_6, w_2_0, acc_4_0); }
        { const __m256 x_7 = _mm256_loadu_ps(x_r + X_h + 2 * X_w + 2 * X_s); acc_5_0 = _mm256_fmadd_ps(x_7, w_2_0, acc_5_0); }
        { const __m256 x_8 = _mm256_loadu_ps(x_r + 2 * X_h + X_w); acc_7_0 = _mm256_fmadd_ps(x_8, w_0_0, acc_7_0); acc_6_0 = _mm256_fmadd_ps(x_8, w_1_0, acc_6_0); }
        { const __m256 x_9 = _mm256_loadu_ps(x_r + 2 * X_h + 2 * X_w); acc_8_0 = _mm256_fmadd_ps(x_9, w_0_0, acc_8_0); acc_7_0 = _mm256_fmadd_ps(x_9, w_1_0, acc_7_0); acc_6_0 = _mm256_fmadd_ps(x_9, w_2_0, acc_6_0); }
        { const __m256 x_10 = _mm256_loadu_ps(x_r + 2 * X_h + 2 * X_w + X_s); acc_8_0 = _mm256_fmadd_ps(x_10, w_1_0, acc_8_0); acc_7_0 = _mm256_fmadd_ps(x_10, w_2_0, acc_7_0); }
        { const __m256 x_11 = _mm256_loadu_ps(x_r + 2 * X_h + 2 * X_w + 2 * X_s); acc_8_0 = _mm256_fmadd_ps(x_11, w_2_0, acc_8_0); }
    }
    _mm256_storeu_ps(y, acc_0_0);
    _mm256_storeu_ps(y + Y_w, acc_1_0);
    _mm256_storeu_ps(y + 2 * Y_w, acc_2_0);
    _mm256_storeu_ps(y + Y_h, acc_3_0);
    _mm256_storeu_ps(y + Y_h + Y_w, acc_4_0);
    _mm256_storeu_ps(y + Y_h + 2 * Y_w, acc_5_0);
    _mm256_storeu_ps(y + 2 * Y_h, acc_6_0);
    _mm256_storeu_ps(y + 2 * Y_h + Y_w, acc_7_0);
    _mm256_storeu_ps(y + 2 * Y_h + 2 * Y_w, acc_8_0);
}

/* 9 rows x 1 vectors, summed over r by 1 to 3; padding along w: rows on the image for each tap of s are 0:1-2 1:0-2 2:0-2; the last vector is masked. */
static void tile0_3hx3wx8cx3s_wpad0_tail(const float *x, const float *w, float *y)
{
    __m256 acc_0_0 = _mm256_setzero_ps();
    __m256 acc_1_0 = _mm256_setzero_ps();
    __m256 acc_2_0 = _mm256_setzero_ps();
    __m256 acc_3_0 = _mm256_setzero_ps();
    __m256 acc_4_0 = _mm256_setzero_ps();
    __m256 acc_5_0 = _mm256_setzero_ps();
    __m256 acc_6_0 = _mm256_setzero_ps();
    __m256 acc_7_0 = _mm256_setzero_ps();
    __m256 acc_8_0 = _mm256_setzero_ps();
    for (long r = 0; r < 3; ++r) {
        const float *x_r = x + r * X_r;
        const float *w_r = w + r * 3 * PANEL_1;
        const __m256 w_0_0 = _mm256_loadu_ps(w_r);
        const __m256 w_1_0 = _mm256_loadu_ps(w_r + 1 * PANEL_1);
        const __m256 w_2_0 = _mm256_loadu_ps(w_r + 2 * PANEL_1);
        { const __m256 x_0 = _mm256_maskload_ps(x_r + X_w, TAIL); acc_1_0 = _mm256_fmadd_ps(x_0, w_0_0, acc_1_0); acc_0_0 = _mm256_fmadd_ps(x_0, w_1_0, acc_0_0); }
        { const __m256 x_1 = _mm256_maskload_ps(x_r + 2 * X_w, TAIL); acc_2_0 = _mm256_fmadd_ps(x_1, w_0_0, acc_2_0); acc_1_0 = _mm256_fmadd_ps(x_1, w_1_0, acc_1_0); acc_0_0 = _mm256_fmadd_ps(x_1, w_2_0, acc_0_0); }
        { const __m256 x_2 = _mm256_maskload_ps(x_r + 2 * X_w + X_s, TAIL); acc_2_0 = _mm256_fmadd_ps(x_2, w_1_0, acc_2_0); acc_1_0 = _mm256_fmadd_ps(x_2, w_2_0, acc_1_0); }
        { const __m256 x_3 = _mm256_maskload_ps(x_r + 2 * X_w + 2 * X_s, TAIL); acc_2_0 = _mm256_fmadd_ps(x_3, w_2_0, acc_2_0); }
        { const __m256 x_4 = _mm256_maskload_ps(x_r + X_h + X_w, TAIL); acc_4_0 = _mm256_fmadd_ps(x_4, w_0_0, acc_4_0); acc_3_0 = _mm256_fmadd_ps(x_4, w_1_0, acc_3_0); }
        { const __m256 x_5 = _mm256_maskload_ps(x_r + X_h + 2 * X_w, TAIL); acc_5_0 = _mm256_fmadd_ps(x_5, w_0_0, acc_5_0); acc_4_0 = _mm256_fmadd_ps(x_5, w_1_0, acc_4_0); acc_3_0 = _mm256_fmadd_ps(x_5, w_2_0, acc_3_0); }
        { const __m256 x_6 = _mm256_maskload_ps(x_r + X_h + 2 * X_w + X_s, TAIL); acc_5_0 = _mm256_fmadd_ps(x_6, w_1_0, acc_5_0); acc_4_0 = _mm256_fmadd_ps(x_6, w_2_0, acc_4_0); }
        { const __m256 x_7 = _mm256_maskload_ps(x_r + X_h + 2 * X_w + 2 * X_s, TAIL); acc_5_0 = _mm256_fmadd_ps(x_7, w_2_0, acc_5_0); }
        { const __m256 x_8 = _mm256_maskload_ps(x_r + 2 * X_h + X_w, TAIL); acc_7_0 = _mm256_fmadd_ps(x_8, w_0_0, acc_7_0); acc_6_0 = _mm256_fmadd_ps(x_8, w_1_0, acc_6_0); }
        { const __m256 x_9 = _mm256_maskload_ps(x_r + 2 * X_h + 2 * X_w, TAIL); acc_8_0 = _mm256_fmadd_ps(x_9, w_0_0, acc_8_0); acc_7_0 = _mm256_fmadd_ps(x_9, w_1_0, acc_7_0); acc_6_0 = _mm256_fmadd_ps(x_9, w_2_0, acc_6_0); }
        { const __m256 x_10 = _mm256_maskload_ps(x_r + 2 * X_h + 2 * X_w + X_s, TAIL); acc_8_0 = _mm256_fmadd_ps(x_10, w_1_0, acc_8_0); acc_7_0 = _mm256_fmadd_ps(x_10, w_2_0, acc_7_0); }
        { const __m256 x_11 = _mm256_maskload_ps(x_r + 2 * X_h + 2 * X_w + 2 * X_s, TAIL); acc_8_0 = _mm256_fmadd_ps(x_11, w_2_0, acc_8_0); }
    }
    _mm256_maskstore_ps(y, TAIL, acc_0_0);
    _mm256_maskstore_ps(y + Y_w, TAIL, acc_1_0);
    _mm256_maskstore_ps(y + 2 * Y_w, TAIL, acc_2_0);
    _mm256_maskstore_ps(y + Y_h, TAIL, acc_3_0);
    _mm256_maskstore_ps(y + Y_h + Y_w, TAIL, acc_4_0);
    _mm256_maskstore_ps(y + Y_h + 2 * Y_w, TAIL, acc_5_0);
    _mm256_maskstore_ps(y + 2 * Y_h, TAIL, acc_6_0);
    _mm256_maskstore_ps(y + 2 * Y_h + Y_w, TAIL, acc_7_0);
    _mm256_maskstore_ps(y + 2 * Y_h + 2 * Y_w, TAIL, acc_8_0);
}

/* 9 rows x 1 vectors, summed over r by 1 to 3; padding along h: rows on the image for each tap of r are 0:1-2 1:0-2 2:0-2; padding along w: rows on the image for each tap of s are 0:1-2 1:0-2 2:0-2. */
static void tile0_3hx3wx8cx3s_hpad1_wpad0(const float *x, const float *w, float *y)
{
    __m256 acc_0_0 = _mm256_setzero_ps();
    __m256 acc_1_0 = _mm256_setzero_ps();
    __m256 acc_2_0 = _mm256_setzero_ps();
    __m256 acc_3_0 = _mm256_setzero_ps();
    __m256 acc_4_0 = _mm256_setzero_ps();
    __m256 acc_5_0 = _mm256_setzero_ps();
    __m256 acc_6_0 = _mm256_setzero_ps();
    __m256 acc_7_0 = _mm256_setzero_ps();
    __m256 acc_8_0 = _mm256_setzero_ps();
    { /* r = 0 */
        const float *x_r = x + 0 * X_r;
        const float *w_r = w + 0 * 3 * PANEL_1;
        const __m256 w_0_0 = _mm256_loadu_ps(w_r);
        const __m256 w_1_0 = _mm256_loadu_ps(w_r + 1 * PANEL_1);
        const __m256 w_2_0 = _mm256_loadu_ps(w_r + 2 * PANEL_1);
        { const __m256 x_0 = _mm256_loadu_ps(x_r + X_h + X_w); acc_4_0 = _mm256_fmadd_ps(x_0, w_0_0, acc_4_0); acc_3_0 = _mm256_fmadd_ps(x_0, w_1_0, acc_3_0); }
        { const __m256 x_1 = _mm256_loadu_ps(x_r + X_h + 2 * X_w); acc_5_0 = _mm256_fmadd_ps(x_1, w_0_0, acc_5_0); acc_4_0 = _mm256_fmadd_ps(x_1, w_1_0, acc_4_0); acc_3_0 = _mm256_fmadd_ps(x_1, w_2_0, acc_3_0); }
        { const __m256 x_2 = _mm256_loadu_ps(x_r + X_h + 2 * X_w + X_s); acc_5_0 = _mm256_fmadd_ps(x_2, w_1_0, acc_5_0); acc_4_0 = _mm256_fmadd_ps(x_2, w_2_0, acc_4_0); }
        { const __m256 x_3 = _mm256_loadu_ps(x_r + X_h + 2 * X_w + 2 * X_s); acc_5_0 = _mm256_fmadd_ps(x_3, w_2_0, acc_5_0); }
        { const __m256 x_4 = _mm256_loadu_ps(x_r + 2 * X_h + X_w); acc_7_0 = _mm256_fmadd_ps(x_4, w_0_0, acc_7_0); acc_6_0 = _mm256_fmadd_ps(x_4, w_1_0, acc_6_0); }
        { const __m256 x_5 = _mm256_loadu_ps(x_r + 2 * X_h + 2 * X_w); acc_8_0 = _mm256_fmadd_ps(x_5, w_0_0, acc_8_0); acc_7_0 = _mm256_fmadd_ps(x_5, w_1_0, acc_7_0); acc_6_0 = _mm256_fmadd_ps(x_5, w_2_0, acc_6_0); }
        { const __m256 x_6 = _mm256_loadu_ps(x_r + 2 * X_h + 2 * X_w + X_s); acc_8_0 = _mm256_fmadd_ps(x_6, w_1_0, acc_8_0); acc_7_0 = _mm256_fmadd_ps(x_6, w_2_0, acc_7_0); }
        { const __m256 x_7 = _mm256_loadu_ps(x_r + 2 * X_h + 2 * X_w + 2 * X_s); acc_8_0 = _mm256_fmadd_ps(x_7, w_2_0, acc_8_0); }
    }
    for (long r = 1; r < 3; ++r) {
        const float *x_r = x + r * X_r;
        const float *w_r = w + r * 3 * PANEL_1;
        const __m256 w_0_0 = _mm256_loadu_ps(w_r);
        const __m256 w_1_0 = _mm256_loadu_ps(w_r + 1 * PANEL_1);
        const __m256 w_2_0 = _mm256_loadu_ps(w_r + 2 * PANEL_1);
        { const __m256 x_0 = _mm256_loadu_ps(x_r + X_w); acc_1_0 = _mm256_fmadd_ps(x_0, w_0_0, acc_1_0); acc_0_0 = _mm256_fmadd_ps(x_0, w_1_0, acc_0_0); }
        { const __m256 x_1 = _mm256_loadu_ps(x_r + 2 * X_w); acc_2_0 = _mm256_fmadd_ps(x_1, w_0_0, acc_2_0); acc_1_0 = _mm256_fmadd_ps(x_1, w_1_0, acc_1_0); acc_0_0 = _mm256_fmadd_ps(x_1, w_2_0, acc_0_0); }
        { const __m256 x_2 = _mm256_loadu_ps(x_r + 2 * X_w + X_s); acc_2_0 = _mm256_fmadd_ps(x_2, w_1_0, acc_2_0); acc_1_0 = _mm256_fmadd_ps(x_2, w_2_0, acc_1_0); }
        { const __m256 x_3 = _mm256_loadu_ps(x_r + 2 * X_w + 2 * X_s); acc_2_0 = _mm256_fmadd_ps(x_3, w_2_0, acc_2_0); }
        { const __m256 x_4 = _mm256_loadu_ps(x_r + X_h + X_w); acc_4_0 = _mm256_fmadd_ps(x_4, w_0_0, acc_4_0); acc_3_0 = _mm256_fmadd_ps(x_4, w_1_0, acc_3_0); }
        { const __m256 x_5 = _mm256_loadu_ps(x_r + X_h + 2 * X_w); acc_5_0 = _mm256_fmadd_ps(x_5, w_0_0, acc_5_0); acc_4_0 = _mm256_fmadd_ps(x_5, w_1_0, acc_4_0); acc_3_0 = _mm256_fmadd_ps(x_5, w_2_0, acc_3_0); }
        { const __m256 x_6 = _mm256_loadu_ps(x_r + X_h + 2 * X_w + X_s); acc_5_0 = _mm256_fmadd_ps(x_6, w_1_0, acc_5_0); acc_4_0 = _mm256_fmadd_ps(x_6, w_2_0, acc_4_0); }
        { const __m256 x_7 = _mm256_loadu_ps(x_r + X_h + 2 * X_w + 2 * X_s); acc_5_0 = _mm256_fmadd_ps(x_7, w_2_0, acc_5_0); }
        { const __m256 x_8 = _mm256_loadu_ps(x_r + 2 * X_h + X_w); acc_7_0 = _mm256_fmadd_ps(x_8, w_0_0, acc_7_0); acc_6_0 = _mm256_fmadd_ps(x_8, w_1_0, acc_6_0); }
        { const __m256 x_9 = _mm256_loadu_ps(x_r + 2 * X_h + 2 * X_w); acc_8_0 = _mm256_fmadd_ps(x_9, w_0_0, acc_8_0); acc_7_0 = _mm256_fmadd_ps(x_9, w_1_0, acc_7_0); acc_6_0 = _mm256_fmadd_ps(x_9, w_2_0, acc_6_0); }
        { const __m256 x_10 = _mm256_loadu_ps(x_r + 2 * X_h + 2 * X_w + X_s); acc_8_0 = _mm256_fmadd_ps(x_10, w_1_0, acc_8_0); acc_7_0 = _mm256_fmadd_ps(x_10, w_2_0, acc_7_0); }
        { const __m256 x_11 = _mm256_loadu_ps(x_r + 2 * X_h + 2 * X_w + 2 * X_s); acc_8_0 = _mm256_fmadd_ps(x_11, w_2_0, acc_8_0); }
    }
    _mm256_storeu_ps(y, acc_0_0);
    _mm256_storeu_ps(y + Y_w, acc_1_0);
    _mm256_storeu_ps(y + 2 * Y_w, acc_2_0);
    _mm256_storeu_ps(y + Y_h, acc_3_0);
    _mm256_storeu_ps(y + Y_h + Y_w, acc_4_0);
    _mm256_storeu_ps(y + Y_h + 2 * Y_w, acc_5_0);
    _mm256_storeu_ps(y + 2 * Y_h, acc_6_0);
    _mm256_storeu_ps(y + 2 * Y_h + Y_w, acc_7_0);
    _mm256_storeu_ps(y + 2 * Y_h + 2 * Y_w, acc_8_0);
}

/* 9 rows x 1 vectors, summed over r by 1 to 3; padding along h: rows on the image for each tap of r are 0:1-2 1:0-2 2:0-2; padding along w: rows on the image for each tap of s are 0:1-2 1:0-2 2:0-2; the last vector is masked. */
static void tile0_3hx3wx8cx3s_hpad1_wpad0_tail(const float *x, const float *w, float *y)
{
    __m256 acc_0_0 = _mm256_setzero_ps();
    __m256 acc_1_0 = _mm256_setzero_ps();
    __m256 acc_2_0 = _mm256_setzero_ps();
    __m256 acc_3_0 = _mm256_setzero_ps();
    __m256 acc_4_0 = _mm256_setzero_ps();
    __m256 acc_5_0 = _mm256_setzero_ps();
    __m256 acc_6_0 = _mm256_setzero_ps();
    __m256 acc_7_0 = _mm256_setzero_ps();
    __m256 acc_8_0 = _mm256_setzero_ps();
    { /* r = 0 */
        const float *x_r = x + 0 * X_r;
        const float *w_r = w + 0 * 3 * PANEL_1;
        const __m256 w_0_0 = _mm256_loadu_ps(w_r);
        const __m256 w_1_0 = _mm256_loadu_ps(w_r + 1 * PANEL_1);
        const __m256 w_2_0 = _mm256_loadu_ps(w_r + 2 * PANEL_1);
        { const __m256 x_0 = _mm256_maskload_ps(x_r + X_h + X_w, TAIL); acc_4_0 = _mm256_fmadd_ps(x_0, w_0_0, acc_4_0); acc_3_0 = _mm256_fmadd_ps(x_0, w_1_0, acc_3_0); }
        { const __m256 x_1 = _mm256_maskload_ps(x_r + X_h + 2 * X_w, TAIL); acc_5_0 = _mm256_fmadd_ps(x_1, w_0_0, acc_5_0); acc_4_0 = _mm256_fmadd_ps(x_1, w_1_0, acc_4_0); acc_3_0 = _mm256_fmadd_ps(x_1, w_2_0, acc_3_0); }
        { const __m256 x_2 = _mm256_maskload_ps(x_r + X_h + 2 * X_w + X_s, TAIL); acc_5_0 = _mm256_fmadd_ps(x_2, w_1_0, acc_5_0); acc_4_0 = _mm256_fmadd_ps(x_2, w_2_0, acc_4_0); }
        { const __m256 x_3 = _mm256_maskload_ps(x_r + X_h + 2 * X_w + 2 * X_s, TAIL); acc_5_0 = _mm256_fmadd_ps(x_3, w_2_0, acc_5_0); }
        { const __m256 x_4 = _mm256_maskload_ps(x_r + 2 * X_h + X_w, TAIL); acc_7_0 = _mm256_fmadd_ps(x_4, w_0_0, acc_7_0); acc_6_0 = _mm256_fmadd_ps(x_4, w_1_0, acc_6_0); }
        { const __m256 x_5 = _mm256_maskload_ps(x_r + 2 * X_h + 2 * X_w, TAIL); acc_8_0 = _mm256_fmadd_ps(x_5, w_0_0, acc_8_0); acc_7_0 = _mm256_fmadd_ps(x_5, w_1_0, acc_7_0); acc_6_0 = _mm256_fmadd_ps(x_5, w_2_0, acc_6_0); }
        { const __m256 x_6 = _mm256_maskload_ps(x_r + 2 * X_h + 2 * X_w + X_s, TAIL); acc_8_0 = _mm256_fmadd_ps(x_6, w_1_0, acc_8_0); acc_7_0 = _mm256_fmadd_ps(x_6, w_2_0, acc_7_0); }
        { const __m256 x_7 = _mm256_maskload_ps(x_r + 2 * X_h + 2 * X_w + 2 * X_s, TAIL); acc_8_0 = _mm256_fmadd_ps(x_7, w_2_0, acc_8_0); }
    }
    for (long r = 1; r < 3; ++r) {
        const float *x_r = x + r * X_r;
        const float *w_r = w + r * 3 * PANEL_1;
        const __m256 w_0_0 = _mm256_loadu_ps(w_r);
        const __m256 w_1_0 = _mm256_loadu_ps(w_r + 1 * PANEL_1);
        const __m256 w_2_0 = _mm256_loadu_ps(w_r + 2 * PANEL_1);
        { const __m256 x_0 = _mm256_maskload_ps(x_r + X_w, TAIL); acc_1_0 = _mm256_fmadd_ps(x_0, w_0_0, acc_1_0); acc_0_0 = _mm256_fmadd_ps(x_0, w_1_0, acc_0_0); }
        { const __m256 x_1 = _mm256_maskload_ps(x_r + 2 * X_w, TAIL); acc_2_0 = _mm256_fmadd_ps(x_1, w_0_0, acc_2_0); acc_1_0 = _mm256_fmadd_ps(x_1, w_1_0, acc_1_0); acc_0_0 = _mm256_fmadd_ps(x_1, w_2_0, acc_0_0); }
        { const __m256 x_2 = _mm256_maskload_ps(x_r + 2 * X_w + X_s, TAIL); acc_2_0 = _mm256_fmadd_ps(x_2, w_1_0, acc_2_0); acc_1_0 = _mm256_fmadd_ps(x_2, w_2_0, acc_1_0); }
        { const __m256 x_3 = _mm256_maskload_ps(x_r + 2 * X_w + 2 * X_s, TAIL); acc_2_0 = _mm256_fmadd_ps(x_3, w_2_0, acc_2_0); }
        { const __m256 x_4 = _mm256_maskload_ps(x_r + X_h + X_w, TAIL); acc_4_0 = _mm256_fmadd_ps(x_4, w_0_0, acc_4_0); acc_3_0 = _mm256_fmadd_ps(x_4, w_1_0, acc_3_0); }
        { const __m256 x_5 = _mm256_maskload_ps(x_r + X_h + 2 * X_w, TAIL); acc_5_0 = _mm256_fmadd_ps(x_5, w_0_0, acc_5_0); acc_4_0 = _mm256_fmadd_ps(x_5, w_1_0, acc_4_0); acc_3_0 = _mm256_fmadd_ps(x_5, w_2_0, acc_3_0); }
        { const __m256 x_6 = _mm256_maskload_ps(x_r + X_h + 2 * X_w + X_s, TAIL); acc_5_0 = _mm256_fmadd_ps(x_6, w_1_0, acc_5_0); acc_4_0 = _mm256_fmadd_ps(x_6, w_2_0, acc_4_0); }
        { const __m256 x_7 = _mm256_maskload_ps(x_r + X_h + 2 * X_w + 2 * X_s, TAIL); acc_5_0 = _mm256_fmadd_ps(x_7, w_2_0, acc_5_0); }
        { const __m256 x_8 = _mm256_maskload_ps(x_r + 2 * X_h + X_w, TAIL); acc_7_0 = _mm256_fmadd_ps(x_8, w_0_0, acc_7_0); acc_6_0 = _mm256_fmadd_ps(x_8, w_1_0, acc_6_0); }
        { const __m256 x_9 = _mm256_maskload_ps(x_r + 2 * X_h + 2 * X_w, TAIL); acc_8_0 = _mm256_fmadd_ps(x_9, w_0_0, acc_8_0); acc_7_0 = _mm256_fmadd_ps(x_9, w_1_0, acc_7_0); acc_6_0 = _mm256_fmadd_ps(x_9, w_2_0, acc_6_0); }
        { const __m256 x_10 = _mm256_maskload_ps(x_r + 2 * X_h + 2 * X_w + X_s, TAIL); acc_8_0 = _mm256_fmadd_ps(x_10, w_1_0, acc_8_0); acc_7_0 = _mm256_fmadd_ps(x_10, w_2_0, acc_7_0); }
        { const __m256 x_11 = _mm256_maskload_ps(x_r + 2 * X_h + 2 * X_w + 2 * X_s, TAIL); acc_8_0 = _mm256_fmadd_ps(x_11, w_2_0, acc_8_0); }
    }
    _mm256_maskstore_ps(y, TAIL, acc_0_0);
    _mm256_maskstore_ps(y + Y_w, TAIL, acc_1_0);
    _mm256_maskstore_ps(y + 2 * Y_w, TAIL, acc_2_0);
    _mm256_maskstore_ps(y + Y_h, TAIL, acc_3_0);
    _mm256_maskstore_ps(y + Y_h + Y_w, TAIL, acc_4_0);
    _mm256_maskstore_ps(y + Y_h + 2 * Y_w, TAIL, acc_5_0);
    _mm256_maskstore_ps(y + 2 * Y_h, TAIL, acc_6_0);
    _mm256_maskstore_ps(y + 2 * Y_h + Y_w, TAIL, acc_7_0);
    _mm256_maskstore_ps(y + 2 * Y_h + 2 * Y_w, TAIL, acc_8_0);
}

/* 9 rows x 1 vectors, summed over r by 1 to 3; padding along h: rows on the image for each tap of r are 0:0-2 1:0-2 2:0-1; padding along w: rows on the image for each tap of s are 0:1-2 1:0-2 2:0-2. */
static void tile0_3hx3wx8cx3s_hpad2_wpad0(const float *x, const float *w, float *y)
{
    __m256 acc_0_0 = _mm256_setzero_ps();
    __m256 acc_1_0 = _mm256_setzero_ps();
    __m256 acc_2_0 = _mm256_setzero_ps();
    __m256 acc_3_0 = _mm256_setzero_ps();
    __m256 acc_4_0 = _mm256_setzero_ps();
    __m256 acc_5_0 = _mm256_setzero_ps();
    __m256 acc_6_0 = _mm256_setzero_ps();
    __m256 acc_7_0 = _mm256_setzero_ps();
    __m256 acc_8_0 = _mm256_setzero_ps();
    for (long r = 0; r < 2; ++r) {
        const float *x_r = x + r * X_r;
        const float *w_r = w + r * 3 * PANEL_1;
        const __m256 w_0_0 = _mm256_loadu_ps(w_r);
        const __m256 w_1_0 = _mm256_loadu_ps(w_r + 1 * PANEL_1);
        const __m256 w_2_0 = _mm256_loadu_ps(w_r + 2 * PANEL_1);
        { const __m256 x_0 = _mm256_loadu_ps(x_r + X_w); acc_1_0 = _mm256_fmadd_ps(x_0, w_0_0, acc_1_0); acc_0_0 = _mm256_fmadd_ps(x_0, w_1_0, acc_0_0); }
        { const __m256 x_1 = _mm256_loadu_ps(x_r + 2 * X_w); acc_2_0 = _mm256_fmadd_ps(x_1, w_0_0, acc_2_0); acc_1_0 = _mm256_fmadd_ps(x_1, w_1_0, acc_1_0); acc_0_0 = _mm256_fmadd_ps(x_1, w_2_0, acc_0_0); }
        { const __m256 x_2 = _mm256_loadu_ps(x_r + 2 * X_w + X_s); acc_2_0 = _mm256_fmadd_ps(x_2, w_1_0, acc_2_0); acc_1_0 = _mm256_fmadd_ps(x_2, w_2_0, acc_1_0); }
        { const __m256 x_3 = _mm256_loadu_ps(x_r + 2 * X_w + 2 * X_s); acc_2_0 = _mm256_fmadd_ps(x_3, w_2_0, acc_2_0); }
        { const __m256 x_4 = _mm256_loadu_ps(x_r + X_h + X_w); acc_4_0 = _mm256_fmadd_ps(x_4, w_0_0, acc_4_0); acc_3_0 = _mm256_fmadd_ps(x_4, w_1_0, acc_3_0); }
        { const __m256 x_5 = _mm256_loadu_ps(x_r + X_h + 2 * X_w); acc_5_0 = _mm256_fmadd_ps(x_5, w_0_0, acc_5_0); acc_4_0 = _mm256_fmadd_ps(x_5, w_1_0, acc_4_0); acc_3_0 = _mm256_fmadd_ps(x_5, w_2_0, acc_3_0); }
        { const __m256 x_6 = _mm256_loadu_ps(x_r + X_h + 2 * X_w + X_s); acc_5_0 = _mm256_fmadd_ps(x_6, w_1_0, acc_5_0); acc_4_0 = _mm256_fmadd_ps(x_6, w_2_0, acc_4_0); }
        { const __m256 x_7 = _mm256_loadu_ps(x_r + X_h + 2 * X_w + 2 * X_s); acc_5_0 = _mm256_fmadd_ps(x_7, w_2_0, acc_5_0); }
        { const __m256 x_8 = _mm256_loadu_ps(x_r + 2 * X_h + X_w); acc_7_0 = _mm256_fmadd_ps(x_8, w_0_0, acc_7_0); acc_6_0 = _mm256_fmadd_ps(x_8, w_1_0, acc_6_0); }
        { const __m256 x_9 = _mm256_loadu_ps(x_r + 2 * X_h + 2 * X_w); acc_8_0 = _mm256_fmadd_ps(x_9, w_0_0, acc_8_0); acc_7_0 = _mm256_fmadd_ps(x_9, w_1_0, acc_7_0); acc_6_0 = _mm256_fmadd_ps(x_9, w_2_0, acc_6_0); }
        { const __m256 x_10 = _mm256_loadu_ps(x_r + 2 * X_h + 2 * X_w + X_s); acc_8_0 = _mm256_fmadd_ps(x_10, w_1_0, acc_8_0); acc_7_0 = _mm256_fmadd_ps(x_10, w_2_0, acc_7_0); }
        { const __m256 x_11 = _mm256_loadu_ps(x_r + 2 * X_h + 2 * X_w + 2 * X_s); acc_8_0 = _mm256_fmadd_ps(x_11, w_2_0, acc_8_0); }
    }
    { /* r = 2 */
        const float *x_r = x + 2 * X_r;
        const float *w_r = w + 2 * 3 * PANEL_1;
        const __m256 w_0_0 = _mm256_loadu_ps(w_r);
        const __m256 w_1_0 = _mm256_loadu_ps(w_r + 1 * PANEL_1);
        const __m256 w_2_0 = _mm256_loadu_ps(w_r + 2 * PANEL_1);
        { const __m256 x_0 = _mm256_loadu_ps(x_r + X_w); acc_1_0 = _mm256_fmadd_ps(x_0, w_0_0, acc_1_0); acc_0_0 = _mm256_fmadd_ps(x_0, w_1_0, acc_0_0); }
        { const __m256 x_1 = _mm256_loadu_ps(x_r + 2 * X_w); acc_2_0 = _mm256_fmadd_ps(x_1, w_0_0, acc_2_0); acc_1_0 = _mm256_fmadd_ps(x_1, w_1_0, acc_1_0); acc_0_0 = _mm256_fmadd_ps(x_1, w_2_0, acc_0_0); }
        { const __m256 x_2 = _mm256_loadu_ps(x_r + 2 * X_w + X_s); acc_2_0 = _mm256_fmadd_ps(x_2, w_1_0, acc_2_0); acc_1_0 = _mm256_fmadd_ps(x_2, w_2_0, acc_1_0); }
        { const __m256 x_3 = _mm256_loadu_ps(x_r + 2 * X_w + 2 * X_s); acc_2_0 = _mm256_fmadd_ps(x_3, w_2_0, acc_2_0); }
        { const __m256 x_4 = _mm256_loadu_ps(x_r + X_h + X_w); acc_4_0 = _mm256_fmadd_ps(x_4, w_0_0, acc_4_0); acc_3_0 = _mm256_fmadd_ps(x_4, w_1_0, acc_3_0); }
        { const __m256 x_5 = _mm256_loadu_ps(x_r + X_h + 2 * X_w); acc_5_0 = _mm256_fmadd_ps(x_5, w_0_0, acc_5_0); acc_4_0 = _mm256_fmadd_ps(x_5, w_1_0, acc_4_0); acc_3_0 = _mm256_fmadd_ps(x_5, w_2_0, acc_3_0); }
        { const __m256 x_6 = _mm256_loadu_ps(x_r + X_h + 2 * X_w + X_s); acc_5_0 = _mm256_fmadd_ps(x_6, w_1_0, acc_5_0); acc_4_0 = _mm256_fmadd_ps(x_6, w_2_0, acc_4_0); }
        { const __m256 x_7 = _mm256_loadu_ps(x_r + X_h + 2 * X_w + 2 * X_s); acc_5_0 = _mm256_fmadd_ps(x_7, w_2_0, acc_5_0); }
    }
    _mm256_storeu_ps(y, acc_0_0);
    _mm256_storeu_ps(y + Y_w, acc_1_0);
    _mm256_storeu_ps(y + 2 * Y_w, acc_2_0);
    _mm256_storeu_ps(y + Y_h, acc_3_0);
    _mm256_storeu_ps(y + Y_h + Y_w, acc_4_0);
    _mm256_storeu_ps(y + Y_h + 2 * Y_w, acc_5_0);
    _mm256_storeu_ps(y + 2 * Y_h, acc_6_0);
    _mm256_storeu_ps(y + 2 * Y_h + Y_w, acc_7_0);
    _mm256_storeu_ps(y + 2 * Y_h + 2 * Y_w, acc_8_0);
}

/* 9 rows x 1 vectors, summed over r by 1 to 3; padding along h: rows on the image for each tap of r are 0:0-2 1:0-2 2:0-1; padding along w: rows on the image for each tap of s are 0:1-2 1:0-2 2:0-2; the last vector is masked. */
static void tile0_3hx3wx8cx3s_hpad2_wpad0_tail(const float *x, const float *w, float *y)
{
    __m256 acc_0_0 = _mm256_setzero_ps();
    __m256 acc_1_0 = _mm256_setzero_ps();
    __m256 acc_2_0 = _mm256_setzero_ps();
    __m256 acc_3_0 = _mm256_setzero_ps();
    __m256 acc_4_0 = _mm256_setzero_ps();
    __m256 acc_5_0 = _mm256_setzero_ps();
    __m256 acc_6_0 = _mm256_setzero_ps();
    __m256 acc_7_0 = _mm256_setzero_ps();
    __m256 acc_8_0 = _mm256_setzero_ps();
    for (long r = 0; r < 2; ++r) {
        const float *x_r = x + r * X_r;
        const float *w_r = w + r * 3 * PANEL_1;
        const __m256 w_0_0 = _mm256_loadu_ps(w_r);
        const __m256 w_1_0 = _mm256_loadu_ps(w_r + 1 * PANEL_1);
        const __m256 w_2_0 = _mm256_loadu_ps(w_r + 2 * PANEL_1);
        { const __m256 x_0 = _mm256_maskload_ps(x_r + X_w, TAIL); acc_1_0 = _mm256_fmadd_ps(x_0, w_0_0, acc_1_0); acc_0_0 = _mm256_fmadd_ps(x_0, w_1_0, acc_0_0); }
        { const __m256 x_1 = _mm256_maskload_ps(x_r + 2 * X_w, TAIL); acc_2_0 = _mm256_fmadd_ps(x_1, w_0_0, acc_2_0); acc_1_0 = _mm256_fmadd_ps(x_1, w_1_0, acc_1_0); acc_0_0 = _mm256_fmadd_ps(x_1, w_2_0, acc_0_0); }
        { const __m256 x_2 = _mm256_maskload_ps(x_r + 2 * X_w + X_s, TAIL); acc_2_0 = _mm256_fmadd_ps(x_2, w_1_0, acc_2_0); acc_1_0 = _mm256_fmadd_ps(x_2, w_2_0, acc_1_0); }
        { const __m256 x_3 = _mm256_maskload_ps(x_r + 2 * X_w + 2 * X_s, TAIL); acc_2_0 = _mm256_fmadd_ps(x_3, w_2_0, acc_2_0); }
        { const __m256 x_4 = _mm256_maskload_ps(x_r + X_h + X_w, TAIL); acc_4_0 = _mm256_fmadd_ps(x_4, w_0_0, acc_4_0); acc_3_0 = _mm256_fmadd_ps(x_4, w_1_0, acc_3_0); }
        { const __m256 x_5 = _mm256_maskload_ps(x_r + X_h + 2 * X_w, TAIL); acc_5_0 = _mm256_fmadd_ps(x_5, w_0_0, acc_5_0); acc_4_0 = _mm256_fmadd_ps(x_5, w_1_0, acc_4_0); acc_3_0 = _mm256_fmadd_ps(x_5, w_2_0, acc_3_0); }
        { const __m256 x_6 = _mm256_maskload_ps(x_r + X_h + 2 * X_w + X_s, TAIL); acc_5_0 = _mm256_fmadd_ps(x_6, w_1_0, acc_5_0); acc_4_0 = _mm256_fmadd_ps(x_6, w_2_0, acc_4_0); }
        { const __m256 x_7 = _mm256_maskload_ps(x_r + X_h + 2 * X_w + 2 * X_s, TAIL); acc_5_0 = _mm256_fmadd_ps(x_7, w_2_0, acc_5_0); }
        { const __m256 x_8 = _mm256_maskload_ps(x_r + 2 * X_h + X_w, TAIL); acc_7_0 = _mm256_fmadd_ps(x_8, w_0_0, acc_7_0); acc_6_0 = _mm256_fmadd_ps(x_8, w_1_0, acc_6_0); }
        { const __m256 x_9 = _mm256_maskload_ps(x_r + 2 * X_h + 2 * X_w, TAIL); acc_8_0 = _mm256_fmadd_ps(x_9, w_0_0, acc_8_0); acc_7_0 = _mm256_fmadd_ps(x_9, w_1_0, acc_7_0); acc_6_0 = _mm256_fmadd_ps(x_9, w_2_0, acc_6_0); }
        { const __m256 x_10 = _mm256_maskload_ps(x_r + 2 * X_h + 2 * X_w + X_s, TAIL); acc_8_0 = _mm256_fmadd_ps(x_10, w_1_0, acc_8_0); acc_7_0 = _mm256_fmadd_ps(x_10, w_2_0, acc_7_0); }
        { const __m256 x_11 = _mm256_maskload_ps(x_r + 2 * X_h + 2 * X_w + 2 * X_s, TAIL); acc_8_0 = _mm256_fmadd_ps(x_11, w_2_0, acc_8_0); }
    }
    { /* r = 2 */
        const float *x_r = x + 2 * X_r;
        const float *w_r = w + 2 * 3 * PANEL_1;
        const __m256 w_0_0 = _mm256_loadu_ps(w_r);
        const __m256 w_1_0 = _mm256_loadu_ps(w_r + 1 * PANEL_1);
        const __m256 w_2_0 = _mm256_loadu_ps(w_r + 2 * PANEL_1);
        { const __m256 x_0 = _mm256_maskload_ps(x_r + X_w, TAIL); acc_1_0 = _mm256_fmadd_ps(x_0, w_0_0, acc_1_0); acc_0_0 = _mm256_fmadd_ps(x_0, w_1_0, acc_0_0); }
        { const __m256 x_1 = _mm256_maskload_ps(x_r + 2 * X_w, TAIL); acc_2_0 = _mm256_fmadd_ps(x_1, w_0_0, acc_2_0); acc_1_0 = _mm256_fmadd_ps(x_1, w_1_0, acc_1_0); acc_0_0 = _mm256_fmadd_ps(x_1, w_2_0, acc_0_0); }
        { const __m256 x_2 = _mm256_maskload_ps(x_r + 2 * X_w + X_s, TAIL); acc_2_0 = _mm256_fmadd_ps(x_2, w_1_0, acc_2_0); acc_1_0 = _mm256_fmadd_ps(x_2, w_2_0, acc_1_0); }
        { const __m256 x_3 = _mm256_maskload_ps(x_r + 2 * X_w + 2 * X_s, TAIL); acc_2_0 = _mm256_fmadd_ps(x_3, w_2_0, acc_2_0); }
        { const __m256 x_4 = _mm256_maskload_ps(x_r + X_h + X_w, TAIL); acc_4_0 = _mm256_fmadd_ps(x_4, w_0_0, acc_4_0); acc_3_0 = _mm256_fmadd_ps(x_4, w_1_0, acc_3_0); }
        { const __m256 x_5 = _mm256_maskload_ps(x_r + X_h + 2 * X_w, TAIL); acc_5_0 = _mm256_fmadd_ps(x_5, w_0_0, acc_5_0); acc_4_0 = _mm256_fmadd_ps(x_5, w_1_0, acc_4_0); acc_3_0 = _mm256_fmadd_ps(x_5, w_2_0, acc_3_0); }
        { const __m256 x_6 = _mm256_maskload_ps(x_r + X_h + 2 * X_w + X_s, TAIL); acc_5_0 = _mm256_fmadd_ps(x_6, w_1_0, acc_5_0); acc_4_0 = _mm256_fmadd_ps(x_6, w_2_0, acc_4_0); }
        { const __m256 x_7 = _mm256_maskload_ps(x_r + X_h + 2 * X_w + 2 * X_s, TAIL); acc_5_0 = _mm256_fmadd_ps(x_7, w_2_0, acc_5_0); }
    }
    _mm256_maskstore_ps(y, TAIL, acc_0_0);
    _mm256_maskstore_ps(y + Y_w, TAIL, acc_1_0);
    _mm256_maskstore_ps(y + 2 * Y_w, TAIL, acc_2_0);
    _mm256_maskstore_ps(y + Y_h, TAIL, acc_3_0);
    _mm256_maskstore_ps(y + Y_h + Y_w, TAIL, acc_4_0);
    _mm256_maskstore_ps(y + Y_h + 2 * Y_w, TAIL, acc_5_0);
    _mm256_maskstore_ps(y + 2 * Y_h, TAIL, acc_6_0);
    _mm256_maskstore_ps(y + 2 * Y_h + Y_w, TAIL, acc_7_0);
    _mm256_maskstore_ps(y + 2 * Y_h + 2 * Y_w, TAIL, acc_8_0);
}

/* 15 rows x 1 vectors, summed over r by 1 to 3; padding along w: rows on the image for each tap of s are 0:0-4 1:0-4 2:0-3. */
static void tile1_3hx5wx8cx3s_wpad0(const float *x, const float *w, float *y)
{
    __m256 acc_0_0 = _mm256_setzero_ps();
    __m256 acc_1_0 = _mm256_setzero_ps();
    __m256 acc_2_0 = _mm256_setzero_ps();
    __m256 acc_3_0 = _mm256_setzero_ps();
    __m256 acc_4_0 = _mm256_setzero_ps();
    __m256 acc_5_0 = _mm256_setzero_ps();
    __m256 acc_6_0 = _mm256_setzero_ps();
    __m256 acc_7_0 = _mm256_setzero_ps();
    __m256 acc_8_0 = _mm256_setzero_ps();
    __m256 acc_9_0 = _mm256_setzero_ps();
    __m256 acc_10_0 = _mm256_setzero_ps();
    __m256 acc_11_0 = _mm256_setzero_ps();
    __m256 acc_12_0 = _mm256_setzero_ps();
    __m256 acc_13_0 = _mm256_setzero_ps();
    __m256 acc_14_0 = _mm256_setzero_ps();
    for (long r = 0; r < 3; ++r) {
        const float *x_r = x + r * X_r;
        const float *w_r = w + r * 3 * PANEL_1;
        {
            const __m256 w_0 = _mm256_loadu_ps(w_r);
            { const __m256 x_0 = _mm256_loadu_ps(x_r); acc_0_0 = _mm256_fmadd_ps(x_0, w_0, acc_0_0); }
            { const __m256 x_1 = _mm256_loadu_ps(x_r + X_w); acc_1_0 = _mm256_fmadd_ps(x_1, w_0, acc_1_0); }
            { const __m256 x_2 = _mm256_loadu_ps(x_r + 2 * X_w); acc_2_0 = _mm256_fmadd_ps(x_2, w_0, acc_2_0); }
            { const __m256 x_3 = _mm256_loadu_ps(x_r + 3 * X_w); acc_3_0 = _mm256_fmadd_ps(x_3, w_0, acc_3_0); }
            { const __m256 x_4 = _mm256_loadu_ps(x_r + 4 * X_w); acc_4_0 = _mm256_fmadd_ps(x_4, w_0, acc_4_0); }
            { const __m256 x_5 = _mm256_loadu_ps(x_r + X_h); acc_5_0 = _mm256_fmadd_ps(x_5, w_0, acc_5_0); }
            { const __m256 x_6 = _mm256_loadu_ps(x_r + X_h + X_w); acc_6_0 = _mm256_fmadd_ps(x_6, w_0, acc_6_0); }
            { const __m256 x_7 = _mm256_loadu_ps(x_r + X_h + 2 * X_w); acc_7_0 = _mm256_fmadd_ps(x_7, w_0, acc_7_0); }
            { const __m256 x_8 = _mm256_loadu_ps(x_r + X_h + 3 * X_w); acc_8_0 = _mm256_fmadd_ps(x_8, w_0, acc_8_0); }
            { const __m256 x_9 = _mm256_loadu_ps(x_r + X_h + 4 * X_w); acc_9_0 = _mm256_fmadd_ps(x_9, w_0, acc_9_0); }
            { const __m256 x_10 = _mm256_loadu_ps(x_r + 2 * X_h); acc_10_0 = _mm256_fmadd_ps(x_10, w_0, acc_10_0); }
            { const __m256 x_11 = _mm256_loadu_ps(x_r + 2 * X_h + X_w); acc_11_0 = _mm256_fmadd_ps(x_11, w_0, acc_11_0); }
            { const __m256 x_12 = _mm256_loadu_ps(x_r + 2 * X_h + 2 * X_w); acc_12_0 = _mm256_fmadd_ps(x_12, w_0, acc_12_0); }
            { const __m256 x_13 = _mm256_loadu_ps(x_r + 2 * X_h + 3 * X_w); acc_13_0 = _mm256_fmadd_ps(x_13, w_0, acc_13_0); }
            { const __m256 x_14 = _mm256_loadu_ps(x_r + 2 * X_h + 4 * X_w); acc_14_0 = _mm256_fmadd_ps(x_14, w_0, acc_14_0); }
        }
        KEEP_APART;
        {
            const __m256 w_0 = _mm256_loadu_ps(w_r + 1 * PANEL_1);
            { const __m256 x_0 = _mm256_loadu_ps(x_r + X_w); acc_0_0 = _mm256_fmadd_ps(x_0, w_0, acc_0_0); }
            { const __m256 x_1 = _mm256_loadu_ps(x_r + 2 * X_w); acc_1_0 = _mm256_fmadd_ps(x_1, w_0, acc_1_0); }
            { const __m256 x_2 = _mm256_loadu_ps(x_r + 3 * X_w); acc_2_0 = _mm256_fmadd_ps(x_2, w_0, acc_2_0); }
            { const __m256 x_3 = _mm256_loadu_ps(x_r + 4 * X_w); acc_3_0 = _mm256_fmadd_ps(x_3, w_0, acc_3_0); }
            { const __m256 x_4 = _mm256_loadu_ps(x_r + 4 * X_w + X_s); acc_4_0 = _mm256_fmadd_ps(x_4, w_0, acc_4_0); }
            { const __m256 x_5 = _mm256_loadu_ps(x_r + X_h + X_w); acc_5_0 = _mm256_fmadd_ps(x_5, w_0, acc_5_0); }
            { const __m256 x_6 = _mm256_loadu_ps(x_r + X_h + 2 * X_w); acc_6_0 = _mm256_fmadd_ps(x_6, w_0, acc_6_0); }
            { const __m256 x_7 = _mm256_loadu_ps(x_r + X_h + 3 * X_w); acc_7_0 = _mm256_fmadd_ps(x_7, w_0, acc_7_0); }
            { const __m256 x_8 = _mm256_loadu_ps(x_r + X_h + 4 * X_w); acc_8_0 = _mm256_fmadd_ps(x_8, w_0, acc_8_0); }
            { const __m256 x_9 = _mm256_loadu_ps(x_r + X_h + 4 * X_w + X_s); acc_9_0 = _mm256_fmadd_ps(x_9, w_0, acc_9_0); }
            { const __m256 x_10 = _mm256_loadu_ps(x_r + 2 * X_h + X_w); acc_10_0 = _mm256_fmadd_ps(x_10, w_0, acc_10_0); }
            { const __m256 x_11 = _mm256_loadu_ps(x_r + 2 * X_h + 2 * X_w); acc_11_0 = _mm256_fmadd_ps(x_11, w_0, acc_11_0); }
            { const __m256 x_12 = _mm256_loadu_ps(x_r + 2 * X_h + 3 * X_w); acc_12_0 = _mm256_fmadd_ps(x_12, w_0, acc_12_0); }
            { const __m256 x_13 = _mm256_loadu_ps(x_r + 2 * X_h + 4 * X_w); acc_13_0 = _mm256_fmadd_ps(x_13, w_0, acc_13_0); }
            { const __m256 x_14 = _mm256_loadu_ps(x_r + 2 * X_h + 4 * X_w + X_s); acc_14_0 = _mm256_fmadd_ps(x_14, w_0, acc_14_0); }
        }
        KEEP_APART;
        {
            const __m256 w_0 = _mm256_loadu_ps(w_r + 2 * PANEL_1);
            { const __m256 x_0 = _mm256_loadu_ps(x_r + 2 * X_w); acc_0_0 = _mm256_fmadd_ps(x_0, w_0, acc_0_0); }
            { const __m256 x_1 = _mm256_loadu_ps(x_r + 3 * X_w); acc_1_0 = _mm256_fmadd_ps(x_1, w_0, acc_1_0); }
            { const __m256 x_2 = _mm256_loadu_ps(x_r + 4 * X_w); acc_2_0 = _mm256_fmadd_ps(x_2, w_0, acc_2_0); }
            { const __m256 x_3 = _mm256_loadu_ps(x_r + 4 * X_w + X_s); acc_3_0 = _mm256_fmadd_ps(x_3, w_0, acc_3_0); }
            { const __m256 x_4 = _mm256_loadu_ps(x_r + X_h + 2 * X_w); acc_5_0 = _mm256_fmadd_ps(x_4, w_0, acc_5_0); }
            { const __m256 x_5 = _mm256_loadu_ps(x_r + X_h + 3 * X_w); acc_6_0 = _mm256_fmadd_ps(x_5, w_0, acc_6_0); }
            { const __m256 x_6 = _mm256_loadu_ps(x_r + X_h + 4 * X_w); acc_7_0 = _mm256_fmadd_ps(x_6, w_0, acc_7_0); }
            { const __m256 x_7 = _mm256_loadu_ps(x_r + X_h + 4 * X_w + X_s); acc_8_0 = _mm256_fmadd_ps(x_7, w_0, acc_8_0); }
            { const __m256 x_8 = _mm256_loadu_ps(x_r + 2 * X_h + 2 * X_w); acc_10_0 = _mm256_fmadd_ps(x_8, w_0, acc_10_0); }
            { const __m256 x_9 = _mm256_loadu_ps(x_r + 2 * X_h + 3 * X_w); acc_11_0 = _mm256_fmadd_ps(x_9, w_0, acc_11_0); }
            { const __m256 x_10 = _mm256_loadu_ps(x_r + 2 * X_h + 4 * X_w); acc_12_0 = _mm256_fmadd_ps(x_10, w_0, acc_12_0); }
            { const __m256 x_11 = _mm256_loadu_ps(x_r + 2 * X_h + 4 * X_w + X_s); acc_13_0 = _mm256_fmadd_ps(x_11, w_0, acc_13_0); }
        }
    }
    _mm256_storeu_ps(y, acc_0_0);
    _mm256_storeu_ps(y + Y_w, acc_1_0);
    _mm256_storeu_ps(y + 2 * Y_w, acc_2_0);
    _mm256_storeu_ps(y + 3 * Y_w, acc_3_0);
    _mm256_storeu_ps(y + 4 * Y_w, acc_4_0);
    _mm256_storeu_ps(y + Y_h, acc_5_0);
    _mm256_storeu_ps(y + Y_h + Y_w, acc_6_0);
    _mm256_storeu_ps(y + Y_h + 2 * Y_w, acc_7_0);
    _mm256_storeu_ps(y + Y_h + 3 * Y_w, acc_8_0);
    _mm256_storeu_ps(y + Y_h + 4 * Y_w, acc_9_0);
    _mm256_storeu_ps(y + 2 * Y_h, acc_10_0);
    _mm256_storeu_ps(y + 2 * Y_h + Y_w, acc_11_0);
    _mm256_storeu_ps(y + 2 * Y_h + 2 * Y_w, acc_12_0);
    _mm256_storeu_ps(y + 2 * Y_h + 3 * Y_w, acc_13_0);
    _mm256_storeu_ps(y + 2 * Y_h + 4 * Y_w, acc_14_0);
}

/* 15 rows x 1 vectors, summed over r by 1 to 3; padding along w: rows on the image for each tap of s are 0:0-4 1:0-4 2:0-3; the last vector is masked. */
static void tile1_3hx5wx8cx3s_wpad0_tail(const float *x, const float *w, float *y)
{
    __m256 acc_0_0 = _mm256_setzero_ps();
    __m256 acc_1_0 = _mm256_setzero_ps();
    __m256 acc_2_0 = _mm256_setzero_ps();
    __m256 acc_3_0 = _mm256_setzero_ps();
    __m256 acc_4_0 = _mm256_setzero_ps();
    __m256 acc_5_0 = _mm256_setzero_ps();
    __m256 acc_6_0 = _mm256_setzero_ps();
    __m256 acc_7_0 = _mm256_setzero_ps();
    __m256 acc_8_0 = _mm256_setzero_ps();
    __m256 acc_9_0 = _mm256_setzero_ps();
    __m256 acc_10_0 = _mm256_setzero_ps();
    __m256 acc_11_0 = _mm256_setzero_ps();
    __m256 acc_12_0 = _mm256_setzero_ps();
    __m256 acc_13_0 = _mm256_setzero_ps();
    __m256 acc_14_0 = _mm256_setzero_ps();
    for (long r = 0; r < 3; ++r) {
        const float *x_r = x + r * X_r;
        const float *w_r = w + r * 3 * PANEL_1;
        {
            const __m256 w_0 = _mm256_loadu_ps(w_r);
            { const __m256 x_0 = _mm256_maskload_ps(x_r, TAIL); acc_0_0 = _mm256_fmadd_ps(x_0, w_0, acc_0_0); }
            { const __m256 x_1 = _mm256_maskload_ps(x_r + X_w, TAIL); acc_1_0 = _mm256_fmadd_ps(x_1, w_0, acc_1_0); }
            { const __m256 x_2 = _mm256_maskload_ps(x_r + 2 * X_w, TAIL); acc_2_0 = _mm256_fmadd_ps(x_2, w_0, acc_2_0); }
            { const __m256 x_3 = _mm256_maskload_ps(x_r + 3 * X_w, TAIL); acc_3_0 = _mm256_fmadd_ps(x_3, w_0, acc_3_0); }
            { const __m256 x_4 = _mm256_maskload_ps(x_r + 4 * X_w, TAIL); acc_4_0 = _mm256_fmadd_ps(x_4, w_0, acc_4_0); }
            { const __m256 x_5 = _mm256_maskload_ps(x_r + X_h, TAIL); acc_5_0 = _mm256_fmadd_ps(x_5, w_0, acc_5_0); }
            { const __m256 x_6 = _mm256_maskload_ps(x_r + X_h + X_w, TAIL); acc_6_0 = _mm256_fmadd_ps(x_6, w_0, acc_6_0); }
            { const __m256 x_7 = _mm256_maskload_ps(x_r + X_h + 2 * X_w, TAIL); acc_7_0 = _mm256_fmadd_ps(x_7, w_0, acc_7_0); }
            { const __m256 x_8 = _mm256_maskload_ps(x_r + X_h + 3 * X_w, TAIL); acc_8_0 = _mm256_fmadd_ps(x_8, w_0, acc_8_0); }
            { const __m256 x_9 = _mm256_maskload_ps(x_r + X_h + 4 * X_w, TAIL); acc_9_0 = _mm256_fmadd_ps(x_9, w_0, acc_9_0); }
            { const __m256 x_10 = _mm256_maskload_ps(x_r + 2 * X_h, TAIL); acc_10_0 = _mm256_fmadd_ps(x_10, w_0, acc_10_0); }
            { const __m256 x_11 = _mm256_maskload_ps(x_r + 2 * X_h + X_w, TAIL); acc_11_0 = _mm256_fmadd_ps(x_11, w_0, acc_11_0); }
            { const __m256 x_12 = _mm256_maskload_ps(x_r + 2 * X_h + 2 * X_w, TAIL); acc_12_0 = _mm256_fmadd_ps(x_12, w_0, acc_12_0); }
            { const __m256 x_13 = _mm256_maskload_ps(x_r + 2 * X_h + 3 * X_w, TAIL); acc_13_0 = _mm256_fmadd_ps(x_13, w_0, acc_13_0); }
            { const __m256 x_14 = _mm256_maskload_ps(x_r + 2 * X_h + 4 * X_w, TAIL); acc_14_0 = _mm256_fmadd_ps(x_14, w_0, acc_14_0); }
        }
        KEEP_APART;
        {
            const __m256 w_0 = _mm256_loadu_ps(w_r + 1 * PANEL_1);
            { const __m256 x_0 = _mm256_maskload_ps(x_r + X_w, TAIL); acc_0_0 = _mm256_fmadd_ps(x_0, w_0, acc_0_0); }
            { const __m256 x_1 = _mm256_maskload_ps(x_r + 2 * X_w, TAIL); acc_1_0 = _mm256_fmadd_ps(x_1, w_0, acc_1_0); }
            { const __m256 x_2 = _mm256_maskload_ps(x_r + 3 * X_w, TAIL); acc_2_0 = _mm256_fmadd_ps(x_2, w_0, acc_2_0); }
            { const __m256 x_3 = _mm256_maskload_ps(x_r + 4 * X_w, TAIL); acc_3_0 = _mm256_fmadd_ps(x_3, w_0, acc_3_0); }
            { const __m256 x_4 = _mm256_maskload_ps(x_r + 4 * X_w + X_s, TAIL); acc_4_0 = _mm256_fmadd_ps(x_4, w_0, acc_4_0); }
            { const __m256 x_5 = _mm256_maskload_ps(x_r + X_h + X_w, TAIL); acc_5_0 = _mm256_fmadd_ps(x_5, w_0, acc_5_0); }
            { const __m256 x_6 = _mm256_maskload_ps(x_r + X_h + 2 * X_w, TAIL); acc_6_0 = _mm256_fmadd_ps(x_6, w_0, acc_6_0); }
            { const __m256 x_7 = _mm256_maskload_ps(x_r + X_h + 3 * X_w, TAIL); acc_7_0 = _mm256_fmadd_ps(x_7, w_0, acc_7_0); }
            { const __m256 x_8 = _mm256_maskload_ps(x_r + X_h + 4 * X_w, TAIL); acc_8_0 = _mm256_fmadd_ps(x_8, w_0, acc_8_0); }
            { const __m256 x_9 = _mm256_maskload_ps(x_r + X_h + 4 * X_w + X_s, TAIL); acc_9_0 = _mm256_fmadd_ps(x_9, w_0, acc_9_0); }
            { const __m256 x_10 = _mm256_maskload_ps(x_r + 2 * X_h + X_w, TAIL); acc_10_0 = _mm256_fmadd_ps(x_10, w_0, acc_10_0); }
            { const __m256 x_11 = _mm256_maskload_ps(x_r + 2 * X_h + 2 * X_w, TAIL); acc_11_0 = _mm256_fmadd_ps(x_11, w_0, acc_11_0); }
            { const __m256 x_12 = _mm256_maskload_ps(x_r + 2 * X_h + 3 * X_w, TAIL); acc_12_0 = _mm256_fmadd_ps(x_12, w_0, acc_12_0); }
            { const __m256 x_13 = _mm256_maskload_ps(x_r + 2 * X_h + 4 * X_w, TAIL); acc_13_0 = _mm256_fmadd_ps(x_13, w_0, acc_13_0); }
            { const __m256 x_14 = _mm256_maskload_ps(x_r + 2 * X_h + 4 * X_w + X_s, TAIL); acc_14_0 = _mm256_fmadd_ps(x_14, w_0, acc_14_0); }
        }
        KEEP_APART;
        {
            const __m256 w_0 = _mm256_loadu_ps(w_r + 2 * PANEL_1);
            { const __m256 x_0 = _mm256_maskload_ps(x_r + 2 * X_w, TAIL); acc_0_0 = _mm256_fmadd_ps(x_0, w_0, acc_0_0); }
            { const __m256 x_1 = _mm256_maskload_ps(x_r + 3 * X_w, TAIL); acc_1_0 = _mm256_fmadd_ps(x_1, w_0, acc_1_0); }
            { const __m256 x_2 = _mm256_maskload_ps(x_r + 4 * X_w, TAIL); acc_2_0 = _mm256_fmadd_ps(x_2, w_0, acc_2_0); }
            { const __m256 x_3 = _mm256_maskload_ps(x_r + 4 * X_w + X_s, TAIL); acc_3_0 = _mm256_fmadd_ps(x_3, w_0, acc_3_0); }
            { const __m256 x_4 = _mm256_maskload_ps(x_r + X_h + 2 * X_w, TAIL); acc_5_0 = _mm256_fmadd_ps(x_4, w_0, acc_5_0); }
            { const __m256 x_5 = _mm256_maskload_ps(x_r + X_h + 3 * X_w, TAIL); acc_6_0 = _mm256_fmadd_ps(x_5, w_0, acc_6_0); }
            { const __m256 x_6 = _mm256_maskload_ps(x_r + X_h + 4 * X_w, TAIL); acc_7_0 = _mm256_fmadd_ps(x_6, w_0, acc_7_0); }
            { const __m256 x_7 = _mm256_maskload_ps(x_r + X_h + 4 * X_w + X_s, TAIL); acc_8_0 = _mm256_fmadd_ps(x_7, w_0, acc_8_0); }
            { const __m256 x_8 = _mm256_maskload_ps(x_r + 2 * X_h + 2 * X_w, TAIL); acc_10_0 = _mm256_fmadd_ps(x_8, w_0, acc_10_0); }
            { const __m256 x_9 = _mm256_maskload_ps(x_r + 2 * X_h + 3 * X_w, TAIL); acc_11_0 = _mm256_fmadd_ps(x_9, w_0, acc_11_0); }
            { const __m256 x_10 = _mm256_maskload_ps(x_r + 2 * X_h + 4 * X_w, TAIL); acc_12_0 = _mm256_fmadd_ps(x_10, w_0, acc_12_0); }
            { const __m256 x_11 = _mm256_maskload_ps(x_r + 2 * X_h + 4 * X_w + X_s, TAIL); acc_13_0 = _mm256_fmadd_ps(x_11, w_0, acc_13_0); }
        }
    }
    _mm256_maskstore_ps(y, TAIL, acc_0_0);
    _mm256_maskstore_ps(y + Y_w, TAIL, acc_1_0);
    _mm256_maskstore_ps(y + 2 * Y_w, TAIL, acc_2_0);
    _mm256_maskstore_ps(y + 3 * Y_w, TAIL, acc_3_0);
    _mm256_maskstore_ps(y + 4 * Y_w, TAIL, acc_4_0);
    _mm256_maskstore_ps(y + Y_h, TAIL, acc_5_0);
    _mm256_maskstore_ps(y + Y_h + Y_w, TAIL, acc_6_0);
    _mm256_maskstore_ps(y + Y_h + 2 * Y_w, TAIL, acc_7_0);
    _mm256_maskstore_ps(y + Y_h + 3 * Y_w, TAIL, acc_8_0);
    _mm256_maskstore_ps(y + Y_h + 4 * Y_w, TAIL, acc_9_0);
    _mm256_maskstore_ps(y + 2 * Y_h, TAIL, acc_10_0);
    _mm256_maskstore_ps(y + 2 * Y_h + Y_w, TAIL, acc_11_0);
    _mm256_maskstore_ps(y + 2 * Y_h + 2 * Y_w, TAIL, acc_12_0);
    _mm256_maskstore_ps(y + 2 * Y_h + 3 * Y_w, TAIL, acc_13_0);
    _mm256_maskstore_ps(y + 2 * Y_h + 4 * Y_w, TAIL, acc_14_0);
}

/* 15 rows x 1 vectors, summed over r by 1 to 3; padding along h: rows on the image for each tap of r are 0:1-2 1:0-2 2:0-2; padding along w: rows on the image for each tap of s are 0:0-4 1:0-4 2:0-3. */
static void tile1_3hx5wx8cx3s_hpad1_wpad0(const float *x, const float *w, float *y)
{
    __m256 acc_0_0 = _mm256_setzero_ps();
    __m256 acc_1_0 = _mm256_setzero_ps();
    __m256 acc_2_0 = _mm256_setzero_ps();
    __m256 acc_3_0 = _mm256_setzero_ps();
    __m256 acc_4_0 = _mm256_setzero_ps();
    __m256 acc_5_0 = _mm256_setzero_ps();
    __m256 acc_6_0 = _mm256_setzero_ps();
    __m256 acc_7_0 = _mm256_setzero_ps();
    __m256 acc_8_0 = _mm256_setzero_ps();
    __m256 acc_9_0 = _mm256_setzero_ps();
    __m256 acc_10_0 = _mm256_setzero_ps();
    __m256 acc_11_0 = _mm256_setzero_ps();
    __m256 acc_12_0 = _mm256_setzero_ps();
    __m256 acc_13_0 = _mm256_setzero_ps();
    __m256 acc_14_0 = _mm256_setzero_ps();
    { /* r = 0 */
        const float *x_r = x + 0 * X_r;
        const float *w_r = w + 0 * 3 * PANEL_1;
        {
            const __m256 w_0 = _mm256_loadu_ps(w_r);
            { const __m256 x_0 = _mm256_loadu_ps(x_r + X_h); acc_5_0 = _mm256_fmadd_ps(x_0, w_0, acc_5_0); }
            { const __m256 x_1 = _mm256_loadu_ps(x_r + X_h + X_w); acc_6_0 = _mm256_fmadd_ps(x_1, w_0, acc_6_0); }
            { const __m256 x_2 = _mm256_loadu_ps(x_r + X_h + 2 * X_w); acc_7_0 = _mm256_fmadd_ps(x_2, w_0, acc_7_0); }
            { const __m256 x_3 = _mm256_loadu_ps(x_r + X_h + 3 * X_w); acc_8_0 = _mm256_fmadd_ps(x_3, w_0, acc_8_0); }
            { const __m256 x_4 = _mm256_loadu_ps(x_r + X_h + 4 * X_w); acc_9_0 = _mm256_fmadd_ps(x_4, w_0, acc_9_0); }
            { const __m256 x_5 = _mm256_loadu_ps(x_r + 2 * X_h); acc_10_0 = _mm256_fmadd_ps(x_5, w_0, acc_10_0); }
            { const __m256 x_6 = _mm256_loadu_ps(x_r + 2 * X_h + X_w); acc_11_0 = _mm256_fmadd_ps(x_6, w_0, acc_11_0); }
            { const __m256 x_7 = _mm256_loadu_ps(x_r + 2 * X_h + 2 * X_w); acc_12_0 = _mm256_fmadd_ps(x_7, w_0, acc_12_0); }
            { const __m256 x_8 = _mm256_loadu_ps(x_r + 2 * X_h + 3 * X_w); acc_13_0 = _mm256_fmadd_ps(x_8, w_0, acc_13_0); }
            { const __m256 x_9 = _mm256_loadu_ps(x_r + 2 * X_h + 4 * X_w); acc_14_0 = _mm256_fmadd_ps(x_9, w_0, acc_14_0); }
        }
        KEEP_APART;
        {
            const __m256 w_0 = _mm256_loadu_ps(w_r + 1 * PANEL_1);
            { const __m256 x_0 = _mm256_loadu_ps(x_r + X_h + X_w); acc_5_0 = _mm256_fmadd_ps(x_0, w_0, acc_5_0); }
            { const __m256 x_1 = _mm256_loadu_ps(x_r + X_h + 2 * X_w); acc_6_0 = _mm256_fmadd_ps(x_1, w_0, acc_6_0); }
            { const __m256 x_2 = _mm256_loadu_ps(x_r + X_h + 3 * X_w); acc_7_0 = _mm256_fmadd_ps(x_2, w_0, acc_7_0); }
            { const __m256 x_3 = _mm256_loadu_ps(x_r + X_h + 4 * X_w); acc_8_0 = _mm256_fmadd_ps(x_3, w_0, acc_8_0); }
            { const __m256 x_4 = _mm256_loadu_ps(x_r + X_h + 4 * X_w + X_s); acc_9_0 = _mm256_fmadd_ps(x_4, w_0, acc_9_0); }
            { const __m256 x_5 = _mm256_loadu_ps(x_r + 2 * X_h + X_w); acc_10_0 = _mm256_fmadd_ps(x_5, w_0, acc_10_0); }
            { const __m256 x_6 = _mm256_loadu_ps(x_r + 2 * X_h + 2 * X_w); acc_11_0 = _mm256_fmadd_ps(x_6, w_0, acc_11_0); }
            { const __m256 x_7 = _mm256_loadu_ps(x_r + 2 * X_h + 3 * X_w); acc_12_0 = _mm256_fmadd_ps(x_7, w_0, acc_12_0); }
            { const __m256 x_8 = _mm256_loadu_ps(x_r + 2 * X_h + 4 * X_w); acc_13_0 = _mm256_fmadd_ps(x_8, w_0, acc_13_0); }
            { const __m256 x_9 = _mm256_loadu_ps(x_r + 2 * X_h + 4 * X_w + X_s); acc_14_0 = _mm256_fmadd_ps(x_9, w_0, acc_14_0); }
        }
        KEEP_APART;
        {
            const __m256 w_0 = _mm256_loadu_ps(w_r + 2 * PANEL_1);
            { const __m256 x_0 = _mm256_loadu_ps(x_r + X_h + 2 * X_w); acc_5_0 = _mm256_fmadd_ps(x_0, w_0, acc_5_0); }
            { const __m256 x_1 = _mm256_loadu_ps(x_r + X_h + 3 * X_w); acc_6_0 = _mm256_fmadd_ps(x_1, w_0, acc_6_0); }
            { const __m256 x_2 = _mm256_loadu_ps(x_r + X_h + 4 * X_w); acc_7_0 = _mm256_fmadd_ps(x_2, w_0, acc_7_0); }
            { const __m256 x_3 = _mm256_loadu_ps(x_r + X_h + 4 * X_w + X_s); acc_8_0 = _mm256_fmadd_ps(x_3, w_0, acc_8_0); }
            { const __m256 x_4 = _mm256_loadu_ps(x_r + 2 * X_h + 2 * X_w); acc_10_0 = _mm256_fmadd_ps(x_4, w_0, acc_10_0); }
            { const __m256 x_5 = _mm256_loadu_ps(x_r + 2 * X_h + 3 * X_w); acc_11_0 = _mm256_fmadd_ps(x_5, w_0, acc_11_0); }
            { const __m256 x_6 = _mm256_loadu_ps(x_r + 2 * X_h + 4 * X_w); acc_12_0 = _mm256_fmadd_ps(x_6, w_0, acc_12_0); }
            { const __m256 x_7 = _mm256_loadu_ps(x_r + 2 * X_h + 4 * X_w + X_s); acc_13_0 = _mm256_fmadd_ps(x_7, w_0, acc_13_0); }
        }
    }
    for (long r = 1; r < 3; ++r) {
        const float *x_r = x + r * X_r;
        const float *w_r = w + r * 3 * PANEL_1;
        {
            const __m256 w_0 = _mm256_loadu_ps(w_r);
            { const __m256 x_0 = _mm256_loadu_ps(x_r); acc_0_0 = _mm256_fmadd_ps(x_0, w_0, acc_0_0); }
            { const __m256 x_1 = _mm256_loadu_ps(x_r + X_w); acc_1_0 = _mm256_fmadd_ps(x_1, w_0, acc_1_0); }
            { const __m256 x_2 = _mm256_loadu_ps(x_r + 2 * X_w); acc_2_0 = _mm256_fmadd_ps(x_2, w_0, acc_2_0); }
            { const __m256 x_3 = _mm256_loadu_ps(x_r + 3 * X_w); acc_3_0 = _mm256_fmadd_ps(x_3, w_0, acc_3_0); }
            { const __m256 x_4 = _mm256_loadu_ps(x_r + 4 * X_w); acc_4_0 = _mm256_fmadd_ps(x_4, w_0, acc_4_0); }
            { const __m256 x_5 = _mm256_loadu_ps(x_r + X_h); acc_5_0 = _mm256_fmadd_ps(x_5, w_0, acc_5_0); }
            { const __m256 x_6 = _mm256_loadu_ps(x_r + X_h + X_w); acc_6_0 = _mm256_fmadd_ps(x_6, w_0, acc_6_0); }
            { const __m256 x_7 = _mm256_loadu_ps(x_r + X_h + 2 * X_w); acc_7_0 = _mm256_fmadd_ps(x_7, w_0, acc_7_0); }
            { const __m256 x_8 = _mm256_loadu_ps(x_r + X_h + 3 * X_w); acc_8_0 = _mm256_fmadd_ps(x_8, w_0, acc_8_0); }
            { const __m256 x_9 = _mm256_loadu_ps(x_r + X_h + 4 * X_w); acc_9_0 = _mm256_fmadd_ps(x_9, w_0, acc_9_0); }
            { const __m256 x_10 = _mm256_loadu_ps(x_r + 2 * X_h); acc_10_0 = _mm256_fmadd_ps(x_10, w_0, acc_10_0); }
            { const __m256 x_11 = _mm256_loadu_ps(x_r + 2 * X_h + X_w); acc_11_0 = _mm256_fmadd_ps(x_11, w_0, acc_11_0); }
            { const __m256 x_12 = _mm256_loadu_ps(x_r + 2 * X_h + 2 * X_w); acc_12_0 = _mm256_fmadd_ps(x_12, w_0, acc_12_0); }
            { const __m256 x_13 = _mm256_loadu_ps(x_r + 2 * X_h + 3 * X_w); acc_13_0 = _mm256_fmadd_ps(x_13, w_0, acc_13_0); }
            { const __m256 x_14 = _mm256_loadu_ps(x_r + 2 * X_h + 4 * X_w); acc_14_0 = _mm256_fmadd_ps(x_14, w_0, acc_14_0); }
        }
        KEEP_APART;
        {
            const __m256 w_0 = _mm256_loadu_ps(w_r + 1 * PANEL_1);
            { const __m256 x_0 = _mm256_loadu_ps(x_r + X_w); acc_0_0 = _mm256_fmadd_ps(x_0, w_0, acc_0_0); }
            { const __m256 x_1 = _mm256_loadu_ps(x_r + 2 * X_w); acc_1_0 = _mm256_fmadd_ps(x_1, w_0, acc_1_0); }
            { const __m256 x_2 = _mm256_loadu_ps(x_r + 3 * X_w); acc_2_0 = _mm256_fmadd_ps(x_2, w_0, acc_2_0); }
            { const __m256 x_3 = _mm256_loadu_ps(x_r + 4 * X_w); acc_3_0 = _mm256_fmadd_ps(x_3, w_0, acc_3_0); }
            { const __m256 x_4 = _mm256_loadu_ps(x_r + 4 * X_w + X_s); acc_4_0 = _mm256_fmadd_ps(x_4, w_0, acc_4_0); }
            { const __m256 x_5 = _mm256_loadu_ps(x_r + X_h + X_w); acc_5_0 = _mm256_fmadd_ps(x_5, w_0, acc_5_0); }
            { const __m256 x_6 = _mm256_loadu_ps(x_r + X_h + 2 * X_w); acc_6_0 = _mm256_fmadd_ps(x_6, w_0, acc_6_0); }
            { const __m256 x_7 = _mm256_loadu_ps(x_r + X_h + 3 * X_w); acc_7_0 = _mm256_fmadd_ps(x_7, w_0, acc_7_0); }
            { const __m256 x_8 = _mm256_loadu_ps(x_r + X_h + 4 * X_w); acc_8_0 = _mm256_fmadd_ps(x_8, w_0, acc_8_0); }
            { const __m256 x_9 = _mm256_loadu_ps(x_r + X_h + 4 * X_w + X_s); acc_9_0 = _mm256_fmadd_ps(x_9, w_0, acc_9_0); }
            { const __m256 x_10 = _mm256_loadu_ps(x_r + 2 * X_h + X_w); acc_10_0 = _mm256_fmadd_ps(x_10, w_0, acc_10_0); }
            { const __m256 x_11 = _mm256_loadu_ps(x_r + 2 * X_h + 2 * X_w); acc_11_0 = _mm256_fmadd_ps(x_11, w_0, acc_11_0); }
            { const __m256 x_12 = _mm256_loadu_ps(x_r + 2 * X_h + 3 * X_w); acc_12_0 = _mm256_fmadd_ps(x_12, w_0, acc_12_0); }
            { const __m256 x_13 = _mm256_loadu_ps(x_r + 2 * X_h + 4 * X_w); acc_13_0 = _mm256_fmadd_ps(x_13, w_0, acc_13_0); }
            { const __m256 x_14 = _mm256_loadu_ps(x_r + 2 * X_h + 4 * X_w + X_s); acc_14_0 = _mm256_fmadd_ps(x_14, w_0, acc_14_0); }
        }
        KEEP_APART;
        {
            const __m256 w_0 = _mm256_loadu_ps(w_r + 2 * PANEL_1);
            { const __m256 x_0 = _mm256_loadu_ps(x_r + 2 * X_w); acc_0_0 = _mm256_fmadd_ps(x_0, w_0, acc_0_0); }
            { const __m256 x_1 = _mm256_loadu_ps(x_r + 3 * X_w); acc_1_0 = _mm256_fmadd_ps(x_1, w_0, acc_1_0); }
            { const __m256 x_2 = _mm256_loadu_ps(x_r + 4 * X_w); acc_2_0 = _mm256_fmadd_ps(x_2, w_0, acc_2_0); }
            { const __m256 x_3 = _mm256_loadu_ps(x_r + 4 * X_w + X_s); acc_3_0 = _mm256_fmadd_ps(x_3, w_0, acc_3_0); }
            { const __m256 x_4 = _mm256_loadu_ps(x_r + X_h + 2 * X_w); acc_5_0 = _mm256_fmadd_ps(x_4, w_0, acc_5_0); }
            { const __m256 x_5 = _mm256_loadu_ps(x_r + X_h + 3 * X_w); acc_6_0 = _mm256_fmadd_ps(x_5, w_0, acc_6_0); }
            { const __m256 x_6 = _mm256_loadu_ps(x_r + X_h + 4 * X_w); acc_7_0 = _mm256_fmadd_ps(x_6, w_0, acc_7_0); }
            { const __m256 x_7 = _mm256_loadu_ps(x_r + X_h + 4 * X_w + X_s); acc_8_0 = _mm256_fmadd_ps(x_7, w_0, acc_8_0); }
            { const __m256 x_8 = _mm256_loadu_ps(x_r + 2 * X_h + 2 * X_w); acc_10_0 = _mm256_fmadd_ps(x_8, w_0, acc_10_0); }
            { const __m256 x_9 = _mm256_loadu_ps(x_r + 2 * X_h + 3 * X_w); acc_11_0 = _mm256_fmadd_ps(x_9, w_0, acc_11_0); }
            { const __m256 x_10 = _mm256_loadu_ps(x_r + 2 * X_h + 4 * X_w); acc_12_0 = _mm256_fmadd_ps(x_10, w_0, acc_12_0); }
            { const __m256 x_11 = _mm256_loadu_ps(x_r + 2 * X_h + 4 * X_w + X_s); acc_13_0 = _mm256_fmadd_ps(x_11, w_0, acc_13_0); }
        }
    }
    _mm256_storeu_ps(y, acc_0_0);
    _mm256_storeu_ps(y + Y_w, acc_1_0);
    _mm256_storeu_ps(y + 2 * Y_w, acc_2_0);
    _mm256_storeu_ps(y + 3 * Y_w, acc_3_0);
    _mm256_storeu_ps(y + 4 * Y_w, acc_4_0);
    _mm256_storeu_ps(y + Y_h, acc_5_0);
    _mm256_storeu_ps(y + Y_h + Y_w, acc_6_0);
    _mm256_storeu_ps(y + Y_h + 2 * Y_w, acc_7_0);
    _mm256_storeu_ps(y + Y_h + 3 * Y_w, acc_8_0);
    _mm256_storeu_ps(y + Y_h + 4 * Y_w, acc_9_0);
    _mm256_storeu_ps(y + 2 * Y_h, acc_10_0);
    _mm256_storeu_ps(y + 2 * Y_h + Y_w, acc_11_0);
    _mm256_storeu_ps(y + 2 * Y_h + 2 * Y_w, acc_12_0);
    _mm256_storeu_ps(y + 2 * Y_h + 3 * Y_w, acc_13_0);
    _mm256_storeu_ps(y + 2 * Y_h + 4 * Y_w, acc_14_0);
}

/* 15 rows x 1 vectors, summed over r by 1 to 3; padding along h: rows on the image for each tap of r are 0:1-2 1:0-2 2:0-2; padding along w: rows on the image for each tap of s are 0:0-4 1:0-4 2:0-3; the last vector is masked. */
static void tile1_3hx5wx8cx3s_hpad1_wpad0_tail(const float *x, const float *w, float *y)
{
    __m256 acc_0_0 = _mm256_setzero_ps();
    __m256 acc_1_0 = _mm256_setzero_ps();
    __m256 acc_2_0 = _mm256_setzero_ps();
    __m256 acc_3_0 = _mm256_setzero_ps();
    __m256 acc_4_0 = _mm256_setzero_ps();
    __m256 acc_5_0 = _mm256_setzero_ps();
    __m256 acc_6_0 = _mm256_setzero_ps();
    __m256 acc_7_0 = _mm256_setzero_ps();
    __m256 acc_8_0 = _mm256_setzero_ps();
    __m256 acc_9_0 = _mm256_setzero_ps();
    __m256 acc_10_0 = _mm256_setzero_ps();
    __m256 acc_11_0 = _mm256_setzero_ps();
    __m256 acc_12_0 = _mm256_setzero_ps();
    __m256 acc_13_0 = _mm256_setzero_ps();
    __m256 acc_14_0 = _mm256_setzero_ps();
    { /* r = 0 */
        const float *x_r = x + 0 * X_r;
        const float *w_r = w + 0 * 3 * PANEL_1;
        {
            const __m256 w_0 = _mm256_loadu_ps(w_r);
            { const __m256 x_0 = _mm256_maskload_ps(x_r + X_h, TAIL); acc_5_0 = _mm256_fmadd_ps(x_0, w_0, acc_5_0); }
            { const __m256 x_1 = _mm256_maskload_ps(x_r + X_h + X_w, TAIL); acc_6_0 = _mm256_fmadd_ps(x_1, w_0, acc_6_0); }
            { const __m256 x_2 = _mm256_maskload_ps(x_r + X_h + 2 * X_w, TAIL); acc_7_0 = _mm256_fmadd_ps(x_2, w_0, acc_7_0); }
            { const __m256 x_3 = _mm256_maskload_ps(x_r + X_h + 3 * X_w, TAIL); acc_8_0 = _mm256_fmadd_ps(x_3, w_0, acc_8_0); }
            { const __m256 x_4 = _mm256_maskload_ps(x_r + X_h + 4 * X_w, TAIL); acc_9_0 = _mm256_fmadd_ps(x_4, w_0, acc_9_0); }
            { const __m256 x_5 = _mm256_maskload_ps(x_r + 2 * X_h, TAIL); acc_10_0 = _mm256_fmadd_ps(x_5, w_0, acc_10_0); }
            { const __m256 x_6 = _mm256_maskload_ps(x_r + 2 * X_h + X_w, TAIL); acc_11_0 = _mm256_fmadd_ps(x_6, w_0, acc_11_0); }
            { const __m256 x_7 = _mm256_maskload_ps(x_r + 2 * X_h + 2 * X_w, TAIL); acc_12_0 = _mm256_fmadd_ps(x_7, w_0, acc_12_0); }
            { const __m256 x_8 = _mm256_maskload_ps(x_r + 2 * X_h + 3 * X_w, TAIL); acc_13_0 = _mm256_fmadd_ps(x_8, w_0, acc_13_0); }
            { const __m256 x_9 = _mm256_maskload_ps(x_r + 2 * X_h + 4 * X_w, TAIL); acc_14_0 = _mm256_fmadd_ps(x_9, w_0, acc_14_0); }
        }
        KEEP_APART;
        {
            const __m256 w_0 = _mm256_loadu_ps(w_r + 1 * PANEL_1);
            { const __m256 x_0 = _mm256_maskload_ps(x_r + X_h + X_w, TAIL); acc_5_0 = _mm256_fmadd_ps(x_0, w_0, acc_5_0); }
            { const __m256 x_1 = _mm256_maskload_ps(x_r + X_h + 2 * X_w, TAIL); acc_6_0 = _mm256_fmadd_ps(x_1, w_0, acc_6_0); }
            { const __m256 x_2 = _mm256_maskload_ps(x_r + X_h + 3 * X_w, TAIL); acc_7_0 = _mm256_fmadd_ps(x_2, w_0, acc_7_0); }
            { const __m256 x_3 = _mm256_maskload_ps(x_r + X_h + 4 * X_w, TAIL); acc_8_0 = _mm256_fmadd_ps(x_3, w_0, acc_8_0); }
            { const __m256 x_4 = _mm256_maskload_ps(x_r + X_h + 4 * X_w + X_s, TAIL); acc_9_0 = _mm256_fmadd_ps(x_4, w_0, acc_9_0); }
            { const __m256 x_5 = _mm256_maskload_ps(x_r + 2 * X_h + X_w, TAIL); acc_10_0 = _mm256_fmadd_ps(x_5, w_0, acc_10_0); }
            { const __m256 x_6 = _mm256_maskload_ps(x_r + 2 * X_h + 2 * X_w, TAIL); acc_11_0 = _mm256_fmadd_ps(x_6, w_0, acc_11_0); }
            { const __m256 x_7 = _mm256_maskload_ps(x_r + 2 * X_h + 3 * X_w, TAIL); acc_12_0 = _mm256_fmadd_ps(x_7, w_0, acc_12_0); }
            { const __m256 x_8 = _mm256_maskload_ps(x_r + 2 * X_h + 4 * X_w, TAIL); acc_13_0 = _mm256_fmadd_ps(x_8, w_0, acc_13_0); }
            { const __m256 x_9 = _mm256_maskload_ps(x_r + 2 * X_h + 4 * X_w + X_s, TAIL); acc_14_0 = _mm256_fmadd_ps(x_9, w_0, acc_14_0); }
        }
        KEEP_APART;
        {
            const __m256 w_0 = _mm256_loadu_ps(w_r + 2 * PANEL_1);
            { const __m256 x_0 = _mm256_maskload_ps(x_r + X_h + 2 * X_w, TAIL); acc_5_0 = _mm256_fmadd_ps(x_0, w_0, acc_5_0); }
            { const __m256 x_1 = _mm256_maskload_ps(x_r + X_h + 3 * X_w, TAIL); acc_6_0 = _mm256_fmadd_ps(x_1, w_0, acc_6_0); }
            { const __m256 x_2 = _mm256_maskload_ps(x_r + X_h + 4 * X_w, TAIL); acc_7_0 = _mm256_fmadd_ps(x_2, w_0, acc_7_0); }
            { const __m256 x_3 = _mm256_maskload_ps(x_r + X_h + 4 * X_w + X_s, TAIL); acc_8_0 = _mm256_fmadd_ps(x_3, w_0, acc_8_0); }
            { const __m256 x_4 = _mm256_maskload_ps(x_r + 2 * X_h + 2 * X_w, TAIL); acc_10_0 = _mm256_fmadd_ps(x_4, w_0, acc_10_0); }
            { const __m256 x_5 = _mm256_maskload_ps(x_r + 2 * X_h + 3 * X_w, TAIL); acc_11_0 = _mm256_fmadd_ps(x_5, w_0, acc_11_0); }
            { const __m256 x_6 = _mm256_maskload_ps(x_r + 2 * X_h + 4 * X_w, TAIL); acc_12_0 = _mm256_fmadd_ps(x_6, w_0, acc_12_0); }
            { const __m256 x_7 = _mm256_maskload_ps(x_r + 2 * X_h + 4 * X_w + X_s, TAIL); acc_13_0 = _mm256_fmadd_ps(x_7, w_0, acc_13_0); }
        }
    }
    for (long r = 1; r < 3; ++r) {
        const float *x_r = x + r * X_r;
        const float *w_r = w + r * 3 * PANEL_1;
        {
            const __m256 w_0 = _mm256_loadu_ps(w_r);
            { const __m256 x_0 = _mm256_maskload_ps(x_r, TAIL); acc_0_0 = _mm256_fmadd_ps(x_0, w_0, acc_0_0); }
            { const __m256 x_1 = _mm256_maskload_ps(x_r + X_w, TAIL); acc_1_0 = _mm256_fmadd_ps(x_1, w_0, acc_1_0); }
            { const __m256 x_2 = _mm256_maskload_ps(x_r + 2 * X_w, TAIL); acc_2_0 = _mm256_fmadd_ps(x_2, w_0, acc_2_0); }
            { const __m256 x_3 = _mm256_maskload_ps(x_r + 3 * X_w, TAIL); acc_3_0 = _mm256_fmadd_ps(x_3, w_0, acc_3_0); }
            { const __m256 x_4 = _mm256_maskload_ps(x_r + 4 * X_w, TAIL); acc_4_0 = _mm256_fmadd_ps(x_4, w_0, acc_4_0); }
            { const __m256 x_5 = _mm256_maskload_ps(x_r + X_h, TAIL); acc_5_0 = _mm256_fmadd_ps(x_5, w_0, acc_5_0); }
            { const __m256 x_6 = _mm256_maskload_ps(x_r + X_h + X_w, TAIL); acc_6_0 = _mm256_fmadd_ps(x_6, w_0, acc_6_0); }
            { const __m256 x_7 = _mm256_maskload_ps(x_r + X_h + 2 * X_w, TAIL); acc_7_0 = _mm256_fmadd_ps(x_7, w_0, acc_7_0); }
            { const __m256 x_8 = _mm256_maskload_ps(x_r + X_h + 3 * X_w, TAIL); acc_8_0 = _mm256_fmadd_ps(x_8, w_0, acc_8_0); }
            { const __m256 x_9 = _mm256_maskload_ps(x_r + X_h + 4 * X_w, TAIL); acc_9_0 = _mm256_fmadd_ps(x_9, w_0, acc_9_0); }
            { const __m256 x_10 = _mm256_maskload_ps(x_r + 2 * X_h, TAIL); acc_10_0 = _mm256_fmadd_ps(x_10, w_0, acc_10_0); }
            { const __m256 x_11 = _mm256_maskload_ps(x_r + 2 * X_h + X_w, TAIL); acc_11_0 = _mm256_fmadd_ps(x_11, w_0, acc_11_0); }
            { const __m256 x_12 = _mm256_maskload_ps(x_r + 2 * X_h + 2 * X_w, TAIL); acc_12_0 = _mm256_fmadd_ps(x_12, w_0, acc_12_0); }
            { const __m256 x_13 = _mm256_maskload_ps(x_r + 2 * X_h + 3 * X_w, TAIL); acc_13_0 = _mm256_fmadd_ps(x_13, w_0, acc_13_0); }
            { const __m256 x_14 = _mm256_maskload_ps(x_r + 2 * X_h + 4 * X_w, TAIL); acc_14_0 = _mm256_fmadd_ps(x_14, w_0, acc_14_0); }
        }
        KEEP_APART;
        {
            const __m256 w_0 = _mm256_loadu_ps(w_r + 1 * PANEL_1);
            { const __m256 x_0 = _mm256_maskload_ps(x_r + X_w, TAIL); acc_0_0 = _mm256_fmadd_ps(x_0, w_0, acc_0_0); }
            { const __m256 x_1 = _mm256_maskload_ps(x_r + 2 * X_w, TAIL); acc_1_0 = _mm256_fmadd_ps(x_1, w_0, acc_1_0); }
            { const __m256 x_2 = _mm256_maskload_ps(x_r + 3 * X_w, TAIL); acc_2_0 = _mm256_fmadd_ps(x_2, w_0, acc_2_0); }
            { const __m256 x_3 = _mm256_maskload_ps(x_r + 4 * X_w, TAIL); acc_3_0 = _mm256_fmadd_ps(x_3, w_0, acc_3_0); }
            { const __m256 x_4 = _mm256_maskload_ps(x_r + 4 * X_w + X_s, TAIL); acc_4_0 = _mm256_fmadd_ps(x_4, w_0, acc_4_0); }
            { const __m256 x_5 = _mm256_maskload_ps(x_r + X_h + X_w, TAIL); acc_5_0 = _mm256_fmadd_ps(x_5, w_0, acc_5_0); }
            { const __m256 x_6 = _mm256_maskload_ps(x_r + X_h + 2 * X_w, TAIL); acc_6_0 = _mm256_fmadd_ps(x_6, w_0, acc_6_0); }
            { const __m256 x_7 = _mm256_maskload_ps(x_r + X_h + 3 * X_w, TAIL); acc_7_0 = _mm256_fmadd_ps(x_7, w_0, acc_7_0); }
            { const __m256 x_8 = _mm256_maskload_ps(x_r + X_h + 4 * X_w, TAIL); acc_8_0 = _mm256_fmadd_ps(x_8, w_0, acc_8_0); }
            { const __m256 x_9 = _mm256_maskload_ps(x_r + X_h + 4 * X_w + X_s, TAIL); acc_9_0 = _mm256_fmadd_ps(x_9, w_0, acc_9_0); }
            { const __m256 x_10 = _mm256_maskload_ps(x_r + 2 * X_h + X_w, TAIL); acc_10_0 = _mm256_fmadd_ps(x_10, w_0, acc_10_0); }
            { const __m256 x_11 = _mm256_maskload_ps(x_r + 2 * X_h + 2 * X_w, TAIL); acc_11_0 = _mm256_fmadd_ps(x_11, w_0, acc_11_0); }
            { const __m256 x_12 = _mm256_maskload_ps(x_r + 2 * X_h + 3 * X_w, TAIL); acc_12_0 = _mm256_fmadd_ps(x_12, w_0, acc_12_0); }
            { const __m256 x_13 = _mm256_maskload_ps(x_r + 2 * X_h + 4 * X_w, TAIL); acc_13_0 = _mm256_fmadd_ps(x_13, w_0, acc_13_0); }
            { const __m256 x_14 = _mm256_maskload_ps(x_r + 2 * X_h + 4 * X_w + X_s, TAIL); acc_14_0 = _mm256_fmadd_ps(x_14, w_0, acc_14_0); }
        }
        KEEP_APART;
        {
            const __m256 w_0 = _mm256_loadu_ps(w_r + 2 * PANEL_1);
            { const __m256 x_0 = _mm256_maskload_ps(x_r + 2 * X_w, TAIL); acc_0_0 = _mm256_fmadd_ps(x_0, w_0, acc_0_0); }
            { const __m256 x_1 = _mm256_maskload_ps(x_r + 3 * X_w, TAIL); acc_1_0 = _mm256_fmadd_ps(x_1, w_0, acc_1_0); }
            { const __m256 x_2 = _mm256_maskload_ps(x_r + 4 * X_w, TAIL); acc_2_0 = _mm256_fmadd_ps(x_2, w_0, acc_2_0); }
            { const __m256 x_3 = _mm256_maskload_ps(x_r + 4 * X_w + X_s, TAIL); acc_3_0 = _mm256_fmadd_ps(x_3, w_0, acc_3_0); }
            { const __m256 x_4 = _mm256_maskload_ps(x_r + X_h + 2 * X_w, TAIL); acc_5_0 = _mm256_fmadd_ps(x_4, w_0, acc_5_0); }
            { const __m256 x_5 = _mm256_maskload_ps(x_r + X_h + 3 * X_w, TAIL); acc_6_0 = _mm256_fmadd_ps(x_5, w_0, acc_6_0); }
            { const __m256 x_6 = _mm256_maskload_ps(x_r + X_h + 4 * X_w, TAIL); acc_7_0 = _mm256_fmadd_ps(x_6, w_0, acc_7_0); }
            { const __m256 x_7 = _mm256_maskload_ps(x_r + X_h + 4 * X_w + X_s, TAIL); acc_8_0 = _mm256_fmadd_ps(x_7, w_0, acc_8_0); }
            { const __m256 x_8 = _mm256_maskload_ps(x_r + 2 * X_h + 2 * X_w, TAIL); acc_10_0 = _mm256_fmadd_ps(x_8, w_0, acc_10_0); }
            { const __m256 x_9 = _mm256_maskload_ps(x_r + 2 * X_h + 3 * X_w, TAIL); acc_11_0 = _mm256_fmadd_ps(x_9, w_0, acc_11_0); }
            { const __m256 x_10 = _mm256_maskload_ps(x_r + 2 * X_h + 4 * X_w, TAIL); acc_12_0 = _mm256_fmadd_ps(x_10, w_0, acc_12_0); }
            { const __m256 x_11 = _mm256_maskload_ps(x_r + 2 * X_h + 4 * X_w + X_s, TAIL); acc_13_0 = _mm256_fmadd_ps(x_11, w_0, acc_13_0); }
        }
    }
    _mm256_maskstore_ps(y, TAIL, acc_0_0);
    _mm256_maskstore_ps(y + Y_w, TAIL, acc_1_0);
    _mm256_maskstore_ps(y + 2 * Y_w, TAIL, acc_2_0);
    _mm256_maskstore_ps(y + 3 * Y_w, TAIL, acc_3_0);
    _mm256_maskstore_ps(y + 4 * Y_w, TAIL, acc_4_0);
    _mm256_maskstore_ps(y + Y_h, TAIL, acc_5_0);
    _mm256_maskstore_ps(y + Y_h + Y_w, TAIL, acc_6_0);
    _mm256_maskstore_ps(y + Y_h + 2 * Y_w, TAIL, acc_7_0);
    _mm256_maskstore_ps(y + Y_h + 3 * Y_w, TAIL, acc_8_0);
    _mm256_maskstore_ps(y + Y_h + 4 * Y_w, TAIL, acc_9_0);
    _mm256_maskstore_ps(y + 2 * Y_h, TAIL, acc_10_0);
    _mm256_maskstore_ps(y + 2 * Y_h + Y_w, TAIL, acc_11_0);
    _mm256_maskstore_ps(y + 2 * Y_h + 2 * Y_w, TAIL, acc_12_0);
    _mm256_maskstore_ps(y + 2 * Y_h + 3 * Y_w, TAIL, acc_13_0);
    _mm256_maskstore_ps(y + 2 * Y_h + 4 * Y_w, TAIL, acc_14_0);
}

/* 15 rows x 1 vectors, summed over r by 1 to 3; padding along h: rows on the image for each tap of r are 0:0-2 1:0-2 2:0-1; padding along w: rows on the image for each tap of s are 0:0-4 1:0-4 2:0-3. */
static void tile1_3hx5wx8cx3s_hpad2_wpad0(const float *x, const float *w, float *y)
{
    __m256 acc_0_0 = _mm256_setzero_ps();
    __m256 acc_1_0 = _mm256_setzero_ps();
    __m256 acc_2_0 = _mm256_setzero_ps();
    __m256 acc_3_0 = _mm256_setzero_ps();
    __m256 acc_4_0 = _mm256_setzero_ps();
    __m256 acc_5_0 = _mm256_setzero_ps();
    __m256 acc_6_0 = _mm256_setzero_ps();
    __m256 acc_7_0 = _mm256_setzero_ps();
    __m256 acc_8_0 = _mm256_setzero_ps();
    __m256 acc_9_0 = _mm256_setzero_ps();
    __m256 acc_10_0 = _mm256_setzero_ps();
    __m256 acc_11_0 = _mm256_setzero_ps();
    __m256 acc_12_0 = _mm256_setzero_ps();
    __m256 acc_13_0 = _mm256_setzero_ps();
    __m256 acc_14_0 = _mm256_setzero_ps();
    for (long r = 0; r < 2; ++r) {
        const float *x_r = x + r * X_r;
        const float *w_r = w + r * 3 * PANEL_1;
        {
            const __m256 w_0 = _mm256_loadu_ps(w_r);
            { const __m256 x_0 = _mm256_loadu_ps(x_r); acc_0_0 = _mm256_fmadd_ps(x_0, w_0, acc_0_0); }
            { const __m256 x_1 = _mm256_loadu_ps(x_r + X_w); acc_1_0 = _mm256_fmadd_ps(x_1, w_0, acc_1_0); }
            { const __m256 x_2 = _mm256_loadu_ps(x_r + 2 * X_w); acc_2_0 = _mm256_fmadd_ps(x_2, w_0, acc_2_0); }
            { const __m256 x_3 = _mm256_loadu_ps(x_r + 3 * X_w); acc_3_0 = _mm256_fmadd_ps(x_3, w_0, acc_3_0); }
            { const __m256 x_4 = _mm256_loadu_ps(x_r + 4 * X_w); acc_4_0 = _mm256_fmadd_ps(x_4, w_0, acc_4_0); }
            { const __m256 x_5 = _mm256_loadu_ps(x_r + X_h); acc_5_0 = _mm256_fmadd_ps(x_5, w_0, acc_5_0); }
            { const __m256 x_6 = _mm256_loadu_ps(x_r + X_h + X_w); acc_6_0 = _mm256_fmadd_ps(x_6, w_0, acc_6_0); }
            { const __m256 x_7 = _mm256_loadu_ps(x_r + X_h + 2 * X_w); acc_7_0 = _mm256_fmadd_ps(x_7, w_0, acc_7_0); }
            { const __m256 x_8 = _mm256_loadu_ps(x_r + X_h + 3 * X_w); acc_8_0 = _mm256_fmadd_ps(x_8, w_0, acc_8_0); }
            { const __m256 x_9 = _mm256_loadu_ps(x_r + X_h + 4 * X_w); acc_9_0 = _mm256_fmadd_ps(x_9, w_0, acc_9_0); }
            { const __m256 x_10 = _mm256_loadu_ps(x_r + 2 * X_h); acc_10_0 = _mm256_fmadd_ps(x_10, w_0, acc_10_0); }
            { const __m256 x_11 = _mm256_loadu_ps(x_r + 2 * X_h + X_w); acc_11_0 = _mm256_fmadd_ps(x_11, w_0, acc_11_0); }
            { const __m256 x_12 = _mm256_loadu_ps(x_r + 2 * X_h + 2 * X_w); acc_12_0 = _mm256_fmadd_ps(x_12, w_0, acc_12_0); }
            { const __m256 x_13 = _mm256_loadu_ps(x_r + 2 * X_h + 3 * X_w); acc_13_0 = _mm256_fmadd_ps(x_13, w_0, acc_13_0); }
            { const __m256 x_14 = _mm256_loadu_ps(x_r + 2 * X_h + 4 * X_w); acc_14_0 = _mm256_fmadd_ps(x_14, w_0, acc_14_0); }
        }
        KEEP_APART;
        {
            const __m256 w_0 = _mm256_loadu_ps(w_r + 1 * PANEL_1);
            { const __m256 x_0 = _mm256_loadu_ps(x_r + X_w); acc_0_0 = _mm256_fmadd_ps(x_0, w_0, acc_0_0); }
            { const __m256 x_1 = _mm256_loadu_ps(x_r + 2 * X_w); acc_1_0 = _mm256_fmadd_ps(x_1, w_0, acc_1_0); }
            { const __m256 x_2 = _mm256_loadu_ps(x_r + 3 * X_w); acc_2_0 = _mm256_fmadd_ps(x_2, w_0, acc_2_0); }
            { const __m256 x_3 = _mm256_loadu_ps(x_r + 4 * X_w); acc_3_0 = _mm256_fmadd_ps(x_3, w_0, acc_3_0); }
            { const __m256 x_4 = _mm256_loadu_ps(x_r + 4 * X_w + X_s); acc_4_0 = _mm256_fmadd_ps(x_4, w_0, acc_4_0); }
            { const __m256 x_5 = _mm256_loadu_ps(x_r + X_h + X_w); acc_5_0 = _mm256_fmadd_ps(x_5, w_0, acc_5_0); }
            { const __m256 x_6 = _mm256_loadu_ps(x_r + X_h + 2 * X_w); acc_6_0 = _mm256_fmadd_ps(x_6, w_0, acc_6_0); }
            { const __m256 x_7 = _mm256_loadu_ps(x_r + X_h + 3 * X_w); acc_7_0 = _mm256_fmadd_ps(x_7, w_0, acc_7_0); }
            { const __m256 x_8 = _mm256_loadu_ps(x_r + X_h + 4 * X_w); acc_8_0 = _mm256_fmadd_ps(x_8, w_0, acc_8_0); }
            { const __m256 x_9 = _mm256_loadu_ps(x_r + X_h + 4 * X_w + X_s); acc_9_0 = _mm256_fmadd_ps(x_9, w_0, acc_9_0); }
            { const __m256 x_10 = _mm256_loadu_ps(x_r + 2 * X_h + X_w); acc_10_0 = _mm256_fmadd_ps(x_10, w_0, acc_10_0); }
            { const __m256 x_11 = _mm256_loadu_ps(x_r + 2 * X_h + 2 * X_w); acc_11_0 = _mm256_fmadd_ps(x_11, w_0, acc_11_0); }
            { const __m256 x_12 = _mm256_loadu_ps(x_r + 2 * X_h + 3 * X_w); acc_12_0 = _mm256_fmadd_ps(x_12, w_0, acc_12_0); }
            { const __m256 x_13 = _mm256_loadu_ps(x_r + 2 * X_h + 4 * X_w); acc_13_0 = _mm256_fmadd_ps(x_13, w_0, acc_13_0); }
            { const __m256 x_14 = _mm256_loadu_ps(x_r + 2 * X_h + 4 * X_w + X_s); acc_14_0 = _mm256_fmadd_ps(x_14, w_0, acc_14_0); }
        }
        KEEP_APART;
        {
            const __m256 w_0 = _mm256_loadu_ps(w_r + 2 * PANEL_1);
            { const __m256 x_0 = _mm256_loadu_ps(x_r + 2 * X_w); acc_0_0 = _mm256_fmadd_ps(x_0, w_0, acc_0_0); }
            { const __m256 x_1 = _mm256_loadu_ps(x_r + 3 * X_w); acc_1_0 = _mm256_fmadd_ps(x_1, w_0, acc_1_0); }
            { const __m256 x_2 = _mm256_loadu_ps(x_r + 4 * X_w); acc_2_0 = _mm256_fmadd_ps(x_2, w_0, acc_2_0); }
            { const __m256 x_3 = _mm256_loadu_ps(x_r + 4 * X_w + X_s); acc_3_0 = _mm256_fmadd_ps(x_3, w_0, acc_3_0); }
            { const __m256 x_4 = _mm256_loadu_ps(x_r + X_h + 2 * X_w); acc_5_0 = _mm256_fmadd_ps(x_4, w_0, acc_5_0); }
            { const __m256 x_5 = _mm256_loadu_ps(x_r + X_h + 3 * X_w); acc_6_0 = _mm256_fmadd_ps(x_5, w_0, acc_6_0); }
            { const __m256 x_6 = _mm256_loadu_ps(x_r + X_h + 4 * X_w); acc_7_0 = _mm256_fmadd_ps(x_6, w_0, acc_7_0); }
            { const __m256 x_7 = _mm256_loadu_ps(x_r + X_h + 4 * X_w + X_s); acc_8_0 = _mm256_fmadd_ps(x_7, w_0, acc_8_0); }
            { const __m256 x_8 = _mm256_loadu_ps(x_r + 2 * X_h + 2 * X_w); acc_10_0 = _mm256_fmadd_ps(x_8, w_0, acc_10_0); }
            { const __m256 x_9 = _mm256_loadu_ps(x_r + 2 * X_h + 3 * X_w); acc_11_0 = _mm256_fmadd_ps(x_9, w_0, acc_11_0); }
            { const __m256 x_10 = _mm256_loadu_ps(x_r + 2 * X_h + 4 * X_w); acc_12_0 = _mm256_fmadd_ps(x_10, w_0, acc_12_0); }
            { const __m256 x_11 = _mm256_loadu_ps(x_r + 2 * X_h + 4 * X_w + X_s); acc_13_0 = _mm256_fmadd_ps(x_11, w_0, acc_13_0); }
        }
    }
    { /* r = 2 */
        const float *x_r = x + 2 * X_r;
        const float *w_r = w + 2 * 3 * PANEL_1;
        {
            const __m256 w_0 = _mm256_loadu_ps(w_r);
            { const __m256 x_0 = _mm256_loadu_ps(x_r); acc_0_0 = _mm256_fmadd_ps(x_0, w_0, acc_0_0); }
            { const __m256 x_1 = _mm256_loadu_ps(x_r + X_w); acc_1_0 = _mm256_fmadd_ps(x_1, w_0, acc_1_0); }
            { const __m256 x_2 = _mm256_loadu_ps(x_r + 2 * X_w); acc_2_0 = _mm256_fmadd_ps(x_2, w_0, acc_2_0); }
            { const __m256 x_3 = _mm256_loadu_ps(x_r + 3 * X_w); acc_3_0 = _mm256_fmadd_ps(x_3, w_0, acc_3_0); }
            { const __m256 x_4 = _mm256_loadu_ps(x_r + 4 * X_w); acc_4_0 = _mm256_fmadd_ps(x_4, w_0, acc_4_0); }
            { const __m256 x_5 = _mm256_loadu_ps(x_r + X_h); acc_5_0 = _mm256_fmadd_ps(x_5, w_0, acc_5_0); }
            { const __m256 x_6 = _mm256_loadu_ps(x_r + X_h + X_w); acc_6_0 = _mm256_fmadd_ps(x_6, w_0, acc_6_0); }
            { const __m256 x_7 = _mm256_loadu_ps(x_r + X_h + 2 * X_w); acc_7_0 = _mm256_fmadd_ps(x_7, w_0, acc_7_0); }
            { const __m256 x_8 = _mm256_loadu_ps(x_r + X_h + 3 * X_w); acc_8_0 = _mm256_fmadd_ps(x_8, w_0, acc_8_0); }
            { const __m256 x_9 = _mm256_loadu_ps(x_r + X_h + 4 * X_w); acc_9_0 = _mm256_fmadd_ps(x_9, w_0, acc_9_0); }
        }
        KEEP_APART;
        {
            const __m256 w_0 = _mm256_loadu_ps(w_r + 1 * PANEL_1);
            { const __m256 x_0 = _mm256_loadu_ps(x_r + X_w); acc_0_0 = _mm256_fmadd_ps(x_0, w_0, acc_0_0); }
            { const __m256 x_1 = _mm256_loadu_ps(x_r + 2 * X_w); acc_1_0 = _mm256_fmadd_ps(x_1, w_0, acc_1_0); }
            { const __m256 x_2 = _mm256_loadu_ps(x_r + 3 * X_w); acc_2_0 = _mm256_fmadd_ps(x_2, w_0, acc_2_0); }
            { const __m256 x_3 = _mm256_loadu_ps(x_r + 4 * X_w); acc_3_0 = _mm256_fmadd_ps(x_3, w_0, acc_3_0); }
            { const __m256 x_4 = _mm256_loadu_ps(x_r + 4 * X_w + X_s); acc_4_0 = _mm256_fmadd_ps(x_4, w_0, acc_4_0); }
            { const __m256 x_5 = _mm256_loadu_ps(x_r + X_h + X_w); acc_5_0 = _mm256_fmadd_ps(x_5, w_0, acc_5_0); }
            { const __m256 x_6 = _mm256_loadu_ps(x_r + X_h + 2 * X_w); acc_6_0 = _mm256_fmadd_ps(x_6, w_0, acc_6_0); }
            { const __m256 x_7 = _mm256_loadu_ps(x_r + X_h + 3 * X_w); acc_7_0 = _mm256_fmadd_ps(x_7, w_0, acc_7_0); }
            { const __m256 x_8 = _mm256_loadu_ps(x_r + X_h + 4 * X_w); acc_8_0 = _mm256_fmadd_ps(x_8, w_0, acc_8_0); }
            { const __m256 x_9 = _mm256_loadu_ps(x_r + X_h + 4 * X_w + X_s); acc_9_0 = _mm256_fmadd_ps(x_9, w_0, acc_9_0); }
        }
        KEEP_APART;
        {
            const __m256 w_0 = _mm256_loadu_ps(w_r + 2 * PANEL_1);
            { const __m256 x_0 = _mm256_loadu_ps(x_r + 2 * X_w); acc_0_0 = _mm256_fmadd_ps(x_0, w_0, acc_0_0); }
            { const __m256 x_1 = _mm256_loadu_ps(x_r + 3 * X_w); acc_1_0 = _mm256_fmadd_ps(x_1, w_0, acc_1_0); }
            { const __m256 x_2 = _mm256_loadu_ps(x_r + 4 * X_w); acc_2_0 = _mm256_fmadd_ps(x_2, w_0, acc_2_0); }
            { const __m256 x_3 = _mm256_loadu_ps(x_r + 4 * X_w + X_s); acc_3_0 = _mm256_fmadd_ps(x_3, w_0, acc_3_0); }
            { const __m256 x_4 = _mm256_loadu_ps(x_r + X_h + 2 * X_w); acc_5_0 = _mm256_fmadd_ps(x_4, w_0, acc_5_0); }
            { const __m256 x_5 = _mm256_loadu_ps(x_r + X_h + 3 * X_w); acc_6_0 = _mm256_fmadd_ps(x_5, w_0, acc_6_0); }
            { const __m256 x_6 = _mm256_loadu_ps(x_r + X_h + 4 * X_w); acc_7_0 = _mm256_fmadd_ps(x_6, w_0, acc_7_0); }
            { const __m256 x_7 = _mm256_loadu_ps(x_r + X_h + 4 * X_w + X_s); acc_8_0 = _mm256_fmadd_ps(x_7, w_0, acc_8_0); }
        }
    }
    _mm256_storeu_ps(y, acc_0_0);
    _mm256_storeu_ps(y + Y_w, acc_1_0);
    _mm256_storeu_ps(y + 2 * Y_w, acc_2_0);
    _mm256_storeu_ps(y + 3 * Y_w, acc_3_0);
    _mm256_storeu_ps(y + 4 * Y_w, acc_4_0);
    _mm256_storeu_ps(y + Y_h, acc_5_0);
    _mm256_storeu_ps(y + Y_h + Y_w, acc_6_0);
    _mm256_storeu_ps(y + Y_h + 2 * Y_w, acc_7_0);
    _mm256_storeu_ps(y + Y_h + 3 * Y_w, acc_8_0);
    _mm256_storeu_ps(y + Y_h + 4 * Y_w, acc_9_0);
    _mm256_storeu_ps(y + 2 * Y_h, acc_10_0);
    _mm256_storeu_ps(y + 2 * Y_h + Y_w, acc_11_0);
    _mm256_storeu_ps(y + 2 * Y_h + 2 * Y_w, acc_12_0);
    _mm256_storeu_ps(y + 2 * Y_h + 3 * Y_w, acc_13_0);
    _mm256_storeu_ps(y + 2 * Y_h + 4 * Y_w, acc_14_0);
}

/* 15 rows x 1 vectors, summed over r by 1 to 3; padding along h: rows on the image for each tap of r are 0:0-2 1:0-2 2:0-1; padding along w: rows on the image for each tap of s are 0:0-4 1:0-4 2:0-3; the last vector is masked. */
static void tile1_3hx5wx8cx3s_hpad2_wpad0_tail(const float *x, const float *w, float *y)
{
    __m256 acc_0_0 = _mm256_setzero_ps();
    __m256 acc_1_0 = _mm256_setzero_ps();
    __m256 acc_2_0 = _mm256_setzero_ps();
    __m256 acc_3_0 = _mm256_setzero_ps();
    __m256 acc_4_0 = _mm256_setzero_ps();
    __m256 acc_5_0 = _mm256_setzero_ps();
    __m256 acc_6_0 = _mm256_setzero_ps();
    __m256 acc_7_0 = _mm256_setzero_ps();
    __m256 acc_8_0 = _mm256_setzero_ps();
    __m256 acc_9_0 = _mm256_setzero_ps();
    __m256 acc_10_0 = _mm256_setzero_ps();
    __m256 acc_11_0 = _mm256_setzero_ps();
    __m256 acc_12_0 = _mm256_setzero_ps();
    __m256 acc_13_0 = _mm256_setzero_ps();
    __m256 acc_14_0 = _mm256_setzero_ps();
    for (long r = 0; r < 2; ++r) {
        const float *x_r = x + r * X_r;
        const float *w_r = w + r * 3 * PANEL_1;
        {
            const __m256 w_0 = _mm256_loadu_ps(w_r);
            { const __m256 x_0 = _mm256_maskload_ps(x_r, TAIL); acc_0_0 = _mm256_fmadd_ps(x_0, w_0, acc_0_0); }
            { const __m256 x_1 = _mm256_maskload_ps(x_r + X_w, TAIL); acc_1_0 = _mm256_fmadd_ps(x_1, w_0, acc_1_0); }
            { const __m256 x_2 = _mm256_maskload_ps(x_r + 2 * X_w, TAIL); acc_2_0 = _mm256_fmadd_ps(x_2, w_0, acc_2_0); }
            { const __m256 x_3 = _mm256_maskload_ps(x_r + 3 * X_w, TAIL); acc_3_0 = _mm256_fmadd_ps(x_3, w_0, acc_3_0); }
            { const __m256 x_4 = _mm256_maskload_ps(x_r + 4 * X_w, TAIL); acc_4_0 = _mm256_fmadd_ps(x_4, w_0, acc_4_0); }
            { const __m256 x_5 = _mm256_maskload_ps(x_r + X_h, TAIL); acc_5_0 = _mm256_fmadd_ps(x_5, w_0, acc_5_0); }
            { const __m256 x_6 = _mm256_maskload_ps(x_r + X_h + X_w, TAIL); acc_6_0 = _mm256_fmadd_ps(x_6, w_0, acc_6_0); }
            { const __m256 x_7 = _mm256_maskload_ps(x_r + X_h + 2 * X_w, TAIL); acc_7_0 = _mm256_fmadd_ps(x_7, w_0, acc_7_0); }
            { const __m256 x_8 = _mm256_maskload_ps(x_r + X_h + 3 * X_w, TAIL); acc_8_0 = _mm256_fmadd_ps(x_8, w_0, acc_8_0); }
            { const __m256 x_9 = _mm256_maskload_ps(x_r + X_h + 4 * X_w, TAIL); acc_9_0 = _mm256_fmadd_ps(x_9, w_0, acc_9_0); }
            { const __m256 x_10 = _mm256_maskload_ps(x_r + 2 * X_h, TAIL); acc_10_0 = _mm256_fmadd_ps(x_10, w_0, acc_10_0); }
            { const __m256 x_11 = _mm256_maskload_ps(x_r + 2 * X_h + X_w, TAIL); acc_11_0 = _mm256_fmadd_ps(x_11, w_0, acc_11_0); }
            { const __m256 x_12 = _mm256_maskload_ps(x_r + 2 * X_h + 2 * X_w, TAIL); acc_12_0 = _mm256_fmadd_ps(x_12, w_0, acc_12_0); }
            { const __m256 x_13 = _mm256_maskload_ps(x_r + 2 * X_h + 3 * X_w, TAIL); acc_13_0 = _mm256_fmadd_ps(x_13, w_0, acc_13_0); }
            { const __m256 x_14 = _mm256_maskload_ps(x_r + 2 * X_h + 4 * X_w, TAIL); acc_14_0 = _mm256_fmadd_ps(x_14, w_0, acc_14_0); }
        }
        KEEP_APART;
        {
            const __m256 w_0 = _mm256_loadu_ps(w_r + 1 * PANEL_1);
            { const __m256 x_0 = _mm256_maskload_ps(x_r + X_w, TAIL); acc_0_0 = _mm256_fmadd_ps(x_0, w_0, acc_0_0); }
            { const __m256 x_1 = _mm256_maskload_ps(x_r + 2 * X_w, TAIL); acc_1_0 = _mm256_fmadd_ps(x_1, w_0, acc_1_0); }
            { const __m256 x_2 = _mm256_maskload_ps(x_r + 3 * X_w, TAIL); acc_2_0 = _mm256_fmadd_ps(x_2, w_0, acc_2_0); }
            { const __m256 x_3 = _mm256_maskload_ps(x_r + 4 * X_w, TAIL); acc_3_0 = _mm256_fmadd_ps(x_3, w_0, acc_3_0); }
            { const __m256 x_4 = _mm256_maskload_ps(x_r + 4 * X_w + X_s, TAIL); acc_4_0 = _mm256_fmadd_ps(x_4, w_0, acc_4_0); }
            { const __m256 x_5 = _mm256_maskload_ps(x_r + X_h + X_w, TAIL); acc_5_0 = _mm256_fmadd_ps(x_5, w_0, acc_5_0); }
            { const __m256 x_6 = _mm256_maskload_ps(x_r + X_h + 2 * X_w, TAIL); acc_6_0 = _mm256_fmadd_ps(x_6, w_0, acc_6_0); }
            { const __m256 x_7 = _mm256_maskload_ps(x_r + X_h + 3 * X_w, TAIL); acc_7_0 = _mm256_fmadd_ps(x_7, w_0, acc_7_0); }
            { const __m256 x_8 = _mm256_maskload_ps(x_r + X_h + 4 * X_w, TAIL); acc_8_0 = _mm256_fmadd_ps(x_8, w_0, acc_8_0); }
            { const __m256 x_9 = _mm256_maskload_ps(x_r + X_h + 4 * X_w + X_s, TAIL); acc_9_0 = _mm256_fmadd_ps(x_9, w_0, acc_9_0); }
            { const __m256 x_10 = _mm256_maskload_ps(x_r + 2 * X_h + X_w, TAIL); acc_10_0 = _mm256_fmadd_ps(x_10, w_0, acc_10_0); }
            { const __m256 x_11 = _mm256_maskload_ps(x_r + 2 * X_h + 2 * X_w, TAIL); acc_11_0 = _mm256_fmadd_ps(x_11, w_0, acc_11_0); }
            { const __m256 x_12 = _mm256_maskload_ps(x_r + 2 * X_h + 3 * X_w, TAIL); acc_12_0 = _mm256_fmadd_ps(x_12, w_0, acc_12_0); }
            { const __m256 x_13 = _mm256_maskload_ps(x_r + 2 * X_h + 4 * X_w, TAIL); acc_13_0 = _mm256_fmadd_ps(x_13, w_0, acc_13_0); }
            { const __m256 x_14 = _mm256_maskload_ps(x_r + 2 * X_h + 4 * X_w + X_s, TAIL); acc_14_0 = _mm256_fmadd_ps(x_14, w_0, acc_14_0); }
        }
        KEEP_APART;
        {
            const __m256 w_0 = _mm256_loadu_ps(w_r + 2 * PANEL_1);
            { const __m256 x_0 = _mm256_maskload_ps(x_r + 2 * X_w, TAIL); acc_0_0 = _mm256_fmadd_ps(x_0, w_0, acc_0_0); }
            { const __m256 x_1 = _mm256_maskload_ps(x_r + 3 * X_w, TAIL); acc_1_0 = _mm256_fmadd_ps(x_1, w_0, acc_1_0); }
            { const __m256 x_2 = _mm256_maskload_ps(x_r + 4 * X_w, TAIL); acc_2_0 = _mm256_fmadd_ps(x_2, w_0, acc_2_0); }
            { const __m256 x_3 = _mm256_maskload_ps(x_r + 4 * X_w + X_s, TAIL); acc_3_0 = _mm256_fmadd_ps(x_3, w_0, acc_3_0); }
            { const __m256 x_4 = _mm256_maskload_ps(x_r + X_h + 2 * X_w, TAIL); acc_5_0 = _mm256_fmadd_ps(x_4, w_0, acc_5_0); }
            { const __m256 x_5 = _mm256_maskload_ps(x_r + X_h + 3 * X_w, TAIL); acc_6_0 = _mm256_fmadd_ps(x_5, w_0, acc_6_0); }
            { const __m256 x_6 = _mm256_maskload_ps(x_r + X_h + 4 * X_w, TAIL); acc_7_0 = _mm256_fmadd_ps(x_6, w_0, acc_7_0); }
            { const __m256 x_7 = _mm256_maskload_ps(x_r + X_h + 4 * X_w + X_s, TAIL); acc_8_0 = _mm256_fmadd_ps(x_7, w_0, acc_8_0); }
            { const __m256 x_8 = _mm256_maskload_ps(x_r + 2 * X_h + 2 * X_w, TAIL); acc_10_0 = _mm256_fmadd_ps(x_8, w_0, acc_10_0); }
            { const __m256 x_9 = _mm256_maskload_ps(x_r + 2 * X_h + 3 * X_w, TAIL); acc_11_0 = _mm256_fmadd_ps(x_9, w_0, acc_11_0); }
            { const __m256 x_10 = _mm256_maskload_ps(x_r + 2 * X_h + 4 * X_w, TAIL); acc_12_0 = _mm256_fmadd_ps(x_10, w_0, acc_12_0); }
            { const __m256 x_11 = _mm256_maskload_ps(x_r + 2 * X_h + 4 * X_w + X_s, TAIL); acc_13_0 = _mm256_fmadd_ps(x_11, w_0, acc_13_0); }
        }
    }
    { /* r = 2 */
        const float *x_r = x + 2 * X_r;
        const float *w_r = w + 2 * 3 * PANEL_1;
        {
            const __m256 w_0 = _mm256_loadu_ps(w_r);
            { const __m256 x_0 = _mm256_maskload_ps(x_r, TAIL); acc_0_0 = _mm256_fmadd_ps(x_0, w_0, acc_0_0); }
            { const __m256 x_1 = _mm256_maskload_ps(x_r + X_w, TAIL); acc_1_0 = _mm256_fmadd_ps(x_1, w_0, acc_1_0); }
            { const __m256 x_2 = _mm256_maskload_ps(x_r + 2 * X_w, TAIL); acc_2_0 = _mm256_fmadd_ps(x_2, w_0, acc_2_0); }
            { const __m256 x_3 = _mm256_maskload_ps(x_r + 3 * X_w, TAIL); acc_3_0 = _mm256_fmadd_ps(x_3, w_0, acc_3_0); }
            { const __m256 x_4 = _mm256_maskload_ps(x_r + 4 * X_w, TAIL); acc_4_0 = _mm256_fmadd_ps(x_4, w_0, acc_4_0); }
            { const __m256 x_5 = _mm256_maskload_ps(x_r + X_h, TAIL); acc_5_0 = _mm256_fmadd_ps(x_5, w_0, acc_5_0); }
            { const __m256 x_6 = _mm256_maskload_ps(x_r + X_h + X_w, TAIL); acc_6_0 = _mm256_fmadd_ps(x_6, w_0, acc_6_0); }
            { const __m256 x_7 = _mm256_maskload_ps(x_r + X_h + 2 * X_w, TAIL); acc_7_0 = _mm256_fmadd_ps(x_7, w_0, acc_7_0); }
            { const __m256 x_8 = _mm256_maskload_ps(x_r + X_h + 3 * X_w, TAIL); acc_8_0 = _mm256_fmadd_ps(x_8, w_0, acc_8_0); }
            { const __m256 x_9 = _mm256_maskload_ps(x_r + X_h + 4 * X_w, TAIL); acc_9_0 = _mm256_fmadd_ps(x_9, w_0, acc_9_0); }
        }
        KEEP_APART;
        {
            const __m256 w_0 = _mm256_loadu_ps(w_r + 1 * PANEL_1);
            { const __m256 x_0 = _mm256_maskload_ps(x_r + X_w, TAIL); acc_0_0 = _mm256_fmadd_ps(x_0, w_0, acc_0_0); }
            { const __m256 x_1 = _mm256_maskload_ps(x_r + 2 * X_w, TAIL); acc_1_0 = _mm256_fmadd_ps(x_1, w_0, acc_1_0); }
            { const __m256 x_2 = _mm256_maskload_ps(x_r + 3 * X_w, TAIL); acc_2_0 = _mm256_fmadd_ps(x_2, w_0, acc_2_0); }
            { const __m256 x_3 = _mm256_maskload_ps(x_r + 4 * X_w, TAIL); acc_3_0 = _mm256_fmadd_ps(x_3, w_0, acc_3_0); }
            { const __m256 x_4 = _mm256_maskload_ps(x_r + 4 * X_w + X_s, TAIL); acc_4_0 = _mm256_fmadd_ps(x_4, w_0, acc_4_0); }
            { const __m256 x_5 = _mm256_maskload_ps(x_r + X_h + X_w, TAIL); acc_5_0 = _mm256_fmadd_ps(x_5, w_0, acc_5_0); }
            { const __m256 x_6 = _mm256_maskload_ps(x_r + X_h + 2 * X_w, TAIL); acc_6_0 = _mm256_fmadd_ps(x_6, w_0, acc_6_0); }
            { const __m256 x_7 = _mm256_maskload_ps(x_r + X_h + 3 * X_w, TAIL); acc_7_0 = _mm256_fmadd_ps(x_7, w_0, acc_7_0); }
            { const __m256 x_8 = _mm256_maskload_ps(x_r + X_h + 4 * X_w, TAIL); acc_8_0 = _mm256_fmadd_ps(x_8, w_0, acc_8_0); }
            { const __m256 x_9 = _mm256_maskload_ps(x_r + X_h + 4 * X_w + X_s, TAIL); acc_9_0 = _mm256_fmadd_ps(x_9, w_0, acc_9_0); }
        }
        KEEP_APART;
        {
            const __m256 w_0 = _mm256_loadu_ps(w_r + 2 * PANEL_1);
            { const __m256 x_0 = _mm256_maskload_ps(x_r + 2 * X_w, TAIL); acc_0_0 = _mm256_fmadd_ps(x_0, w_0, acc_0_0); }
            { const __m256 x_1 = _mm256_maskload_ps(x_r + 3 * X_w, TAIL); acc_1_0 = _mm256_fmadd_ps(x_1, w_0, acc_1_0); }
            { const __m256 x_2 = _mm256_maskload_ps(x_r + 4 * X_w, TAIL); acc_2_0 = _mm256_fmadd_ps(x_2, w_0, acc_2_0); }
            { const __m256 x_3 = _mm256_maskload_ps(x_r + 4 * X_w + X_s, TAIL); acc_3_0 = _mm256_fmadd_ps(x_3, w_0, acc_3_0); }
            { const __m256 x_4 = _mm256_maskload_ps(x_r + X_h + 2 * X_w, TAIL); acc_5_0 = _mm256_fmadd_ps(x_4, w_0, acc_5_0); }
            { const __m256 x_5 = _mm256_maskload_ps(x_r + X_h + 3 * X_w, TAIL); acc_6_0 = _mm256_fmadd_ps(x_5, w_0, acc_6_0); }
            { const __m256 x_6 = _mm256_maskload_ps(x_r + X_h + 4 * X_w, TAIL); acc_7_0 = _mm256_fmadd_ps(x_6, w_0, acc_7_0); }
            { const __m256 x_7 = _mm256_maskload_ps(x_r + X_h + 4 * X_w + X_s, TAIL); acc_8_0 = _mm256_fmadd_ps(x_7, w_0, acc_8_0); }
        }
    }
    _mm256_maskstore_ps(y, TAIL, acc_0_0);
    _mm256_maskstore_ps(y + Y_w, TAIL, acc_1_0);
    _mm256_maskstore_ps(y + 2 * Y_w, TAIL, acc_2_0);
    _mm256_maskstore_ps(y + 3 * Y_w, TAIL, acc_3_0);
    _mm256_maskstore_ps(y + 4 * Y_w, TAIL, acc_4_0);
    _mm256_maskstore_ps(y + Y_h, TAIL, acc_5_0);
    _mm256_maskstore_ps(y + Y_h + Y_w, TAIL, acc_6_0);
    _mm256_maskstore_ps(y + Y_h + 2 * Y_w, TAIL, acc_7_0);
    _mm256_maskstore_ps(y + Y_h + 3 * Y_w, TAIL, acc_8_0);
    _mm256_maskstore_ps(y + Y_h + 4 * Y_w, TAIL, acc_9_0);
    _mm256_maskstore_ps(y + 2 * Y_h, TAIL, acc_10_0);
    _mm256_maskstore_ps(y + 2 * Y_h + Y_w, TAIL, acc_11_0);
    _mm256_maskstore_ps(y + 2 * Y_h + 2 * Y_w, TAIL, acc_12_0);
    _mm256_maskstore_ps(y + 2 * Y_h + 3 * Y_w, TAIL, acc_13_0);
    _mm256_maskstore_ps(y + 2 * Y_h + 4 * Y_w, TAIL, acc_14_0);
}

/* The loops over tiles; their variables are positions. Tiles get pointers to their own first x, panel and y. */
void depthwise2d_f32_n2_c37_h9_w8_k37_r3_s3_groups37_pad1__avx2(const float *restrict X, const float *restrict W, float *restrict Y)
{
    for (long n = 0; n < 2; ++n) {
        for (long h = 0; h < 9; h += 3) {
            for (long c = 0; c < 40; c += 8) {
                if (c < 32) {
                    if (h >= 3 && h <= 3) {
                        tile0_3hx3wx8cx3s_wpad0(X + n * X_n + c * X_c + h * X_h - X_PAD, W + c * W_PANEL, Y + n * Y_n + c * Y_c + h * Y_h);
                    } else if (h <= 0) {
                        tile0_3hx3wx8cx3s_hpad1_wpad0(X + n * X_n + c * X_c + h * X_h - X_PAD, W + c * W_PANEL, Y + n * Y_n + c * Y_c + h * Y_h);
                    } else {
                        tile0_3hx3wx8cx3s_hpad2_wpad0(X + n * X_n + c * X_c + h * X_h - X_PAD, W + c * W_PANEL, Y + n * Y_n + c * Y_c + h * Y_h);
                    }
                } else {
                    if (h >= 3 && h <= 3) {
                        tile0_3hx3wx8cx3s_wpad0_tail(X + n * X_n + c * X_c + h * X_h - X_PAD, W + c * W_PANEL, Y + n * Y_n + c * Y_c + h * Y_h);
                    } else if (h <= 0) {
                        tile0_3hx3wx8cx3s_hpad1_wpad0_tail(X + n * X_n + c * X_c + h * X_h - X_PAD, W + c * W_PANEL, Y + n * Y_n + c * Y_c + h * Y_h);
                    } else {
                        tile0_3hx3wx8cx3s_hpad2_wpad0_tail(X + n * X_n + c * X_c + h * X_h - X_PAD, W + c * W_PANEL, Y + n * Y_n + c * Y_c + h * Y_h);
                    }
                }
            }
            for (long c = 0; c < 40; c += 8) {
                if (c < 32) {
                    if (h >= 3 && h <= 3) {
                        tile1_3hx5wx8cx3s_wpad0(X + n * X_n + c * X_c + h * X_h + 3 * X_w - X_PAD, W + c * W_PANEL, Y + n * Y_n + c * Y_c + h * Y_h + 3 * Y_w);
                    } else if (h <= 0) {
                        tile1_3hx5wx8cx3s_hpad1_wpad0(X + n * X_n + c * X_c + h * X_h + 3 * X_w - X_PAD, W + c * W_PANEL, Y + n * Y_n + c * Y_c + h * Y_h + 3 * Y_w);
                    } else {
                        tile1_3hx5wx8cx3s_hpad2_wpad0(X + n * X_n + c * X_c + h * X_h + 3 * X_w - X_PAD, W + c * W_PANEL, Y + n * Y_n + c * Y_c + h * Y_h + 3 * Y_w);
                    }
                } else {
                    if (h >= 3 && h <= 3) {
                        tile1_3hx5wx8cx3s_wpad0_tail(X + n * X_n + c * X_c + h * X_h + 3 * X_w - X_PAD, W + c * W_PANEL, Y + n * Y_n + c * Y_c + h * Y_h + 3 * Y_w);
                    } else if (h <= 0) {
                        tile1_3hx5wx8cx3s_hpad1_wpad0_tail(X + n * X_n + c * X_c + h * X_h + 3 * X_w - X_PAD, W + c * W_PANEL, Y + n * Y_n + c * Y_c + h * Y_h + 3 * Y_w);
                    } else {
                        tile1_3hx5wx8cx3s_hpad2_wpad0_tail(X + n * X_n + c * X_c + h * X_h + 3 * X_w - X_PAD, W + c * W_PANEL, Y + n * Y_n + c * Y_c + h * Y_h + 3 * Y_w);
                    }
                }
            }
        }
    }
}

/* Packs weights that lie as w[c, 0, r, s] of 37 x 1 x 3 x 3. */
void depthwise2d_f32_n2_c37_h9_w8_k37_r3_s3_groups37_pad1__avx2_pack(const float *restrict W, float *restrict packed)
{
    for (long c = 0; c <= 32; c += 8)
        for (long r = 0; r < 3; r += 1)
            for (long s = 0; s < 3; s += 1)
                for (long lane = 0; lane < 8; ++lane)
                    *packed++ = c + lane < 37 ? W[(c + lane) * 9 + r * 3 + s * 1] : 0;
}
