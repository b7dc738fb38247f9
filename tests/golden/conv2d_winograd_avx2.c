/*
 * conv2d c=5,h=7,w=7,k=37,r=3,s=3,pad=1,epilogue=relu(y+b[k])
 *
 * Written by Tilewright VERSION from the scheme
 *
 *     F(2x2,3x3) B(6,24) T(n,3) S(c) T(k,5) U(m,6) V(n,8)
 *
 *     for 3 blocks of 6 tiles:  on cores
 *       input transform of 4 x 4 points
 *       for 2 parts of 24 output channels:  on cores
 *         for 4 x 4 points:
 *           for n in 3 steps of 8:
 *             with the tile of c in registers:
 *               for k in 5 steps of 1:
 *                 register tile 6m × 8n
 *         output transform, epilogue
 *
 * Microkernels:
 *     f32_matmul_ukernel_6mx8n__avx2: 6 FMAs, 7 loads and no stores per step, 8 of 16 registers (6 accumulators)
 *
 * Operands, row-major f32:
 *     X: x[n, h + r - 1, w + s - 1, c] of 1 x 7 x 7 x 5
 *     W: w[k, c, r, s] of 37 x 5 x 3 x 3
 *     Y: y[n, h, w, k] of 1 x 7 x 7 x 37
 *     E_b: b[k] of 37
 *     W holds U: for each part of the output channels and each of the 16 products the panels that it reads.
 */
#include <immintrin.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One product of a block: floats between neighbours along each axis of X (rows of V) and of Y (rows of M). W is packed.
 * STEP_NAME, further down, is of E_NAME.
 */
static const long X_m = 16;
static const long X_k = 1;
static const long Y_m = 48;
static const long Y_n = 1;
enum { THREADS = 2 };

#ifdef _OPENMP
#include <omp.h>
#if !defined(__clang__) && __GNUC__ >= 9
#include <pthread.h>
/* A forked child has one thread but gcc's OpenMP would wait for all of them: end them first, both sides start new ones. */
static void end_threads(void) { omp_pause_resource_all(omp_pause_soft); }
__attribute__((constructor)) static void before_forks(void) { pthread_atfork(end_threads, 0, 0); }
#endif
#else
static int omp_get_dynamic(void) { return 0; }
static void omp_set_dynamic(int dynamic) { (void)dynamic; }
#endif
/* The 5 lanes used of the last vector: a lane counts where its sign bit is set. */
static const int tail_lanes[8] = {-1, -1, -1, -1, -1, 0, 0, 0};
#define TAIL _mm256_loadu_si256((const __m256i *)tail_lanes)
/* The 5 lanes used of the last vector of x's channels: a lane counts where its sign bit is set. */
static const int c_tail_lanes[8] = {-1, -1, -1, -1, -1, 0, 0, 0};
#define C_TAIL _mm256_loadu_si256((const __m256i *)c_tail_lanes)

/* All registers are taken: without this fence the compiler keeps an x for later and spills an accumulator for it. */
#define KEEP_APART __asm__ volatile("" ::: "memory")

/* The epilogue, applied to each vector as it is stored:
 *
 *     relu(y+b[k])
 *
 * No number (NaN) in gives no number out. Errors are stated in units in the last place (ulp) of the result; beside them
 * results that come of an exponential below e^-87, which counts as 0, are off by at most 2^-119. */
typedef int bits __attribute__((vector_size(32)));
static inline __m256 constant(float value) { return _mm256_set1_ps(value); }
static inline __m256 choose(bits lanes, __m256 a, __m256 b) { return (__m256)((lanes & (bits)a) | (~lanes & (bits)b)); }
/* Volatile, so read where it is said: a bound that gcc knows it keeps in a register through the inner loops, zero above
 * all, which also clears accumulators, and spills an accumulator for it. A tile reads zero once, when its sums are done. */
static const volatile __m256 zeros = {0};
static inline __m256 relu_of(__m256 v, __m256 zero) { return _mm256_max_ps(zero, v); }

static inline __m256 epilogue(__m256 y, __m256 e_b, __m256 zero)
{
    return relu_of(y + e_b, zero);
}

/* 6 rows x 1 vectors, summed over k by 1 to 5. */
static void tile0_6mx8n(const float *x, const float *w, float *y)
{
    __m256 acc_0_0 = _mm256_setzero_ps();
    __m256 acc_1_0 = _mm256_setzero_ps();
    __m256 acc_2_0 = _mm256_setzero_ps();
    __m256 acc_3_0 = _mm256_setzero_ps();
    __m256 acc_4_0 = _mm256_setzero_ps();
    __m256 acc_5_0 = _mm256_setzero_ps();
    for (long k = 0; k < 5; ++k) {
        const float *x_k = x + k * X_k;
        const float *w_k = w + 8 * k;
        const __m256 w_0 = _mm256_loadu_ps(w_k);
        { const __m256 x_0 = _mm256_broadcast_ss(x_k); acc_0_0 = _mm256_fmadd_ps(x_0, w_0, acc_0_0); }
        { const __m256 x_1 = _mm256_broadcast_ss(x_k + X_m); acc_1_0 = _mm256_fmadd_ps(x_1, w_0, acc_1_0); }
        { const __m256 x_2 = _mm256_broadcast_ss(x_k + 2 * X_m); acc_2_0 = _mm256_fmadd_ps(x_2, w_0, acc_2_0); }
        { const __m256 x_3 = _mm256_broadcast_ss(x_k + 3 * X_m); acc_3_0 = _mm256_fmadd_ps(x_3, w_0, acc_3_0); }
        { const __m256 x_4 = _mm256_broadcast_ss(x_k + 4 * X_m); acc_4_0 = _mm256_fmadd_ps(x_4, w_0, acc_4_0); }
        { const __m256 x_5 = _mm256_broadcast_ss(x_k + 5 * X_m); acc_5_0 = _mm256_fmadd_ps(x_5, w_0, acc_5_0); }
    }
    _mm256_storeu_ps(y, acc_0_0);
    _mm256_storeu_ps(y + Y_m, acc_1_0);
    _mm256_storeu_ps(y + 2 * Y_m, acc_2_0);
    _mm256_storeu_ps(y + 3 * Y_m, acc_3_0);
    _mm256_storeu_ps(y + 4 * Y_m, acc_4_0);
    _mm256_storeu_ps(y + 5 * Y_m, acc_5_0);
}

/* Winograd's algorithm: SIDE x SIDE outputs, a tile, from ALPHA x ALPHA inputs x and 3 x 3 weights w by ALPHA^2 products,
 *
 *     y = A^T [ (G w G^T) . (B^T x B) ] A  =  A^T [ U . V ] A
 *
 * summed over the channels under A: so for each of the points a matrix product (tiles x C) by (C x K). A task is a block
 * of TILES tiles by BLOCK_K output channels; V and M of one block stay in a core's cache. */
enum { SIDE = 2, ALPHA = 4 };
static const long TILES = 6;
static const long BLOCK_K = 24;
static const long TILES_H = 4;
static const long TILES_W = 4;
static const long ALL_TILES = 16;
static const long PARTS = 2;
static const long TASKS = 6;
static const long C = 5;
static const long K = 37;
static const long IN_H = 7;
static const long IN_W = 7;
static const long PAD_TOP = 1;
static const long PAD_LEFT = 1;
static const long OUT_H = 7;
static const long OUT_W = 7;
static const long ROW_V = 16;
static const long ROW_M = 48;
static const long PLANE_V = 112;
static const long PLANE_U = 120;
static const long PLANE_M = 304;
static const long SCRATCH = 6736;
static const long STEP_b_k = 1;

/* B^T times d along one axis of a tile, lane by lane; the results stand `step` vectors apart. The matrix:
 *     -1  0  1  0
 *      0  1  1  0
 *      0 -1  1  0
 *      0 -1  0  1
 */
static inline void input_points(__m256 d0, __m256 d1, __m256 d2, __m256 d3, __m256 *v, int step)
{
    v[0 * step] = d2 - d0;
    v[1 * step] = d2 + d1;
    v[2 * step] = d2 - d1;
    v[3 * step] = d3 - d1;
}

/* A tile's input, the last channels: V = B^T x B, a point each PLANE_V floats. Rows of x lie `row` floats apart. */
static inline void input_vector_tail(const float *x, long row, float *v)
{
    __m256 t[ALPHA * ALPHA], r[ALPHA];
    input_points(_mm256_maskload_ps(x, C_TAIL), _mm256_maskload_ps(x + row, C_TAIL), _mm256_maskload_ps(x + 2 * row, C_TAIL), _mm256_maskload_ps(x + 3 * row, C_TAIL), t, ALPHA);
    input_points(_mm256_maskload_ps(x + C, C_TAIL), _mm256_maskload_ps(x + row + C, C_TAIL), _mm256_maskload_ps(x + 2 * row + C, C_TAIL), _mm256_maskload_ps(x + 3 * row + C, C_TAIL), t + 1, ALPHA);
    input_points(_mm256_maskload_ps(x + 2 * C, C_TAIL), _mm256_maskload_ps(x + row + 2 * C, C_TAIL), _mm256_maskload_ps(x + 2 * row + 2 * C, C_TAIL), _mm256_maskload_ps(x + 3 * row + 2 * C, C_TAIL), t + 2, ALPHA);
    input_points(_mm256_maskload_ps(x + 3 * C, C_TAIL), _mm256_maskload_ps(x + row + 3 * C, C_TAIL), _mm256_maskload_ps(x + 2 * row + 3 * C, C_TAIL), _mm256_maskload_ps(x + 3 * row + 3 * C, C_TAIL), t + 3, ALPHA);
    input_points(t[0], t[1], t[2], t[3], r, 1);
    _mm256_storeu_ps(v, r[0]);
    _mm256_storeu_ps(v + PLANE_V, r[1]);
    _mm256_storeu_ps(v + 2 * PLANE_V, r[2]);
    _mm256_storeu_ps(v + 3 * PLANE_V, r[3]);
    input_points(t[4], t[5], t[6], t[7], r, 1);
    _mm256_storeu_ps(v + 4 * PLANE_V, r[0]);
    _mm256_storeu_ps(v + 5 * PLANE_V, r[1]);
    _mm256_storeu_ps(v + 6 * PLANE_V, r[2]);
    _mm256_storeu_ps(v + 7 * PLANE_V, r[3]);
    input_points(t[8], t[9], t[10], t[11], r, 1);
    _mm256_storeu_ps(v + 8 * PLANE_V, r[0]);
    _mm256_storeu_ps(v + 9 * PLANE_V, r[1]);
    _mm256_storeu_ps(v + 10 * PLANE_V, r[2]);
    _mm256_storeu_ps(v + 11 * PLANE_V, r[3]);
    input_points(t[12], t[13], t[14], t[15], r, 1);
    _mm256_storeu_ps(v + 12 * PLANE_V, r[0]);
    _mm256_storeu_ps(v + 13 * PLANE_V, r[1]);
    _mm256_storeu_ps(v + 14 * PLANE_V, r[2]);
    _mm256_storeu_ps(v + 15 * PLANE_V, r[3]);
}

static void input_tile(const float *x, long row, float *v)
{
    input_vector_tail(x, row, v);
}

/* A copy of a tile's input that reaches beyond the image, 0 there; `image` is one of the batch. */
static const float *padded(const float *image, long h, long w, float *patch)
{
    const long left = w < 0 ? -w : 0, right = IN_W - w < ALPHA ? IN_W - w : ALPHA;
    memset(patch, 0, ALPHA * ALPHA * C * sizeof(float));
    for (long r = 0; r < ALPHA; ++r)
        if (h + r >= 0 && h + r < IN_H && left < right)
            memcpy(patch + (r * ALPHA + left) * C, image + ((h + r) * IN_W + w + left) * C, (right - left) * C * sizeof(float));
    return patch;
}

/* V of a block. Tiles beyond the last one are 0: what a product makes of them is never looked at. */
static void input_block(const float *X, long block, float *v, float *patch)
{
    for (long tile = block * TILES; tile < (block + 1) * TILES; ++tile, v += ROW_V) {
        if (tile >= ALL_TILES) {
            for (long point = 0; point < ALPHA * ALPHA; ++point) memset(v + point * PLANE_V, 0, C * sizeof(float));
            continue;
        }
        const long h = tile / TILES_W % TILES_H * SIDE - PAD_TOP, w = tile % TILES_W * SIDE - PAD_LEFT;
        const float *image = X + tile / (TILES_H * TILES_W) * IN_H * IN_W * C;
        if (h >= 0 && h + ALPHA <= IN_H && w >= 0 && w + ALPHA <= IN_W)
            input_tile(image + (h * IN_W + w) * C, IN_W * C, v);
        else
            input_tile(padded(image, h, w, patch), ALPHA * C, v);
    }
}

/* One product of a block: y = x w. */
static void product(const float *restrict X, const float *restrict W, float *restrict Y)
{
    for (long n = 0; n < 24; n += 8) {
        tile0_6mx8n(X, W + 5 * n, Y + n * Y_n);
    }
}

/* A^T times m along one axis of a tile, lane by lane; the results stand `step` vectors apart. The matrix:
 *      1  1  1  0
 *      0  1 -1  1
 */
static inline void output_points(__m256 d0, __m256 d1, __m256 d2, __m256 d3, __m256 *v, int step)
{
    const __m256 d1_plus_d2 = d1 + d2;
    const __m256 d1_minus_d2 = d1 - d2;
    v[0 * step] = d0 + d1_plus_d2;
    v[1 * step] = d1_minus_d2 + d3;
}

/* A tile's output, one vector of output channels: A^T m A, of which `rows` x `columns` are on the image. */
static inline __attribute__((always_inline)) void output_vector(const float *m, float *y, const float *e_b, long rows, long columns)
{
    __m256 t[SIDE * ALPHA], r[SIDE];
    output_points(_mm256_loadu_ps(m), _mm256_loadu_ps(m + 4 * PLANE_M), _mm256_loadu_ps(m + 8 * PLANE_M), _mm256_loadu_ps(m + 12 * PLANE_M), t, ALPHA);
    output_points(_mm256_loadu_ps(m + PLANE_M), _mm256_loadu_ps(m + 5 * PLANE_M), _mm256_loadu_ps(m + 9 * PLANE_M), _mm256_loadu_ps(m + 13 * PLANE_M), t + 1, ALPHA);
    output_points(_mm256_loadu_ps(m + 2 * PLANE_M), _mm256_loadu_ps(m + 6 * PLANE_M), _mm256_loadu_ps(m + 10 * PLANE_M), _mm256_loadu_ps(m + 14 * PLANE_M), t + 2, ALPHA);
    output_points(_mm256_loadu_ps(m + 3 * PLANE_M), _mm256_loadu_ps(m + 7 * PLANE_M), _mm256_loadu_ps(m + 11 * PLANE_M), _mm256_loadu_ps(m + 15 * PLANE_M), t + 3, ALPHA);
    const __m256 zero = zeros;
    if (rows > 0) {
        output_points(t[0], t[1], t[2], t[3], r, 1);
        if (columns > 0) _mm256_storeu_ps(y, epilogue(r[0], _mm256_loadu_ps(e_b), zero));
        if (columns > 1) _mm256_storeu_ps(y + K, epilogue(r[1], _mm256_loadu_ps(e_b), zero));
    }
    if (rows > 1) {
        output_points(t[4], t[5], t[6], t[7], r, 1);
        if (columns > 0) _mm256_storeu_ps(y + OUT_W * K, epilogue(r[0], _mm256_loadu_ps(e_b), zero));
        if (columns > 1) _mm256_storeu_ps(y + OUT_W * K + K, epilogue(r[1], _mm256_loadu_ps(e_b), zero));
    }
}

/* A tile's output, the last output channels: A^T m A, of which `rows` x `columns` are on the image. */
static inline __attribute__((always_inline)) void output_vector_tail(const float *m, float *y, const float *e_b, long rows, long columns)
{
    __m256 t[SIDE * ALPHA], r[SIDE];
    output_points(_mm256_loadu_ps(m), _mm256_loadu_ps(m + 4 * PLANE_M), _mm256_loadu_ps(m + 8 * PLANE_M), _mm256_loadu_ps(m + 12 * PLANE_M), t, ALPHA);
    output_points(_mm256_loadu_ps(m + PLANE_M), _mm256_loadu_ps(m + 5 * PLANE_M), _mm256_loadu_ps(m + 9 * PLANE_M), _mm256_loadu_ps(m + 13 * PLANE_M), t + 1, ALPHA);
    output_points(_mm256_loadu_ps(m + 2 * PLANE_M), _mm256_loadu_ps(m + 6 * PLANE_M), _mm256_loadu_ps(m + 10 * PLANE_M), _mm256_loadu_ps(m + 14 * PLANE_M), t + 2, ALPHA);
    output_points(_mm256_loadu_ps(m + 3 * PLANE_M), _mm256_loadu_ps(m + 7 * PLANE_M), _mm256_loadu_ps(m + 11 * PLANE_M), _mm256_loadu_ps(m + 15 * PLANE_M), t + 3, ALPHA);
    const __m256 zero = zeros;
    if (rows > 0) {
        output_points(t[0], t[1], t[2], t[3], r, 1);
        if (columns > 0) _mm256_maskstore_ps(y, TAIL, epilogue(r[0], _mm256_maskload_ps(e_b, TAIL), zero));
        if (columns > 1) _mm256_maskstore_ps(y + K, TAIL, epilogue(r[1], _mm256_maskload_ps(e_b, TAIL), zero));
    }
    if (rows > 1) {
        output_points(t[4], t[5], t[6], t[7], r, 1);
        if (columns > 0) _mm256_maskstore_ps(y + OUT_W * K, TAIL, epilogue(r[0], _mm256_maskload_ps(e_b, TAIL), zero));
        if (columns > 1) _mm256_maskstore_ps(y + OUT_W * K + K, TAIL, epilogue(r[1], _mm256_maskload_ps(e_b, TAIL), zero));
    }
}

/* y of a block's tiles, output channels `part` * BLOCK_K and following. */
static void output_block(const float *m, float *Y, const float *E_b, long block, long part)
{
    const long begin = part * BLOCK_K, end = K - begin < BLOCK_K ? K : begin + BLOCK_K;
    for (long tile = block * TILES; tile < (block + 1) * TILES && tile < ALL_TILES; ++tile, m += ROW_M) {
        const long n = tile / (TILES_H * TILES_W), h = tile / TILES_W % TILES_H * SIDE, w = tile % TILES_W * SIDE;
        const long rows = OUT_H - h, columns = OUT_W - w;
        float *y = Y + ((n * OUT_H + h) * OUT_W + w) * K;
        long k = begin;
        if (rows >= SIDE && columns >= SIDE)
            for (; k + 8 <= end; k += 8) output_vector(m + k - begin, y + k, E_b + k * STEP_b_k, SIDE, SIDE);
        else
            for (; k + 8 <= end; k += 8) output_vector(m + k - begin, y + k, E_b + k * STEP_b_k, rows, columns);
        if (k < end) output_vector_tail(m + k - begin, y + k, E_b + k * STEP_b_k, rows, columns);
    }
}

/* Whether this CPU runs the kernel. This function and the packing run on any. */
__attribute__((target("no-avx"))) int conv2d_winograd_f32_c5_h7_w7_k37_r3_s3_pad1_relu_y_b_k_27faefbe__avx2_t2_supported(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

/* Every worker takes a run of tasks, the parts of a block one after the other, so that V of a block is made once. The
 * scratch arrays are a call's own: it may be made from several threads at once, or after a fork, and the C library hands
 * out the memory of the last call again, its pages in place. */
/* Y is not restrict: an array of its shape may be Y itself, and the compiler must read the others where they are used,
 * for a register that holds one meanwhile is taken from the accumulators. */
void conv2d_winograd_f32_c5_h7_w7_k37_r3_s3_pad1_relu_y_b_k_27faefbe__avx2_t2(const float *restrict X, const float *restrict W, float *Y, const float *E_b)
{
    if (!conv2d_winograd_f32_c5_h7_w7_k37_r3_s3_pad1_relu_y_b_k_27faefbe__avx2_t2_supported()) {
        fputs("conv2d_winograd_f32_c5_h7_w7_k37_r3_s3_pad1_relu_y_b_k_27faefbe__avx2_t2: this CPU lacks avx2 or fma\n", stderr);
        abort();
    }
    const int dynamic = omp_get_dynamic();
    omp_set_dynamic(0); /* THREADS it is, whatever OMP_DYNAMIC says */
    float *scratch = aligned_alloc(64, 2 * SCRATCH * sizeof(float));
    if (!scratch) {
        fputs("conv2d_winograd_f32_c5_h7_w7_k37_r3_s3_pad1_relu_y_b_k_27faefbe__avx2_t2: no memory for the transformed tiles\n", stderr);
        abort();
    }
#pragma omp parallel for num_threads(THREADS) schedule(static)
    for (long worker = 0; worker < 2; ++worker) {
        float *v = scratch + worker * SCRATCH, *m = v + ALPHA * ALPHA * PLANE_V, *patch = m + ALPHA * ALPHA * PLANE_M;
        long held = -1;
        for (long task = worker * TASKS / 2; task < (worker + 1) * TASKS / 2; ++task) {
            const long block = task / PARTS, part = task % PARTS;
            if (block != held) input_block(X, block, v, patch);
            held = block;
            for (long point = 0; point < ALPHA * ALPHA; ++point)
                product(v + point * PLANE_V, W + (part * ALPHA * ALPHA + point) * PLANE_U, m + point * PLANE_M);
            output_block(m, Y, E_b, block, part);
        }
    }
    free(scratch);
    omp_set_dynamic(dynamic);
}

/* Packs U of one point and part, C x BLOCK_K, in the order the products read it. */
__attribute__((target("no-avx"))) static void pack_product(const float *restrict W, float *restrict packed)
{
    const long W_k = 24, W_n = 1;
    for (long n = 0; n < 24; n += 8) {
        for (long k = 0; k < 5; ++k) {
            for (long lane = 0; lane < 8; ++lane) {
                packed[5 * n + lane + 8 * k] = W[k * W_k + (n + lane) * W_n];
            }
        }
    }
}

/* Packs weights that lie as w[k, c, r, s] of 37 x 5 x 3 x 3. */
__attribute__((target("no-avx"))) void conv2d_winograd_f32_c5_h7_w7_k37_r3_s3_pad1_relu_y_b_k_27faefbe__avx2_t2_pack(const float *restrict W, float *restrict packed)
{
    /* G, and U of one point; computed in double, rounded once. */
    static const double G[ALPHA][3] = {
        { -1, 0, 0 },
        { 1.0 / 2, 1.0 / 2, 1.0 / 2 },
        { 1.0 / 2, -1.0 / 2, 1.0 / 2 },
        { 0, 0, 1 },
    };
    float *u = malloc(C * BLOCK_K * sizeof(float));
    if (!u) {
        fputs("conv2d_winograd_f32_c5_h7_w7_k37_r3_s3_pad1_relu_y_b_k_27faefbe__avx2_t2_pack: no memory for the transformed weights\n", stderr);
        abort();
    }
    for (long part = 0; part < PARTS; ++part)
        for (long i = 0; i < ALPHA; ++i)
            for (long j = 0; j < ALPHA; ++j) {
                for (long k = 0; k < BLOCK_K; ++k)
                    for (long c = 0; c < C; ++c) {
                        double sum = 0;
                        if (part * BLOCK_K + k < K)
                            for (long r = 0; r < 3; ++r)
                                for (long s = 0; s < 3; ++s)
                                    sum += G[i][r] * G[j][s] * W[(part * BLOCK_K + k) * 45 + c * 9 + r * 3 + s * 1];
                        u[c * BLOCK_K + k] = sum;
                    }
                pack_product(u, packed);
                packed += PLANE_U;
            }
    free(u);
}
