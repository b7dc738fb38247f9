/*
 * pointwise2d n=2,c=12,h=9,w=11,k=18,r=1,s=1,layout=nchw,epilogue=relu(y+b[k])*t[h,w]+z[n,k,h,w]-s[n,h,w]
 *
 * Written by Tilewright VERSION from the scheme
 *
 *     T(c,2) L(k, 1x8 + 2x5) T(c,3) R(n) R(w) S(y) T(c,2) U(k,λ) V(w,8)
 *
 *     for c in 2 steps of 6:
 *       for k in 1 step of 8:
 *         for c in 3 steps of 2:
 *           for n in 2 steps of 1:
 *             for w in 13 steps of 8:
 *               with the tile of y in registers:
 *                 for c in 2 steps of 1:
 *                   register tile 8k × 8w
 *       for k in 2 steps of 5 from 8:
 *         for c in 3 steps of 2:
 *           for n in 2 steps of 1:
 *             for w in 13 steps of 8:
 *               with the tile of y in registers:
 *                 for c in 2 steps of 1:
 *                   register tile 5k × 8w
 *
 * Microkernels:
 *     f32_pointwise2d_ukernel_8kx8w__avx2: 8 FMAs, 9 loads and no stores per step, 10 of 16 registers (8 accumulators)
 *     f32_pointwise2d_ukernel_5kx8w__avx2: 5 FMAs, 6 loads and no stores per step, 7 of 16 registers (5 accumulators)
 *
 * Operands, row-major f32:
 *     X: x[n, c, w] of 2 x 12 x 99
 *     W: w[k, c] of 18 x 12
 *     Y: y[n, k, w] of 2 x 18 x 99
 *     E_b: b[k] of 18
 *     E_t: t[w] of 99
 *     E_z: z[n, k, w] of 2 x 18 x 99
 *     E_s: s[n, w] of 2 x 99
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
static const long STEP_b_k = 1;
static const long STEP_t_w = 1;
static const long STEP_z_n = 1782;
static const long STEP_z_k = 99;
static const long STEP_z_w = 1;
static const long STEP_s_n = 99;
static const long STEP_s_w = 1;

/* The 3 lanes used of the last vector. A lane counts where its sign bit is set. */
static const int tail_lanes[8] = {-1, -1, -1, 0, 0, 0, 0, 0};
#define TAIL _mm256_loadu_si256((const __m256i *)tail_lanes)

/* Gives an accumulator a register of its own. Where several begin with the same bias, the compiler would keep the bias
 * in one more register, which an accumulator needs. */
#define OWN(acc) __asm__ volatile("" : "+v"(acc))

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

/* Each sum begins with E_b of its channel. The rest of the epilogue follows below. */

/* The epilogue, applied to each vector as it is stored:
 *
 *     relu(y)*t[h,w]+z[n,k,h,w]-s[n,h,w]
 *
 * A NaN gives a NaN. Errors are in units in the last place (ulp) of the result. An exponential below about e^-87 counts
 * as 0, by which a result may be off by 2^-119 besides. */
/* Volatile, so a tile reads zero once, when its sums are done. gcc would keep a bound that it knows in a register
 * through the inner loops, and spill an accumulator for it: above all zero, with which it also clears accumulators. */
static const volatile __m256 zeros = {0};
static inline __m256 relu_of(__m256 v, __m256 zero) { return _mm256_max_ps(zero, v); }

static inline __m256 epilogue(__m256 y, __m256 e_t, __m256 e_z, __m256 e_s, __m256 zero)
{
    return relu_of(y, zero) * e_t + e_z - e_s;
}

/* 8 rows x 1 vectors, summed over c from 0 to 2; w < 96; first: y holds no sums yet; last: nothing is added after it. */
static void tile0_8kx8w(const float *x, const float *w, float *y, const float *e_b, const float *e_t, const float *e_z, const float *e_s, int first, int last)
{
    __m256 acc_0_0;
    __m256 acc_1_0;
    __m256 acc_2_0;
    __m256 acc_3_0;
    __m256 acc_4_0;
    __m256 acc_5_0;
    __m256 acc_6_0;
    __m256 acc_7_0;
    if (first) {
        acc_0_0 = _mm256_broadcast_ss(e_b);
        OWN(acc_0_0);
        acc_1_0 = _mm256_broadcast_ss(e_b + STEP_b_k);
        OWN(acc_1_0);
        acc_2_0 = _mm256_broadcast_ss(e_b + 2 * STEP_b_k);
        OWN(acc_2_0);
        acc_3_0 = _mm256_broadcast_ss(e_b + 3 * STEP_b_k);
        OWN(acc_3_0);
        acc_4_0 = _mm256_broadcast_ss(e_b + 4 * STEP_b_k);
        OWN(acc_4_0);
        acc_5_0 = _mm256_broadcast_ss(e_b + 5 * STEP_b_k);
        OWN(acc_5_0);
        acc_6_0 = _mm256_broadcast_ss(e_b + 6 * STEP_b_k);
        OWN(acc_6_0);
        acc_7_0 = _mm256_broadcast_ss(e_b + 7 * STEP_b_k);
        OWN(acc_7_0);
    } else {
        acc_0_0 = _mm256_loadu_ps(y);
        acc_1_0 = _mm256_loadu_ps(y + Y_k);
        acc_2_0 = _mm256_loadu_ps(y + 2 * Y_k);
        acc_3_0 = _mm256_loadu_ps(y + 3 * Y_k);
        acc_4_0 = _mm256_loadu_ps(y + 4 * Y_k);
        acc_5_0 = _mm256_loadu_ps(y + 5 * Y_k);
        acc_6_0 = _mm256_loadu_ps(y + 6 * Y_k);
        acc_7_0 = _mm256_loadu_ps(y + 7 * Y_k);
    }
    for (long c = 0; c < 2; ++c) {
        const float *w_c = w + 8 * c;
        const float *x_c = x + c * X_c;
        const __m256 x_0 = _mm256_loadu_ps(x_c);
        { const __m256 w_0 = _mm256_broadcast_ss(w_c); acc_0_0 = _mm256_fmadd_ps(w_0, x_0, acc_0_0); }
        { const __m256 w_1 = _mm256_broadcast_ss(w_c + 1); acc_1_0 = _mm256_fmadd_ps(w_1, x_0, acc_1_0); }
        { const __m256 w_2 = _mm256_broadcast_ss(w_c + 2); acc_2_0 = _mm256_fmadd_ps(w_2, x_0, acc_2_0); }
        { const __m256 w_3 = _mm256_broadcast_ss(w_c + 3); acc_3_0 = _mm256_fmadd_ps(w_3, x_0, acc_3_0); }
        { const __m256 w_4 = _mm256_broadcast_ss(w_c + 4); acc_4_0 = _mm256_fmadd_ps(w_4, x_0, acc_4_0); }
        { const __m256 w_5 = _mm256_broadcast_ss(w_c + 5); acc_5_0 = _mm256_fmadd_ps(w_5, x_0, acc_5_0); }
        { const __m256 w_6 = _mm256_broadcast_ss(w_c + 6); acc_6_0 = _mm256_fmadd_ps(w_6, x_0, acc_6_0); }
        { const __m256 w_7 = _mm256_broadcast_ss(w_c + 7); acc_7_0 = _mm256_fmadd_ps(w_7, x_0, acc_7_0); }
    }
    if (last) {
        const __m256 zero = zeros;
        _mm256_storeu_ps(y, epilogue(acc_0_0, _mm256_loadu_ps(e_t), _mm256_loadu_ps(e_z), _mm256_loadu_ps(e_s), zero));
        _mm256_storeu_ps(y + Y_k, epilogue(acc_1_0, _mm256_loadu_ps(e_t), _mm256_loadu_ps(e_z + STEP_z_k), _mm256_loadu_ps(e_s), zero));
        _mm256_storeu_ps(y + 2 * Y_k, epilogue(acc_2_0, _mm256_loadu_ps(e_t), _mm256_loadu_ps(e_z + 2 * STEP_z_k), _mm256_loadu_ps(e_s), zero));
        _mm256_storeu_ps(y + 3 * Y_k, epilogue(acc_3_0, _mm256_loadu_ps(e_t), _mm256_loadu_ps(e_z + 3 * STEP_z_k), _mm256_loadu_ps(e_s), zero));
        _mm256_storeu_ps(y + 4 * Y_k, epilogue(acc_4_0, _mm256_loadu_ps(e_t), _mm256_loadu_ps(e_z + 4 * STEP_z_k), _mm256_loadu_ps(e_s), zero));
        _mm256_storeu_ps(y + 5 * Y_k, epilogue(acc_5_0, _mm256_loadu_ps(e_t), _mm256_loadu_ps(e_z + 5 * STEP_z_k), _mm256_loadu_ps(e_s), zero));
        _mm256_storeu_ps(y + 6 * Y_k, epilogue(acc_6_0, _mm256_loadu_ps(e_t), _mm256_loadu_ps(e_z + 6 * STEP_z_k), _mm256_loadu_ps(e_s), zero));
        _mm256_storeu_ps(y + 7 * Y_k, epilogue(acc_7_0, _mm256_loadu_ps(e_t), _mm256_loadu_ps(e_z + 7 * STEP_z_k), _mm256_loadu_ps(e_s), zero));
    } else {
        _mm256_storeu_ps(y, acc_0_0);
        _mm256_storeu_ps(y + Y_k, acc_1_0);
        _mm256_storeu_ps(y + 2 * Y_k, acc_2_0);
        _mm256_storeu_ps(y + 3 * Y_k, acc_3_0);
        _mm256_storeu_ps(y + 4 * Y_k, acc_4_0);
        _mm256_storeu_ps(y + 5 * Y_k, acc_5_0);
        _mm256_storeu_ps(y + 6 * Y_k, acc_6_0);
        _mm256_storeu_ps(y + 7 * Y_k, acc_7_0);
    }
}

/* 8 rows x 1 vectors, summed over c from 0 to 2; 96 <= w; first: y holds no sums yet; last: nothing is added after it. */
static void tile1_8kx8w_tail(const float *x, const float *w, float *y, const float *e_b, const float *e_t, const float *e_z, const float *e_s, int first, int last)
{
    __m256 acc_0_0;
    __m256 acc_1_0;
    __m256 acc_2_0;
    __m256 acc_3_0;
    __m256 acc_4_0;
    __m256 acc_5_0;
    __m256 acc_6_0;
    __m256 acc_7_0;
    if (first) {
        acc_0_0 = _mm256_broadcast_ss(e_b);
        OWN(acc_0_0);
        acc_1_0 = _mm256_broadcast_ss(e_b + STEP_b_k);
        OWN(acc_1_0);
        acc_2_0 = _mm256_broadcast_ss(e_b + 2 * STEP_b_k);
        OWN(acc_2_0);
        acc_3_0 = _mm256_broadcast_ss(e_b + 3 * STEP_b_k);
        OWN(acc_3_0);
        acc_4_0 = _mm256_broadcast_ss(e_b + 4 * STEP_b_k);
        OWN(acc_4_0);
        acc_5_0 = _mm256_broadcast_ss(e_b + 5 * STEP_b_k);
        OWN(acc_5_0);
        acc_6_0 = _mm256_broadcast_ss(e_b + 6 * STEP_b_k);
        OWN(acc_6_0);
        acc_7_0 = _mm256_broadcast_ss(e_b + 7 * STEP_b_k);
        OWN(acc_7_0);
    } else {
        acc_0_0 = _mm256_maskload_ps(y, TAIL);
        acc_1_0 = _mm256_maskload_ps(y + Y_k, TAIL);
        acc_2_0 = _mm256_maskload_ps(y + 2 * Y_k, TAIL);
        acc_3_0 = _mm256_maskload_ps(y + 3 * Y_k, TAIL);
        acc_4_0 = _mm256_maskload_ps(y + 4 * Y_k, TAIL);
        acc_5_0 = _mm256_maskload_ps(y + 5 * Y_k, TAIL);
        acc_6_0 = _mm256_maskload_ps(y + 6 * Y_k, TAIL);
        acc_7_0 = _mm256_maskload_ps(y + 7 * Y_k, TAIL);
    }
    for (long c = 0; c < 2; ++c) {
        const float *w_c = w + 8 * c;
        const float *x_c = x + c * X_c;
        const __m256 x_0 = _mm256_maskload_ps(x_c, TAIL);
        { const __m256 w_0 = _mm256_broadcast_ss(w_c); acc_0_0 = _mm256_fmadd_ps(w_0, x_0, acc_0_0); }
        { const __m256 w_1 = _mm256_broadcast_ss(w_c + 1); acc_1_0 = _mm256_fmadd_ps(w_1, x_0, acc_1_0); }
        { const __m256 w_2 = _mm256_broadcast_ss(w_c + 2); acc_2_0 = _mm256_fmadd_ps(w_2, x_0, acc_2_0); }
        { const __m256 w_3 = _mm256_broadcast_ss(w_c + 3); acc_3_0 = _mm256_fmadd_ps(w_3, x_0, acc_3_0); }
        { const __m256 w_4 = _mm256_broadcast_ss(w_c + 4); acc_4_0 = _mm256_fmadd_ps(w_4, x_0, acc_4_0); }
        { const __m256 w_5 = _mm256_broadcast_ss(w_c + 5); acc_5_0 = _mm256_fmadd_ps(w_5, x_0, acc_5_0); }
        { const __m256 w_6 = _mm256_broadcast_ss(w_c + 6); acc_6_0 = _mm256_fmadd_ps(w_6, x_0, acc_6_0); }
        { const __m256 w_7 = _mm256_broadcast_ss(w_c + 7); acc_7_0 = _mm256_fmadd_ps(w_7, x_0, acc_7_0); }
    }
    if (last) {
        const __m256 zero = zeros;
        store_lanes(y, epilogue(acc_0_0, _mm256_maskload_ps(e_t, TAIL), _mm256_maskload_ps(e_z, TAIL), _mm256_maskload_ps(e_s, TAIL), zero), 3);
        store_lanes(y + Y_k, epilogue(acc_1_0, _mm256_maskload_ps(e_t, TAIL), _mm256_maskload_ps(e_z + STEP_z_k, TAIL), _mm256_maskload_ps(e_s, TAIL), zero), 3);
        store_lanes(y + 2 * Y_k, epilogue(acc_2_0, _mm256_maskload_ps(e_t, TAIL), _mm256_maskload_ps(e_z + 2 * STEP_z_k, TAIL), _mm256_maskload_ps(e_s, TAIL), zero), 3);
        store_lanes(y + 3 * Y_k, epilogue(acc_3_0, _mm256_maskload_ps(e_t, TAIL), _mm256_maskload_ps(e_z + 3 * STEP_z_k, TAIL), _mm256_maskload_ps(e_s, TAIL), zero), 3);
        store_lanes(y + 4 * Y_k, epilogue(acc_4_0, _mm256_maskload_ps(e_t, TAIL), _mm256_maskload_ps(e_z + 4 * STEP_z_k, TAIL), _mm256_maskload_ps(e_s, TAIL), zero), 3);
        store_lanes(y + 5 * Y_k, epilogue(acc_5_0, _mm256_maskload_ps(e_t, TAIL), _mm256_maskload_ps(e_z + 5 * STEP_z_k, TAIL), _mm256_maskload_ps(e_s, TAIL), zero), 3);
        store_lanes(y + 6 * Y_k, epilogue(acc_6_0, _mm256_maskload_ps(e_t, TAIL), _mm256_maskload_ps(e_z + 6 * STEP_z_k, TAIL), _mm256_maskload_ps(e_s, TAIL), zero), 3);
        store_lanes(y + 7 * Y_k, epilogue(acc_7_0, _mm256_maskload_ps(e_t, TAIL), _mm256_maskload_ps(e_z + 7 * STEP_z_k, TAIL), _mm256_maskload_ps(e_s, TAIL), zero), 3);
    } else {
        store_lanes(y, acc_0_0, 3);
        store_lanes(y + Y_k, acc_1_0, 3);
        store_lanes(y + 2 * Y_k, acc_2_0, 3);
        store_lanes(y + 3 * Y_k, acc_3_0, 3);
        store_lanes(y + 4 * Y_k, acc_4_0, 3);
        store_lanes(y + 5 * Y_k, acc_5_0, 3);
        store_lanes(y + 6 * Y_k, acc_6_0, 3);
        store_lanes(y + 7 * Y_k, acc_7_0, 3);
    }
}

/* 5 rows x 1 vectors, summed over c from 0 to 2; w < 96; first: y holds no sums yet; last: nothing is added after it. */
static void tile2_5kx8w(const float *x, const float *w, float *y, const float *e_b, const float *e_t, const float *e_z, const float *e_s, int first, int last)
{
    __m256 acc_0_0;
    __m256 acc_1_0;
    __m256 acc_2_0;
    __m256 acc_3_0;
    __m256 acc_4_0;
    if (first) {
        acc_0_0 = _mm256_broadcast_ss(e_b);
        OWN(acc_0_0);
        acc_1_0 = _mm256_broadcast_ss(e_b + STEP_b_k);
        OWN(acc_1_0);
        acc_2_0 = _mm256_broadcast_ss(e_b + 2 * STEP_b_k);
        OWN(acc_2_0);
        acc_3_0 = _mm256_broadcast_ss(e_b + 3 * STEP_b_k);
        OWN(acc_3_0);
        acc_4_0 = _mm256_broadcast_ss(e_b + 4 * STEP_b_k);
        OWN(acc_4_0);
    } else {
        acc_0_0 = _mm256_loadu_ps(y);
        acc_1_0 = _mm256_loadu_ps(y + Y_k);
        acc_2_0 = _mm256_loadu_ps(y + 2 * Y_k);
        acc_3_0 = _mm256_loadu_ps(y + 3 * Y_k);
        acc_4_0 = _mm256_loadu_ps(y + 4 * Y_k);
    }
    for (long c = 0; c < 2; ++c) {
        const float *w_c = w + 5 * c;
        const float *x_c = x + c * X_c;
        const __m256 x_0 = _mm256_loadu_ps(x_c);
        { const __m256 w_0 = _mm256_broadcast_ss(w_c); acc_0_0 = _mm256_fmadd_ps(w_0, x_0, acc_0_0); }
        { const __m256 w_1 = _mm256_broadcast_ss(w_c + 1); acc_1_0 = _mm256_fmadd_ps(w_1, x_0, acc_1_0); }
        { const __m256 w_2 = _mm256_broadcast_ss(w_c + 2); acc_2_0 = _mm256_fmadd_ps(w_2, x_0, acc_2_0); }
        { const __m256 w_3 = _mm256_broadcast_ss(w_c + 3); acc_3_0 = _mm256_fmadd_ps(w_3, x_0, acc_3_0); }
        { const __m256 w_4 = _mm256_broadcast_ss(w_c + 4); acc_4_0 = _mm256_fmadd_ps(w_4, x_0, acc_4_0); }
    }
    if (last) {
        const __m256 zero = zeros;
        _mm256_storeu_ps(y, epilogue(acc_0_0, _mm256_loadu_ps(e_t), _mm256_loadu_ps(e_z), _mm256_loadu_ps(e_s), zero));
        _mm256_storeu_ps(y + Y_k, epilogue(acc_1_0, _mm256_loadu_ps(e_t), _mm256_loadu_ps(e_z + STEP_z_k), _mm256_loadu_ps(e_s), zero));
        _mm256_storeu_ps(y + 2 * Y_k, epilogue(acc_2_0, _mm256_loadu_ps(e_t), _mm256_loadu_ps(e_z + 2 * STEP_z_k), _mm256_loadu_ps(e_s), zero));
        _mm256_storeu_ps(y + 3 * Y_k, epilogue(acc_3_0, _mm256_loadu_ps(e_t), _mm256_loadu_ps(e_z + 3 * STEP_z_k), _mm256_loadu_ps(e_s), zero));
        _mm256_storeu_ps(y + 4 * Y_k, epilogue(acc_4_0, _mm256_loadu_ps(e_t), _mm256_loadu_ps(e_z + 4 * STEP_z_k), _mm256_loadu_ps(e_s), zero));
    } else {
        _mm256_storeu_ps(y, acc_0_0);
        _mm256_storeu_ps(y + Y_k, acc_1_0);
        _mm256_storeu_ps(y + 2 * Y_k, acc_2_0);
        _mm256_storeu_ps(y + 3 * Y_k, acc_3_0);
        _mm256_storeu_ps(y + 4 * Y_k, acc_4_0);
    }
}

/* 5 rows x 1 vectors, summed over c from 0 to 2; 96 <= w; first: y holds no sums yet; last: nothing is added after it. */
static void tile3_5kx8w_tail(const float *x, const float *w, float *y, const float *e_b, const float *e_t, const float *e_z, const float *e_s, int first, int last)
{
    __m256 acc_0_0;
    __m256 acc_1_0;
    __m256 acc_2_0;
    __m256 acc_3_0;
    __m256 acc_4_0;
    if (first) {
        acc_0_0 = _mm256_broadcast_ss(e_b);
        OWN(acc_0_0);
        acc_1_0 = _mm256_broadcast_ss(e_b + STEP_b_k);
        OWN(acc_1_0);
        acc_2_0 = _mm256_broadcast_ss(e_b + 2 * STEP_b_k);
        OWN(acc_2_0);
        acc_3_0 = _mm256_broadcast_ss(e_b + 3 * STEP_b_k);
        OWN(acc_3_0);
        acc_4_0 = _mm256_broadcast_ss(e_b + 4 * STEP_b_k);
        OWN(acc_4_0);
    } else {
        acc_0_0 = _mm256_maskload_ps(y, TAIL);
        acc_1_0 = _mm256_maskload_ps(y + Y_k, TAIL);
        acc_2_0 = _mm256_maskload_ps(y + 2 * Y_k, TAIL);
        acc_3_0 = _mm256_maskload_ps(y + 3 * Y_k, TAIL);
        acc_4_0 = _mm256_maskload_ps(y + 4 * Y_k, TAIL);
    }
    for (long c = 0; c < 2; ++c) {
        const float *w_c = w + 5 * c;
        const float *x_c = x + c * X_c;
        const __m256 x_0 = _mm256_maskload_ps(x_c, TAIL);
        { const __m256 w_0 = _mm256_broadcast_ss(w_c); acc_0_0 = _mm256_fmadd_ps(w_0, x_0, acc_0_0); }
        { const __m256 w_1 = _mm256_broadcast_ss(w_c + 1); acc_1_0 = _mm256_fmadd_ps(w_1, x_0, acc_1_0); }
        { const __m256 w_2 = _mm256_broadcast_ss(w_c + 2); acc_2_0 = _mm256_fmadd_ps(w_2, x_0, acc_2_0); }
        { const __m256 w_3 = _mm256_broadcast_ss(w_c + 3); acc_3_0 = _mm256_fmadd_ps(w_3, x_0, acc_3_0); }
        { const __m256 w_4 = _mm256_broadcast_ss(w_c + 4); acc_4_0 = _mm256_fmadd_ps(w_4, x_0, acc_4_0); }
    }
    if (last) {
        const __m256 zero = zeros;
        store_lanes(y, epilogue(acc_0_0, _mm256_maskload_ps(e_t, TAIL), _mm256_maskload_ps(e_z, TAIL), _mm256_maskload_ps(e_s, TAIL), zero), 3);
        store_lanes(y + Y_k, epilogue(acc_1_0, _mm256_maskload_ps(e_t, TAIL), _mm256_maskload_ps(e_z + STEP_z_k, TAIL), _mm256_maskload_ps(e_s, TAIL), zero), 3);
        store_lanes(y + 2 * Y_k, epilogue(acc_2_0, _mm256_maskload_ps(e_t, TAIL), _mm256_maskload_ps(e_z + 2 * STEP_z_k, TAIL), _mm256_maskload_ps(e_s, TAIL), zero), 3);
        store_lanes(y + 3 * Y_k, epilogue(acc_3_0, _mm256_maskload_ps(e_t, TAIL), _mm256_maskload_ps(e_z + 3 * STEP_z_k, TAIL), _mm256_maskload_ps(e_s, TAIL), zero), 3);
        store_lanes(y + 4 * Y_k, epilogue(acc_4_0, _mm256_maskload_ps(e_t, TAIL), _mm256_maskload_ps(e_z + 4 * STEP_z_k, TAIL), _mm256_maskload_ps(e_s, TAIL), zero), 3);
    } else {
        store_lanes(y, acc_0_0, 3);
        store_lanes(y + Y_k, acc_1_0, 3);
        store_lanes(y + 2 * Y_k, acc_2_0, 3);
        store_lanes(y + 3 * Y_k, acc_3_0, 3);
        store_lanes(y + 4 * Y_k, acc_4_0, 3);
    }
}

/* Whether this CPU runs the kernel. This function and the packing run on any CPU. */
__attribute__((target("no-avx"))) int pointwise2d_f32_n2_c12_h9_w11_k18_r1_s1_layoutnchw_relu_y_b_k_t_h_w_z_n_k_h_w_s_n_h_w_503110e5__avx2_supported(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

/* The loops over tiles. Their variables are positions. A tile gets pointers to its own first x, panel and y. */
/* Y is not restrict, for two reasons. An array of its shape may be Y itself. And the compiler then reads the other
 * arrays where they are used: read earlier, they would take registers from the accumulators. */
void pointwise2d_f32_n2_c12_h9_w11_k18_r1_s1_layoutnchw_relu_y_b_k_t_h_w_z_n_k_h_w_s_n_h_w_503110e5__avx2_run(const float *restrict X, const float *restrict W, float *Y, const float *E_b, const float *E_t, const float *E_z, const float *E_s)
{
    for (long c_2 = 0; c_2 < 12; c_2 += 6) {
        for (long c_1 = c_2; c_1 < c_2 + 6; c_1 += 2) {
            for (long n = 0; n < 2; ++n) {
                for (long w = 0; w < 104; w += 8) {
                    const int first = c_1 == 0;
                    const int last = c_1 == 10;
                    if (w < 96) {
                        tile0_8kx8w(X + n * X_n + c_1 * X_c + w * X_w, W + 8 * c_1, Y + n * Y_n + w * Y_w, E_b, E_t + w * STEP_t_w, E_z + n * STEP_z_n + w * STEP_z_w, E_s + n * STEP_s_n + w * STEP_s_w, first, last);
                    } else {
                        tile1_8kx8w_tail(X + n * X_n + c_1 * X_c + w * X_w, W + 8 * c_1, Y + n * Y_n + w * Y_w, E_b, E_t + w * STEP_t_w, E_z + n * STEP_z_n + w * STEP_z_w, E_s + n * STEP_s_n + w * STEP_s_w, first, last);
                    }
                }
            }
        }
        for (long k = 8; k < 18; k += 5) {
            for (long c_1 = c_2; c_1 < c_2 + 6; c_1 += 2) {
                for (long n = 0; n < 2; ++n) {
                    for (long w = 0; w < 104; w += 8) {
                        const int first = c_1 == 0;
                        const int last = c_1 == 10;
                        if (w < 96) {
                            tile2_5kx8w(X + n * X_n + c_1 * X_c + w * X_w, W + 12 * k + 5 * c_1, Y + n * Y_n + k * Y_k + w * Y_w, E_b + k * STEP_b_k, E_t + w * STEP_t_w, E_z + n * STEP_z_n + k * STEP_z_k + w * STEP_z_w, E_s + n * STEP_s_n + w * STEP_s_w, first, last);
                        } else {
                            tile3_5kx8w_tail(X + n * X_n + c_1 * X_c + w * X_w, W + 12 * k + 5 * c_1, Y + n * Y_n + k * Y_k + w * Y_w, E_b + k * STEP_b_k, E_t + w * STEP_t_w, E_z + n * STEP_z_n + k * STEP_z_k + w * STEP_z_w, E_s + n * STEP_s_n + w * STEP_s_w, first, last);
                        }
                    }
                }
            }
        }
    }
}

/* Packs the weights. They lie in memory as w[k, c] of 18 x 12. */
__attribute__((target("no-avx"))) void pointwise2d_f32_n2_c12_h9_w11_k18_r1_s1_layoutnchw_relu_y_b_k_t_h_w_z_n_k_h_w_s_n_h_w_503110e5__avx2_pack_run(const float *restrict W, float *restrict packed)
{
    const long W_k = 12, W_c = 1;
    for (long c_2 = 0; c_2 < 12; c_2 += 6) {
        for (long c_1 = c_2; c_1 < c_2 + 6; c_1 += 2) {
            for (long c = 0; c < 2; ++c) {
                for (long k_u = 0; k_u < 8; ++k_u) {
                    packed[k_u + 8 * c_1 + 8 * c] = W[k_u * W_k + (c_1 + c) * W_c];
                }
            }
        }
    }
    for (long k = 8; k < 18; k += 5) {
        for (long c_2 = 0; c_2 < 12; c_2 += 6) {
            for (long c_1 = c_2; c_1 < c_2 + 6; c_1 += 2) {
                for (long c = 0; c < 2; ++c) {
                    for (long k_u = 0; k_u < 5; ++k_u) {
                        packed[12 * k + k_u + 5 * c_1 + 5 * c] = W[(k + k_u) * W_k + (c_1 + c) * W_c];
                    }
                }
            }
        }
    }
}

/*
 * A whole call: it checks the CPU.
 * A caller that has done so calls pointwise2d_f32_n2_c12_h9_w11_k18_r1_s1_layoutnchw_relu_y_b_k_t_h_w_z_n_k_h_w_s_n_h_w_503110e5__avx2_run.
 */
#include <stdio.h>
#include <stdlib.h>

void pointwise2d_f32_n2_c12_h9_w11_k18_r1_s1_layoutnchw_relu_y_b_k_t_h_w_z_n_k_h_w_s_n_h_w_503110e5__avx2(const float *restrict X, const float *restrict W, float *Y, const float *E_b, const float *E_t, const float *E_z, const float *E_s)
{
    if (!pointwise2d_f32_n2_c12_h9_w11_k18_r1_s1_layoutnchw_relu_y_b_k_t_h_w_z_n_k_h_w_s_n_h_w_503110e5__avx2_supported()) {
        fputs("pointwise2d_f32_n2_c12_h9_w11_k18_r1_s1_layoutnchw_relu_y_b_k_t_h_w_z_n_k_h_w_s_n_h_w_503110e5__avx2: this CPU lacks avx2 or fma\n", stderr);
        abort();
    }
    pointwise2d_f32_n2_c12_h9_w11_k18_r1_s1_layoutnchw_relu_y_b_k_t_h_w_z_n_k_h_w_s_n_h_w_503110e5__avx2_run(X, W, Y, E_b, E_t, E_z, E_s);
}

/* Packs the weights, once for many calls. */
__attribute__((target("no-avx"))) void pointwise2d_f32_n2_c12_h9_w11_k18_r1_s1_layoutnchw_relu_y_b_k_t_h_w_z_n_k_h_w_s_n_h_w_503110e5__avx2_pack(const float *restrict W, float *restrict packed)
{
    pointwise2d_f32_n2_c12_h9_w11_k18_r1_s1_layoutnchw_relu_y_b_k_t_h_w_z_n_k_h_w_s_n_h_w_503110e5__avx2_pack_run(W, packed);
}
