/*
 * conv2d n=2,c=12,h=7,w=6,k=111,r=3,s=3,groups=3,pad=1
 *
 * Written by Tilewright VERSION from the scheme
 *
 *     T(c,2) R(k) T(g,3) R(n) T(h,7) S(y) T(c,2) T(r,3) U(s,3) U(w,6) V(k,4)
 *
 *     for c in 2 steps of 2:
 *       for k in 10 steps of 4:
 *         for g in 3 steps of 1:
 *           for n in 2 steps of 1:
 *             for h in 7 steps of 1:
 *               with the tile of y in registers:
 *                 for c in 2 steps of 1:
 *                   for r in 3 steps of 1:
 *                     register tile 4k × 6w × 3s
 *
 * Microkernels:
 *     f32_conv2d_ukernel_6wx4kx3s_s1__portable: 18 FMAs, 11 loads and no stores per step, 8 of 16 registers (6 accumulators)
 *
 * Operands, row-major f32:
 *     X: x[n, h + r - 1, w + s - 1, 4*g + c] of 2 x 7 x 6 x 12
 *     W: w[37*g + k, c, r, s] of 111 x 4 x 3 x 3
 *     Y: y[n, h, w, 37*g + k] of 2 x 7 x 6 x 111
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
static const long X_n = 504;
static const long X_h = 72;
static const long X_w = 12;
static const long X_g = 1;
static const long Y_n = 4662;
static const long Y_h = 666;
static const long Y_w = 111;
static const long Y_g = 1;

#define TAIL 1 /* lanes used of the last vector */

/* 6 rows x 1 vectors, summed over c from 0 to 2, r from r_begin to r_end; k < 36; first: y holds no sums yet. */
static void tile0_6wx4kx3s(const float *x, const float *w, float *y, long r_begin, long r_end, int first)
{
    vec acc_0_0;
    vec acc_1_0;
    vec acc_2_0;
    vec acc_3_0;
    vec acc_4_0;
    vec acc_5_0;
    if (first) {
        acc_0_0 = ((vec){0, 0, 0, 0});
        acc_1_0 = ((vec){0, 0, 0, 0});
        acc_2_0 = ((vec){0, 0, 0, 0});
        acc_3_0 = ((vec){0, 0, 0, 0});
        acc_4_0 = ((vec){0, 0, 0, 0});
        acc_5_0 = ((vec){0, 0, 0, 0});
    } else {
        acc_0_0 = ((vec)*(const vec_at *)(y));
        acc_1_0 = ((vec)*(const vec_at *)(y + Y_w));
        acc_2_0 = ((vec)*(const vec_at *)(y + 2 * Y_w));
        acc_3_0 = ((vec)*(const vec_at *)(y + 3 * Y_w));
        acc_4_0 = ((vec)*(const vec_at *)(y + 4 * Y_w));
        acc_5_0 = ((vec)*(const vec_at *)(y + 5 * Y_w));
    }
    for (long c = 0; c < 2; ++c) {
        const float *x_c = x + c * X_g;
        const float *w_c = w + 36 * c;
        for (long r = r_begin; r < r_end; ++r) {
            const float *x_r = x_c + r * X_h;
            const float *w_r = w_c + 12 * r;
            const vec w_0_0 = ((vec)*(const vec_at *)(w_r));
            const vec w_1_0 = ((vec)*(const vec_at *)(w_r + 4));
            const vec w_2_0 = ((vec)*(const vec_at *)(w_r + 8));
            { const vec x_0 = spread(*(x_r + X_w)); acc_1_0 = x_0 * w_0_0 + acc_1_0; acc_0_0 = x_0 * w_1_0 + acc_0_0; }
            { const vec x_1 = spread(*(x_r + 2 * X_w)); acc_2_0 = x_1 * w_0_0 + acc_2_0; acc_1_0 = x_1 * w_1_0 + acc_1_0; acc_0_0 = x_1 * w_2_0 + acc_0_0; }
            { const vec x_2 = spread(*(x_r + 3 * X_w)); acc_3_0 = x_2 * w_0_0 + acc_3_0; acc_2_0 = x_2 * w_1_0 + acc_2_0; acc_1_0 = x_2 * w_2_0 + acc_1_0; }
            { const vec x_3 = spread(*(x_r + 4 * X_w)); acc_4_0 = x_3 * w_0_0 + acc_4_0; acc_3_0 = x_3 * w_1_0 + acc_3_0; acc_2_0 = x_3 * w_2_0 + acc_2_0; }
            { const vec x_4 = spread(*(x_r + 5 * X_w)); acc_5_0 = x_4 * w_0_0 + acc_5_0; acc_4_0 = x_4 * w_1_0 + acc_4_0; acc_3_0 = x_4 * w_2_0 + acc_3_0; }
            { const vec x_5 = spread(*(x_r + 6 * X_w)); acc_5_0 = x_5 * w_1_0 + acc_5_0; acc_4_0 = x_5 * w_2_0 + acc_4_0; }
        }
    }
    *(vec_at *)(y) = acc_0_0;
    *(vec_at *)(y + Y_w) = acc_1_0;
    *(vec_at *)(y + 2 * Y_w) = acc_2_0;
    *(vec_at *)(y + 3 * Y_w) = acc_3_0;
    *(vec_at *)(y + 4 * Y_w) = acc_4_0;
    *(vec_at *)(y + 5 * Y_w) = acc_5_0;
}

/* 6 rows x 1 vectors, summed over c from 0 to 2, r from r_begin to r_end; 36 <= k; first: y holds no sums yet. */
static void tile1_6wx4kx3s_tail(const float *x, const float *w, float *y, long r_begin, long r_end, int first)
{
    vec acc_0_0;
    vec acc_1_0;
    vec acc_2_0;
    vec acc_3_0;
    vec acc_4_0;
    vec acc_5_0;
    if (first) {
        acc_0_0 = ((vec){0, 0, 0, 0});
        acc_1_0 = ((vec){0, 0, 0, 0});
        acc_2_0 = ((vec){0, 0, 0, 0});
        acc_3_0 = ((vec){0, 0, 0, 0});
        acc_4_0 = ((vec){0, 0, 0, 0});
        acc_5_0 = ((vec){0, 0, 0, 0});
    } else {
        acc_0_0 = load_lanes(y, TAIL);
        acc_1_0 = load_lanes(y + Y_w, TAIL);
        acc_2_0 = load_lanes(y + 2 * Y_w, TAIL);
        acc_3_0 = load_lanes(y + 3 * Y_w, TAIL);
        acc_4_0 = load_lanes(y + 4 * Y_w, TAIL);
        acc_5_0 = load_lanes(y + 5 * Y_w, TAIL);
    }
    for (long c = 0; c < 2; ++c) {
        const float *x_c = x + c * X_g;
        const float *w_c = w + 36 * c;
        for (long r = r_begin; r < r_end; ++r) {
            const float *x_r = x_c + r * X_h;
            const float *w_r = w_c + 12 * r;
            const vec w_0_0 = ((vec)*(const vec_at *)(w_r));
            const vec w_1_0 = ((vec)*(const vec_at *)(w_r + 4));
            const vec w_2_0 = ((vec)*(const vec_at *)(w_r + 8));
            { const vec x_0 = spread(*(x_r + X_w)); acc_1_0 = x_0 * w_0_0 + acc_1_0; acc_0_0 = x_0 * w_1_0 + acc_0_0; }
            { const vec x_1 = spread(*(x_r + 2 * X_w)); acc_2_0 = x_1 * w_0_0 + acc_2_0; acc_1_0 = x_1 * w_1_0 + acc_1_0; acc_0_0 = x_1 * w_2_0 + acc_0_0; }
            { const vec x_2 = spread(*(x_r + 3 * X_w)); acc_3_0 = x_2 * w_0_0 + acc_3_0; acc_2_0 = x_2 * w_1_0 + acc_2_0; acc_1_0 = x_2 * w_2_0 + acc_1_0; }
            { const vec x_3 = spread(*(x_r + 4 * X_w)); acc_4_0 = x_3 * w_0_0 + acc_4_0; acc_3_0 = x_3 * w_1_0 + acc_3_0; acc_2_0 = x_3 * w_2_0 + acc_2_0; }
            { const vec x_4 = spread(*(x_r + 5 * X_w)); acc_5_0 = x_4 * w_0_0 + acc_5_0; acc_4_0 = x_4 * w_1_0 + acc_4_0; acc_3_0 = x_4 * w_2_0 + acc_3_0; }
            { const vec x_5 = spread(*(x_r + 6 * X_w)); acc_5_0 = x_5 * w_1_0 + acc_5_0; acc_4_0 = x_5 * w_2_0 + acc_4_0; }
        }
    }
    store_lanes(y, acc_0_0, TAIL);
    store_lanes(y + Y_w, acc_1_0, TAIL);
    store_lanes(y + 2 * Y_w, acc_2_0, TAIL);
    store_lanes(y + 3 * Y_w, acc_3_0, TAIL);
    store_lanes(y + 4 * Y_w, acc_4_0, TAIL);
    store_lanes(y + 5 * Y_w, acc_5_0, TAIL);
}

/* Whether this CPU runs the kernel. This function and the packing run on any CPU. */
int conv2d_f32_n2_c12_h7_w6_k111_r3_s3_groups3_pad1__portable_supported(void)
{
    return 1;
}

/* The loops over tiles. Their variables are positions. A tile gets pointers to its own first x, panel and y. */
void conv2d_f32_n2_c12_h7_w6_k111_r3_s3_groups3_pad1__portable_run(const float *restrict X, const float *restrict W, float *restrict Y)
{
    for (long c_1 = 0; c_1 < 4; c_1 += 2) {
        for (long k = 0; k < 40; k += 4) {
            for (long g = 0; g < 3; ++g) {
                for (long n = 0; n < 2; ++n) {
                    for (long h = 0; h < 7; ++h) {
                        const int first = c_1 == 0;
                        const long r_begin = (0 > -h + 1 ? 0 : -h + 1);
                        const long r_end = (3 < -h + 8 ? 3 : -h + 8);
                        if (k < 36) {
                            tile0_6wx4kx3s(X + n * X_n + (h - 1) * X_h + -1 * X_w + (4 * g + c_1) * X_g, W + 1440 * g + 36 * k + 36 * c_1, Y + n * Y_n + h * Y_h + (37 * g + k) * Y_g, r_begin, r_end, first);
                        } else {
                            tile1_6wx4kx3s_tail(X + n * X_n + (h - 1) * X_h + -1 * X_w + (4 * g + c_1) * X_g, W + 1440 * g + 36 * k + 36 * c_1, Y + n * Y_n + h * Y_h + (37 * g + k) * Y_g, r_begin, r_end, first);
                        }
                    }
                }
            }
        }
    }
}

/* Packs the weights. They lie in memory as w[37*g + k, c, r, s] of 111 x 4 x 3 x 3. */
void conv2d_f32_n2_c12_h7_w6_k111_r3_s3_groups3_pad1__portable_pack_run(const float *restrict W, float *restrict packed)
{
    const long W_g = 36, W_c = 9, W_r = 3, W_s = 1;
    for (long k = 0; k < 40; k += 4) {
        for (long g = 0; g < 3; ++g) {
            for (long c_1 = 0; c_1 < 4; c_1 += 2) {
                for (long c = 0; c < 2; ++c) {
                    for (long r = 0; r < 3; ++r) {
                        for (long s_u = 0; s_u < 3; ++s_u) {
                            for (long lane = 0; lane < 4; ++lane) {
                                if (k + lane < 37) {
                                    packed[1440 * g + 36 * k + lane + 36 * c_1 + 36 * c + 12 * r + 4 * s_u] = W[(37 * g + k + lane) * W_g + (c_1 + c) * W_c + r * W_r + s_u * W_s];
                                } else {
                                    packed[1440 * g + 36 * k + lane + 36 * c_1 + 36 * c + 12 * r + 4 * s_u] = 0;
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/*
 * A whole call, the same as conv2d_f32_n2_c12_h7_w6_k111_r3_s3_groups3_pad1__portable_run.
 */

void conv2d_f32_n2_c12_h7_w6_k111_r3_s3_groups3_pad1__portable(const float *restrict X, const float *restrict W, float *restrict Y)
{
    conv2d_f32_n2_c12_h7_w6_k111_r3_s3_groups3_pad1__portable_run(X, W, Y);
}

/* Packs the weights, once for many calls. */
void conv2d_f32_n2_c12_h7_w6_k111_r3_s3_groups3_pad1__portable_pack(const float *restrict W, float *restrict packed)
{
    conv2d_f32_n2_c12_h7_w6_k111_r3_s3_groups3_pad1__portable_pack_run(W, packed);
}
