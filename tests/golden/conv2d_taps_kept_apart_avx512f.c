/*
 * conv2d c=16,h=3,w=14,k=32,r=3,s=3,pad=1
 *
 * Written by Tilewright VERSION from the scheme
 *
 *     T(h,3) S(y) T(r,3) T(s,1) T(c,16) U(s,3) U(w,14) U(k,2) V(k,16)
 *
 *     for h in 3 steps of 1:
 *       with the tile of y in registers:
 *         for r in 3 steps of 1:
 *           for s in 1 step of 3:
 *             for c in 16 steps of 1:
 *               register tile 32k × 14w × 3s
 *
 * Microkernels:
 *     f32_conv2d_ukernel_14wx32kx3s_s1__avx512f: 84 FMAs, 48 loads and no stores per step, 30 of 32 registers (28 accumulators)
 *
 * Operands, row-major f32:
 *     X: x[n, h + r - 1, w + s - 1, c] of 1 x 3 x 14 x 16
 *     W: w[k, c, r, s] of 32 x 16 x 3 x 3
 *     Y: y[n, h, w, k] of 1 x 3 x 14 x 32
 *     W is packed: the scheme's panels, one after the other, with reduction points in the order of its loops.
 */
#include <immintrin.h>

/* Elements between neighbours along each axis: X_h is along the axis h of X. W has none: tiles read it packed, in the
 * order of the loops. */
static const long X_h = 224;
static const long X_w = 16;
static const long X_c = 1;
static const long Y_h = 448;
static const long Y_w = 32;
static const long Y_k = 1;

/* All registers are taken. Without this fence the compiler keeps an x for the next step, and spills an accumulator. */
#define KEEP_APART __asm__ volatile("" ::: "memory")

/* 14 rows x 2 vectors, summed over r from r_begin to r_end, c from 0 to 16. */
static void tile0_14wx32kx3s(const float *x, const float *w, float *y, long r_begin, long r_end)
{
    __m512 acc_0_0 = _mm512_setzero_ps();
    __m512 acc_0_1 = _mm512_setzero_ps();
    __m512 acc_1_0 = _mm512_setzero_ps();
    __m512 acc_1_1 = _mm512_setzero_ps();
    __m512 acc_2_0 = _mm512_setzero_ps();
    __m512 acc_2_1 = _mm512_setzero_ps();
    __m512 acc_3_0 = _mm512_setzero_ps();
    __m512 acc_3_1 = _mm512_setzero_ps();
    __m512 acc_4_0 = _mm512_setzero_ps();
    __m512 acc_4_1 = _mm512_setzero_ps();
    __m512 acc_5_0 = _mm512_setzero_ps();
    __m512 acc_5_1 = _mm512_setzero_ps();
    __m512 acc_6_0 = _mm512_setzero_ps();
    __m512 acc_6_1 = _mm512_setzero_ps();
    __m512 acc_7_0 = _mm512_setzero_ps();
    __m512 acc_7_1 = _mm512_setzero_ps();
    __m512 acc_8_0 = _mm512_setzero_ps();
    __m512 acc_8_1 = _mm512_setzero_ps();
    __m512 acc_9_0 = _mm512_setzero_ps();
    __m512 acc_9_1 = _mm512_setzero_ps();
    __m512 acc_10_0 = _mm512_setzero_ps();
    __m512 acc_10_1 = _mm512_setzero_ps();
    __m512 acc_11_0 = _mm512_setzero_ps();
    __m512 acc_11_1 = _mm512_setzero_ps();
    __m512 acc_12_0 = _mm512_setzero_ps();
    __m512 acc_12_1 = _mm512_setzero_ps();
    __m512 acc_13_0 = _mm512_setzero_ps();
    __m512 acc_13_1 = _mm512_setzero_ps();
    for (long r = r_begin; r < r_end; ++r) {
        const float *x_r = x + r * X_h;
        const float *w_r = w + 1536 * r;
        for (long c = 0; c < 16; ++c) {
            const float *x_c = x_r + c * X_c;
            const float *w_c = w_r + 96 * c;
            {
                const __m512 w_0 = _mm512_loadu_ps(w_c);
                const __m512 w_1 = _mm512_loadu_ps(w_c + 16);
                { const __m512 x_0 = _mm512_set1_ps(*(x_c + X_w)); acc_1_0 = _mm512_fmadd_ps(x_0, w_0, acc_1_0); acc_1_1 = _mm512_fmadd_ps(x_0, w_1, acc_1_1); }
                { const __m512 x_1 = _mm512_set1_ps(*(x_c + 2 * X_w)); acc_2_0 = _mm512_fmadd_ps(x_1, w_0, acc_2_0); acc_2_1 = _mm512_fmadd_ps(x_1, w_1, acc_2_1); }
                { const __m512 x_2 = _mm512_set1_ps(*(x_c + 3 * X_w)); acc_3_0 = _mm512_fmadd_ps(x_2, w_0, acc_3_0); acc_3_1 = _mm512_fmadd_ps(x_2, w_1, acc_3_1); }
                { const __m512 x_3 = _mm512_set1_ps(*(x_c + 4 * X_w)); acc_4_0 = _mm512_fmadd_ps(x_3, w_0, acc_4_0); acc_4_1 = _mm512_fmadd_ps(x_3, w_1, acc_4_1); }
                { const __m512 x_4 = _mm512_set1_ps(*(x_c + 5 * X_w)); acc_5_0 = _mm512_fmadd_ps(x_4, w_0, acc_5_0); acc_5_1 = _mm512_fmadd_ps(x_4, w_1, acc_5_1); }
                { const __m512 x_5 = _mm512_set1_ps(*(x_c + 6 * X_w)); acc_6_0 = _mm512_fmadd_ps(x_5, w_0, acc_6_0); acc_6_1 = _mm512_fmadd_ps(x_5, w_1, acc_6_1); }
                { const __m512 x_6 = _mm512_set1_ps(*(x_c + 7 * X_w)); acc_7_0 = _mm512_fmadd_ps(x_6, w_0, acc_7_0); acc_7_1 = _mm512_fmadd_ps(x_6, w_1, acc_7_1); }
                { const __m512 x_7 = _mm512_set1_ps(*(x_c + 8 * X_w)); acc_8_0 = _mm512_fmadd_ps(x_7, w_0, acc_8_0); acc_8_1 = _mm512_fmadd_ps(x_7, w_1, acc_8_1); }
                { const __m512 x_8 = _mm512_set1_ps(*(x_c + 9 * X_w)); acc_9_0 = _mm512_fmadd_ps(x_8, w_0, acc_9_0); acc_9_1 = _mm512_fmadd_ps(x_8, w_1, acc_9_1); }
                { const __m512 x_9 = _mm512_set1_ps(*(x_c + 10 * X_w)); acc_10_0 = _mm512_fmadd_ps(x_9, w_0, acc_10_0); acc_10_1 = _mm512_fmadd_ps(x_9, w_1, acc_10_1); }
                { const __m512 x_10 = _mm512_set1_ps(*(x_c + 11 * X_w)); acc_11_0 = _mm512_fmadd_ps(x_10, w_0, acc_11_0); acc_11_1 = _mm512_fmadd_ps(x_10, w_1, acc_11_1); }
                { const __m512 x_11 = _mm512_set1_ps(*(x_c + 12 * X_w)); acc_12_0 = _mm512_fmadd_ps(x_11, w_0, acc_12_0); acc_12_1 = _mm512_fmadd_ps(x_11, w_1, acc_12_1); }
                { const __m512 x_12 = _mm512_set1_ps(*(x_c + 13 * X_w)); acc_13_0 = _mm512_fmadd_ps(x_12, w_0, acc_13_0); acc_13_1 = _mm512_fmadd_ps(x_12, w_1, acc_13_1); }
            }
            KEEP_APART;
            {
                const __m512 w_0 = _mm512_loadu_ps(w_c + 32);
                const __m512 w_1 = _mm512_loadu_ps(w_c + 48);
                { const __m512 x_0 = _mm512_set1_ps(*(x_c + X_w)); acc_0_0 = _mm512_fmadd_ps(x_0, w_0, acc_0_0); acc_0_1 = _mm512_fmadd_ps(x_0, w_1, acc_0_1); }
                { const __m512 x_1 = _mm512_set1_ps(*(x_c + 2 * X_w)); acc_1_0 = _mm512_fmadd_ps(x_1, w_0, acc_1_0); acc_1_1 = _mm512_fmadd_ps(x_1, w_1, acc_1_1); }
                { const __m512 x_2 = _mm512_set1_ps(*(x_c + 3 * X_w)); acc_2_0 = _mm512_fmadd_ps(x_2, w_0, acc_2_0); acc_2_1 = _mm512_fmadd_ps(x_2, w_1, acc_2_1); }
                { const __m512 x_3 = _mm512_set1_ps(*(x_c + 4 * X_w)); acc_3_0 = _mm512_fmadd_ps(x_3, w_0, acc_3_0); acc_3_1 = _mm512_fmadd_ps(x_3, w_1, acc_3_1); }
                { const __m512 x_4 = _mm512_set1_ps(*(x_c + 5 * X_w)); acc_4_0 = _mm512_fmadd_ps(x_4, w_0, acc_4_0); acc_4_1 = _mm512_fmadd_ps(x_4, w_1, acc_4_1); }
                { const __m512 x_5 = _mm512_set1_ps(*(x_c + 6 * X_w)); acc_5_0 = _mm512_fmadd_ps(x_5, w_0, acc_5_0); acc_5_1 = _mm512_fmadd_ps(x_5, w_1, acc_5_1); }
                { const __m512 x_6 = _mm512_set1_ps(*(x_c + 7 * X_w)); acc_6_0 = _mm512_fmadd_ps(x_6, w_0, acc_6_0); acc_6_1 = _mm512_fmadd_ps(x_6, w_1, acc_6_1); }
                { const __m512 x_7 = _mm512_set1_ps(*(x_c + 8 * X_w)); acc_7_0 = _mm512_fmadd_ps(x_7, w_0, acc_7_0); acc_7_1 = _mm512_fmadd_ps(x_7, w_1, acc_7_1); }
                { const __m512 x_8 = _mm512_set1_ps(*(x_c + 9 * X_w)); acc_8_0 = _mm512_fmadd_ps(x_8, w_0, acc_8_0); acc_8_1 = _mm512_fmadd_ps(x_8, w_1, acc_8_1); }
                { const __m512 x_9 = _mm512_set1_ps(*(x_c + 10 * X_w)); acc_9_0 = _mm512_fmadd_ps(x_9, w_0, acc_9_0); acc_9_1 = _mm512_fmadd_ps(x_9, w_1, acc_9_1); }
                { const __m512 x_10 = _mm512_set1_ps(*(x_c + 11 * X_w)); acc_10_0 = _mm512_fmadd_ps(x_10, w_0, acc_10_0); acc_10_1 = _mm512_fmadd_ps(x_10, w_1, acc_10_1); }
                { const __m512 x_11 = _mm512_set1_ps(*(x_c + 12 * X_w)); acc_11_0 = _mm512_fmadd_ps(x_11, w_0, acc_11_0); acc_11_1 = _mm512_fmadd_ps(x_11, w_1, acc_11_1); }
                { const __m512 x_12 = _mm512_set1_ps(*(x_c + 13 * X_w)); acc_12_0 = _mm512_fmadd_ps(x_12, w_0, acc_12_0); acc_12_1 = _mm512_fmadd_ps(x_12, w_1, acc_12_1); }
                { const __m512 x_13 = _mm512_set1_ps(*(x_c + 14 * X_w)); acc_13_0 = _mm512_fmadd_ps(x_13, w_0, acc_13_0); acc_13_1 = _mm512_fmadd_ps(x_13, w_1, acc_13_1); }
            }
            KEEP_APART;
            {
                const __m512 w_0 = _mm512_loadu_ps(w_c + 64);
                const __m512 w_1 = _mm512_loadu_ps(w_c + 80);
                { const __m512 x_0 = _mm512_set1_ps(*(x_c + 2 * X_w)); acc_0_0 = _mm512_fmadd_ps(x_0, w_0, acc_0_0); acc_0_1 = _mm512_fmadd_ps(x_0, w_1, acc_0_1); }
                { const __m512 x_1 = _mm512_set1_ps(*(x_c + 3 * X_w)); acc_1_0 = _mm512_fmadd_ps(x_1, w_0, acc_1_0); acc_1_1 = _mm512_fmadd_ps(x_1, w_1, acc_1_1); }
                { const __m512 x_2 = _mm512_set1_ps(*(x_c + 4 * X_w)); acc_2_0 = _mm512_fmadd_ps(x_2, w_0, acc_2_0); acc_2_1 = _mm512_fmadd_ps(x_2, w_1, acc_2_1); }
                { const __m512 x_3 = _mm512_set1_ps(*(x_c + 5 * X_w)); acc_3_0 = _mm512_fmadd_ps(x_3, w_0, acc_3_0); acc_3_1 = _mm512_fmadd_ps(x_3, w_1, acc_3_1); }
                { const __m512 x_4 = _mm512_set1_ps(*(x_c + 6 * X_w)); acc_4_0 = _mm512_fmadd_ps(x_4, w_0, acc_4_0); acc_4_1 = _mm512_fmadd_ps(x_4, w_1, acc_4_1); }
                { const __m512 x_5 = _mm512_set1_ps(*(x_c + 7 * X_w)); acc_5_0 = _mm512_fmadd_ps(x_5, w_0, acc_5_0); acc_5_1 = _mm512_fmadd_ps(x_5, w_1, acc_5_1); }
                { const __m512 x_6 = _mm512_set1_ps(*(x_c + 8 * X_w)); acc_6_0 = _mm512_fmadd_ps(x_6, w_0, acc_6_0); acc_6_1 = _mm512_fmadd_ps(x_6, w_1, acc_6_1); }
                { const __m512 x_7 = _mm512_set1_ps(*(x_c + 9 * X_w)); acc_7_0 = _mm512_fmadd_ps(x_7, w_0, acc_7_0); acc_7_1 = _mm512_fmadd_ps(x_7, w_1, acc_7_1); }
                { const __m512 x_8 = _mm512_set1_ps(*(x_c + 10 * X_w)); acc_8_0 = _mm512_fmadd_ps(x_8, w_0, acc_8_0); acc_8_1 = _mm512_fmadd_ps(x_8, w_1, acc_8_1); }
                { const __m512 x_9 = _mm512_set1_ps(*(x_c + 11 * X_w)); acc_9_0 = _mm512_fmadd_ps(x_9, w_0, acc_9_0); acc_9_1 = _mm512_fmadd_ps(x_9, w_1, acc_9_1); }
                { const __m512 x_10 = _mm512_set1_ps(*(x_c + 12 * X_w)); acc_10_0 = _mm512_fmadd_ps(x_10, w_0, acc_10_0); acc_10_1 = _mm512_fmadd_ps(x_10, w_1, acc_10_1); }
                { const __m512 x_11 = _mm512_set1_ps(*(x_c + 13 * X_w)); acc_11_0 = _mm512_fmadd_ps(x_11, w_0, acc_11_0); acc_11_1 = _mm512_fmadd_ps(x_11, w_1, acc_11_1); }
                { const __m512 x_12 = _mm512_set1_ps(*(x_c + 14 * X_w)); acc_12_0 = _mm512_fmadd_ps(x_12, w_0, acc_12_0); acc_12_1 = _mm512_fmadd_ps(x_12, w_1, acc_12_1); }
            }
        }
    }
    _mm512_storeu_ps(y, acc_0_0);
    _mm512_storeu_ps(y + 16 * Y_k, acc_0_1);
    _mm512_storeu_ps(y + Y_w, acc_1_0);
    _mm512_storeu_ps(y + Y_w + 16 * Y_k, acc_1_1);
    _mm512_storeu_ps(y + 2 * Y_w, acc_2_0);
    _mm512_storeu_ps(y + 2 * Y_w + 16 * Y_k, acc_2_1);
    _mm512_storeu_ps(y + 3 * Y_w, acc_3_0);
    _mm512_storeu_ps(y + 3 * Y_w + 16 * Y_k, acc_3_1);
    _mm512_storeu_ps(y + 4 * Y_w, acc_4_0);
    _mm512_storeu_ps(y + 4 * Y_w + 16 * Y_k, acc_4_1);
    _mm512_storeu_ps(y + 5 * Y_w, acc_5_0);
    _mm512_storeu_ps(y + 5 * Y_w + 16 * Y_k, acc_5_1);
    _mm512_storeu_ps(y + 6 * Y_w, acc_6_0);
    _mm512_storeu_ps(y + 6 * Y_w + 16 * Y_k, acc_6_1);
    _mm512_storeu_ps(y + 7 * Y_w, acc_7_0);
    _mm512_storeu_ps(y + 7 * Y_w + 16 * Y_k, acc_7_1);
    _mm512_storeu_ps(y + 8 * Y_w, acc_8_0);
    _mm512_storeu_ps(y + 8 * Y_w + 16 * Y_k, acc_8_1);
    _mm512_storeu_ps(y + 9 * Y_w, acc_9_0);
    _mm512_storeu_ps(y + 9 * Y_w + 16 * Y_k, acc_9_1);
    _mm512_storeu_ps(y + 10 * Y_w, acc_10_0);
    _mm512_storeu_ps(y + 10 * Y_w + 16 * Y_k, acc_10_1);
    _mm512_storeu_ps(y + 11 * Y_w, acc_11_0);
    _mm512_storeu_ps(y + 11 * Y_w + 16 * Y_k, acc_11_1);
    _mm512_storeu_ps(y + 12 * Y_w, acc_12_0);
    _mm512_storeu_ps(y + 12 * Y_w + 16 * Y_k, acc_12_1);
    _mm512_storeu_ps(y + 13 * Y_w, acc_13_0);
    _mm512_storeu_ps(y + 13 * Y_w + 16 * Y_k, acc_13_1);
}

/* Whether this CPU runs the kernel. This function and the packing run on any CPU. */
__attribute__((target("no-avx"))) int conv2d_f32_c16_h3_w14_k32_r3_s3_pad1__avx512f_supported(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("fma");
}

/* The loops over tiles. Their variables are positions. A tile gets pointers to its own first x, panel and y. */
void conv2d_f32_c16_h3_w14_k32_r3_s3_pad1__avx512f_run(const float *restrict X, const float *restrict W, float *restrict Y)
{
    for (long h = 0; h < 3; ++h) {
        const long r_begin = (0 > -h + 1 ? 0 : -h + 1);
        const long r_end = (3 < -h + 4 ? 3 : -h + 4);
        tile0_14wx32kx3s(X + (h - 1) * X_h + -1 * X_w, W, Y + h * Y_h, r_begin, r_end);
    }
}

/* Packs the weights. They lie in memory as w[k, c, r, s] of 32 x 16 x 3 x 3. */
__attribute__((target("no-avx"))) void conv2d_f32_c16_h3_w14_k32_r3_s3_pad1__avx512f_pack_run(const float *restrict W, float *restrict packed)
{
    const long W_k = 144, W_c = 9, W_r = 3, W_s = 1;
    for (long r = 0; r < 3; ++r) {
        for (long c = 0; c < 16; ++c) {
            for (long s_u = 0; s_u < 3; ++s_u) {
                for (long k_u = 0; k_u < 2; ++k_u) {
                    for (long lane = 0; lane < 16; ++lane) {
                        packed[16 * k_u + lane + 1536 * r + 96 * c + 32 * s_u] = W[(16 * k_u + lane) * W_k + c * W_c + r * W_r + s_u * W_s];
                    }
                }
            }
        }
    }
}

/*
 * A whole call: it checks the CPU.
 * A caller that has done so calls conv2d_f32_c16_h3_w14_k32_r3_s3_pad1__avx512f_run.
 */
#include <stdio.h>
#include <stdlib.h>

void conv2d_f32_c16_h3_w14_k32_r3_s3_pad1__avx512f(const float *restrict X, const float *restrict W, float *restrict Y)
{
    if (!conv2d_f32_c16_h3_w14_k32_r3_s3_pad1__avx512f_supported()) {
        fputs("conv2d_f32_c16_h3_w14_k32_r3_s3_pad1__avx512f: this CPU lacks avx512f or avx512vl or fma\n", stderr);
        abort();
    }
    conv2d_f32_c16_h3_w14_k32_r3_s3_pad1__avx512f_run(X, W, Y);
}

/* Packs the weights, once for many calls. */
__attribute__((target("no-avx"))) void conv2d_f32_c16_h3_w14_k32_r3_s3_pad1__avx512f_pack(const float *restrict W, float *restrict packed)
{
    conv2d_f32_c16_h3_w14_k32_r3_s3_pad1__avx512f_pack_run(W, packed);
}
