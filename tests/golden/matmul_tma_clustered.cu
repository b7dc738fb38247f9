/* matmul m=200,n=136,k=200,trans_b=1,dtype=f16, f16: written by Tilewright VERSION.
 *
 * T(m,2)@cluster T(n,3)@cluster T(m,1)@cluster T(m,2)@block T(n,1)@block S(c) T(k,4) S(a, 3) S(b, 3) T(m,1)@warpgroup T(n,1)@warpgroup U(k,4) U(m,1) U(n,1) M(m64n64k16)
 *
 *     for m in 2 steps of 128:  on clusters
 *       for n in 3 steps of 64:  on clusters
 *         for m in 1 step of 128:  on clusters
 *           for m in 2 steps of 64:  on blocks
 *             for n in 1 step of 64:  on blocks
 *               with the tile of c in registers:
 *                 for k in 4 steps of 64:
 *                   with the tile of a in 3 stages of shared memory:
 *                     with the tile of b in 3 stages of shared memory:
 *                       for m in 1 step of 64:  on warpgroups
 *                         for n in 1 step of 64:  on warpgroups
 *                           register tile 64m × 64n × 64k
 *
 * X is a[m, k] of 200 x 200
 * W is b[n, k] of 136 x 200
 * Y is c[m, n] of 200 x 136
 */
CLUSTER_KERNEL(160, 3, 2) matmul_f16_m200_n136_k200_trans_b1(TENSOR_MAP X_map, TENSOR_MAP W_map, TENSOR_MAP Y_map)
{
    const int block = block_number(), warp = warp_number(), thread = thread_number(), member = member_number(), warpgroup = warp_number() / 4, blocks = block_count();
    const int rank = block % 2;
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
        mbarrier_init(shared_address(empty), 8);
        mbarrier_init(shared_address(empty + 1), 8);
        mbarrier_init(shared_address(empty + 2), 8);
        mbarrier_fence_init();
    }
    cluster_arrive();
    cluster_wait();
    if (warp < 4) {
        for (int turn = 0; turn < (blocks / 2 - block / 2 + 5) / (blocks / 2); ++turn) {
            const int tile = block / 2 + blocks / 2 * turn;
            const int m_3 = 128 * (tile / 3);
            const int n_2 = 64 * (tile % 3);
            const int m_2 = m_3;
            const int m_1 = 64 * rank + m_2;
            const int n_1 = n_2;
            float acc[8][4];
            #pragma unroll
            for (int m_u = 0; m_u < 64; m_u += 64) {
                #pragma unroll
                for (int half = 0; half < 2; ++half) {
                    #pragma unroll
                    for (int n_u = 0; n_u < 64; n_u += 8) {
                        #pragma unroll
                        for (int pair = 0; pair < 2; ++pair) {
                            acc[n_u / 8][2 * half + pair] = 0.0f;
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
            for (int k = 0; k < 256; k += 64) {
                {
                    const int m = 64 * warpgroup + m_1;
                    const int n = n_1;
                    mbarrier_wait(shared_address(full + (4 * turn + k / 64) % 3), ((4 * turn + k / 64) / 3) % 2);
                    wgmma_fence();
                    #pragma unroll
                    for (int k_u = 0; k_u < 64; k_u += 16) {
                        #pragma unroll
                        for (int m_u = 0; m_u < 64; m_u += 64) {
                            #pragma unroll
                            for (int n_u = 0; n_u < 64; n_u += 64) {
                                wgmma_m64n64k16_f16(acc[n_u / 8], wgmma_descriptor(shared_address(X_tile + 4096 * ((4 * turn + k / 64) % 3) + 64 * m + 64 * m_u - 64 * m_1), 2 * (k_u)), wgmma_descriptor(shared_address(W_tile + 4096 * ((4 * turn + k / 64) % 3) + 64 * n + 64 * n_u - 64 * n_1), 2 * (k_u)));
                            }
                        }
                    }
                    wgmma_commit();
                    wgmma_wait(1);
                    if (k >= 64) {
                        if (member < 2) {
                            mbarrier_arrive_at(shared_address(empty + (4 * turn + k / 64 + 2) % 3), member);
                        }
                    }
                }
            }
            wgmma_wait(0);
            if (member < 2) {
                mbarrier_arrive_at(shared_address(empty + (4 * turn + 3) % 3), member);
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
                const int m = 64 * (warp / 4) + m_1;
                const int n = n_1;
                #pragma unroll
                for (int n_box = 0; n_box < 64; n_box += 64) {
                    #pragma unroll
                    for (int m_u = 0; m_u < 64; m_u += 64) {
                        if (member == 0) {
                            tma_wait_read(1);
                        }
                        __syncwarp();
                        #pragma unroll
                        for (int half = 0; half < 2; ++half) {
                            #pragma unroll
                            for (int n_u = n_box; n_u < n_box + 64; n_u += 8) {
                                float Y_box_pair[2];
                                #pragma unroll
                                for (int pair = 0; pair < 2; ++pair) {
                                    Y_box_pair[pair] = acc[n_u / 8][2 * half + pair];
                                }
                                put2_f16(Y_box + 2048 * warp + 1024 * ((turn + n_box / 64 + m_u / 64) % 2) + 64 * (member / 4) + 512 * half + 8 * (((n_u + 2 * (member % 4) - n_box) / 8) ^ (member / 4 % 8)) + 2 * (member % 4) % 8, Y_box_pair);
                            }
                        }
                        fence_proxy_async();
                        __syncwarp();
                        if (member == 0) {
                            store_box_2d(&Y_map, shared_address(Y_box + 2048 * warp + 1024 * ((turn + n_box / 64 + m_u / 64) % 2)), n + n_box, m + m_u + 16 * (warp % 4));
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
            for (int turn = 0; turn < (blocks / 2 - block / 2 + 5) / (blocks / 2); ++turn) {
                const int tile = block / 2 + blocks / 2 * turn;
                const int m_3 = 128 * (tile / 3);
                const int n_2 = 64 * (tile % 3);
                const int m_2 = m_3;
                const int m_1 = 64 * rank + m_2;
                const int n_1 = n_2;
                for (int k = 0; k < 256; k += 64) {
                    mbarrier_wait(shared_address(empty + (4 * turn + k / 64) % 3), ((4 * turn + k / 64) / 3 + 1) % 2);
                    mbarrier_expect(shared_address(full + (4 * turn + k / 64) % 3), 16384);
                    copy_box_2d(shared_address(X_tile + 4096 * ((4 * turn + k / 64) % 3)), &X_map, shared_address(full + (4 * turn + k / 64) % 3), k, m_1);
                    copy_box_2d_multicast(shared_address(W_tile + 4096 * ((4 * turn + k / 64) % 3) + 2048 * rank), &W_map, shared_address(full + (4 * turn + k / 64) % 3), k, n_1 + 32 * rank, 3);
                }
            }
            for (int later = 0; later < 3; ++later) {
                mbarrier_wait(shared_address(empty + (4 * ((blocks / 2 - block / 2 + 5) / (blocks / 2)) + later) % 3), ((4 * ((blocks / 2 - block / 2 + 5) / (blocks / 2)) + later) / 3 + 1) % 2);
            }
        }
    }
}
