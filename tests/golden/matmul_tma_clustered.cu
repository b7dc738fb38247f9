/*
 * matmul m=200,n=136,k=200,trans_b=1,dtype=f16, f16 in, f16 out, sums in f32
 *
 * Written by Tilewright VERSION from the scheme
 *
 *     T(m,2)@cluster T(n,3)@cluster T(m,1)@cluster T(m,2)@block T(n,1)@block S(c) T(k,4) S(a, 3) S(b, 3) T(m,1)@warpgroup T(n,1)@warpgroup U(k,4) U(m,1) U(n,1) M(m64n64k16)
 *
 *     for m in 2 steps of 128:  on clusters
 *       for n in 3 steps of 64:  on clusters
 *         for m in 1 steps of 128:  on clusters
 *           for m in 2 steps of 64:  on blocks
 *             for n in 1 steps of 64:  on blocks
 *               with the tile of c in registers:
 *                 for k in 4 steps of 64:
 *                   with the tile of a in 3 stages of shared memory:
 *                     with the tile of b in 3 stages of shared memory:
 *                       for m in 1 steps of 64:  on warpgroups
 *                         for n in 1 steps of 64:  on warpgroups
 *                           register tile 64m × 64n × 64k
 *
 * 6 tiles, which clusters of 2 take in turns, in blocks of 256 threads: 1 warpgroups multiply, one thread of another copies.
 * 65584 bytes of shared memory: 3 stages of 8192 + 8192, two buffers of 2048 for each warp's output, two mbarriers a stage.
 * Of each step a warpgroup does 4 matrix instructions on shared memory; a thread holds 32 accumulators.
 *
 * Operands, row-major:
 *     a[m, k] of 200 x 200
 *     b[n, k] of 136 x 200
 *     c[m, n] of 200 x 136
 */
typedef unsigned short output_t;

/* Blocks take tiles of 64 by 64 points of m and n; a step sums 64 points of k. In a block CONSUMERS warpgroups
 * multiply, READERS of them each stage. */
enum { TILES = 6, CLUSTER = 2, CONSUMERS = 1, READERS = 1, STEPS = 4, STAGES = 3, STAGE_BYTES = 16384, B_TILE = 8192 };
/* Where in shared memory what follows the stages lies: the output's buffers, and of each stage two mbarriers, of which one says
 * that it is full, the other that all who read it are done. */
enum { STORES = 49152, FULL = 65536, EMPTY = FULL + 8 * STAGES };
/* Of a warpgroup: ROWS and PARTS are matrix instructions along m and k, COLUMNS tiles of 8 along n, of which one
 * store takes STORED. */
enum { ROWS = 1, COLUMNS = 8, PARTS = 4, STORED = 8 };

/* A warp is done with a stage: it says so to every block that copies to it. */
DEVICE void release(unsigned shared, unsigned stage)
{
    const unsigned lane = threadIdx.x % 32;
    if (lane < CLUSTER)
        mbarrier_arrive_at(shared + EMPTY + 8 * stage, lane);
}

/* Byte `byte` of row `row` of a buffer of rows of 128 bytes, which is swizzled to lie in different banks. */
DEVICE unsigned stored_at(unsigned row, unsigned byte) { return row * 128 + (byte / 16 ^ row % 8) * 16 + byte % 16; }

CLUSTER_KERNEL(256, 3, CLUSTER) matmul_f16_m200_n136_k200_trans_b1(TENSOR_MAP a_map, TENSOR_MAP b_map, TENSOR_MAP c_map)
{
    const unsigned shared = shared_base(), rank = cluster_rank();
    const unsigned warpgroup = threadIdx.x / 128, lane = threadIdx.x % 128;

    /* A stage is full when one thread has said how many bytes come, and they have; it is empty when every warp of the cluster
     * that reads it is done. */
    if (threadIdx.x == 0) {
        for (unsigned stage = 0; stage < STAGES; ++stage) {
            mbarrier_init(shared + FULL + 8 * stage, 1);
            mbarrier_init(shared + EMPTY + 8 * stage, 4 * READERS * CLUSTER);
        }
        mbarrier_fence_init();
    }
    cluster_arrive();
    cluster_wait();

    /* The stage whose turn it is, and the parity of the phase that makes it full. */
    unsigned stage = 0, phase = 0;
    if (warpgroup == CONSUMERS) {
        registers_give(56);
        for (unsigned tile = blockIdx.x / 2; lane == 0 && tile < TILES; tile += gridDim.x / 2) {
            const unsigned m_cluster = (tile / 3) * 128, m_block = m_cluster + rank * 64;
            const unsigned n_cluster = (tile % 3) * 64, n_block = n_cluster;

            #pragma unroll 1
            for (unsigned step = 0; step < STEPS; ++step) {
                const int k_step = step * 64;
                mbarrier_wait(shared + EMPTY + 8 * stage, phase ^ 1);
                mbarrier_expect(shared + FULL + 8 * stage, STAGE_BYTES);
                copy_box_2d(shared + stage * STAGE_BYTES, &a_map, shared + FULL + 8 * stage, k_step, m_block);
                copy_box_2d_multicast(shared + stage * STAGE_BYTES + B_TILE + rank * 4096, &b_map, shared + FULL + 8 * stage, k_step, n_block + rank * 32, 3);
                if (++stage == STAGES) {
                    stage = 0;
                    phase ^= 1;
                }
            }
        }
    } else {
        registers_take(104);
        const unsigned m_warpgroup = 0, n_warpgroup = 0;
        const unsigned warp = lane / 32, buffers = shared + STORES + (threadIdx.x / 32) * 4096;
        const int leader = threadIdx.x % 32 == 0;
        unsigned turn = 0;
        for (unsigned tile = blockIdx.x / 2; tile < TILES; tile += gridDim.x / 2) {
            const unsigned m_cluster = (tile / 3) * 128, m_block = m_cluster + rank * 64;
            const unsigned n_cluster = (tile % 3) * 64, n_block = n_cluster;


            float sum[ROWS][COLUMNS][4];
            #pragma unroll
            for (unsigned i = 0; i < ROWS; ++i)
                #pragma unroll
                for (unsigned j = 0; j < COLUMNS; ++j)
                    #pragma unroll
                    for (unsigned e = 0; e < 4; ++e) {
                        sum[i][j][e] = 0;
                        pin(&sum[i][j][e]);
                    }

            #pragma unroll 1
            for (unsigned step = 0; step < STEPS; ++step) {
                mbarrier_wait(shared + FULL + 8 * stage, phase);
                wgmma_fence();
                #pragma unroll
                for (unsigned part = 0; part < PARTS; ++part)
                    #pragma unroll
                    for (unsigned i = 0; i < ROWS; ++i)
                        wgmma_m64n64k16_f16(sum[i][0],
                            wgmma_descriptor(shared + stage * STAGE_BYTES + (m_warpgroup + 64 * i) * 128 + 32 * part),
                            wgmma_descriptor(shared + stage * STAGE_BYTES + B_TILE + n_warpgroup * 128 + 32 * part));
                wgmma_commit();

                /* The products of the step before are done. */
                wgmma_wait(1);
                if (step > 0)
                    release(shared, stage ? stage - 1 : STAGES - 1);
                if (++stage == STAGES) {
                    stage = 0;
                    phase ^= 1;
                }
            }
            wgmma_wait(0);
            release(shared, stage ? stage - 1 : STAGES - 1);
            #pragma unroll
            for (unsigned i = 0; i < ROWS; ++i)
                #pragma unroll
                for (unsigned j = 0; j < COLUMNS; ++j)
                    #pragma unroll
                    for (unsigned e = 0; e < 4; ++e)
                        pin(&sum[i][j][e]);

            /* A warp hands 16 rows of 64 columns at a time to the copy engine, by two buffers in turns. */
            #pragma unroll
            for (unsigned first = 0; first < COLUMNS; first += STORED) {
                #pragma unroll
                for (unsigned i = 0; i < ROWS; ++i) {
                    if (leader)
                        tma_wait_read(1);
                    __syncwarp();
                    #pragma unroll
                    for (unsigned j = first; j < first + STORED; ++j)
                        #pragma unroll
                        for (unsigned half = 0; half < 2; ++half) {
                            const unsigned row = m_block + m_warpgroup + (lane / 32) * 16 + half * 8 + lane / 4 % 8;
                            const unsigned column = n_block + n_warpgroup + j * 8 + (lane % 4) * 2;
                            stage_f16_pair(buffers + 2048 * turn + stored_at(row % 16, column % 64 * 2),
                                sum[i][j][2 * half], sum[i][j][2 * half + 1]);
                        }
                    fence_proxy_async();
                    __syncwarp();
                    if (leader) {
                        store_box_2d(&c_map, buffers + 2048 * turn, n_block + n_warpgroup + 8 * first,
                            m_block + m_warpgroup + warp * 16);
                        tma_commit();
                    }
                    turn ^= 1;
                }
            }
        }
        tma_wait_read(0);
    }

    /* No block ends while another may still reach for its shared memory. */
    cluster_arrive();
    cluster_wait();
}
