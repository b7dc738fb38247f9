/*
 * conv2d c=5,h=4,w=6,k=37,r=1,s=3,pad_w=1,dtype=bf16,epilogue=relu(y+b[k])
 *
 * Written by Tilewright VERSION from the scheme
 *
 *     R(k) T(h,4) S(y) T(c,3) U(s,3) U(w,6) U(k,3) D(c,2) V(k,16)
 *
 *     for k in 1 step of 48:
 *       for h in 4 steps of 1:
 *         with the tile of y in registers:
 *           for c in 3 steps of 1:
 *             register tile 48k × 6w × 3s
 *
 * Microkernels:
 *     bf16_conv2d_ukernel_6wx48kx3s_s1__avx512bf16: 54 FMAs, 17 loads and no stores per step, 22 of 32 registers (18 accumulators)
 *
 * Operands, row-major bf16:
 *     X: x[n, h + r, w + s - 1, c] of 1 x 4 x 6 x 5
 *     W: w[k, c, r, s] of 37 x 5 x 1 x 3
 *     Y: y[n, h, w, k] of 1 x 4 x 6 x 37
 *     E_b: b[k] of 37
 *     X is copied first: x[n, h + r, w + s - 1, c] of 1 x 4 x 6 x 3.
 *     W is packed: the scheme's panels, one after the other, with reduction points in the order of its loops.
 */
#include <immintrin.h>
#include <stdint.h>

/* Up to two bf16 side by side, in the 32 bits of a lane, at any address. */
typedef float word __attribute__((aligned(1), may_alias));
/* Adds to each lane of acc, a float, the products of its two bf16 of x and of w. */
static inline __m512 dot(__m512 x, __m512 w, __m512 acc) { return _mm512_dpbf16_ps(acc, (__m512bh)x, (__m512bh)w); }
#include <string.h>

static inline __m256i to_bf16(__m512 v) { return (__m256i)_mm512_cvtneps_pbh(v); }
static inline __m512i line_of_bf16(__m512 a, __m512 b) { return (__m512i)_mm512_cvtne2ps_pbh(b, a); }

/* Elements (words of X) between neighbours along each axis: X_h is along h of X. W has none: tiles read it packed, in
 * the order of the loops. */
static const long input_row = 5;
static const long Y_h = 222;
static const long Y_w = 37;
static const long Y_k = 1;
static const long STEP_b_k = 1;
static const long x_copy_row = 6;
static const long x_copy_number = 1;
static const long X_h = 18;
static const long X_w = 3;
static const long X_c = 1;

#define TAIL ((__mmask16)0x001f) /* the 5 lanes used of the last vector */

/* Gives an accumulator a register of its own. Where several begin with the same bias, the compiler would keep the bias
 * in one more register, which an accumulator needs. */
#define OWN(acc) __asm__ volatile("" : "+v"(acc))

/* Each sum begins with E_b of its channel. The rest of the epilogue follows below. */

/* The epilogue, applied to each vector as it is stored:
 *
 *     relu(y)
 *
 * A NaN gives a NaN. Errors are in units in the last place (ulp) of the result. An exponential below about e^-87 counts
 * as 0, by which a result may be off by 2^-119 besides. */
/* Volatile, so a tile reads zero once, when its sums are done. gcc would keep a bound that it knows in a register
 * through the inner loops, and spill an accumulator for it: above all zero, with which it also clears accumulators. */
static const volatile __m512 zeros = {0};
static inline __m512 relu_of(__m512 v, __m512 zero) { return _mm512_max_ps(zero, v); }

static inline __m512 epilogue(__m512 y, __m512 zero)
{
    return relu_of(y, zero);
}

/* 6 rows x 3 vectors, summed over c from 0 to 3. */
static void tile0_6wx48kx3s(const word *x, const word *w, uint16_t *y, const float *e_b)
{
    __m512 acc_0_0 = _mm512_loadu_ps(e_b);
    OWN(acc_0_0);
    __m512 acc_0_1 = _mm512_loadu_ps(e_b + 16 * STEP_b_k);
    OWN(acc_0_1);
    __m512 acc_0_2 = _mm512_maskz_loadu_ps(TAIL, e_b + 32 * STEP_b_k);
    OWN(acc_0_2);
    __m512 acc_1_0 = _mm512_loadu_ps(e_b);
    OWN(acc_1_0);
    __m512 acc_1_1 = _mm512_loadu_ps(e_b + 16 * STEP_b_k);
    OWN(acc_1_1);
    __m512 acc_1_2 = _mm512_maskz_loadu_ps(TAIL, e_b + 32 * STEP_b_k);
    OWN(acc_1_2);
    __m512 acc_2_0 = _mm512_loadu_ps(e_b);
    OWN(acc_2_0);
    __m512 acc_2_1 = _mm512_loadu_ps(e_b + 16 * STEP_b_k);
    OWN(acc_2_1);
    __m512 acc_2_2 = _mm512_maskz_loadu_ps(TAIL, e_b + 32 * STEP_b_k);
    OWN(acc_2_2);
    __m512 acc_3_0 = _mm512_loadu_ps(e_b);
    OWN(acc_3_0);
    __m512 acc_3_1 = _mm512_loadu_ps(e_b + 16 * STEP_b_k);
    OWN(acc_3_1);
    __m512 acc_3_2 = _mm512_maskz_loadu_ps(TAIL, e_b + 32 * STEP_b_k);
    OWN(acc_3_2);
    __m512 acc_4_0 = _mm512_loadu_ps(e_b);
    OWN(acc_4_0);
    __m512 acc_4_1 = _mm512_loadu_ps(e_b + 16 * STEP_b_k);
    OWN(acc_4_1);
    __m512 acc_4_2 = _mm512_maskz_loadu_ps(TAIL, e_b + 32 * STEP_b_k);
    OWN(acc_4_2);
    __m512 acc_5_0 = _mm512_loadu_ps(e_b);
    OWN(acc_5_0);
    __m512 acc_5_1 = _mm512_loadu_ps(e_b + 16 * STEP_b_k);
    OWN(acc_5_1);
    __m512 acc_5_2 = _mm512_maskz_loadu_ps(TAIL, e_b + 32 * STEP_b_k);
    OWN(acc_5_2);
    for (long c = 0; c < 3; ++c) {
        const word *x_c = x + c * X_c;
        const word *w_c = w + 144 * c;
        const __m512 w_0_0 = _mm512_loadu_ps(w_c);
        const __m512 w_0_1 = _mm512_loadu_ps(w_c + 16);
        const __m512 w_0_2 = _mm512_loadu_ps(w_c + 32);
        const __m512 w_1_0 = _mm512_loadu_ps(w_c + 48);
        const __m512 w_1_1 = _mm512_loadu_ps(w_c + 64);
        const __m512 w_1_2 = _mm512_loadu_ps(w_c + 80);
        const __m512 w_2_0 = _mm512_loadu_ps(w_c + 96);
        const __m512 w_2_1 = _mm512_loadu_ps(w_c + 112);
        const __m512 w_2_2 = _mm512_loadu_ps(w_c + 128);
        { const __m512 x_0 = _mm512_set1_ps(*(x_c + X_w)); acc_1_0 = dot(x_0, w_0_0, acc_1_0); acc_1_1 = dot(x_0, w_0_1, acc_1_1); acc_1_2 = dot(x_0, w_0_2, acc_1_2); acc_0_0 = dot(x_0, w_1_0, acc_0_0); acc_0_1 = dot(x_0, w_1_1, acc_0_1); acc_0_2 = dot(x_0, w_1_2, acc_0_2); }
        { const __m512 x_1 = _mm512_set1_ps(*(x_c + 2 * X_w)); acc_2_0 = dot(x_1, w_0_0, acc_2_0); acc_2_1 = dot(x_1, w_0_1, acc_2_1); acc_2_2 = dot(x_1, w_0_2, acc_2_2); acc_1_0 = dot(x_1, w_1_0, acc_1_0); acc_1_1 = dot(x_1, w_1_1, acc_1_1); acc_1_2 = dot(x_1, w_1_2, acc_1_2); acc_0_0 = dot(x_1, w_2_0, acc_0_0); acc_0_1 = dot(x_1, w_2_1, acc_0_1); acc_0_2 = dot(x_1, w_2_2, acc_0_2); }
        { const __m512 x_2 = _mm512_set1_ps(*(x_c + 3 * X_w)); acc_3_0 = dot(x_2, w_0_0, acc_3_0); acc_3_1 = dot(x_2, w_0_1, acc_3_1); acc_3_2 = dot(x_2, w_0_2, acc_3_2); acc_2_0 = dot(x_2, w_1_0, acc_2_0); acc_2_1 = dot(x_2, w_1_1, acc_2_1); acc_2_2 = dot(x_2, w_1_2, acc_2_2); acc_1_0 = dot(x_2, w_2_0, acc_1_0); acc_1_1 = dot(x_2, w_2_1, acc_1_1); acc_1_2 = dot(x_2, w_2_2, acc_1_2); }
        { const __m512 x_3 = _mm512_set1_ps(*(x_c + 4 * X_w)); acc_4_0 = dot(x_3, w_0_0, acc_4_0); acc_4_1 = dot(x_3, w_0_1, acc_4_1); acc_4_2 = dot(x_3, w_0_2, acc_4_2); acc_3_0 = dot(x_3, w_1_0, acc_3_0); acc_3_1 = dot(x_3, w_1_1, acc_3_1); acc_3_2 = dot(x_3, w_1_2, acc_3_2); acc_2_0 = dot(x_3, w_2_0, acc_2_0); acc_2_1 = dot(x_3, w_2_1, acc_2_1); acc_2_2 = dot(x_3, w_2_2, acc_2_2); }
        { const __m512 x_4 = _mm512_set1_ps(*(x_c + 5 * X_w)); acc_5_0 = dot(x_4, w_0_0, acc_5_0); acc_5_1 = dot(x_4, w_0_1, acc_5_1); acc_5_2 = dot(x_4, w_0_2, acc_5_2); acc_4_0 = dot(x_4, w_1_0, acc_4_0); acc_4_1 = dot(x_4, w_1_1, acc_4_1); acc_4_2 = dot(x_4, w_1_2, acc_4_2); acc_3_0 = dot(x_4, w_2_0, acc_3_0); acc_3_1 = dot(x_4, w_2_1, acc_3_1); acc_3_2 = dot(x_4, w_2_2, acc_3_2); }
        { const __m512 x_5 = _mm512_set1_ps(*(x_c + 6 * X_w)); acc_5_0 = dot(x_5, w_1_0, acc_5_0); acc_5_1 = dot(x_5, w_1_1, acc_5_1); acc_5_2 = dot(x_5, w_1_2, acc_5_2); acc_4_0 = dot(x_5, w_2_0, acc_4_0); acc_4_1 = dot(x_5, w_2_1, acc_4_1); acc_4_2 = dot(x_5, w_2_2, acc_4_2); }
    }
    const __m512 zero = zeros;
    _mm512_storeu_si512(y, line_of_bf16(epilogue(acc_0_0, zero), epilogue(acc_0_1, zero)));
    _mm256_mask_storeu_epi16(y + 32 * Y_k, TAIL, to_bf16(epilogue(acc_0_2, zero)));
    _mm512_storeu_si512(y + Y_w, line_of_bf16(epilogue(acc_1_0, zero), epilogue(acc_1_1, zero)));
    _mm256_mask_storeu_epi16(y + Y_w + 32 * Y_k, TAIL, to_bf16(epilogue(acc_1_2, zero)));
    _mm512_storeu_si512(y + 2 * Y_w, line_of_bf16(epilogue(acc_2_0, zero), epilogue(acc_2_1, zero)));
    _mm256_mask_storeu_epi16(y + 2 * Y_w + 32 * Y_k, TAIL, to_bf16(epilogue(acc_2_2, zero)));
    _mm512_storeu_si512(y + 3 * Y_w, line_of_bf16(epilogue(acc_3_0, zero), epilogue(acc_3_1, zero)));
    _mm256_mask_storeu_epi16(y + 3 * Y_w + 32 * Y_k, TAIL, to_bf16(epilogue(acc_3_2, zero)));
    _mm512_storeu_si512(y + 4 * Y_w, line_of_bf16(epilogue(acc_4_0, zero), epilogue(acc_4_1, zero)));
    _mm256_mask_storeu_epi16(y + 4 * Y_w + 32 * Y_k, TAIL, to_bf16(epilogue(acc_4_2, zero)));
    _mm512_storeu_si512(y + 5 * Y_w, line_of_bf16(epilogue(acc_5_0, zero), epilogue(acc_5_1, zero)));
    _mm256_mask_storeu_epi16(y + 5 * Y_w + 32 * Y_k, TAIL, to_bf16(epilogue(acc_5_2, zero)));
}

/* X with zeros after every 5 neighbours, so that a word holds nothing of the next pixel or group. */
static __attribute__((noinline)) void copy_of_x(const uint16_t *restrict X, uint16_t *restrict x_copy)
{
    for (long run = 0; run < 24; ++run) {
        memcpy(x_copy + run * x_copy_row, X + run * input_row, 5 * sizeof *x_copy);
        memset(x_copy + run * x_copy_row + 5 * x_copy_number, 0, 1 * sizeof *x_copy);
    }
}

/* Whether this CPU runs the kernel. This function and the packing run on any CPU. */
__attribute__((target("no-avx"))) int conv2d_bf16_c5_h4_w6_k37_r1_s3_pad_w1_relu_y_b_k_27faefbe__avx512bf16_supported(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512bf16");
}

/* The loops over tiles. Their variables are positions. A tile gets pointers to its own first x, panel and y. */
/* Y is not restrict, for two reasons. An array of its shape may be Y itself. And the compiler then reads the other
 * arrays where they are used: read earlier, they would take registers from the accumulators. */
/* `scratch`: 320 bytes for this call alone, which begin with a cache line. */
void conv2d_bf16_c5_h4_w6_k37_r1_s3_pad_w1_relu_y_b_k_27faefbe__avx512bf16_run(const uint16_t *restrict input, const uint16_t *restrict packed, uint16_t *Y, const float *E_b, char *restrict scratch)
{
    const word *const W = (const word *)packed;
    uint16_t *const x_copy = (uint16_t *)scratch;
    copy_of_x(input, x_copy);
    const word *const X = (const word *)x_copy;
    for (long h = 0; h < 4; ++h) {
        tile0_6wx48kx3s(X + h * X_h + -1 * X_w, W, Y + h * Y_h, E_b);
    }
}

/* Packs the weights. They lie in memory as w[k, c, r, s] of 37 x 5 x 1 x 3. */
__attribute__((target("no-avx"))) void conv2d_bf16_c5_h4_w6_k37_r1_s3_pad_w1_relu_y_b_k_27faefbe__avx512bf16_pack_run(const uint16_t *restrict W, uint16_t *restrict packed)
{
    const long W_k = 15, W_c = 3, W_s = 1;
    for (long c = 0; c < 3; ++c) {
        for (long s_u = 0; s_u < 3; ++s_u) {
            for (long k_u = 0; k_u < 3; ++k_u) {
                for (long lane = 0; lane < 16; ++lane) {
                    for (long number = 0; number < 2; ++number) {
                        if (16 * k_u + lane < 37 && 2 * c + number < 5) {
                            packed[32 * k_u + 2 * lane + 288 * c + 96 * s_u + number] = W[(16 * k_u + lane) * W_k + (2 * c + number) * W_c + s_u * W_s];
                        } else {
                            packed[32 * k_u + 2 * lane + 288 * c + 96 * s_u + number] = 0;
                        }
                    }
                }
            }
        }
    }
}

/*
 * A whole call: it checks the CPU and allocates scratch memory.
 * A caller that has done so calls conv2d_bf16_c5_h4_w6_k37_r1_s3_pad_w1_relu_y_b_k_27faefbe__avx512bf16_run.
 */
#include <stdio.h>
#include <stdlib.h>

void conv2d_bf16_c5_h4_w6_k37_r1_s3_pad_w1_relu_y_b_k_27faefbe__avx512bf16(const uint16_t *restrict input, const uint16_t *restrict packed, uint16_t *Y, const float *E_b)
{
    if (!conv2d_bf16_c5_h4_w6_k37_r1_s3_pad_w1_relu_y_b_k_27faefbe__avx512bf16_supported()) {
        fputs("conv2d_bf16_c5_h4_w6_k37_r1_s3_pad_w1_relu_y_b_k_27faefbe__avx512bf16: this CPU lacks avx512f or avx512vl or fma or avx512bw or avx512_bf16\n", stderr);
        abort();
    }
    char *const scratch = aligned_alloc(64, 320);
    if (!scratch) {
        fputs("conv2d_bf16_c5_h4_w6_k37_r1_s3_pad_w1_relu_y_b_k_27faefbe__avx512bf16: no memory for what it computes in between\n", stderr);
        abort();
    }
    conv2d_bf16_c5_h4_w6_k37_r1_s3_pad_w1_relu_y_b_k_27faefbe__avx512bf16_run(input, packed, Y, E_b, scratch);
    free(scratch);
}

/* Packs the weights, once for many calls. */
__attribute__((target("no-avx"))) void conv2d_bf16_c5_h4_w6_k37_r1_s3_pad_w1_relu_y_b_k_27faefbe__avx512bf16_pack(const uint16_t *restrict W, uint16_t *restrict packed)
{
    conv2d_bf16_c5_h4_w6_k37_r1_s3_pad_w1_relu_y_b_k_27faefbe__avx512bf16_pack_run(W, packed);
}
