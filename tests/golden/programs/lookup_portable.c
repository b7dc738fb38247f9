/*
 * t: s32
 * y[i,j] = x[t[i], j] * 0.5 + x[t[i], j - 1] else 1
 *
 * Written by Tilewright. What it computes, as plain loops:
 *
 *     for i in 0..6:
 *       for j in 0..10:
 *         at_0 = as_s64(t[i])
 *         y[i, j] = x[at_0, j] * 0.5 + (x[at_0, j - 1] if 0 <= at_0 < 9 and j - 1 >= 0 else 1)
 *
 * Arrays, row-major:
 *     x: f32[9, 10]
 *     t: s32[6]
 *     y: f32[6, 10]
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
#include <math.h>
#include <stdint.h>

/* Elements between neighbours along each axis but the last. */
static const long x_axis0 = 10;
static const long y_i = 10;
#define FIRST_2 2 /* lanes used of a last vector */

/* Functions of vectors of 4 lanes. */
typedef int bits __attribute__((vector_size(16)));
static inline vec constant(float value) { return spread(value); }
static inline vec choose(bits lanes, vec a, vec b) { return (vec)((lanes & (bits)a) | (~lanes & (bits)b)); }

typedef int s32s __attribute__((vector_size(16)));
static inline s32s constant_s32(int value) { return value - (s32s){0}; }
static inline s32s broadcast_s32(const int *p) { return constant_s32(*p); }
typedef int64_t s64s __attribute__((vector_size(32)));
static inline s64s s64_of_s32(s32s v) { return __builtin_convertvector(v, s64s); }
typedef int truths __attribute__((vector_size(16)));
static inline truths constant_bool(int value) { return -value - (truths){0}; }

/* An index that was read from an array lies outside another array. */
static inline void note(int *outside) { *outside = 1; }

/* Whether this CPU runs the kernel. */
int program_y_6819132d6e63_supported(void)
{
    return 1;
}

/* Returns 0, or 1 where an index that it read from an array lies outside another array; that element counts as 0. */
int program_y_6819132d6e63_run(const float *restrict x, const int32_t *restrict t, float *restrict y)
{
    int outside = 0;
    for (long i = 0; i < 6; ++i) {
        for (long j = 0; j < 8; j += 4) {
            const s32s t_1 = broadcast_s32(t + i);
            s64s at_0_lanes_0 = s64_of_s32(t_1);
            const long at_0 = at_0_lanes_0[0];
            vec x_2 = constant(0.0f);
            if (at_0 >= 0 && at_0 < 9) {
                x_2 = ((vec)*(const vec_at *)(x + at_0 * x_axis0 + j));
            } else {
                note(&outside);
            }
            vec x_3 = constant(0.0f);
            truths inside_4 = constant_bool(0);
            if (at_0 >= 0 && at_0 < 9 && j - 1 >= 0) {
                x_3 = ((vec)*(const vec_at *)(x + at_0 * x_axis0 + j - 1));
                inside_4 = constant_bool(1);
            } else {
                for (long each = 0; each < 4; ++each) {
                    if (at_0 >= 0 && at_0 < 9 && j + each - 1 >= 0) {
                        x_3[each] = x[at_0 * x_axis0 + j + each - 1];
                        inside_4[each] = -1;
                    }
                }
            }
            *(vec_at *)(y + i * y_i + j) = x_2 * constant(0.5f) + choose(inside_4, x_3, constant(1.0f));
        }
        const s32s t_6 = broadcast_s32(t + i);
        s64s at_0_lanes_5 = s64_of_s32(t_6);
        const long at_0 = at_0_lanes_5[0];
        vec x_7 = constant(0.0f);
        if (at_0 >= 0 && at_0 < 9) {
            x_7 = load_lanes(x + at_0 * x_axis0 + 8, FIRST_2);
        } else {
            note(&outside);
        }
        vec x_8 = constant(0.0f);
        truths inside_9 = constant_bool(0);
        if (at_0 >= 0 && at_0 < 9) {
            x_8 = load_lanes(x + at_0 * x_axis0 + 7, FIRST_2);
            inside_9 = constant_bool(1);
        } else {
            for (long each = 0; each < 2; ++each) {
                if (at_0 >= 0 && at_0 < 9 && each + 7 >= 0) {
                    x_8[each] = x[at_0 * x_axis0 + each + 7];
                    inside_9[each] = -1;
                }
            }
        }
        store_lanes(y + i * y_i + 8, x_7 * constant(0.5f) + choose(inside_9, x_8, constant(1.0f)), FIRST_2);
    }
    return outside;
}

/*
 * A whole call, the same as program_y_6819132d6e63_run.
 */

/* Returns 0, or 1 where an index that it read from an array lies outside another array; that element counts as 0. */
int program_y_6819132d6e63(const float *restrict x, const int32_t *restrict t, float *restrict y)
{
    int outside = 0;
    outside |= program_y_6819132d6e63_run(x, t, y);
    return outside;
}

/* The same for a list of the arrays, in the order above. */
int program_y_6819132d6e63_at(void *const *arrays)
{
    return program_y_6819132d6e63(arrays[0], arrays[1], arrays[2]);
}
