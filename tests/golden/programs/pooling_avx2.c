/*
 * y[h,w,c] = max[r,s] x[2 * h + r - 1, 2 * w + s - 1, c] else -1000000000.0
 *
 * Written by Tilewright. What it computes, as plain loops:
 *
 *     for h in 0..4:
 *       for w in 0..4:
 *         for c in 0..20:
 *           acc_y[1] in registers
 *           acc_y[0] = -inf
 *           for r in 0..3:
 *             for s in 0..3:
 *               acc_y[0] = max(acc_y[0], (x[2*h + r - 1, 2*w + s - 1, c] if 2*h + r - 1 >= 0 and 2*w + s - 1 >= 0 else -1e+09))
 *           y[h, w, c] = acc_y[0]
 *
 * Arrays, row-major:
 *     x: f32[8, 8, 20]
 *     y: f32[4, 4, 20]
 */
#include <immintrin.h>
#include <math.h>
#include <stdint.h>

/* Elements between neighbours along each axis but the last. */
static const long x_h = 160;
static const long x_w = 20;
static const long y_h = 80;
static const long y_w = 20;
/* The 4 lanes used of a last vector. A lane counts where its sign bit is set. */
static const int first_4_lanes[8] = {-1, -1, -1, -1, 0, 0, 0, 0};
#define FIRST_4 _mm256_loadu_si256((const __m256i *)first_4_lanes)

/* Functions of vectors of 8 lanes. */
typedef int bits __attribute__((vector_size(32)));
static inline __m256 constant(float value) { return _mm256_set1_ps(value); }
static inline __m256 choose(bits lanes, __m256 a, __m256 b) { return (__m256)((lanes & (bits)a) | (~lanes & (bits)b)); }
/* found, or v where v is a NaN. Two forms mean the same: where gcc knows v it leaves out the test of the first form,
 * and elsewhere the second form is faster. */
static inline __m256 kept_of(__m256 v, __m256 found)
{
    const bits none = v != v;
    return __builtin_constant_p(none[0]) ? choose(none, v, found) : _mm256_blendv_ps(found, v, _mm256_cmp_ps(v, v, _CMP_UNORD_Q));
}
static inline __m256 max_of(__m256 a, __m256 b) { return kept_of(a, _mm256_max_ps(a, b)); }

typedef int truths __attribute__((vector_size(32)));
static inline truths constant_bool(int value) { return -value - (truths){0}; }

/* Whether this CPU runs the kernel. */
__attribute__((target("no-avx"))) int program_y_2cb0677cfe55_supported(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

/* Returns 0. */
int program_y_2cb0677cfe55_run(const float *restrict x, float *restrict y)
{
    for (long h = 0; h < 4; ++h) {
        for (long w = 0; w < 1; ++w) {
            for (long c = 0; c < 16; c += 16) {
                __m256 acc_y;
                __m256 acc_y_c1;
                acc_y = constant(-INFINITY);
                acc_y_c1 = constant(-INFINITY);
                for (long r = 0; r < 3; ++r) {
                    for (long s = 0; s < 3; ++s) {
                        __m256 x_0 = constant(0.0f);
                        truths inside_1 = constant_bool(0);
                        if (2 * h + r - 1 >= 0 && 2 * w + s - 1 >= 0) {
                            x_0 = _mm256_loadu_ps(x + (2 * h + r - 1) * x_h + (2 * w + s - 1) * x_w + c);
                            inside_1 = constant_bool(1);
                        }
                        acc_y = max_of(choose(inside_1, x_0, constant(-1e+09f)), acc_y);
                        __m256 x_2 = constant(0.0f);
                        truths inside_3 = constant_bool(0);
                        if (2 * h + r - 1 >= 0 && 2 * w + s - 1 >= 0) {
                            x_2 = _mm256_loadu_ps(x + (2 * h + r - 1) * x_h + (2 * w + s - 1) * x_w + c + 8);
                            inside_3 = constant_bool(1);
                        }
                        acc_y_c1 = max_of(choose(inside_3, x_2, constant(-1e+09f)), acc_y_c1);
                    }
                }
                _mm256_storeu_ps(y + h * y_h + w * y_w + c, acc_y);
                _mm256_storeu_ps(y + h * y_h + w * y_w + c + 8, acc_y_c1);
            }
            __m256 acc_y = constant(-INFINITY);
            for (long r = 0; r < 3; ++r) {
                for (long s = 0; s < 3; ++s) {
                    __m256 x_4 = constant(0.0f);
                    truths inside_5 = constant_bool(0);
                    if (2 * h + r - 1 >= 0 && 2 * w + s - 1 >= 0) {
                        x_4 = _mm256_maskload_ps(x + (2 * h + r - 1) * x_h + (2 * w + s - 1) * x_w + 16, FIRST_4);
                        inside_5 = constant_bool(1);
                    }
                    acc_y = max_of(choose(inside_5, x_4, constant(-1e+09f)), acc_y);
                }
            }
            _mm256_maskstore_ps(y + h * y_h + w * y_w + 16, FIRST_4, acc_y);
        }
        for (long w = 1; w < 4; ++w) {
            for (long c = 0; c < 16; c += 16) {
                __m256 acc_y;
                __m256 acc_y_c1;
                acc_y = constant(-INFINITY);
                acc_y_c1 = constant(-INFINITY);
                for (long r = 0; r < 3; ++r) {
                    for (long s = 0; s < 3; ++s) {
                        __m256 x_6 = constant(0.0f);
                        truths inside_7 = constant_bool(0);
                        if (2 * h + r - 1 >= 0) {
                            x_6 = _mm256_loadu_ps(x + (2 * h + r - 1) * x_h + (2 * w + s - 1) * x_w + c);
                            inside_7 = constant_bool(1);
                        }
                        acc_y = max_of(choose(inside_7, x_6, constant(-1e+09f)), acc_y);
                        __m256 x_8 = constant(0.0f);
                        truths inside_9 = constant_bool(0);
                        if (2 * h + r - 1 >= 0) {
                            x_8 = _mm256_loadu_ps(x + (2 * h + r - 1) * x_h + (2 * w + s - 1) * x_w + c + 8);
                            inside_9 = constant_bool(1);
                        }
                        acc_y_c1 = max_of(choose(inside_9, x_8, constant(-1e+09f)), acc_y_c1);
                    }
                }
                _mm256_storeu_ps(y + h * y_h + w * y_w + c, acc_y);
                _mm256_storeu_ps(y + h * y_h + w * y_w + c + 8, acc_y_c1);
            }
            __m256 acc_y = constant(-INFINITY);
            for (long r = 0; r < 3; ++r) {
                for (long s = 0; s < 3; ++s) {
                    __m256 x_10 = constant(0.0f);
                    truths inside_11 = constant_bool(0);
                    if (2 * h + r - 1 >= 0) {
                        x_10 = _mm256_maskload_ps(x + (2 * h + r - 1) * x_h + (2 * w + s - 1) * x_w + 16, FIRST_4);
                        inside_11 = constant_bool(1);
                    }
                    acc_y = max_of(choose(inside_11, x_10, constant(-1e+09f)), acc_y);
                }
            }
            _mm256_maskstore_ps(y + h * y_h + w * y_w + 16, FIRST_4, acc_y);
        }
    }
    return 0;
}

/*
 * A whole call: it checks the CPU.
 * A caller that has done so calls program_y_2cb0677cfe55_run.
 */
#include <stdio.h>
#include <stdlib.h>

/* Returns 0. */
int program_y_2cb0677cfe55(const float *restrict x, float *restrict y)
{
    if (!program_y_2cb0677cfe55_supported()) {
        fputs("program_y_2cb0677cfe55: this CPU lacks avx2 or fma\n", stderr);
        abort();
    }
    int outside = 0;
    outside |= program_y_2cb0677cfe55_run(x, y);
    return outside;
}

/* The same for a list of the arrays, in the order above. */
int program_y_2cb0677cfe55_at(void *const *arrays)
{
    return program_y_2cb0677cfe55(arrays[0], arrays[1]);
}
