/*
 * conv2d c=5,h=7,w=7,k=37,r=3,s=3,pad=1
 *
 * Written by Tilewright VERSION from the scheme
 *
 *     R(k) T(h,7) S(y) T(r,3) T(s,3) T(c,5) U(w,7) V(k,4)
 *
 *     for k in 10 steps of 4:
 *       for h in 7 steps of 1:
 *         with the tile of y in registers:
 *           for r in 3 steps of 1:
 *             for s in 3 steps of 1:
 *               for c in 5 steps of 1:
 *                 register tile 4k × 7w
 *
 * Microkernels:
 *     f32_conv2d_ukernel_7wx4k_s1__portable: 7 FMAs, 8 loads and no stores per step, 9 of 16 registers (7 accumulators)
 *
 * Operands, row-major f32:
 *     X: x[n, h + r - 1, w + s - 1, c] of 1 x 7 x 7 x 5
 *     W: w[k, c, r, s] of 37 x 5 x 3 x 3
 *     Y: y[n, h, w, k] of 1 x 7 x 7 x 37
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
static const long X_h = 35;
static const long X_w = 5;
static const long X_c = 1;
static const long Y_h = 259;
static const long Y_w = 37;
static const long Y_k = 1;

#define TAIL 1 /* lanes used of the last vector */

/* 7 rows x 1 vectors, summed over r from r_begin to r_end, s from 0 to 1, c from 0 to 5, s from 1 to 2, s from 2 to
 * 3; k < 36. */
static void tile0_7wx4k(const float *x, const float *w, float *y, long r_begin, long r_end)
{
    vec acc_0_0 = ((vec){0, 0, 0, 0});
    vec acc_1_0 = ((vec){0, 0, 0, 0});
    vec acc_2_0 = ((vec){0, 0, 0, 0});
    vec acc_3_0 = ((vec){0, 0, 0, 0});
    vec acc_4_0 = ((vec){0, 0, 0, 0});
    vec acc_5_0 = ((vec){0, 0, 0, 0});
    vec acc_6_0 = ((vec){0, 0, 0, 0});
    for (long r = r_begin; r < r_end; ++r) {
        const float *x_r = x + r * X_h;
        const float *w_r = w + 60 * r;
        for (long s = 0; s < 1; ++s) {
            const float *x_s = x_r + s * X_w;
            const float *w_s = w_r + 20 * s;
            for (long c = 0; c < 5; ++c) {
                const float *x_c = x_s + c * X_c;
                const float *w_c = w_s + 4 * c;
                const vec w_0 = ((vec)*(const vec_at *)(w_c));
                { const vec x_0 = spread(*(x_c + X_w)); acc_1_0 = x_0 * w_0 + acc_1_0; }
                { const vec x_1 = spread(*(x_c + 2 * X_w)); acc_2_0 = x_1 * w_0 + acc_2_0; }
                { const vec x_2 = spread(*(x_c + 3 * X_w)); acc_3_0 = x_2 * w_0 + acc_3_0; }
                { const vec x_3 = spread(*(x_c + 4 * X_w)); acc_4_0 = x_3 * w_0 + acc_4_0; }
                { const vec x_4 = spread(*(x_c + 5 * X_w)); acc_5_0 = x_4 * w_0 + acc_5_0; }
                { const vec x_5 = spread(*(x_c + 6 * X_w)); acc_6_0 = x_5 * w_0 + acc_6_0; }
            }
        }
        for (long s = 1; s < 2; ++s) {
            const float *x_s = x_r + s * X_w;
            const float *w_s = w_r + 20 * s;
            for (long c = 0; c < 5; ++c) {
                const float *x_c = x_s + c * X_c;
                const float *w_c = w_s + 4 * c;
                const vec w_0 = ((vec)*(const vec_at *)(w_c));
                { const vec x_0 = spread(*(x_c)); acc_0_0 = x_0 * w_0 + acc_0_0; }
                { const vec x_1 = spread(*(x_c + X_w)); acc_1_0 = x_1 * w_0 + acc_1_0; }
                { const vec x_2 = spread(*(x_c + 2 * X_w)); acc_2_0 = x_2 * w_0 + acc_2_0; }
                { const vec x_3 = spread(*(x_c + 3 * X_w)); acc_3_0 = x_3 * w_0 + acc_3_0; }
                { const vec x_4 = spread(*(x_c + 4 * X_w)); acc_4_0 = x_4 * w_0 + acc_4_0; }
                { const vec x_5 = spread(*(x_c + 5 * X_w)); acc_5_0 = x_5 * w_0 + acc_5_0; }
                { const vec x_6 = spread(*(x_c + 6 * X_w)); acc_6_0 = x_6 * w_0 + acc_6_0; }
            }
        }
        for (long s = 2; s < 3; ++s) {
            const float *x_s = x_r + s * X_w;
            const float *w_s = w_r + 20 * s;
            for (long c = 0; c < 5; ++c) {
                const float *x_c = x_s + c * X_c;
                const float *w_c = w_s + 4 * c;
                const vec w_0 = ((vec)*(const vec_at *)(w_c));
                { const vec x_0 = spread(*(x_c)); acc_0_0 = x_0 * w_0 + acc_0_0; }
                { const vec x_1 = spread(*(x_c + X_w)); acc_1_0 = x_1 * w_0 + acc_1_0; }
                { const vec x_2 = spread(*(x_c + 2 * X_w)); acc_2_0 = x_2 * w_0 + acc_2_0; }
                { const vec x_3 = spread(*(x_c + 3 * X_w)); acc_3_0 = x_3 * w_0 + acc_3_0; }
                { const vec x_4 = spread(*(x_c + 4 * X_w)); acc_4_0 = x_4 * w_0 + acc_4_0; }
                { const vec x_5 = spread(*(x_c + 5 * X_w)); acc_5_0 = x_5 * w_0 + acc_5_0; }
            }
        }
    }
    *(vec_at *)(y) = acc_0_0;
    *(vec_at *)(y + Y_w) = acc_1_0;
    *(vec_at *)(y + 2 * Y_w) = acc_2_0;
    *(vec_at *)(y + 3 * Y_w) = acc_3_0;
    *(vec_at *)(y + 4 * Y_w) = acc_4_0;
    *(vec_at *)(y + 5 * Y_w) = acc_5_0;
    *(vec_at *)(y + 6 * Y_w) = acc_6_0;
}

/* 7 rows x 1 vectors, summed over r from r_begin to r_end, s from 0 to 1, c from 0 to 5, s from 1 to 2, s from 2 to
 * 3; 36 <= k. */
static void tile1_7wx4k_tail(const float *x, const float *w, float *y, long r_begin, long r_end)
{
    vec acc_0_0 = ((vec){0, 0, 0, 0});
    vec acc_1_0 = ((vec){0, 0, 0, 0});
    vec acc_2_0 = ((vec){0, 0, 0, 0});
    vec acc_3_0 = ((vec){0, 0, 0, 0});
    vec acc_4_0 = ((vec){0, 0, 0, 0});
    vec acc_5_0 = ((vec){0, 0, 0, 0});
    vec acc_6_0 = ((vec){0, 0, 0, 0});
    for (long r = r_begin; r < r_end; ++r) {
        const float *x_r = x + r * X_h;
        const float *w_r = w + 60 * r;
        for (long s = 0; s < 1; ++s) {
            const float *x_s = x_r + s * X_w;
            const float *w_s = w_r + 20 * s;
            for (long c = 0; c < 5; ++c) {
                const float *x_c = x_s + c * X_c;
                const float *w_c = w_s + 4 * c;
                const vec w_0 = ((vec)*(const vec_at *)(w_c));
                { const vec x_0 = spread(*(x_c + X_w)); acc_1_0 = x_0 * w_0 + acc_1_0; }
                { const vec x_1 = spread(*(x_c + 2 * X_w)); acc_2_0 = x_1 * w_0 + acc_2_0; }
                { const vec x_2 = spread(*(x_c + 3 * X_w)); acc_3_0 = x_2 * w_0 + acc_3_0; }
                { const vec x_3 = spread(*(x_c + 4 * X_w)); acc_4_0 = x_3 * w_0 + acc_4_0; }
                { const vec x_4 = spread(*(x_c + 5 * X_w)); acc_5_0 = x_4 * w_0 + acc_5_0; }
                { const vec x_5 = spread(*(x_c + 6 * X_w)); acc_6_0 = x_5 * w_0 + acc_6_0; }
            }
        }
        for (long s = 1; s < 2; ++s) {
            const float *x_s = x_r + s * X_w;
            const float *w_s = w_r + 20 * s;
            for (long c = 0; c < 5; ++c) {
                const float *x_c = x_s + c * X_c;
                const float *w_c = w_s + 4 * c;
                const vec w_0 = ((vec)*(const vec_at *)(w_c));
                { const vec x_0 = spread(*(x_c)); acc_0_0 = x_0 * w_0 + acc_0_0; }
                { const vec x_1 = spread(*(x_c + X_w)); acc_1_0 = x_1 * w_0 + acc_1_0; }
                { const vec x_2 = spread(*(x_c + 2 * X_w)); acc_2_0 = x_2 * w_0 + acc_2_0; }
                { const vec x_3 = spread(*(x_c + 3 * X_w)); acc_3_0 = x_3 * w_0 + acc_3_0; }
                { const vec x_4 = spread(*(x_c + 4 * X_w)); acc_4_0 = x_4 * w_0 + acc_4_0; }
                { const vec x_5 = spread(*(x_c + 5 * X_w)); acc_5_0 = x_5 * w_0 + acc_5_0; }
                { const vec x_6 = spread(*(x_c + 6 * X_w)); acc_6_0 = x_6 * w_0 + acc_6_0; }
            }
        }
        for (long s = 2; s < 3; ++s) {
            const float *x_s = x_r + s * X_w;
            const float *w_s = w_r + 20 * s;
            for (long c = 0; c < 5; ++c) {
                const float *x_c = x_s + c * X_c;
                const float *w_c = w_s + 4 * c;
                const vec w_0 = ((vec)*(const vec_at *)(w_c));
                { const vec x_0 = spread(*(x_c)); acc_0_0 = x_0 * w_0 + acc_0_0; }
                { const vec x_1 = spread(*(x_c + X_w)); acc_1_0 = x_1 * w_0 + acc_1_0; }
                { const vec x_2 = spread(*(x_c + 2 * X_w)); acc_2_0 = x_2 * w_0 + acc_2_0; }
                { const vec x_3 = spread(*(x_c + 3 * X_w)); acc_3_0 = x_3 * w_0 + acc_3_0; }
                { const vec x_4 = spread(*(x_c + 4 * X_w)); acc_4_0 = x_4 * w_0 + acc_4_0; }
                { const vec x_5 = spread(*(x_c + 5 * X_w)); acc_5_0 = x_5 * w_0 + acc_5_0; }
            }
        }
    }
    store_lanes(y, acc_0_0, TAIL);
    store_lanes(y + Y_w, acc_1_0, TAIL);
    store_lanes(y + 2 * Y_w, acc_2_0, TAIL);
    store_lanes(y + 3 * Y_w, acc_3_0, TAIL);
    store_lanes(y + 4 * Y_w, acc_4_0, TAIL);
    store_lanes(y + 5 * Y_w, acc_5_0, TAIL);
    store_lanes(y + 6 * Y_w, acc_6_0, TAIL);
}

/* Whether this CPU runs the kernel. This function and the packing run on any CPU. */
int conv2d_f32_c5_h7_w7_k37_r3_s3_pad1__portable_supported(void)
{
    return 1;
}

/* The loops over tiles. Their variables are positions. A tile gets pointers to its own first x, panel and y. */
void conv2d_f32_c5_h7_w7_k37_r3_s3_pad1__portable_run(const float *restrict X, const float *restrict W, float *restrict Y)
{
    for (long k = 0; k < 40; k += 4) {
        for (long h = 0; h < 7; ++h) {
            const long r_begin = (0 > -h + 1 ? 0 : -h + 1);
            const long r_end = (3 < -h + 8 ? 3 : -h + 8);
            if (k < 36) {
                tile0_7wx4k(X + (h - 1) * X_h + -1 * X_w, W + 45 * k, Y + h * Y_h + k * Y_k, r_begin, r_end);
            } else {
                tile1_7wx4k_tail(X + (h - 1) * X_h + -1 * X_w, W + 45 * k, Y + h * Y_h + k * Y_k, r_begin, r_end);
            }
        }
    }
}

/* Packs the weights. They lie in memory as w[k, c, r, s] of 37 x 5 x 3 x 3. */
void conv2d_f32_c5_h7_w7_k37_r3_s3_pad1__portable_pack_run(const float *restrict W, float *restrict packed)
{
    const long W_k = 45, W_c = 9, W_r = 3, W_s = 1;
    for (long k = 0; k < 40; k += 4) {
        for (long r = 0; r < 3; ++r) {
            for (long s = 0; s < 3; ++s) {
                for (long c = 0; c < 5; ++c) {
                    for (long lane = 0; lane < 4; ++lane) {
                        if (k + lane < 37) {
                            packed[45 * k + lane + 60 * r + 20 * s + 4 * c] = W[(k + lane) * W_k + c * W_c + r * W_r + s * W_s];
                        } else {
                            packed[45 * k + lane + 60 * r + 20 * s + 4 * c] = 0;
                        }
                    }
                }
            }
        }
    }
}

/*
 * A whole call, the same as conv2d_f32_c5_h7_w7_k37_r3_s3_pad1__portable_run.
 */

void conv2d_f32_c5_h7_w7_k37_r3_s3_pad1__portable(const float *restrict X, const float *restrict W, float *restrict Y)
{
    conv2d_f32_c5_h7_w7_k37_r3_s3_pad1__portable_run(X, W, Y);
}

/* Packs the weights, once for many calls. */
void conv2d_f32_c5_h7_w7_k37_r3_s3_pad1__portable_pack(const float *restrict W, float *restrict packed)
{
    conv2d_f32_c5_h7_w7_k37_r3_s3_pad1__portable_pack_run(W, packed);
}
