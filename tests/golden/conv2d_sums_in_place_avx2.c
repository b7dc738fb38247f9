/*
 * conv2d c=8,h=3,w=12,k=16,r=3,s=3,pad=1
 *
 * Written by Tilewright VERSION from the scheme
 *
 *     R(k) T(h,3) T(w,2) S(y) T(r,3) T(c,8) U(s,3) U(w,6) U(k,2) V(k,8)
 *
 *     for k in 1 step of 16:
 *       for h in 3 steps of 1:
 *         for w in 2 steps of 6:
 *           with the tile of y in registers:
 *             for r in 3 steps of 1:
 *               for c in 8 steps of 1:
 *                 register tile 16k × 6w × 3s
 *
 * Microkernels:
 *     f32_conv2d_ukernel_6wx16kx3s_s1__avx2: 36 FMAs, 24 loads and no stores per step, 15 of 16 registers (12 accumulators)
 *
 * Operands, row-major f32:
 *     X: x[n, h + r - 1, w + s - 1, c] of 1 x 3 x 12 x 8
 *     W: w[k, c, r, s] of 16 x 8 x 3 x 3
 *     Y: y[n, h, w, k] of 1 x 3 x 12 x 16
 *     W is packed: the scheme's panels, one after the other, with reduction points in the order of its loops.
 */
#include <immintrin.h>

/* Elements between neighbours along each axis: X_h is along the axis h of X. W has none: tiles read it packed, in the
 * order of the loops. */
static const long X_h = 96;
static const long X_w = 8;
static const long X_c = 1;
static const long Y_h = 192;
static const long Y_w = 16;
static const long Y_k = 1;

/* All registers are taken. Without this fence the compiler keeps an x for the next step, and spills an accumulator. */
#define KEEP_APART __asm__ volatile("" ::: "memory")

/* acc + x * w, in the register of acc. Where all registers are taken, gcc would move sums and spill one. */
#define FMA_IN_PLACE(x, w, acc) ({ __asm__("vfmadd231ps %2, %1, %0" : "+x"(acc) : "x"(x), "x"(w)); acc; })

/* 6 rows x 2 vectors, summed over r from r_begin to r_end, c from 0 to 8; w < 6. */
static void tile0_6wx16kx3s_wpad0(const float *x, const float *w, float *y, long r_begin, long r_end)
{
    __m256 acc_0_0 = _mm256_setzero_ps();
    __m256 acc_0_1 = _mm256_setzero_ps();
    __m256 acc_1_0 = _mm256_setzero_ps();
    __m256 acc_1_1 = _mm256_setzero_ps();
    __m256 acc_2_0 = _mm256_setzero_ps();
    __m256 acc_2_1 = _mm256_setzero_ps();
    __m256 acc_3_0 = _mm256_setzero_ps();
    __m256 acc_3_1 = _mm256_setzero_ps();
    __m256 acc_4_0 = _mm256_setzero_ps();
    __m256 acc_4_1 = _mm256_setzero_ps();
    __m256 acc_5_0 = _mm256_setzero_ps();
    __m256 acc_5_1 = _mm256_setzero_ps();
    for (long r = r_begin; r < r_end; ++r) {
        const float *x_r = x + r * X_h;
        const float *w_r = w + 384 * r;
        for (long c = 0; c < 8; ++c) {
            const float *x_c = x_r + c * X_c;
            const float *w_c = w_r + 48 * c;
            {
                const __m256 w_0 = _mm256_loadu_ps(w_c);
                const __m256 w_1 = _mm256_loadu_ps(w_c + 8);
                { const __m256 x_0 = _mm256_broadcast_ss(x_c + X_w); acc_1_0 = FMA_IN_PLACE(x_0, w_0, acc_1_0); acc_1_1 = FMA_IN_PLACE(x_0, w_1, acc_1_1); }
                { const __m256 x_1 = _mm256_broadcast_ss(x_c + 2 * X_w); acc_2_0 = FMA_IN_PLACE(x_1, w_0, acc_2_0); acc_2_1 = FMA_IN_PLACE(x_1, w_1, acc_2_1); }
                { const __m256 x_2 = _mm256_broadcast_ss(x_c + 3 * X_w); acc_3_0 = FMA_IN_PLACE(x_2, w_0, acc_3_0); acc_3_1 = FMA_IN_PLACE(x_2, w_1, acc_3_1); }
                { const __m256 x_3 = _mm256_broadcast_ss(x_c + 4 * X_w); acc_4_0 = FMA_IN_PLACE(x_3, w_0, acc_4_0); acc_4_1 = FMA_IN_PLACE(x_3, w_1, acc_4_1); }
                { const __m256 x_4 = _mm256_broadcast_ss(x_c + 5 * X_w); acc_5_0 = FMA_IN_PLACE(x_4, w_0, acc_5_0); acc_5_1 = FMA_IN_PLACE(x_4, w_1, acc_5_1); }
            }
            KEEP_APART;
            {
                const __m256 w_0 = _mm256_loadu_ps(w_c + 16);
                const __m256 w_1 = _mm256_loadu_ps(w_c + 24);
                { const __m256 x_0 = _mm256_broadcast_ss(x_c + X_w); acc_0_0 = FMA_IN_PLACE(x_0, w_0, acc_0_0); acc_0_1 = FMA_IN_PLACE(x_0, w_1, acc_0_1); }
                { const __m256 x_1 = _mm256_broadcast_ss(x_c + 2 * X_w); acc_1_0 = FMA_IN_PLACE(x_1, w_0, acc_1_0); acc_1_1 = FMA_IN_PLACE(x_1, w_1, acc_1_1); }
                { const __m256 x_2 = _mm256_broadcast_ss(x_c + 3 * X_w); acc_2_0 = FMA_IN_PLACE(x_2, w_0, acc_2_0); acc_2_1 = FMA_IN_PLACE(x_2, w_1, acc_2_1); }
                { const __m256 x_3 = _mm256_broadcast_ss(x_c + 4 * X_w); acc_3_0 = FMA_IN_PLACE(x_3, w_0, acc_3_0); acc_3_1 = FMA_IN_PLACE(x_3, w_1, acc_3_1); }
                { const __m256 x_4 = _mm256_broadcast_ss(x_c + 5 * X_w); acc_4_0 = FMA_IN_PLACE(x_4, w_0, acc_4_0); acc_4_1 = FMA_IN_PLACE(x_4, w_1, acc_4_1); }
                { const __m256 x_5 = _mm256_broadcast_ss(x_c + 6 * X_w); acc_5_0 = FMA_IN_PLACE(x_5, w_0, acc_5_0); acc_5_1 = FMA_IN_PLACE(x_5, w_1, acc_5_1); }
            }
            KEEP_APART;
            {
                const __m256 w_0 = _mm256_loadu_ps(w_c + 32);
                const __m256 w_1 = _mm256_loadu_ps(w_c + 40);
                { const __m256 x_0 = _mm256_broadcast_ss(x_c + 2 * X_w); acc_0_0 = FMA_IN_PLACE(x_0, w_0, acc_0_0); acc_0_1 = FMA_IN_PLACE(x_0, w_1, acc_0_1); }
                { const __m256 x_1 = _mm256_broadcast_ss(x_c + 3 * X_w); acc_1_0 = FMA_IN_PLACE(x_1, w_0, acc_1_0); acc_1_1 = FMA_IN_PLACE(x_1, w_1, acc_1_1); }
                { const __m256 x_2 = _mm256_broadcast_ss(x_c + 4 * X_w); acc_2_0 = FMA_IN_PLACE(x_2, w_0, acc_2_0); acc_2_1 = FMA_IN_PLACE(x_2, w_1, acc_2_1); }
                { const __m256 x_3 = _mm256_broadcast_ss(x_c + 5 * X_w); acc_3_0 = FMA_IN_PLACE(x_3, w_0, acc_3_0); acc_3_1 = FMA_IN_PLACE(x_3, w_1, acc_3_1); }
                { const __m256 x_4 = _mm256_broadcast_ss(x_c + 6 * X_w); acc_4_0 = FMA_IN_PLACE(x_4, w_0, acc_4_0); acc_4_1 = FMA_IN_PLACE(x_4, w_1, acc_4_1); }
                { const __m256 x_5 = _mm256_broadcast_ss(x_c + 7 * X_w); acc_5_0 = FMA_IN_PLACE(x_5, w_0, acc_5_0); acc_5_1 = FMA_IN_PLACE(x_5, w_1, acc_5_1); }
            }
        }
    }
    _mm256_storeu_ps(y, acc_0_0);
    _mm256_storeu_ps(y + 8 * Y_k, acc_0_1);
    _mm256_storeu_ps(y + Y_w, acc_1_0);
    _mm256_storeu_ps(y + Y_w + 8 * Y_k, acc_1_1);
    _mm256_storeu_ps(y + 2 * Y_w, acc_2_0);
    _mm256_storeu_ps(y + 2 * Y_w + 8 * Y_k, acc_2_1);
    _mm256_storeu_ps(y + 3 * Y_w, acc_3_0);
    _mm256_storeu_ps(y + 3 * Y_w + 8 * Y_k, acc_3_1);
    _mm256_storeu_ps(y + 4 * Y_w, acc_4_0);
    _mm256_storeu_ps(y + 4 * Y_w + 8 * Y_k, acc_4_1);
    _mm256_storeu_ps(y + 5 * Y_w, acc_5_0);
    _mm256_storeu_ps(y + 5 * Y_w + 8 * Y_k, acc_5_1);
}

/* 6 rows x 2 vectors, summed over r from r_begin to r_end, c from 0 to 8; 6 <= w. */
static void tile1_6wx16kx3s_wpad1(const float *x, const float *w, float *y, long r_begin, long r_end)
{
    __m256 acc_0_0 = _mm256_setzero_ps();
    __m256 acc_0_1 = _mm256_setzero_ps();
    __m256 acc_1_0 = _mm256_setzero_ps();
    __m256 acc_1_1 = _mm256_setzero_ps();
    __m256 acc_2_0 = _mm256_setzero_ps();
    __m256 acc_2_1 = _mm256_setzero_ps();
    __m256 acc_3_0 = _mm256_setzero_ps();
    __m256 acc_3_1 = _mm256_setzero_ps();
    __m256 acc_4_0 = _mm256_setzero_ps();
    __m256 acc_4_1 = _mm256_setzero_ps();
    __m256 acc_5_0 = _mm256_setzero_ps();
    __m256 acc_5_1 = _mm256_setzero_ps();
    for (long r = r_begin; r < r_end; ++r) {
        const float *x_r = x + r * X_h;
        const float *w_r = w + 384 * r;
        for (long c = 0; c < 8; ++c) {
            const float *x_c = x_r + c * X_c;
            const float *w_c = w_r + 48 * c;
            {
                const __m256 w_0 = _mm256_loadu_ps(w_c);
                const __m256 w_1 = _mm256_loadu_ps(w_c + 8);
                { const __m256 x_0 = _mm256_broadcast_ss(x_c); acc_0_0 = FMA_IN_PLACE(x_0, w_0, acc_0_0); acc_0_1 = FMA_IN_PLACE(x_0, w_1, acc_0_1); }
                { const __m256 x_1 = _mm256_broadcast_ss(x_c + X_w); acc_1_0 = FMA_IN_PLACE(x_1, w_0, acc_1_0); acc_1_1 = FMA_IN_PLACE(x_1, w_1, acc_1_1); }
                { const __m256 x_2 = _mm256_broadcast_ss(x_c + 2 * X_w); acc_2_0 = FMA_IN_PLACE(x_2, w_0, acc_2_0); acc_2_1 = FMA_IN_PLACE(x_2, w_1, acc_2_1); }
                { const __m256 x_3 = _mm256_broadcast_ss(x_c + 3 * X_w); acc_3_0 = FMA_IN_PLACE(x_3, w_0, acc_3_0); acc_3_1 = FMA_IN_PLACE(x_3, w_1, acc_3_1); }
                { const __m256 x_4 = _mm256_broadcast_ss(x_c + 4 * X_w); acc_4_0 = FMA_IN_PLACE(x_4, w_0, acc_4_0); acc_4_1 = FMA_IN_PLACE(x_4, w_1, acc_4_1); }
                { const __m256 x_5 = _mm256_broadcast_ss(x_c + 5 * X_w); acc_5_0 = FMA_IN_PLACE(x_5, w_0, acc_5_0); acc_5_1 = FMA_IN_PLACE(x_5, w_1, acc_5_1); }
            }
            KEEP_APART;
            {
                const __m256 w_0 = _mm256_loadu_ps(w_c + 16);
                const __m256 w_1 = _mm256_loadu_ps(w_c + 24);
                { const __m256 x_0 = _mm256_broadcast_ss(x_c + X_w); acc_0_0 = FMA_IN_PLACE(x_0, w_0, acc_0_0); acc_0_1 = FMA_IN_PLACE(x_0, w_1, acc_0_1); }
                { const __m256 x_1 = _mm256_broadcast_ss(x_c + 2 * X_w); acc_1_0 = FMA_IN_PLACE(x_1, w_0, acc_1_0); acc_1_1 = FMA_IN_PLACE(x_1, w_1, acc_1_1); }
                { const __m256 x_2 = _mm256_broadcast_ss(x_c + 3 * X_w); acc_2_0 = FMA_IN_PLACE(x_2, w_0, acc_2_0); acc_2_1 = FMA_IN_PLACE(x_2, w_1, acc_2_1); }
                { const __m256 x_3 = _mm256_broadcast_ss(x_c + 4 * X_w); acc_3_0 = FMA_IN_PLACE(x_3, w_0, acc_3_0); acc_3_1 = FMA_IN_PLACE(x_3, w_1, acc_3_1); }
                { const __m256 x_4 = _mm256_broadcast_ss(x_c + 5 * X_w); acc_4_0 = FMA_IN_PLACE(x_4, w_0, acc_4_0); acc_4_1 = FMA_IN_PLACE(x_4, w_1, acc_4_1); }
                { const __m256 x_5 = _mm256_broadcast_ss(x_c + 6 * X_w); acc_5_0 = FMA_IN_PLACE(x_5, w_0, acc_5_0); acc_5_1 = FMA_IN_PLACE(x_5, w_1, acc_5_1); }
            }
            KEEP_APART;
            {
                const __m256 w_0 = _mm256_loadu_ps(w_c + 32);
                const __m256 w_1 = _mm256_loadu_ps(w_c + 40);
                { const __m256 x_0 = _mm256_broadcast_ss(x_c + 2 * X_w); acc_0_0 = FMA_IN_PLACE(x_0, w_0, acc_0_0); acc_0_1 = FMA_IN_PLACE(x_0, w_1, acc_0_1); }
                { const __m256 x_1 = _mm256_broadcast_ss(x_c + 3 * X_w); acc_1_0 = FMA_IN_PLACE(x_1, w_0, acc_1_0); acc_1_1 = FMA_IN_PLACE(x_1, w_1, acc_1_1); }
                { const __m256 x_2 = _mm256_broadcast_ss(x_c + 4 * X_w); acc_2_0 = FMA_IN_PLACE(x_2, w_0, acc_2_0); acc_2_1 = FMA_IN_PLACE(x_2, w_1, acc_2_1); }
                { const __m256 x_3 = _mm256_broadcast_ss(x_c + 5 * X_w); acc_3_0 = FMA_IN_PLACE(x_3, w_0, acc_3_0); acc_3_1 = FMA_IN_PLACE(x_3, w_1, acc_3_1); }
                { const __m256 x_4 = _mm256_broadcast_ss(x_c + 6 * X_w); acc_4_0 = FMA_IN_PLACE(x_4, w_0, acc_4_0); acc_4_1 = FMA_IN_PLACE(x_4, w_1, acc_4_1); }
            }
        }
    }
    _mm256_storeu_ps(y, acc_0_0);
    _mm256_storeu_ps(y + 8 * Y_k, acc_0_1);
    _mm256_storeu_ps(y + Y_w, acc_1_0);
    _mm256_storeu_ps(y + Y_w + 8 * Y_k, acc_1_1);
    _mm256_storeu_ps(y + 2 * Y_w, acc_2_0);
    _mm256_storeu_ps(y + 2 * Y_w + 8 * Y_k, acc_2_1);
    _mm256_storeu_ps(y + 3 * Y_w, acc_3_0);
    _mm256_storeu_ps(y + 3 * Y_w + 8 * Y_k, acc_3_1);
    _mm256_storeu_ps(y + 4 * Y_w, acc_4_0);
    _mm256_storeu_ps(y + 4 * Y_w + 8 * Y_k, acc_4_1);
    _mm256_storeu_ps(y + 5 * Y_w, acc_5_0);
    _mm256_storeu_ps(y + 5 * Y_w + 8 * Y_k, acc_5_1);
}

/* Whether this CPU runs the kernel. This function and the packing run on any CPU. */
__attribute__((target("no-avx"))) int conv2d_f32_c8_h3_w12_k16_r3_s3_pad1__avx2_supported(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

/* The loops over tiles. Their variables are positions. A tile gets pointers to its own first x, panel and y. */
void conv2d_f32_c8_h3_w12_k16_r3_s3_pad1__avx2_run(const float *restrict X, const float *restrict W, float *restrict Y)
{
    for (long h = 0; h < 3; ++h) {
        for (long w = 0; w < 12; w += 6) {
            const long r_begin = (0 > -h + 1 ? 0 : -h + 1);
            const long r_end = (3 < -h + 4 ? 3 : -h + 4);
            if (w < 6) {
                tile0_6wx16kx3s_wpad0(X + (h - 1) * X_h + (w - 1) * X_w, W, Y + h * Y_h + w * Y_w, r_begin, r_end);
            } else {
                tile1_6wx16kx3s_wpad1(X + (h - 1) * X_h + (w - 1) * X_w, W, Y + h * Y_h + w * Y_w, r_begin, r_end);
            }
        }
    }
}

/* Packs the weights. They lie in memory as w[k, c, r, s] of 16 x 8 x 3 x 3. */
__attribute__((target("no-avx"))) void conv2d_f32_c8_h3_w12_k16_r3_s3_pad1__avx2_pack_run(const float *restrict W, float *restrict packed)
{
    const long W_k = 72, W_c = 9, W_r = 3, W_s = 1;
    for (long r = 0; r < 3; ++r) {
        for (long c = 0; c < 8; ++c) {
            for (long s_u = 0; s_u < 3; ++s_u) {
                for (long k_u = 0; k_u < 2; ++k_u) {
                    for (long lane = 0; lane < 8; ++lane) {
                        packed[8 * k_u + lane + 384 * r + 48 * c + 16 * s_u] = W[(8 * k_u + lane) * W_k + c * W_c + r * W_r + s_u * W_s];
                    }
                }
            }
        }
    }
}

/*
 * A whole call: it checks the CPU.
 * A caller that has done so calls conv2d_f32_c8_h3_w12_k16_r3_s3_pad1__avx2_run.
 */
#include <stdio.h>
#include <stdlib.h>

void conv2d_f32_c8_h3_w12_k16_r3_s3_pad1__avx2(const float *restrict X, const float *restrict W, float *restrict Y)
{
    if (!conv2d_f32_c8_h3_w12_k16_r3_s3_pad1__avx2_supported()) {
        fputs("conv2d_f32_c8_h3_w12_k16_r3_s3_pad1__avx2: this CPU lacks avx2 or fma\n", stderr);
        abort();
    }
    conv2d_f32_c8_h3_w12_k16_r3_s3_pad1__avx2_run(X, W, Y);
}

/* Packs the weights, once for many calls. */
__attribute__((target("no-avx"))) void conv2d_f32_c8_h3_w12_k16_r3_s3_pad1__avx2_pack(const float *restrict W, float *restrict packed)
{
    conv2d_f32_c8_h3_w12_k16_r3_s3_pad1__avx2_pack_run(W, packed);
}
