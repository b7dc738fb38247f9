/*
 * grouped2d n=2,c=44,h=9,w=8,k=44,r=3,s=3,groups=11,pad=1
 *
 * Written by Tilewright VERSION from the scheme
 *
 *     R(k) R(n) T(h,9) S(y) T(r,3) U(s,3) U(c,4) U(w,8) V(k,4)
 *
 *     for k in 11 steps of 4:
 *       for n in 2 steps of 1:
 *         for h in 9 steps of 1:
 *           with the tile of y in registers:
 *             for r in 3 steps of 1:
 *               register tile 4k × 4c × 8w × 3s
 *
 * Microkernels:
 *     f32_grouped2d_ukernel_8wx4kx3sx4c_s1__portable: 96 FMAs, 52 loads and no stores per step, 10 of 16 registers (8 accumulators)
 *
 * Operands, row-major f32:
 *     X: x[n, h + r - 1, w + s - 1, k ^ c] of 2 x 9 x 8 x 44
 *     W: w[k, (k ^ c) % 4, r, s] of 44 x 4 x 3 x 3
 *     Y: y[n, h, w, k] of 2 x 9 x 8 x 44
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
static const long X_n = 3168;
static const long X_h = 352;
static const long X_w = 44;
static const long X_k = 1;
static const long Y_n = 3168;
static const long Y_h = 352;
static const long Y_w = 44;
static const long Y_k = 1;

/* All registers are taken. Without this fence the compiler keeps an x for the next step, and spills an accumulator. */
#define KEEP_APART __asm__ volatile("" ::: "memory")

/* Lane l of exchange_c(x) is lane l ^ c of x. In 4 steps every lane meets all 4 channels of its group. */
#ifdef __clang__
#define PICK(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
typedef int places __attribute__((vector_size(16)));
#define PICK(a, b, ...) __builtin_shuffle(a, b, (places){__VA_ARGS__})
#endif
static inline vec exchange_1(vec x) { return PICK(x, x, 1, 0, 3, 2); }
static inline vec exchange_2(vec x) { return PICK(x, x, 2, 3, 0, 1); }
static inline vec exchange_3(vec x) { return PICK(x, x, 3, 2, 1, 0); }

/* 8 rows x 1 vectors, summed over r from r_begin to r_end. */
static void tile0_8wx4kx3sx4c(const float *x, const float *w, float *y, long r_begin, long r_end)
{
    vec acc_0_0 = ((vec){0, 0, 0, 0});
    vec acc_1_0 = ((vec){0, 0, 0, 0});
    vec acc_2_0 = ((vec){0, 0, 0, 0});
    vec acc_3_0 = ((vec){0, 0, 0, 0});
    vec acc_4_0 = ((vec){0, 0, 0, 0});
    vec acc_5_0 = ((vec){0, 0, 0, 0});
    vec acc_6_0 = ((vec){0, 0, 0, 0});
    vec acc_7_0 = ((vec){0, 0, 0, 0});
    for (long r = r_begin; r < r_end; ++r) {
        const float *x_r = x + r * X_h;
        const float *w_r = w + 48 * r;
        {
            const vec w_0_0 = ((vec)*(const vec_at *)(w_r));
            const vec w_1_0 = ((vec)*(const vec_at *)(w_r + 16));
            const vec w_2_0 = ((vec)*(const vec_at *)(w_r + 32));
            { const vec x_0 = ((vec)*(const vec_at *)(x_r + X_w)); acc_1_0 = x_0 * w_0_0 + acc_1_0; acc_0_0 = x_0 * w_1_0 + acc_0_0; }
            { const vec x_1 = ((vec)*(const vec_at *)(x_r + 2 * X_w)); acc_2_0 = x_1 * w_0_0 + acc_2_0; acc_1_0 = x_1 * w_1_0 + acc_1_0; acc_0_0 = x_1 * w_2_0 + acc_0_0; }
            { const vec x_2 = ((vec)*(const vec_at *)(x_r + 3 * X_w)); acc_3_0 = x_2 * w_0_0 + acc_3_0; acc_2_0 = x_2 * w_1_0 + acc_2_0; acc_1_0 = x_2 * w_2_0 + acc_1_0; }
            { const vec x_3 = ((vec)*(const vec_at *)(x_r + 4 * X_w)); acc_4_0 = x_3 * w_0_0 + acc_4_0; acc_3_0 = x_3 * w_1_0 + acc_3_0; acc_2_0 = x_3 * w_2_0 + acc_2_0; }
            { const vec x_4 = ((vec)*(const vec_at *)(x_r + 5 * X_w)); acc_5_0 = x_4 * w_0_0 + acc_5_0; acc_4_0 = x_4 * w_1_0 + acc_4_0; acc_3_0 = x_4 * w_2_0 + acc_3_0; }
            { const vec x_5 = ((vec)*(const vec_at *)(x_r + 6 * X_w)); acc_6_0 = x_5 * w_0_0 + acc_6_0; acc_5_0 = x_5 * w_1_0 + acc_5_0; acc_4_0 = x_5 * w_2_0 + acc_4_0; }
            { const vec x_6 = ((vec)*(const vec_at *)(x_r + 7 * X_w)); acc_7_0 = x_6 * w_0_0 + acc_7_0; acc_6_0 = x_6 * w_1_0 + acc_6_0; acc_5_0 = x_6 * w_2_0 + acc_5_0; }
            { const vec x_7 = ((vec)*(const vec_at *)(x_r + 8 * X_w)); acc_7_0 = x_7 * w_1_0 + acc_7_0; acc_6_0 = x_7 * w_2_0 + acc_6_0; }
        }
        KEEP_APART;
        {
            const vec w_0_0 = ((vec)*(const vec_at *)(w_r + 4));
            const vec w_1_0 = ((vec)*(const vec_at *)(w_r + 20));
            const vec w_2_0 = ((vec)*(const vec_at *)(w_r + 36));
            { const vec x_0 = exchange_1(((vec)*(const vec_at *)(x_r + X_w))); acc_1_0 = x_0 * w_0_0 + acc_1_0; acc_0_0 = x_0 * w_1_0 + acc_0_0; }
            { const vec x_1 = exchange_1(((vec)*(const vec_at *)(x_r + 2 * X_w))); acc_2_0 = x_1 * w_0_0 + acc_2_0; acc_1_0 = x_1 * w_1_0 + acc_1_0; acc_0_0 = x_1 * w_2_0 + acc_0_0; }
            { const vec x_2 = exchange_1(((vec)*(const vec_at *)(x_r + 3 * X_w))); acc_3_0 = x_2 * w_0_0 + acc_3_0; acc_2_0 = x_2 * w_1_0 + acc_2_0; acc_1_0 = x_2 * w_2_0 + acc_1_0; }
            { const vec x_3 = exchange_1(((vec)*(const vec_at *)(x_r + 4 * X_w))); acc_4_0 = x_3 * w_0_0 + acc_4_0; acc_3_0 = x_3 * w_1_0 + acc_3_0; acc_2_0 = x_3 * w_2_0 + acc_2_0; }
            { const vec x_4 = exchange_1(((vec)*(const vec_at *)(x_r + 5 * X_w))); acc_5_0 = x_4 * w_0_0 + acc_5_0; acc_4_0 = x_4 * w_1_0 + acc_4_0; acc_3_0 = x_4 * w_2_0 + acc_3_0; }
            { const vec x_5 = exchange_1(((vec)*(const vec_at *)(x_r + 6 * X_w))); acc_6_0 = x_5 * w_0_0 + acc_6_0; acc_5_0 = x_5 * w_1_0 + acc_5_0; acc_4_0 = x_5 * w_2_0 + acc_4_0; }
            { const vec x_6 = exchange_1(((vec)*(const vec_at *)(x_r + 7 * X_w))); acc_7_0 = x_6 * w_0_0 + acc_7_0; acc_6_0 = x_6 * w_1_0 + acc_6_0; acc_5_0 = x_6 * w_2_0 + acc_5_0; }
            { const vec x_7 = exchange_1(((vec)*(const vec_at *)(x_r + 8 * X_w))); acc_7_0 = x_7 * w_1_0 + acc_7_0; acc_6_0 = x_7 * w_2_0 + acc_6_0; }
        }
        KEEP_APART;
        {
            const vec w_0_0 = ((vec)*(const vec_at *)(w_r + 8));
            const vec w_1_0 = ((vec)*(const vec_at *)(w_r + 24));
            const vec w_2_0 = ((vec)*(const vec_at *)(w_r + 40));
            { const vec x_0 = exchange_2(((vec)*(const vec_at *)(x_r + X_w))); acc_1_0 = x_0 * w_0_0 + acc_1_0; acc_0_0 = x_0 * w_1_0 + acc_0_0; }
            { const vec x_1 = exchange_2(((vec)*(const vec_at *)(x_r + 2 * X_w))); acc_2_0 = x_1 * w_0_0 + acc_2_0; acc_1_0 = x_1 * w_1_0 + acc_1_0; acc_0_0 = x_1 * w_2_0 + acc_0_0; }
            { const vec x_2 = exchange_2(((vec)*(const vec_at *)(x_r + 3 * X_w))); acc_3_0 = x_2 * w_0_0 + acc_3_0; acc_2_0 = x_2 * w_1_0 + acc_2_0; acc_1_0 = x_2 * w_2_0 + acc_1_0; }
            { const vec x_3 = exchange_2(((vec)*(const vec_at *)(x_r + 4 * X_w))); acc_4_0 = x_3 * w_0_0 + acc_4_0; acc_3_0 = x_3 * w_1_0 + acc_3_0; acc_2_0 = x_3 * w_2_0 + acc_2_0; }
            { const vec x_4 = exchange_2(((vec)*(const vec_at *)(x_r + 5 * X_w))); acc_5_0 = x_4 * w_0_0 + acc_5_0; acc_4_0 = x_4 * w_1_0 + acc_4_0; acc_3_0 = x_4 * w_2_0 + acc_3_0; }
            { const vec x_5 = exchange_2(((vec)*(const vec_at *)(x_r + 6 * X_w))); acc_6_0 = x_5 * w_0_0 + acc_6_0; acc_5_0 = x_5 * w_1_0 + acc_5_0; acc_4_0 = x_5 * w_2_0 + acc_4_0; }
            { const vec x_6 = exchange_2(((vec)*(const vec_at *)(x_r + 7 * X_w))); acc_7_0 = x_6 * w_0_0 + acc_7_0; acc_6_0 = x_6 * w_1_0 + acc_6_0; acc_5_0 = x_6 * w_2_0 + acc_5_0; }
            { const vec x_7 = exchange_2(((vec)*(const vec_at *)(x_r + 8 * X_w))); acc_7_0 = x_7 * w_1_0 + acc_7_0; acc_6_0 = x_7 * w_2_0 + acc_6_0; }
        }
        KEEP_APART;
        {
            const vec w_0_0 = ((vec)*(const vec_at *)(w_r + 12));
            const vec w_1_0 = ((vec)*(const vec_at *)(w_r + 28));
            const vec w_2_0 = ((vec)*(const vec_at *)(w_r + 44));
            { const vec x_0 = exchange_3(((vec)*(const vec_at *)(x_r + X_w))); acc_1_0 = x_0 * w_0_0 + acc_1_0; acc_0_0 = x_0 * w_1_0 + acc_0_0; }
            { const vec x_1 = exchange_3(((vec)*(const vec_at *)(x_r + 2 * X_w))); acc_2_0 = x_1 * w_0_0 + acc_2_0; acc_1_0 = x_1 * w_1_0 + acc_1_0; acc_0_0 = x_1 * w_2_0 + acc_0_0; }
            { const vec x_2 = exchange_3(((vec)*(const vec_at *)(x_r + 3 * X_w))); acc_3_0 = x_2 * w_0_0 + acc_3_0; acc_2_0 = x_2 * w_1_0 + acc_2_0; acc_1_0 = x_2 * w_2_0 + acc_1_0; }
            { const vec x_3 = exchange_3(((vec)*(const vec_at *)(x_r + 4 * X_w))); acc_4_0 = x_3 * w_0_0 + acc_4_0; acc_3_0 = x_3 * w_1_0 + acc_3_0; acc_2_0 = x_3 * w_2_0 + acc_2_0; }
            { const vec x_4 = exchange_3(((vec)*(const vec_at *)(x_r + 5 * X_w))); acc_5_0 = x_4 * w_0_0 + acc_5_0; acc_4_0 = x_4 * w_1_0 + acc_4_0; acc_3_0 = x_4 * w_2_0 + acc_3_0; }
            { const vec x_5 = exchange_3(((vec)*(const vec_at *)(x_r + 6 * X_w))); acc_6_0 = x_5 * w_0_0 + acc_6_0; acc_5_0 = x_5 * w_1_0 + acc_5_0; acc_4_0 = x_5 * w_2_0 + acc_4_0; }
            { const vec x_6 = exchange_3(((vec)*(const vec_at *)(x_r + 7 * X_w))); acc_7_0 = x_6 * w_0_0 + acc_7_0; acc_6_0 = x_6 * w_1_0 + acc_6_0; acc_5_0 = x_6 * w_2_0 + acc_5_0; }
            { const vec x_7 = exchange_3(((vec)*(const vec_at *)(x_r + 8 * X_w))); acc_7_0 = x_7 * w_1_0 + acc_7_0; acc_6_0 = x_7 * w_2_0 + acc_6_0; }
        }
    }
    *(vec_at *)(y) = acc_0_0;
    *(vec_at *)(y + Y_w) = acc_1_0;
    *(vec_at *)(y + 2 * Y_w) = acc_2_0;
    *(vec_at *)(y + 3 * Y_w) = acc_3_0;
    *(vec_at *)(y + 4 * Y_w) = acc_4_0;
    *(vec_at *)(y + 5 * Y_w) = acc_5_0;
    *(vec_at *)(y + 6 * Y_w) = acc_6_0;
    *(vec_at *)(y + 7 * Y_w) = acc_7_0;
}

/* Whether this CPU runs the kernel. This function and the packing run on any CPU. */
int grouped2d_f32_n2_c44_h9_w8_k44_r3_s3_groups11_pad1__portable_supported(void)
{
    return 1;
}

/* The loops over tiles. Their variables are positions. A tile gets pointers to its own first x, panel and y. */
void grouped2d_f32_n2_c44_h9_w8_k44_r3_s3_groups11_pad1__portable_run(const float *restrict X, const float *restrict W, float *restrict Y)
{
    for (long k = 0; k < 44; k += 4) {
        for (long n = 0; n < 2; ++n) {
            for (long h = 0; h < 9; ++h) {
                const long r_begin = (0 > -h + 1 ? 0 : -h + 1);
                const long r_end = (3 < -h + 10 ? 3 : -h + 10);
                tile0_8wx4kx3sx4c(X + n * X_n + (h - 1) * X_h + -1 * X_w + k * X_k, W + 36 * k, Y + n * Y_n + h * Y_h + k * Y_k, r_begin, r_end);
            }
        }
    }
}

/* Packs the weights. They lie in memory as w[k, (k ^ c) % 4, r, s] of 44 x 4 x 3 x 3. */
void grouped2d_f32_n2_c44_h9_w8_k44_r3_s3_groups11_pad1__portable_pack_run(const float *restrict W, float *restrict packed)
{
    const long W_k = 36, W_c = 9, W_r = 3, W_s = 1;
    for (long k = 0; k < 44; k += 4) {
        for (long r = 0; r < 3; ++r) {
            for (long s_u = 0; s_u < 3; ++s_u) {
                for (long c_u = 0; c_u < 4; ++c_u) {
                    for (long lane = 0; lane < 4; ++lane) {
                        packed[36 * k + lane + 48 * r + 16 * s_u + 4 * c_u] = W[(k + lane) * W_k + ((lane % 4) ^ c_u) * W_c + r * W_r + s_u * W_s];
                    }
                }
            }
        }
    }
}

/*
 * A whole call, the same as grouped2d_f32_n2_c44_h9_w8_k44_r3_s3_groups11_pad1__portable_run.
 */

void grouped2d_f32_n2_c44_h9_w8_k44_r3_s3_groups11_pad1__portable(const float *restrict X, const float *restrict W, float *restrict Y)
{
    grouped2d_f32_n2_c44_h9_w8_k44_r3_s3_groups11_pad1__portable_run(X, W, Y);
}

/* Packs the weights, once for many calls. */
void grouped2d_f32_n2_c44_h9_w8_k44_r3_s3_groups11_pad1__portable_pack(const float *restrict W, float *restrict packed)
{
    grouped2d_f32_n2_c44_h9_w8_k44_r3_s3_groups11_pad1__portable_pack_run(W, packed);
}
