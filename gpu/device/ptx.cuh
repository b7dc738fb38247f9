/*
 * The device layer as PTX, for NVRTC. Emitted kernels call only what is declared here and in twin.h, which is the same
 * layer on a CPU. Source: PTX ISA, sections "Warp-level matrix instructions" and "Asynchronous copy".
 *
 * Addresses of shared memory are bytes in its 32-bit window. A copy that is not `inside` reads nothing and writes
 * zeros. Waits and copies clobber memory, so that the compiler moves no access across them.
 */
#define DEVICE static __device__ __forceinline__

/* A kernel with blocks of `threads` threads. A multiprocessor must have registers for at least `blocks` of them. */
#define KERNEL(threads, blocks) extern "C" __global__ void __launch_bounds__(threads, blocks)

extern __shared__ __align__(1024) unsigned char dynamic_shared_memory[];

/* The address of this block's dynamic shared memory, a multiple of 1024. */
DEVICE unsigned shared_base(void) { return (unsigned)__cvta_generic_to_shared(dynamic_shared_memory); }

/* cp.async copies to shared memory while the thread goes on. .cg keeps 16 bytes out of L1; 8 and 4 bytes need .ca. */
DEVICE void cp_async_16(unsigned to, const void *from, int inside)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(inside ? 16 : 0) : "memory");
}

DEVICE void cp_async_8(unsigned to, const void *from, int inside)
{
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(to), "l"(from), "r"(inside ? 8 : 0) : "memory");
}

DEVICE void cp_async_4(unsigned to, const void *from, int inside)
{
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(to), "l"(from), "r"(inside ? 4 : 0) : "memory");
}

/* Takes elements `first` to `end` - 1 of the eight 16-bit elements at `from`, which is any even address, and puts them
 * at their places in the four words of `to`, which are zeros there. It reads whole aligned chunks of 16 bytes that hold
 * these elements, so up to 14 bytes beyond an array, never beyond the chunk of its last element. Its loads do not wait
 * for earlier ones. */
DEVICE void gather_16(unsigned *to, const void *from, int first, int end)
{
    const unsigned shift = (unsigned)(unsigned long long)from & 15;
    const int held = 8 - (int)shift / 2; /* elements in the first of the two aligned chunks */
    unsigned words[8];
    first = first > 0 ? first : 0;
    end = end < 8 ? end : 8;
    #pragma unroll
    for (int half = 0; half < 2; ++half)
        asm("{ .reg .pred p; setp.ne.b32 p, %5, 0; mov.b32 %0, 0; mov.b32 %1, 0; mov.b32 %2, 0; mov.b32 %3, 0;"
            "@p ld.global.nc.v4.u32 {%0, %1, %2, %3}, [%4]; }"
            : "=&r"(words[4 * half]), "=&r"(words[4 * half + 1]), "=&r"(words[4 * half + 2]), "=&r"(words[4 * half + 3])
            : "l"((const char *)from - shift + 16 * half), "r"((int)(first < end && (half ? end > held : first < held))));
    /* Shift by eight bytes, by four, and then by two, which mixes each word with its neighbour. */
    #pragma unroll
    for (int i = 0; i < 6; ++i)
        words[i] = shift & 8 ? words[i + 2] : words[i];
    #pragma unroll
    for (int i = 0; i < 5; ++i)
        words[i] = shift & 4 ? words[i + 1] : words[i];
    #pragma unroll
    for (int i = 0; i < 4; ++i)
        words[i] = __funnelshift_r(words[i], words[i + 1], (shift & 2) * 8);
    if (first > 0 || end < 8)
        #pragma unroll
        for (int i = 0; i < 4; ++i)
            words[i] &= (first <= 2 * i && end > 2 * i ? 0xffff : 0) | (first <= 2 * i + 1 && end > 2 * i + 1 ? 0xffff0000 : 0);
    #pragma unroll
    for (int i = 0; i < 4; ++i)
        to[i] |= words[i];
}

/* Stores 16 bytes from registers to shared memory. */
DEVICE void store_shared_16(unsigned to, const unsigned *words)
{
    asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(words[0]), "r"(words[1]), "r"(words[2]), "r"(words[3]) : "memory");
}

/* Stores 16 bytes from registers to global memory. */
DEVICE void store_16(void *to, const unsigned *words)
{
    asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(words[0]), "r"(words[1]), "r"(words[2]), "r"(words[3]) : "memory");
}

DEVICE void cp_async_commit(void) { asm volatile("cp.async.commit_group;" ::: "memory"); }

/* Returns once all of this thread's groups but the last `pending` have arrived. Those of others need a barrier. */
#define cp_async_wait(pending) asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory")

/* ldmatrix loads four 8x8 matrices of 16-bit elements. Lane 8i + j gives the address of row j of matrix i. From each
 * matrix lane l receives elements 2(l % 4) and 2(l % 4) + 1 of row l / 4, or with _trans of column l / 4. */
DEVICE void ldmatrix_x4(unsigned *to, unsigned row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3]) : "r"(row) : "memory");
}

DEVICE void ldmatrix_x4_trans(unsigned *to, unsigned row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3]) : "r"(row) : "memory");
}

/* Loads one 32-bit element of shared memory for each lane. */
DEVICE unsigned load_shared(unsigned from)
{
    unsigned value;
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(value) : "r"(from) : "memory");
    return value;
}

/* d += a·b for a (16,16) and b (16,8), which are a warp's fragments; d is f32. */
DEVICE void mma_m16n8k16_f16(float *d, const unsigned *a, const unsigned *b)
{
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

DEVICE void mma_m16n8k16_bf16(float *d, const unsigned *a, const unsigned *b)
{
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

/* d += a·b for a (16,8) and b (8,8). */
DEVICE void mma_m16n8k8_tf32(float *d, const unsigned *a, const unsigned *b)
{
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

/* Rounds the bits of an f32 to tf32, to nearest. The matrix instruction would truncate them. */
DEVICE unsigned round_tf32(unsigned bits)
{
    unsigned rounded;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(rounded) : "f"(__uint_as_float(bits)));
    return rounded;
}

/* Load one element of global memory, as f32. */
DEVICE float load_f32(const void *from) { return *(const float *)from; }

DEVICE float load_f16(const void *from)
{
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(*(const unsigned short *)from));
    return value;
}

DEVICE float load_bf16(const void *from) { return __uint_as_float((unsigned)*(const unsigned short *)from << 16); }

/* Stores an element to global memory. */
DEVICE void store_f32(void *to, float value) { *(float *)to = value; }
