/*
 * depthwise2d n=2,c=37,h=9,w=8,k=37,r=3,s=3,groups=37,pad=1,layout=nchw
 *
 * Written by Tilewright VERSION from the scheme
 *
 *     T(n,2)@core T(h,3)@core T(h,3) T(w,8) R(c) S(y) T(s,3) U(r,3) V(c,8)
 *
 *     for n in 2 steps of 1:  on cores
 *       for h in 3 steps of 3:  on cores
 *         for h in 3 steps of 1:
 *           for w in 8 steps of 1:
 *             for c in 5 steps of 8:
 *               with the tile of y in registers:
 *                 for s in 3 steps of 1:
 *                   register tile 8c × 3r
 *
 * Microkernels:
 *     f32_depthwise2d_ukernel_8cx3r_s1__avx2: 3 FMAs, 6 loads and no stores per step, 3 of 16 registers (1 accumulators)
 *
 * Operands, row-major f32:
 *     X: x[n, c, h + r - 1, w + s - 1] of 2 x 37 x 9 x 8
 *     W: w[c, 0, r, s] of 37 x 1 x 3 x 3
 *     Y: y[n, c, h, w] of 2 x 37 x 9 x 8
 *     X is copied first: x[n, h + r - 1, w + s - 1, c] of 2 x 9 x 8 x 37.
 *     W is packed: the scheme's panels, one after the other, with reduction points in the order of its loops.
 */
#include <immintrin.h>

/* Elements between neighbours along each axis: X_h is along the axis h of X. W has none: tiles read it packed, in the
 * order of the loops. */
static const long input_image = 2664;
static const long input_channel = 72;
static const long input_pixel = 1;
static const long Y_n = 2664;
static const long Y_c = 72;
static const long Y_h = 8;
static const long Y_w = 1;
static const long x_copy_image = 2664;
static const long x_copy_pixel = 37;
static const long x_copy_word = 1;
static const long X_n = 2664;
static const long X_h = 296;
static const long X_w = 37;
static const long X_c = 1;

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

/* Transposes a block of a tile before it is stored: t[j] gets point j of every row. Single lanes are
 * interleaved first, then pairs of lanes, both within 128 bits. Then 128 bits move as a whole. */
#ifdef __clang__
#define PICK(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
typedef int places __attribute__((vector_size(32)));
#define PICK(a, b, ...) __builtin_shuffle(a, b, (places){__VA_ARGS__})
#endif
static inline __m256 low_1(__m256 a, __m256 b) { return PICK(a, b, 0, 8, 1, 9, 4, 12, 5, 13); }
static inline __m256 high_1(__m256 a, __m256 b) { return PICK(a, b, 2, 10, 3, 11, 6, 14, 7, 15); }
static inline __m256 low_2(__m256 a, __m256 b) { return PICK(a, b, 0, 1, 8, 9, 4, 5, 12, 13); }
static inline __m256 high_2(__m256 a, __m256 b) { return PICK(a, b, 2, 3, 10, 11, 6, 7, 14, 15); }
static inline __m256 low_4(__m256 a, __m256 b) { return PICK(a, b, 0, 1, 2, 3, 8, 9, 10, 11); }
static inline __m256 high_4(__m256 a, __m256 b) { return PICK(a, b, 4, 5, 6, 7, 12, 13, 14, 15); }
static inline __attribute__((always_inline)) void transpose_1(__m256 *t, __m256 r0)
{
    const __m256 s1_0 = low_1(r0, r0), s1_1 = high_1(r0, r0);
    const __m256 s2_2 = high_2(s1_0, s1_0);
    const __m256 s2_3 = high_2(s1_1, s1_1);
    const __m256 s3_4 = high_4(s1_0, s1_0);
    const __m256 s3_5 = high_4(s2_2, s2_2);
    const __m256 s3_6 = high_4(s1_1, s1_1);
    const __m256 s3_7 = high_4(s2_3, s2_3);
    t[0] = s1_0; t[1] = s2_2; t[2] = s1_1; t[3] = s2_3;
    t[4] = s3_4; t[5] = s3_5; t[6] = s3_6; t[7] = s3_7;
}
static inline __attribute__((always_inline)) void transpose_5(__m256 *t, __m256 r0, __m256 r1, __m256 r2, __m256 r3, __m256 r4)
{
    const __m256 s1_0 = low_1(r0, r1), s1_1 = high_1(r0, r1);
    const __m256 s1_2 = low_1(r2, r3), s1_3 = high_1(r2, r3);
    const __m256 s1_4 = low_1(r4, r4), s1_5 = high_1(r4, r4);
    const __m256 s2_6 = low_2(s1_0, s1_2), s2_7 = high_2(s1_0, s1_2);
    const __m256 s2_8 = low_2(s1_1, s1_3), s2_9 = high_2(s1_1, s1_3);
    const __m256 s2_10 = high_2(s1_4, s1_4);
    const __m256 s2_11 = high_2(s1_5, s1_5);
    const __m256 s3_12 = low_4(s2_6, s1_4), s3_13 = high_4(s2_6, s1_4);
    const __m256 s3_14 = low_4(s2_7, s2_10), s3_15 = high_4(s2_7, s2_10);
    const __m256 s3_16 = low_4(s2_8, s1_5), s3_17 = high_4(s2_8, s1_5);
    const __m256 s3_18 = low_4(s2_9, s2_11), s3_19 = high_4(s2_9, s2_11);
    t[0] = s3_12; t[1] = s3_14; t[2] = s3_16; t[3] = s3_18;
    t[4] = s3_13; t[5] = s3_15; t[6] = s3_17; t[7] = s3_19;
}
static inline __attribute__((always_inline)) void transpose_8(__m256 *t, __m256 r0, __m256 r1, __m256 r2, __m256 r3, __m256 r4, __m256 r5, __m256 r6, __m256 r7)
{
    const __m256 s1_0 = low_1(r0, r1), s1_1 = high_1(r0, r1);
    const __m256 s1_2 = low_1(r2, r3), s1_3 = high_1(r2, r3);
    const __m256 s1_4 = low_1(r4, r5), s1_5 = high_1(r4, r5);
    const __m256 s1_6 = low_1(r6, r7), s1_7 = high_1(r6, r7);
    const __m256 s2_8 = low_2(s1_0, s1_2), s2_9 = high_2(s1_0, s1_2);
    const __m256 s2_10 = low_2(s1_1, s1_3), s2_11 = high_2(s1_1, s1_3);
    const __m256 s2_12 = low_2(s1_4, s1_6), s2_13 = high_2(s1_4, s1_6);
    const __m256 s2_14 = low_2(s1_5, s1_7), s2_15 = high_2(s1_5, s1_7);
    const __m256 s3_16 = low_4(s2_8, s2_12), s3_17 = high_4(s2_8, s2_12);
    const __m256 s3_18 = low_4(s2_9, s2_13), s3_19 = high_4(s2_9, s2_13);
    const __m256 s3_20 = low_4(s2_10, s2_14), s3_21 = high_4(s2_10, s2_14);
    const __m256 s3_22 = low_4(s2_11, s2_15), s3_23 = high_4(s2_11, s2_15);
    t[0] = s3_16; t[1] = s3_18; t[2] = s3_20; t[3] = s3_22;
    t[4] = s3_17; t[5] = s3_19; t[6] = s3_21; t[7] = s3_23;
}

/* 1 rows x 1 vectors, summed over s from s_begin to s_end; c < 32; 1 <= h < 8. */
static void tile0_8cx3r(const float *x, const float *w, float *y, long s_begin, long s_end)
{
    __m256 acc_0_0 = _mm256_setzero_ps();
    for (long s = s_begin; s < s_end; ++s) {
        const float *x_s = x + s * X_w;
        const float *w_s = w + 24 * s;
        const __m256 w_0_0 = _mm256_loadu_ps(w_s);
        const __m256 w_1_0 = _mm256_loadu_ps(w_s + 8);
        const __m256 w_2_0 = _mm256_loadu_ps(w_s + 16);
        { const __m256 x_0 = _mm256_loadu_ps(x_s); acc_0_0 = _mm256_fmadd_ps(x_0, w_0_0, acc_0_0); }
        { const __m256 x_1 = _mm256_loadu_ps(x_s + X_h); acc_0_0 = _mm256_fmadd_ps(x_1, w_1_0, acc_0_0); }
        { const __m256 x_2 = _mm256_loadu_ps(x_s + 2 * X_h); acc_0_0 = _mm256_fmadd_ps(x_2, w_2_0, acc_0_0); }
    }
    {
        __m256 t[8];
        transpose_1(t, acc_0_0);
        store_lanes(y, t[0], 1);
        store_lanes(y + Y_c, t[1], 1);
        store_lanes(y + 2 * Y_c, t[2], 1);
        store_lanes(y + 3 * Y_c, t[3], 1);
        store_lanes(y + 4 * Y_c, t[4], 1);
        store_lanes(y + 5 * Y_c, t[5], 1);
        store_lanes(y + 6 * Y_c, t[6], 1);
        store_lanes(y + 7 * Y_c, t[7], 1);
    }
}

/* 1 rows x 1 vectors, summed over s from s_begin to s_end; c < 32; h < 1. */
static void tile1_8cx3r_hpad0(const float *x, const float *w, float *y, long s_begin, long s_end)
{
    __m256 acc_0_0 = _mm256_setzero_ps();
    for (long s = s_begin; s < s_end; ++s) {
        const float *x_s = x + s * X_w;
        const float *w_s = w + 24 * s;
        const __m256 w_0_0 = _mm256_loadu_ps(w_s + 8);
        const __m256 w_1_0 = _mm256_loadu_ps(w_s + 16);
        { const __m256 x_0 = _mm256_loadu_ps(x_s + X_h); acc_0_0 = _mm256_fmadd_ps(x_0, w_0_0, acc_0_0); }
        { const __m256 x_1 = _mm256_loadu_ps(x_s + 2 * X_h); acc_0_0 = _mm256_fmadd_ps(x_1, w_1_0, acc_0_0); }
    }
    {
        __m256 t[8];
        transpose_1(t, acc_0_0);
        store_lanes(y, t[0], 1);
        store_lanes(y + Y_c, t[1], 1);
        store_lanes(y + 2 * Y_c, t[2], 1);
        store_lanes(y + 3 * Y_c, t[3], 1);
        store_lanes(y + 4 * Y_c, t[4], 1);
        store_lanes(y + 5 * Y_c, t[5], 1);
        store_lanes(y + 6 * Y_c, t[6], 1);
        store_lanes(y + 7 * Y_c, t[7], 1);
    }
}

/* 1 rows x 1 vectors, summed over s from s_begin to s_end; c < 32; 8 <= h. */
static void tile2_8cx3r_hpad2(const float *x, const float *w, float *y, long s_begin, long s_end)
{
    __m256 acc_0_0 = _mm256_setzero_ps();
    for (long s = s_begin; s < s_end; ++s) {
        const float *x_s = x + s * X_w;
        const float *w_s = w + 24 * s;
        const __m256 w_0_0 = _mm256_loadu_ps(w_s);
        const __m256 w_1_0 = _mm256_loadu_ps(w_s + 8);
        { const __m256 x_0 = _mm256_loadu_ps(x_s); acc_0_0 = _mm256_fmadd_ps(x_0, w_0_0, acc_0_0); }
        { const __m256 x_1 = _mm256_loadu_ps(x_s + X_h); acc_0_0 = _mm256_fmadd_ps(x_1, w_1_0, acc_0_0); }
    }
    {
        __m256 t[8];
        transpose_1(t, acc_0_0);
        store_lanes(y, t[0], 1);
        store_lanes(y + Y_c, t[1], 1);
        store_lanes(y + 2 * Y_c, t[2], 1);
        store_lanes(y + 3 * Y_c, t[3], 1);
        store_lanes(y + 4 * Y_c, t[4], 1);
        store_lanes(y + 5 * Y_c, t[5], 1);
        store_lanes(y + 6 * Y_c, t[6], 1);
        store_lanes(y + 7 * Y_c, t[7], 1);
    }
}

/* 1 rows x 1 vectors, summed over s from s_begin to s_end; 32 <= c; 1 <= h < 8. */
static void tile3_8cx3r_tail(const float *x, const float *w, float *y, long s_begin, long s_end)
{
    __m256 acc_0_0 = _mm256_setzero_ps();
    for (long s = s_begin; s < s_end; ++s) {
        const float *x_s = x + s * X_w;
        const float *w_s = w + 24 * s;
        const __m256 w_0_0 = _mm256_loadu_ps(w_s);
        const __m256 w_1_0 = _mm256_loadu_ps(w_s + 8);
        const __m256 w_2_0 = _mm256_loadu_ps(w_s + 16);
        { const __m256 x_0 = _mm256_maskload_ps(x_s, TAIL); acc_0_0 = _mm256_fmadd_ps(x_0, w_0_0, acc_0_0); }
        { const __m256 x_1 = _mm256_maskload_ps(x_s + X_h, TAIL); acc_0_0 = _mm256_fmadd_ps(x_1, w_1_0, acc_0_0); }
        { const __m256 x_2 = _mm256_maskload_ps(x_s + 2 * X_h, TAIL); acc_0_0 = _mm256_fmadd_ps(x_2, w_2_0, acc_0_0); }
    }
    {
        __m256 t[8];
        transpose_1(t, acc_0_0);
        store_lanes(y, t[0], 1);
        store_lanes(y + Y_c, t[1], 1);
        store_lanes(y + 2 * Y_c, t[2], 1);
        store_lanes(y + 3 * Y_c, t[3], 1);
        store_lanes(y + 4 * Y_c, t[4], 1);
    }
}

/* 1 rows x 1 vectors, summed over s from s_begin to s_end; 32 <= c; h < 1. */
static void tile4_8cx3r_tail_hpad0(const float *x, const float *w, float *y, long s_begin, long s_end)
{
    __m256 acc_0_0 = _mm256_setzero_ps();
    for (long s = s_begin; s < s_end; ++s) {
        const float *x_s = x + s * X_w;
        const float *w_s = w + 24 * s;
        const __m256 w_0_0 = _mm256_loadu_ps(w_s + 8);
        const __m256 w_1_0 = _mm256_loadu_ps(w_s + 16);
        { const __m256 x_0 = _mm256_maskload_ps(x_s + X_h, TAIL); acc_0_0 = _mm256_fmadd_ps(x_0, w_0_0, acc_0_0); }
        { const __m256 x_1 = _mm256_maskload_ps(x_s + 2 * X_h, TAIL); acc_0_0 = _mm256_fmadd_ps(x_1, w_1_0, acc_0_0); }
    }
    {
        __m256 t[8];
        transpose_1(t, acc_0_0);
        store_lanes(y, t[0], 1);
        store_lanes(y + Y_c, t[1], 1);
        store_lanes(y + 2 * Y_c, t[2], 1);
        store_lanes(y + 3 * Y_c, t[3], 1);
        store_lanes(y + 4 * Y_c, t[4], 1);
    }
}

/* 1 rows x 1 vectors, summed over s from s_begin to s_end; 32 <= c; 8 <= h. */
static void tile5_8cx3r_tail_hpad2(const float *x, const float *w, float *y, long s_begin, long s_end)
{
    __m256 acc_0_0 = _mm256_setzero_ps();
    for (long s = s_begin; s < s_end; ++s) {
        const float *x_s = x + s * X_w;
        const float *w_s = w + 24 * s;
        const __m256 w_0_0 = _mm256_loadu_ps(w_s);
        const __m256 w_1_0 = _mm256_loadu_ps(w_s + 8);
        { const __m256 x_0 = _mm256_maskload_ps(x_s, TAIL); acc_0_0 = _mm256_fmadd_ps(x_0, w_0_0, acc_0_0); }
        { const __m256 x_1 = _mm256_maskload_ps(x_s + X_h, TAIL); acc_0_0 = _mm256_fmadd_ps(x_1, w_1_0, acc_0_0); }
    }
    {
        __m256 t[8];
        transpose_1(t, acc_0_0);
        store_lanes(y, t[0], 1);
        store_lanes(y + Y_c, t[1], 1);
        store_lanes(y + 2 * Y_c, t[2], 1);
        store_lanes(y + 3 * Y_c, t[3], 1);
        store_lanes(y + 4 * Y_c, t[4], 1);
    }
}

/* 8x8 channels by pixels. */
static void block0_8x8(const float *x, float *x_copy)
{
    __m256 r_0_0 = _mm256_loadu_ps(x);
    __m256 r_1_0 = _mm256_loadu_ps(x + input_channel);
    __m256 r_2_0 = _mm256_loadu_ps(x + 2 * input_channel);
    __m256 r_3_0 = _mm256_loadu_ps(x + 3 * input_channel);
    __m256 r_4_0 = _mm256_loadu_ps(x + 4 * input_channel);
    __m256 r_5_0 = _mm256_loadu_ps(x + 5 * input_channel);
    __m256 r_6_0 = _mm256_loadu_ps(x + 6 * input_channel);
    __m256 r_7_0 = _mm256_loadu_ps(x + 7 * input_channel);
    {
        __m256 t[8];
        transpose_8(t, r_0_0, r_1_0, r_2_0, r_3_0, r_4_0, r_5_0, r_6_0, r_7_0);
        _mm256_storeu_ps(x_copy, t[0]);
        _mm256_storeu_ps(x_copy + x_copy_pixel, t[1]);
        _mm256_storeu_ps(x_copy + 2 * x_copy_pixel, t[2]);
        _mm256_storeu_ps(x_copy + 3 * x_copy_pixel, t[3]);
        _mm256_storeu_ps(x_copy + 4 * x_copy_pixel, t[4]);
        _mm256_storeu_ps(x_copy + 5 * x_copy_pixel, t[5]);
        _mm256_storeu_ps(x_copy + 6 * x_copy_pixel, t[6]);
        _mm256_storeu_ps(x_copy + 7 * x_copy_pixel, t[7]);
    }
}

/* 5x8 channels by pixels. */
static void block1_5x8(const float *x, float *x_copy)
{
    __m256 r_0_0 = _mm256_loadu_ps(x);
    __m256 r_1_0 = _mm256_loadu_ps(x + input_channel);
    __m256 r_2_0 = _mm256_loadu_ps(x + 2 * input_channel);
    __m256 r_3_0 = _mm256_loadu_ps(x + 3 * input_channel);
    __m256 r_4_0 = _mm256_loadu_ps(x + 4 * input_channel);
    {
        __m256 t[8];
        transpose_5(t, r_0_0, r_1_0, r_2_0, r_3_0, r_4_0);
        _mm256_maskstore_ps(x_copy, TAIL, t[0]);
        _mm256_maskstore_ps(x_copy + x_copy_pixel, TAIL, t[1]);
        _mm256_maskstore_ps(x_copy + 2 * x_copy_pixel, TAIL, t[2]);
        _mm256_maskstore_ps(x_copy + 3 * x_copy_pixel, TAIL, t[3]);
        _mm256_maskstore_ps(x_copy + 4 * x_copy_pixel, TAIL, t[4]);
        _mm256_maskstore_ps(x_copy + 5 * x_copy_pixel, TAIL, t[5]);
        _mm256_maskstore_ps(x_copy + 6 * x_copy_pixel, TAIL, t[6]);
        _mm256_maskstore_ps(x_copy + 7 * x_copy_pixel, TAIL, t[7]);
    }
}

/* X with the channels of each pixel side by side. */
static __attribute__((noinline)) void copy_of_x(const float *restrict X, float *restrict x_copy, long thread, long threads)
{
    for (long worker = 6 * thread / threads; worker < (6 * thread + 6) / threads; ++worker) {
        const long image = worker / 3;
        const long begin = 32 * (worker % 3);
        for (long block = 0; block < 4; ++block) {
            for (long pixel = begin; pixel < (begin + 32 < 72 ? begin + 32 : 72); pixel += 8) {
                block0_8x8(X + image * input_image + 8 * block * input_channel + pixel * input_pixel, x_copy + image * x_copy_image + pixel * x_copy_pixel + 8 * block * x_copy_word);
            }
        }
        for (long pixel = begin; pixel < (begin + 32 < 72 ? begin + 32 : 72); pixel += 8) {
            block1_5x8(X + image * input_image + 32 * input_channel + pixel * input_pixel, x_copy + image * x_copy_image + pixel * x_copy_pixel + 32 * x_copy_word);
        }
    }
}

/* Whether this CPU runs the kernel. This function and the packing run on any CPU. */
__attribute__((target("no-avx"))) int depthwise2d_f32_n2_c37_h9_w8_k37_r3_s3_groups37_pad1_layoutnchw__avx2_t2_supported(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

/* The loops over tiles. Their variables are positions. A tile gets pointers to its own first x, panel and y. */
/* The part of a call that thread `thread` of `threads` does. All run it at once. */
/* `scratch`: 21312 bytes for this call alone, which begin with a cache line. */
void depthwise2d_f32_n2_c37_h9_w8_k37_r3_s3_groups37_pad1_layoutnchw__avx2_t2_run(const float *restrict input, const float *restrict W, float *restrict Y, char *restrict scratch, long thread, long threads)
{
    float *const x_copy = (float *)scratch;
    copy_of_x(input, x_copy, thread, threads);
    #pragma omp barrier
    const float *const X = x_copy;
    for (long worker = 6 * thread / threads; worker < (6 * thread + 6) / threads; ++worker) {
        const long n = worker / 3;
        const long h_1 = 3 * (worker % 3);
        for (long h = h_1; h < h_1 + 3; ++h) {
            for (long w = 0; w < 8; ++w) {
                for (long c = 0; c < 40; c += 8) {
                    const long s_begin = (0 > -w + 1 ? 0 : -w + 1);
                    const long s_end = (3 < -w + 9 ? 3 : -w + 9);
                    if (c < 32) {
                        if (h >= 1 && h < 8) {
                            tile0_8cx3r(X + n * X_n + (h - 1) * X_h + (w - 1) * X_w + c * X_c, W + 9 * c, Y + n * Y_n + c * Y_c + h * Y_h + w * Y_w, s_begin, s_end);
                        } else if (h < 1) {
                            tile1_8cx3r_hpad0(X + n * X_n + (h - 1) * X_h + (w - 1) * X_w + c * X_c, W + 9 * c, Y + n * Y_n + c * Y_c + h * Y_h + w * Y_w, s_begin, s_end);
                        } else {
                            tile2_8cx3r_hpad2(X + n * X_n + (h - 1) * X_h + (w - 1) * X_w + c * X_c, W + 9 * c, Y + n * Y_n + c * Y_c + h * Y_h + w * Y_w, s_begin, s_end);
                        }
                    } else if (h >= 1 && h < 8) {
                        tile3_8cx3r_tail(X + n * X_n + (h - 1) * X_h + (w - 1) * X_w + c * X_c, W + 9 * c, Y + n * Y_n + c * Y_c + h * Y_h + w * Y_w, s_begin, s_end);
                    } else if (h < 1) {
                        tile4_8cx3r_tail_hpad0(X + n * X_n + (h - 1) * X_h + (w - 1) * X_w + c * X_c, W + 9 * c, Y + n * Y_n + c * Y_c + h * Y_h + w * Y_w, s_begin, s_end);
                    } else {
                        tile5_8cx3r_tail_hpad2(X + n * X_n + (h - 1) * X_h + (w - 1) * X_w + c * X_c, W + 9 * c, Y + n * Y_n + c * Y_c + h * Y_h + w * Y_w, s_begin, s_end);
                    }
                }
            }
        }
    }
}

/* Packs the weights: the part of thread `thread` of `threads`. They lie in memory as w[c, 0, r, s] of 37 x 1 x 3 x 3. */
__attribute__((target("no-avx"))) void depthwise2d_f32_n2_c37_h9_w8_k37_r3_s3_groups37_pad1_layoutnchw__avx2_t2_pack_run(const float *restrict W, float *restrict packed, long thread, long threads)
{
    const long W_c = 9, W_r = 3, W_s = 1;
    for (long worker = 15 * thread / threads; worker < (15 * thread + 15) / threads; ++worker) {
        const long c = 8 * (worker / 3);
        const long s = worker % 3;
        for (long r_u = 0; r_u < 3; ++r_u) {
            for (long lane = 0; lane < 8; ++lane) {
                if (c + lane < 37) {
                    packed[9 * c + lane + 24 * s + 8 * r_u] = W[(c + lane) * W_c + r_u * W_r + s * W_s];
                } else {
                    packed[9 * c + lane + 24 * s + 8 * r_u] = 0;
                }
            }
        }
    }
}

/*
 * A whole call: it checks the CPU, allocates scratch memory and starts a team of threads.
 * A caller that has done so calls depthwise2d_f32_n2_c37_h9_w8_k37_r3_s3_groups37_pad1_layoutnchw__avx2_t2_run.
 */
#include <stdio.h>
#include <stdlib.h>
enum { THREADS = 2 };
#ifdef _OPENMP
#include <omp.h>
#if !defined(__clang__) && __GNUC__ >= 9
#include <pthread.h>
/* A forked child has one thread, but gcc's OpenMP would wait for the whole team there. So the team ends before a fork,
 * and both processes start new threads. */
static void end_threads(void) { omp_pause_resource_all(omp_pause_soft); }
__attribute__((constructor)) static void before_forks(void) { pthread_atfork(end_threads, 0, 0); }
#endif
#else
static int omp_get_dynamic(void) { return 0; }
static void omp_set_dynamic(int dynamic) { (void)dynamic; }
static int omp_get_thread_num(void) { return 0; }
static int omp_get_num_threads(void) { return 1; }
#endif

void depthwise2d_f32_n2_c37_h9_w8_k37_r3_s3_groups37_pad1_layoutnchw__avx2_t2(const float *restrict input, const float *restrict W, float *restrict Y)
{
    if (!depthwise2d_f32_n2_c37_h9_w8_k37_r3_s3_groups37_pad1_layoutnchw__avx2_t2_supported()) {
        fputs("depthwise2d_f32_n2_c37_h9_w8_k37_r3_s3_groups37_pad1_layoutnchw__avx2_t2: this CPU lacks avx2 or fma\n", stderr);
        abort();
    }
    char *const scratch = aligned_alloc(64, 21312);
    if (!scratch) {
        fputs("depthwise2d_f32_n2_c37_h9_w8_k37_r3_s3_groups37_pad1_layoutnchw__avx2_t2: no memory for what it computes in between\n", stderr);
        abort();
    }
    const int dynamic = omp_get_dynamic();
    omp_set_dynamic(0); /* the team has THREADS threads, whatever OMP_DYNAMIC says */
    #pragma omp parallel num_threads(THREADS)
    depthwise2d_f32_n2_c37_h9_w8_k37_r3_s3_groups37_pad1_layoutnchw__avx2_t2_run(input, W, Y, scratch, omp_get_thread_num(), omp_get_num_threads());
    omp_set_dynamic(dynamic);
    free(scratch);
}

/* Packs the weights, once for many calls. */
__attribute__((target("no-avx"))) void depthwise2d_f32_n2_c37_h9_w8_k37_r3_s3_groups37_pad1_layoutnchw__avx2_t2_pack(const float *restrict W, float *restrict packed)
{
    const int dynamic = omp_get_dynamic();
    omp_set_dynamic(0); /* the team has THREADS threads, whatever OMP_DYNAMIC says */
    #pragma omp parallel num_threads(THREADS)
    depthwise2d_f32_n2_c37_h9_w8_k37_r3_s3_groups37_pad1_layoutnchw__avx2_t2_pack_run(W, packed, omp_get_thread_num(), omp_get_num_threads());
    omp_set_dynamic(dynamic);
}
