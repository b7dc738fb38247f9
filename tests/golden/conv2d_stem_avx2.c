/*
 * conv2d c=3,h=20,w=20,k=16,r=7,s=7,stride=2,pad=3
 *
 * Written by Tilewright VERSION from the scheme
 *
 *     R(k) T(h,10) T(w,2) S(y) T(r,7) U(s,7) U(c,3) U(w,5) V(k,8)
 *
 *     for k in 2 steps of 8:
 *       for h in 10 steps of 1:
 *         for w in 2 steps of 5:
 *           with the tile of y in registers:
 *             for r in 7 steps of 1:
 *               register tile 8k × 3c × 5w × 7s
 *
 * Microkernels:
 *     f32_conv2d_ukernel_5wx8kx3cx7s_s2__avx2: 105 FMAs, 126 loads and no stores per step, 7 of 16 registers (5 accumulators)
 *
 * Operands, row-major f32:
 *     X: x[n, 2*h + r - 3, 2*w + s - 3, c] of 1 x 20 x 20 x 3
 *     W: w[k, c, r, s] of 16 x 3 x 7 x 7
 *     Y: y[n, h, w, k] of 1 x 10 x 10 x 16
 *     W is packed: the scheme's panels, one after the other, with reduction points in the order of its loops.
 */
#include <immintrin.h>

/* Elements between neighbours along each axis: X_h is along the axis h of X. W has none: tiles read it packed, in the
 * order of the loops. */
static const long X_h = 60;
static const long X_w = 3;
static const long X_c = 1;
static const long Y_h = 160;
static const long Y_w = 16;
static const long Y_k = 1;

/* All registers are taken. Without this fence the compiler keeps an x for the next step, and spills an accumulator. */
#define KEEP_APART __asm__ volatile("" ::: "memory")

/* 5 rows x 1 vectors, summed over r from r_begin to r_end; w < 5. */
static void tile0_5wx8kx7sx3c_wpad0(const float *x, const float *w, float *y, long r_begin, long r_end)
{
    __m256 acc_0_0 = _mm256_setzero_ps();
    __m256 acc_1_0 = _mm256_setzero_ps();
    __m256 acc_2_0 = _mm256_setzero_ps();
    __m256 acc_3_0 = _mm256_setzero_ps();
    __m256 acc_4_0 = _mm256_setzero_ps();
    for (long r = r_begin; r < r_end; ++r) {
        const float *x_r = x + r * X_h;
        const float *w_r = w + 168 * r;
        {
            const __m256 w_0 = _mm256_loadu_ps(w_r);
            { const __m256 x_0 = _mm256_broadcast_ss(x_r + 4 * X_w); acc_2_0 = _mm256_fmadd_ps(x_0, w_0, acc_2_0); }
            { const __m256 x_1 = _mm256_broadcast_ss(x_r + 6 * X_w); acc_3_0 = _mm256_fmadd_ps(x_1, w_0, acc_3_0); }
            { const __m256 x_2 = _mm256_broadcast_ss(x_r + 8 * X_w); acc_4_0 = _mm256_fmadd_ps(x_2, w_0, acc_4_0); }
        }
        KEEP_APART;
        {
            const __m256 w_0 = _mm256_loadu_ps(w_r + 8);
            { const __m256 x_0 = _mm256_broadcast_ss(x_r + 4 * X_w + X_c); acc_2_0 = _mm256_fmadd_ps(x_0, w_0, acc_2_0); }
            { const __m256 x_1 = _mm256_broadcast_ss(x_r + 6 * X_w + X_c); acc_3_0 = _mm256_fmadd_ps(x_1, w_0, acc_3_0); }
            { const __m256 x_2 = _mm256_broadcast_ss(x_r + 8 * X_w + X_c); acc_4_0 = _mm256_fmadd_ps(x_2, w_0, acc_4_0); }
        }
        KEEP_APART;
        {
            const __m256 w_0 = _mm256_loadu_ps(w_r + 16);
            { const __m256 x_0 = _mm256_broadcast_ss(x_r + 4 * X_w + 2 * X_c); acc_2_0 = _mm256_fmadd_ps(x_0, w_0, acc_2_0); }
            { const __m256 x_1 = _mm256_broadcast_ss(x_r + 6 * X_w + 2 * X_c); acc_3_0 = _mm256_fmadd_ps(x_1, w_0, acc_3_0); }
            { const __m256 x_2 = _mm256_broadcast_ss(x_r + 8 * X_w + 2 * X_c); acc_4_0 = _mm256_fmadd_ps(x_2, w_0, acc_4_0); }
        }
        KEEP_APART;
        {
            const __m256 w_0 = _mm256_loadu_ps(w_r + 24);
            { const __m256 x_0 = _mm256_broadcast_ss(x_r + 3 * X_w); acc_1_0 = _mm256_fmadd_ps(x_0, w_0, acc_1_0); }
            { const __m256 x_1 = _mm256_broadcast_ss(x_r + 5 * X_w); acc_2_0 = _mm256_fmadd_ps(x_1, w_0, acc_2_0); }
            { const __m256 x_2 = _mm256_broadcast_ss(x_r + 7 * X_w); acc_3_0 = _mm256_fmadd_ps(x_2, w_0, acc_3_0); }
            { const __m256 x_3 = _mm256_broadcast_ss(x_r + 9 * X_w); acc_4_0 = _mm256_fmadd_ps(x_3, w_0, acc_4_0); }
        }
        KEEP_APART;
        {
            const __m256 w_0 = _mm256_loadu_ps(w_r + 32);
            { const __m256 x_0 = _mm256_broadcast_ss(x_r + 3 * X_w + X_c); acc_1_0 = _mm256_fmadd_ps(x_0, w_0, acc_1_0); }
            { const __m256 x_1 = _mm256_broadcast_ss(x_r + 5 * X_w + X_c); acc_2_0 = _mm256_fmadd_ps(x_1, w_0, acc_2_0); }
            { const __m256 x_2 = _mm256_broadcast_ss(x_r + 7 * X_w + X_c); acc_3_0 = _mm256_fmadd_ps(x_2, w_0, acc_3_0); }
            { const __m256 x_3 = _mm256_broadcast_ss(x_r + 9 * X_w + X_c); acc_4_0 = _mm256_fmadd_ps(x_3, w_0, acc_4_0); }
        }
        KEEP_APART;
        {
            const __m256 w_0 = _mm256_loadu_ps(w_r + 40);
            { const __m256 x_0 = _mm256_broadcast_ss(x_r + 3 * X_w + 2 * X_c); acc_1_0 = _mm256_fmadd_ps(x_0, w_0, acc_1_0); }
            { const __m256 x_1 = _mm256_broadcast_ss(x_r + 5 * X_w + 2 * X_c); acc_2_0 = _mm256_fmadd_ps(x_1, w_0, acc_2_0); }
            { const __m256 x_2 = _mm256_broadcast_ss(x_r + 7 * X_w + 2 * X_c); acc_3_0 = _mm256_fmadd_ps(x_2, w_0, acc_3_0); }
            { const __m256 x_3 = _mm256_broadcast_ss(x_r + 9 * X_w + 2 * X_c); acc_4_0 = _mm256_fmadd_ps(x_3, w_0, acc_4_0); }
        }
        KEEP_APART;
        {
            const __m256 w_0 = _mm256_loadu_ps(w_r + 48);
            { const __m256 x_0 = _mm256_broadcast_ss(x_r + 4 * X_w); acc_1_0 = _mm256_fmadd_ps(x_0, w_0, acc_1_0); }
            { const __m256 x_1 = _mm256_broadcast_ss(x_r + 6 * X_w); acc_2_0 = _mm256_fmadd_ps(x_1, w_0, acc_2_0); }
            { const __m256 x_2 = _mm256_broadcast_ss(x_r + 8 * X_w); acc_3_0 = _mm256_fmadd_ps(x_2, w_0, acc_3_0); }
            { const __m256 x_3 = _mm256_broadcast_ss(x_r + 10 * X_w); acc_4_0 = _mm256_fmadd_ps(x_3, w_0, acc_4_0); }
        }
        KEEP_APART;
        {
            const __m256 w_0 = _mm256_loadu_ps(w_r + 56);
            { const __m256 x_0 = _mm256_broadcast_ss(x_r + 4 * X_w + X_c); acc_1_0 = _mm256_fmadd_ps(x_0, w_0, acc_1_0); }
            { const __m256 x_1 = _mm256_broadcast_ss(x_r + 6 * X_w + X_c); acc_2_0 = _mm256_fmadd_ps(x_1, w_0, acc_2_0); }
            { const __m256 x_2 = _mm256_broadcast_ss(x_r + 8 * X_w + X_c); acc_3_0 = _mm256_fmadd_ps(x_2, w_0, acc_3_0); }
            { const __m256 x_3 = _mm256_broadcast_ss(x_r + 10 * X_w + X_c); acc_4_0 = _mm256_fmadd_ps(x_3, w_0, acc_4_0); }
        }
        KEEP_APART;
        {
            const __m256 w_0 = _mm256_loadu_ps(w_r + 64);
            { const __m256 x_0 = _mm256_broadcast_ss(x_r + 4 * X_w + 2 * X_c); acc_1_0 = _mm256_fmadd_ps(x_0, w_0, acc_1_0); }
            { const __m256 x_1 = _mm256_broadcast_ss(x_r + 6 * X_w + 2 * X_c); acc_2_0 = _mm256_fmadd_ps(x_1, w_0, acc_2_0); }
            { const __m256 x_2 = _mm256_broadcast_ss(x_r + 8 * X_w + 2 * X_c); acc_3_0 = _mm256_fmadd_ps(x_2, w_0, acc_3_0); }
            { const __m256 x_3 = _mm256_broadcast_ss(x_r + 10 * X_w + 2 * X_c); acc_4_0 = _mm256_fmadd_ps(x_3, w_0, acc_4_0); }
        }
        KEEP_APART;
        {
            const __m256 w_0 = _mm256_loadu_ps(w_r + 72);
            { const __m256 x_0 = _mm256_broadcast_ss(x_r + 3 * X_w); acc_0_0 = _mm256_fmadd_ps(x_0, w_0, acc_0_0); }
            { const __m256 x_1 = _mm256_broadcast_ss(x_r + 5 * X_w); acc_1_0 = _mm256_fmadd_ps(x_1, w_0, acc_1_0); }
            { const __m256 x_2 = _mm256_broadcast_ss(x_r + 7 * X_w); acc_2_0 = _mm256_fmadd_ps(x_2, w_0, acc_2_0); }
            { const __m256 x_3 = _mm256_broadcast_ss(x_r + 9 * X_w); acc_3_0 = _mm256_fmadd_ps(x_3, w_0, acc_3_0); }
            { const __m256 x_4 = _mm256_broadcast_ss(x_r + 11 * X_w); acc_4_0 = _mm256_fmadd_ps(x_4, w_0, acc_4_0); }
        }
        KEEP_APART;
        {
            const __m256 w_0 = _mm256_loadu_ps(w_r + 80);
            { const __m256 x_0 = _mm256_broadcast_ss(x_r + 3 * X_w + X_c); acc_0_0 = _mm256_fmadd_ps(x_0, w_0, acc_0_0); }
            { const __m256 x_1 = _mm256_broadcast_ss(x_r + 5 * X_w + X_c); acc_1_0 = _mm256_fmadd_ps(x_1, w_0, acc_1_0); }
            { const __m256 x_2 = _mm256_broadcast_ss(x_r + 7 * X_w + X_c); acc_2_0 = _mm256_fmadd_ps(x_2, w_0, acc_2_0); }
            { const __m256 x_3 = _mm256_broadcast_ss(x_r + 9 * X_w + X_c); acc_3_0 = _mm256_fmadd_ps(x_3, w_0, acc_3_0); }
            { const __m256 x_4 = _mm256_broadcast_ss(x_r + 11 * X_w + X_c); acc_4_0 = _mm256_fmadd_ps(x_4, w_0, acc_4_0); }
        }
        KEEP_APART;
        {
            const __m256 w_0 = _mm256_loadu_ps(w_r + 88);
            { const __m256 x_0 = _mm256_broadcast_ss(x_r + 3 * X_w + 2 * X_c); acc_0_0 = _mm256_fmadd_ps(x_0, w_0, acc_0_0); }
            { const __m256 x_1 = _mm256_broadcast_ss(x_r + 5 * X_w + 2 * X_c); acc_1_0 = _mm256_fmadd_ps(x_1, w_0, acc_1_0); }
            { const __m256 x_2 = _mm256_broadcast_ss(x_r + 7 * X_w + 2 * X_c); acc_2_0 = _mm256_fmadd_ps(x_2, w_0, acc_2_0); }
            { const __m256 x_3 = _mm256_broadcast_ss(x_r + 9 * X_w + 2 * X_c); acc_3_0 = _mm256_fmadd_ps(x_3, w_0, acc_3_0); }
            { const __m256 x_4 = _mm256_broadcast_ss(x_r + 11 * X_w + 2 * X_c); acc_4_0 = _mm256_fmadd_ps(x_4, w_0, acc_4_0); }
        }
        KEEP_APART;
        {
            const __m256 w_0 = _mm256_loadu_ps(w_r + 96);
            { const __m256 x_0 = _mm256_broadcast_ss(x_r + 4 * X_w); acc_0_0 = _mm256_fmadd_ps(x_0, w_0, acc_0_0); }
            { const __m256 x_1 = _mm256_broadcast_ss(x_r + 6 * X_w); acc_1_0 = _mm256_fmadd_ps(x_1, w_0, acc_1_0); }
            { const __m256 x_2 = _mm256_broadcast_ss(x_r + 8 * X_w); acc_2_0 = _mm256_fmadd_ps(x_2, w_0, acc_2_0); }
            { const __m256 x_3 = _mm256_broadcast_ss(x_r + 10 * X_w); acc_3_0 = _mm256_fmadd_ps(x_3, w_0, acc_3_0); }
            { const __m256 x_4 = _mm256_broadcast_ss(x_r + 12 * X_w); acc_4_0 = _mm256_fmadd_ps(x_4, w_0, acc_4_0); }
        }
        KEEP_APART;
        {
            const __m256 w_0 = _mm256_loadu_ps(w_r + 104);
            { const __m256 x_0 = _mm256_broadcast_ss(x_r + 4 * X_w + X_c); acc_0_0 = _mm256_fmadd_ps(x_0, w_0, acc_0_0); }
            { const __m256 x_1 = _mm256_broadcast_ss(x_r + 6 * X_w + X_c); acc_1_0 = _mm256_fmadd_ps(x_1, w_0, acc_1_0); }
            { const __m256 x_2 = _mm256_broadcast_ss(x_r + 8 * X_w + X_c); acc_2_0 = _mm256_fmadd_ps(x_2, w_0, acc_2_0); }
            { const __m256 x_3 = _mm256_broadcast_ss(x_r + 10 * X_w + X_c); acc_3_0 = _mm256_fmadd_ps(x_3, w_0, acc_3_0); }
            { const __m256 x_4 = _mm256_broadcast_ss(x_r + 12 * X_w + X_c); acc_4_0 = _mm256_fmadd_ps(x_4, w_0, acc_4_0); }
        }
        KEEP_APART;
        {
            const __m256 w_0 = _mm256_loadu_ps(w_r + 112);
            { const __m256 x_0 = _mm256_broadcast_ss(x_r + 4 * X_w + 2 * X_c); acc_0_0 = _mm256_fmadd_ps(x_0, w_0, acc_0_0); }
            { const __m256 x_1 = _mm256_broadcast_ss(x_r + 6 * X_w + 2 * X_c); acc_1_0 = _mm256_fmadd_ps(x_1, w_0, acc_1_0); }
            { const __m256 x_2 = _mm256_broadcast_ss(x_r + 8 * X_w + 2 * X_c); acc_2_0 = _mm256_fmadd_ps(x_2, w_0, acc_2_0); }
            { const __m256 x_3 = _mm256_broadcast_ss(x_r + 10 * X_w + 2 * X_c); acc_3_0 = _mm256_fmadd_ps(x_3, w_0, acc_3_0); }
            { const __m256 x_4 = _mm256_broadcast_ss(x_r + 12 * X_w + 2 * X_c); acc_4_0 = _mm256_fmadd_ps(x_4, w_0, acc_4_0); }
        }
        KEEP_APART;
        {
            const __m256 w_0 = _mm256_loadu_ps(w_r + 120);
            { const __m256 x_0 = _mm256_broadcast_ss(x_r + 5 * X_w); acc_0_0 = _mm256_fmadd_ps(x_0, w_0, acc_0_0); }
            { const __m256 x_1 = _mm256_broadcast_ss(x_r + 7 * X_w); acc_1_0 = _mm256_fmadd_ps(x_1, w_0, acc_1_0); }
            { const __m256 x_2 = _mm256_broadcast_ss(x_r + 9 * X_w); acc_2_0 = _mm256_fmadd_ps(x_2, w_0, acc_2_0); }
            { const __m256 x_3 = _mm256_broadcast_ss(x_r + 11 * X_w); acc_3_0 = _mm256_fmadd_ps(x_3, w_0, acc_3_0); }
            { const __m256 x_4 = _mm256_broadcast_ss(x_r + 13 * X_w); acc_4_0 = _mm256_fmadd_ps(x_4, w_0, acc_4_0); }
        }
        KEEP_APART;
        {
            const __m256 w_0 = _mm256_loadu_ps(w_r + 128);
            { const __m256 x_0 = _mm256_broadcast_ss(x_r + 5 * X_w + X_c); acc_0_0 = _mm256_fmadd_ps(x_0, w_0, acc_0_0); }
            { const __m256 x_1 = _mm256_broadcast_ss(x_r + 7 * X_w + X_c); acc_1_0 = _mm256_fmadd_ps(x_1, w_0, acc_1_0); }
            { const __m256 x_2 = _mm256_broadcast_ss(x_r + 9 * X_w + X_c); acc_2_0 = _mm256_fmadd_ps(x_2, w_0, acc_2_0); }
            { const __m256 x_3 = _mm256_broadcast_ss(x_r + 11 * X_w + X_c); acc_3_0 = _mm256_fmadd_ps(x_3, w_0, acc_3_0); }
            { const __m256 x_4 = _mm256_broadcast_ss(x_r + 13 * X_w + X_c); acc_4_0 = _mm256_fmadd_ps(x_4, w_0, acc_4_0); }
        }
        KEEP_APART;
        {
            const __m256 w_0 = _mm256_loadu_ps(w_r + 136);
            { const __m256 x_0 = _mm256_broadcast_ss(x_r + 5 * X_w + 2 * X_c); acc_0_0 = _mm256_fmadd_ps(x_0, w_0, acc_0_0); }
            { const __m256 x_1 = _mm256_broadcast_ss(x_r + 7 * X_w + 2 * X_c); acc_1_0 = _mm256_fmadd_ps(x_1, w_0, acc_1_0); }
            { const __m256 x_2 = _mm256_broadcast_ss(x_r + 9 * X_w + 2 * X_c); acc_2_0 = _mm256_fmadd_ps(x_2, w_0, acc_2_0); }
            { const __m256 x_3 = _mm256_broadcast_ss(x_r + 11 * X_w + 2 * X_c); acc_3_0 = _mm256_fmadd_ps(x_3, w_0, acc_3_0); }
            { const __m256 x_4 = _mm256_broadcast_ss(x_r + 13 * X_w + 2 * X_c); acc_4_0 = _mm256_fmadd_ps(x_4, w_0, acc_4_0); }
        }
        KEEP_APART;
        {
            const __m256 w_0 = _mm256_loadu_ps(w_r + 144);
            { const __m256 x_0 = _mm256_broadcast_ss(x_r + 6 * X_w); acc_0_0 = _mm256_fmadd_ps(x_0, w_0, acc_0_0); }
            { const __m256 x_1 = _mm256_broadcast_ss(x_r + 8 * X_w); acc_1_0 = _mm256_fmadd_ps(x_1, w_0, acc_1_0); }
            { const __m256 x_2 = _mm256_broadcast_ss(x_r + 10 * X_w); acc_2_0 = _mm256_fmadd_ps(x_2, w_0, acc_2_0); }
            { const __m256 x_3 = _mm256_broadcast_ss(x_r + 12 * X_w); acc_3_0 = _mm256_fmadd_ps(x_3, w_0, acc_3_0); }
            { const __m256 x_4 = _mm256_broadcast_ss(x_r + 14 * X_w); acc_4_0 = _mm256_fmadd_ps(x_4, w_0, acc_4_0); }
        }
        KEEP_APART;
        {
            const __m256 w_0 = _mm256_loadu_ps(w_r + 152);
            { const __m256 x_0 = _mm256_broadcast_ss(x_r + 6 * X_w + X_c); acc_0_0 = _mm256_fmadd_ps(x_0, w_0, acc_0_0); }
            { const __m256 x_1 = _mm256_broadcast_ss(x_r + 8 * X_w + X_c); acc_1_0 = _mm256_fmadd_ps(x_1, w_0, acc_1_0); }
            { const __m256 x_2 = _mm256_broadcast_ss(x_r + 10 * X_w + X_c); acc_2_0 = _mm256_fmadd_ps(x_2, w_0, acc_2_0); }
            { const __m256 x_3 = _mm256_broadcast_ss(x_r + 12 * X_w + X_c); acc_3_0 = _mm256_fmadd_ps(x_3, w_0, acc_3_0); }
            { const __m256 x_4 = _mm256_broadcast_ss(x_r + 14 * X_w + X_c); acc_4_0 = _mm256_fmadd_ps(x_4, w_0, acc_4_0); }
        }
        KEEP_APART;
        {
            const __m256 w_0 = _mm256_loadu_ps(w_r + 160);
            { const __m256 x_0 = _mm256_broadcast_ss(x_r + 6 * X_w + 2 * X_c); acc_0_0 = _mm256_fmadd_ps(x_0, w_0, acc_0_0); }
            { const __m256 x_1 = _mm256_broadcast_ss(x_r + 8 * X_w + 2 * X_c); acc_1_0 = _mm256_fmadd_ps(x_1, w_0, acc_1_0); }
            { const __m256 x_2 = _mm256_broadcast_ss(x_r + 10 * X_w + 2 * X_c); acc_2_0 = _mm256_fmadd_ps(x_2, w_0, acc_2_0); }
            { const __m256 x_3 = _mm256_broadcast_ss(x_r + 12 * X_w + 2 * X_c); acc_3_0 = _mm256_fmadd_ps(x_3, w_0, acc_3_0); }
            { const __m256 x_4 = _mm256_broadcast_ss(x_r + 14 * X_w + 2 * X_c); acc_4_0 = _mm256_fmadd_ps(x_4, w_0, acc_4_0); }
        }
    }
    _mm256_storeu_ps(y, acc_0_0);
    _mm256_storeu_ps(y + Y_w, acc_1_0);
    _mm256_storeu_ps(y + 2 * Y_w, acc_2_0);
    _mm256_storeu_ps(y + 3 * Y_w, acc_3_0);
    _mm256_storeu_ps(y + 4 * Y_w, acc_4_0);
}

/* 5 rows x 1 vectors, summed over r from r_begin to r_end; 5 <= w. */
static void tile1_5wx8kx7sx3c_wpad1(const float *x, const float *w, float *y, long r_begin, long r_end)
{
    __m256 acc_0_0 = _mm256_setzero_ps();
    __m256 acc_1_0 = _mm256_setzero_ps();
    __m256 acc_2_0 = _mm256_setzero_ps();
    __m256 acc_3_0 = _mm256_setzero_ps();
    __m256 acc_4_0 = _mm256_setzero_ps();
    for (long r = r_begin; r < r_end; ++r) {
        const float *x_r = x + r * X_h;
        const float *w_r = w + 168 * r;
        {
            const __m256 w_0 = _mm256_loadu_ps(w_r);
            { const __m256 x_0 = _mm256_broadcast_ss(x_r); acc_0_0 = _mm256_fmadd_ps(x_0, w_0, acc_0_0); }
            { const __m256 x_1 = _mm256_broadcast_ss(x_r + 2 * X_w); acc_1_0 = _mm256_fmadd_ps(x_1, w_0, acc_1_0); }
            { const __m256 x_2 = _mm256_broadcast_ss(x_r + 4 * X_w); acc_2_0 = _mm256_fmadd_ps(x_2, w_0, acc_2_0); }
            { const __m256 x_3 = _mm256_broadcast_ss(x_r + 6 * X_w); acc_3_0 = _mm256_fmadd_ps(x_3, w_0, acc_3_0); }
            { const __m256 x_4 = _mm256_broadcast_ss(x_r + 8 * X_w); acc_4_0 = _mm256_fmadd_ps(x_4, w_0, acc_4_0); }
        }
        KEEP_APART;
        {
            const __m256 w_0 = _mm256_loadu_ps(w_r + 8);
            { const __m256 x_0 = _mm256_broadcast_ss(x_r + X_c); acc_0_0 = _mm256_fmadd_ps(x_0, w_0, acc_0_0); }
            { const __m256 x_1 = _mm256_broadcast_ss(x_r + 2 * X_w + X_c); acc_1_0 = _mm256_fmadd_ps(x_1, w_0, acc_1_0); }
            { const __m256 x_2 = _mm256_broadcast_ss(x_r + 4 * X_w + X_c); acc_2_0 = _mm256_fmadd_ps(x_2, w_0, acc_2_0); }
            { const __m256 x_3 = _mm256_broadcast_ss(x_r + 6 * X_w + X_c); acc_3_0 = _mm256_fmadd_ps(x_3, w_0, acc_3_0); }
            { const __m256 x_4 = _mm256_broadcast_ss(x_r + 8 * X_w + X_c); acc_4_0 = _mm256_fmadd_ps(x_4, w_0, acc_4_0); }
        }
        KEEP_APART;
        {
            const __m256 w_0 = _mm256_loadu_ps(w_r + 16);
            { const __m256 x_0 = _mm256_broadcast_ss(x_r + 2 * X_c); acc_0_0 = _mm256_fmadd_ps(x_0, w_0, acc_0_0); }
            { const __m256 x_1 = _mm256_broadcast_ss(x_r + 2 * X_w + 2 * X_c); acc_1_0 = _mm256_fmadd_ps(x_1, w_0, acc_1_0); }
            { const __m256 x_2 = _mm256_broadcast_ss(x_r + 4 * X_w + 2 * X_c); acc_2_0 = _mm256_fmadd_ps(x_2, w_0, acc_2_0); }
            { const __m256 x_3 = _mm256_broadcast_ss(x_r + 6 * X_w + 2 * X_c); acc_3_0 = _mm256_fmadd_ps(x_3, w_0, acc_3_0); }
            { const __m256 x_4 = _mm256_broadcast_ss(x_r + 8 * X_w + 2 * X_c); acc_4_0 = _mm256_fmadd_ps(x_4, w_0, acc_4_0); }
        }
        KEEP_APART;
        {
            const __m256 w_0 = _mm256_loadu_ps(w_r + 24);
            { const __m256 x_0 = _mm256_broadcast_ss(x_r + X_w); acc_0_0 = _mm256_fmadd_ps(x_0, w_0, acc_0_0); }
            { const __m256 x_1 = _mm256_broadcast_ss(x_r + 3 * X_w); acc_1_0 = _mm256_fmadd_ps(x_1, w_0, acc_1_0); }
            { const __m256 x_2 = _mm256_broadcast_ss(x_r + 5 * X_w); acc_2_0 = _mm256_fmadd_ps(x_2, w_0, acc_2_0); }
            { const __m256 x_3 = _mm256_broadcast_ss(x_r + 7 * X_w); acc_3_0 = _mm256_fmadd_ps(x_3, w_0, acc_3_0); }
            { const __m256 x_4 = _mm256_broadcast_ss(x_r + 9 * X_w); acc_4_0 = _mm256_fmadd_ps(x_4, w_0, acc_4_0); }
        }
        KEEP_APART;
        {
            const __m256 w_0 = _mm256_loadu_ps(w_r + 32);
            { const __m256 x_0 = _mm256_broadcast_ss(x_r + X_w + X_c); acc_0_0 = _mm256_fmadd_ps(x_0, w_0, acc_0_0); }
            { const __m256 x_1 = _mm256_broadcast_ss(x_r + 3 * X_w + X_c); acc_1_0 = _mm256_fmadd_ps(x_1, w_0, acc_1_0); }
            { const __m256 x_2 = _mm256_broadcast_ss(x_r + 5 * X_w + X_c); acc_2_0 = _mm256_fmadd_ps(x_2, w_0, acc_2_0); }
            { const __m256 x_3 = _mm256_broadcast_ss(x_r + 7 * X_w + X_c); acc_3_0 = _mm256_fmadd_ps(x_3, w_0, acc_3_0); }
            { const __m256 x_4 = _mm256_broadcast_ss(x_r + 9 * X_w + X_c); acc_4_0 = _mm256_fmadd_ps(x_4, w_0, acc_4_0); }
        }
        KEEP_APART;
        {
            const __m256 w_0 = _mm256_loadu_ps(w_r + 40);
            { const __m256 x_0 = _mm256_broadcast_ss(x_r + X_w + 2 * X_c); acc_0_0 = _mm256_fmadd_ps(x_0, w_0, acc_0_0); }
            { const __m256 x_1 = _mm256_broadcast_ss(x_r + 3 * X_w + 2 * X_c); acc_1_0 = _mm256_fmadd_ps(x_1, w_0, acc_1_0); }
            { const __m256 x_2 = _mm256_broadcast_ss(x_r + 5 * X_w + 2 * X_c); acc_2_0 = _mm256_fmadd_ps(x_2, w_0, acc_2_0); }
            { const __m256 x_3 = _mm256_broadcast_ss(x_r + 7 * X_w + 2 * X_c); acc_3_0 = _mm256_fmadd_ps(x_3, w_0, acc_3_0); }
            { const __m256 x_4 = _mm256_broadcast_ss(x_r + 9 * X_w + 2 * X_c); acc_4_0 = _mm256_fmadd_ps(x_4, w_0, acc_4_0); }
        }
        KEEP_APART;
        {
            const __m256 w_0 = _mm256_loadu_ps(w_r + 48);
            { const __m256 x_0 = _mm256_broadcast_ss(x_r + 2 * X_w); acc_0_0 = _mm256_fmadd_ps(x_0, w_0, acc_0_0); }
            { const __m256 x_1 = _mm256_broadcast_ss(x_r + 4 * X_w); acc_1_0 = _mm256_fmadd_ps(x_1, w_0, acc_1_0); }
            { const __m256 x_2 = _mm256_broadcast_ss(x_r + 6 * X_w); acc_2_0 = _mm256_fmadd_ps(x_2, w_0, acc_2_0); }
            { const __m256 x_3 = _mm256_broadcast_ss(x_r + 8 * X_w); acc_3_0 = _mm256_fmadd_ps(x_3, w_0, acc_3_0); }
            { const __m256 x_4 = _mm256_broadcast_ss(x_r + 10 * X_w); acc_4_0 = _mm256_fmadd_ps(x_4, w_0, acc_4_0); }
        }
        KEEP_APART;
        {
            const __m256 w_0 = _mm256_loadu_ps(w_r + 56);
            { const __m256 x_0 = _mm256_broadcast_ss(x_r + 2 * X_w + X_c); acc_0_0 = _mm256_fmadd_ps(x_0, w_0, acc_0_0); }
            { const __m256 x_1 = _mm256_broadcast_ss(x_r + 4 * X_w + X_c); acc_1_0 = _mm256_fmadd_ps(x_1, w_0, acc_1_0); }
            { const __m256 x_2 = _mm256_broadcast_ss(x_r + 6 * X_w + X_c); acc_2_0 = _mm256_fmadd_ps(x_2, w_0, acc_2_0); }
            { const __m256 x_3 = _mm256_broadcast_ss(x_r + 8 * X_w + X_c); acc_3_0 = _mm256_fmadd_ps(x_3, w_0, acc_3_0); }
            { const __m256 x_4 = _mm256_broadcast_ss(x_r + 10 * X_w + X_c); acc_4_0 = _mm256_fmadd_ps(x_4, w_0, acc_4_0); }
        }
        KEEP_APART;
        {
            const __m256 w_0 = _mm256_loadu_ps(w_r + 64);
            { const __m256 x_0 = _mm256_broadcast_ss(x_r + 2 * X_w + 2 * X_c); acc_0_0 = _mm256_fmadd_ps(x_0, w_0, acc_0_0); }
            { const __m256 x_1 = _mm256_broadcast_ss(x_r + 4 * X_w + 2 * X_c); acc_1_0 = _mm256_fmadd_ps(x_1, w_0, acc_1_0); }
            { const __m256 x_2 = _mm256_broadcast_ss(x_r + 6 * X_w + 2 * X_c); acc_2_0 = _mm256_fmadd_ps(x_2, w_0, acc_2_0); }
            { const __m256 x_3 = _mm256_broadcast_ss(x_r + 8 * X_w + 2 * X_c); acc_3_0 = _mm256_fmadd_ps(x_3, w_0, acc_3_0); }
            { const __m256 x_4 = _mm256_broadcast_ss(x_r + 10 * X_w + 2 * X_c); acc_4_0 = _mm256_fmadd_ps(x_4, w_0, acc_4_0); }
        }
        KEEP_APART;
        {
            const __m256 w_0 = _mm256_loadu_ps(w_r + 72);
            { const __m256 x_0 = _mm256_broadcast_ss(x_r + 3 * X_w); acc_0_0 = _mm256_fmadd_ps(x_0, w_0, acc_0_0); }
            { const __m256 x_1 = _mm256_broadcast_ss(x_r + 5 * X_w); acc_1_0 = _mm256_fmadd_ps(x_1, w_0, acc_1_0); }
            { const __m256 x_2 = _mm256_broadcast_ss(x_r + 7 * X_w); acc_2_0 = _mm256_fmadd_ps(x_2, w_0, acc_2_0); }
            { const __m256 x_3 = _mm256_broadcast_ss(x_r + 9 * X_w); acc_3_0 = _mm256_fmadd_ps(x_3, w_0, acc_3_0); }
            { const __m256 x_4 = _mm256_broadcast_ss(x_r + 11 * X_w); acc_4_0 = _mm256_fmadd_ps(x_4, w_0, acc_4_0); }
        }
        KEEP_APART;
        {
            const __m256 w_0 = _mm256_loadu_ps(w_r + 80);
            { const __m256 x_0 = _mm256_broadcast_ss(x_r + 3 * X_w + X_c); acc_0_0 = _mm256_fmadd_ps(x_0, w_0, acc_0_0); }
            { const __m256 x_1 = _mm256_broadcast_ss(x_r + 5 * X_w + X_c); acc_1_0 = _mm256_fmadd_ps(x_1, w_0, acc_1_0); }
            { const __m256 x_2 = _mm256_broadcast_ss(x_r + 7 * X_w + X_c); acc_2_0 = _mm256_fmadd_ps(x_2, w_0, acc_2_0); }
            { const __m256 x_3 = _mm256_broadcast_ss(x_r + 9 * X_w + X_c); acc_3_0 = _mm256_fmadd_ps(x_3, w_0, acc_3_0); }
            { const __m256 x_4 = _mm256_broadcast_ss(x_r + 11 * X_w + X_c); acc_4_0 = _mm256_fmadd_ps(x_4, w_0, acc_4_0); }
        }
        KEEP_APART;
        {
            const __m256 w_0 = _mm256_loadu_ps(w_r + 88);
            { const __m256 x_0 = _mm256_broadcast_ss(x_r + 3 * X_w + 2 * X_c); acc_0_0 = _mm256_fmadd_ps(x_0, w_0, acc_0_0); }
            { const __m256 x_1 = _mm256_broadcast_ss(x_r + 5 * X_w + 2 * X_c); acc_1_0 = _mm256_fmadd_ps(x_1, w_0, acc_1_0); }
            { const __m256 x_2 = _mm256_broadcast_ss(x_r + 7 * X_w + 2 * X_c); acc_2_0 = _mm256_fmadd_ps(x_2, w_0, acc_2_0); }
            { const __m256 x_3 = _mm256_broadcast_ss(x_r + 9 * X_w + 2 * X_c); acc_3_0 = _mm256_fmadd_ps(x_3, w_0, acc_3_0); }
            { const __m256 x_4 = _mm256_broadcast_ss(x_r + 11 * X_w + 2 * X_c); acc_4_0 = _mm256_fmadd_ps(x_4, w_0, acc_4_0); }
        }
        KEEP_APART;
        {
            const __m256 w_0 = _mm256_loadu_ps(w_r + 96);
            { const __m256 x_0 = _mm256_broadcast_ss(x_r + 4 * X_w); acc_0_0 = _mm256_fmadd_ps(x_0, w_0, acc_0_0); }
            { const __m256 x_1 = _mm256_broadcast_ss(x_r + 6 * X_w); acc_1_0 = _mm256_fmadd_ps(x_1, w_0, acc_1_0); }
            { const __m256 x_2 = _mm256_broadcast_ss(x_r + 8 * X_w); acc_2_0 = _mm256_fmadd_ps(x_2, w_0, acc_2_0); }
            { const __m256 x_3 = _mm256_broadcast_ss(x_r + 10 * X_w); acc_3_0 = _mm256_fmadd_ps(x_3, w_0, acc_3_0); }
            { const __m256 x_4 = _mm256_broadcast_ss(x_r + 12 * X_w); acc_4_0 = _mm256_fmadd_ps(x_4, w_0, acc_4_0); }
        }
        KEEP_APART;
        {
            const __m256 w_0 = _mm256_loadu_ps(w_r + 104);
            { const __m256 x_0 = _mm256_broadcast_ss(x_r + 4 * X_w + X_c); acc_0_0 = _mm256_fmadd_ps(x_0, w_0, acc_0_0); }
            { const __m256 x_1 = _mm256_broadcast_ss(x_r + 6 * X_w + X_c); acc_1_0 = _mm256_fmadd_ps(x_1, w_0, acc_1_0); }
            { const __m256 x_2 = _mm256_broadcast_ss(x_r + 8 * X_w + X_c); acc_2_0 = _mm256_fmadd_ps(x_2, w_0, acc_2_0); }
            { const __m256 x_3 = _mm256_broadcast_ss(x_r + 10 * X_w + X_c); acc_3_0 = _mm256_fmadd_ps(x_3, w_0, acc_3_0); }
            { const __m256 x_4 = _mm256_broadcast_ss(x_r + 12 * X_w + X_c); acc_4_0 = _mm256_fmadd_ps(x_4, w_0, acc_4_0); }
        }
        KEEP_APART;
        {
            const __m256 w_0 = _mm256_loadu_ps(w_r + 112);
            { const __m256 x_0 = _mm256_broadcast_ss(x_r + 4 * X_w + 2 * X_c); acc_0_0 = _mm256_fmadd_ps(x_0, w_0, acc_0_0); }
            { const __m256 x_1 = _mm256_broadcast_ss(x_r + 6 * X_w + 2 * X_c); acc_1_0 = _mm256_fmadd_ps(x_1, w_0, acc_1_0); }
            { const __m256 x_2 = _mm256_broadcast_ss(x_r + 8 * X_w + 2 * X_c); acc_2_0 = _mm256_fmadd_ps(x_2, w_0, acc_2_0); }
            { const __m256 x_3 = _mm256_broadcast_ss(x_r + 10 * X_w + 2 * X_c); acc_3_0 = _mm256_fmadd_ps(x_3, w_0, acc_3_0); }
            { const __m256 x_4 = _mm256_broadcast_ss(x_r + 12 * X_w + 2 * X_c); acc_4_0 = _mm256_fmadd_ps(x_4, w_0, acc_4_0); }
        }
        KEEP_APART;
        {
            const __m256 w_0 = _mm256_loadu_ps(w_r + 120);
            { const __m256 x_0 = _mm256_broadcast_ss(x_r + 5 * X_w); acc_0_0 = _mm256_fmadd_ps(x_0, w_0, acc_0_0); }
            { const __m256 x_1 = _mm256_broadcast_ss(x_r + 7 * X_w); acc_1_0 = _mm256_fmadd_ps(x_1, w_0, acc_1_0); }
            { const __m256 x_2 = _mm256_broadcast_ss(x_r + 9 * X_w); acc_2_0 = _mm256_fmadd_ps(x_2, w_0, acc_2_0); }
            { const __m256 x_3 = _mm256_broadcast_ss(x_r + 11 * X_w); acc_3_0 = _mm256_fmadd_ps(x_3, w_0, acc_3_0); }
        }
        KEEP_APART;
        {
            const __m256 w_0 = _mm256_loadu_ps(w_r + 128);
            { const __m256 x_0 = _mm256_broadcast_ss(x_r + 5 * X_w + X_c); acc_0_0 = _mm256_fmadd_ps(x_0, w_0, acc_0_0); }
            { const __m256 x_1 = _mm256_broadcast_ss(x_r + 7 * X_w + X_c); acc_1_0 = _mm256_fmadd_ps(x_1, w_0, acc_1_0); }
            { const __m256 x_2 = _mm256_broadcast_ss(x_r + 9 * X_w + X_c); acc_2_0 = _mm256_fmadd_ps(x_2, w_0, acc_2_0); }
            { const __m256 x_3 = _mm256_broadcast_ss(x_r + 11 * X_w + X_c); acc_3_0 = _mm256_fmadd_ps(x_3, w_0, acc_3_0); }
        }
        KEEP_APART;
        {
            const __m256 w_0 = _mm256_loadu_ps(w_r + 136);
            { const __m256 x_0 = _mm256_broadcast_ss(x_r + 5 * X_w + 2 * X_c); acc_0_0 = _mm256_fmadd_ps(x_0, w_0, acc_0_0); }
            { const __m256 x_1 = _mm256_broadcast_ss(x_r + 7 * X_w + 2 * X_c); acc_1_0 = _mm256_fmadd_ps(x_1, w_0, acc_1_0); }
            { const __m256 x_2 = _mm256_broadcast_ss(x_r + 9 * X_w + 2 * X_c); acc_2_0 = _mm256_fmadd_ps(x_2, w_0, acc_2_0); }
            { const __m256 x_3 = _mm256_broadcast_ss(x_r + 11 * X_w + 2 * X_c); acc_3_0 = _mm256_fmadd_ps(x_3, w_0, acc_3_0); }
        }
        KEEP_APART;
        {
            const __m256 w_0 = _mm256_loadu_ps(w_r + 144);
            { const __m256 x_0 = _mm256_broadcast_ss(x_r + 6 * X_w); acc_0_0 = _mm256_fmadd_ps(x_0, w_0, acc_0_0); }
            { const __m256 x_1 = _mm256_broadcast_ss(x_r + 8 * X_w); acc_1_0 = _mm256_fmadd_ps(x_1, w_0, acc_1_0); }
            { const __m256 x_2 = _mm256_broadcast_ss(x_r + 10 * X_w); acc_2_0 = _mm256_fmadd_ps(x_2, w_0, acc_2_0); }
            { const __m256 x_3 = _mm256_broadcast_ss(x_r + 12 * X_w); acc_3_0 = _mm256_fmadd_ps(x_3, w_0, acc_3_0); }
        }
        KEEP_APART;
        {
            const __m256 w_0 = _mm256_loadu_ps(w_r + 152);
            { const __m256 x_0 = _mm256_broadcast_ss(x_r + 6 * X_w + X_c); acc_0_0 = _mm256_fmadd_ps(x_0, w_0, acc_0_0); }
            { const __m256 x_1 = _mm256_broadcast_ss(x_r + 8 * X_w + X_c); acc_1_0 = _mm256_fmadd_ps(x_1, w_0, acc_1_0); }
            { const __m256 x_2 = _mm256_broadcast_ss(x_r + 10 * X_w + X_c); acc_2_0 = _mm256_fmadd_ps(x_2, w_0, acc_2_0); }
            { const __m256 x_3 = _mm256_broadcast_ss(x_r + 12 * X_w + X_c); acc_3_0 = _mm256_fmadd_ps(x_3, w_0, acc_3_0); }
        }
        KEEP_APART;
        {
            const __m256 w_0 = _mm256_loadu_ps(w_r + 160);
            { const __m256 x_0 = _mm256_broadcast_ss(x_r + 6 * X_w + 2 * X_c); acc_0_0 = _mm256_fmadd_ps(x_0, w_0, acc_0_0); }
            { const __m256 x_1 = _mm256_broadcast_ss(x_r + 8 * X_w + 2 * X_c); acc_1_0 = _mm256_fmadd_ps(x_1, w_0, acc_1_0); }
            { const __m256 x_2 = _mm256_broadcast_ss(x_r + 10 * X_w + 2 * X_c); acc_2_0 = _mm256_fmadd_ps(x_2, w_0, acc_2_0); }
            { const __m256 x_3 = _mm256_broadcast_ss(x_r + 12 * X_w + 2 * X_c); acc_3_0 = _mm256_fmadd_ps(x_3, w_0, acc_3_0); }
        }
    }
    _mm256_storeu_ps(y, acc_0_0);
    _mm256_storeu_ps(y + Y_w, acc_1_0);
    _mm256_storeu_ps(y + 2 * Y_w, acc_2_0);
    _mm256_storeu_ps(y + 3 * Y_w, acc_3_0);
    _mm256_storeu_ps(y + 4 * Y_w, acc_4_0);
}

/* Whether this CPU runs the kernel. This function and the packing run on any CPU. */
__attribute__((target("no-avx"))) int conv2d_f32_c3_h20_w20_k16_r7_s7_stride2_pad3__avx2_supported(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

/* The loops over tiles. Their variables are positions. A tile gets pointers to its own first x, panel and y. */
void conv2d_f32_c3_h20_w20_k16_r7_s7_stride2_pad3__avx2_run(const float *restrict X, const float *restrict W, float *restrict Y)
{
    for (long k = 0; k < 16; k += 8) {
        for (long h = 0; h < 10; ++h) {
            for (long w = 0; w < 10; w += 5) {
                const long r_begin = (0 > -2 * h + 3 ? 0 : -2 * h + 3);
                const long r_end = (7 < -2 * h + 23 ? 7 : -2 * h + 23);
                if (w < 5) {
                    tile0_5wx8kx7sx3c_wpad0(X + (2 * h - 3) * X_h + (2 * w - 3) * X_w, W + 147 * k, Y + h * Y_h + w * Y_w + k * Y_k, r_begin, r_end);
                } else {
                    tile1_5wx8kx7sx3c_wpad1(X + (2 * h - 3) * X_h + (2 * w - 3) * X_w, W + 147 * k, Y + h * Y_h + w * Y_w + k * Y_k, r_begin, r_end);
                }
            }
        }
    }
}

/* Packs the weights. They lie in memory as w[k, c, r, s] of 16 x 3 x 7 x 7. */
__attribute__((target("no-avx"))) void conv2d_f32_c3_h20_w20_k16_r7_s7_stride2_pad3__avx2_pack_run(const float *restrict W, float *restrict packed)
{
    const long W_k = 147, W_c = 49, W_r = 7, W_s = 1;
    for (long k = 0; k < 16; k += 8) {
        for (long r = 0; r < 7; ++r) {
            for (long s_u = 0; s_u < 7; ++s_u) {
                for (long c_u = 0; c_u < 3; ++c_u) {
                    for (long lane = 0; lane < 8; ++lane) {
                        packed[147 * k + lane + 168 * r + 24 * s_u + 8 * c_u] = W[(k + lane) * W_k + c_u * W_c + r * W_r + s_u * W_s];
                    }
                }
            }
        }
    }
}

/*
 * A whole call: it checks the CPU.
 * A caller that has done so calls conv2d_f32_c3_h20_w20_k16_r7_s7_stride2_pad3__avx2_run.
 */
#include <stdio.h>
#include <stdlib.h>

void conv2d_f32_c3_h20_w20_k16_r7_s7_stride2_pad3__avx2(const float *restrict X, const float *restrict W, float *restrict Y)
{
    if (!conv2d_f32_c3_h20_w20_k16_r7_s7_stride2_pad3__avx2_supported()) {
        fputs("conv2d_f32_c3_h20_w20_k16_r7_s7_stride2_pad3__avx2: this CPU lacks avx2 or fma\n", stderr);
        abort();
    }
    conv2d_f32_c3_h20_w20_k16_r7_s7_stride2_pad3__avx2_run(X, W, Y);
}

/* Packs the weights, once for many calls. */
__attribute__((target("no-avx"))) void conv2d_f32_c3_h20_w20_k16_r7_s7_stride2_pad3__avx2_pack(const float *restrict W, float *restrict packed)
{
    conv2d_f32_c3_h20_w20_k16_r7_s7_stride2_pad3__avx2_pack_run(W, packed);
}
