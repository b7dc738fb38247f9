/*
 * conv2d n=2,c=3,h=6,w=6,k=19,r=1,s=1,layout=nchw,epilogue=y*b[k]+t[k,w]-relu(z[n,k,h,w])*s[n,h]
 *
 * Written by Tilewright VERSION from the scheme
 *
 *     T(c,3) R(n) R(k) T(h,3) S(y) U(h,2) U(w,6) V(k,4)
 *
 *     for c in 3 steps of 1:
 *       for n in 2 steps of 1:
 *         for k in 5 steps of 4:
 *           for h in 3 steps of 2:
 *             with the tile of y in registers:
 *               register tile 4k × 2h × 6w
 *
 * Microkernels:
 *     f32_conv2d_ukernel_2hx6wx4k_s1__portable: 12 FMAs, 13 loads and no stores per step, 14 of 16 registers (12 accumulators)
 *
 * Operands, row-major f32:
 *     X: x[n, c, h + r, w + s] of 2 x 3 x 6 x 6
 *     W: w[k, c, r, s] of 19 x 3 x 1 x 1
 *     Y: y[n, k, h, w] of 2 x 19 x 6 x 6
 *     E_b: b[k] of 19
 *     E_t: t[k, w] of 19 x 6
 *     E_z: z[n, k, h, w] of 2 x 19 x 6 x 6
 *     E_s: s[n, h] of 2 x 6
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
static const long X_n = 108;
static const long X_c = 36;
static const long X_h = 6;
static const long X_w = 1;
static const long Y_n = 684;
static const long Y_k = 36;
static const long Y_h = 6;
static const long Y_w = 1;
static const long STEP_b_k = 1;
static const long STEP_t_k = 6;
static const long STEP_t_w = 1;
static const long STEP_z_n = 684;
static const long STEP_z_k = 36;
static const long STEP_z_h = 6;
static const long STEP_z_w = 1;
static const long STEP_s_n = 6;
static const long STEP_s_h = 1;

/* The epilogue, applied to each vector as it is stored:
 *
 *     y*b[k]+t[k,w]-relu(z[n,k,h,w])*s[n,h]
 *
 * A NaN gives a NaN. Errors are in units in the last place (ulp) of the result. An exponential below about e^-87 counts
 * as 0, by which a result may be off by 2^-119 besides. */
typedef int bits __attribute__((vector_size(16)));
static inline vec choose(bits lanes, vec a, vec b) { return (vec)((lanes & (bits)a) | (~lanes & (bits)b)); }
/* Volatile, so a tile reads zero once, when its sums are done. gcc would keep a bound that it knows in a register
 * through the inner loops, and spill an accumulator for it: above all zero, with which it also clears accumulators. */
static const volatile vec zeros = {0};
static inline vec relu_of(vec v, vec zero) { return choose(zero > v, zero, v); }

static inline vec epilogue(vec y, vec e_b, vec e_t, vec e_z, vec e_s, vec zero)
{
    return y * e_b + e_t - relu_of(e_z, zero) * e_s;
}

#define FIRST_2 2 /* lanes used of a block of 2 rows */
/* Transposes a block of a tile before it is stored: t[j] gets point j of every row. Single lanes are
 * interleaved first, then pairs of lanes, both within 128 bits. Then 128 bits move as a whole. */
#ifdef __clang__
#define PICK(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
typedef int places __attribute__((vector_size(16)));
#define PICK(a, b, ...) __builtin_shuffle(a, b, (places){__VA_ARGS__})
#endif
static inline vec low_1(vec a, vec b) { return PICK(a, b, 0, 4, 1, 5); }
static inline vec high_1(vec a, vec b) { return PICK(a, b, 2, 6, 3, 7); }
static inline vec low_2(vec a, vec b) { return PICK(a, b, 0, 1, 4, 5); }
static inline vec high_2(vec a, vec b) { return PICK(a, b, 2, 3, 6, 7); }
static inline __attribute__((always_inline)) void transpose_2(vec *t, vec r0, vec r1)
{
    const vec s1_0 = low_1(r0, r1), s1_1 = high_1(r0, r1);
    const vec s2_2 = high_2(s1_0, s1_0);
    const vec s2_3 = high_2(s1_1, s1_1);
    t[0] = s1_0; t[1] = s2_2; t[2] = s1_1; t[3] = s2_3;
}
static inline __attribute__((always_inline)) void transpose_4(vec *t, vec r0, vec r1, vec r2, vec r3)
{
    const vec s1_0 = low_1(r0, r1), s1_1 = high_1(r0, r1);
    const vec s1_2 = low_1(r2, r3), s1_3 = high_1(r2, r3);
    const vec s2_4 = low_2(s1_0, s1_2), s2_5 = high_2(s1_0, s1_2);
    const vec s2_6 = low_2(s1_1, s1_3), s2_7 = high_2(s1_1, s1_3);
    t[0] = s2_4; t[1] = s2_5; t[2] = s2_6; t[3] = s2_7;
}

/* 12 rows x 1 vectors, summed over one step; k < 16; first: y holds no sums yet; last: nothing is added after it. */
static void tile0_2hx6wx4k(const float *x, const float *w, float *y, const float *e_b, const float *e_t, const float *e_z, const float *e_s, int first, int last)
{
    vec acc_0_0;
    vec acc_1_0;
    vec acc_2_0;
    vec acc_3_0;
    vec acc_4_0;
    vec acc_5_0;
    vec acc_6_0;
    vec acc_7_0;
    vec acc_8_0;
    vec acc_9_0;
    vec acc_10_0;
    vec acc_11_0;
    if (first) {
        acc_0_0 = ((vec){0, 0, 0, 0});
        acc_1_0 = ((vec){0, 0, 0, 0});
        acc_2_0 = ((vec){0, 0, 0, 0});
        acc_3_0 = ((vec){0, 0, 0, 0});
        acc_4_0 = ((vec){0, 0, 0, 0});
        acc_5_0 = ((vec){0, 0, 0, 0});
        acc_6_0 = ((vec){0, 0, 0, 0});
        acc_7_0 = ((vec){0, 0, 0, 0});
        acc_8_0 = ((vec){0, 0, 0, 0});
        acc_9_0 = ((vec){0, 0, 0, 0});
        acc_10_0 = ((vec){0, 0, 0, 0});
        acc_11_0 = ((vec){0, 0, 0, 0});
    } else {
        {
            vec t[4];
            t[0] = ((vec)*(const vec_at *)(y));
            t[1] = ((vec)*(const vec_at *)(y + Y_k));
            t[2] = ((vec)*(const vec_at *)(y + 2 * Y_k));
            t[3] = ((vec)*(const vec_at *)(y + 3 * Y_k));
            transpose_4(t, t[0], t[1], t[2], t[3]);
            acc_0_0 = t[0];
            acc_1_0 = t[1];
            acc_2_0 = t[2];
            acc_3_0 = t[3];
        }
        {
            vec t[4];
            t[0] = load_lanes(y + 4 * Y_w, FIRST_2);
            t[1] = load_lanes(y + Y_k + 4 * Y_w, FIRST_2);
            t[2] = load_lanes(y + 2 * Y_k + 4 * Y_w, FIRST_2);
            t[3] = load_lanes(y + 3 * Y_k + 4 * Y_w, FIRST_2);
            transpose_4(t, t[0], t[1], t[2], t[3]);
            acc_4_0 = t[0];
            acc_5_0 = t[1];
        }
        {
            vec t[4];
            t[0] = ((vec)*(const vec_at *)(y + Y_h));
            t[1] = ((vec)*(const vec_at *)(y + Y_k + Y_h));
            t[2] = ((vec)*(const vec_at *)(y + 2 * Y_k + Y_h));
            t[3] = ((vec)*(const vec_at *)(y + 3 * Y_k + Y_h));
            transpose_4(t, t[0], t[1], t[2], t[3]);
            acc_6_0 = t[0];
            acc_7_0 = t[1];
            acc_8_0 = t[2];
            acc_9_0 = t[3];
        }
        {
            vec t[4];
            t[0] = load_lanes(y + Y_h + 4 * Y_w, FIRST_2);
            t[1] = load_lanes(y + Y_k + Y_h + 4 * Y_w, FIRST_2);
            t[2] = load_lanes(y + 2 * Y_k + Y_h + 4 * Y_w, FIRST_2);
            t[3] = load_lanes(y + 3 * Y_k + Y_h + 4 * Y_w, FIRST_2);
            transpose_4(t, t[0], t[1], t[2], t[3]);
            acc_10_0 = t[0];
            acc_11_0 = t[1];
        }
    }
    const vec w_0 = ((vec)*(const vec_at *)(w));
    { const vec x_0 = spread(*(x)); acc_0_0 = x_0 * w_0 + acc_0_0; }
    { const vec x_1 = spread(*(x + X_w)); acc_1_0 = x_1 * w_0 + acc_1_0; }
    { const vec x_2 = spread(*(x + 2 * X_w)); acc_2_0 = x_2 * w_0 + acc_2_0; }
    { const vec x_3 = spread(*(x + 3 * X_w)); acc_3_0 = x_3 * w_0 + acc_3_0; }
    { const vec x_4 = spread(*(x + 4 * X_w)); acc_4_0 = x_4 * w_0 + acc_4_0; }
    { const vec x_5 = spread(*(x + 5 * X_w)); acc_5_0 = x_5 * w_0 + acc_5_0; }
    { const vec x_6 = spread(*(x + X_h)); acc_6_0 = x_6 * w_0 + acc_6_0; }
    { const vec x_7 = spread(*(x + X_h + X_w)); acc_7_0 = x_7 * w_0 + acc_7_0; }
    { const vec x_8 = spread(*(x + X_h + 2 * X_w)); acc_8_0 = x_8 * w_0 + acc_8_0; }
    { const vec x_9 = spread(*(x + X_h + 3 * X_w)); acc_9_0 = x_9 * w_0 + acc_9_0; }
    { const vec x_10 = spread(*(x + X_h + 4 * X_w)); acc_10_0 = x_10 * w_0 + acc_10_0; }
    { const vec x_11 = spread(*(x + X_h + 5 * X_w)); acc_11_0 = x_11 * w_0 + acc_11_0; }
    if (last) {
        const vec zero = zeros;
        {
            vec t[4];
            transpose_4(t, acc_0_0, acc_1_0, acc_2_0, acc_3_0);
            *(vec_at *)(y) = epilogue(t[0], spread(*(e_b)), ((vec)*(const vec_at *)(e_t)), ((vec)*(const vec_at *)(e_z)), spread(*(e_s)), zero);
            *(vec_at *)(y + Y_k) = epilogue(t[1], spread(*(e_b + STEP_b_k)), ((vec)*(const vec_at *)(e_t + STEP_t_k)), ((vec)*(const vec_at *)(e_z + STEP_z_k)), spread(*(e_s)), zero);
            *(vec_at *)(y + 2 * Y_k) = epilogue(t[2], spread(*(e_b + 2 * STEP_b_k)), ((vec)*(const vec_at *)(e_t + 2 * STEP_t_k)), ((vec)*(const vec_at *)(e_z + 2 * STEP_z_k)), spread(*(e_s)), zero);
            *(vec_at *)(y + 3 * Y_k) = epilogue(t[3], spread(*(e_b + 3 * STEP_b_k)), ((vec)*(const vec_at *)(e_t + 3 * STEP_t_k)), ((vec)*(const vec_at *)(e_z + 3 * STEP_z_k)), spread(*(e_s)), zero);
        }
        {
            vec t[4];
            transpose_2(t, acc_4_0, acc_5_0);
            store_lanes(y + 4 * Y_w, epilogue(t[0], spread(*(e_b)), load_lanes(e_t + 4 * STEP_t_w, FIRST_2), load_lanes(e_z + 4 * STEP_z_w, FIRST_2), spread(*(e_s)), zero), FIRST_2);
            store_lanes(y + Y_k + 4 * Y_w, epilogue(t[1], spread(*(e_b + STEP_b_k)), load_lanes(e_t + STEP_t_k + 4 * STEP_t_w, FIRST_2), load_lanes(e_z + STEP_z_k + 4 * STEP_z_w, FIRST_2), spread(*(e_s)), zero), FIRST_2);
            store_lanes(y + 2 * Y_k + 4 * Y_w, epilogue(t[2], spread(*(e_b + 2 * STEP_b_k)), load_lanes(e_t + 2 * STEP_t_k + 4 * STEP_t_w, FIRST_2), load_lanes(e_z + 2 * STEP_z_k + 4 * STEP_z_w, FIRST_2), spread(*(e_s)), zero), FIRST_2);
            store_lanes(y + 3 * Y_k + 4 * Y_w, epilogue(t[3], spread(*(e_b + 3 * STEP_b_k)), load_lanes(e_t + 3 * STEP_t_k + 4 * STEP_t_w, FIRST_2), load_lanes(e_z + 3 * STEP_z_k + 4 * STEP_z_w, FIRST_2), spread(*(e_s)), zero), FIRST_2);
        }
        {
            vec t[4];
            transpose_4(t, acc_6_0, acc_7_0, acc_8_0, acc_9_0);
            *(vec_at *)(y + Y_h) = epilogue(t[0], spread(*(e_b)), ((vec)*(const vec_at *)(e_t)), ((vec)*(const vec_at *)(e_z + STEP_z_h)), spread(*(e_s + STEP_s_h)), zero);
            *(vec_at *)(y + Y_k + Y_h) = epilogue(t[1], spread(*(e_b + STEP_b_k)), ((vec)*(const vec_at *)(e_t + STEP_t_k)), ((vec)*(const vec_at *)(e_z + STEP_z_k + STEP_z_h)), spread(*(e_s + STEP_s_h)), zero);
            *(vec_at *)(y + 2 * Y_k + Y_h) = epilogue(t[2], spread(*(e_b + 2 * STEP_b_k)), ((vec)*(const vec_at *)(e_t + 2 * STEP_t_k)), ((vec)*(const vec_at *)(e_z + 2 * STEP_z_k + STEP_z_h)), spread(*(e_s + STEP_s_h)), zero);
            *(vec_at *)(y + 3 * Y_k + Y_h) = epilogue(t[3], spread(*(e_b + 3 * STEP_b_k)), ((vec)*(const vec_at *)(e_t + 3 * STEP_t_k)), ((vec)*(const vec_at *)(e_z + 3 * STEP_z_k + STEP_z_h)), spread(*(e_s + STEP_s_h)), zero);
        }
        {
            vec t[4];
            transpose_2(t, acc_10_0, acc_11_0);
            store_lanes(y + Y_h + 4 * Y_w, epilogue(t[0], spread(*(e_b)), load_lanes(e_t + 4 * STEP_t_w, FIRST_2), load_lanes(e_z + STEP_z_h + 4 * STEP_z_w, FIRST_2), spread(*(e_s + STEP_s_h)), zero), FIRST_2);
            store_lanes(y + Y_k + Y_h + 4 * Y_w, epilogue(t[1], spread(*(e_b + STEP_b_k)), load_lanes(e_t + STEP_t_k + 4 * STEP_t_w, FIRST_2), load_lanes(e_z + STEP_z_k + STEP_z_h + 4 * STEP_z_w, FIRST_2), spread(*(e_s + STEP_s_h)), zero), FIRST_2);
            store_lanes(y + 2 * Y_k + Y_h + 4 * Y_w, epilogue(t[2], spread(*(e_b + 2 * STEP_b_k)), load_lanes(e_t + 2 * STEP_t_k + 4 * STEP_t_w, FIRST_2), load_lanes(e_z + 2 * STEP_z_k + STEP_z_h + 4 * STEP_z_w, FIRST_2), spread(*(e_s + STEP_s_h)), zero), FIRST_2);
            store_lanes(y + 3 * Y_k + Y_h + 4 * Y_w, epilogue(t[3], spread(*(e_b + 3 * STEP_b_k)), load_lanes(e_t + 3 * STEP_t_k + 4 * STEP_t_w, FIRST_2), load_lanes(e_z + 3 * STEP_z_k + STEP_z_h + 4 * STEP_z_w, FIRST_2), spread(*(e_s + STEP_s_h)), zero), FIRST_2);
        }
    } else {
        {
            vec t[4];
            transpose_4(t, acc_0_0, acc_1_0, acc_2_0, acc_3_0);
            *(vec_at *)(y) = t[0];
            *(vec_at *)(y + Y_k) = t[1];
            *(vec_at *)(y + 2 * Y_k) = t[2];
            *(vec_at *)(y + 3 * Y_k) = t[3];
        }
        {
            vec t[4];
            transpose_2(t, acc_4_0, acc_5_0);
            store_lanes(y + 4 * Y_w, t[0], FIRST_2);
            store_lanes(y + Y_k + 4 * Y_w, t[1], FIRST_2);
            store_lanes(y + 2 * Y_k + 4 * Y_w, t[2], FIRST_2);
            store_lanes(y + 3 * Y_k + 4 * Y_w, t[3], FIRST_2);
        }
        {
            vec t[4];
            transpose_4(t, acc_6_0, acc_7_0, acc_8_0, acc_9_0);
            *(vec_at *)(y + Y_h) = t[0];
            *(vec_at *)(y + Y_k + Y_h) = t[1];
            *(vec_at *)(y + 2 * Y_k + Y_h) = t[2];
            *(vec_at *)(y + 3 * Y_k + Y_h) = t[3];
        }
        {
            vec t[4];
            transpose_2(t, acc_10_0, acc_11_0);
            store_lanes(y + Y_h + 4 * Y_w, t[0], FIRST_2);
            store_lanes(y + Y_k + Y_h + 4 * Y_w, t[1], FIRST_2);
            store_lanes(y + 2 * Y_k + Y_h + 4 * Y_w, t[2], FIRST_2);
            store_lanes(y + 3 * Y_k + Y_h + 4 * Y_w, t[3], FIRST_2);
        }
    }
}

/* 12 rows x 1 vectors, summed over one step; 16 <= k; first: y holds no sums yet; last: nothing is added after it. */
static void tile1_2hx6wx4k_tail(const float *x, const float *w, float *y, const float *e_b, const float *e_t, const float *e_z, const float *e_s, int first, int last)
{
    vec acc_0_0;
    vec acc_1_0;
    vec acc_2_0;
    vec acc_3_0;
    vec acc_4_0;
    vec acc_5_0;
    vec acc_6_0;
    vec acc_7_0;
    vec acc_8_0;
    vec acc_9_0;
    vec acc_10_0;
    vec acc_11_0;
    if (first) {
        acc_0_0 = ((vec){0, 0, 0, 0});
        acc_1_0 = ((vec){0, 0, 0, 0});
        acc_2_0 = ((vec){0, 0, 0, 0});
        acc_3_0 = ((vec){0, 0, 0, 0});
        acc_4_0 = ((vec){0, 0, 0, 0});
        acc_5_0 = ((vec){0, 0, 0, 0});
        acc_6_0 = ((vec){0, 0, 0, 0});
        acc_7_0 = ((vec){0, 0, 0, 0});
        acc_8_0 = ((vec){0, 0, 0, 0});
        acc_9_0 = ((vec){0, 0, 0, 0});
        acc_10_0 = ((vec){0, 0, 0, 0});
        acc_11_0 = ((vec){0, 0, 0, 0});
    } else {
        {
            vec t[4];
            t[0] = ((vec)*(const vec_at *)(y));
            t[1] = ((vec)*(const vec_at *)(y + Y_k));
            t[2] = ((vec)*(const vec_at *)(y + 2 * Y_k));
            t[3] = ((vec){0, 0, 0, 0});
            transpose_4(t, t[0], t[1], t[2], t[3]);
            acc_0_0 = t[0];
            acc_1_0 = t[1];
            acc_2_0 = t[2];
            acc_3_0 = t[3];
        }
        {
            vec t[4];
            t[0] = load_lanes(y + 4 * Y_w, FIRST_2);
            t[1] = load_lanes(y + Y_k + 4 * Y_w, FIRST_2);
            t[2] = load_lanes(y + 2 * Y_k + 4 * Y_w, FIRST_2);
            t[3] = ((vec){0, 0, 0, 0});
            transpose_4(t, t[0], t[1], t[2], t[3]);
            acc_4_0 = t[0];
            acc_5_0 = t[1];
        }
        {
            vec t[4];
            t[0] = ((vec)*(const vec_at *)(y + Y_h));
            t[1] = ((vec)*(const vec_at *)(y + Y_k + Y_h));
            t[2] = ((vec)*(const vec_at *)(y + 2 * Y_k + Y_h));
            t[3] = ((vec){0, 0, 0, 0});
            transpose_4(t, t[0], t[1], t[2], t[3]);
            acc_6_0 = t[0];
            acc_7_0 = t[1];
            acc_8_0 = t[2];
            acc_9_0 = t[3];
        }
        {
            vec t[4];
            t[0] = load_lanes(y + Y_h + 4 * Y_w, FIRST_2);
            t[1] = load_lanes(y + Y_k + Y_h + 4 * Y_w, FIRST_2);
            t[2] = load_lanes(y + 2 * Y_k + Y_h + 4 * Y_w, FIRST_2);
            t[3] = ((vec){0, 0, 0, 0});
            transpose_4(t, t[0], t[1], t[2], t[3]);
            acc_10_0 = t[0];
            acc_11_0 = t[1];
        }
    }
    const vec w_0 = ((vec)*(const vec_at *)(w));
    { const vec x_0 = spread(*(x)); acc_0_0 = x_0 * w_0 + acc_0_0; }
    { const vec x_1 = spread(*(x + X_w)); acc_1_0 = x_1 * w_0 + acc_1_0; }
    { const vec x_2 = spread(*(x + 2 * X_w)); acc_2_0 = x_2 * w_0 + acc_2_0; }
    { const vec x_3 = spread(*(x + 3 * X_w)); acc_3_0 = x_3 * w_0 + acc_3_0; }
    { const vec x_4 = spread(*(x + 4 * X_w)); acc_4_0 = x_4 * w_0 + acc_4_0; }
    { const vec x_5 = spread(*(x + 5 * X_w)); acc_5_0 = x_5 * w_0 + acc_5_0; }
    { const vec x_6 = spread(*(x + X_h)); acc_6_0 = x_6 * w_0 + acc_6_0; }
    { const vec x_7 = spread(*(x + X_h + X_w)); acc_7_0 = x_7 * w_0 + acc_7_0; }
    { const vec x_8 = spread(*(x + X_h + 2 * X_w)); acc_8_0 = x_8 * w_0 + acc_8_0; }
    { const vec x_9 = spread(*(x + X_h + 3 * X_w)); acc_9_0 = x_9 * w_0 + acc_9_0; }
    { const vec x_10 = spread(*(x + X_h + 4 * X_w)); acc_10_0 = x_10 * w_0 + acc_10_0; }
    { const vec x_11 = spread(*(x + X_h + 5 * X_w)); acc_11_0 = x_11 * w_0 + acc_11_0; }
    if (last) {
        const vec zero = zeros;
        {
            vec t[4];
            transpose_4(t, acc_0_0, acc_1_0, acc_2_0, acc_3_0);
            *(vec_at *)(y) = epilogue(t[0], spread(*(e_b)), ((vec)*(const vec_at *)(e_t)), ((vec)*(const vec_at *)(e_z)), spread(*(e_s)), zero);
            *(vec_at *)(y + Y_k) = epilogue(t[1], spread(*(e_b + STEP_b_k)), ((vec)*(const vec_at *)(e_t + STEP_t_k)), ((vec)*(const vec_at *)(e_z + STEP_z_k)), spread(*(e_s)), zero);
            *(vec_at *)(y + 2 * Y_k) = epilogue(t[2], spread(*(e_b + 2 * STEP_b_k)), ((vec)*(const vec_at *)(e_t + 2 * STEP_t_k)), ((vec)*(const vec_at *)(e_z + 2 * STEP_z_k)), spread(*(e_s)), zero);
        }
        {
            vec t[4];
            transpose_2(t, acc_4_0, acc_5_0);
            store_lanes(y + 4 * Y_w, epilogue(t[0], spread(*(e_b)), load_lanes(e_t + 4 * STEP_t_w, FIRST_2), load_lanes(e_z + 4 * STEP_z_w, FIRST_2), spread(*(e_s)), zero), FIRST_2);
            store_lanes(y + Y_k + 4 * Y_w, epilogue(t[1], spread(*(e_b + STEP_b_k)), load_lanes(e_t + STEP_t_k + 4 * STEP_t_w, FIRST_2), load_lanes(e_z + STEP_z_k + 4 * STEP_z_w, FIRST_2), spread(*(e_s)), zero), FIRST_2);
            store_lanes(y + 2 * Y_k + 4 * Y_w, epilogue(t[2], spread(*(e_b + 2 * STEP_b_k)), load_lanes(e_t + 2 * STEP_t_k + 4 * STEP_t_w, FIRST_2), load_lanes(e_z + 2 * STEP_z_k + 4 * STEP_z_w, FIRST_2), spread(*(e_s)), zero), FIRST_2);
        }
        {
            vec t[4];
            transpose_4(t, acc_6_0, acc_7_0, acc_8_0, acc_9_0);
            *(vec_at *)(y + Y_h) = epilogue(t[0], spread(*(e_b)), ((vec)*(const vec_at *)(e_t)), ((vec)*(const vec_at *)(e_z + STEP_z_h)), spread(*(e_s + STEP_s_h)), zero);
            *(vec_at *)(y + Y_k + Y_h) = epilogue(t[1], spread(*(e_b + STEP_b_k)), ((vec)*(const vec_at *)(e_t + STEP_t_k)), ((vec)*(const vec_at *)(e_z + STEP_z_k + STEP_z_h)), spread(*(e_s + STEP_s_h)), zero);
            *(vec_at *)(y + 2 * Y_k + Y_h) = epilogue(t[2], spread(*(e_b + 2 * STEP_b_k)), ((vec)*(const vec_at *)(e_t + 2 * STEP_t_k)), ((vec)*(const vec_at *)(e_z + 2 * STEP_z_k + STEP_z_h)), spread(*(e_s + STEP_s_h)), zero);
        }
        {
            vec t[4];
            transpose_2(t, acc_10_0, acc_11_0);
            store_lanes(y + Y_h + 4 * Y_w, epilogue(t[0], spread(*(e_b)), load_lanes(e_t + 4 * STEP_t_w, FIRST_2), load_lanes(e_z + STEP_z_h + 4 * STEP_z_w, FIRST_2), spread(*(e_s + STEP_s_h)), zero), FIRST_2);
            store_lanes(y + Y_k + Y_h + 4 * Y_w, epilogue(t[1], spread(*(e_b + STEP_b_k)), load_lanes(e_t + STEP_t_k + 4 * STEP_t_w, FIRST_2), load_lanes(e_z + STEP_z_k + STEP_z_h + 4 * STEP_z_w, FIRST_2), spread(*(e_s + STEP_s_h)), zero), FIRST_2);
            store_lanes(y + 2 * Y_k + Y_h + 4 * Y_w, epilogue(t[2], spread(*(e_b + 2 * STEP_b_k)), load_lanes(e_t + 2 * STEP_t_k + 4 * STEP_t_w, FIRST_2), load_lanes(e_z + 2 * STEP_z_k + STEP_z_h + 4 * STEP_z_w, FIRST_2), spread(*(e_s + STEP_s_h)), zero), FIRST_2);
        }
    } else {
        {
            vec t[4];
            transpose_4(t, acc_0_0, acc_1_0, acc_2_0, acc_3_0);
            *(vec_at *)(y) = t[0];
            *(vec_at *)(y + Y_k) = t[1];
            *(vec_at *)(y + 2 * Y_k) = t[2];
        }
        {
            vec t[4];
            transpose_2(t, acc_4_0, acc_5_0);
            store_lanes(y + 4 * Y_w, t[0], FIRST_2);
            store_lanes(y + Y_k + 4 * Y_w, t[1], FIRST_2);
            store_lanes(y + 2 * Y_k + 4 * Y_w, t[2], FIRST_2);
        }
        {
            vec t[4];
            transpose_4(t, acc_6_0, acc_7_0, acc_8_0, acc_9_0);
            *(vec_at *)(y + Y_h) = t[0];
            *(vec_at *)(y + Y_k + Y_h) = t[1];
            *(vec_at *)(y + 2 * Y_k + Y_h) = t[2];
        }
        {
            vec t[4];
            transpose_2(t, acc_10_0, acc_11_0);
            store_lanes(y + Y_h + 4 * Y_w, t[0], FIRST_2);
            store_lanes(y + Y_k + Y_h + 4 * Y_w, t[1], FIRST_2);
            store_lanes(y + 2 * Y_k + Y_h + 4 * Y_w, t[2], FIRST_2);
        }
    }
}

/* Whether this CPU runs the kernel. This function and the packing run on any CPU. */
int conv2d_f32_n2_c3_h6_w6_k19_r1_s1_layoutnchw_y_b_k_t_k_w_relu_z_n_k_h_w_s_n_h_db943738__portable_supported(void)
{
    return 1;
}

/* The loops over tiles. Their variables are positions. A tile gets pointers to its own first x, panel and y. */
/* Y is not restrict, for two reasons. An array of its shape may be Y itself. And the compiler then reads the other
 * arrays where they are used: read earlier, they would take registers from the accumulators. */
void conv2d_f32_n2_c3_h6_w6_k19_r1_s1_layoutnchw_y_b_k_t_k_w_relu_z_n_k_h_w_s_n_h_db943738__portable_run(const float *restrict X, const float *restrict W, float *Y, const float *E_b, const float *E_t, const float *E_z, const float *E_s)
{
    for (long c = 0; c < 3; ++c) {
        for (long n = 0; n < 2; ++n) {
            for (long k = 0; k < 20; k += 4) {
                for (long h = 0; h < 6; h += 2) {
                    const int first = c == 0;
                    const int last = c == 2;
                    if (k < 16) {
                        tile0_2hx6wx4k(X + n * X_n + c * X_c + h * X_h, W + 3 * k + 4 * c, Y + n * Y_n + k * Y_k + h * Y_h, E_b + k * STEP_b_k, E_t + k * STEP_t_k, E_z + n * STEP_z_n + k * STEP_z_k + h * STEP_z_h, E_s + n * STEP_s_n + h * STEP_s_h, first, last);
                    } else {
                        tile1_2hx6wx4k_tail(X + n * X_n + c * X_c + h * X_h, W + 3 * k + 4 * c, Y + n * Y_n + k * Y_k + h * Y_h, E_b + k * STEP_b_k, E_t + k * STEP_t_k, E_z + n * STEP_z_n + k * STEP_z_k + h * STEP_z_h, E_s + n * STEP_s_n + h * STEP_s_h, first, last);
                    }
                }
            }
        }
    }
}

/* Packs the weights. They lie in memory as w[k, c, r, s] of 19 x 3 x 1 x 1. */
void conv2d_f32_n2_c3_h6_w6_k19_r1_s1_layoutnchw_y_b_k_t_k_w_relu_z_n_k_h_w_s_n_h_db943738__portable_pack_run(const float *restrict W, float *restrict packed)
{
    const long W_k = 3, W_c = 1;
    for (long k = 0; k < 20; k += 4) {
        for (long c = 0; c < 3; ++c) {
            for (long lane = 0; lane < 4; ++lane) {
                if (k + lane < 19) {
                    packed[3 * k + lane + 4 * c] = W[(k + lane) * W_k + c * W_c];
                } else {
                    packed[3 * k + lane + 4 * c] = 0;
                }
            }
        }
    }
}

/*
 * A whole call, the same as conv2d_f32_n2_c3_h6_w6_k19_r1_s1_layoutnchw_y_b_k_t_k_w_relu_z_n_k_h_w_s_n_h_db943738__portable_run.
 */

void conv2d_f32_n2_c3_h6_w6_k19_r1_s1_layoutnchw_y_b_k_t_k_w_relu_z_n_k_h_w_s_n_h_db943738__portable(const float *restrict X, const float *restrict W, float *Y, const float *E_b, const float *E_t, const float *E_z, const float *E_s)
{
    conv2d_f32_n2_c3_h6_w6_k19_r1_s1_layoutnchw_y_b_k_t_k_w_relu_z_n_k_h_w_s_n_h_db943738__portable_run(X, W, Y, E_b, E_t, E_z, E_s);
}

/* Packs the weights, once for many calls. */
void conv2d_f32_n2_c3_h6_w6_k19_r1_s1_layoutnchw_y_b_k_t_k_w_relu_z_n_k_h_w_s_n_h_db943738__portable_pack(const float *restrict W, float *restrict packed)
{
    conv2d_f32_n2_c3_h6_w6_k19_r1_s1_layoutnchw_y_b_k_t_k_w_relu_z_n_k_h_w_s_n_h_db943738__portable_pack_run(W, packed);
}
