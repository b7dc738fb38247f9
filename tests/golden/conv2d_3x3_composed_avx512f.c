/*
 * conv2d c=8,h=12,w=12,k=48,r=3,s=3,pad=1
 *
 * Written by Tilewright VERSION from the scheme
 *
 *     R(k) T(h,12) L(w, 1x5 + 1x7) S(y) T(r,3) T(s,3) T(c,8) U(w,λ) V(k,16)
 *
 *     for k in 3 steps of 16:
 *       for h in 12 steps of 1:
 *         for w in 1 step of 5:
 *           with the tile of y in registers:
 *             for r in 3 steps of 1:
 *               for s in 3 steps of 1:
 *                 for c in 8 steps of 1:
 *                   register tile 16k × 5w
 *         for w in 1 step of 7 from 5:
 *           with the tile of y in registers:
 *             for r in 3 steps of 1:
 *               for s in 3 steps of 1:
 *                 for c in 8 steps of 1:
 *                   register tile 16k × 7w
 *
 * Microkernels:
 *     f32_conv2d_ukernel_5wx16k_s1__avx512f: 5 FMAs, 6 loads and no stores per step, 6 of 32 registers (5 accumulators)
 *     f32_conv2d_ukernel_7wx16k_s1__avx512f: 7 FMAs, 8 loads and no stores per step, 8 of 32 registers (7 accumulators)
 *
 * Operands, row-major f32:
 *     X: x[n, h + r - 1, w + s - 1, c] of 1 x 12 x 12 x 8
 *     W: w[k, c, r, s] of 48 x 8 x 3 x 3
 *     Y: y[n, h, w, k] of 1 x 12 x 12 x 48
 *     W is packed: the scheme's panels, one after the other, with reduction points in the order of its loops.
 */
#include <immintrin.h>

/* Elements between neighbours along each axis: X_h is along the axis h of X. W has none: tiles read it packed, in the
 * order of the loops. */
static const long X_h = 96;
static const long X_w = 8;
static const long X_c = 1;
static const long Y_h = 576;
static const long Y_w = 48;
static const long Y_k = 1;

/* 5 rows x 1 vectors, summed over r from r_begin to r_end, s from 0 to 1, c from 0 to 8, s from 1 to 3. */
static void tile0_5wx16k(const float *x, const float *w, float *y, long r_begin, long r_end)
{
    __m512 acc_0_0 = _mm512_setzero_ps();
    __m512 acc_1_0 = _mm512_setzero_ps();
    __m512 acc_2_0 = _mm512_setzero_ps();
    __m512 acc_3_0 = _mm512_setzero_ps();
    __m512 acc_4_0 = _mm512_setzero_ps();
    for (long r = r_begin; r < r_end; ++r) {
        const float *x_r = x + r * X_h;
        const float *w_r = w + 384 * r;
        for (long s = 0; s < 1; ++s) {
            const float *x_s = x_r + s * X_w;
            const float *w_s = w_r + 128 * s;
            for (long c = 0; c < 8; ++c) {
                const float *x_c = x_s + c * X_c;
                const float *w_c = w_s + 16 * c;
                const __m512 w_0 = _mm512_loadu_ps(w_c);
                { const __m512 x_0 = _mm512_set1_ps(*(x_c + X_w)); acc_1_0 = _mm512_fmadd_ps(x_0, w_0, acc_1_0); }
                { const __m512 x_1 = _mm512_set1_ps(*(x_c + 2 * X_w)); acc_2_0 = _mm512_fmadd_ps(x_1, w_0, acc_2_0); }
                { const __m512 x_2 = _mm512_set1_ps(*(x_c + 3 * X_w)); acc_3_0 = _mm512_fmadd_ps(x_2, w_0, acc_3_0); }
                { const __m512 x_3 = _mm512_set1_ps(*(x_c + 4 * X_w)); acc_4_0 = _mm512_fmadd_ps(x_3, w_0, acc_4_0); }
            }
        }
        for (long s = 1; s < 3; ++s) {
            const float *x_s = x_r + s * X_w;
            const float *w_s = w_r + 128 * s;
            for (long c = 0; c < 8; ++c) {
                const float *x_c = x_s + c * X_c;
                const float *w_c = w_s + 16 * c;
                const __m512 w_0 = _mm512_loadu_ps(w_c);
                { const __m512 x_0 = _mm512_set1_ps(*(x_c)); acc_0_0 = _mm512_fmadd_ps(x_0, w_0, acc_0_0); }
                { const __m512 x_1 = _mm512_set1_ps(*(x_c + X_w)); acc_1_0 = _mm512_fmadd_ps(x_1, w_0, acc_1_0); }
                { const __m512 x_2 = _mm512_set1_ps(*(x_c + 2 * X_w)); acc_2_0 = _mm512_fmadd_ps(x_2, w_0, acc_2_0); }
                { const __m512 x_3 = _mm512_set1_ps(*(x_c + 3 * X_w)); acc_3_0 = _mm512_fmadd_ps(x_3, w_0, acc_3_0); }
                { const __m512 x_4 = _mm512_set1_ps(*(x_c + 4 * X_w)); acc_4_0 = _mm512_fmadd_ps(x_4, w_0, acc_4_0); }
            }
        }
    }
    _mm512_storeu_ps(y, acc_0_0);
    _mm512_storeu_ps(y + Y_w, acc_1_0);
    _mm512_storeu_ps(y + 2 * Y_w, acc_2_0);
    _mm512_storeu_ps(y + 3 * Y_w, acc_3_0);
    _mm512_storeu_ps(y + 4 * Y_w, acc_4_0);
}

/* 7 rows x 1 vectors, summed over r from r_begin to r_end, s from 0 to 2, c from 0 to 8, s from 2 to 3. */
static void tile1_7wx16k(const float *x, const float *w, float *y, long r_begin, long r_end)
{
    __m512 acc_0_0 = _mm512_setzero_ps();
    __m512 acc_1_0 = _mm512_setzero_ps();
    __m512 acc_2_0 = _mm512_setzero_ps();
    __m512 acc_3_0 = _mm512_setzero_ps();
    __m512 acc_4_0 = _mm512_setzero_ps();
    __m512 acc_5_0 = _mm512_setzero_ps();
    __m512 acc_6_0 = _mm512_setzero_ps();
    for (long r = r_begin; r < r_end; ++r) {
        const float *x_r = x + r * X_h;
        const float *w_r = w + 384 * r;
        for (long s = 0; s < 2; ++s) {
            const float *x_s = x_r + s * X_w;
            const float *w_s = w_r + 128 * s;
            for (long c = 0; c < 8; ++c) {
                const float *x_c = x_s + c * X_c;
                const float *w_c = w_s + 16 * c;
                const __m512 w_0 = _mm512_loadu_ps(w_c);
                { const __m512 x_0 = _mm512_set1_ps(*(x_c)); acc_0_0 = _mm512_fmadd_ps(x_0, w_0, acc_0_0); }
                { const __m512 x_1 = _mm512_set1_ps(*(x_c + X_w)); acc_1_0 = _mm512_fmadd_ps(x_1, w_0, acc_1_0); }
                { const __m512 x_2 = _mm512_set1_ps(*(x_c + 2 * X_w)); acc_2_0 = _mm512_fmadd_ps(x_2, w_0, acc_2_0); }
                { const __m512 x_3 = _mm512_set1_ps(*(x_c + 3 * X_w)); acc_3_0 = _mm512_fmadd_ps(x_3, w_0, acc_3_0); }
                { const __m512 x_4 = _mm512_set1_ps(*(x_c + 4 * X_w)); acc_4_0 = _mm512_fmadd_ps(x_4, w_0, acc_4_0); }
                { const __m512 x_5 = _mm512_set1_ps(*(x_c + 5 * X_w)); acc_5_0 = _mm512_fmadd_ps(x_5, w_0, acc_5_0); }
                { const __m512 x_6 = _mm512_set1_ps(*(x_c + 6 * X_w)); acc_6_0 = _mm512_fmadd_ps(x_6, w_0, acc_6_0); }
            }
        }
        for (long s = 2; s < 3; ++s) {
            const float *x_s = x_r + s * X_w;
            const float *w_s = w_r + 128 * s;
            for (long c = 0; c < 8; ++c) {
                const float *x_c = x_s + c * X_c;
                const float *w_c = w_s + 16 * c;
                const __m512 w_0 = _mm512_loadu_ps(w_c);
                { const __m512 x_0 = _mm512_set1_ps(*(x_c)); acc_0_0 = _mm512_fmadd_ps(x_0, w_0, acc_0_0); }
                { const __m512 x_1 = _mm512_set1_ps(*(x_c + X_w)); acc_1_0 = _mm512_fmadd_ps(x_1, w_0, acc_1_0); }
                { const __m512 x_2 = _mm512_set1_ps(*(x_c + 2 * X_w)); acc_2_0 = _mm512_fmadd_ps(x_2, w_0, acc_2_0); }
                { const __m512 x_3 = _mm512_set1_ps(*(x_c + 3 * X_w)); acc_3_0 = _mm512_fmadd_ps(x_3, w_0, acc_3_0); }
                { const __m512 x_4 = _mm512_set1_ps(*(x_c + 4 * X_w)); acc_4_0 = _mm512_fmadd_ps(x_4, w_0, acc_4_0); }
                { const __m512 x_5 = _mm512_set1_ps(*(x_c + 5 * X_w)); acc_5_0 = _mm512_fmadd_ps(x_5, w_0, acc_5_0); }
            }
        }
    }
    _mm512_storeu_ps(y, acc_0_0);
    _mm512_storeu_ps(y + Y_w, acc_1_0);
    _mm512_storeu_ps(y + 2 * Y_w, acc_2_0);
    _mm512_storeu_ps(y + 3 * Y_w, acc_3_0);
    _mm512_storeu_ps(y + 4 * Y_w, acc_4_0);
    _mm512_storeu_ps(y + 5 * Y_w, acc_5_0);
    _mm512_storeu_ps(y + 6 * Y_w, acc_6_0);
}

/* Whether this CPU runs the kernel. This function and the packing run on any CPU. */
__attribute__((target("no-avx"))) int conv2d_f32_c8_h12_w12_k48_r3_s3_pad1__avx512f_supported(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("fma");
}

/* The loops over tiles. Their variables are positions. A tile gets pointers to its own first x, panel and y. */
void conv2d_f32_c8_h12_w12_k48_r3_s3_pad1__avx512f_run(const float *restrict X, const float *restrict W, float *restrict Y)
{
    for (long k = 0; k < 48; k += 16) {
        for (long h = 0; h < 12; ++h) {
            const long r_begin = (0 > -h + 1 ? 0 : -h + 1);
            const long r_end = (3 < -h + 13 ? 3 : -h + 13);
            tile0_5wx16k(X + (h - 1) * X_h + -1 * X_w, W + 72 * k, Y + h * Y_h + k * Y_k, r_begin, r_end);
            tile1_7wx16k(X + (h - 1) * X_h + 4 * X_w, W + 72 * k, Y + h * Y_h + 5 * Y_w + k * Y_k, r_begin, r_end);
        }
    }
}

/* Packs the weights. They lie in memory as w[k, c, r, s] of 48 x 8 x 3 x 3. */
__attribute__((target("no-avx"))) void conv2d_f32_c8_h12_w12_k48_r3_s3_pad1__avx512f_pack_run(const float *restrict W, float *restrict packed)
{
    const long W_k = 72, W_c = 9, W_r = 3, W_s = 1;
    for (long k = 0; k < 48; k += 16) {
        for (long r = 0; r < 3; ++r) {
            for (long s = 0; s < 3; ++s) {
                for (long c = 0; c < 8; ++c) {
                    for (long lane = 0; lane < 16; ++lane) {
                        packed[72 * k + lane + 384 * r + 128 * s + 16 * c] = W[(k + lane) * W_k + c * W_c + r * W_r + s * W_s];
                    }
                }
            }
        }
    }
}

/*
 * A whole call: it checks the CPU.
 * A caller that has done so calls conv2d_f32_c8_h12_w12_k48_r3_s3_pad1__avx512f_run.
 */
#include <stdio.h>
#include <stdlib.h>

void conv2d_f32_c8_h12_w12_k48_r3_s3_pad1__avx512f(const float *restrict X, const float *restrict W, float *restrict Y)
{
    if (!conv2d_f32_c8_h12_w12_k48_r3_s3_pad1__avx512f_supported()) {
        fputs("conv2d_f32_c8_h12_w12_k48_r3_s3_pad1__avx512f: this CPU lacks avx512f or avx512vl or fma\n", stderr);
        abort();
    }
    conv2d_f32_c8_h12_w12_k48_r3_s3_pad1__avx512f_run(X, W, Y);
}

/* Packs the weights, once for many calls. */
__attribute__((target("no-avx"))) void conv2d_f32_c8_h12_w12_k48_r3_s3_pad1__avx512f_pack(const float *restrict W, float *restrict packed)
{
    conv2d_f32_c8_h12_w12_k48_r3_s3_pad1__avx512f_pack_run(W, packed);
}
