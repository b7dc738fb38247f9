/*
 * conv2d c=5,h=7,w=7,k=37,r=3,s=3,pad=1,epilogue=gelu(y*scale[k]+b[k])
 *
 * Written by Tilewright VERSION from the scheme
 *
 *     T(c,5) R(k) T(h,7) S(y) T(r,3) T(s,3) U(w,7) V(k,8)
 *
 *     for c in 5 steps of 1:
 *       for k in 5 steps of 8:
 *         for h in 7 steps of 1:
 *           with the tile of y in registers:
 *             for r in 3 steps of 1:
 *               for s in 3 steps of 1:
 *                 register tile 8k × 7w
 *
 * Microkernels:
 *     f32_conv2d_ukernel_7wx8k_s1__avx2: 7 FMAs, 8 loads and no stores per step, 9 of 16 registers (7 accumulators)
 *
 * Operands, row-major f32:
 *     X: x[n, h + r - 1, w + s - 1, c] of 1 x 7 x 7 x 5
 *     W: w[k, c, r, s] of 37 x 5 x 3 x 3
 *     Y: y[n, h, w, k] of 1 x 7 x 7 x 37
 *     E_scale: scale[k] of 37
 *     E_b: b[k] of 37
 *     W is packed: the scheme's panels, one after the other, with reduction points in the order of its loops.
 */
#include <immintrin.h>

/* Elements between neighbours along each axis: X_h is along the axis h of X. W has none: tiles read it packed, in the
 * order of the loops. */
static const long X_h = 35;
static const long X_w = 5;
static const long X_c = 1;
static const long Y_h = 259;
static const long Y_w = 37;
static const long Y_k = 1;
static const long STEP_scale_k = 1;
static const long STEP_b_k = 1;

/* The 5 lanes used of the last vector. A lane counts where its sign bit is set. */
static const int tail_lanes[8] = {-1, -1, -1, -1, -1, 0, 0, 0};
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

/* The epilogue, applied to each vector as it is stored:
 *
 *     gelu(y*scale[k]+b[k])
 *
 * A NaN gives a NaN. Errors are in units in the last place (ulp) of the result. An exponential below about e^-87 counts
 * as 0, by which a result may be off by 2^-119 besides. */
typedef int bits __attribute__((vector_size(32)));
static inline __m256 constant(float value) { return _mm256_set1_ps(value); }

/* 2 * 2^r with |r| <= 1/2: a polynomial, fitted minimax to a relative error of 2^-28. */
static inline __m256 twice_exp2_of(__m256 r)
{
    __m256 p = constant(3.06529459e-4f);
    p = p * r + constant(2.67816172e-3f);
    p = p * r + constant(1.92370117e-2f);
    p = p * r + constant(1.11007199e-1f);
    p = p * r + constant(4.80452955e-1f);
    p = p * r + constant(1.38629436f);
    return p * r + constant(2.0f);
}

/* 2^(n - 1), and 0 for n = -126. The last bits of shifted = 1.5 * 2^23 + 126 + n are its exponent. It is half of 2^n,
 * since n may be 128 and 2^128 is no f32. */
static inline __m256 half_power_of(__m256 shifted) { return (__m256)((bits)shifted << 23); }

/* e^-((v + low) / 2) for v >= 0, where low is what rounding took from v: exp_of with -1 / (2 ln 2). */
static inline __m256 exp_of_half(__m256 v, __m256 low)
{
    const __m256 near = _mm256_min_ps(constant(174.0f), v), log2e = constant(-0.721347511f);
    const __m256 shift = constant(12583038.0f), shifted = near * log2e + shift, whole = shifted - shift;
    const __m256 r = ((near * log2e - whole) + near * constant(-9.62981517e-9f)) + low * log2e;
    return twice_exp2_of(r) * half_power_of(shifted);
}
static inline __m256 abs_of(__m256 v) { return (__m256)((bits)v & ~(bits)constant(-0.0f)); }

/* max(v, 0) - |v| P(-|v|), where P is the probability of a normal deviate below its argument. P(-a) is e^(-a^2/2)
 * times a quotient of polynomials, fitted minimax on 0 <= a <= 15 to a relative error of 2^-27. None of their
 * coefficients is negative, so nothing cancels. For large a the rounding of a^2 would show in e^(-a^2/2). So an FMA
 * finds what was rounded off. |v| counts as 15 where v < -15, since an infinite v times 0 is a NaN. Error: below 8
 * ulp. */
static inline __m256 gelu_of(__m256 v)
{
    const __m256 below = abs_of(_mm256_min_ps(constant(15.0f), v)), a = _mm256_min_ps(constant(15.0f), below);
    const __m256 square = a * a, rest = _mm256_fmadd_ps(a, a, -square);
    __m256 p = constant(0.398946553f);
    p = p * a + constant(3.92701101f);
    p = p * a + constant(17.672163f);
    p = p * a + constant(42.1981812f);
    p = p * a + constant(48.0312157f);
    __m256 q = a + constant(9.84414387f);
    q = q * a + constant(45.2837029f);
    q = q * a + constant(115.806458f);
    q = q * a + constant(161.043137f);
    q = q * a + constant(96.0624313f);
    const __m256 tail = exp_of_half(square, rest) * p / q;
    return _mm256_max_ps(constant(0.0f), v) - below * tail;
}

static inline __m256 epilogue(__m256 y, __m256 e_scale, __m256 e_b)
{
    return gelu_of(y * e_scale + e_b);
}

/* 7 rows x 1 vectors, summed over r from r_begin to r_end, s from 0 to 1, s from 1 to 2, s from 2 to 3; k < 32;
 * first: y holds no sums yet; last: nothing is added after it. */
static void tile0_7wx8k(const float *x, const float *w, float *y, const float *e_scale, const float *e_b, long r_begin, long r_end, int first, int last)
{
    __m256 acc_0_0;
    __m256 acc_1_0;
    __m256 acc_2_0;
    __m256 acc_3_0;
    __m256 acc_4_0;
    __m256 acc_5_0;
    __m256 acc_6_0;
    if (first) {
        acc_0_0 = _mm256_setzero_ps();
        acc_1_0 = _mm256_setzero_ps();
        acc_2_0 = _mm256_setzero_ps();
        acc_3_0 = _mm256_setzero_ps();
        acc_4_0 = _mm256_setzero_ps();
        acc_5_0 = _mm256_setzero_ps();
        acc_6_0 = _mm256_setzero_ps();
    } else {
        acc_0_0 = _mm256_loadu_ps(y);
        acc_1_0 = _mm256_loadu_ps(y + Y_w);
        acc_2_0 = _mm256_loadu_ps(y + 2 * Y_w);
        acc_3_0 = _mm256_loadu_ps(y + 3 * Y_w);
        acc_4_0 = _mm256_loadu_ps(y + 4 * Y_w);
        acc_5_0 = _mm256_loadu_ps(y + 5 * Y_w);
        acc_6_0 = _mm256_loadu_ps(y + 6 * Y_w);
    }
    for (long r = r_begin; r < r_end; ++r) {
        const float *x_r = x + r * X_h;
        const float *w_r = w + 24 * r;
        for (long s = 0; s < 1; ++s) {
            const float *x_s = x_r + s * X_w;
            const float *w_s = w_r + 8 * s;
            const __m256 w_0 = _mm256_loadu_ps(w_s);
            { const __m256 x_0 = _mm256_broadcast_ss(x_s + X_w); acc_1_0 = _mm256_fmadd_ps(x_0, w_0, acc_1_0); }
            { const __m256 x_1 = _mm256_broadcast_ss(x_s + 2 * X_w); acc_2_0 = _mm256_fmadd_ps(x_1, w_0, acc_2_0); }
            { const __m256 x_2 = _mm256_broadcast_ss(x_s + 3 * X_w); acc_3_0 = _mm256_fmadd_ps(x_2, w_0, acc_3_0); }
            { const __m256 x_3 = _mm256_broadcast_ss(x_s + 4 * X_w); acc_4_0 = _mm256_fmadd_ps(x_3, w_0, acc_4_0); }
            { const __m256 x_4 = _mm256_broadcast_ss(x_s + 5 * X_w); acc_5_0 = _mm256_fmadd_ps(x_4, w_0, acc_5_0); }
            { const __m256 x_5 = _mm256_broadcast_ss(x_s + 6 * X_w); acc_6_0 = _mm256_fmadd_ps(x_5, w_0, acc_6_0); }
        }
        for (long s = 1; s < 2; ++s) {
            const float *x_s = x_r + s * X_w;
            const float *w_s = w_r + 8 * s;
            const __m256 w_0 = _mm256_loadu_ps(w_s);
            { const __m256 x_0 = _mm256_broadcast_ss(x_s); acc_0_0 = _mm256_fmadd_ps(x_0, w_0, acc_0_0); }
            { const __m256 x_1 = _mm256_broadcast_ss(x_s + X_w); acc_1_0 = _mm256_fmadd_ps(x_1, w_0, acc_1_0); }
            { const __m256 x_2 = _mm256_broadcast_ss(x_s + 2 * X_w); acc_2_0 = _mm256_fmadd_ps(x_2, w_0, acc_2_0); }
            { const __m256 x_3 = _mm256_broadcast_ss(x_s + 3 * X_w); acc_3_0 = _mm256_fmadd_ps(x_3, w_0, acc_3_0); }
            { const __m256 x_4 = _mm256_broadcast_ss(x_s + 4 * X_w); acc_4_0 = _mm256_fmadd_ps(x_4, w_0, acc_4_0); }
            { const __m256 x_5 = _mm256_broadcast_ss(x_s + 5 * X_w); acc_5_0 = _mm256_fmadd_ps(x_5, w_0, acc_5_0); }
            { const __m256 x_6 = _mm256_broadcast_ss(x_s + 6 * X_w); acc_6_0 = _mm256_fmadd_ps(x_6, w_0, acc_6_0); }
        }
        for (long s = 2; s < 3; ++s) {
            const float *x_s = x_r + s * X_w;
            const float *w_s = w_r + 8 * s;
            const __m256 w_0 = _mm256_loadu_ps(w_s);
            { const __m256 x_0 = _mm256_broadcast_ss(x_s); acc_0_0 = _mm256_fmadd_ps(x_0, w_0, acc_0_0); }
            { const __m256 x_1 = _mm256_broadcast_ss(x_s + X_w); acc_1_0 = _mm256_fmadd_ps(x_1, w_0, acc_1_0); }
            { const __m256 x_2 = _mm256_broadcast_ss(x_s + 2 * X_w); acc_2_0 = _mm256_fmadd_ps(x_2, w_0, acc_2_0); }
            { const __m256 x_3 = _mm256_broadcast_ss(x_s + 3 * X_w); acc_3_0 = _mm256_fmadd_ps(x_3, w_0, acc_3_0); }
            { const __m256 x_4 = _mm256_broadcast_ss(x_s + 4 * X_w); acc_4_0 = _mm256_fmadd_ps(x_4, w_0, acc_4_0); }
            { const __m256 x_5 = _mm256_broadcast_ss(x_s + 5 * X_w); acc_5_0 = _mm256_fmadd_ps(x_5, w_0, acc_5_0); }
        }
    }
    if (last) {
        _mm256_storeu_ps(y, epilogue(acc_0_0, _mm256_loadu_ps(e_scale), _mm256_loadu_ps(e_b)));
        _mm256_storeu_ps(y + Y_w, epilogue(acc_1_0, _mm256_loadu_ps(e_scale), _mm256_loadu_ps(e_b)));
        _mm256_storeu_ps(y + 2 * Y_w, epilogue(acc_2_0, _mm256_loadu_ps(e_scale), _mm256_loadu_ps(e_b)));
        _mm256_storeu_ps(y + 3 * Y_w, epilogue(acc_3_0, _mm256_loadu_ps(e_scale), _mm256_loadu_ps(e_b)));
        _mm256_storeu_ps(y + 4 * Y_w, epilogue(acc_4_0, _mm256_loadu_ps(e_scale), _mm256_loadu_ps(e_b)));
        _mm256_storeu_ps(y + 5 * Y_w, epilogue(acc_5_0, _mm256_loadu_ps(e_scale), _mm256_loadu_ps(e_b)));
        _mm256_storeu_ps(y + 6 * Y_w, epilogue(acc_6_0, _mm256_loadu_ps(e_scale), _mm256_loadu_ps(e_b)));
    } else {
        _mm256_storeu_ps(y, acc_0_0);
        _mm256_storeu_ps(y + Y_w, acc_1_0);
        _mm256_storeu_ps(y + 2 * Y_w, acc_2_0);
        _mm256_storeu_ps(y + 3 * Y_w, acc_3_0);
        _mm256_storeu_ps(y + 4 * Y_w, acc_4_0);
        _mm256_storeu_ps(y + 5 * Y_w, acc_5_0);
        _mm256_storeu_ps(y + 6 * Y_w, acc_6_0);
    }
}

/* 7 rows x 1 vectors, summed over r from r_begin to r_end, s from 0 to 1, s from 1 to 2, s from 2 to 3; 32 <= k;
 * first: y holds no sums yet; last: nothing is added after it. */
static void tile1_7wx8k_tail(const float *x, const float *w, float *y, const float *e_scale, const float *e_b, long r_begin, long r_end, int first, int last)
{
    __m256 acc_0_0;
    __m256 acc_1_0;
    __m256 acc_2_0;
    __m256 acc_3_0;
    __m256 acc_4_0;
    __m256 acc_5_0;
    __m256 acc_6_0;
    if (first) {
        acc_0_0 = _mm256_setzero_ps();
        acc_1_0 = _mm256_setzero_ps();
        acc_2_0 = _mm256_setzero_ps();
        acc_3_0 = _mm256_setzero_ps();
        acc_4_0 = _mm256_setzero_ps();
        acc_5_0 = _mm256_setzero_ps();
        acc_6_0 = _mm256_setzero_ps();
    } else {
        acc_0_0 = _mm256_maskload_ps(y, TAIL);
        acc_1_0 = _mm256_maskload_ps(y + Y_w, TAIL);
        acc_2_0 = _mm256_maskload_ps(y + 2 * Y_w, TAIL);
        acc_3_0 = _mm256_maskload_ps(y + 3 * Y_w, TAIL);
        acc_4_0 = _mm256_maskload_ps(y + 4 * Y_w, TAIL);
        acc_5_0 = _mm256_maskload_ps(y + 5 * Y_w, TAIL);
        acc_6_0 = _mm256_maskload_ps(y + 6 * Y_w, TAIL);
    }
    for (long r = r_begin; r < r_end; ++r) {
        const float *x_r = x + r * X_h;
        const float *w_r = w + 24 * r;
        for (long s = 0; s < 1; ++s) {
            const float *x_s = x_r + s * X_w;
            const float *w_s = w_r + 8 * s;
            const __m256 w_0 = _mm256_loadu_ps(w_s);
            { const __m256 x_0 = _mm256_broadcast_ss(x_s + X_w); acc_1_0 = _mm256_fmadd_ps(x_0, w_0, acc_1_0); }
            { const __m256 x_1 = _mm256_broadcast_ss(x_s + 2 * X_w); acc_2_0 = _mm256_fmadd_ps(x_1, w_0, acc_2_0); }
            { const __m256 x_2 = _mm256_broadcast_ss(x_s + 3 * X_w); acc_3_0 = _mm256_fmadd_ps(x_2, w_0, acc_3_0); }
            { const __m256 x_3 = _mm256_broadcast_ss(x_s + 4 * X_w); acc_4_0 = _mm256_fmadd_ps(x_3, w_0, acc_4_0); }
            { const __m256 x_4 = _mm256_broadcast_ss(x_s + 5 * X_w); acc_5_0 = _mm256_fmadd_ps(x_4, w_0, acc_5_0); }
            { const __m256 x_5 = _mm256_broadcast_ss(x_s + 6 * X_w); acc_6_0 = _mm256_fmadd_ps(x_5, w_0, acc_6_0); }
        }
        for (long s = 1; s < 2; ++s) {
            const float *x_s = x_r + s * X_w;
            const float *w_s = w_r + 8 * s;
            const __m256 w_0 = _mm256_loadu_ps(w_s);
            { const __m256 x_0 = _mm256_broadcast_ss(x_s); acc_0_0 = _mm256_fmadd_ps(x_0, w_0, acc_0_0); }
            { const __m256 x_1 = _mm256_broadcast_ss(x_s + X_w); acc_1_0 = _mm256_fmadd_ps(x_1, w_0, acc_1_0); }
            { const __m256 x_2 = _mm256_broadcast_ss(x_s + 2 * X_w); acc_2_0 = _mm256_fmadd_ps(x_2, w_0, acc_2_0); }
            { const __m256 x_3 = _mm256_broadcast_ss(x_s + 3 * X_w); acc_3_0 = _mm256_fmadd_ps(x_3, w_0, acc_3_0); }
            { const __m256 x_4 = _mm256_broadcast_ss(x_s + 4 * X_w); acc_4_0 = _mm256_fmadd_ps(x_4, w_0, acc_4_0); }
            { const __m256 x_5 = _mm256_broadcast_ss(x_s + 5 * X_w); acc_5_0 = _mm256_fmadd_ps(x_5, w_0, acc_5_0); }
            { const __m256 x_6 = _mm256_broadcast_ss(x_s + 6 * X_w); acc_6_0 = _mm256_fmadd_ps(x_6, w_0, acc_6_0); }
        }
        for (long s = 2; s < 3; ++s) {
            const float *x_s = x_r + s * X_w;
            const float *w_s = w_r + 8 * s;
            const __m256 w_0 = _mm256_loadu_ps(w_s);
            { const __m256 x_0 = _mm256_broadcast_ss(x_s); acc_0_0 = _mm256_fmadd_ps(x_0, w_0, acc_0_0); }
            { const __m256 x_1 = _mm256_broadcast_ss(x_s + X_w); acc_1_0 = _mm256_fmadd_ps(x_1, w_0, acc_1_0); }
            { const __m256 x_2 = _mm256_broadcast_ss(x_s + 2 * X_w); acc_2_0 = _mm256_fmadd_ps(x_2, w_0, acc_2_0); }
            { const __m256 x_3 = _mm256_broadcast_ss(x_s + 3 * X_w); acc_3_0 = _mm256_fmadd_ps(x_3, w_0, acc_3_0); }
            { const __m256 x_4 = _mm256_broadcast_ss(x_s + 4 * X_w); acc_4_0 = _mm256_fmadd_ps(x_4, w_0, acc_4_0); }
            { const __m256 x_5 = _mm256_broadcast_ss(x_s + 5 * X_w); acc_5_0 = _mm256_fmadd_ps(x_5, w_0, acc_5_0); }
        }
    }
    if (last) {
        store_lanes(y, epilogue(acc_0_0, _mm256_maskload_ps(e_scale, TAIL), _mm256_maskload_ps(e_b, TAIL)), 5);
        store_lanes(y + Y_w, epilogue(acc_1_0, _mm256_maskload_ps(e_scale, TAIL), _mm256_maskload_ps(e_b, TAIL)), 5);
        store_lanes(y + 2 * Y_w, epilogue(acc_2_0, _mm256_maskload_ps(e_scale, TAIL), _mm256_maskload_ps(e_b, TAIL)), 5);
        store_lanes(y + 3 * Y_w, epilogue(acc_3_0, _mm256_maskload_ps(e_scale, TAIL), _mm256_maskload_ps(e_b, TAIL)), 5);
        store_lanes(y + 4 * Y_w, epilogue(acc_4_0, _mm256_maskload_ps(e_scale, TAIL), _mm256_maskload_ps(e_b, TAIL)), 5);
        store_lanes(y + 5 * Y_w, epilogue(acc_5_0, _mm256_maskload_ps(e_scale, TAIL), _mm256_maskload_ps(e_b, TAIL)), 5);
        store_lanes(y + 6 * Y_w, epilogue(acc_6_0, _mm256_maskload_ps(e_scale, TAIL), _mm256_maskload_ps(e_b, TAIL)), 5);
    } else {
        store_lanes(y, acc_0_0, 5);
        store_lanes(y + Y_w, acc_1_0, 5);
        store_lanes(y + 2 * Y_w, acc_2_0, 5);
        store_lanes(y + 3 * Y_w, acc_3_0, 5);
        store_lanes(y + 4 * Y_w, acc_4_0, 5);
        store_lanes(y + 5 * Y_w, acc_5_0, 5);
        store_lanes(y + 6 * Y_w, acc_6_0, 5);
    }
}

/* Whether this CPU runs the kernel. This function and the packing run on any CPU. */
__attribute__((target("no-avx"))) int conv2d_f32_c5_h7_w7_k37_r3_s3_pad1_gelu_y_scale_k_b_k_823e9e16__avx2_supported(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

/* The loops over tiles. Their variables are positions. A tile gets pointers to its own first x, panel and y. */
/* Y is not restrict, for two reasons. An array of its shape may be Y itself. And the compiler then reads the other
 * arrays where they are used: read earlier, they would take registers from the accumulators. */
void conv2d_f32_c5_h7_w7_k37_r3_s3_pad1_gelu_y_scale_k_b_k_823e9e16__avx2_run(const float *restrict X, const float *restrict W, float *Y, const float *E_scale, const float *E_b)
{
    for (long c = 0; c < 5; ++c) {
        for (long k = 0; k < 40; k += 8) {
            for (long h = 0; h < 7; ++h) {
                const int first = c == 0;
                const int last = c == 4;
                const long r_begin = (0 > -h + 1 ? 0 : -h + 1);
                const long r_end = (3 < -h + 8 ? 3 : -h + 8);
                if (k < 32) {
                    tile0_7wx8k(X + (h - 1) * X_h + -1 * X_w + c * X_c, W + 45 * k + 72 * c, Y + h * Y_h + k * Y_k, E_scale + k * STEP_scale_k, E_b + k * STEP_b_k, r_begin, r_end, first, last);
                } else {
                    tile1_7wx8k_tail(X + (h - 1) * X_h + -1 * X_w + c * X_c, W + 45 * k + 72 * c, Y + h * Y_h + k * Y_k, E_scale + k * STEP_scale_k, E_b + k * STEP_b_k, r_begin, r_end, first, last);
                }
            }
        }
    }
}

/* Packs the weights. They lie in memory as w[k, c, r, s] of 37 x 5 x 3 x 3. */
__attribute__((target("no-avx"))) void conv2d_f32_c5_h7_w7_k37_r3_s3_pad1_gelu_y_scale_k_b_k_823e9e16__avx2_pack_run(const float *restrict W, float *restrict packed)
{
    const long W_k = 45, W_c = 9, W_r = 3, W_s = 1;
    for (long k = 0; k < 40; k += 8) {
        for (long c = 0; c < 5; ++c) {
            for (long r = 0; r < 3; ++r) {
                for (long s = 0; s < 3; ++s) {
                    for (long lane = 0; lane < 8; ++lane) {
                        if (k + lane < 37) {
                            packed[45 * k + lane + 72 * c + 24 * r + 8 * s] = W[(k + lane) * W_k + c * W_c + r * W_r + s * W_s];
                        } else {
                            packed[45 * k + lane + 72 * c + 24 * r + 8 * s] = 0;
                        }
                    }
                }
            }
        }
    }
}

/*
 * A whole call: it checks the CPU.
 * A caller that has done so calls conv2d_f32_c5_h7_w7_k37_r3_s3_pad1_gelu_y_scale_k_b_k_823e9e16__avx2_run.
 */
#include <stdio.h>
#include <stdlib.h>

void conv2d_f32_c5_h7_w7_k37_r3_s3_pad1_gelu_y_scale_k_b_k_823e9e16__avx2(const float *restrict X, const float *restrict W, float *Y, const float *E_scale, const float *E_b)
{
    if (!conv2d_f32_c5_h7_w7_k37_r3_s3_pad1_gelu_y_scale_k_b_k_823e9e16__avx2_supported()) {
        fputs("conv2d_f32_c5_h7_w7_k37_r3_s3_pad1_gelu_y_scale_k_b_k_823e9e16__avx2: this CPU lacks avx2 or fma\n", stderr);
        abort();
    }
    conv2d_f32_c5_h7_w7_k37_r3_s3_pad1_gelu_y_scale_k_b_k_823e9e16__avx2_run(X, W, Y, E_scale, E_b);
}

/* Packs the weights, once for many calls. */
__attribute__((target("no-avx"))) void conv2d_f32_c5_h7_w7_k37_r3_s3_pad1_gelu_y_scale_k_b_k_823e9e16__avx2_pack(const float *restrict W, float *restrict packed)
{
    conv2d_f32_c5_h7_w7_k37_r3_s3_pad1_gelu_y_scale_k_b_k_823e9e16__avx2_pack_run(W, packed);
}
