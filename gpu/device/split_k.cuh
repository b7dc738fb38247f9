/*
 * The device layer of split-K, as PTX: blocks leave partial sums in memory, and a semaphore, whose values are semaphores,
 * tells which block comes last and adds them up. Source: PTX ISA, "Memory consistency model". An atom.acq_rel after a
 * barrier publishes what the whole block wrote before it. After another barrier, the block sees what the takers of
 * earlier split-K semaphores published. The same holds for a warp.
 */

/* Stores four sums of a thread past the L1, which no other multiprocessor sees. */
DEVICE void store_sums(float *to, const float *sum)
{
    asm volatile("st.global.cg.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(to), "f"(sum[0]), "f"(sum[1]), "f"(sum[2]), "f"(sum[3]) : "memory");
}

/* Adds four sums from memory to those of a thread. */
DEVICE void add_sums(float *sum, const float *from)
{
    float more[4];
    asm volatile("ld.global.cg.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(more[0]), "=f"(more[1]), "=f"(more[2]), "=f"(more[3]) : "l"(from) : "memory");
    #pragma unroll
    for (unsigned i = 0; i < 4; ++i)
        sum[i] += more[i];
}

/* Returns how many semaphores were taken before. After the last one of `count`, it starts again at 0. */
DEVICE unsigned take_semaphore(unsigned *semaphore, unsigned count)
{
    unsigned before;
    asm volatile("atom.acq_rel.gpu.global.inc.u32 %0, [%1], %2;" : "=r"(before) : "l"(semaphore), "r"(count - 1) : "memory");
    return before;
}
