/*
 * conv2d n=2,c=16,h=9,w=10,k=40,r=3,s=3,pad=1,dtype=bf16,epilogue=relu(y+b[k]+z[n,h,w,k]), bf16 in, bf16 out, sums in f32
 *
 * Written by Tilewright VERSION from the scheme
 *
 *     T(nhw,3)@block T(k,2)@block T(nhw,1)@block S(y) T(rsc,5) S(x, 3) S(w, 3) T(nhw,2)@warp T(k,2)@warp U(rsc,2) U(nhw,2) U(k,2) M(nhw16k8rsc16)
 *
 *     for nhw in 3 steps of 64:  on blocks
 *       for k in 2 steps of 32:  on blocks
 *         for nhw in 1 steps of 64:  on blocks
 *           with the tile of y in registers:
 *             for rsc in 5 steps of 32:
 *               with the tile of x in 3 stages of shared memory:
 *                 with the tile of w in 3 stages of shared memory:
 *                   for nhw in 2 steps of 32:  on warps
 *                     for k in 2 steps of 16:  on warps
 *                       register tile 32nhw × 32rsc × 16k
 *
 * Grid of 6 blocks of 128 threads; 18432 bytes of shared memory: 3 stages of 4096 + 2048.
 * Of each step a warp does 8 matrix instructions on 6 loads of fragments; a thread copies 3 units and
 * holds 16 accumulators.
 *
 * Operands, row-major:
 *     x[n, h + r - 1, w + s - 1, c] of 2 x 9 x 10 x 16
 *     w[k, r, s, c] of 40 x 3 x 3 x 16
 *     y[n, h, w, k] of 2 x 9 x 10 x 40
 *     e_b[k] of 40
 *     e_z[n, h, w, k] of 2 x 9 x 10 x 40
 */
typedef unsigned short element_t;
typedef unsigned short output_t;

/* Blocks take tiles of 64 by 32 points of nhw and k; a step sums 32 points of rsc. */
enum { STEPS = 5, STAGES = 3, PREFETCH_DISTANCE = 2, STAGE_BYTES = 6144, W_TILE = 4096 };
/* Of a warp: matrix instructions along nhw and rsc, tiles of 8 along k. */
enum { ROWS = 2, COLUMNS = 2, PARTS = 2 };

/* Byte of x's tile at which 16-byte chunk `chunk` of row `row` lies. Rows are swizzled to lie in different banks. */
DEVICE unsigned x_at(unsigned row, unsigned chunk) { return row * 64 + (chunk ^ (row / 2 % 4)) * 16; }

/* Copies x's tile of one step: 64 points of nhw by 32 of rsc, from point `first` of nhw on. */
DEVICE void copy_x(unsigned tile, const element_t *x, unsigned first, unsigned step)
{
    const unsigned thread = threadIdx.x;
    #pragma unroll
    for (unsigned unit = 0; unit < 2; ++unit) {
        const unsigned row = unit * 32 + thread / 4;
        const unsigned column = (thread % 4) * 8;
        const unsigned nhw = first + row;
        const unsigned rsc = step * 32 + column;
        const int n = nhw / 90;
        const int h = nhw / 10 % 9;
        const int w = nhw % 10;
        const int r = rsc / 48;
        const int s = rsc / 16 % 3;
        const int c = rsc % 16;
        const int x_h = h + r - 1;
        const int x_w = w + s - 1;
        cp_async_16(tile + x_at(row, column / 8), x + (n * 1440 + x_h * 160 + x_w * 16 + c), nhw < 180 && rsc < 144 && (unsigned)x_h < 9 && (unsigned)x_w < 10);
    }
}

/* Loads a warp's fragments of x for one instruction depth: from point `first` of the tile's nhw on. */
DEVICE void load_x(unsigned *registers, unsigned tile, unsigned first, unsigned part)
{
    const unsigned lane = threadIdx.x % 32;
    #pragma unroll
    for (unsigned i = 0; i < 2; ++i)
        ldmatrix_x4(registers + 4 * i, tile + x_at(i * 16 + first + (lane / 8 % 2) * 8 + lane % 8, (part * 16) / 8 + lane / 16));
}

/* Byte of w's tile at which 16-byte chunk `chunk` of row `row` lies. Rows are swizzled to lie in different banks. */
DEVICE unsigned w_at(unsigned row, unsigned chunk) { return row * 64 + (chunk ^ (row / 2 % 4)) * 16; }

/* Copies w's tile of one step: 32 points of k by 32 of rsc, from point `first` of k on. */
DEVICE void copy_w(unsigned tile, const element_t *w, unsigned first, unsigned step)
{
    const unsigned thread = threadIdx.x;
    const unsigned row = thread / 4;
    const unsigned column = (thread % 4) * 8;
    const unsigned k = first + row;
    const unsigned rsc = step * 32 + column;
    cp_async_16(tile + w_at(row, column / 8), w + (k * 144 + rsc), k < 40 && rsc < 144);
}

/* Loads a warp's fragments of w for one instruction depth: from point `first` of the tile's k on. */
DEVICE void load_w(unsigned *registers, unsigned tile, unsigned first, unsigned part)
{
    const unsigned lane = threadIdx.x % 32;
    #pragma unroll
    for (unsigned i = 0; i < 1; ++i)
        ldmatrix_x4(registers + 4 * i, tile + w_at(i * 16 + first + (lane / 16) * 8 + lane % 8, (part * 16) / 8 + lane / 8 % 2));
}

DEVICE float max_of(float a, float b) { return a != a ? a : a > b ? a : b; }
DEVICE float relu_of(float v) { return max_of(0.0f, v); }

/* relu(y+b[k]+z[n,h,w,k]): what becomes of the sum y at a point of y before it is rounded. */
DEVICE float epilogue(float y, float v_b, float v_z) { return relu_of(((y + v_b) + v_z)); }

/* b at two neighbouring columns; 0 past the edge. */
DEVICE void load_e_b(float *to, const output_t *e_b, unsigned k)
{
    to[0] = to[1] = 0;
    if (k < 40)
        load_bf16_pair(to, e_b + (k));
}

/* z at two neighbouring columns; 0 past the edge. */
DEVICE void load_e_z(float *to, const output_t *e_z, unsigned nhw, unsigned k)
{
    to[0] = to[1] = 0;
    if (nhw < 180 && k < 40)
        load_bf16_pair(to, e_z + (nhw * 40 + k));
}

KERNEL(128, 5) conv2d_bf16_n2_c16_h9_w10_k40_r3_s3_pad1_relu_y_b_k_z_n_h_w_k_e08a0d2c(const element_t *x, const element_t *w, const output_t *e_b, const output_t *e_z, output_t *y)
{
    const unsigned shared = shared_base(), block = blockIdx.x;
    const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;

    /* The first points of this block's tile, and of this warp's part of it. */
    const unsigned nhw_block = (block / 2) * 64;
    const unsigned k_block = (block % 2) * 32;
    const unsigned nhw_warp = (warp / 2) * 32, k_warp = (warp % 2) * 16;

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
            copy_x(shared + step * STAGE_BYTES, x, nhw_block, step);
            copy_w(shared + step * STAGE_BYTES + W_TILE, w, k_block, step);
        }
        cp_async_commit();
    }

    unsigned stage = 0, next = PREFETCH_DISTANCE;
    /* A part's fragments are loaded while the part before is multiplied, so those of two parts are in registers. The
     * first tiles are there once every thread has waited for its own copies. */
    unsigned x_part[PARTS][4 * ROWS], w_part[PARTS][2 * COLUMNS];
    cp_async_wait(PREFETCH_DISTANCE - 1);
    __syncthreads();
    load_x(x_part[0], shared + stage * STAGE_BYTES, nhw_warp, 0);
    load_w(w_part[0], shared + stage * STAGE_BYTES + W_TILE, k_warp, 0);
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
            load_x(x_part[following], shared + stage * STAGE_BYTES, nhw_warp, following);
            load_w(w_part[following], shared + stage * STAGE_BYTES + W_TILE, k_warp, following);
            if (part == 0 && step + PREFETCH_DISTANCE < STEPS) {
                copy_x(shared + next * STAGE_BYTES, x, nhw_block, step + PREFETCH_DISTANCE);
                copy_w(shared + next * STAGE_BYTES + W_TILE, w, k_block, step + PREFETCH_DISTANCE);
            }
            #pragma unroll
            for (unsigned i = 0; i < ROWS; ++i)
                #pragma unroll
                for (unsigned j = 0; j < COLUMNS; ++j)
                    mma_m16n8k16_bf16(sum[i][j], x_part[part] + 4 * i, w_part[part] + 2 * j);
        }
        next = next + 1 == STAGES ? 0 : next + 1;
    }

    /* A lane holds pairs of neighbours along k. What the epilogue reads for those of a column tile is loaded before
     * the first of them is stored. */
    #pragma unroll
    for (unsigned j = 0; j < COLUMNS; ++j) {
        const unsigned column = k_block + k_warp + j * 8 + (lane % 4) * 2;
        float v_b[2];
        load_e_b(v_b, e_b, column);
        float v_z[ROWS][2][2];
        #pragma unroll
        for (unsigned i = 0; i < ROWS; ++i)
            #pragma unroll
            for (unsigned half = 0; half < 2; ++half) {
                const unsigned row = nhw_block + nhw_warp + i * 16 + half * 8 + lane / 4;
                load_e_z(v_z[i][half], e_z, row, column);
            }
        #pragma unroll
        for (unsigned i = 0; i < ROWS; ++i)
            #pragma unroll
            for (unsigned half = 0; half < 2; ++half) {
                const unsigned row = nhw_block + nhw_warp + i * 16 + half * 8 + lane / 4;
                output_t *to = y + row * 40 + column;
                if (row < 180 && column < 40)
                    store_bf16_pair(to, epilogue(sum[i][j][2 * half], v_b[0], v_z[i][half][0]), epilogue(sum[i][j][2 * half + 1], v_b[1], v_z[i][half][1]));
            }

    }
}
