/*
 * depthwise2d n=2,c=37,h=9,w=8,k=37,r=3,s=3,groups=37,pad=1
 *
 * Written by Tilewright VERSION from the scheme
 *
 *     R(n) R(c) T(h,9) T(w,2) S(y) T(r,3) T(s,3) U(w,4) V(c,8)
 *
 *     for n in 2 steps of 1:
 *       for c in 5 steps of 8:
 *         for h in 9 steps of 1:
 *           for w in 2 steps of 4:
 *             with the tile of y in registers:
 *               for r in 3 steps of 1:
 *                 for s in 3 steps of 1:
 *                   register tile 8c × 4w
 *
 * Microkernels:
 *     f32_depthwise2d_ukernel_4wx8c_s1__avx2: 4 FMAs, 5 loads and no stores per step, 6 of 16 registers (4 accumulators)
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

/* 4 rows x 1 vectors, summed over r from r_begin to r_end, s from 0 to 1, s from 1 to 3; c < 32; w < 4. */
static void tile0_4wx8c_wpad0(const float *x, const float *w, float *y, long r_begin, long r_end)
{
    __m256 acc_0_0 = _mm256_setzero_ps();
    __m256 acc_1_0 = _mm256_setzero_ps();
    __m256 acc_2_0 = _mm256_setzero_ps();
    __m256 acc_3_0 = _mm256_setzero_ps();
    for (long r = r_begin; r < r_end; ++r) {
        const float *x_r = x + r * X_h;
        const float *w_r = w + 24 * r;
        for (long s = 0; s < 1; ++s) {
            const float *x_s = x_r + s * X_w;
            const float *w_s = w_r + 8 * s;
            const __m256 w_0 = _mm256_loadu_ps(w_s);
            { const __m256 x_0 = _mm256_loadu_ps(x_s + X_w); acc_1_0 = _mm256_fmadd_ps(x_0, w_0, acc_1_0); }
            { const __m256 x_1 = _mm256_loadu_ps(x_s + 2 * X_w); acc_2_0 = _mm256_fmadd_ps(x_1, w_0, acc_2_0); }
            { const __m256 x_2 = _mm256_loadu_ps(x_s + 3 * X_w); acc_3_0 = _mm256_fmadd_ps(x_2, w_0, acc_3_0); }
        }
        for (long s = 1; s < 3; ++s) {
            const float *x_s = x_r + s * X_w;
            const float *w_s = w_r + 8 * s;
            const __m256 w_0 = _mm256_loadu_ps(w_s);
            { const __m256 x_0 = _mm256_loadu_ps(x_s); acc_0_0 = _mm256_fmadd_ps(x_0, w_0, acc_0_0); }
            { const __m256 x_1 = _mm256_loadu_ps(x_s + X_w); acc_1_0 = _mm256_fmadd_ps(x_1, w_0, acc_1_0); }
            { const __m256 x_2 = _mm256_loadu_ps(x_s + 2 * X_w); acc_2_0 = _mm256_fmadd_ps(x_2, w_0, acc_2_0); }
            { const __m256 x_3 = _mm256_loadu_ps(x_s + 3 * X_w); acc_3_0 = _mm256_fmadd_ps(x_3, w_0, acc_3_0); }
        }
    }
    _mm256_storeu_ps(y, acc_0_0);
    _mm256_storeu_ps(y + Y_w, acc_1_0);
    _mm256_storeu_ps(y + 2 * Y_w, acc_2_0);
    _mm256_storeu_ps(y + 3 * Y_w, acc_3_0);
}

/* 4 rows x 1 vectors, summed over r from r_begin to r_end, s from 0 to 2, s from 2 to 3; c < 32; 4 <= w. */
static void tile1_4wx8c_wpad1(const float *x, const float *w, float *y, long r_begin, long r_end)
{
    __m256 acc_0_0 = _mm256_setzero_ps();
    __m256 acc_1_0 = _mm256_setzero_ps();
    __m256 acc_2_0 = _mm256_setzero_ps();
    __m256 acc_3_0 = _mm256_setzero_ps();
    for (long r = r_begin; r < r_end; ++r) {
        const float *x_r = x + r * X_h;
        const float *w_r = w + 24 * r;
        for (long s = 0; s < 2; ++s) {
            const float *x_s = x_r + s * X_w;
            const float *w_s = w_r + 8 * s;
            const __m256 w_0 = _mm256_loadu_ps(w_s);
            { const __m256 x_0 = _mm256_loadu_ps(x_s); acc_0_0 = _mm256_fmadd_ps(x_0, w_0, acc_0_0); }
            { const __m256 x_1 = _mm256_loadu_ps(x_s + X_w); acc_1_0 = _mm256_fmadd_ps(x_1, w_0, acc_1_0); }
            { const __m256 x_2 = _mm256_loadu_ps(x_s + 2 * X_w); acc_2_0 = _mm256_fmadd_ps(x_2, w_0, acc_2_0); }
            { const __m256 x_3 = _mm256_loadu_ps(x_s + 3 * X_w); acc_3_0 = _mm256_fmadd_ps(x_3, w_0, acc_3_0); }
        }
        for (long s = 2; s < 3; ++s) {
            const float *x_s = x_r + s * X_w;
            const float *w_s = w_r + 8 * s;
            const __m256 w_0 = _mm256_loadu_ps(w_s);
            { const __m256 x_0 = _mm256_loadu_ps(x_s); acc_0_0 = _mm256_fmadd_ps(x_0, w_0, acc_0_0); }
            { const __m256 x_1 = _mm256_loadu_ps(x_s + X_w); acc_1_0 = _mm256_fmadd_ps(x_1, w_0, acc_1_0); }
            { const __m256 x_2 = _mm256_loadu_ps(x_s + 2 * X_w); acc_2_0 = _mm256_fmadd_ps(x_2, w_0, acc_2_0); }
        }
    }
    _mm256_storeu_ps(y, acc_0_0);
    _mm256_storeu_ps(y + Y_w, acc_1_0);
    _mm256_storeu_ps(y + 2 * Y_w, acc_2_0);
    _mm256_storeu_ps(y + 3 * Y_w, acc_3_0);
}

/* 4 rows x 1 vectors, summed over r from r_begin to r_end, s from 0 to 1, s from 1 to 3; 32 <= c; w < 4. */
static void tile2_4wx8c_tail_wpad0(const float *x, const float *w, float *y, long r_begin, long r_end)
{
    __m256 acc_0_0 = _mm256_setzero_ps();
    __m256 acc_1_0 = _mm256_setzero_ps();
    __m256 acc_2_0 = _mm256_setzero_ps();
    __m256 acc_3_0 = _mm256_setzero_ps();
    for (long r = r_begin; r < r_end; ++r) {
        const float *x_r = x + r * X_h;
        const float *w_r = w + 24 * r;
        for (long s = 0; s < 1; ++s) {
            const float *x_s = x_r + s * X_w;
            const float *w_s = w_r + 8 * s;
            const __m256 w_0 = _mm256_loadu_ps(w_s);
            { const __m256 x_0 = _mm256_maskload_ps(x_s + X_w, TAIL); acc_1_0 = _mm256_fmadd_ps(x_0, w_0, acc_1_0); }
            { const __m256 x_1 = _mm256_maskload_ps(x_s + 2 * X_w, TAIL); acc_2_0 = _mm256_fmadd_ps(x_1, w_0, acc_2_0); }
            { const __m256 x_2 = _mm256_maskload_ps(x_s + 3 * X_w, TAIL); acc_3_0 = _mm256_fmadd_ps(x_2, w_0, acc_3_0); }
        }
        for (long s = 1; s < 3; ++s) {
            const float *x_s = x_r + s * X_w;
            const float *w_s = w_r + 8 * s;
            const __m256 w_0 = _mm256_loadu_ps(w_s);
            { const __m256 x_0 = _mm256_maskload_ps(x_s, TAIL); acc_0_0 = _mm256_fmadd_ps(x_0, w_0, acc_0_0); }
            { const __m256 x_1 = _mm256_maskload_ps(x_s + X_w, TAIL); acc_1_0 = _mm256_fmadd_ps(x_1, w_0, acc_1_0); }
            { const __m256 x_2 = _mm256_maskload_ps(x_s + 2 * X_w, TAIL); acc_2_0 = _mm256_fmadd_ps(x_2, w_0, acc_2_0); }
            { const __m256 x_3 = _mm256_maskload_ps(x_s + 3 * X_w, TAIL); acc_3_0 = _mm256_fmadd_ps(x_3, w_0, acc_3_0); }
        }
    }
    store_lanes(y, acc_0_0, 5);
    store_lanes(y + Y_w, acc_1_0, 5);
    store_lanes(y + 2 * Y_w, acc_2_0, 5);
    store_lanes(y + 3 * Y_w, acc_3_0, 5);
}

/* 4 rows x 1 vectors, summed over r from r_begin to r_end, s from 0 to 2, s from 2 to 3; 32 <= c; 4 <= w. */
static void tile3_4wx8c_tail_wpad1(const float *x, const float *w, float *y, long r_begin, long r_end)
{
    __m256 acc_0_0 = _mm256_setzero_ps();
    __m256 acc_1_0 = _mm256_setzero_ps();
    __m256 acc_2_0 = _mm256_setzero_ps();
    __m256 acc_3_0 = _mm256_setzero_ps();
    for (long r = r_begin; r < r_end; ++r) {
        const float *x_r = x + r * X_h;
        const float *w_r = w + 24 * r;
        for (long s = 0; s < 2; ++s) {
            const float *x_s = x_r + s * X_w;
            const float *w_s = w_r + 8 * s;
            const __m256 w_0 = _mm256_loadu_ps(w_s);
            { const __m256 x_0 = _mm256_maskload_ps(x_s, TAIL); acc_0_0 = _mm256_fmadd_ps(x_0, w_0, acc_0_0); }
            { const __m256 x_1 = _mm256_maskload_ps(x_s + X_w, TAIL); acc_1_0 = _mm256_fmadd_ps(x_1, w_0, acc_1_0); }
            { const __m256 x_2 = _mm256_maskload_ps(x_s + 2 * X_w, TAIL); acc_2_0 = _mm256_fmadd_ps(x_2, w_0, acc_2_0); }
            { const __m256 x_3 = _mm256_maskload_ps(x_s + 3 * X_w, TAIL); acc_3_0 = _mm256_fmadd_ps(x_3, w_0, acc_3_0); }
        }
        for (long s = 2; s < 3; ++s) {
            const float *x_s = x_r + s * X_w;
            const float *w_s = w_r + 8 * s;
            const __m256 w_0 = _mm256_loadu_ps(w_s);
            { const __m256 x_0 = _mm256_maskload_ps(x_s, TAIL); acc_0_0 = _mm256_fmadd_ps(x_0, w_0, acc_0_0); }
            { const __m256 x_1 = _mm256_maskload_ps(x_s + X_w, TAIL); acc_1_0 = _mm256_fmadd_ps(x_1, w_0, acc_1_0); }
            { const __m256 x_2 = _mm256_maskload_ps(x_s + 2 * X_w, TAIL); acc_2_0 = _mm256_fmadd_ps(x_2, w_0, acc_2_0); }
        }
    }
    store_lanes(y, acc_0_0, 5);
    store_lanes(y + Y_w, acc_1_0, 5);
    store_lanes(y + 2 * Y_w, acc_2_0, 5);
    store_lanes(y + 3 * Y_w, acc_3_0, 5);
}

/* Whether this CPU runs the kernel. This function and the packing run on any CPU. */
__attribute__((target("no-avx"))) int depthwise2d_f32_n2_c37_h9_w8_k37_r3_s3_groups37_pad1__avx2_supported(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

/* The loops over tiles. Their variables are positions. A tile gets pointers to its own first x, panel and y. */
void depthwise2d_f32_n2_c37_h9_w8_k37_r3_s3_groups37_pad1__avx2_run(const float *restrict X, const float *restrict W, float *restrict Y)
{
    for (long n = 0; n < 2; ++n) {
        for (long c = 0; c < 40; c += 8) {
            for (long h = 0; h < 9; ++h) {
                for (long w = 0; w < 8; w += 4) {
                    const long r_begin = (0 > -h + 1 ? 0 : -h + 1);
                    const long r_end = (3 < -h + 10 ? 3 : -h + 10);
                    if (c < 32) {
                        if (w < 4) {
                            tile0_4wx8c_wpad0(X + n * X_n + (h - 1) * X_h + (w - 1) * X_w + c * X_c, W + 9 * c, Y + n * Y_n + h * Y_h + w * Y_w + c * Y_c, r_begin, r_end);
                        } else {
                            tile1_4wx8c_wpad1(X + n * X_n + (h - 1) * X_h + (w - 1) * X_w + c * X_c, W + 9 * c, Y + n * Y_n + h * Y_h + w * Y_w + c * Y_c, r_begin, r_end);
                        }
                    } else if (w < 4) {
                        tile2_4wx8c_tail_wpad0(X + n * X_n + (h - 1) * X_h + (w - 1) * X_w + c * X_c, W + 9 * c, Y + n * Y_n + h * Y_h + w * Y_w + c * Y_c, r_begin, r_end);
                    } else {
                        tile3_4wx8c_tail_wpad1(X + n * X_n + (h - 1) * X_h + (w - 1) * X_w + c * X_c, W + 9 * c, Y + n * Y_n + h * Y_h + w * Y_w + c * Y_c, r_begin, r_end);
                    }
                }
            }
        }
    }
}

/* Packs the weights. They lie in memory as w[c, 0, r, s] of 37 x 1 x 3 x 3. */
__attribute__((target("no-avx"))) void depthwise2d_f32_n2_c37_h9_w8_k37_r3_s3_groups37_pad1__avx2_pack_run(const float *restrict W, float *restrict packed)
{
    const long W_c = 9, W_r = 3, W_s = 1;
    for (long c = 0; c < 40; c += 8) {
        for (long r = 0; r < 3; ++r) {
            for (long s = 0; s < 3; ++s) {
                for (long lane = 0; lane < 8; ++lane) {
                    if (c + lane < 37) {
                        packed[9 * c + lane + 24 * r + 8 * s] = W[(c + lane) * W_c + r * W_r + s * W_s];
                    } else {
                        packed[9 * c + lane + 24 * r + 8 * s] = 0;
                    }
                }
            }
        }
    }
}

/*
 * A whole call: it checks the CPU.
 * A caller that has done so calls depthwise2d_f32_n2_c37_h9_w8_k37_r3_s3_groups37_pad1__avx2_run.
 */
#include <stdio.h>
#include <stdlib.h>

void depthwise2d_f32_n2_c37_h9_w8_k37_r3_s3_groups37_pad1__avx2(const float *restrict X, const float *restrict W, float *restrict Y)
{
    if (!depthwise2d_f32_n2_c37_h9_w8_k37_r3_s3_groups37_pad1__avx2_supported()) {
        fputs("depthwise2d_f32_n2_c37_h9_w8_k37_r3_s3_groups37_pad1__avx2: this CPU lacks avx2 or fma\n", stderr);
        abort();
    }
    depthwise2d_f32_n2_c37_h9_w8_k37_r3_s3_groups37_pad1__avx2_run(X, W, Y);
}

/* Packs the weights, once for many calls. */
__attribute__((target("no-avx"))) void depthwise2d_f32_n2_c37_h9_w8_k37_r3_s3_groups37_pad1__avx2_pack(const float *restrict W, float *restrict packed)
{
    depthwise2d_f32_n2_c37_h9_w8_k37_r3_s3_groups37_pad1__avx2_pack_run(W, packed);
}
