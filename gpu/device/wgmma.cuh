/*
 * The device layer of wgmma, Hopper's matrix instructions, as PTX for sm_90a. Four warps together multiply tiles that
 * lie in shared memory, and go on meanwhile. Source: PTX ISA, "Asynchronous warpgroup level matrix instructions".
 */

/* Makes this thread's writes to shared memory visible to wgmma, which reads through another proxy. */
DEVICE void fence_proxy_async(void) { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

/* Has to stand between the threads' own use of the sums and the first wgmma on them. */
DEVICE void wgmma_fence(void) { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }

/* Keeps the compiler from moving a use of the sum across this place. It does not know that wgmma runs beside the
 * threads. */
DEVICE void pin(float *sum) { asm volatile("" : "+f"(*sum) :: "memory"); }

/* All threads of a warpgroup keep `count` of `from` registers, or take as many more, once others have given them. ptxas
 * knows from the launch bounds how many there are at the beginning. */
#define give_registers(from, count) asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(count))
#define take_registers(from, count) asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(count))

DEVICE void wgmma_commit(void) { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }

/* Returns once all groups of this warpgroup but the last `pending` are done. */
#define wgmma_wait(pending) asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(pending) : "memory")

/* The descriptor of a matrix in shared memory with the depth along its rows of 128 bytes. The swizzle repeats every
 * eight rows, 1024 bytes. The descriptor holds the address and the distance of eight rows, in units of 16 bytes, and
 * swizzle mode 1 (128 bytes). The matrix begins `deep` bytes into the rows: 0, 32, 64 or 96. These are added last, so
 * that the products of a step share the rest. */
DEVICE unsigned long long wgmma_descriptor(unsigned tile, unsigned deep)
{
    const unsigned low = ((tile & 0x3ffff) >> 4 | 1u << 16) + (deep >> 4), high = 1024 >> 4 | 1u << 30;
    return (unsigned long long)high << 32 | low;
}

/* The descriptor of a matrix that lies across the depth, in blocks of 64 points that are `every_64` bytes apart. In a
 * block each depth is a row of 128 bytes. The swizzle repeats every eight depths, 1024 bytes. The matrix begins
 * `deep` bytes, a multiple of 2048, after the first depth. */
DEVICE unsigned long long wgmma_descriptor_across(unsigned tile, unsigned every_64, unsigned deep)
{
    const unsigned low = ((tile & 0x3ffff) >> 4 | (every_64 >> 4) << 16) + (deep >> 4), high = 1024 >> 4 | 1u << 30;
    return (unsigned long long)high << 32 | low;
}

/* The 32, 64, 96 or 128 sums of a lane: their names in the text of an instruction, and their operands. */
#define SUM_NAMES_32 \
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
    "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define SUM_NAMES_64 \
    SUM_NAMES_32 ", " \
    "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, " \
    "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define SUM_NAMES_96 \
    SUM_NAMES_64 ", " \
    "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, " \
    "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95"
#define SUM_NAMES_128 \
    SUM_NAMES_96 ", " \
    "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, " \
    "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"
#define SUMS_8(d, i) \
    "+f"((d)[i]), "+f"((d)[i + 1]), "+f"((d)[i + 2]), "+f"((d)[i + 3]), \
    "+f"((d)[i + 4]), "+f"((d)[i + 5]), "+f"((d)[i + 6]), "+f"((d)[i + 7])
#define SUMS_32(d, i) SUMS_8(d, i), SUMS_8(d, i + 8), SUMS_8(d, i + 16), SUMS_8(d, i + 24)
#define SUMS_64(d, i) SUMS_32(d, i), SUMS_32(d, i + 32)
#define SUMS_96(d, i) SUMS_64(d, i), SUMS_32(d, i + 64)
#define SUMS_128(d, i) SUMS_96(d, i), SUMS_32(d, i + 96)

/* d += a·b by the instruction `shape`, whose text ends with `more`. Its operands are the sums, then a, b and those in
 * `...`. The first of `...` is a 1: the product is added to the sums. `at_…` are the operands' numbers. */
#define WGMMA(shape, sums, names, at_a, at_b, at_one, more, ...) \
    asm volatile( \
        "{ .reg .pred sum; setp.ne.b32 sum, %" at_one ", 0;" \
        "wgmma.mma_async.sync.aligned." shape " {" names "}, %" at_a ", %" at_b ", sum, 1, 1" more "; }" \
        : sums \
        : "l"(a), "l"(b), __VA_ARGS__)

/* d += a·b for a (64,16) and b (16,64); lanes hold d as 8 tiles of mma's (16,8), and each warp holds 16 rows. */
template <int a_across, int b_across> DEVICE void wgmma_m64n64k16_f16_of(float *d, unsigned long long a, unsigned long long b)
{
    WGMMA("m64n64k16.f32.f16.f16", SUMS_32(d, 0), SUM_NAMES_32, "32", "33", "34", ", %35, %36",
          "r"(1), "n"(a_across), "n"(b_across));
}

/* d += a·b for a (64,16) and b (16,64); lanes hold d as 8 tiles of mma's (16,8), and each warp holds 16 rows. */
template <int a_across, int b_across> DEVICE void wgmma_m64n64k16_bf16_of(float *d, unsigned long long a, unsigned long long b)
{
    WGMMA("m64n64k16.f32.bf16.bf16", SUMS_32(d, 0), SUM_NAMES_32, "32", "33", "34", ", %35, %36",
          "r"(1), "n"(a_across), "n"(b_across));
}

/* d += a·b for a (64,16) and b (16,128); lanes hold d as 16 tiles of mma's (16,8), and each warp holds 16 rows. */
template <int a_across, int b_across> DEVICE void wgmma_m64n128k16_f16_of(float *d, unsigned long long a, unsigned long long b)
{
    WGMMA("m64n128k16.f32.f16.f16", SUMS_64(d, 0), SUM_NAMES_64, "64", "65", "66", ", %67, %68",
          "r"(1), "n"(a_across), "n"(b_across));
}

/* d += a·b for a (64,16) and b (16,128); lanes hold d as 16 tiles of mma's (16,8), and each warp holds 16 rows. */
template <int a_across, int b_across> DEVICE void wgmma_m64n128k16_bf16_of(float *d, unsigned long long a, unsigned long long b)
{
    WGMMA("m64n128k16.f32.bf16.bf16", SUMS_64(d, 0), SUM_NAMES_64, "64", "65", "66", ", %67, %68",
          "r"(1), "n"(a_across), "n"(b_across));
}

/* d += a·b for a (64,16) and b (16,192); lanes hold d as 24 tiles of mma's (16,8), and each warp holds 16 rows. */
template <int a_across, int b_across> DEVICE void wgmma_m64n192k16_f16_of(float *d, unsigned long long a, unsigned long long b)
{
    WGMMA("m64n192k16.f32.f16.f16", SUMS_96(d, 0), SUM_NAMES_96, "96", "97", "98", ", %99, %100",
          "r"(1), "n"(a_across), "n"(b_across));
}

/* d += a·b for a (64,16) and b (16,192); lanes hold d as 24 tiles of mma's (16,8), and each warp holds 16 rows. */
template <int a_across, int b_across> DEVICE void wgmma_m64n192k16_bf16_of(float *d, unsigned long long a, unsigned long long b)
{
    WGMMA("m64n192k16.f32.bf16.bf16", SUMS_96(d, 0), SUM_NAMES_96, "96", "97", "98", ", %99, %100",
          "r"(1), "n"(a_across), "n"(b_across));
}

/* d += a·b for a (64,16) and b (16,256); lanes hold d as 32 tiles of mma's (16,8), and each warp holds 16 rows. */
template <int a_across, int b_across> DEVICE void wgmma_m64n256k16_f16_of(float *d, unsigned long long a, unsigned long long b)
{
    WGMMA("m64n256k16.f32.f16.f16", SUMS_128(d, 0), SUM_NAMES_128, "128", "129", "130", ", %131, %132",
          "r"(1), "n"(a_across), "n"(b_across));
}

/* d += a·b for a (64,16) and b (16,256); lanes hold d as 32 tiles of mma's (16,8), and each warp holds 16 rows. */
template <int a_across, int b_across> DEVICE void wgmma_m64n256k16_bf16_of(float *d, unsigned long long a, unsigned long long b)
{
    WGMMA("m64n256k16.f32.bf16.bf16", SUMS_128(d, 0), SUM_NAMES_128, "128", "129", "130", ", %131, %132",
          "r"(1), "n"(a_across), "n"(b_across));
}

/* d += a·b for a (64,8) and b (8,64), in f32 whose low 13 bits are ignored; lanes hold d as for 16-bit elements. */
DEVICE void wgmma_m64n64k8_tf32(float *d, unsigned long long a, unsigned long long b)
{
    WGMMA("m64n64k8.f32.tf32.tf32", SUMS_32(d, 0), SUM_NAMES_32, "32", "33", "34", "", "r"(1));
}

/* d += a·b for a (64,8) and b (8,128), in f32 whose low 13 bits are ignored; lanes hold d as for 16-bit elements. */
DEVICE void wgmma_m64n128k8_tf32(float *d, unsigned long long a, unsigned long long b)
{
    WGMMA("m64n128k8.f32.tf32.tf32", SUMS_64(d, 0), SUM_NAMES_64, "64", "65", "66", "", "r"(1));
}

/* d += a·b for a (64,8) and b (8,192), in f32 whose low 13 bits are ignored; lanes hold d as for 16-bit elements. */
DEVICE void wgmma_m64n192k8_tf32(float *d, unsigned long long a, unsigned long long b)
{
    WGMMA("m64n192k8.f32.tf32.tf32", SUMS_96(d, 0), SUM_NAMES_96, "96", "97", "98", "", "r"(1));
}

/* d += a·b for a (64,8) and b (8,256), in f32 whose low 13 bits are ignored; lanes hold d as for 16-bit elements. */
DEVICE void wgmma_m64n256k8_tf32(float *d, unsigned long long a, unsigned long long b)
{
    WGMMA("m64n256k8.f32.tf32.tf32", SUMS_128(d, 0), SUM_NAMES_128, "128", "129", "130", "", "r"(1));
}

/* Both matrices lie along the depth. */
#define wgmma_m64n64k16_f16(d, a, b) wgmma_m64n64k16_f16_of<0, 0>(d, a, b)
#define wgmma_m64n64k16_bf16(d, a, b) wgmma_m64n64k16_bf16_of<0, 0>(d, a, b)
#define wgmma_m64n128k16_f16(d, a, b) wgmma_m64n128k16_f16_of<0, 0>(d, a, b)
#define wgmma_m64n128k16_bf16(d, a, b) wgmma_m64n128k16_bf16_of<0, 0>(d, a, b)
#define wgmma_m64n192k16_f16(d, a, b) wgmma_m64n192k16_f16_of<0, 0>(d, a, b)
#define wgmma_m64n192k16_bf16(d, a, b) wgmma_m64n192k16_bf16_of<0, 0>(d, a, b)
#define wgmma_m64n256k16_f16(d, a, b) wgmma_m64n256k16_f16_of<0, 0>(d, a, b)
#define wgmma_m64n256k16_bf16(d, a, b) wgmma_m64n256k16_bf16_of<0, 0>(d, a, b)

/* `a_across` and `b_across` are 1 for a matrix that lies across the depth, 0 for one along it. */
#define wgmma_m64n64k16_f16_across(d, a, b, a_across, b_across) wgmma_m64n64k16_f16_of<a_across, b_across>(d, a, b)
#define wgmma_m64n64k16_bf16_across(d, a, b, a_across, b_across) wgmma_m64n64k16_bf16_of<a_across, b_across>(d, a, b)
#define wgmma_m64n128k16_f16_across(d, a, b, a_across, b_across) wgmma_m64n128k16_f16_of<a_across, b_across>(d, a, b)
#define wgmma_m64n128k16_bf16_across(d, a, b, a_across, b_across) wgmma_m64n128k16_bf16_of<a_across, b_across>(d, a, b)
#define wgmma_m64n192k16_f16_across(d, a, b, a_across, b_across) wgmma_m64n192k16_f16_of<a_across, b_across>(d, a, b)
#define wgmma_m64n192k16_bf16_across(d, a, b, a_across, b_across) wgmma_m64n192k16_bf16_of<a_across, b_across>(d, a, b)
#define wgmma_m64n256k16_f16_across(d, a, b, a_across, b_across) wgmma_m64n256k16_f16_of<a_across, b_across>(d, a, b)
#define wgmma_m64n256k16_bf16_across(d, a, b, a_across, b_across) wgmma_m64n256k16_bf16_of<a_across, b_across>(d, a, b)
