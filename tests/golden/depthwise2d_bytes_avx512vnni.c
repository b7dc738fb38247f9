/*
 * depthwise2d c=37,h=4,w=5,k=37,r=3,s=3,groups=37,pad=1,dtype=int8,out=u8,epilogue=y*0.1+b[c]
 *
 * Written by Tilewright VERSION from the scheme
 *
 *     R(c) T(h,4) S(y) T(r,3) U(s,3) U(w,5) V(c,16)
 *
 *     for c in 3 steps of 16:
 *       for h in 4 steps of 1:
 *         with the tile of y in registers:
 *           for r in 3 steps of 1:
 *             register tile 16c × 5w × 3s
 *
 * Microkernels:
 *     int8_depthwise2d_ukernel_5wx16cx3s_s1__avx512vnni: 15 FMAs, 10 loads and no stores per step, 7 of 32 registers (5 accumulators)
 *
 * Operands, row-major u8, s8:
 *     X: x[n, h + r - 1, w + s - 1, c] of 1 x 4 x 5 x 37
 *     W: w[c, 0, r, s] of 37 x 1 x 3 x 3
 *     Y: y[n, h, w, c] of 1 x 4 x 5 x 37
 *     E_b: b[c] of 37
 *     W is packed: the scheme's panels, one after the other, with reduction points in the order of its loops.
 */
#include <immintrin.h>
#include <stdint.h>

/* Up to four u8 of x or four s8 of the weights side by side, in the 32 bits of a lane, at any address. */
typedef float word __attribute__((aligned(1), may_alias));
/* Adds to each lane of acc, an int32, the products of its four u8 of x and s8 of w, exactly. Not the intrinsic, since
 * gcc 12 stores every one of its results to the stack as well. */
static inline __m512 dot(__m512 x, __m512 w, __m512 acc)
{
    __asm__("vpdpbusd %2, %1, %0" : "+v"(acc) : "v"(x), "v"(w));
    return acc;
}

/* The nearest whole numbers, of two the even one. They end at 0 and 255; a NaN becomes 0. */
static inline __m512i to_u8(__m512 v)
{
    const __m512 most = _mm512_min_ps(_mm512_max_ps(v, _mm512_set1_ps(0.0f)), _mm512_set1_ps(255.0f));
    return _mm512_cvtps_epi32(most);
}
static inline __m512i line_of_u8(__m512 a, __m512 b, __m512 c, __m512 d)
{
    __m512i line = _mm512_castsi128_si512(_mm512_cvtepi32_epi8(to_u8(a)));
    line = _mm512_inserti32x4(line, _mm512_cvtepi32_epi8(to_u8(b)), 1);
    line = _mm512_inserti32x4(line, _mm512_cvtepi32_epi8(to_u8(c)), 2);
    return _mm512_inserti32x4(line, _mm512_cvtepi32_epi8(to_u8(d)), 3);
}

/* Elements between neighbours along each axis: X_h is along the axis h of X. W has none: tiles read it packed, in the
 * order of the loops. */
static const long X_h = 185;
static const long X_w = 37;
static const long X_c = 1;
static const long Y_h = 185;
static const long Y_w = 37;
static const long Y_c = 1;
static const long STEP_b_c = 1;

#define TAIL ((__mmask16)0x001f) /* the 5 lanes used of the last vector */

/* The epilogue, applied to each vector as it is stored:
 *
 *     y*0.1+b[c]
 *
 * A NaN gives a NaN. Errors are in units in the last place (ulp) of the result. An exponential below about e^-87 counts
 * as 0, by which a result may be off by 2^-119 besides. */
static inline __m512 constant(float value) { return _mm512_set1_ps(value); }

static inline __m512 epilogue(__m512 y, __m512 e_b)
{
    return y * constant(0.1f) + e_b;
}

/* Neighbours in x, each alone in the lowest bits of a word. */
static inline __m512 words_at(const uint8_t *p)
{
    return (__m512)_mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)(p)));
}
static inline __m512 words_at_tail(const uint8_t *p)
{
    return (__m512)_mm512_cvtepu8_epi32(_mm_maskz_loadu_epi8(TAIL, p));
}

/* 5 rows x 1 vectors, summed over r from r_begin to r_end; c < 32. */
static void tile0_5wx16cx3s(const uint8_t *x, const word *w, uint8_t *y, const float *e_b, long r_begin, long r_end)
{
    __m512 acc_0_0 = _mm512_setzero_ps();
    __m512 acc_1_0 = _mm512_setzero_ps();
    __m512 acc_2_0 = _mm512_setzero_ps();
    __m512 acc_3_0 = _mm512_setzero_ps();
    __m512 acc_4_0 = _mm512_setzero_ps();
    for (long r = r_begin; r < r_end; ++r) {
        const uint8_t *x_r = x + r * X_h;
        const word *w_r = w + 48 * r;
        const __m512 w_0_0 = _mm512_loadu_ps(w_r);
        const __m512 w_1_0 = _mm512_loadu_ps(w_r + 16);
        const __m512 w_2_0 = _mm512_loadu_ps(w_r + 32);
        { const __m512 x_0 = words_at(x_r + X_w); acc_1_0 = dot(x_0, w_0_0, acc_1_0); acc_0_0 = dot(x_0, w_1_0, acc_0_0); }
        { const __m512 x_1 = words_at(x_r + 2 * X_w); acc_2_0 = dot(x_1, w_0_0, acc_2_0); acc_1_0 = dot(x_1, w_1_0, acc_1_0); acc_0_0 = dot(x_1, w_2_0, acc_0_0); }
        { const __m512 x_2 = words_at(x_r + 3 * X_w); acc_3_0 = dot(x_2, w_0_0, acc_3_0); acc_2_0 = dot(x_2, w_1_0, acc_2_0); acc_1_0 = dot(x_2, w_2_0, acc_1_0); }
        { const __m512 x_3 = words_at(x_r + 4 * X_w); acc_4_0 = dot(x_3, w_0_0, acc_4_0); acc_3_0 = dot(x_3, w_1_0, acc_3_0); acc_2_0 = dot(x_3, w_2_0, acc_2_0); }
        { const __m512 x_4 = words_at(x_r + 5 * X_w); acc_4_0 = dot(x_4, w_1_0, acc_4_0); acc_3_0 = dot(x_4, w_2_0, acc_3_0); }
    }
    _mm_storeu_si128((__m128i *)(y), _mm512_cvtepi32_epi8(to_u8(epilogue(_mm512_cvtepi32_ps((__m512i)(acc_0_0)), _mm512_loadu_ps(e_b)))));
    _mm_storeu_si128((__m128i *)(y + Y_w), _mm512_cvtepi32_epi8(to_u8(epilogue(_mm512_cvtepi32_ps((__m512i)(acc_1_0)), _mm512_loadu_ps(e_b)))));
    _mm_storeu_si128((__m128i *)(y + 2 * Y_w), _mm512_cvtepi32_epi8(to_u8(epilogue(_mm512_cvtepi32_ps((__m512i)(acc_2_0)), _mm512_loadu_ps(e_b)))));
    _mm_storeu_si128((__m128i *)(y + 3 * Y_w), _mm512_cvtepi32_epi8(to_u8(epilogue(_mm512_cvtepi32_ps((__m512i)(acc_3_0)), _mm512_loadu_ps(e_b)))));
    _mm_storeu_si128((__m128i *)(y + 4 * Y_w), _mm512_cvtepi32_epi8(to_u8(epilogue(_mm512_cvtepi32_ps((__m512i)(acc_4_0)), _mm512_loadu_ps(e_b)))));
}

/* 5 rows x 1 vectors, summed over r from r_begin to r_end; 32 <= c. */
static void tile1_5wx16cx3s_tail(const uint8_t *x, const word *w, uint8_t *y, const float *e_b, long r_begin, long r_end)
{
    __m512 acc_0_0 = _mm512_setzero_ps();
    __m512 acc_1_0 = _mm512_setzero_ps();
    __m512 acc_2_0 = _mm512_setzero_ps();
    __m512 acc_3_0 = _mm512_setzero_ps();
    __m512 acc_4_0 = _mm512_setzero_ps();
    for (long r = r_begin; r < r_end; ++r) {
        const uint8_t *x_r = x + r * X_h;
        const word *w_r = w + 48 * r;
        const __m512 w_0_0 = _mm512_loadu_ps(w_r);
        const __m512 w_1_0 = _mm512_loadu_ps(w_r + 16);
        const __m512 w_2_0 = _mm512_loadu_ps(w_r + 32);
        { const __m512 x_0 = words_at_tail(x_r + X_w); acc_1_0 = dot(x_0, w_0_0, acc_1_0); acc_0_0 = dot(x_0, w_1_0, acc_0_0); }
        { const __m512 x_1 = words_at_tail(x_r + 2 * X_w); acc_2_0 = dot(x_1, w_0_0, acc_2_0); acc_1_0 = dot(x_1, w_1_0, acc_1_0); acc_0_0 = dot(x_1, w_2_0, acc_0_0); }
        { const __m512 x_2 = words_at_tail(x_r + 3 * X_w); acc_3_0 = dot(x_2, w_0_0, acc_3_0); acc_2_0 = dot(x_2, w_1_0, acc_2_0); acc_1_0 = dot(x_2, w_2_0, acc_1_0); }
        { const __m512 x_3 = words_at_tail(x_r + 4 * X_w); acc_4_0 = dot(x_3, w_0_0, acc_4_0); acc_3_0 = dot(x_3, w_1_0, acc_3_0); acc_2_0 = dot(x_3, w_2_0, acc_2_0); }
        { const __m512 x_4 = words_at_tail(x_r + 5 * X_w); acc_4_0 = dot(x_4, w_1_0, acc_4_0); acc_3_0 = dot(x_4, w_2_0, acc_3_0); }
    }
    _mm512_mask_cvtepi32_storeu_epi8(y, TAIL, to_u8(epilogue(_mm512_cvtepi32_ps((__m512i)(acc_0_0)), _mm512_maskz_loadu_ps(TAIL, e_b))));
    _mm512_mask_cvtepi32_storeu_epi8(y + Y_w, TAIL, to_u8(epilogue(_mm512_cvtepi32_ps((__m512i)(acc_1_0)), _mm512_maskz_loadu_ps(TAIL, e_b))));
    _mm512_mask_cvtepi32_storeu_epi8(y + 2 * Y_w, TAIL, to_u8(epilogue(_mm512_cvtepi32_ps((__m512i)(acc_2_0)), _mm512_maskz_loadu_ps(TAIL, e_b))));
    _mm512_mask_cvtepi32_storeu_epi8(y + 3 * Y_w, TAIL, to_u8(epilogue(_mm512_cvtepi32_ps((__m512i)(acc_3_0)), _mm512_maskz_loadu_ps(TAIL, e_b))));
    _mm512_mask_cvtepi32_storeu_epi8(y + 4 * Y_w, TAIL, to_u8(epilogue(_mm512_cvtepi32_ps((__m512i)(acc_4_0)), _mm512_maskz_loadu_ps(TAIL, e_b))));
}

/* Whether this CPU runs the kernel. This function and the packing run on any CPU. */
__attribute__((target("no-avx"))) int depthwise2d_int8_c37_h4_w5_k37_r3_s3_groups37_pad1_outu8_y_0_1_b_c_ce12206a__avx512vnni_supported(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vnni");
}

/* The loops over tiles. Their variables are positions. A tile gets pointers to its own first x, panel and y. */
/* Y is not restrict, for two reasons. An array of its shape may be Y itself. And the compiler then reads the other
 * arrays where they are used: read earlier, they would take registers from the accumulators. */
void depthwise2d_int8_c37_h4_w5_k37_r3_s3_groups37_pad1_outu8_y_0_1_b_c_ce12206a__avx512vnni_run(const uint8_t *restrict X, const int8_t *restrict packed, uint8_t *Y, const float *E_b)
{
    const word *const W = (const word *)packed;
    for (long c = 0; c < 48; c += 16) {
        for (long h = 0; h < 4; ++h) {
            const long r_begin = (0 > -h + 1 ? 0 : -h + 1);
            const long r_end = (3 < -h + 5 ? 3 : -h + 5);
            if (c < 32) {
                tile0_5wx16cx3s(X + (h - 1) * X_h + -1 * X_w + c * X_c, W + 9 * c, Y + h * Y_h + c * Y_c, E_b + c * STEP_b_c, r_begin, r_end);
            } else {
                tile1_5wx16cx3s_tail(X + (h - 1) * X_h + -1 * X_w + c * X_c, W + 9 * c, Y + h * Y_h + c * Y_c, E_b + c * STEP_b_c, r_begin, r_end);
            }
        }
    }
}

/* Packs the weights. They lie in memory as w[c, 0, r, s] of 37 x 1 x 3 x 3. */
__attribute__((target("no-avx"))) void depthwise2d_int8_c37_h4_w5_k37_r3_s3_groups37_pad1_outu8_y_0_1_b_c_ce12206a__avx512vnni_pack_run(const int8_t *restrict W, int8_t *restrict packed)
{
    const long W_c = 9, W_r = 3, W_s = 1;
    for (long c = 0; c < 48; c += 16) {
        for (long r = 0; r < 3; ++r) {
            for (long s_u = 0; s_u < 3; ++s_u) {
                for (long lane = 0; lane < 16; ++lane) {
                    for (long number = 0; number < 4; ++number) {
                        if (c + lane < 37 && number == 0) {
                            packed[36 * c + 4 * lane + 192 * r + 64 * s_u + number] = W[(c + lane) * W_c + r * W_r + s_u * W_s];
                        } else {
                            packed[36 * c + 4 * lane + 192 * r + 64 * s_u + number] = 0;
                        }
                    }
                }
            }
        }
    }
}

/*
 * A whole call: it checks the CPU.
 * A caller that has done so calls depthwise2d_int8_c37_h4_w5_k37_r3_s3_groups37_pad1_outu8_y_0_1_b_c_ce12206a__avx512vnni_run.
 */
#include <stdio.h>
#include <stdlib.h>

void depthwise2d_int8_c37_h4_w5_k37_r3_s3_groups37_pad1_outu8_y_0_1_b_c_ce12206a__avx512vnni(const uint8_t *restrict X, const int8_t *restrict packed, uint8_t *Y, const float *E_b)
{
    if (!depthwise2d_int8_c37_h4_w5_k37_r3_s3_groups37_pad1_outu8_y_0_1_b_c_ce12206a__avx512vnni_supported()) {
        fputs("depthwise2d_int8_c37_h4_w5_k37_r3_s3_groups37_pad1_outu8_y_0_1_b_c_ce12206a__avx512vnni: this CPU lacks avx512f or avx512vl or fma or avx512bw or avx512_vnni\n", stderr);
        abort();
    }
    depthwise2d_int8_c37_h4_w5_k37_r3_s3_groups37_pad1_outu8_y_0_1_b_c_ce12206a__avx512vnni_run(X, packed, Y, E_b);
}

/* Packs the weights, once for many calls. */
__attribute__((target("no-avx"))) void depthwise2d_int8_c37_h4_w5_k37_r3_s3_groups37_pad1_outu8_y_0_1_b_c_ce12206a__avx512vnni_pack(const int8_t *restrict W, int8_t *restrict packed)
{
    depthwise2d_int8_c37_h4_w5_k37_r3_s3_groups37_pad1_outu8_y_0_1_b_c_ce12206a__avx512vnni_pack_run(W, packed);
}
