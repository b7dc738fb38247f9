/*
 * matmul m=40,n=24,k=56,dtype=f16, f16 in, f16 out, sums in f32
 *
 * Written by Tilewright VERSION from the scheme
 *
 *     T(m,1)@block T(n,1)@block T(m,1)@block S(c) T(k,2) S(a, 3) S(b, 3) T(m,2)@warp T(n,2)@warp U(k,2) U(m,2) U(n,2) M(m16n8k16)
 *
 *     for m in 1 steps of 64:  on blocks
 *       for n in 1 steps of 32:  on blocks
 *         for m in 1 steps of 64:  on blocks
 *           with the tile of c in registers:
 *             for k in 2 steps of 32:
 *               with the tile of a in 3 stages of shared memory:
 *                 with the tile of b in 3 stages of shared memory:
 *                   for m in 2 steps of 32:  on warps
 *                     for n in 2 steps of 16:  on warps
 *                       register tile 32m × 16n × 32k
 *
 * Grid of 1 blocks of 128 threads; 18432 bytes of shared memory: 3 stages of 4096 + 2048.
 * Of each step a warp does 8 matrix instructions on 6 loads of fragments; a thread copies 3 units and
 * holds 16 accumulators.
 *
 * Operands, row-major:
 *     a[m, k] of 40 x 56
 *     b[k, n] of 56 x 24
 *     c[m, n] of 40 x 24
 */
typedef unsigned short element_t;
typedef unsigned short output_t;

/* Blocks take tiles of 64 by 32 points of m and n; a step sums 32 points of k. */
enum { STEPS = 2, STAGES = 3, PREFETCH_DISTANCE = 2, STAGE_BYTES = 6144, B_TILE = 4096 };
/* Of a warp: matrix instructions along m and k, tiles of 8 along n. */
enum { ROWS = 2, COLUMNS = 2, PARTS = 2 };

/* Byte of a's tile at which 16-byte chunk `chunk` of row `row` lies. Rows are swizzled to lie in different banks. */
DEVICE unsigned a_at(unsigned row, unsigned chunk) { return row * 64 + (chunk ^ (row / 2 % 4)) * 16; }

/* Copies a's tile of one step: 64 points of m by 32 of k, from point `first` of m on. */
DEVICE void copy_a(unsigned tile, const element_t *a, unsigned first, unsigned step)
{
    const unsigned thread = threadIdx.x;
    #pragma unroll
    for (unsigned unit = 0; unit < 2; ++unit) {
        const unsigned row = unit * 32 + thread / 4;
        const unsigned column = (thread % 4) * 8;
        const unsigned m = first + row;
        const unsigned k = step * 32 + column;
        cp_async_16(tile + a_at(row, column / 8), a + (m * 56 + k), m < 40 && k < 56);
    }
}

/* Loads a warp's fragments of a for one instruction depth: from point `first` of the tile's m on. */
DEVICE void load_a(unsigned *registers, unsigned tile, unsigned first, unsigned part)
{
    const unsigned lane = threadIdx.x % 32;
    #pragma unroll
    for (unsigned i = 0; i < 2; ++i)
        ldmatrix_x4(registers + 4 * i, tile + a_at(i * 16 + first + (lane / 8 % 2) * 8 + lane % 8, (part * 16) / 8 + lane / 16));
}

/* Byte of b's tile at which 16-byte chunk `chunk` of row `row` lies. Rows are swizzled to lie in different banks. */
DEVICE unsigned b_at(unsigned row, unsigned chunk) { return row * 64 + (chunk ^ (row / 2 % 4)) * 16; }

/* Copies b's tile of one step: 32 points of k by 32 of n, from point `first` of n on. */
DEVICE void copy_b(unsigned tile, const element_t *b, unsigned first, unsigned step)
{
    const unsigned thread = threadIdx.x;
    const unsigned row = thread / 4;
    const unsigned column = (thread % 4) * 8;
    const unsigned k = step * 32 + row;
    const unsigned n = first + column;
    cp_async_16(tile + b_at(row, column / 8), b + (k * 24 + n), k < 56 && n < 24);
}

/* Loads a warp's fragments of b for one instruction depth: from point `first` of the tile's n on. */
DEVICE void load_b(unsigned *registers, unsigned tile, unsigned first, unsigned part)
{
    const unsigned lane = threadIdx.x % 32;
    #pragma unroll
    for (unsigned i = 0; i < 1; ++i)
        ldmatrix_x4_trans(registers + 4 * i, tile + b_at(part * 16 + (lane / 8 % 2) * 8 + lane % 8, (i * 16 + first) / 8 + lane / 16));
}

KERNEL(128, 5) matmul_f16_m40_n24_k56(const element_t *a, const element_t *b, output_t *c)
{
    const unsigned shared = shared_base(), block = 0;
    const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;

    /* The first points of this block's tile, and of this warp's part of it. */
    const unsigned m_block = 0;
    const unsigned n_block = 0;
    const unsigned m_warp = (warp / 2) * 32, n_warp = (warp % 2) * 16;

    float sum[ROWS][COLUMNS][4];
    #pragma unroll
    for (unsigned i = 0; i < ROWS; ++i)
        #pragma unroll
        for (unsigned j = 0; j < COLUMNS; ++j)
            #pragma unroll
            for (unsigned e = 0; e < 4; ++e)
                sum[i][j][e] = 0;

    /* Fill the ring but for one stage. A group of copies is committed for every step, if need be an empty one. */
    for (unsigned step = 0; step < PREFETCH_DISTANCE; ++step) {
        if (step < STEPS) {
            copy_a(shared + step * STAGE_BYTES, a, m_block, step);
            copy_b(shared + step * STAGE_BYTES + B_TILE, b, n_block, step);
        }
        cp_async_commit();
    }

    unsigned stage = 0, next = PREFETCH_DISTANCE;
    /* A part's fragments are loaded while the part before is multiplied, so those of two parts are in registers. The
     * first tiles are there once every thread has waited for its own copies. */
    unsigned a_part[PARTS][4 * ROWS], b_part[PARTS][2 * COLUMNS];
    cp_async_wait(PREFETCH_DISTANCE - 1);
    __syncthreads();
    load_a(a_part[0], shared + stage * STAGE_BYTES, m_warp, 0);
    load_b(b_part[0], shared + stage * STAGE_BYTES + B_TILE, n_warp, 0);
    #pragma unroll 1
    for (unsigned step = 0; step < STEPS; ++step) {
        #pragma unroll
        for (unsigned part = 0; part < PARTS; ++part) {
            const unsigned following = (part + 1) % PARTS;
            if (following == 0) {
                /* The next step's tiles are there once every thread has waited for its own copies. By then every
                 * warp has loaded all fragments of this step, whose stage is filled next. */
                cp_async_commit();
                cp_async_wait(PREFETCH_DISTANCE - 1);
                __syncthreads();
                stage = stage + 1 == STAGES ? 0 : stage + 1;
            }
            /* What is loaded after the last step is never multiplied. */
            load_a(a_part[following], shared + stage * STAGE_BYTES, m_warp, following);
            load_b(b_part[following], shared + stage * STAGE_BYTES + B_TILE, n_warp, following);
            if (part == 0 && step + PREFETCH_DISTANCE < STEPS) {
                copy_a(shared + next * STAGE_BYTES, a, m_block, step + PREFETCH_DISTANCE);
                copy_b(shared + next * STAGE_BYTES + B_TILE, b, n_block, step + PREFETCH_DISTANCE);
            }
            #pragma unroll
            for (unsigned i = 0; i < ROWS; ++i)
                #pragma unroll
                for (unsigned j = 0; j < COLUMNS; ++j)
                    mma_m16n8k16_f16(sum[i][j], a_part[part] + 4 * i, b_part[part] + 2 * j);
        }
        next = next + 1 == STAGES ? 0 : next + 1;
    }

    /* A lane holds pairs of neighbours along n. Row by row, so that only one row's addresses are in registers. */
    #pragma unroll
    for (unsigned i = 0; i < ROWS; ++i)
        #pragma unroll
        for (unsigned j = 0; j < COLUMNS; ++j) {
            const unsigned column = n_block + n_warp + j * 8 + (lane % 4) * 2;
            #pragma unroll
            for (unsigned half = 0; half < 2; ++half) {
                const unsigned row = m_block + m_warp + i * 16 + half * 8 + lane / 4;
                output_t *to = c + row * 24 + column;
                if (row < 40 && column < 24)
                    store_f16_pair(to, sum[i][j][2 * half], sum[i][j][2 * half + 1]);
            }

        }
}
