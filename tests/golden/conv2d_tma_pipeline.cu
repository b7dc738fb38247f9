/*
 * conv2d n=2,c=64,h=9,w=10,k=64,r=3,s=3,pad=1,dtype=bf16, bf16 in, bf16 out, sums in f32
 *
 * Written by Tilewright VERSION from the scheme
 *
 *     T(nhw,3)@cluster T(k,1)@cluster T(nhw,1)@cluster T(nhw,1)@block T(k,1)@block S(y) T(r,3) T(s,3) T(c,1) S(x, 3) S(w, 3) T(nhw,1)@warpgroup T(k,1)@warpgroup U(c,4) U(nhw,1) U(k,1) M(nhw64k64c16)
 *
 *     for nhw in 3 steps of 64:  on clusters
 *       for k in 1 steps of 64:  on clusters
 *         for nhw in 1 steps of 64:  on clusters
 *           for nhw in 1 steps of 64:  on blocks
 *             for k in 1 steps of 64:  on blocks
 *               with the tile of y in registers:
 *                 for r in 3 steps of 1:
 *                   for s in 3 steps of 1:
 *                     for c in 1 steps of 64:
 *                       with the tile of x in 3 stages of shared memory:
 *                         with the tile of w in 3 stages of shared memory:
 *                           for nhw in 1 steps of 64:  on warpgroups
 *                             for k in 1 steps of 64:  on warpgroups
 *                               register tile 64nhw × 64k × 64c
 *
 * 3 tiles, which clusters of 1 take in turns, in blocks of 256 threads: 1 warpgroups multiply, one thread of another copies.
 * 65584 bytes of shared memory: 3 stages of 8192 + 8192, two buffers of 2048 for each warp's output, two mbarriers a stage.
 * Of each step a warpgroup does 4 matrix instructions on shared memory; a thread holds 32 accumulators.
 *
 * Operands, row-major:
 *     x[n, h + r - 1, w + s - 1, c] of 2 x 9 x 10 x 64
 *     w[k, r, s, c] of 64 x 3 x 3 x 64
 *     y[n, h, w, k] of 2 x 9 x 10 x 64
 */
typedef unsigned short output_t;

/* Blocks take tiles of 64 by 64 points of nhw and k; a step sums 64 points of c. In a block CONSUMERS warpgroups
 * multiply, READERS of them each stage. */
enum { TILES = 3, CLUSTER = 1, CONSUMERS = 1, READERS = 1, STEPS = 9, STAGES = 3, STAGE_BYTES = 16384, W_TILE = 8192 };
/* Where in shared memory what follows the stages lies: the output's buffers, and of each stage two mbarriers, of which one says
 * that it is full, the other that all who read it are done. */
enum { STORES = 49152, FULL = 65536, EMPTY = FULL + 8 * STAGES };
/* Of a warpgroup: ROWS and PARTS are matrix instructions along nhw and c, COLUMNS tiles of 8 along k, of which one
 * store takes STORED. */
enum { ROWS = 1, COLUMNS = 8, PARTS = 4, STORED = 8 };

/* A warp is done with a stage: it says so to every block that copies to it. */
DEVICE void release(unsigned shared, unsigned stage)
{
    const unsigned lane = threadIdx.x % 32;
    if (lane == 0)
        mbarrier_arrive(shared + EMPTY + 8 * stage);
}

/* Byte `byte` of row `row` of a buffer of rows of 128 bytes, which is swizzled to lie in different banks. */
DEVICE unsigned stored_at(unsigned row, unsigned byte) { return row * 128 + (byte / 16 ^ row % 8) * 16 + byte % 16; }

CLUSTER_KERNEL(256, 3, CLUSTER) conv2d_bf16_n2_c64_h9_w10_k64_r3_s3_pad1(TENSOR_MAP x_map, TENSOR_MAP w_map, TENSOR_MAP y_map)
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
        for (unsigned tile = blockIdx.x; lane == 0 && tile < TILES; tile += gridDim.x) {
            const unsigned nhw_cluster = tile * 64, nhw_block = nhw_cluster;
            const unsigned k_cluster = 0, k_block = k_cluster;

            const int x_first = nhw_block;
            const int x_n = x_first / 90;
            const int x_h = x_first / 10 % 9 - 1;
            const int x_w = x_first % 10 - 1;
            #pragma unroll 1
            for (unsigned step = 0; step < STEPS; ++step) {
                const int r = step / 3;
                const int s = step % 3;
                const int c_step = 0;
                mbarrier_wait(shared + EMPTY + 8 * stage, phase ^ 1);
                mbarrier_expect(shared + FULL + 8 * stage, STAGE_BYTES);
                copy_pixels(shared + stage * STAGE_BYTES, &x_map, shared + FULL + 8 * stage, c_step, x_w, x_h, x_n, s, r);
                copy_box_4d(shared + stage * STAGE_BYTES + W_TILE, &w_map, shared + FULL + 8 * stage, c_step, s, r, k_block);
                if (++stage == STAGES) {
                    stage = 0;
                    phase ^= 1;
                }
            }
        }
    } else {
        registers_take(104);
        const unsigned nhw_warpgroup = 0, k_warpgroup = 0;
        const unsigned warp = lane / 32, buffers = shared + STORES + (threadIdx.x / 32) * 4096;
        const int leader = threadIdx.x % 32 == 0;
        unsigned turn = 0;
        for (unsigned tile = blockIdx.x; tile < TILES; tile += gridDim.x) {
            const unsigned nhw_cluster = tile * 64, nhw_block = nhw_cluster;
            const unsigned k_cluster = 0, k_block = k_cluster;


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
                        wgmma_m64n64k16_bf16(sum[i][0],
                            wgmma_descriptor(shared + stage * STAGE_BYTES + (nhw_warpgroup + 64 * i) * 128 + 32 * part),
                            wgmma_descriptor(shared + stage * STAGE_BYTES + W_TILE + k_warpgroup * 128 + 32 * part));
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
                            const unsigned row = nhw_block + nhw_warpgroup + (lane / 32) * 16 + half * 8 + lane / 4 % 8;
                            const unsigned column = k_block + k_warpgroup + j * 8 + (lane % 4) * 2;
                            stage_bf16_pair(buffers + 2048 * turn + stored_at(row % 16, column % 64 * 2),
                                sum[i][j][2 * half], sum[i][j][2 * half + 1]);
                        }
                    fence_proxy_async();
                    __syncwarp();
                    if (leader) {
                        store_box_2d(&y_map, buffers + 2048 * turn, k_block + k_warpgroup + 8 * first,
                            nhw_block + nhw_warpgroup + warp * 16);
                        tma_commit();
                    }
                    turn ^= 1;
                }
            }
        }
        tma_wait_read(0);
    }
}
