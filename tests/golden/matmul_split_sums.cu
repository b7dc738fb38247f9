/* matmul m=40,n=24,k=56,dtype=f16, f16: written by Tilewright VERSION.
 *
 * T(k,2)@block T(m,1)@block T(n,1)@block T(m,1)@block S(c) T(k,2) S(a, 3) S(b, 3) T(m,2)@warp T(n,2)@warp U(k,1) U(m,2) U(n,2) M(m16n8k16)
 *
 *     for k in 2 steps of 32:  on blocks
 *       for m in 1 step of 64:  on blocks
 *         for n in 1 step of 32:  on blocks
 *           for m in 1 step of 64:  on blocks
 *             with the tile of c in registers:
 *               for k in 2 steps of 16:
 *                 with the tile of a in 3 stages of shared memory:
 *                   with the tile of b in 3 stages of shared memory:
 *                     for m in 2 steps of 32:  on warps
 *                       for n in 2 steps of 16:  on warps
 *                         register tile 32m × 16n × 16k
 *
 * X is a[m, k] of 40 x 56
 * W is b[k, n] of 56 x 24
 * Y is c[m, n] of 40 x 24
 */
KERNEL(128, 4) matmul_f16_m40_n24_k56(const unsigned short *__restrict__ X, const unsigned short *__restrict__ W, unsigned short *__restrict__ Y, unsigned *__restrict__ counts, float *__restrict__ parts)
{
    const int block = block_number(), warp = warp_number(), thread = thread_number(), member = member_number();
    const int k_1 = 32 * block;
    const int m_2 = 0;
    const int n_1 = 0;
    const int m_1 = m_2;
    float acc[2][2][4];
    {
        const int m = 32 * (warp / 2) + m_1;
        const int n = 16 * (warp % 2) + n_1;
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
    }
    unsigned short *const X_tile = SHARED(unsigned short, 0);
    unsigned short *const W_tile = SHARED(unsigned short, 4096);
    #pragma unroll 1
    for (int ahead = 0; ahead < 32; ahead += 16) {
        #pragma unroll 1
        for (int element = 8 * thread; element < 1024; element += 1024) {
            copy_async_16(X_tile + 1024 * (ahead / 16 % 2) + 16 * (element / 16) + 8 * ((element % 16 / 8) ^ (element / 16 % 8 / 4)), X + 56 * m_1 + 56 * (element / 16) + k_1 + ahead + element % 16, m_1 + element / 16 < 40 && k_1 + ahead + element % 16 < 56);
        }
        #pragma unroll 1
        for (int element = 8 * thread; element < 512; element += 1024) {
            copy_async_16(W_tile + 512 * (ahead / 16 % 2) + 32 * (element / 32) + 8 * ((element % 32 / 8) ^ (element / 32 % 8 / 2)), W + 24 * k_1 + 24 * ahead + 24 * (element / 32) + n_1 + element % 32, n_1 + element % 32 < 24 && k_1 + ahead + element / 32 < 56);
        }
        cp_async_commit();
    }
    #pragma unroll 1
    for (int k = 0; k < 32; k += 16) {
        cp_async_wait(1);
        cp_async_commit();
        __syncthreads();
        {
            const int m = 32 * (warp / 2) + m_1;
            const int n = 16 * (warp % 2) + n_1;
            #pragma unroll
            for (int k_u = 0; k_u < 16; k_u += 16) {
                unsigned X_part[2][4];
                unsigned W_part[2][2];
                #pragma unroll
                for (int m_u = 0; m_u < 32; m_u += 16) {
                    get_matrices(X_part[m_u / 16], X_tile + 1024 * (k / 16 % 2) + 16 * m + 16 * m_u + 128 * (member / 8 % 2) - 16 * m_1 + 16 * (member % 8) + 8 * (((k_u + 8 * (member / 8 / 2)) / 8) ^ (member % 8 / 4)));
                }
                #pragma unroll
                for (int n_u = 0; n_u < 16; n_u += 16) {
                    get_matrices_across(W_part[n_u / 8], W_tile + 512 * (k / 16 % 2) + 32 * k_u + 256 * (member / 8 % 2) + 32 * (member % 8) + 8 * (((n + n_u + 8 * (member / 8 / 2) - n_1) / 8) ^ (member % 8 / 2)));
                }
                #pragma unroll
                for (int m_u = 0; m_u < 32; m_u += 16) {
                    #pragma unroll
                    for (int n_u = 0; n_u < 16; n_u += 8) {
                        mma_m16n8k16_f16(acc[m_u / 16][n_u / 8], X_part[m_u / 16], W_part[n_u / 8]);
                    }
                }
            }
        }
    }
    #pragma unroll
    for (int row = 0; row < 2; ++row) {
        #pragma unroll
        for (int column = 0; column < 2; ++column) {
            store_sums(parts + 2048 * block + 1024 * row + 512 * column + 128 * warp + 4 * member, acc[row][column]);
        }
    }
    long long *const last = SHARED(long long, 0);
    __syncthreads();
    if (thread == 0) {
        const int before = take_semaphore(counts, 2);
        put_s64(last, (long long)(before));
    }
    __syncthreads();
    const long long taken = get_s64(last);
    if (taken == 1) {
        #pragma unroll
        for (int row = 0; row < 2; ++row) {
            #pragma unroll
            for (int column = 0; column < 2; ++column) {
                #pragma unroll
                for (int number = 0; number < 4; ++number) {
                    acc[row][column][number] = 0.0f;
                }
            }
        }
        #pragma unroll 1
        for (int part = 0; part < 2; ++part) {
            #pragma unroll
            for (int row = 0; row < 2; ++row) {
                #pragma unroll
                for (int column = 0; column < 2; ++column) {
                    add_sums(acc[row][column], parts + 2048 * part + 1024 * row + 512 * column + 128 * warp + 4 * member);
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
}
