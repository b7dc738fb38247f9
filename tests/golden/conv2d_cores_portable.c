/*
 * conv2d c=8,h=12,w=12,k=48,r=3,s=3,pad=1
 *
 * Written by Tilewright VERSION from the scheme
 *
 *     T(h,2)@core T(w,3)@core T(h,6) R(k) S(y) T(r,3) T(s,3) T(c,8) U(w,4) V(k,4)
 *
 *     for h in 2 steps of 6:  on cores
 *       for w in 3 steps of 4:  on cores
 *         for h in 6 steps of 1:
 *           for k in 12 steps of 4:
 *             with the tile of y in registers:
 *               for r in 3 steps of 1:
 *                 for s in 3 steps of 1:
 *                   for c in 8 steps of 1:
 *                     register tile 4k × 4w
 *
 * Microkernels:
 *     f32_conv2d_ukernel_4wx4k_s1__portable: 4 FMAs, 5 loads and no stores per step, 6 of 16 registers (4 accumulators)
 *
 * Operands, row-major f32:
 *     X: x[n, h + r - 1, w + s - 1, c] of 1 x 12 x 12 x 8
 *     W: w[k, c, r, s] of 48 x 8 x 3 x 3
 *     Y: y[n, h, w, k] of 1 x 12 x 12 x 48
 *     W is packed: the scheme's panels, one after the other, with reduction points in the order of its loops.
 */
/* A vector of the compiler: four floats, on any CPU. `vec_at` is one at any address. Not every kernel calls all
 * of these functions. */
typedef float vec __attribute__((vector_size(16)));
typedef float vec_at __attribute__((vector_size(16), aligned(4), may_alias));
static inline __attribute__((unused)) vec spread(float value) { return (vec){value, value, value, value}; }
static inline __attribute__((unused)) vec load_lanes(const float *p, int lanes)
{
    vec v = {0, 0, 0, 0};
    for (int lane = 0; lane < lanes; ++lane)
        v[lane] = p[lane];
    return v;
}
static inline __attribute__((unused)) void store_lanes(float *p, vec v, int lanes)
{
    for (int lane = 0; lane < lanes; ++lane)
        p[lane] = v[lane];
}

/* Elements between neighbours along each axis: X_h is along the axis h of X. W has none: tiles read it packed, in the
 * order of the loops. */
static const long X_h = 96;
static const long X_w = 8;
static const long X_c = 1;
static const long Y_h = 576;
static const long Y_w = 48;
static const long Y_k = 1;

/* 4 rows x 1 vectors, summed over r from r_begin to r_end, s from 0 to 3, c from 0 to 8; 4 <= w < 8. */
static void tile0_4wx4k(const float *x, const float *w, float *y, long r_begin, long r_end)
{
    vec acc_0_0 = ((vec){0, 0, 0, 0});
    vec acc_1_0 = ((vec){0, 0, 0, 0});
    vec acc_2_0 = ((vec){0, 0, 0, 0});
    vec acc_3_0 = ((vec){0, 0, 0, 0});
    for (long r = r_begin; r < r_end; ++r) {
        const float *x_r = x + r * X_h;
        const float *w_r = w + 96 * r;
        for (long s = 0; s < 3; ++s) {
            const float *x_s = x_r + s * X_w;
            const float *w_s = w_r + 32 * s;
            #pragma GCC unroll 4
            for (long c = 0; c < 8; ++c) {
                const float *x_c = x_s + c * X_c;
                const float *w_c = w_s + 4 * c;
                const vec w_0 = ((vec)*(const vec_at *)(w_c));
                { const vec x_0 = spread(*(x_c)); acc_0_0 = x_0 * w_0 + acc_0_0; }
                { const vec x_1 = spread(*(x_c + X_w)); acc_1_0 = x_1 * w_0 + acc_1_0; }
                { const vec x_2 = spread(*(x_c + 2 * X_w)); acc_2_0 = x_2 * w_0 + acc_2_0; }
                { const vec x_3 = spread(*(x_c + 3 * X_w)); acc_3_0 = x_3 * w_0 + acc_3_0; }
            }
        }
    }
    *(vec_at *)(y) = acc_0_0;
    *(vec_at *)(y + Y_w) = acc_1_0;
    *(vec_at *)(y + 2 * Y_w) = acc_2_0;
    *(vec_at *)(y + 3 * Y_w) = acc_3_0;
}

/* 4 rows x 1 vectors, summed over r from r_begin to r_end, s from 0 to 1, c from 0 to 8, s from 1 to 3; w < 4. */
static void tile1_4wx4k_wpad0(const float *x, const float *w, float *y, long r_begin, long r_end)
{
    vec acc_0_0 = ((vec){0, 0, 0, 0});
    vec acc_1_0 = ((vec){0, 0, 0, 0});
    vec acc_2_0 = ((vec){0, 0, 0, 0});
    vec acc_3_0 = ((vec){0, 0, 0, 0});
    for (long r = r_begin; r < r_end; ++r) {
        const float *x_r = x + r * X_h;
        const float *w_r = w + 96 * r;
        for (long s = 0; s < 1; ++s) {
            const float *x_s = x_r + s * X_w;
            const float *w_s = w_r + 32 * s;
            #pragma GCC unroll 4
            for (long c = 0; c < 8; ++c) {
                const float *x_c = x_s + c * X_c;
                const float *w_c = w_s + 4 * c;
                const vec w_0 = ((vec)*(const vec_at *)(w_c));
                { const vec x_0 = spread(*(x_c + X_w)); acc_1_0 = x_0 * w_0 + acc_1_0; }
                { const vec x_1 = spread(*(x_c + 2 * X_w)); acc_2_0 = x_1 * w_0 + acc_2_0; }
                { const vec x_2 = spread(*(x_c + 3 * X_w)); acc_3_0 = x_2 * w_0 + acc_3_0; }
            }
        }
        for (long s = 1; s < 3; ++s) {
            const float *x_s = x_r + s * X_w;
            const float *w_s = w_r + 32 * s;
            #pragma GCC unroll 4
            for (long c = 0; c < 8; ++c) {
                const float *x_c = x_s + c * X_c;
                const float *w_c = w_s + 4 * c;
                const vec w_0 = ((vec)*(const vec_at *)(w_c));
                { const vec x_0 = spread(*(x_c)); acc_0_0 = x_0 * w_0 + acc_0_0; }
                { const vec x_1 = spread(*(x_c + X_w)); acc_1_0 = x_1 * w_0 + acc_1_0; }
                { const vec x_2 = spread(*(x_c + 2 * X_w)); acc_2_0 = x_2 * w_0 + acc_2_0; }
                { const vec x_3 = spread(*(x_c + 3 * X_w)); acc_3_0 = x_3 * w_0 + acc_3_0; }
            }
        }
    }
    *(vec_at *)(y) = acc_0_0;
    *(vec_at *)(y + Y_w) = acc_1_0;
    *(vec_at *)(y + 2 * Y_w) = acc_2_0;
    *(vec_at *)(y + 3 * Y_w) = acc_3_0;
}

/* 4 rows x 1 vectors, summed over r from r_begin to r_end, s from 0 to 2, c from 0 to 8, s from 2 to 3; 8 <= w. */
static void tile2_4wx4k_wpad2(const float *x, const float *w, float *y, long r_begin, long r_end)
{
    vec acc_0_0 = ((vec){0, 0, 0, 0});
    vec acc_1_0 = ((vec){0, 0, 0, 0});
    vec acc_2_0 = ((vec){0, 0, 0, 0});
    vec acc_3_0 = ((vec){0, 0, 0, 0});
    for (long r = r_begin; r < r_end; ++r) {
        const float *x_r = x + r * X_h;
        const float *w_r = w + 96 * r;
        for (long s = 0; s < 2; ++s) {
            const float *x_s = x_r + s * X_w;
            const float *w_s = w_r + 32 * s;
            #pragma GCC unroll 4
            for (long c = 0; c < 8; ++c) {
                const float *x_c = x_s + c * X_c;
                const float *w_c = w_s + 4 * c;
                const vec w_0 = ((vec)*(const vec_at *)(w_c));
                { const vec x_0 = spread(*(x_c)); acc_0_0 = x_0 * w_0 + acc_0_0; }
                { const vec x_1 = spread(*(x_c + X_w)); acc_1_0 = x_1 * w_0 + acc_1_0; }
                { const vec x_2 = spread(*(x_c + 2 * X_w)); acc_2_0 = x_2 * w_0 + acc_2_0; }
                { const vec x_3 = spread(*(x_c + 3 * X_w)); acc_3_0 = x_3 * w_0 + acc_3_0; }
            }
        }
        for (long s = 2; s < 3; ++s) {
            const float *x_s = x_r + s * X_w;
            const float *w_s = w_r + 32 * s;
            #pragma GCC unroll 4
            for (long c = 0; c < 8; ++c) {
                const float *x_c = x_s + c * X_c;
                const float *w_c = w_s + 4 * c;
                const vec w_0 = ((vec)*(const vec_at *)(w_c));
                { const vec x_0 = spread(*(x_c)); acc_0_0 = x_0 * w_0 + acc_0_0; }
                { const vec x_1 = spread(*(x_c + X_w)); acc_1_0 = x_1 * w_0 + acc_1_0; }
                { const vec x_2 = spread(*(x_c + 2 * X_w)); acc_2_0 = x_2 * w_0 + acc_2_0; }
            }
        }
    }
    *(vec_at *)(y) = acc_0_0;
    *(vec_at *)(y + Y_w) = acc_1_0;
    *(vec_at *)(y + 2 * Y_w) = acc_2_0;
    *(vec_at *)(y + 3 * Y_w) = acc_3_0;
}

/* Whether this CPU runs the kernel. This function and the packing run on any CPU. */
int conv2d_f32_c8_h12_w12_k48_r3_s3_pad1__portable_t2_supported(void)
{
    return 1;
}

/* The loops over tiles. Their variables are positions. A tile gets pointers to its own first x, panel and y. */
/* The part of a call that thread `thread` of `threads` does. All run it at once. */
void conv2d_f32_c8_h12_w12_k48_r3_s3_pad1__portable_t2_run(const float *restrict X, const float *restrict W, float *restrict Y, long thread, long threads)
{
    for (long worker = 6 * thread / threads; worker < (6 * thread + 6) / threads; ++worker) {
        const long h_1 = 6 * (worker / 3);
        const long w = 4 * (worker % 3);
        for (long h = h_1; h < h_1 + 6; ++h) {
            for (long k = 0; k < 48; k += 4) {
                const long r_begin = (0 > -h + 1 ? 0 : -h + 1);
                const long r_end = (3 < -h + 13 ? 3 : -h + 13);
                if (w >= 4 && w < 8) {
                    tile0_4wx4k(X + (h - 1) * X_h + (w - 1) * X_w, W + 72 * k, Y + h * Y_h + w * Y_w + k * Y_k, r_begin, r_end);
                } else if (w < 4) {
                    tile1_4wx4k_wpad0(X + (h - 1) * X_h + (w - 1) * X_w, W + 72 * k, Y + h * Y_h + w * Y_w + k * Y_k, r_begin, r_end);
                } else {
                    tile2_4wx4k_wpad2(X + (h - 1) * X_h + (w - 1) * X_w, W + 72 * k, Y + h * Y_h + w * Y_w + k * Y_k, r_begin, r_end);
                }
            }
        }
    }
}

/* Packs the weights: the part of thread `thread` of `threads`. They lie in memory as w[k, c, r, s] of 48 x 8 x 3 x 3. */
void conv2d_f32_c8_h12_w12_k48_r3_s3_pad1__portable_t2_pack_run(const float *restrict W, float *restrict packed, long thread, long threads)
{
    const long W_k = 72, W_c = 9, W_r = 3, W_s = 1;
    for (long worker = 12 * thread / threads; worker < (12 * thread + 12) / threads; ++worker) {
        const long k = 4 * worker;
        for (long r = 0; r < 3; ++r) {
            for (long s = 0; s < 3; ++s) {
                for (long c = 0; c < 8; ++c) {
                    for (long lane = 0; lane < 4; ++lane) {
                        packed[72 * k + lane + 96 * r + 32 * s + 4 * c] = W[(k + lane) * W_k + c * W_c + r * W_r + s * W_s];
                    }
                }
            }
        }
    }
}

/*
 * A whole call: it starts a team of threads.
 * A caller that has done so calls conv2d_f32_c8_h12_w12_k48_r3_s3_pad1__portable_t2_run.
 */
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

void conv2d_f32_c8_h12_w12_k48_r3_s3_pad1__portable_t2(const float *restrict X, const float *restrict W, float *restrict Y)
{
    const int dynamic = omp_get_dynamic();
    omp_set_dynamic(0); /* the team has THREADS threads, whatever OMP_DYNAMIC says */
    #pragma omp parallel num_threads(THREADS)
    conv2d_f32_c8_h12_w12_k48_r3_s3_pad1__portable_t2_run(X, W, Y, omp_get_thread_num(), omp_get_num_threads());
    omp_set_dynamic(dynamic);
}

/* Packs the weights, once for many calls. */
void conv2d_f32_c8_h12_w12_k48_r3_s3_pad1__portable_t2_pack(const float *restrict W, float *restrict packed)
{
    const int dynamic = omp_get_dynamic();
    omp_set_dynamic(0); /* the team has THREADS threads, whatever OMP_DYNAMIC says */
    #pragma omp parallel num_threads(THREADS)
    conv2d_f32_c8_h12_w12_k48_r3_s3_pad1__portable_t2_pack_run(W, packed, omp_get_thread_num(), omp_get_num_threads());
    omp_set_dynamic(dynamic);
}
