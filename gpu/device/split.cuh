/*
 * What blocks need that add up one tile together, as PTX: sums kept in memory, and a ticket for who comes last.
 * Source: PTX ISA, "Memory consistency model": an atom.acq_rel after a barrier publishes what the whole block wrote before
 * it, and lets the block, after another barrier, see what those published who took earlier tickets. The same holds of a warp.
 */

/* Four sums of a thread to memory, past the L1, which no other multiprocessor sees. */
DEVICE void store_sums(float *to, const float *sum)
{
    asm volatile("st.global.cg.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(to), "f"(sum[0]), "f"(sum[1]), "f"(sum[2]), "f"(sum[3]) : "memory");
}

/* Adds four sums that lie in memory. */
DEVICE void add_sums(float *sum, const float *from)
{
    float more[4];
    asm volatile("ld.global.cg.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(more[0]), "=f"(more[1]), "=f"(more[2]), "=f"(more[3]) : "l"(from) : "memory");
    #pragma unroll
    for (unsigned i = 0; i < 4; ++i)
        sum[i] += more[i];
}

/* How many took a ticket before; after the last of `count` it begins again at 0. */
DEVICE unsigned take_ticket(unsigned *ticket, unsigned count)
{
    unsigned before;
    asm volatile("atom.acq_rel.gpu.global.inc.u32 %0, [%1], %2;" : "=r"(before) : "l"(ticket), "r"(count - 1) : "memory");
    return before;
}

/* Tells every lane of a warp whether `value` is true for any of them; no barrier. */
DEVICE int any_lane(int value) { return __any_sync(0xffffffff, value); }

/* A barrier of the block that tells every thread whether `value` is true for any of them. */
DEVICE int any_thread(int value) { return __syncthreads_or(value); }
