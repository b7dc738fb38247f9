/* conv2d n=2,c=64,h=9,w=10,k=64,r=3,s=3,pad=1,dtype=bf16, bf16: written by Tilewright VERSION.
 *
 * T(nhw,3)@cluster T(k,1)@cluster T(nhw,1)@cluster T(nhw,1)@block T(k,1)@block S(y) T(r,3) T(s,3) T(c,1) S(x, 3) S(w, 3) T(nhw,1)@warpgroup T(k,1)@warpgroup U(c,4) U(nhw,1) U(k,1) M(nhw64k64c16)
 *
 *     for nhw in 3 steps of 64:  on clusters
 *       for k in 1 step of 64:  on clusters
 *         for nhw in 1 step of 64:  on clusters
 *           for nhw in 1 step of 64:  on blocks
 *             for k in 1 step of 64:  on blocks
 *               with the tile of y in registers:
 *                 for r in 3 steps of 1:
 *                   for s in 3 steps of 1:
 *                     for c in 1 step of 64:
 *                       with the tile of x in 3 stages of shared memory:
 *                         with the tile of w in 3 stages of shared memory:
 *                           for nhw in 1 step of 64:  on warpgroups
 *                             for k in 1 step of 64:  on warpgroups
 *                               register tile 64nhw × 64k × 64c
 *
 * X is x[n, h + r - 1, w + s - 1, c] of 2 x 9 x 10 x 64
 * W is w[k, r, s, c] of 64 x 3 x 3 x 64
 * Y is y[n, h, w, k] of 2 x 9 x 10 x 64
 */
KERNEL(160, 3) conv2d_bf16_n2_c64_h9_w10_k64_r3_s3_pad1(TENSOR_MAP X_map, TENSOR_MAP W_map, TENSOR_MAP Y_map)
{
    const int block = block_number(), warp = warp_number(), thread = thread_number(), member = member_number(), warpgroup = warp_number() / 4, blocks = block_count();
    unsigned short *const X_tile = SHARED(unsigned short, 0);
    unsigned short *const W_tile = SHARED(unsigned short, 24576);
    unsigned short *const Y_box = SHARED(unsigned short, 49152);
    unsigned long long *const full = SHARED(unsigned long long, 65536);
    unsigned long long *const empty = SHARED(unsigned long long, 65568);
    if (thread == 0) {
        prefetch_map(&X_map);
        prefetch_map(&W_map);
        prefetch_map(&Y_map);
        mbarrier_init(shared_address(full), 1);
        mbarrier_init(shared_address(full + 1), 1);
        mbarrier_init(shared_address(full + 2), 1);
        mbarrier_init(shared_address(empty), 4);
        mbarrier_init(shared_address(empty + 1), 4);
        mbarrier_init(shared_address(empty + 2), 4);
        mbarrier_fence_init();
    }
    __syncthreads();
    if (warp < 4) {
        for (int turn = 0; turn < (blocks - block + 2) / blocks; ++turn) {
            const int tile = block + blocks * turn;
            const int nhw_3 = 64 * tile;
            const int k_2 = 0;
            const int nhw_2 = nhw_3;
            const int nhw_1 = nhw_2;
            const int k_1 = k_2;
            float acc[8][4];
            #pragma unroll
            for (int nhw_u = 0; nhw_u < 64; nhw_u += 64) {
                #pragma unroll
                for (int half = 0; half < 2; ++half) {
                    #pragma unroll
                    for (int k_u = 0; k_u < 64; k_u += 8) {
                        #pragma unroll
                        for (int pair = 0; pair < 2; ++pair) {
                            acc[k_u / 8][2 * half + pair] = 0.0f;
                        }
                    }
                }
            }
            #pragma unroll
            for (int row = 0; row < 1; ++row) {
                #pragma unroll
                for (int column = 0; column < 8; ++column) {
                    #pragma unroll
                    for (int number = 0; number < 4; ++number) {
                        pin(acc[column] + number);
                    }
                }
            }
            for (int step = 0; step < 9; ++step) {
                {
                    const int nhw = 64 * warpgroup + nhw_1;
                    const int k = k_1;
                    mbarrier_wait(shared_address(full + (9 * turn + step) % 3), ((9 * turn + step) / 3) % 2);
                    wgmma_fence();
                    #pragma unroll
                    for (int c_u = 0; c_u < 64; c_u += 16) {
                        #pragma unroll
                        for (int nhw_u = 0; nhw_u < 64; nhw_u += 64) {
                            #pragma unroll
                            for (int k_u = 0; k_u < 64; k_u += 64) {
                                wgmma_m64n64k16_bf16(acc[k_u / 8], wgmma_descriptor(shared_address(X_tile + 4096 * ((9 * turn + step) % 3) + 64 * nhw + 64 * nhw_u - 64 * nhw_1), 2 * (c_u)), wgmma_descriptor(shared_address(W_tile + 4096 * ((9 * turn + step) % 3) + 64 * k + 64 * k_u - 64 * k_1), 2 * (c_u)));
                            }
                        }
                    }
                    wgmma_commit();
                    wgmma_wait(1);
                    if (step >= 1) {
                        if (member == 0) {
                            mbarrier_arrive(shared_address(empty + (9 * turn + step + 2) % 3));
                        }
                    }
                }
            }
            wgmma_wait(0);
            if (member == 0) {
                mbarrier_arrive(shared_address(empty + 2));
            }
            #pragma unroll
            for (int row = 0; row < 1; ++row) {
                #pragma unroll
                for (int column = 0; column < 8; ++column) {
                    #pragma unroll
                    for (int number = 0; number < 4; ++number) {
                        pin(acc[column] + number);
                    }
                }
            }
            {
                const int nhw = 64 * (warp / 4) + nhw_1;
                const int k = k_1;
                #pragma unroll
                for (int k_box = 0; k_box < 64; k_box += 64) {
                    #pragma unroll
                    for (int nhw_u = 0; nhw_u < 64; nhw_u += 64) {
                        if (member == 0) {
                            tma_wait_read(1);
                        }
                        __syncwarp();
                        #pragma unroll
                        for (int half = 0; half < 2; ++half) {
                            #pragma unroll
                            for (int k_u = k_box; k_u < k_box + 64; k_u += 8) {
                                float Y_box_pair[2];
                                #pragma unroll
                                for (int pair = 0; pair < 2; ++pair) {
                                    Y_box_pair[pair] = acc[k_u / 8][2 * half + pair];
                                }
                                put2_bf16(Y_box + 2048 * warp + 1024 * ((turn + k_box / 64 + nhw_u / 64) % 2) + 64 * (member / 4) + 512 * half + 8 * (((k_u + 2 * (member % 4) - k_box) / 8) ^ (member / 4 % 8)) + 2 * (member % 4) % 8, Y_box_pair);
                            }
                        }
                        fence_proxy_async();
                        __syncwarp();
                        if (member == 0) {
                            store_box_2d(&Y_map, shared_address(Y_box + 2048 * warp + 1024 * ((turn + k_box / 64 + nhw_u / 64) % 2)), k + k_box, nhw + nhw_u + 16 * (warp % 4));
                            tma_commit();
                        }
                    }
                }
            }
        }
        if (member == 0) {
            tma_wait_read(0);
        }
    } else {
        if (member == 0) {
            for (int turn = 0; turn < (blocks - block + 2) / blocks; ++turn) {
                const int tile = block + blocks * turn;
                const int nhw_3 = 64 * tile;
                const int k_2 = 0;
                const int nhw_2 = nhw_3;
                const int nhw_1 = nhw_2;
                const int k_1 = k_2;
                for (int step = 0; step < 9; ++step) {
                    mbarrier_wait(shared_address(empty + (9 * turn + step) % 3), ((9 * turn + step) / 3 + 1) % 2);
                    mbarrier_expect(shared_address(full + (9 * turn + step) % 3), 16384);
                    copy_pixels(shared_address(X_tile + 4096 * ((9 * turn + step) % 3)), &X_map, shared_address(full + (9 * turn + step) % 3), 0, nhw_1 % 10 - 1, nhw_1 / 10 % 9 - 1, nhw_1 / 90, step % 3, step / 3);
                    copy_box_4d(shared_address(W_tile + 4096 * ((9 * turn + step) % 3)), &W_map, shared_address(full + (9 * turn + step) % 3), 0, step % 3, step / 3, k_1);
                }
            }
        }
    }
}
