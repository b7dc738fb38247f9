/* conv2d n=2,c=16,h=9,w=10,k=40,r=3,s=3,pad=1,dtype=bf16,epilogue=relu(y+b[k]+z[n,h,w,k]), bf16: written by Tilewright VERSION.
 *
 * T(nhw,3)@block T(k,2)@block T(nhw,1)@block S(y) T(rsc,5) S(x, 3) S(w, 3) T(nhw,2)@warp T(k,2)@warp U(rsc,2) U(nhw,2) U(k,2) M(nhw16k8rsc16)
 *
 *     for nhw in 3 steps of 64:  on blocks
 *       for k in 2 steps of 32:  on blocks
 *         for nhw in 1 step of 64:  on blocks
 *           with the tile of y in registers:
 *             for rsc in 5 steps of 32:
 *               with the tile of x in 3 stages of shared memory:
 *                 with the tile of w in 3 stages of shared memory:
 *                   for nhw in 2 steps of 32:  on warps
 *                     for k in 2 steps of 16:  on warps
 *                       register tile 32nhw × 32rsc × 16k
 *
 * X is x[n, h + r - 1, w + s - 1, c] of 2 x 9 x 10 x 16
 * W is w[k, r, s, c] of 40 x 3 x 3 x 16
 * E_b is the epilogue's b[k] of 40
 * E_z is the epilogue's z[n, h, w, k] of 2 x 9 x 10 x 40
 * Y is y[n, h, w, k] of 2 x 9 x 10 x 40
 */
KERNEL(128, 5) conv2d_bf16_n2_c16_h9_w10_k40_r3_s3_pad1_relu_y_b_k_z_n_h_w_k_e08a0d2c(const unsigned short *__restrict__ X, const unsigned short *__restrict__ W, const unsigned short *__restrict__ E_b, const unsigned short *__restrict__ E_z, unsigned short *__restrict__ Y)
{
    const int block = block_number(), warp = warp_number(), thread = thread_number(), member = member_number();
    const int nhw_2 = 64 * (block / 2);
    const int k_1 = 32 * (block % 2);
    const int nhw_1 = nhw_2;
    float acc[2][2][4];
    {
        const int nhw = 32 * (warp / 2) + nhw_1;
        const int k = 16 * (warp % 2) + k_1;
        {
            float E_b_once[2][2];
            #pragma unroll
            for (int k_u = 0; k_u < 16; k_u += 8) {
                if (k + k_u + 2 * (member % 4) < 40) {
                    get2_bf16(E_b_once[k_u / 8], E_b + k + k_u + 2 * (member % 4));
                }
            }
            #pragma unroll
            for (int nhw_u = 0; nhw_u < 32; nhw_u += 16) {
                #pragma unroll
                for (int half = 0; half < 2; ++half) {
                    #pragma unroll
                    for (int k_u = 0; k_u < 16; k_u += 8) {
                        if (nhw + nhw_u + member / 4 + 8 * half < 180 && k + k_u + 2 * (member % 4) < 40) {
                            #pragma unroll
                            for (int pair = 0; pair < 2; ++pair) {
                                acc[nhw_u / 16][k_u / 8][2 * half + pair] = E_b_once[k_u / 8][pair];
                            }
                        } else {
                            #pragma unroll
                            for (int pair = 0; pair < 2; ++pair) {
                                acc[nhw_u / 16][k_u / 8][2 * half + pair] = 0.0f;
                            }
                        }
                    }
                }
            }
        }
    }
    unsigned short *const X_tile = SHARED(unsigned short, 0);
    unsigned short *const W_tile = SHARED(unsigned short, 12288);
    #pragma unroll 1
    for (int ahead = 0; ahead < 64; ahead += 32) {
        #pragma unroll
        for (int round = 0; round < 2048; round += 1024) {
            copy_async_16(X_tile + 2048 * (ahead / 32 % 3) + 32 * (8 * thread / 32) + 32 * (round / 32) + 8 * ((8 * thread % 32 / 8) ^ (8 * thread / 32 % 8 / 2)), X + 160 * ((ahead + 8 * thread % 32) / 48) + 16 * ((8 * thread % 32 / 16 + ahead / 16) % 3) + 8 * thread % 32 % 16 + 16 * nhw_1 + 16 * (8 * thread / 32) + 16 * (round / 32) - 176, nhw_1 + 8 * thread / 32 + round / 32 < 180 && ahead + 8 * thread % 32 < 144 && ((nhw_1 + 8 * thread / 32 + round / 32) / 10) % 9 + (ahead + 8 * thread % 32) / 48 - 1 >= 0 && ((nhw_1 + 8 * thread / 32 + round / 32) / 10) % 9 + (ahead + 8 * thread % 32) / 48 - 1 < 9 && (nhw_1 + 8 * thread / 32 + round / 32) % 10 + (8 * thread % 32 / 16 + ahead / 16) % 3 - 1 >= 0 && (nhw_1 + 8 * thread / 32 + round / 32) % 10 + (8 * thread % 32 / 16 + ahead / 16) % 3 - 1 < 10);
        }
        #pragma unroll
        for (int round = 0; round < 1024; round += 1024) {
            copy_async_16(W_tile + 1024 * (ahead / 32 % 3) + 32 * (8 * thread / 32) + 32 * (round / 32) + 8 * ((8 * thread % 32 / 8) ^ (8 * thread / 32 % 8 / 2)), W + 144 * k_1 + 144 * (8 * thread / 32) + 144 * (round / 32) + 48 * ((ahead + 8 * thread % 32) / 48) + 16 * ((8 * thread % 32 / 16 + ahead / 16) % 3) + 8 * thread % 32 % 16, ahead + 8 * thread % 32 < 144 && k_1 + 8 * thread / 32 + round / 32 < 40);
        }
        cp_async_commit();
    }
    unsigned X_part[2][2][4];
    unsigned W_part[2][2][2];
    cp_async_wait(1);
    __syncthreads();
    {
        const int nhw = 32 * (warp / 2) + nhw_1;
        const int k = 16 * (warp % 2) + k_1;
        #pragma unroll
        for (int nhw_u = 0; nhw_u < 32; nhw_u += 16) {
            get_matrices(X_part[0][nhw_u / 16], X_tile + 32 * nhw + 32 * nhw_u + 256 * (member / 8 % 2) - 32 * nhw_1 + 32 * (member % 8) + 8 * ((member / 8 / 2) ^ (member % 8 / 2)));
        }
        #pragma unroll
        for (int k_u = 0; k_u < 16; k_u += 16) {
            get_matrices(W_part[0][k_u / 8], W_tile + 32 * k + 32 * k_u + 256 * (member / 8 / 2) - 32 * k_1 + 32 * (member % 8) + 8 * ((member / 8 % 2) ^ (member % 8 / 2)));
        }
    }
    #pragma unroll 1
    for (int rsc = 0; rsc < 160; rsc += 32) {
        {
            const int nhw = 32 * (warp / 2) + nhw_1;
            const int k = 16 * (warp % 2) + k_1;
            #pragma unroll
            for (int nhw_u = 0; nhw_u < 32; nhw_u += 16) {
                get_matrices(X_part[1][nhw_u / 16], X_tile + 2048 * (rsc / 32 % 3) + 32 * nhw + 32 * nhw_u + 256 * (member / 8 % 2) - 32 * nhw_1 + 32 * (member % 8) + 8 * ((member / 8 / 2 + 2) ^ (member % 8 / 2)));
            }
            #pragma unroll
            for (int k_u = 0; k_u < 16; k_u += 16) {
                get_matrices(W_part[1][k_u / 8], W_tile + 1024 * (rsc / 32 % 3) + 32 * k + 32 * k_u + 256 * (member / 8 / 2) - 32 * k_1 + 32 * (member % 8) + 8 * ((member / 8 % 2 + 2) ^ (member % 8 / 2)));
            }
        }
        if (rsc + 64 < 160) {
            #pragma unroll
            for (int round = 0; round < 2048; round += 1024) {
                copy_async_16(X_tile + 2048 * ((rsc / 32 + 2) % 3) + 32 * (8 * thread / 32) + 32 * (round / 32) + 8 * ((8 * thread % 32 / 8) ^ (8 * thread / 32 % 8 / 2)), X + 160 * ((rsc + 8 * thread % 32 + 64) / 48) + 16 * ((8 * thread % 32 / 16 + rsc / 16 + 4) % 3) + 8 * thread % 32 % 16 + 16 * nhw_1 + 16 * (8 * thread / 32) + 16 * (round / 32) - 176, nhw_1 + 8 * thread / 32 + round / 32 < 180 && rsc + 8 * thread % 32 + 64 < 144 && ((nhw_1 + 8 * thread / 32 + round / 32) / 10) % 9 + (rsc + 8 * thread % 32 + 64) / 48 - 1 >= 0 && ((nhw_1 + 8 * thread / 32 + round / 32) / 10) % 9 + (rsc + 8 * thread % 32 + 64) / 48 - 1 < 9 && (nhw_1 + 8 * thread / 32 + round / 32) % 10 + (8 * thread % 32 / 16 + rsc / 16 + 4) % 3 - 1 >= 0 && (nhw_1 + 8 * thread / 32 + round / 32) % 10 + (8 * thread % 32 / 16 + rsc / 16 + 4) % 3 - 1 < 10);
            }
            #pragma unroll
            for (int round = 0; round < 1024; round += 1024) {
                copy_async_16(W_tile + 1024 * ((rsc / 32 + 2) % 3) + 32 * (8 * thread / 32) + 32 * (round / 32) + 8 * ((8 * thread % 32 / 8) ^ (8 * thread / 32 % 8 / 2)), W + 144 * k_1 + 144 * (8 * thread / 32) + 144 * (round / 32) + 48 * ((rsc + 8 * thread % 32 + 64) / 48) + 16 * ((8 * thread % 32 / 16 + rsc / 16 + 4) % 3) + 8 * thread % 32 % 16, rsc + 8 * thread % 32 + 64 < 144 && k_1 + 8 * thread / 32 + round / 32 < 40);
            }
        }
        cp_async_commit();
        {
            const int nhw = 32 * (warp / 2) + nhw_1;
            const int k = 16 * (warp % 2) + k_1;
            #pragma unroll
            for (int nhw_u = 0; nhw_u < 32; nhw_u += 16) {
                #pragma unroll
                for (int k_u = 0; k_u < 16; k_u += 8) {
                    mma_m16n8k16_bf16(acc[nhw_u / 16][k_u / 8], X_part[0][nhw_u / 16], W_part[0][k_u / 8]);
                }
            }
        }
        cp_async_wait(1);
        __syncthreads();
        {
            const int nhw = 32 * (warp / 2) + nhw_1;
            const int k = 16 * (warp % 2) + k_1;
            #pragma unroll
            for (int nhw_u = 0; nhw_u < 32; nhw_u += 16) {
                get_matrices(X_part[0][nhw_u / 16], X_tile + 2048 * (((rsc + 32) / 32) % 3) + 32 * nhw + 32 * nhw_u + 256 * (member / 8 % 2) - 32 * nhw_1 + 32 * (member % 8) + 8 * ((member / 8 / 2) ^ (member % 8 / 2)));
            }
            #pragma unroll
            for (int k_u = 0; k_u < 16; k_u += 16) {
                get_matrices(W_part[0][k_u / 8], W_tile + 1024 * (((rsc + 32) / 32) % 3) + 32 * k + 32 * k_u + 256 * (member / 8 / 2) - 32 * k_1 + 32 * (member % 8) + 8 * ((member / 8 % 2) ^ (member % 8 / 2)));
            }
            #pragma unroll
            for (int nhw_u = 0; nhw_u < 32; nhw_u += 16) {
                #pragma unroll
                for (int k_u = 0; k_u < 16; k_u += 8) {
                    mma_m16n8k16_bf16(acc[nhw_u / 16][k_u / 8], X_part[1][nhw_u / 16], W_part[1][k_u / 8]);
                }
            }
        }
    }
    {
        const int nhw = 32 * (warp / 2) + nhw_1;
        const int k = 16 * (warp % 2) + k_1;
        #pragma unroll
        for (int nhw_u = 0; nhw_u < 32; nhw_u += 16) {
            #pragma unroll
            for (int half = 0; half < 2; ++half) {
                #pragma unroll
                for (int k_u = 0; k_u < 16; k_u += 8) {
                    if (nhw + nhw_u + member / 4 + 8 * half < 180 && k + k_u + 2 * (member % 4) < 40) {
                        float E_z_pair[2];
                        get2_bf16(E_z_pair, E_z + k + k_u + 2 * (member % 4) + 40 * nhw + 40 * nhw_u + 40 * (member / 4) + 320 * half);
                        float Y_pair[2];
                        #pragma unroll
                        for (int pair = 0; pair < 2; ++pair) {
                            Y_pair[pair] = relu_f32(acc[nhw_u / 16][k_u / 8][2 * half + pair] + E_z_pair[pair]);
                        }
                        put2_bf16(Y + k + k_u + 2 * (member % 4) + 40 * nhw + 40 * nhw_u + 40 * (member / 4) + 320 * half, Y_pair);
                    }
                }
            }
        }
    }
}
