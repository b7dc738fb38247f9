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
 *     W holds U: for each part of the output channels and each of 16 products the panels that it reads.
 */
#include <immintrin.h>
#include <stdio.h>
#include <stdlib.h>

/* Floats between neighbours along each axis of the arrays: those of the convolution; V, M and a padded tile P; one
 * point of V, U and M, as one product of a block reads and writes them; and those of the packing, W, G and U. */
static const long X_n = 245;
static const long X_h = 35;
static const long X_w = 5;
static const long W_point = 120;
static const long Y_n = 1813;
static const long Y_h = 259;
static const long Y_w = 37;
static const long Y_k = 1;
static const long STEP_b_k = 1;
static const long V_point = 112;
static const long V_float = 1;
static const long M_point = 304;
static const long M_float = 1;
static const long P_pixel = 8;
static const long P_channel = 1;
static const long VP_m = 16;
static const long VP_k = 1;
static const long MP_m = 48;
static const long MP_n = 1;
static const long W_k = 45;
static const long W_c = 9;
static const long W_r = 3;
static const long W_s = 1;
static const long G_point = 3;
static const long G_tap = 1;
static const long packed_point = 120;
static const long packed_number = 1;
static const long U_c = 24;
static const long U_k = 1;

/* The 5 lanes used of the last vector. A lane counts where its sign bit is set. */
static const int tail_lanes[8] = {-1, -1, -1, -1, -1, 0, 0, 0};
#define TAIL _mm256_loadu_si256((const __m256i *)tail_lanes)

/* The epilogue, applied to each vector as it is stored:
 *
 *     relu(y+b[k])
 *
 * A NaN gives a NaN. Errors are in units in the last place (ulp) of the result. An exponential below about e^-87 counts
 * as 0, by which a result may be off by 2^-119 besides. */
/* Volatile, so a tile reads zero once, when its sums are done. gcc would keep a bound that it knows in a register
 * through the inner loops, and spill an accumulator for it: above all zero, with which it also clears accumulators. */
static const volatile __m256 zeros = {0};
static inline __m256 relu_of(__m256 v, __m256 zero) { return _mm256_max_ps(zero, v); }

static inline __m256 epilogue(__m256 y, __m256 e_b, __m256 zero)
{
    return relu_of(y + e_b, zero);
}

/* Winograd's algorithm: a tile of 2 x 2 outputs from 4 x 4 inputs x and 3 x 3 weights w,
 * by 16 products:
 *
 *     y = A^T [ (G w G^T) . (B^T x B) ] A  =  A^T [ U . V ] A
 *
 * summed over the channels before A^T and A are applied. So each point is a matrix product of (tiles x C) and (C x K).
 * A task is a block of 6 tiles by 24 output channels: V and M of one block stay in a core's cache.
 * Transforms stay functions: inlined into loops, some would have too few registers.
 *
 *     B^T = -1  0  1  0
 *            0  1  1  0
 *            0 -1  1  0
 *            0 -1  0  1
 *
 *     A^T =  1  1  1  0
 *            0  1 -1  1
 */

/* 6 rows x 1 vectors, summed over k from 0 to 5. */
static void tile0_6mx8n(const float *x, const float *w, float *y)
{
    __m256 acc_0_0 = _mm256_setzero_ps();
    __m256 acc_1_0 = _mm256_setzero_ps();
    __m256 acc_2_0 = _mm256_setzero_ps();
    __m256 acc_3_0 = _mm256_setzero_ps();
    __m256 acc_4_0 = _mm256_setzero_ps();
    __m256 acc_5_0 = _mm256_setzero_ps();
    for (long k = 0; k < 5; ++k) {
        const float *x_k = x + k * VP_k;
        const float *w_k = w + 8 * k;
        const __m256 w_0 = _mm256_loadu_ps(w_k);
        { const __m256 x_0 = _mm256_broadcast_ss(x_k); acc_0_0 = _mm256_fmadd_ps(x_0, w_0, acc_0_0); }
        { const __m256 x_1 = _mm256_broadcast_ss(x_k + VP_m); acc_1_0 = _mm256_fmadd_ps(x_1, w_0, acc_1_0); }
        { const __m256 x_2 = _mm256_broadcast_ss(x_k + 2 * VP_m); acc_2_0 = _mm256_fmadd_ps(x_2, w_0, acc_2_0); }
        { const __m256 x_3 = _mm256_broadcast_ss(x_k + 3 * VP_m); acc_3_0 = _mm256_fmadd_ps(x_3, w_0, acc_3_0); }
        { const __m256 x_4 = _mm256_broadcast_ss(x_k + 4 * VP_m); acc_4_0 = _mm256_fmadd_ps(x_4, w_0, acc_4_0); }
        { const __m256 x_5 = _mm256_broadcast_ss(x_k + 5 * VP_m); acc_5_0 = _mm256_fmadd_ps(x_5, w_0, acc_5_0); }
    }
    _mm256_storeu_ps(y, acc_0_0);
    _mm256_storeu_ps(y + MP_m, acc_1_0);
    _mm256_storeu_ps(y + 2 * MP_m, acc_2_0);
    _mm256_storeu_ps(y + 3 * MP_m, acc_3_0);
    _mm256_storeu_ps(y + 4 * MP_m, acc_4_0);
    _mm256_storeu_ps(y + 5 * MP_m, acc_5_0);
}

/* V = B^T x B of a tile's input, point by point. */
static __attribute__((noinline)) void input_tile(const float *x, float *v)
{
    /* B^T times column 0 of x */
    const __m256 x_0_0 = _mm256_maskload_ps(x, TAIL);
    const __m256 x_1_0 = _mm256_maskload_ps(x + X_h, TAIL);
    const __m256 x_2_0 = _mm256_maskload_ps(x + 2 * X_h, TAIL);
    const __m256 x_3_0 = _mm256_maskload_ps(x + 3 * X_h, TAIL);
    const __m256 t_0_0 = x_2_0 - x_0_0;
    const __m256 t_1_0 = x_2_0 + x_1_0;
    const __m256 t_2_0 = x_2_0 - x_1_0;
    const __m256 t_3_0 = x_3_0 - x_1_0;
    /* B^T times column 1 of x */
    const __m256 x_0_1 = _mm256_maskload_ps(x + X_w, TAIL);
    const __m256 x_1_1 = _mm256_maskload_ps(x + X_h + X_w, TAIL);
    const __m256 x_2_1 = _mm256_maskload_ps(x + 2 * X_h + X_w, TAIL);
    const __m256 x_3_1 = _mm256_maskload_ps(x + 3 * X_h + X_w, TAIL);
    const __m256 t_0_1 = x_2_1 - x_0_1;
    const __m256 t_1_1 = x_2_1 + x_1_1;
    const __m256 t_2_1 = x_2_1 - x_1_1;
    const __m256 t_3_1 = x_3_1 - x_1_1;
    /* B^T times column 2 of x */
    const __m256 x_0_2 = _mm256_maskload_ps(x + 2 * X_w, TAIL);
    const __m256 x_1_2 = _mm256_maskload_ps(x + X_h + 2 * X_w, TAIL);
    const __m256 x_2_2 = _mm256_maskload_ps(x + 2 * X_h + 2 * X_w, TAIL);
    const __m256 x_3_2 = _mm256_maskload_ps(x + 3 * X_h + 2 * X_w, TAIL);
    const __m256 t_0_2 = x_2_2 - x_0_2;
    const __m256 t_1_2 = x_2_2 + x_1_2;
    const __m256 t_2_2 = x_2_2 - x_1_2;
    const __m256 t_3_2 = x_3_2 - x_1_2;
    /* B^T times column 3 of x */
    const __m256 x_0_3 = _mm256_maskload_ps(x + 3 * X_w, TAIL);
    const __m256 x_1_3 = _mm256_maskload_ps(x + X_h + 3 * X_w, TAIL);
    const __m256 x_2_3 = _mm256_maskload_ps(x + 2 * X_h + 3 * X_w, TAIL);
    const __m256 x_3_3 = _mm256_maskload_ps(x + 3 * X_h + 3 * X_w, TAIL);
    const __m256 t_0_3 = x_2_3 - x_0_3;
    const __m256 t_1_3 = x_2_3 + x_1_3;
    const __m256 t_2_3 = x_2_3 - x_1_3;
    const __m256 t_3_3 = x_3_3 - x_1_3;
    /* row 0 of that times B */
    const __m256 v_0_0 = t_0_2 - t_0_0;
    const __m256 v_0_1 = t_0_2 + t_0_1;
    const __m256 v_0_2 = t_0_2 - t_0_1;
    const __m256 v_0_3 = t_0_3 - t_0_1;
    _mm256_storeu_ps(v, v_0_0);
    _mm256_storeu_ps(v + V_point, v_0_1);
    _mm256_storeu_ps(v + 2 * V_point, v_0_2);
    _mm256_storeu_ps(v + 3 * V_point, v_0_3);
    /* row 1 of that times B */
    const __m256 v_1_0 = t_1_2 - t_1_0;
    const __m256 v_1_1 = t_1_2 + t_1_1;
    const __m256 v_1_2 = t_1_2 - t_1_1;
    const __m256 v_1_3 = t_1_3 - t_1_1;
    _mm256_storeu_ps(v + 4 * V_point, v_1_0);
    _mm256_storeu_ps(v + 5 * V_point, v_1_1);
    _mm256_storeu_ps(v + 6 * V_point, v_1_2);
    _mm256_storeu_ps(v + 7 * V_point, v_1_3);
    /* row 2 of that times B */
    const __m256 v_2_0 = t_2_2 - t_2_0;
    const __m256 v_2_1 = t_2_2 + t_2_1;
    const __m256 v_2_2 = t_2_2 - t_2_1;
    const __m256 v_2_3 = t_2_3 - t_2_1;
    _mm256_storeu_ps(v + 8 * V_point, v_2_0);
    _mm256_storeu_ps(v + 9 * V_point, v_2_1);
    _mm256_storeu_ps(v + 10 * V_point, v_2_2);
    _mm256_storeu_ps(v + 11 * V_point, v_2_3);
    /* row 3 of that times B */
    const __m256 v_3_0 = t_3_2 - t_3_0;
    const __m256 v_3_1 = t_3_2 + t_3_1;
    const __m256 v_3_2 = t_3_2 - t_3_1;
    const __m256 v_3_3 = t_3_3 - t_3_1;
    _mm256_storeu_ps(v + 12 * V_point, v_3_0);
    _mm256_storeu_ps(v + 13 * V_point, v_3_1);
    _mm256_storeu_ps(v + 14 * V_point, v_3_2);
    _mm256_storeu_ps(v + 15 * V_point, v_3_3);
}

/* A copy of a tile's input that reaches beyond the image, 0 there; x is one image of the batch. */
static __attribute__((noinline)) void padded(const float *x, float *p, long h, long w)
{
    for (long i = 0; i < 4; ++i) {
        float *p_i = p + 4 * i * P_pixel;
        const float *x_i = x + i * X_h;
        for (long j = 0; j < 4; ++j) {
            float *p_j = p_i + j * P_pixel;
            const float *x_j = x_i + j * X_w;
            if (h + i >= 0 && h + i < 7 && w + j >= 0 && w + j < 7) {
                _mm256_storeu_ps(p_j, _mm256_maskload_ps(x_j + h * X_h + w * X_w, TAIL));
            } else {
                for (long c = 0; c < 8; c += 8) {
                    float *p_c = p_j + c * P_channel;
                    _mm256_storeu_ps(p_c, _mm256_setzero_ps());
                }
            }
        }
    }
}

/* V = B^T x B of a padded tile's input, point by point. */
static __attribute__((noinline)) void input_patch(float *p, float *v)
{
    for (long c = 0; c < 8; c += 8) {
        float *p_c = p + c * P_channel;
        float *v_c = v + c * V_float;
        /* B^T times column 0 of x */
        const __m256 x_0_0 = _mm256_loadu_ps(p_c);
        const __m256 x_1_0 = _mm256_loadu_ps(p_c + 4 * P_pixel);
        const __m256 x_2_0 = _mm256_loadu_ps(p_c + 8 * P_pixel);
        const __m256 x_3_0 = _mm256_loadu_ps(p_c + 12 * P_pixel);
        const __m256 t_0_0 = x_2_0 - x_0_0;
        const __m256 t_1_0 = x_2_0 + x_1_0;
        const __m256 t_2_0 = x_2_0 - x_1_0;
        const __m256 t_3_0 = x_3_0 - x_1_0;
        /* B^T times column 1 of x */
        const __m256 x_0_1 = _mm256_loadu_ps(p_c + P_pixel);
        const __m256 x_1_1 = _mm256_loadu_ps(p_c + 5 * P_pixel);
        const __m256 x_2_1 = _mm256_loadu_ps(p_c + 9 * P_pixel);
        const __m256 x_3_1 = _mm256_loadu_ps(p_c + 13 * P_pixel);
        const __m256 t_0_1 = x_2_1 - x_0_1;
        const __m256 t_1_1 = x_2_1 + x_1_1;
        const __m256 t_2_1 = x_2_1 - x_1_1;
        const __m256 t_3_1 = x_3_1 - x_1_1;
        /* B^T times column 2 of x */
        const __m256 x_0_2 = _mm256_loadu_ps(p_c + 2 * P_pixel);
        const __m256 x_1_2 = _mm256_loadu_ps(p_c + 6 * P_pixel);
        const __m256 x_2_2 = _mm256_loadu_ps(p_c + 10 * P_pixel);
        const __m256 x_3_2 = _mm256_loadu_ps(p_c + 14 * P_pixel);
        const __m256 t_0_2 = x_2_2 - x_0_2;
        const __m256 t_1_2 = x_2_2 + x_1_2;
        const __m256 t_2_2 = x_2_2 - x_1_2;
        const __m256 t_3_2 = x_3_2 - x_1_2;
        /* B^T times column 3 of x */
        const __m256 x_0_3 = _mm256_loadu_ps(p_c + 3 * P_pixel);
        const __m256 x_1_3 = _mm256_loadu_ps(p_c + 7 * P_pixel);
        const __m256 x_2_3 = _mm256_loadu_ps(p_c + 11 * P_pixel);
        const __m256 x_3_3 = _mm256_loadu_ps(p_c + 15 * P_pixel);
        const __m256 t_0_3 = x_2_3 - x_0_3;
        const __m256 t_1_3 = x_2_3 + x_1_3;
        const __m256 t_2_3 = x_2_3 - x_1_3;
        const __m256 t_3_3 = x_3_3 - x_1_3;
        /* row 0 of that times B */
        const __m256 v_0_0 = t_0_2 - t_0_0;
        const __m256 v_0_1 = t_0_2 + t_0_1;
        const __m256 v_0_2 = t_0_2 - t_0_1;
        const __m256 v_0_3 = t_0_3 - t_0_1;
        _mm256_storeu_ps(v_c, v_0_0);
        _mm256_storeu_ps(v_c + V_point, v_0_1);
        _mm256_storeu_ps(v_c + 2 * V_point, v_0_2);
        _mm256_storeu_ps(v_c + 3 * V_point, v_0_3);
        /* row 1 of that times B */
        const __m256 v_1_0 = t_1_2 - t_1_0;
        const __m256 v_1_1 = t_1_2 + t_1_1;
        const __m256 v_1_2 = t_1_2 - t_1_1;
        const __m256 v_1_3 = t_1_3 - t_1_1;
        _mm256_storeu_ps(v_c + 4 * V_point, v_1_0);
        _mm256_storeu_ps(v_c + 5 * V_point, v_1_1);
        _mm256_storeu_ps(v_c + 6 * V_point, v_1_2);
        _mm256_storeu_ps(v_c + 7 * V_point, v_1_3);
        /* row 2 of that times B */
        const __m256 v_2_0 = t_2_2 - t_2_0;
        const __m256 v_2_1 = t_2_2 + t_2_1;
        const __m256 v_2_2 = t_2_2 - t_2_1;
        const __m256 v_2_3 = t_2_3 - t_2_1;
        _mm256_storeu_ps(v_c + 8 * V_point, v_2_0);
        _mm256_storeu_ps(v_c + 9 * V_point, v_2_1);
        _mm256_storeu_ps(v_c + 10 * V_point, v_2_2);
        _mm256_storeu_ps(v_c + 11 * V_point, v_2_3);
        /* row 3 of that times B */
        const __m256 v_3_0 = t_3_2 - t_3_0;
        const __m256 v_3_1 = t_3_2 + t_3_1;
        const __m256 v_3_2 = t_3_2 - t_3_1;
        const __m256 v_3_3 = t_3_3 - t_3_1;
        _mm256_storeu_ps(v_c + 12 * V_point, v_3_0);
        _mm256_storeu_ps(v_c + 13 * V_point, v_3_1);
        _mm256_storeu_ps(v_c + 14 * V_point, v_3_2);
        _mm256_storeu_ps(v_c + 15 * V_point, v_3_3);
    }
}

/* A tile's output, for `channels` output channels: y = A^T m A. */
static __attribute__((noinline)) void output_tile(float *m, float *y, const float *e_b, long channels)
{
    for (long k = 0; k < 8 * (channels / 8); k += 8) {
        float *m_k = m + k * M_float;
        float *y_k = y + k * Y_k;
        const float *e_b_k = e_b + k * STEP_b_k;
        /* A^T times column 0 of m */
        const __m256 m_0_0 = _mm256_loadu_ps(m_k);
        const __m256 m_1_0 = _mm256_loadu_ps(m_k + 4 * M_point);
        const __m256 m_2_0 = _mm256_loadu_ps(m_k + 8 * M_point);
        const __m256 m_3_0 = _mm256_loadu_ps(m_k + 12 * M_point);
        const __m256 m_1_0_plus_m_2_0 = m_1_0 + m_2_0;
        const __m256 m_1_0_minus_m_2_0 = m_1_0 - m_2_0;
        const __m256 t_0_0 = m_0_0 + m_1_0_plus_m_2_0;
        const __m256 t_1_0 = m_1_0_minus_m_2_0 + m_3_0;
        /* A^T times column 1 of m */
        const __m256 m_0_1 = _mm256_loadu_ps(m_k + M_point);
        const __m256 m_1_1 = _mm256_loadu_ps(m_k + 5 * M_point);
        const __m256 m_2_1 = _mm256_loadu_ps(m_k + 9 * M_point);
        const __m256 m_3_1 = _mm256_loadu_ps(m_k + 13 * M_point);
        const __m256 m_1_1_plus_m_2_1 = m_1_1 + m_2_1;
        const __m256 m_1_1_minus_m_2_1 = m_1_1 - m_2_1;
        const __m256 t_0_1 = m_0_1 + m_1_1_plus_m_2_1;
        const __m256 t_1_1 = m_1_1_minus_m_2_1 + m_3_1;
        /* A^T times column 2 of m */
        const __m256 m_0_2 = _mm256_loadu_ps(m_k + 2 * M_point);
        const __m256 m_1_2 = _mm256_loadu_ps(m_k + 6 * M_point);
        const __m256 m_2_2 = _mm256_loadu_ps(m_k + 10 * M_point);
        const __m256 m_3_2 = _mm256_loadu_ps(m_k + 14 * M_point);
        const __m256 m_1_2_plus_m_2_2 = m_1_2 + m_2_2;
        const __m256 m_1_2_minus_m_2_2 = m_1_2 - m_2_2;
        const __m256 t_0_2 = m_0_2 + m_1_2_plus_m_2_2;
        const __m256 t_1_2 = m_1_2_minus_m_2_2 + m_3_2;
        /* A^T times column 3 of m */
        const __m256 m_0_3 = _mm256_loadu_ps(m_k + 3 * M_point);
        const __m256 m_1_3 = _mm256_loadu_ps(m_k + 7 * M_point);
        const __m256 m_2_3 = _mm256_loadu_ps(m_k + 11 * M_point);
        const __m256 m_3_3 = _mm256_loadu_ps(m_k + 15 * M_point);
        const __m256 m_1_3_plus_m_2_3 = m_1_3 + m_2_3;
        const __m256 m_1_3_minus_m_2_3 = m_1_3 - m_2_3;
        const __m256 t_0_3 = m_0_3 + m_1_3_plus_m_2_3;
        const __m256 t_1_3 = m_1_3_minus_m_2_3 + m_3_3;
        /* row 0 of that times A */
        const __m256 t_0_1_plus_t_0_2 = t_0_1 + t_0_2;
        const __m256 t_0_1_minus_t_0_2 = t_0_1 - t_0_2;
        const __m256 y_0_0 = t_0_0 + t_0_1_plus_t_0_2;
        const __m256 y_0_1 = t_0_1_minus_t_0_2 + t_0_3;
        const __m256 zero = zeros;
        _mm256_storeu_ps(y_k, epilogue(y_0_0, _mm256_loadu_ps(e_b_k), zero));
        _mm256_storeu_ps(y_k + Y_w, epilogue(y_0_1, _mm256_loadu_ps(e_b_k), zero));
        /* row 1 of that times A */
        const __m256 t_1_1_plus_t_1_2 = t_1_1 + t_1_2;
        const __m256 t_1_1_minus_t_1_2 = t_1_1 - t_1_2;
        const __m256 y_1_0 = t_1_0 + t_1_1_plus_t_1_2;
        const __m256 y_1_1 = t_1_1_minus_t_1_2 + t_1_3;
        _mm256_storeu_ps(y_k + Y_h, epilogue(y_1_0, _mm256_loadu_ps(e_b_k), zero));
        _mm256_storeu_ps(y_k + Y_h + Y_w, epilogue(y_1_1, _mm256_loadu_ps(e_b_k), zero));
    }
    if (channels % 8 >= 1) {
        /* A^T times column 0 of m */
        const __m256 m_0_0 = _mm256_loadu_ps(m + 8 * (channels / 8) * M_float);
        const __m256 m_1_0 = _mm256_loadu_ps(m + 4 * M_point + 8 * (channels / 8) * M_float);
        const __m256 m_2_0 = _mm256_loadu_ps(m + 8 * M_point + 8 * (channels / 8) * M_float);
        const __m256 m_3_0 = _mm256_loadu_ps(m + 12 * M_point + 8 * (channels / 8) * M_float);
        const __m256 m_1_0_plus_m_2_0 = m_1_0 + m_2_0;
        const __m256 m_1_0_minus_m_2_0 = m_1_0 - m_2_0;
        const __m256 t_0_0 = m_0_0 + m_1_0_plus_m_2_0;
        const __m256 t_1_0 = m_1_0_minus_m_2_0 + m_3_0;
        /* A^T times column 1 of m */
        const __m256 m_0_1 = _mm256_loadu_ps(m + M_point + 8 * (channels / 8) * M_float);
        const __m256 m_1_1 = _mm256_loadu_ps(m + 5 * M_point + 8 * (channels / 8) * M_float);
        const __m256 m_2_1 = _mm256_loadu_ps(m + 9 * M_point + 8 * (channels / 8) * M_float);
        const __m256 m_3_1 = _mm256_loadu_ps(m + 13 * M_point + 8 * (channels / 8) * M_float);
        const __m256 m_1_1_plus_m_2_1 = m_1_1 + m_2_1;
        const __m256 m_1_1_minus_m_2_1 = m_1_1 - m_2_1;
        const __m256 t_0_1 = m_0_1 + m_1_1_plus_m_2_1;
        const __m256 t_1_1 = m_1_1_minus_m_2_1 + m_3_1;
        /* A^T times column 2 of m */
        const __m256 m_0_2 = _mm256_loadu_ps(m + 2 * M_point + 8 * (channels / 8) * M_float);
        const __m256 m_1_2 = _mm256_loadu_ps(m + 6 * M_point + 8 * (channels / 8) * M_float);
        const __m256 m_2_2 = _mm256_loadu_ps(m + 10 * M_point + 8 * (channels / 8) * M_float);
        const __m256 m_3_2 = _mm256_loadu_ps(m + 14 * M_point + 8 * (channels / 8) * M_float);
        const __m256 m_1_2_plus_m_2_2 = m_1_2 + m_2_2;
        const __m256 m_1_2_minus_m_2_2 = m_1_2 - m_2_2;
        const __m256 t_0_2 = m_0_2 + m_1_2_plus_m_2_2;
        const __m256 t_1_2 = m_1_2_minus_m_2_2 + m_3_2;
        /* A^T times column 3 of m */
        const __m256 m_0_3 = _mm256_loadu_ps(m + 3 * M_point + 8 * (channels / 8) * M_float);
        const __m256 m_1_3 = _mm256_loadu_ps(m + 7 * M_point + 8 * (channels / 8) * M_float);
        const __m256 m_2_3 = _mm256_loadu_ps(m + 11 * M_point + 8 * (channels / 8) * M_float);
        const __m256 m_3_3 = _mm256_loadu_ps(m + 15 * M_point + 8 * (channels / 8) * M_float);
        const __m256 m_1_3_plus_m_2_3 = m_1_3 + m_2_3;
        const __m256 m_1_3_minus_m_2_3 = m_1_3 - m_2_3;
        const __m256 t_0_3 = m_0_3 + m_1_3_plus_m_2_3;
        const __m256 t_1_3 = m_1_3_minus_m_2_3 + m_3_3;
        /* row 0 of that times A */
        const __m256 t_0_1_plus_t_0_2 = t_0_1 + t_0_2;
        const __m256 t_0_1_minus_t_0_2 = t_0_1 - t_0_2;
        const __m256 y_0_0 = t_0_0 + t_0_1_plus_t_0_2;
        const __m256 y_0_1 = t_0_1_minus_t_0_2 + t_0_3;
        const __m256 zero = zeros;
        _mm256_maskstore_ps(y + 8 * (channels / 8) * Y_k, TAIL, epilogue(y_0_0, _mm256_maskload_ps(e_b + 8 * (channels / 8) * STEP_b_k, TAIL), zero));
        _mm256_maskstore_ps(y + Y_w + 8 * (channels / 8) * Y_k, TAIL, epilogue(y_0_1, _mm256_maskload_ps(e_b + 8 * (channels / 8) * STEP_b_k, TAIL), zero));
        /* row 1 of that times A */
        const __m256 t_1_1_plus_t_1_2 = t_1_1 + t_1_2;
        const __m256 t_1_1_minus_t_1_2 = t_1_1 - t_1_2;
        const __m256 y_1_0 = t_1_0 + t_1_1_plus_t_1_2;
        const __m256 y_1_1 = t_1_1_minus_t_1_2 + t_1_3;
        _mm256_maskstore_ps(y + Y_h + 8 * (channels / 8) * Y_k, TAIL, epilogue(y_1_0, _mm256_maskload_ps(e_b + 8 * (channels / 8) * STEP_b_k, TAIL), zero));
        _mm256_maskstore_ps(y + Y_h + Y_w + 8 * (channels / 8) * Y_k, TAIL, epilogue(y_1_1, _mm256_maskload_ps(e_b + 8 * (channels / 8) * STEP_b_k, TAIL), zero));
    }
}

/* A tile's output at the end of the image, `rows` x `columns` of 2 x 2, for `channels` output channels: y = A^T m A. */
static __attribute__((noinline)) void output_edge(float *m, float *y, const float *e_b, long channels, long rows, long columns)
{
    for (long k = 0; k < 8 * (channels / 8); k += 8) {
        float *m_k = m + k * M_float;
        float *y_k = y + k * Y_k;
        const float *e_b_k = e_b + k * STEP_b_k;
        /* A^T times column 0 of m */
        const __m256 m_0_0 = _mm256_loadu_ps(m_k);
        const __m256 m_1_0 = _mm256_loadu_ps(m_k + 4 * M_point);
        const __m256 m_2_0 = _mm256_loadu_ps(m_k + 8 * M_point);
        const __m256 m_3_0 = _mm256_loadu_ps(m_k + 12 * M_point);
        const __m256 m_1_0_plus_m_2_0 = m_1_0 + m_2_0;
        const __m256 m_1_0_minus_m_2_0 = m_1_0 - m_2_0;
        const __m256 t_0_0 = m_0_0 + m_1_0_plus_m_2_0;
        const __m256 t_1_0 = m_1_0_minus_m_2_0 + m_3_0;
        /* A^T times column 1 of m */
        const __m256 m_0_1 = _mm256_loadu_ps(m_k + M_point);
        const __m256 m_1_1 = _mm256_loadu_ps(m_k + 5 * M_point);
        const __m256 m_2_1 = _mm256_loadu_ps(m_k + 9 * M_point);
        const __m256 m_3_1 = _mm256_loadu_ps(m_k + 13 * M_point);
        const __m256 m_1_1_plus_m_2_1 = m_1_1 + m_2_1;
        const __m256 m_1_1_minus_m_2_1 = m_1_1 - m_2_1;
        const __m256 t_0_1 = m_0_1 + m_1_1_plus_m_2_1;
        const __m256 t_1_1 = m_1_1_minus_m_2_1 + m_3_1;
        /* A^T times column 2 of m */
        const __m256 m_0_2 = _mm256_loadu_ps(m_k + 2 * M_point);
        const __m256 m_1_2 = _mm256_loadu_ps(m_k + 6 * M_point);
        const __m256 m_2_2 = _mm256_loadu_ps(m_k + 10 * M_point);
        const __m256 m_3_2 = _mm256_loadu_ps(m_k + 14 * M_point);
        const __m256 m_1_2_plus_m_2_2 = m_1_2 + m_2_2;
        const __m256 m_1_2_minus_m_2_2 = m_1_2 - m_2_2;
        const __m256 t_0_2 = m_0_2 + m_1_2_plus_m_2_2;
        const __m256 t_1_2 = m_1_2_minus_m_2_2 + m_3_2;
        /* A^T times column 3 of m */
        const __m256 m_0_3 = _mm256_loadu_ps(m_k + 3 * M_point);
        const __m256 m_1_3 = _mm256_loadu_ps(m_k + 7 * M_point);
        const __m256 m_2_3 = _mm256_loadu_ps(m_k + 11 * M_point);
        const __m256 m_3_3 = _mm256_loadu_ps(m_k + 15 * M_point);
        const __m256 m_1_3_plus_m_2_3 = m_1_3 + m_2_3;
        const __m256 m_1_3_minus_m_2_3 = m_1_3 - m_2_3;
        const __m256 t_0_3 = m_0_3 + m_1_3_plus_m_2_3;
        const __m256 t_1_3 = m_1_3_minus_m_2_3 + m_3_3;
        /* row 0 of that times A */
        const __m256 t_0_1_plus_t_0_2 = t_0_1 + t_0_2;
        const __m256 t_0_1_minus_t_0_2 = t_0_1 - t_0_2;
        const __m256 y_0_0 = t_0_0 + t_0_1_plus_t_0_2;
        const __m256 y_0_1 = t_0_1_minus_t_0_2 + t_0_3;
        const __m256 zero = zeros;
        _mm256_storeu_ps(y_k, epilogue(y_0_0, _mm256_loadu_ps(e_b_k), zero));
        if (columns >= 2) {
            const __m256 zero = zeros;
            _mm256_storeu_ps(y_k + Y_w, epilogue(y_0_1, _mm256_loadu_ps(e_b_k), zero));
        }
        if (rows >= 2) {
            /* row 1 of that times A */
            const __m256 t_1_1_plus_t_1_2 = t_1_1 + t_1_2;
            const __m256 t_1_1_minus_t_1_2 = t_1_1 - t_1_2;
            const __m256 y_1_0 = t_1_0 + t_1_1_plus_t_1_2;
            const __m256 y_1_1 = t_1_1_minus_t_1_2 + t_1_3;
            const __m256 zero = zeros;
            _mm256_storeu_ps(y_k + Y_h, epilogue(y_1_0, _mm256_loadu_ps(e_b_k), zero));
            if (columns >= 2) {
                const __m256 zero = zeros;
                _mm256_storeu_ps(y_k + Y_h + Y_w, epilogue(y_1_1, _mm256_loadu_ps(e_b_k), zero));
            }
        }
    }
    if (channels % 8 >= 1) {
        /* A^T times column 0 of m */
        const __m256 m_0_0 = _mm256_loadu_ps(m + 8 * (channels / 8) * M_float);
        const __m256 m_1_0 = _mm256_loadu_ps(m + 4 * M_point + 8 * (channels / 8) * M_float);
        const __m256 m_2_0 = _mm256_loadu_ps(m + 8 * M_point + 8 * (channels / 8) * M_float);
        const __m256 m_3_0 = _mm256_loadu_ps(m + 12 * M_point + 8 * (channels / 8) * M_float);
        const __m256 m_1_0_plus_m_2_0 = m_1_0 + m_2_0;
        const __m256 m_1_0_minus_m_2_0 = m_1_0 - m_2_0;
        const __m256 t_0_0 = m_0_0 + m_1_0_plus_m_2_0;
        const __m256 t_1_0 = m_1_0_minus_m_2_0 + m_3_0;
        /* A^T times column 1 of m */
        const __m256 m_0_1 = _mm256_loadu_ps(m + M_point + 8 * (channels / 8) * M_float);
        const __m256 m_1_1 = _mm256_loadu_ps(m + 5 * M_point + 8 * (channels / 8) * M_float);
        const __m256 m_2_1 = _mm256_loadu_ps(m + 9 * M_point + 8 * (channels / 8) * M_float);
        const __m256 m_3_1 = _mm256_loadu_ps(m + 13 * M_point + 8 * (channels / 8) * M_float);
        const __m256 m_1_1_plus_m_2_1 = m_1_1 + m_2_1;
        const __m256 m_1_1_minus_m_2_1 = m_1_1 - m_2_1;
        const __m256 t_0_1 = m_0_1 + m_1_1_plus_m_2_1;
        const __m256 t_1_1 = m_1_1_minus_m_2_1 + m_3_1;
        /* A^T times column 2 of m */
        const __m256 m_0_2 = _mm256_loadu_ps(m + 2 * M_point + 8 * (channels / 8) * M_float);
        const __m256 m_1_2 = _mm256_loadu_ps(m + 6 * M_point + 8 * (channels / 8) * M_float);
        const __m256 m_2_2 = _mm256_loadu_ps(m + 10 * M_point + 8 * (channels / 8) * M_float);
        const __m256 m_3_2 = _mm256_loadu_ps(m + 14 * M_point + 8 * (channels / 8) * M_float);
        const __m256 m_1_2_plus_m_2_2 = m_1_2 + m_2_2;
        const __m256 m_1_2_minus_m_2_2 = m_1_2 - m_2_2;
        const __m256 t_0_2 = m_0_2 + m_1_2_plus_m_2_2;
        const __m256 t_1_2 = m_1_2_minus_m_2_2 + m_3_2;
        /* A^T times column 3 of m */
        const __m256 m_0_3 = _mm256_loadu_ps(m + 3 * M_point + 8 * (channels / 8) * M_float);
        const __m256 m_1_3 = _mm256_loadu_ps(m + 7 * M_point + 8 * (channels / 8) * M_float);
        const __m256 m_2_3 = _mm256_loadu_ps(m + 11 * M_point + 8 * (channels / 8) * M_float);
        const __m256 m_3_3 = _mm256_loadu_ps(m + 15 * M_point + 8 * (channels / 8) * M_float);
        const __m256 m_1_3_plus_m_2_3 = m_1_3 + m_2_3;
        const __m256 m_1_3_minus_m_2_3 = m_1_3 - m_2_3;
        const __m256 t_0_3 = m_0_3 + m_1_3_plus_m_2_3;
        const __m256 t_1_3 = m_1_3_minus_m_2_3 + m_3_3;
        /* row 0 of that times A */
        const __m256 t_0_1_plus_t_0_2 = t_0_1 + t_0_2;
        const __m256 t_0_1_minus_t_0_2 = t_0_1 - t_0_2;
        const __m256 y_0_0 = t_0_0 + t_0_1_plus_t_0_2;
        const __m256 y_0_1 = t_0_1_minus_t_0_2 + t_0_3;
        const __m256 zero = zeros;
        _mm256_maskstore_ps(y + 8 * (channels / 8) * Y_k, TAIL, epilogue(y_0_0, _mm256_maskload_ps(e_b + 8 * (channels / 8) * STEP_b_k, TAIL), zero));
        if (columns >= 2) {
            const __m256 zero = zeros;
            _mm256_maskstore_ps(y + Y_w + 8 * (channels / 8) * Y_k, TAIL, epilogue(y_0_1, _mm256_maskload_ps(e_b + 8 * (channels / 8) * STEP_b_k, TAIL), zero));
        }
        if (rows >= 2) {
            /* row 1 of that times A */
            const __m256 t_1_1_plus_t_1_2 = t_1_1 + t_1_2;
            const __m256 t_1_1_minus_t_1_2 = t_1_1 - t_1_2;
            const __m256 y_1_0 = t_1_0 + t_1_1_plus_t_1_2;
            const __m256 y_1_1 = t_1_1_minus_t_1_2 + t_1_3;
            const __m256 zero = zeros;
            _mm256_maskstore_ps(y + Y_h + 8 * (channels / 8) * Y_k, TAIL, epilogue(y_1_0, _mm256_maskload_ps(e_b + 8 * (channels / 8) * STEP_b_k, TAIL), zero));
            if (columns >= 2) {
                const __m256 zero = zeros;
                _mm256_maskstore_ps(y + Y_h + Y_w + 8 * (channels / 8) * Y_k, TAIL, epilogue(y_1_1, _mm256_maskload_ps(e_b + 8 * (channels / 8) * STEP_b_k, TAIL), zero));
            }
        }
    }
}

/* One product of a block: m = v u. */
static void product(float *restrict v, const float *restrict u, float *restrict m)
{
    const float *const VP = v;
    const float *const UP = u;
    float *const MP = m;
    for (long n = 0; n < 24; n += 8) {
        tile0_6mx8n(VP, UP + 5 * n, MP + n * MP_n);
    }
}

/* Whether this CPU runs the kernel. This function and the packing run on any CPU. */
__attribute__((target("no-avx"))) int conv2d_winograd_f32_c5_h7_w7_k37_r3_s3_pad1_relu_y_b_k_27faefbe__avx2_t2_supported(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

/* Every worker takes a run of tasks: the parts of a block one after the other, so that V of a block is computed once.
 *     V: V of a block, point after point, the tiles of a point in rows; each worker has one
 *     M: the products of a block, which lie likewise
 *     P: a tile of x that reaches beyond the image, with zeros there; each worker has one. */
/* Y is not restrict, for two reasons. An array of its shape may be Y itself. And the compiler then reads the other
 * arrays where they are used: read earlier, they would take registers from the accumulators. */
/* The part of a call that thread `thread` of `threads` does. All run it at once. */
/* `scratch`: 54272 bytes for this call alone, which begin with a cache line. */
void conv2d_winograd_f32_c5_h7_w7_k37_r3_s3_pad1_relu_y_b_k_27faefbe__avx2_t2_run(const float *restrict X, const float *restrict W, float *Y, const float *E_b, char *restrict scratch, long thread, long threads)
{
    float *const V = (float *)scratch;
    float *const M = (float *)(scratch + 14336);
    float *const P = (float *)(scratch + 53248);
    for (long worker = 2 * thread / threads; worker < (2 * thread + 2) / threads; ++worker) {
        const long begin = 3 * worker;
        const long end = 3 * worker + 3;
        for (long block = begin / 2; block < (end + 1) / 2; ++block) {
            /* V = B^T x B of the block's tiles, for all parts of the output channels */
            for (long tile = 0; tile < 6; ++tile) {
                if (6 * block + tile < 16) {
                    const long image = (6 * block + tile) / 16;
                    const long h = 2 * (((6 * block + tile) / 4) % 4);
                    const long w = 2 * ((6 * block + tile) % 4);
                    if (h - 1 >= 0 && h - 1 < 4 && w - 1 >= 0 && w - 1 < 4) {
                        input_tile(X + image * X_n + (h - 1) * X_h + (w - 1) * X_w, V + 16 * worker * V_point + 16 * tile * V_float);
                    } else {
                        padded(X + image * X_n, P + 16 * worker * P_pixel, h - 1, w - 1);
                        input_patch(P + 16 * worker * P_pixel, V + 16 * worker * V_point + 16 * tile * V_float);
                    }
                } else {
                    /* what a product makes of tiles beyond the last one is never looked at */
                    for (long point = 0; point < 16; ++point) {
                        for (long c = 0; c < 8; c += 8) {
                            _mm256_storeu_ps(V + (16 * worker + point) * V_point + (16 * tile + c) * V_float, _mm256_setzero_ps());
                        }
                    }
                }
            }
            for (long part = (begin - 2 * block > 0 ? begin - 2 * block : 0); part < (end - 2 * block < 2 ? end - 2 * block : 2); ++part) {
                /* M = V U, point by point */
                for (long point = 0; point < 16; ++point) {
                    product(V + (16 * worker + point) * V_point, W + (16 * part + point) * W_point, M + (16 * worker + point) * M_point);
                }
                /* y = A^T M A of the block's tiles */
                for (long tile = 0; tile < 6; ++tile) {
                    if (6 * block + tile < 16) {
                        const long image = (6 * block + tile) / 16;
                        const long h = 2 * (((6 * block + tile) / 4) % 4);
                        const long w = 2 * ((6 * block + tile) % 4);
                        if (h < 6 && w < 6) {
                            output_tile(M + 16 * worker * M_point + 48 * tile * M_float, Y + image * Y_n + h * Y_h + w * Y_w + 24 * part * Y_k, E_b + 24 * part * STEP_b_k, (-24 * part + 37 < 24 ? -24 * part + 37 : 24));
                        } else {
                            output_edge(M + 16 * worker * M_point + 48 * tile * M_float, Y + image * Y_n + h * Y_h + w * Y_w + 24 * part * Y_k, E_b + 24 * part * STEP_b_k, (-24 * part + 37 < 24 ? -24 * part + 37 : 24), -h + 7, -w + 7);
                        }
                    }
                }
            }
        }
    }
}

/* Packs U of one point and part in the order in which the products read it. */
__attribute__((target("no-avx"))) static void pack_product(float *restrict W, float *restrict packed)
{
    for (long n = 0; n < 24; n += 8) {
        for (long k = 0; k < 5; ++k) {
            for (long lane = 0; lane < 8; ++lane) {
                packed[(5 * n + lane + 8 * k) * packed_number] = W[k * U_c + (n + lane) * U_k];
            }
        }
    }
}

/* Packs the weights. They lie in memory as w[k, c, r, s] of 37 x 5 x 3 x 3. */
__attribute__((target("no-avx"))) void conv2d_winograd_f32_c5_h7_w7_k37_r3_s3_pad1_relu_y_b_k_27faefbe__avx2_t2_pack_run(const float *restrict W, float *restrict packed)
{
    /* U = G w G^T of each point, computed in double and rounded once. */
    static const double G[] = {
        -1, 0, 0,
        1.0 / 2, 1.0 / 2, 1.0 / 2,
        1.0 / 2, -1.0 / 2, 1.0 / 2,
        0, 0, 1,
    };
    char *const scratch = aligned_alloc(64, 512); /* U of one point and part of the output channels */
    if (!scratch) {
        fputs("conv2d_winograd_f32_c5_h7_w7_k37_r3_s3_pad1_relu_y_b_k_27faefbe__avx2_t2: no memory for transformed weights\n", stderr);
        abort();
    }
    float *const U = (float *)scratch;
    for (long part = 0; part < 2; ++part) {
        for (long i = 0; i < 4; ++i) {
            for (long j = 0; j < 4; ++j) {
                for (long k = 0; k < 24; ++k) {
                    for (long c = 0; c < 5; ++c) {
                        if (24 * part + k < 37) {
                            double sum = 0;
                            for (long r = 0; r < 3; ++r) {
                                for (long s = 0; s < 3; ++s) {
                                    sum = sum + G[i * G_point + r * G_tap] * G[j * G_point + s * G_tap] * W[(24 * part + k) * W_k + c * W_c + r * W_r + s * W_s];
                                }
                            }
                            U[c * U_c + k * U_k] = sum;
                        } else {
                            U[c * U_c + k * U_k] = 0;
                        }
                    }
                }
                pack_product(U, packed + (16 * part + 4 * i + j) * packed_point);
            }
        }
    }
    free(scratch);
}

/*
 * A whole call: it checks the CPU, allocates scratch memory and starts a team of threads.
 * A caller that has done so calls conv2d_winograd_f32_c5_h7_w7_k37_r3_s3_pad1_relu_y_b_k_27faefbe__avx2_t2_run.
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

void conv2d_winograd_f32_c5_h7_w7_k37_r3_s3_pad1_relu_y_b_k_27faefbe__avx2_t2(const float *restrict X, const float *restrict W, float *Y, const float *E_b)
{
    if (!conv2d_winograd_f32_c5_h7_w7_k37_r3_s3_pad1_relu_y_b_k_27faefbe__avx2_t2_supported()) {
        fputs("conv2d_winograd_f32_c5_h7_w7_k37_r3_s3_pad1_relu_y_b_k_27faefbe__avx2_t2: this CPU lacks avx2 or fma\n", stderr);
        abort();
    }
    char *const scratch = aligned_alloc(64, 54272);
    if (!scratch) {
        fputs("conv2d_winograd_f32_c5_h7_w7_k37_r3_s3_pad1_relu_y_b_k_27faefbe__avx2_t2: no memory for what it computes in between\n", stderr);
        abort();
    }
    const int dynamic = omp_get_dynamic();
    omp_set_dynamic(0); /* the team has THREADS threads, whatever OMP_DYNAMIC says */
    #pragma omp parallel num_threads(THREADS)
    conv2d_winograd_f32_c5_h7_w7_k37_r3_s3_pad1_relu_y_b_k_27faefbe__avx2_t2_run(X, W, Y, E_b, scratch, omp_get_thread_num(), omp_get_num_threads());
    omp_set_dynamic(dynamic);
    free(scratch);
}

/* Packs the weights, once for many calls. */
__attribute__((target("no-avx"))) void conv2d_winograd_f32_c5_h7_w7_k37_r3_s3_pad1_relu_y_b_k_27faefbe__avx2_t2_pack(const float *restrict W, float *restrict packed)
{
    conv2d_winograd_f32_c5_h7_w7_k37_r3_s3_pad1_relu_y_b_k_27faefbe__avx2_t2_pack_run(W, packed);
}
