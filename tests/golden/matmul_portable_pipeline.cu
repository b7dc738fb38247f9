/* matmul m=40,n=24,k=56,dtype=f16, f16: written by Tilewright VERSION.
 *
 * T(m,1)@block T(n,1)@block T(m,1)@block S(c) T(k,2) S(a, 3) S(b, 3) T(m,2)@warp T(n,2)@warp U(k,2) U(m,2) U(n,2) M(m16n8k16)
 *
 *     for m in 1 step of 64:  on blocks
 *       for n in 1 step of 32:  on blocks
 *         for m in 1 step of 64:  on blocks
 *           with the tile of c in registers:
 *             for k in 2 steps of 32:
 *               with the tile of a in 3 stages of shared memory:
 *                 with the tile of b in 3 stages of shared memory:
 *                   for m in 2 steps of 32:  on warps
 *                     for n in 2 steps of 16:  on warps
 *                       register tile 32m × 16n × 32k
 *
 * X is a[m, k] of 40 x 56
 * W is b[k, n] of 56 x 24
 * Y is c[m, n] of 40 x 24
 */
KERNEL(128, 5) matmul_f16_m40_n24_k56(const unsigned short *__restrict__ X, const unsigned short *__restrict__ W, unsigned short *__restrict__ Y)
{
    const int block = block_number(), warp = warp_number(), thread = thread_number(), member = member_number();
    const int m_2 = 64 * block;
    const int n_1 = 0;
    const int m_1 = m_2;
    float acc[2][2][4];
    #pragma unroll
    for (int m_u = 0; m_u < 32; m_u += 16) {
        #pragma unroll
        for (int half = 0; half < 2; ++half) {
            #pragma unroll
            for (int n_u = 0; n_u < 16; n_u += 8) {
                #pragma unroll
                for (int pair = 0; pair < 2; ++pair) {
                    acc[m_u / 16][n_u / 8][2 * half + pair] = 0.0f;
                }
            }
        }
    }
    unsigned short *const X_tile = SHARED(unsigned short, 0);
    unsigned short *const W_tile = SHARED(unsigned short, 8192);
    #pragma unroll 1
    for (int ahead = 0; ahead < 64; ahead += 32) {
        #pragma unroll
        for (int round = 0; round < 2048; round += 1024) {
            copy_async_16(X_tile + 2048 * (ahead / 32 % 2) + 32 * (8 * thread / 32) + 32 * (round / 32) + 8 * ((8 * thread % 32 / 8) ^ (8 * thread / 32 % 8 / 2)), X + 56 * m_1 + 56 * (8 * thread / 32) + 56 * (round / 32) + ahead + 8 * thread % 32, m_1 + 8 * thread / 32 + round / 32 < 40 && ahead + 8 * thread % 32 < 56);
        }
        #pragma unroll
        for (int round = 0; round < 1024; round += 1024) {
            copy_async_16(W_tile + 1024 * (ahead / 32 % 2) + 32 * (8 * thread / 32) + 32 * (round / 32) + 8 * ((8 * thread % 32 / 8) ^ (8 * thread / 32 % 8 / 2)), W + 24 * ahead + 24 * (8 * thread / 32) + 24 * (round / 32) + n_1 + 8 * thread % 32, n_1 + 8 * thread % 32 < 24 && ahead + 8 * thread / 32 + round / 32 < 56);
        }
        cp_async_commit();
    }
    unsigned X_part[2][2][4];
    unsigned W_part[2][2][2];
    cp_async_wait(1);
    __syncthreads();
    {
        const int m = 32 * (warp / 2) + m_1;
        const int n = 16 * (warp % 2) + n_1;
        #pragma unroll
        for (int m_u = 0; m_u < 32; m_u += 16) {
            get_matrices(X_part[0][m_u / 16], X_tile + 32 * m + 32 * m_u + 256 * (member / 8 % 2) - 32 * m_1 + 32 * (member % 8) + 8 * ((member / 8 / 2) ^ (member % 8 / 2)));
        }
        #pragma unroll
        for (int n_u = 0; n_u < 16; n_u += 16) {
            get_matrices_across(W_part[0][n_u / 8], W_tile + 256 * (member / 8 % 2) + 32 * (member % 8) + 8 * (((n + n_u + 8 * (member / 8 / 2) - n_1) / 8) ^ (member % 8 / 2)));
        }
    }
    #pragma unroll 1
    for (int k = 0; k < 64; k += 32) {
        {
            const int m = 32 * (warp / 2) + m_1;
            const int n = 16 * (warp % 2) + n_1;
            #pragma unroll
            for (int m_u = 0; m_u < 32; m_u += 16) {
                get_matrices(X_part[1][m_u / 16], X_tile + 2048 * (k / 32 % 2) + 32 * m + 32 * m_u + 256 * (member / 8 % 2) - 32 * m_1 + 32 * (member % 8) + 8 * ((member / 8 / 2 + 2) ^ (member % 8 / 2)));
            }
            #pragma unroll
            for (int n_u = 0; n_u < 16; n_u += 16) {
                get_matrices_across(W_part[1][n_u / 8], W_tile + 1024 * (k / 32 % 2) + 256 * (member / 8 % 2) + 32 * (member % 8) + 8 * (((n + n_u + 8 * (member / 8 / 2) - n_1) / 8) ^ (member % 8 / 2)) + 512);
            }
        }
        cp_async_commit();
        {
            const int m = 32 * (warp / 2) + m_1;
            const int n = 16 * (warp % 2) + n_1;
            #pragma unroll
            for (int m_u = 0; m_u < 32; m_u += 16) {
                #pragma unroll
                for (int n_u = 0; n_u < 16; n_u += 8) {
                    mma_m16n8k16_f16(acc[m_u / 16][n_u / 8], X_part[0][m_u / 16], W_part[0][n_u / 8]);
                }
            }
        }
        cp_async_wait(1);
        __syncthreads();
        {
            const int m = 32 * (warp / 2) + m_1;
            const int n = 16 * (warp % 2) + n_1;
            #pragma unroll
            for (int m_u = 0; m_u < 32; m_u += 16) {
                get_matrices(X_part[0][m_u / 16], X_tile + 2048 * (((k + 32) / 32) % 2) + 32 * m + 32 * m_u + 256 * (member / 8 % 2) - 32 * m_1 + 32 * (member % 8) + 8 * ((member / 8 / 2) ^ (member % 8 / 2)));
            }
            #pragma unroll
            for (int n_u = 0; n_u < 16; n_u += 16) {
                get_matrices_across(W_part[0][n_u / 8], W_tile + 1024 * (((k + 32) / 32) % 2) + 256 * (member / 8 % 2) + 32 * (member % 8) + 8 * (((n + n_u + 8 * (member / 8 / 2) - n_1) / 8) ^ (member % 8 / 2)));
            }
            #pragma unroll
            for (int m_u = 0; m_u < 32; m_u += 16) {
                #pragma unroll
                for (int n_u = 0; n_u < 16; n_u += 8) {
                    mma_m16n8k16_f16(acc[m_u / 16][n_u / 8], X_part[1][m_u / 16], W_part[1][n_u / 8]);
                }
            }
        }
    }
    {
        const int m = 32 * (warp / 2) + m_1;
        const int n = 16 * (warp % 2) + n_1;
        #pragma unroll
        for (int m_u = 0; m_u < 32; m_u += 16) {
            #pragma unroll
            for (int half = 0; half < 2; ++half) {
                #pragma unroll
                for (int n_u = 0; n_u < 16; n_u += 8) {
                    if (m + m_u + member / 4 + 8 * half < 40 && n + n_u + 2 * (member % 4) < 24) {
                        float Y_pair[2];
                        #pragma unroll
                        for (int pair = 0; pair < 2; ++pair) {
                            Y_pair[pair] = acc[m_u / 16][n_u / 8][2 * half + pair];
                        }
                        put2_f16(Y + 24 * m + 24 * m_u + 24 * (member / 4) + 192 * half + n + n_u + 2 * (member % 4), Y_pair);
                    }
                }
            }
        }
    }
}
