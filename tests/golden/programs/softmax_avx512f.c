/*
 * m[i] = max[j] x[i, j]
 * e[i,j] = exp(x[i, j] - m[i])
 * d[i] = sum[j] e[i, j]
 * y[i,j] = e[i, j] / d[i]
 *
 * Written by Tilewright. What it computes, as plain loops:
 *
 *     for i in 0..100:
 *       m[1] in registers
 *       e[1000] in its own memory
 *       d[1] in registers
 *       d_inverse[1] in registers
 *       acc_m[1] in registers
 *       acc_m[0] = -inf
 *       for j in 0..1000:
 *         acc_m[0] = max(acc_m[0], x[i, j])
 *       m[0] = acc_m[0]
 *       for j in 0..1000:
 *         e[j] = exp(x[i, j] - m[0])
 *       acc_d[1] in registers
 *       acc_d[0] = 0
 *       for j in 0..1000:
 *         acc_d[0] += e[j]
 *       d[0] = acc_d[0]
 *       d_inverse[0] = 1 / d[0]
 *       for j in 0..1000:
 *         y[i, j] = e[j] * d_inverse[0]
 *
 * Arrays, row-major:
 *     x: f32[100, 1000]
 *     y: f32[100, 1000]
 */
#include <immintrin.h>
#include <math.h>
#include <stdint.h>

/* Elements between neighbours along each axis but the last. */
static const long x_i = 1000;
static const long y_i = 1000;
#define FIRST_8 ((__mmask16)0x00ff) /* the 8 lanes used of a last vector */

/* Functions of vectors of 16 lanes. */
typedef int bits __attribute__((vector_size(64)));
static inline __m512 constant(float value) { return _mm512_set1_ps(value); }
static inline __m512 choose(bits lanes, __m512 a, __m512 b) { return (__m512)((lanes & (bits)a) | (~lanes & (bits)b)); }

/* 2^(k / 16). Volatile, so it is read where it is used: gcc would keep it in a register through the loops of a
 * product. */
static const volatile __m512 sixteenths = {1, 1.04427373, 1.09050775, 1.13878858, 1.18920708, 1.24185777, 1.29683959, 1.35425556, 1.41421354, 1.47682619, 1.54221082, 1.61049032, 1.68179286, 1.75625217, 1.8340081, 1.91520655};

/* 2^(k / 16 + r) with |r| <= 1 / 32. shifted is 1.5 * 2^19 plus a whole number plus k / 16. Of that size an f32 has no
 * bits below a sixteenth, so its last four bits are k. 2^r is a polynomial, fitted minimax to a relative error of
 * 2^-28. */
static inline __m512 exp2_of(__m512 shifted, __m512 r)
{
    const __m512 power = _mm512_permutexvar_ps((__m512i)shifted, sixteenths);
    const __m512 p = (constant(5.55050853e-2f) * r + constant(2.40233555e-1f)) * r + constant(6.93147182e-1f);
    return (power * r) * p + power;
}

/* 1 / ln 2 is the sum of two f32. From v = 89 on the result is infinite. Below -87 it is 0: subnormal numbers begin a
 * little further, and many CPUs compute them slowly. Error: below 1.1 ulp. */
static inline __m512 exp_of(__m512 v)
{
    const __m512 near = _mm512_min_ps(constant(89.0f), v), log2e = constant(1.44269502f), shift = constant(786432.0f);
    const __m512 shifted = near * log2e + shift, whole = shifted - shift;
    const __m512 r = (near * log2e - whole) + near * constant(1.92596303e-8f);
    return _mm512_maskz_scalef_ps(_mm512_cmp_ps_mask(v, constant(-87.0f), _CMP_NLT_UQ), exp2_of(shifted, r), whole);
}
/* found, or v where v is a NaN. Two forms mean the same: where gcc knows v it leaves out the test of the first form,
 * and elsewhere the second form is faster. */
static inline __m512 kept_of(__m512 v, __m512 found)
{
    const bits none = v != v;
    return __builtin_constant_p(none[0]) ? choose(none, v, found) : _mm512_mask_mov_ps(found, _mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q), v);
}
static inline __m512 max_of(__m512 a, __m512 b) { return kept_of(a, _mm512_max_ps(a, b)); }

typedef int truths __attribute__((vector_size(64)));
static inline truths first_lanes(int lanes)
{
    return (truths){0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15} < lanes;
}
#ifdef __clang__
#define PICK(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
typedef int places __attribute__((vector_size(64)));
#define PICK(a, b, ...) __builtin_shuffle(a, b, (places){__VA_ARGS__})
#endif
/* All lanes combined, in every lane: each with that half a vector away, then a quarter, and so on. */
static inline __m512 across_max_f32(__m512 v)
{
    __m512 other;
    other = PICK(v, v, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7);
    v = max_of(v, other);
    other = PICK(v, v, 4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11);
    v = max_of(v, other);
    other = PICK(v, v, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13);
    v = max_of(v, other);
    other = PICK(v, v, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14);
    v = max_of(v, other);
    return v;
}
/* All lanes combined, in every lane: each with that half a vector away, then a quarter, and so on. */
static inline __m512 across_add_f32(__m512 v)
{
    __m512 other;
    other = PICK(v, v, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7);
    v = v + other;
    other = PICK(v, v, 4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11);
    v = v + other;
    other = PICK(v, v, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13);
    v = v + other;
    other = PICK(v, v, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14);
    v = v + other;
    return v;
}

/* Whether this CPU runs the kernel. */
__attribute__((target("no-avx"))) int program_y_01b657c630be_supported(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("fma");
}

/* The part of a call that thread `thread` of `threads` does. All run it at once. */
/* Returns 0. */
int program_y_01b657c630be_run(const float *restrict x, float *restrict y, long thread, long threads)
{
    for (long worker = 2 * thread / threads; worker < (2 * thread + 2) / threads; ++worker) {
        float e[1000] __attribute__((aligned(64)));
        for (long i = 50 * worker; i < 50 * worker + 50; ++i) {
            __m512 m;
            __m512 d;
            __m512 d_inverse;
            __m512 acc_m = constant(-INFINITY);
            __m512 acc_m_lanes = constant(-INFINITY);
            __m512 acc_m_lanes_1 = constant(-INFINITY);
            __m512 acc_m_lanes_2 = constant(-INFINITY);
            __m512 acc_m_lanes_3 = constant(-INFINITY);
            for (long j = 0; j < 960; j += 64) {
                {
                    const __m512 x_0 = _mm512_loadu_ps(x + i * x_i + j);
                    acc_m_lanes = max_of(x_0, acc_m_lanes);
                }
                {
                    const __m512 x_1 = _mm512_loadu_ps(x + i * x_i + j + 16);
                    acc_m_lanes_1 = max_of(x_1, acc_m_lanes_1);
                }
                {
                    const __m512 x_2 = _mm512_loadu_ps(x + i * x_i + j + 32);
                    acc_m_lanes_2 = max_of(x_2, acc_m_lanes_2);
                }
                {
                    const __m512 x_3 = _mm512_loadu_ps(x + i * x_i + j + 48);
                    acc_m_lanes_3 = max_of(x_3, acc_m_lanes_3);
                }
            }
            for (long j = 960; j < 992; j += 16) {
                const __m512 x_4 = _mm512_loadu_ps(x + i * x_i + j);
                acc_m_lanes = max_of(x_4, acc_m_lanes);
            }
            const __m512 x_5 = _mm512_maskz_loadu_ps(FIRST_8, x + i * x_i + 992);
            acc_m_lanes = choose(first_lanes(8), max_of(x_5, acc_m_lanes), acc_m_lanes);
            acc_m_lanes = max_of(acc_m_lanes_1, acc_m_lanes);
            acc_m_lanes_2 = max_of(acc_m_lanes_3, acc_m_lanes_2);
            acc_m_lanes = max_of(acc_m_lanes_2, acc_m_lanes);
            acc_m_lanes = across_max_f32(acc_m_lanes);
            acc_m = max_of(acc_m_lanes, acc_m);
            m = acc_m;
            __m512 acc_d = constant(0.0f);
            __m512 acc_d_lanes = constant(0.0f);
            __m512 acc_d_lanes_1 = constant(0.0f);
            __m512 acc_d_lanes_2 = constant(0.0f);
            __m512 acc_d_lanes_3 = constant(0.0f);
            for (long j = 0; j < 960; j += 64) {
                {
                    const __m512 x_6 = _mm512_loadu_ps(x + i * x_i + j);
                    const __m512 e_here = exp_of(x_6 - m);
                    _mm512_storeu_ps(e + j, e_here);
                    acc_d_lanes = acc_d_lanes + e_here;
                }
                {
                    const __m512 x_7 = _mm512_loadu_ps(x + i * x_i + j + 16);
                    const __m512 e_here = exp_of(x_7 - m);
                    _mm512_storeu_ps(e + j + 16, e_here);
                    acc_d_lanes_1 = acc_d_lanes_1 + e_here;
                }
                {
                    const __m512 x_8 = _mm512_loadu_ps(x + i * x_i + j + 32);
                    const __m512 e_here = exp_of(x_8 - m);
                    _mm512_storeu_ps(e + j + 32, e_here);
                    acc_d_lanes_2 = acc_d_lanes_2 + e_here;
                }
                {
                    const __m512 x_9 = _mm512_loadu_ps(x + i * x_i + j + 48);
                    const __m512 e_here = exp_of(x_9 - m);
                    _mm512_storeu_ps(e + j + 48, e_here);
                    acc_d_lanes_3 = acc_d_lanes_3 + e_here;
                }
            }
            for (long j = 960; j < 992; j += 16) {
                const __m512 x_10 = _mm512_loadu_ps(x + i * x_i + j);
                const __m512 e_here = exp_of(x_10 - m);
                _mm512_storeu_ps(e + j, e_here);
                acc_d_lanes = acc_d_lanes + e_here;
            }
            const __m512 x_11 = _mm512_maskz_loadu_ps(FIRST_8, x + i * x_i + 992);
            const __m512 e_here = exp_of(x_11 - m);
            _mm512_mask_storeu_ps(e + 992, FIRST_8, e_here);
            acc_d_lanes = choose(first_lanes(8), acc_d_lanes + e_here, acc_d_lanes);
            acc_d_lanes = acc_d_lanes + acc_d_lanes_1;
            acc_d_lanes_2 = acc_d_lanes_2 + acc_d_lanes_3;
            acc_d_lanes = acc_d_lanes + acc_d_lanes_2;
            acc_d_lanes = across_add_f32(acc_d_lanes);
            acc_d = acc_d + acc_d_lanes;
            d = acc_d;
            d_inverse = constant(1.0f) / d;
            for (long j = 0; j < 992; j += 16) {
                const __m512 e_12 = _mm512_loadu_ps(e + j);
                _mm512_storeu_ps(y + i * y_i + j, e_12 * d_inverse);
            }
            const __m512 e_13 = _mm512_maskz_loadu_ps(FIRST_8, e + 992);
            _mm512_mask_storeu_ps(y + i * y_i + 992, FIRST_8, e_13 * d_inverse);
        }
    }
    return 0;
}

/*
 * A whole call: it checks the CPU and starts a team of threads.
 * A caller that has done so calls program_y_01b657c630be_run.
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

/* Returns 0. */
int program_y_01b657c630be(const float *restrict x, float *restrict y)
{
    if (!program_y_01b657c630be_supported()) {
        fputs("program_y_01b657c630be: this CPU lacks avx512f or avx512vl or fma\n", stderr);
        abort();
    }
    int outside = 0;
    const int dynamic = omp_get_dynamic();
    omp_set_dynamic(0); /* the team has THREADS threads, whatever OMP_DYNAMIC says */
    #pragma omp parallel num_threads(THREADS) reduction(| : outside)
    outside |= program_y_01b657c630be_run(x, y, omp_get_thread_num(), omp_get_num_threads());
    omp_set_dynamic(dynamic);
    return outside;
}

/* The same for a list of the arrays, in the order above. */
int program_y_01b657c630be_at(void *const *arrays)
{
    return program_y_01b657c630be(arrays[0], arrays[1]);
}
