/*
 * conv2d c=8,h=12,w=12,k=48,r=3,s=3,pad=1
 *
 * Written by Tilewright VERSION from the scheme
 *
 *     R(k) T(h,12) T(w,2) S(y) T(r,3) T(s,3) T(c,8) U(w,6) V(k,8)
 *
 *     for k in 6 steps of 8:
 *       for h in 12 steps of 1:
 *         for w in 2 steps of 6:
 *           with the tile of y in registers:
 *             for r in 3 steps of 1:
 *               for s in 3 steps of 1:
 *                 for c in 8 steps of 1:
 *                   register tile 8k × 6w
 *
 * Microkernels:
 *     f32_conv2d_ukernel_6wx8k_s1__avx2: 6 FMAs, 7 loads and no stores per step, 8 of 16 registers (6 accumulators)
 *
 * Operands, row-major f32:
 *     X: x[n, h + r - 1, w + s - 1, c] of 1 x 12 x 12 x 8
 *     W: w[k, c, r, s] of 48 x 8 x 3 x 3
 *     Y: y[n, h, w, k] of 1 x 12 x 12 x 48
 *     W is packed: the scheme's panels, one after the other, with reduction points in the order of its loops.
 */
#include <immintrin.h>
#include <stdint.h>

/* Elements between neighbours along each axis: X_h is along the axis h of X. W has none: tiles read it packed, in the
 * order of the loops. */
static const long X_h = 96;
static const long X_w = 8;
static const long X_c = 1;
static const long Y_h = 576;
static const long Y_w = 48;
static const long Y_k = 1;

/* 6 rows x 1 vectors, summed over r from r_begin to r_end, s from 0 to 1, c from 0 to 8, s from 1 to 3; w < 6. */
static void tile0_6wx8k_wpad0(const float *x, const float *w, float *y, long r_begin, long r_end, int stream)
{
    __m256 acc_0_0 = _mm256_setzero_ps();
    __m256 acc_1_0 = _mm256_setzero_ps();
    __m256 acc_2_0 = _mm256_setzero_ps();
    __m256 acc_3_0 = _mm256_setzero_ps();
    __m256 acc_4_0 = _mm256_setzero_ps();
    __m256 acc_5_0 = _mm256_setzero_ps();
    for (long r = r_begin; r < r_end; ++r) {
        const float *x_r = x + r * X_h;
        const float *w_r = w + 192 * r;
        for (long s = 0; s < 1; ++s) {
            const float *x_s = x_r + s * X_w;
            const float *w_s = w_r + 64 * s;
            #pragma GCC unroll 4
            for (long c = 0; c < 8; ++c) {
                const float *x_c = x_s + c * X_c;
                const float *w_c = w_s + 8 * c;
                const __m256 w_0 = _mm256_loadu_ps(w_c);
                { const __m256 x_0 = _mm256_broadcast_ss(x_c + X_w); acc_1_0 = _mm256_fmadd_ps(x_0, w_0, acc_1_0); }
                { const __m256 x_1 = _mm256_broadcast_ss(x_c + 2 * X_w); acc_2_0 = _mm256_fmadd_ps(x_1, w_0, acc_2_0); }
                { const __m256 x_2 = _mm256_broadcast_ss(x_c + 3 * X_w); acc_3_0 = _mm256_fmadd_ps(x_2, w_0, acc_3_0); }
                { const __m256 x_3 = _mm256_broadcast_ss(x_c + 4 * X_w); acc_4_0 = _mm256_fmadd_ps(x_3, w_0, acc_4_0); }
                { const __m256 x_4 = _mm256_broadcast_ss(x_c + 5 * X_w); acc_5_0 = _mm256_fmadd_ps(x_4, w_0, acc_5_0); }
            }
        }
        for (long s = 1; s < 3; ++s) {
            const float *x_s = x_r + s * X_w;
            const float *w_s = w_r + 64 * s;
            #pragma GCC unroll 4
            for (long c = 0; c < 8; ++c) {
                const float *x_c = x_s + c * X_c;
                const float *w_c = w_s + 8 * c;
                const __m256 w_0 = _mm256_loadu_ps(w_c);
                { const __m256 x_0 = _mm256_broadcast_ss(x_c); acc_0_0 = _mm256_fmadd_ps(x_0, w_0, acc_0_0); }
                { const __m256 x_1 = _mm256_broadcast_ss(x_c + X_w); acc_1_0 = _mm256_fmadd_ps(x_1, w_0, acc_1_0); }
                { const __m256 x_2 = _mm256_broadcast_ss(x_c + 2 * X_w); acc_2_0 = _mm256_fmadd_ps(x_2, w_0, acc_2_0); }
                { const __m256 x_3 = _mm256_broadcast_ss(x_c + 3 * X_w); acc_3_0 = _mm256_fmadd_ps(x_3, w_0, acc_3_0); }
                { const __m256 x_4 = _mm256_broadcast_ss(x_c + 4 * X_w); acc_4_0 = _mm256_fmadd_ps(x_4, w_0, acc_4_0); }
                { const __m256 x_5 = _mm256_broadcast_ss(x_c + 5 * X_w); acc_5_0 = _mm256_fmadd_ps(x_5, w_0, acc_5_0); }
            }
        }
    }
    if (stream) {
        _mm256_stream_ps(y, acc_0_0);
        _mm256_stream_ps(y + Y_w, acc_1_0);
        _mm256_stream_ps(y + 2 * Y_w, acc_2_0);
        _mm256_stream_ps(y + 3 * Y_w, acc_3_0);
        _mm256_stream_ps(y + 4 * Y_w, acc_4_0);
        _mm256_stream_ps(y + 5 * Y_w, acc_5_0);
    } else {
        _mm256_storeu_ps(y, acc_0_0);
        _mm256_storeu_ps(y + Y_w, acc_1_0);
        _mm256_storeu_ps(y + 2 * Y_w, acc_2_0);
        _mm256_storeu_ps(y + 3 * Y_w, acc_3_0);
        _mm256_storeu_ps(y + 4 * Y_w, acc_4_0);
        _mm256_storeu_ps(y + 5 * Y_w, acc_5_0);
    }
}

/* 6 rows x 1 vectors, summed over r from r_begin to r_end, s from 0 to 2, c from 0 to 8, s from 2 to 3; 6 <= w. */
static void tile1_6wx8k_wpad1(const float *x, const float *w, float *y, long r_begin, long r_end, int stream)
{
    __m256 acc_0_0 = _mm256_setzero_ps();
    __m256 acc_1_0 = _mm256_setzero_ps();
    __m256 acc_2_0 = _mm256_setzero_ps();
    __m256 acc_3_0 = _mm256_setzero_ps();
    __m256 acc_4_0 = _mm256_setzero_ps();
    __m256 acc_5_0 = _mm256_setzero_ps();
    for (long r = r_begin; r < r_end; ++r) {
        const float *x_r = x + r * X_h;
        const float *w_r = w + 192 * r;
        for (long s = 0; s < 2; ++s) {
            const float *x_s = x_r + s * X_w;
            const float *w_s = w_r + 64 * s;
            #pragma GCC unroll 4
            for (long c = 0; c < 8; ++c) {
                const float *x_c = x_s + c * X_c;
                const float *w_c = w_s + 8 * c;
                const __m256 w_0 = _mm256_loadu_ps(w_c);
                { const __m256 x_0 = _mm256_broadcast_ss(x_c); acc_0_0 = _mm256_fmadd_ps(x_0, w_0, acc_0_0); }
                { const __m256 x_1 = _mm256_broadcast_ss(x_c + X_w); acc_1_0 = _mm256_fmadd_ps(x_1, w_0, acc_1_0); }
                { const __m256 x_2 = _mm256_broadcast_ss(x_c + 2 * X_w); acc_2_0 = _mm256_fmadd_ps(x_2, w_0, acc_2_0); }
                { const __m256 x_3 = _mm256_broadcast_ss(x_c + 3 * X_w); acc_3_0 = _mm256_fmadd_ps(x_3, w_0, acc_3_0); }
                { const __m256 x_4 = _mm256_broadcast_ss(x_c + 4 * X_w); acc_4_0 = _mm256_fmadd_ps(x_4, w_0, acc_4_0); }
                { const __m256 x_5 = _mm256_broadcast_ss(x_c + 5 * X_w); acc_5_0 = _mm256_fmadd_ps(x_5, w_0, acc_5_0); }
            }
        }
        for (long s = 2; s < 3; ++s) {
            const float *x_s = x_r + s * X_w;
            const float *w_s = w_r + 64 * s;
            #pragma GCC unroll 4
            for (long c = 0; c < 8; ++c) {
                const float *x_c = x_s + c * X_c;
                const float *w_c = w_s + 8 * c;
                const __m256 w_0 = _mm256_loadu_ps(w_c);
                { const __m256 x_0 = _mm256_broadcast_ss(x_c); acc_0_0 = _mm256_fmadd_ps(x_0, w_0, acc_0_0); }
                { const __m256 x_1 = _mm256_broadcast_ss(x_c + X_w); acc_1_0 = _mm256_fmadd_ps(x_1, w_0, acc_1_0); }
                { const __m256 x_2 = _mm256_broadcast_ss(x_c + 2 * X_w); acc_2_0 = _mm256_fmadd_ps(x_2, w_0, acc_2_0); }
                { const __m256 x_3 = _mm256_broadcast_ss(x_c + 3 * X_w); acc_3_0 = _mm256_fmadd_ps(x_3, w_0, acc_3_0); }
                { const __m256 x_4 = _mm256_broadcast_ss(x_c + 4 * X_w); acc_4_0 = _mm256_fmadd_ps(x_4, w_0, acc_4_0); }
            }
        }
    }
    if (stream) {
        _mm256_stream_ps(y, acc_0_0);
        _mm256_stream_ps(y + Y_w, acc_1_0);
        _mm256_stream_ps(y + 2 * Y_w, acc_2_0);
        _mm256_stream_ps(y + 3 * Y_w, acc_3_0);
        _mm256_stream_ps(y + 4 * Y_w, acc_4_0);
        _mm256_stream_ps(y + 5 * Y_w, acc_5_0);
    } else {
        _mm256_storeu_ps(y, acc_0_0);
        _mm256_storeu_ps(y + Y_w, acc_1_0);
        _mm256_storeu_ps(y + 2 * Y_w, acc_2_0);
        _mm256_storeu_ps(y + 3 * Y_w, acc_3_0);
        _mm256_storeu_ps(y + 4 * Y_w, acc_4_0);
        _mm256_storeu_ps(y + 5 * Y_w, acc_5_0);
    }
}

/* Whether this CPU runs the kernel. This function and the packing run on any CPU. */
__attribute__((target("no-avx"))) int conv2d_f32_c8_h12_w12_k48_r3_s3_pad1__avx2_supported(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

/* The loops over tiles. Their variables are positions. A tile gets pointers to its own first x, panel and y. */
void conv2d_f32_c8_h12_w12_k48_r3_s3_pad1__avx2_run(const float *restrict X, const float *restrict W, float *restrict Y)
{
    const int stream = (uintptr_t)Y % 32 == 0;
    for (long k = 0; k < 48; k += 8) {
        for (long h = 0; h < 12; ++h) {
            for (long w = 0; w < 12; w += 6) {
                const long r_begin = (0 > -h + 1 ? 0 : -h + 1);
                const long r_end = (3 < -h + 13 ? 3 : -h + 13);
                if (w < 6) {
                    tile0_6wx8k_wpad0(X + (h - 1) * X_h + (w - 1) * X_w, W + 72 * k, Y + h * Y_h + w * Y_w + k * Y_k, r_begin, r_end, stream);
                } else {
                    tile1_6wx8k_wpad1(X + (h - 1) * X_h + (w - 1) * X_w, W + 72 * k, Y + h * Y_h + w * Y_w + k * Y_k, r_begin, r_end, stream);
                }
            }
        }
    }
    _mm_sfence();
}

/* Packs the weights. They lie in memory as w[k, c, r, s] of 48 x 8 x 3 x 3. */
__attribute__((target("no-avx"))) void conv2d_f32_c8_h12_w12_k48_r3_s3_pad1__avx2_pack_run(const float *restrict W, float *restrict packed)
{
    const long W_k = 72, W_c = 9, W_r = 3, W_s = 1;
    for (long k = 0; k < 48; k += 8) {
        for (long r = 0; r < 3; ++r) {
            for (long s = 0; s < 3; ++s) {
                for (long c = 0; c < 8; ++c) {
                    for (long lane = 0; lane < 8; ++lane) {
                        packed[72 * k + lane + 192 * r + 64 * s + 8 * c] = W[(k + lane) * W_k + c * W_c + r * W_r + s * W_s];
                    }
                }
            }
        }
    }
}

/*
 * A whole call: it checks the CPU.
 * A caller that has done so calls conv2d_f32_c8_h12_w12_k48_r3_s3_pad1__avx2_run.
 */
#include <stdio.h>
#include <stdlib.h>

void conv2d_f32_c8_h12_w12_k48_r3_s3_pad1__avx2(const float *restrict X, const float *restrict W, float *restrict Y)
{
    if (!conv2d_f32_c8_h12_w12_k48_r3_s3_pad1__avx2_supported()) {
        fputs("conv2d_f32_c8_h12_w12_k48_r3_s3_pad1__avx2: this CPU lacks avx2 or fma\n", stderr);
        abort();
    }
    conv2d_f32_c8_h12_w12_k48_r3_s3_pad1__avx2_run(X, W, Y);
}

/* Packs the weights, once for many calls. */
__attribute__((target("no-avx"))) void conv2d_f32_c8_h12_w12_k48_r3_s3_pad1__avx2_pack(const float *restrict W, float *restrict packed)
{
    conv2d_f32_c8_h12_w12_k48_r3_s3_pad1__avx2_pack_run(W, packed);
}
