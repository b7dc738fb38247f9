/*
 * conv2d c=64,h=4,w=20,k=40,r=3,s=1,pad_h=1,dtype=bf16,epilogue=relu(y+b[k])
 *
 * Written by Tilewright VERSION from the scheme
 *
 *     T(h,4) L(k, 1x2 + 1x1) S(y) T(r,3) T(c,2) U(w,20) U(k,λ) D(c,32) V(k,16)
 *
 *     for h in 4 steps of 1:
 *       for k in 1 step of 32:
 *         with the tile of y in registers:
 *           for r in 3 steps of 1:
 *             for c in 2 steps of 1:
 *               register tile 32k × 20w
 *       for k in 1 step of 16 from 32:
 *         with the tile of y in registers:
 *           for r in 3 steps of 1:
 *             for c in 2 steps of 1:
 *               register tile 16k × 20w
 *
 * Microkernels:
 *     bf16_conv2d_ukernel_20wx32k_s1__amxbf16: 20 rows x 2 vectors of sums in tile registers
 *     bf16_conv2d_ukernel_20wx16k_s1__amxbf16: 20 rows x 1 vectors of sums in tile registers
 *
 * Operands, row-major bf16:
 *     X: x[n, h + r - 1, w + s, c] of 1 x 4 x 20 x 64
 *     W: w[k, c, r, s] of 40 x 64 x 3 x 1
 *     Y: y[n, h, w, k] of 1 x 4 x 20 x 40
 *     E_b: b[k] of 40
 *     W is packed: the scheme's panels, one after the other, with reduction points in the order of its loops.
 */
#include <immintrin.h>
#include <stdint.h>
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A dot group: neighbours that an instruction multiplies and adds, several numbers of x or of a lane of the weights. */
typedef uint32_t word;

/* Tile register t holds rows[t] rows of bytes[t] bytes. */
struct shapes {
    uint8_t palette, start, reserved[14];
    uint16_t bytes[16];
    uint8_t rows[16];
};
static inline const struct shapes *shaped(const struct shapes *wanted, const struct shapes *now)
{
    if (wanted != now) __asm__ volatile("ldtilecfg %0" : : "m"(*wanted));
    return wanted;
}
/* Tile registers are tmm0 to tmm7. */
#define tiles_end() __asm__ volatile("tilerelease")
#define tile_zero(t) __asm__ volatile("tilezero %%" #t : :)
#define tile_load(t, p, step) \
    __asm__ volatile("tileloadd (%0,%1,1), %%" #t : : "r"(p), "r"((long)(step)) : "memory")
#define tile_store(t, p, step) \
    __asm__ volatile("tilestored %%" #t ", (%0,%1,1)" : : "r"(p), "r"((long)(step)) : "memory")
/* Adds to row i and lane j of tile acc the products of row i of tile x and column j of tile w. */
#define tile_dot(acc, x, w) __asm__ volatile("tdpbf16ps %%" #w ", %%" #x ", %%" #acc : :)

/* Multiplies two vectors, for its side effect. The units that multiply vectors sleep after some 600 ns without work,
 * and the next tile_store then waits 250 ns for them. With this, 36 steps and their stores take 910 ns; without it,
 * 1173 (`python -m bench.tiles` on Sapphire Rapids). */
#define stay_awake() __asm__ volatile("vpmaddwd %%xmm15, %%xmm15, %%xmm15" : : : "xmm15")

/* Whether the CPU has tile registers and the system gives them to this process. Asked once: the process then keeps
 * them, and its signal stacks must have room for them. */
static __attribute__((target("no-avx"))) int tiles_given(void)
{
    static int known = -1;
    unsigned a, b, c, d;
    int given = __atomic_load_n(&known, __ATOMIC_RELAXED);
    if (given < 0) {
        const int there = __get_cpuid_count(7, 0, &a, &b, &c, &d) && d >> 24 & 1 && d >> 22 & 1;
        given = there && syscall(SYS_arch_prctl, 0x1023, 18) == 0;
        __atomic_store_n(&known, given, __ATOMIC_RELAXED);
    }
    return given;
}

static inline __m256i to_bf16(__m512 v) { return (__m256i)_mm512_cvtneps_pbh(v); }
static inline __m512i line_of_bf16(__m512 a, __m512 b) { return (__m512i)_mm512_cvtne2ps_pbh(b, a); }

/* Elements (words of X) between neighbours along each axis: X_h is along h of X. W has none: tiles read it packed, in
 * the order of the loops. */
static const long X_h = 640;
static const long X_w = 32;
static const long X_c = 16;
static const long Y_h = 800;
static const long Y_w = 40;
static const long Y_k = 1;
static const long STEP_b_k = 1;

#define TAIL ((__mmask16)0x00ff) /* the 8 lanes used of the last vector */

/* The shapes of the tile registers in each kind of register tile: rows of sums, of x and of the weights. */
static const struct shapes SHAPES_0 = {1, 0, {0}, {64, 64, 64, 64, 64, 64, 64, 64}, {10, 10, 10, 10, 10, 10, 16, 16}};
static const struct shapes SHAPES_1 = {1, 0, {0}, {64, 64, 64, 64, 64}, {10, 10, 10, 10, 16}};

/* The epilogue, applied to each vector as it is stored:
 *
 *     relu(y+b[k])
 *
 * A NaN gives a NaN. Errors are in units in the last place (ulp) of the result. An exponential below about e^-87 counts
 * as 0, by which a result may be off by 2^-119 besides. */
/* Volatile, so a tile reads zero once, when its sums are done. gcc would keep a bound that it knows in a register
 * through the inner loops, and spill an accumulator for it: above all zero, with which it also clears accumulators. */
static const volatile __m512 zeros = {0};
static inline __m512 relu_of(__m512 v, __m512 zero) { return _mm512_max_ps(zero, v); }

static inline __m512 epilogue(__m512 y, __m512 e_b, __m512 zero)
{
    return relu_of(y + e_b, zero);
}

/* 20 rows x 2 vectors, summed over r from r_begin to r_end, c from 0 to 2. */
static void tile0_20wx32k(const word *x, const word *w, uint16_t *y, const float *e_b, long r_begin, long r_end)
{
    __m512 acc[20][2];
    tile_zero(tmm0);
    tile_zero(tmm1);
    tile_zero(tmm2);
    tile_zero(tmm3);
    for (long r = r_begin; r < r_end; ++r) {
        const word *x_r = x + r * X_h;
        const word *w_r = w + 1024 * r;
        for (long c = 0; c < 2; ++c) {
            const word *x_c = x_r + c * X_c;
            const word *w_c = w_r + 512 * c;
            { tile_load(tmm4, x_c, X_w * sizeof *x); tile_load(tmm6, w_c, 16 * sizeof *w); tile_dot(tmm0, tmm4, tmm6); tile_load(tmm7, w_c + 256, 16 * sizeof *w); tile_dot(tmm1, tmm4, tmm7); }
            { tile_load(tmm5, x_c + 10 * X_w, X_w * sizeof *x); tile_dot(tmm2, tmm5, tmm6); tile_dot(tmm3, tmm5, tmm7); }
            stay_awake();
        }
    }
    tile_store(tmm0, &acc[0][0], sizeof *acc);
    tile_store(tmm1, &acc[0][1], sizeof *acc);
    tile_store(tmm2, &acc[10][0], sizeof *acc);
    tile_store(tmm3, &acc[10][1], sizeof *acc);
    const __m512 zero = zeros;
    _mm512_storeu_si512(y, line_of_bf16(epilogue(acc[0][0], _mm512_loadu_ps(e_b), zero), epilogue(acc[0][1], _mm512_loadu_ps(e_b + 16 * STEP_b_k), zero)));
    _mm512_storeu_si512(y + Y_w, line_of_bf16(epilogue(acc[1][0], _mm512_loadu_ps(e_b), zero), epilogue(acc[1][1], _mm512_loadu_ps(e_b + 16 * STEP_b_k), zero)));
    _mm512_storeu_si512(y + 2 * Y_w, line_of_bf16(epilogue(acc[2][0], _mm512_loadu_ps(e_b), zero), epilogue(acc[2][1], _mm512_loadu_ps(e_b + 16 * STEP_b_k), zero)));
    _mm512_storeu_si512(y + 3 * Y_w, line_of_bf16(epilogue(acc[3][0], _mm512_loadu_ps(e_b), zero), epilogue(acc[3][1], _mm512_loadu_ps(e_b + 16 * STEP_b_k), zero)));
    _mm512_storeu_si512(y + 4 * Y_w, line_of_bf16(epilogue(acc[4][0], _mm512_loadu_ps(e_b), zero), epilogue(acc[4][1], _mm512_loadu_ps(e_b + 16 * STEP_b_k), zero)));
    _mm512_storeu_si512(y + 5 * Y_w, line_of_bf16(epilogue(acc[5][0], _mm512_loadu_ps(e_b), zero), epilogue(acc[5][1], _mm512_loadu_ps(e_b + 16 * STEP_b_k), zero)));
    _mm512_storeu_si512(y + 6 * Y_w, line_of_bf16(epilogue(acc[6][0], _mm512_loadu_ps(e_b), zero), epilogue(acc[6][1], _mm512_loadu_ps(e_b + 16 * STEP_b_k), zero)));
    _mm512_storeu_si512(y + 7 * Y_w, line_of_bf16(epilogue(acc[7][0], _mm512_loadu_ps(e_b), zero), epilogue(acc[7][1], _mm512_loadu_ps(e_b + 16 * STEP_b_k), zero)));
    _mm512_storeu_si512(y + 8 * Y_w, line_of_bf16(epilogue(acc[8][0], _mm512_loadu_ps(e_b), zero), epilogue(acc[8][1], _mm512_loadu_ps(e_b + 16 * STEP_b_k), zero)));
    _mm512_storeu_si512(y + 9 * Y_w, line_of_bf16(epilogue(acc[9][0], _mm512_loadu_ps(e_b), zero), epilogue(acc[9][1], _mm512_loadu_ps(e_b + 16 * STEP_b_k), zero)));
    _mm512_storeu_si512(y + 10 * Y_w, line_of_bf16(epilogue(acc[10][0], _mm512_loadu_ps(e_b), zero), epilogue(acc[10][1], _mm512_loadu_ps(e_b + 16 * STEP_b_k), zero)));
    _mm512_storeu_si512(y + 11 * Y_w, line_of_bf16(epilogue(acc[11][0], _mm512_loadu_ps(e_b), zero), epilogue(acc[11][1], _mm512_loadu_ps(e_b + 16 * STEP_b_k), zero)));
    _mm512_storeu_si512(y + 12 * Y_w, line_of_bf16(epilogue(acc[12][0], _mm512_loadu_ps(e_b), zero), epilogue(acc[12][1], _mm512_loadu_ps(e_b + 16 * STEP_b_k), zero)));
    _mm512_storeu_si512(y + 13 * Y_w, line_of_bf16(epilogue(acc[13][0], _mm512_loadu_ps(e_b), zero), epilogue(acc[13][1], _mm512_loadu_ps(e_b + 16 * STEP_b_k), zero)));
    _mm512_storeu_si512(y + 14 * Y_w, line_of_bf16(epilogue(acc[14][0], _mm512_loadu_ps(e_b), zero), epilogue(acc[14][1], _mm512_loadu_ps(e_b + 16 * STEP_b_k), zero)));
    _mm512_storeu_si512(y + 15 * Y_w, line_of_bf16(epilogue(acc[15][0], _mm512_loadu_ps(e_b), zero), epilogue(acc[15][1], _mm512_loadu_ps(e_b + 16 * STEP_b_k), zero)));
    _mm512_storeu_si512(y + 16 * Y_w, line_of_bf16(epilogue(acc[16][0], _mm512_loadu_ps(e_b), zero), epilogue(acc[16][1], _mm512_loadu_ps(e_b + 16 * STEP_b_k), zero)));
    _mm512_storeu_si512(y + 17 * Y_w, line_of_bf16(epilogue(acc[17][0], _mm512_loadu_ps(e_b), zero), epilogue(acc[17][1], _mm512_loadu_ps(e_b + 16 * STEP_b_k), zero)));
    _mm512_storeu_si512(y + 18 * Y_w, line_of_bf16(epilogue(acc[18][0], _mm512_loadu_ps(e_b), zero), epilogue(acc[18][1], _mm512_loadu_ps(e_b + 16 * STEP_b_k), zero)));
    _mm512_storeu_si512(y + 19 * Y_w, line_of_bf16(epilogue(acc[19][0], _mm512_loadu_ps(e_b), zero), epilogue(acc[19][1], _mm512_loadu_ps(e_b + 16 * STEP_b_k), zero)));
}

/* 20 rows x 1 vectors, summed over r from r_begin to r_end, c from 0 to 2. */
static void tile1_20wx16k(const word *x, const word *w, uint16_t *y, const float *e_b, long r_begin, long r_end)
{
    __m512 acc[20][1];
    tile_zero(tmm0);
    tile_zero(tmm1);
    for (long r = r_begin; r < r_end; ++r) {
        const word *x_r = x + r * X_h;
        const word *w_r = w + 512 * r;
        for (long c = 0; c < 2; ++c) {
            const word *x_c = x_r + c * X_c;
            const word *w_c = w_r + 256 * c;
            { tile_load(tmm2, x_c, X_w * sizeof *x); tile_load(tmm4, w_c, 16 * sizeof *w); tile_dot(tmm0, tmm2, tmm4); }
            { tile_load(tmm3, x_c + 10 * X_w, X_w * sizeof *x); tile_dot(tmm1, tmm3, tmm4); }
            stay_awake();
        }
    }
    tile_store(tmm0, &acc[0][0], sizeof *acc);
    tile_store(tmm1, &acc[10][0], sizeof *acc);
    const __m512 zero = zeros;
    _mm256_mask_storeu_epi16(y, TAIL, to_bf16(epilogue(acc[0][0], _mm512_maskz_loadu_ps(TAIL, e_b), zero)));
    _mm256_mask_storeu_epi16(y + Y_w, TAIL, to_bf16(epilogue(acc[1][0], _mm512_maskz_loadu_ps(TAIL, e_b), zero)));
    _mm256_mask_storeu_epi16(y + 2 * Y_w, TAIL, to_bf16(epilogue(acc[2][0], _mm512_maskz_loadu_ps(TAIL, e_b), zero)));
    _mm256_mask_storeu_epi16(y + 3 * Y_w, TAIL, to_bf16(epilogue(acc[3][0], _mm512_maskz_loadu_ps(TAIL, e_b), zero)));
    _mm256_mask_storeu_epi16(y + 4 * Y_w, TAIL, to_bf16(epilogue(acc[4][0], _mm512_maskz_loadu_ps(TAIL, e_b), zero)));
    _mm256_mask_storeu_epi16(y + 5 * Y_w, TAIL, to_bf16(epilogue(acc[5][0], _mm512_maskz_loadu_ps(TAIL, e_b), zero)));
    _mm256_mask_storeu_epi16(y + 6 * Y_w, TAIL, to_bf16(epilogue(acc[6][0], _mm512_maskz_loadu_ps(TAIL, e_b), zero)));
    _mm256_mask_storeu_epi16(y + 7 * Y_w, TAIL, to_bf16(epilogue(acc[7][0], _mm512_maskz_loadu_ps(TAIL, e_b), zero)));
    _mm256_mask_storeu_epi16(y + 8 * Y_w, TAIL, to_bf16(epilogue(acc[8][0], _mm512_maskz_loadu_ps(TAIL, e_b), zero)));
    _mm256_mask_storeu_epi16(y + 9 * Y_w, TAIL, to_bf16(epilogue(acc[9][0], _mm512_maskz_loadu_ps(TAIL, e_b), zero)));
    _mm256_mask_storeu_epi16(y + 10 * Y_w, TAIL, to_bf16(epilogue(acc[10][0], _mm512_maskz_loadu_ps(TAIL, e_b), zero)));
    _mm256_mask_storeu_epi16(y + 11 * Y_w, TAIL, to_bf16(epilogue(acc[11][0], _mm512_maskz_loadu_ps(TAIL, e_b), zero)));
    _mm256_mask_storeu_epi16(y + 12 * Y_w, TAIL, to_bf16(epilogue(acc[12][0], _mm512_maskz_loadu_ps(TAIL, e_b), zero)));
    _mm256_mask_storeu_epi16(y + 13 * Y_w, TAIL, to_bf16(epilogue(acc[13][0], _mm512_maskz_loadu_ps(TAIL, e_b), zero)));
    _mm256_mask_storeu_epi16(y + 14 * Y_w, TAIL, to_bf16(epilogue(acc[14][0], _mm512_maskz_loadu_ps(TAIL, e_b), zero)));
    _mm256_mask_storeu_epi16(y + 15 * Y_w, TAIL, to_bf16(epilogue(acc[15][0], _mm512_maskz_loadu_ps(TAIL, e_b), zero)));
    _mm256_mask_storeu_epi16(y + 16 * Y_w, TAIL, to_bf16(epilogue(acc[16][0], _mm512_maskz_loadu_ps(TAIL, e_b), zero)));
    _mm256_mask_storeu_epi16(y + 17 * Y_w, TAIL, to_bf16(epilogue(acc[17][0], _mm512_maskz_loadu_ps(TAIL, e_b), zero)));
    _mm256_mask_storeu_epi16(y + 18 * Y_w, TAIL, to_bf16(epilogue(acc[18][0], _mm512_maskz_loadu_ps(TAIL, e_b), zero)));
    _mm256_mask_storeu_epi16(y + 19 * Y_w, TAIL, to_bf16(epilogue(acc[19][0], _mm512_maskz_loadu_ps(TAIL, e_b), zero)));
}

/* Whether this CPU runs the kernel. This function and the packing run on any CPU. */
__attribute__((target("no-avx"))) int conv2d_bf16_c64_h4_w20_k40_r3_s1_pad_h1_relu_y_b_k_27faefbe__amxbf16_supported(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512bf16") && tiles_given();
}

/* The loops over tiles. Their variables are positions. A tile gets pointers to its own first x, panel and y. */
/* Y is not restrict, for two reasons. An array of its shape may be Y itself. And the compiler then reads the other
 * arrays where they are used: read earlier, they would take registers from the accumulators. */
void conv2d_bf16_c64_h4_w20_k40_r3_s1_pad_h1_relu_y_b_k_27faefbe__amxbf16_run(const uint16_t *restrict input, const uint16_t *restrict packed, uint16_t *Y, const float *E_b)
{
    const word *const X = (const word *)input;
    const word *const W = (const word *)packed;
    const struct shapes *shape = 0;
    for (long h = 0; h < 4; ++h) {
        const long r_begin = (0 > -h + 1 ? 0 : -h + 1);
        const long r_end = (3 < -h + 5 ? 3 : -h + 5);
        shape = shaped(&SHAPES_0, shape);
        tile0_20wx32k(X + (h - 1) * X_h, W, Y + h * Y_h, E_b, r_begin, r_end);
        shape = shaped(&SHAPES_1, shape);
        tile1_20wx16k(X + (h - 1) * X_h, W + 3072, Y + h * Y_h + 32 * Y_k, E_b + 32 * STEP_b_k, r_begin, r_end);
    }
    tiles_end();
}

/* Packs the weights. They lie in memory as w[k, c, r, s] of 40 x 64 x 3 x 1. */
__attribute__((target("no-avx"))) void conv2d_bf16_c64_h4_w20_k40_r3_s1_pad_h1_relu_y_b_k_27faefbe__amxbf16_pack_run(const uint16_t *restrict W, uint16_t *restrict packed)
{
    const long W_k = 192, W_c = 3, W_r = 1;
    for (long r = 0; r < 3; ++r) {
        for (long c = 0; c < 2; ++c) {
            for (long k_u = 0; k_u < 2; ++k_u) {
                for (long word = 0; word < 16; ++word) {
                    for (long lane = 0; lane < 16; ++lane) {
                        for (long number = 0; number < 2; ++number) {
                            if (16 * k_u + lane < 40) {
                                packed[512 * k_u + 2 * lane + 2048 * r + 1024 * c + 32 * word + number] = W[(16 * k_u + lane) * W_k + (32 * c + 2 * word + number) * W_c + r * W_r];
                            } else {
                                packed[512 * k_u + 2 * lane + 2048 * r + 1024 * c + 32 * word + number] = 0;
                            }
                        }
                    }
                }
            }
        }
    }
    for (long r = 0; r < 3; ++r) {
        for (long c = 0; c < 2; ++c) {
            for (long word = 0; word < 16; ++word) {
                for (long lane = 0; lane < 16; ++lane) {
                    for (long number = 0; number < 2; ++number) {
                        if (lane + 32 < 40) {
                            packed[2 * lane + 1024 * r + 512 * c + 32 * word + number + 6144] = W[(lane + 32) * W_k + (32 * c + 2 * word + number) * W_c + r * W_r];
                        } else {
                            packed[2 * lane + 1024 * r + 512 * c + 32 * word + number + 6144] = 0;
                        }
                    }
                }
            }
        }
    }
}

/*
 * A whole call: it checks the CPU.
 * A caller that has done so calls conv2d_bf16_c64_h4_w20_k40_r3_s1_pad_h1_relu_y_b_k_27faefbe__amxbf16_run.
 */
#include <stdio.h>
#include <stdlib.h>

void conv2d_bf16_c64_h4_w20_k40_r3_s1_pad_h1_relu_y_b_k_27faefbe__amxbf16(const uint16_t *restrict input, const uint16_t *restrict packed, uint16_t *Y, const float *E_b)
{
    if (!conv2d_bf16_c64_h4_w20_k40_r3_s1_pad_h1_relu_y_b_k_27faefbe__amxbf16_supported()) {
        fputs("conv2d_bf16_c64_h4_w20_k40_r3_s1_pad_h1_relu_y_b_k_27faefbe__amxbf16: this CPU lacks avx512f or avx512vl or fma or avx512bw or avx512_bf16 or amx_tile or amx_bf16\n", stderr);
        abort();
    }
    conv2d_bf16_c64_h4_w20_k40_r3_s1_pad_h1_relu_y_b_k_27faefbe__amxbf16_run(input, packed, Y, E_b);
}

/* Packs the weights, once for many calls. */
__attribute__((target("no-avx"))) void conv2d_bf16_c64_h4_w20_k40_r3_s1_pad_h1_relu_y_b_k_27faefbe__amxbf16_pack(const uint16_t *restrict W, uint16_t *restrict packed)
{
    conv2d_bf16_c64_h4_w20_k40_r3_s1_pad_h1_relu_y_b_k_27faefbe__amxbf16_pack_run(W, packed);
}
