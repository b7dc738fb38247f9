/*
 * conv2d c=24,h=9,w=9,k=32,r=1,s=1,stride=2,epilogue=min(relu(y+b[k]+z[n,h,w,k]),6)
 *
 * Written by Tilewright VERSION from the scheme
 *
 *     R(k) T(h,5) S(y) T(c,24) U(w,5) V(k,16)
 *
 *     for k in 2 steps of 16:
 *       for h in 5 steps of 1:
 *         with the tile of y in registers:
 *           for c in 24 steps of 1:
 *             register tile 16k × 5w
 *
 * Microkernels:
 *     f32_conv2d_ukernel_5wx16k_s2__avx512f: 5 FMAs, 6 loads and no stores per step, 6 of 32 registers (5 accumulators)
 *
 * Operands, row-major f32:
 *     X: x[n, 2*h + r, 2*w + s, c] of 1 x 9 x 9 x 24
 *     W: w[k, c, r, s] of 32 x 24 x 1 x 1
 *     Y: y[n, h, w, k] of 1 x 5 x 5 x 32
 *     E_b: b[k] of 32
 *     E_z: z[n, h, w, k] of 1 x 5 x 5 x 32
 *     W is packed: the scheme's panels, one after the other, with reduction points in the order of its loops.
 */
#include <immintrin.h>
#include <stdint.h>

/* Elements between neighbours along each axis: X_h is along the axis h of X. W has none: tiles read it packed, in the
 * order of the loops. */
static const long X_h = 216;
static const long X_w = 24;
static const long X_c = 1;
static const long Y_h = 160;
static const long Y_w = 32;
static const long Y_k = 1;
static const long STEP_b_k = 1;
static const long STEP_z_h = 160;
static const long STEP_z_w = 32;
static const long STEP_z_k = 1;

/* Gives an accumulator a register of its own. Where several begin with the same bias, the compiler would keep the bias
 * in one more register, which an accumulator needs. */
#define OWN(acc) __asm__ volatile("" : "+v"(acc))

/* Each sum begins with E_b of its channel. The rest of the epilogue follows below. */

/* The epilogue, applied to each vector as it is stored:
 *
 *     min(relu(y+z[n,h,w,k]),6)
 *
 * A NaN gives a NaN. Errors are in units in the last place (ulp) of the result. An exponential below about e^-87 counts
 * as 0, by which a result may be off by 2^-119 besides. */
typedef int bits __attribute__((vector_size(64)));
static inline __m512 constant(float value) { return _mm512_set1_ps(value); }
static inline __m512 choose(bits lanes, __m512 a, __m512 b) { return (__m512)((lanes & (bits)a) | (~lanes & (bits)b)); }
/* found, or v where v is a NaN. Two forms mean the same: where gcc knows v it leaves out the test of the first form,
 * and elsewhere the second form is faster. */
static inline __m512 kept_of(__m512 v, __m512 found)
{
    const bits none = v != v;
    return __builtin_constant_p(none[0]) ? choose(none, v, found) : _mm512_mask_mov_ps(found, _mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q), v);
}
static inline __m512 min_of(__m512 a, __m512 b) { return kept_of(a, _mm512_min_ps(a, b)); }
/* Volatile, so a tile reads zero once, when its sums are done. gcc would keep a bound that it knows in a register
 * through the inner loops, and spill an accumulator for it: above all zero, with which it also clears accumulators. */
static const volatile __m512 zeros = {0};
static inline __m512 relu_of(__m512 v, __m512 zero) { return _mm512_max_ps(zero, v); }

static inline __m512 epilogue(__m512 y, __m512 e_z, __m512 zero)
{
    return min_of(constant(6.0f), relu_of(y + e_z, zero));
}

/* 5 rows x 1 vectors, summed over c from 0 to 24. */
static void tile0_5wx16k(const float *x, const float *w, float *y, const float *e_b, const float *e_z, int stream)
{
    __m512 acc_0_0 = _mm512_loadu_ps(e_b);
    OWN(acc_0_0);
    __m512 acc_1_0 = _mm512_loadu_ps(e_b);
    OWN(acc_1_0);
    __m512 acc_2_0 = _mm512_loadu_ps(e_b);
    OWN(acc_2_0);
    __m512 acc_3_0 = _mm512_loadu_ps(e_b);
    OWN(acc_3_0);
    __m512 acc_4_0 = _mm512_loadu_ps(e_b);
    OWN(acc_4_0);
    for (long c = 0; c < 24; ++c) {
        const float *x_c = x + c * X_c;
        const float *w_c = w + 16 * c;
        const __m512 w_0 = _mm512_loadu_ps(w_c);
        { const __m512 x_0 = _mm512_set1_ps(*(x_c)); acc_0_0 = _mm512_fmadd_ps(x_0, w_0, acc_0_0); }
        { const __m512 x_1 = _mm512_set1_ps(*(x_c + 2 * X_w)); acc_1_0 = _mm512_fmadd_ps(x_1, w_0, acc_1_0); }
        { const __m512 x_2 = _mm512_set1_ps(*(x_c + 4 * X_w)); acc_2_0 = _mm512_fmadd_ps(x_2, w_0, acc_2_0); }
        { const __m512 x_3 = _mm512_set1_ps(*(x_c + 6 * X_w)); acc_3_0 = _mm512_fmadd_ps(x_3, w_0, acc_3_0); }
        { const __m512 x_4 = _mm512_set1_ps(*(x_c + 8 * X_w)); acc_4_0 = _mm512_fmadd_ps(x_4, w_0, acc_4_0); }
    }
    const __m512 zero = zeros;
    if (stream) {
        _mm512_stream_ps(y, epilogue(acc_0_0, _mm512_loadu_ps(e_z), zero));
        _mm512_stream_ps(y + Y_w, epilogue(acc_1_0, _mm512_loadu_ps(e_z + STEP_z_w), zero));
        _mm512_stream_ps(y + 2 * Y_w, epilogue(acc_2_0, _mm512_loadu_ps(e_z + 2 * STEP_z_w), zero));
        _mm512_stream_ps(y + 3 * Y_w, epilogue(acc_3_0, _mm512_loadu_ps(e_z + 3 * STEP_z_w), zero));
        _mm512_stream_ps(y + 4 * Y_w, epilogue(acc_4_0, _mm512_loadu_ps(e_z + 4 * STEP_z_w), zero));
    } else {
        _mm512_storeu_ps(y, epilogue(acc_0_0, _mm512_loadu_ps(e_z), zero));
        _mm512_storeu_ps(y + Y_w, epilogue(acc_1_0, _mm512_loadu_ps(e_z + STEP_z_w), zero));
        _mm512_storeu_ps(y + 2 * Y_w, epilogue(acc_2_0, _mm512_loadu_ps(e_z + 2 * STEP_z_w), zero));
        _mm512_storeu_ps(y + 3 * Y_w, epilogue(acc_3_0, _mm512_loadu_ps(e_z + 3 * STEP_z_w), zero));
        _mm512_storeu_ps(y + 4 * Y_w, epilogue(acc_4_0, _mm512_loadu_ps(e_z + 4 * STEP_z_w), zero));
    }
}

/* Whether this CPU runs the kernel. This function and the packing run on any CPU. */
__attribute__((target("no-avx"))) int conv2d_f32_c24_h9_w9_k32_r1_s1_stride2_min_relu_y_b_k_z_n_h_w_k_6_f1c020cc__avx512f_supported(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("fma");
}

/* The loops over tiles. Their variables are positions. A tile gets pointers to its own first x, panel and y. */
/* Y is not restrict, for two reasons. An array of its shape may be Y itself. And the compiler then reads the other
 * arrays where they are used: read earlier, they would take registers from the accumulators. */
void conv2d_f32_c24_h9_w9_k32_r1_s1_stride2_min_relu_y_b_k_z_n_h_w_k_6_f1c020cc__avx512f_run(const float *restrict X, const float *restrict W, float *Y, const float *E_b, const float *E_z)
{
    const int stream = (uintptr_t)Y % 64 == 0;
    for (long k = 0; k < 32; k += 16) {
        for (long h = 0; h < 5; ++h) {
            tile0_5wx16k(X + 2 * h * X_h, W + 24 * k, Y + h * Y_h + k * Y_k, E_b + k * STEP_b_k, E_z + h * STEP_z_h + k * STEP_z_k, stream);
        }
    }
    _mm_sfence();
}

/* Packs the weights. They lie in memory as w[k, c, r, s] of 32 x 24 x 1 x 1. */
__attribute__((target("no-avx"))) void conv2d_f32_c24_h9_w9_k32_r1_s1_stride2_min_relu_y_b_k_z_n_h_w_k_6_f1c020cc__avx512f_pack_run(const float *restrict W, float *restrict packed)
{
    const long W_k = 24, W_c = 1;
    for (long k = 0; k < 32; k += 16) {
        for (long c = 0; c < 24; ++c) {
            for (long lane = 0; lane < 16; ++lane) {
                packed[24 * k + lane + 16 * c] = W[(k + lane) * W_k + c * W_c];
            }
        }
    }
}

/*
 * A whole call: it checks the CPU.
 * A caller that has done so calls conv2d_f32_c24_h9_w9_k32_r1_s1_stride2_min_relu_y_b_k_z_n_h_w_k_6_f1c020cc__avx512f_run.
 */
#include <stdio.h>
#include <stdlib.h>

void conv2d_f32_c24_h9_w9_k32_r1_s1_stride2_min_relu_y_b_k_z_n_h_w_k_6_f1c020cc__avx512f(const float *restrict X, const float *restrict W, float *Y, const float *E_b, const float *E_z)
{
    if (!conv2d_f32_c24_h9_w9_k32_r1_s1_stride2_min_relu_y_b_k_z_n_h_w_k_6_f1c020cc__avx512f_supported()) {
        fputs("conv2d_f32_c24_h9_w9_k32_r1_s1_stride2_min_relu_y_b_k_z_n_h_w_k_6_f1c020cc__avx512f: this CPU lacks avx512f or avx512vl or fma\n", stderr);
        abort();
    }
    conv2d_f32_c24_h9_w9_k32_r1_s1_stride2_min_relu_y_b_k_z_n_h_w_k_6_f1c020cc__avx512f_run(X, W, Y, E_b, E_z);
}

/* Packs the weights, once for many calls. */
__attribute__((target("no-avx"))) void conv2d_f32_c24_h9_w9_k32_r1_s1_stride2_min_relu_y_b_k_z_n_h_w_k_6_f1c020cc__avx512f_pack(const float *restrict W, float *restrict packed)
{
    conv2d_f32_c24_h9_w9_k32_r1_s1_stride2_min_relu_y_b_k_z_n_h_w_k_6_f1c020cc__avx512f_pack_run(W, packed);
}
