/*
 * grouped2d n=2,c=44,h=9,w=8,k=44,r=3,s=3,groups=11,pad=1
 *
 * Written by Tilewright VERSION from the scheme
 *
 *     R(n) R(k) T(h,9) T(w,2) S(y) T(r,3) U(s,3) U(c,4) U(w,4) V(k,16)
 *
 *     for n in 2 steps of 1:
 *       for k in 3 steps of 16:
 *         for h in 9 steps of 1:
 *           for w in 2 steps of 4:
 *             with the tile of y in registers:
 *               for r in 3 steps of 1:
 *                 register tile 16k × 4c × 4w × 3s
 *
 * Microkernels:
 *     f32_grouped2d_ukernel_4wx16kx3sx4c_s1__avx512f: 48 FMAs, 18 loads and no stores per step, 5 of 32 registers (4 accumulators)
 *
 * Operands, row-major f32:
 *     X: x[n, h + r - 1, w + s - 1, k ^ c] of 2 x 9 x 8 x 44
 *     W: w[k, (k ^ c) % 4, r, s] of 44 x 4 x 3 x 3
 *     Y: y[n, h, w, k] of 2 x 9 x 8 x 44
 *     W is packed: the scheme's panels, one after the other, with reduction points in the order of its loops.
 */
#include <immintrin.h>

/* Elements between neighbours along each axis: X_h is along the axis h of X. W has none: tiles read it packed, in the
 * order of the loops. */
static const long X_n = 3168;
static const long X_h = 352;
static const long X_w = 44;
static const long X_k = 1;
static const long Y_n = 3168;
static const long Y_h = 352;
static const long Y_w = 44;
static const long Y_k = 1;

#define TAIL ((__mmask16)0x0fff) /* the 12 lanes used of the last vector */

/* Lane l of exchange_c(x) is lane l ^ c of x. In 4 steps every lane meets all 4 channels of its group. */
#ifdef __clang__
#define PICK(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
typedef int places __attribute__((vector_size(64)));
#define PICK(a, b, ...) __builtin_shuffle(a, b, (places){__VA_ARGS__})
#endif
static inline __m512 exchange_1(__m512 x) { return PICK(x, x, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14); }
static inline __m512 exchange_2(__m512 x) { return PICK(x, x, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13); }
static inline __m512 exchange_3(__m512 x) { return PICK(x, x, 3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12); }

/* 4 rows x 1 vectors, summed over r from r_begin to r_end; k < 32; w < 4. */
static void tile0_4wx16kx3sx4c_wpad0(const float *x, const float *w, float *y, long r_begin, long r_end)
{
    __m512 acc_0_0 = _mm512_setzero_ps();
    __m512 acc_1_0 = _mm512_setzero_ps();
    __m512 acc_2_0 = _mm512_setzero_ps();
    __m512 acc_3_0 = _mm512_setzero_ps();
    for (long r = r_begin; r < r_end; ++r) {
        const float *x_r = x + r * X_h;
        const float *w_r = w + 192 * r;
        const __m512 w_0_0 = _mm512_loadu_ps(w_r);
        const __m512 w_1_0 = _mm512_loadu_ps(w_r + 16);
        const __m512 w_2_0 = _mm512_loadu_ps(w_r + 32);
        const __m512 w_3_0 = _mm512_loadu_ps(w_r + 48);
        const __m512 w_4_0 = _mm512_loadu_ps(w_r + 64);
        const __m512 w_5_0 = _mm512_loadu_ps(w_r + 80);
        const __m512 w_6_0 = _mm512_loadu_ps(w_r + 96);
        const __m512 w_7_0 = _mm512_loadu_ps(w_r + 112);
        const __m512 w_8_0 = _mm512_loadu_ps(w_r + 128);
        const __m512 w_9_0 = _mm512_loadu_ps(w_r + 144);
        const __m512 w_10_0 = _mm512_loadu_ps(w_r + 160);
        const __m512 w_11_0 = _mm512_loadu_ps(w_r + 176);
        { const __m512 x_0 = _mm512_loadu_ps(x_r + X_w); acc_1_0 = _mm512_fmadd_ps(x_0, w_0_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_0, w_4_0, acc_0_0); }
        { const __m512 x_1 = exchange_1(_mm512_loadu_ps(x_r + X_w)); acc_1_0 = _mm512_fmadd_ps(x_1, w_1_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_1, w_5_0, acc_0_0); }
        { const __m512 x_2 = exchange_2(_mm512_loadu_ps(x_r + X_w)); acc_1_0 = _mm512_fmadd_ps(x_2, w_2_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_2, w_6_0, acc_0_0); }
        { const __m512 x_3 = exchange_3(_mm512_loadu_ps(x_r + X_w)); acc_1_0 = _mm512_fmadd_ps(x_3, w_3_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_3, w_7_0, acc_0_0); }
        { const __m512 x_4 = _mm512_loadu_ps(x_r + 2 * X_w); acc_2_0 = _mm512_fmadd_ps(x_4, w_0_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_4, w_4_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_4, w_8_0, acc_0_0); }
        { const __m512 x_5 = exchange_1(_mm512_loadu_ps(x_r + 2 * X_w)); acc_2_0 = _mm512_fmadd_ps(x_5, w_1_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_5, w_5_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_5, w_9_0, acc_0_0); }
        { const __m512 x_6 = exchange_2(_mm512_loadu_ps(x_r + 2 * X_w)); acc_2_0 = _mm512_fmadd_ps(x_6, w_2_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_6, w_6_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_6, w_10_0, acc_0_0); }
        { const __m512 x_7 = exchange_3(_mm512_loadu_ps(x_r + 2 * X_w)); acc_2_0 = _mm512_fmadd_ps(x_7, w_3_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_7, w_7_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_7, w_11_0, acc_0_0); }
        { const __m512 x_8 = _mm512_loadu_ps(x_r + 3 * X_w); acc_3_0 = _mm512_fmadd_ps(x_8, w_0_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_8, w_4_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_8, w_8_0, acc_1_0); }
        { const __m512 x_9 = exchange_1(_mm512_loadu_ps(x_r + 3 * X_w)); acc_3_0 = _mm512_fmadd_ps(x_9, w_1_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_9, w_5_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_9, w_9_0, acc_1_0); }
        { const __m512 x_10 = exchange_2(_mm512_loadu_ps(x_r + 3 * X_w)); acc_3_0 = _mm512_fmadd_ps(x_10, w_2_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_10, w_6_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_10, w_10_0, acc_1_0); }
        { const __m512 x_11 = exchange_3(_mm512_loadu_ps(x_r + 3 * X_w)); acc_3_0 = _mm512_fmadd_ps(x_11, w_3_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_11, w_7_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_11, w_11_0, acc_1_0); }
        { const __m512 x_12 = _mm512_loadu_ps(x_r + 4 * X_w); acc_3_0 = _mm512_fmadd_ps(x_12, w_4_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_12, w_8_0, acc_2_0); }
        { const __m512 x_13 = exchange_1(_mm512_loadu_ps(x_r + 4 * X_w)); acc_3_0 = _mm512_fmadd_ps(x_13, w_5_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_13, w_9_0, acc_2_0); }
        { const __m512 x_14 = exchange_2(_mm512_loadu_ps(x_r + 4 * X_w)); acc_3_0 = _mm512_fmadd_ps(x_14, w_6_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_14, w_10_0, acc_2_0); }
        { const __m512 x_15 = exchange_3(_mm512_loadu_ps(x_r + 4 * X_w)); acc_3_0 = _mm512_fmadd_ps(x_15, w_7_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_15, w_11_0, acc_2_0); }
        { const __m512 x_16 = _mm512_loadu_ps(x_r + 5 * X_w); acc_3_0 = _mm512_fmadd_ps(x_16, w_8_0, acc_3_0); }
        { const __m512 x_17 = exchange_1(_mm512_loadu_ps(x_r + 5 * X_w)); acc_3_0 = _mm512_fmadd_ps(x_17, w_9_0, acc_3_0); }
        { const __m512 x_18 = exchange_2(_mm512_loadu_ps(x_r + 5 * X_w)); acc_3_0 = _mm512_fmadd_ps(x_18, w_10_0, acc_3_0); }
        { const __m512 x_19 = exchange_3(_mm512_loadu_ps(x_r + 5 * X_w)); acc_3_0 = _mm512_fmadd_ps(x_19, w_11_0, acc_3_0); }
    }
    _mm512_storeu_ps(y, acc_0_0);
    _mm512_storeu_ps(y + Y_w, acc_1_0);
    _mm512_storeu_ps(y + 2 * Y_w, acc_2_0);
    _mm512_storeu_ps(y + 3 * Y_w, acc_3_0);
}

/* 4 rows x 1 vectors, summed over r from r_begin to r_end; k < 32; 4 <= w. */
static void tile1_4wx16kx3sx4c_wpad1(const float *x, const float *w, float *y, long r_begin, long r_end)
{
    __m512 acc_0_0 = _mm512_setzero_ps();
    __m512 acc_1_0 = _mm512_setzero_ps();
    __m512 acc_2_0 = _mm512_setzero_ps();
    __m512 acc_3_0 = _mm512_setzero_ps();
    for (long r = r_begin; r < r_end; ++r) {
        const float *x_r = x + r * X_h;
        const float *w_r = w + 192 * r;
        const __m512 w_0_0 = _mm512_loadu_ps(w_r);
        const __m512 w_1_0 = _mm512_loadu_ps(w_r + 16);
        const __m512 w_2_0 = _mm512_loadu_ps(w_r + 32);
        const __m512 w_3_0 = _mm512_loadu_ps(w_r + 48);
        const __m512 w_4_0 = _mm512_loadu_ps(w_r + 64);
        const __m512 w_5_0 = _mm512_loadu_ps(w_r + 80);
        const __m512 w_6_0 = _mm512_loadu_ps(w_r + 96);
        const __m512 w_7_0 = _mm512_loadu_ps(w_r + 112);
        const __m512 w_8_0 = _mm512_loadu_ps(w_r + 128);
        const __m512 w_9_0 = _mm512_loadu_ps(w_r + 144);
        const __m512 w_10_0 = _mm512_loadu_ps(w_r + 160);
        const __m512 w_11_0 = _mm512_loadu_ps(w_r + 176);
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
        { const __m512 x_16 = _mm512_loadu_ps(x_r + 4 * X_w); acc_3_0 = _mm512_fmadd_ps(x_16, w_4_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_16, w_8_0, acc_2_0); }
        { const __m512 x_17 = exchange_1(_mm512_loadu_ps(x_r + 4 * X_w)); acc_3_0 = _mm512_fmadd_ps(x_17, w_5_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_17, w_9_0, acc_2_0); }
        { const __m512 x_18 = exchange_2(_mm512_loadu_ps(x_r + 4 * X_w)); acc_3_0 = _mm512_fmadd_ps(x_18, w_6_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_18, w_10_0, acc_2_0); }
        { const __m512 x_19 = exchange_3(_mm512_loadu_ps(x_r + 4 * X_w)); acc_3_0 = _mm512_fmadd_ps(x_19, w_7_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_19, w_11_0, acc_2_0); }
    }
    _mm512_storeu_ps(y, acc_0_0);
    _mm512_storeu_ps(y + Y_w, acc_1_0);
    _mm512_storeu_ps(y + 2 * Y_w, acc_2_0);
    _mm512_storeu_ps(y + 3 * Y_w, acc_3_0);
}

/* 4 rows x 1 vectors, summed over r from r_begin to r_end; 32 <= k; w < 4. */
static void tile2_4wx16kx3sx4c_tail_wpad0(const float *x, const float *w, float *y, long r_begin, long r_end)
{
    __m512 acc_0_0 = _mm512_setzero_ps();
    __m512 acc_1_0 = _mm512_setzero_ps();
    __m512 acc_2_0 = _mm512_setzero_ps();
    __m512 acc_3_0 = _mm512_setzero_ps();
    for (long r = r_begin; r < r_end; ++r) {
        const float *x_r = x + r * X_h;
        const float *w_r = w + 192 * r;
        const __m512 w_0_0 = _mm512_loadu_ps(w_r);
        const __m512 w_1_0 = _mm512_loadu_ps(w_r + 16);
        const __m512 w_2_0 = _mm512_loadu_ps(w_r + 32);
        const __m512 w_3_0 = _mm512_loadu_ps(w_r + 48);
        const __m512 w_4_0 = _mm512_loadu_ps(w_r + 64);
        const __m512 w_5_0 = _mm512_loadu_ps(w_r + 80);
        const __m512 w_6_0 = _mm512_loadu_ps(w_r + 96);
        const __m512 w_7_0 = _mm512_loadu_ps(w_r + 112);
        const __m512 w_8_0 = _mm512_loadu_ps(w_r + 128);
        const __m512 w_9_0 = _mm512_loadu_ps(w_r + 144);
        const __m512 w_10_0 = _mm512_loadu_ps(w_r + 160);
        const __m512 w_11_0 = _mm512_loadu_ps(w_r + 176);
        { const __m512 x_0 = _mm512_maskz_loadu_ps(TAIL, x_r + X_w); acc_1_0 = _mm512_fmadd_ps(x_0, w_0_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_0, w_4_0, acc_0_0); }
        { const __m512 x_1 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + X_w)); acc_1_0 = _mm512_fmadd_ps(x_1, w_1_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_1, w_5_0, acc_0_0); }
        { const __m512 x_2 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + X_w)); acc_1_0 = _mm512_fmadd_ps(x_2, w_2_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_2, w_6_0, acc_0_0); }
        { const __m512 x_3 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + X_w)); acc_1_0 = _mm512_fmadd_ps(x_3, w_3_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_3, w_7_0, acc_0_0); }
        { const __m512 x_4 = _mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_w); acc_2_0 = _mm512_fmadd_ps(x_4, w_0_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_4, w_4_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_4, w_8_0, acc_0_0); }
        { const __m512 x_5 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_w)); acc_2_0 = _mm512_fmadd_ps(x_5, w_1_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_5, w_5_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_5, w_9_0, acc_0_0); }
        { const __m512 x_6 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_w)); acc_2_0 = _mm512_fmadd_ps(x_6, w_2_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_6, w_6_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_6, w_10_0, acc_0_0); }
        { const __m512 x_7 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + 2 * X_w)); acc_2_0 = _mm512_fmadd_ps(x_7, w_3_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_7, w_7_0, acc_1_0); acc_0_0 = _mm512_fmadd_ps(x_7, w_11_0, acc_0_0); }
        { const __m512 x_8 = _mm512_maskz_loadu_ps(TAIL, x_r + 3 * X_w); acc_3_0 = _mm512_fmadd_ps(x_8, w_0_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_8, w_4_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_8, w_8_0, acc_1_0); }
        { const __m512 x_9 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + 3 * X_w)); acc_3_0 = _mm512_fmadd_ps(x_9, w_1_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_9, w_5_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_9, w_9_0, acc_1_0); }
        { const __m512 x_10 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + 3 * X_w)); acc_3_0 = _mm512_fmadd_ps(x_10, w_2_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_10, w_6_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_10, w_10_0, acc_1_0); }
        { const __m512 x_11 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + 3 * X_w)); acc_3_0 = _mm512_fmadd_ps(x_11, w_3_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_11, w_7_0, acc_2_0); acc_1_0 = _mm512_fmadd_ps(x_11, w_11_0, acc_1_0); }
        { const __m512 x_12 = _mm512_maskz_loadu_ps(TAIL, x_r + 4 * X_w); acc_3_0 = _mm512_fmadd_ps(x_12, w_4_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_12, w_8_0, acc_2_0); }
        { const __m512 x_13 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + 4 * X_w)); acc_3_0 = _mm512_fmadd_ps(x_13, w_5_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_13, w_9_0, acc_2_0); }
        { const __m512 x_14 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + 4 * X_w)); acc_3_0 = _mm512_fmadd_ps(x_14, w_6_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_14, w_10_0, acc_2_0); }
        { const __m512 x_15 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + 4 * X_w)); acc_3_0 = _mm512_fmadd_ps(x_15, w_7_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_15, w_11_0, acc_2_0); }
        { const __m512 x_16 = _mm512_maskz_loadu_ps(TAIL, x_r + 5 * X_w); acc_3_0 = _mm512_fmadd_ps(x_16, w_8_0, acc_3_0); }
        { const __m512 x_17 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + 5 * X_w)); acc_3_0 = _mm512_fmadd_ps(x_17, w_9_0, acc_3_0); }
        { const __m512 x_18 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + 5 * X_w)); acc_3_0 = _mm512_fmadd_ps(x_18, w_10_0, acc_3_0); }
        { const __m512 x_19 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + 5 * X_w)); acc_3_0 = _mm512_fmadd_ps(x_19, w_11_0, acc_3_0); }
    }
    _mm512_mask_storeu_ps(y, TAIL, acc_0_0);
    _mm512_mask_storeu_ps(y + Y_w, TAIL, acc_1_0);
    _mm512_mask_storeu_ps(y + 2 * Y_w, TAIL, acc_2_0);
    _mm512_mask_storeu_ps(y + 3 * Y_w, TAIL, acc_3_0);
}

/* 4 rows x 1 vectors, summed over r from r_begin to r_end; 32 <= k; 4 <= w. */
static void tile3_4wx16kx3sx4c_tail_wpad1(const float *x, const float *w, float *y, long r_begin, long r_end)
{
    __m512 acc_0_0 = _mm512_setzero_ps();
    __m512 acc_1_0 = _mm512_setzero_ps();
    __m512 acc_2_0 = _mm512_setzero_ps();
    __m512 acc_3_0 = _mm512_setzero_ps();
    for (long r = r_begin; r < r_end; ++r) {
        const float *x_r = x + r * X_h;
        const float *w_r = w + 192 * r;
        const __m512 w_0_0 = _mm512_loadu_ps(w_r);
        const __m512 w_1_0 = _mm512_loadu_ps(w_r + 16);
        const __m512 w_2_0 = _mm512_loadu_ps(w_r + 32);
        const __m512 w_3_0 = _mm512_loadu_ps(w_r + 48);
        const __m512 w_4_0 = _mm512_loadu_ps(w_r + 64);
        const __m512 w_5_0 = _mm512_loadu_ps(w_r + 80);
        const __m512 w_6_0 = _mm512_loadu_ps(w_r + 96);
        const __m512 w_7_0 = _mm512_loadu_ps(w_r + 112);
        const __m512 w_8_0 = _mm512_loadu_ps(w_r + 128);
        const __m512 w_9_0 = _mm512_loadu_ps(w_r + 144);
        const __m512 w_10_0 = _mm512_loadu_ps(w_r + 160);
        const __m512 w_11_0 = _mm512_loadu_ps(w_r + 176);
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
        { const __m512 x_16 = _mm512_maskz_loadu_ps(TAIL, x_r + 4 * X_w); acc_3_0 = _mm512_fmadd_ps(x_16, w_4_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_16, w_8_0, acc_2_0); }
        { const __m512 x_17 = exchange_1(_mm512_maskz_loadu_ps(TAIL, x_r + 4 * X_w)); acc_3_0 = _mm512_fmadd_ps(x_17, w_5_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_17, w_9_0, acc_2_0); }
        { const __m512 x_18 = exchange_2(_mm512_maskz_loadu_ps(TAIL, x_r + 4 * X_w)); acc_3_0 = _mm512_fmadd_ps(x_18, w_6_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_18, w_10_0, acc_2_0); }
        { const __m512 x_19 = exchange_3(_mm512_maskz_loadu_ps(TAIL, x_r + 4 * X_w)); acc_3_0 = _mm512_fmadd_ps(x_19, w_7_0, acc_3_0); acc_2_0 = _mm512_fmadd_ps(x_19, w_11_0, acc_2_0); }
    }
    _mm512_mask_storeu_ps(y, TAIL, acc_0_0);
    _mm512_mask_storeu_ps(y + Y_w, TAIL, acc_1_0);
    _mm512_mask_storeu_ps(y + 2 * Y_w, TAIL, acc_2_0);
    _mm512_mask_storeu_ps(y + 3 * Y_w, TAIL, acc_3_0);
}

/* Whether this CPU runs the kernel. This function and the packing run on any CPU. */
__attribute__((target("no-avx"))) int grouped2d_f32_n2_c44_h9_w8_k44_r3_s3_groups11_pad1__avx512f_supported(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("fma");
}

/* The loops over tiles. Their variables are positions. A tile gets pointers to its own first x, panel and y. */
void grouped2d_f32_n2_c44_h9_w8_k44_r3_s3_groups11_pad1__avx512f_run(const float *restrict X, const float *restrict W, float *restrict Y)
{
    for (long n = 0; n < 2; ++n) {
        for (long k = 0; k < 48; k += 16) {
            for (long h = 0; h < 9; ++h) {
                for (long w = 0; w < 8; w += 4) {
                    const long r_begin = (0 > -h + 1 ? 0 : -h + 1);
                    const long r_end = (3 < -h + 10 ? 3 : -h + 10);
                    if (k < 32) {
                        if (w < 4) {
                            tile0_4wx16kx3sx4c_wpad0(X + n * X_n + (h - 1) * X_h + (w - 1) * X_w + k * X_k, W + 36 * k, Y + n * Y_n + h * Y_h + w * Y_w + k * Y_k, r_begin, r_end);
                        } else {
                            tile1_4wx16kx3sx4c_wpad1(X + n * X_n + (h - 1) * X_h + (w - 1) * X_w + k * X_k, W + 36 * k, Y + n * Y_n + h * Y_h + w * Y_w + k * Y_k, r_begin, r_end);
                        }
                    } else if (w < 4) {
                        tile2_4wx16kx3sx4c_tail_wpad0(X + n * X_n + (h - 1) * X_h + (w - 1) * X_w + k * X_k, W + 36 * k, Y + n * Y_n + h * Y_h + w * Y_w + k * Y_k, r_begin, r_end);
                    } else {
                        tile3_4wx16kx3sx4c_tail_wpad1(X + n * X_n + (h - 1) * X_h + (w - 1) * X_w + k * X_k, W + 36 * k, Y + n * Y_n + h * Y_h + w * Y_w + k * Y_k, r_begin, r_end);
                    }
                }
            }
        }
    }
}

/* Packs the weights. They lie in memory as w[k, (k ^ c) % 4, r, s] of 44 x 4 x 3 x 3. */
__attribute__((target("no-avx"))) void grouped2d_f32_n2_c44_h9_w8_k44_r3_s3_groups11_pad1__avx512f_pack_run(const float *restrict W, float *restrict packed)
{
    const long W_k = 36, W_c = 9, W_r = 3, W_s = 1;
    for (long k = 0; k < 48; k += 16) {
        for (long r = 0; r < 3; ++r) {
            for (long s_u = 0; s_u < 3; ++s_u) {
                for (long c_u = 0; c_u < 4; ++c_u) {
                    for (long lane = 0; lane < 16; ++lane) {
                        if (k + lane < 44) {
                            packed[36 * k + lane + 192 * r + 64 * s_u + 16 * c_u] = W[(k + lane) * W_k + ((lane % 4) ^ c_u) * W_c + r * W_r + s_u * W_s];
                        } else {
                            packed[36 * k + lane + 192 * r + 64 * s_u + 16 * c_u] = 0;
                        }
                    }
                }
            }
        }
    }
}

/*
 * A whole call: it checks the CPU.
 * A caller that has done so calls grouped2d_f32_n2_c44_h9_w8_k44_r3_s3_groups11_pad1__avx512f_run.
 */
#include <stdio.h>
#include <stdlib.h>

void grouped2d_f32_n2_c44_h9_w8_k44_r3_s3_groups11_pad1__avx512f(const float *restrict X, const float *restrict W, float *restrict Y)
{
    if (!grouped2d_f32_n2_c44_h9_w8_k44_r3_s3_groups11_pad1__avx512f_supported()) {
        fputs("grouped2d_f32_n2_c44_h9_w8_k44_r3_s3_groups11_pad1__avx512f: this CPU lacks avx512f or avx512vl or fma\n", stderr);
        abort();
    }
    grouped2d_f32_n2_c44_h9_w8_k44_r3_s3_groups11_pad1__avx512f_run(X, W, Y);
}

/* Packs the weights, once for many calls. */
__attribute__((target("no-avx"))) void grouped2d_f32_n2_c44_h9_w8_k44_r3_s3_groups11_pad1__avx512f_pack(const float *restrict W, float *restrict packed)
{
    grouped2d_f32_n2_c44_h9_w8_k44_r3_s3_groups11_pad1__avx512f_pack_run(W, packed);
}
