/*
 * The device layer of Hopper's bulk copies as PTX for sm_90a: tiles that a tensor map describes go between global and
 * shared memory without a thread's help, mbarriers tell when they have arrived, and blocks of a cluster see each other's
 * shared memory. Source: PTX ISA, "mbarrier", "cp.async.bulk.tensor" and "Tensors"; CUDA driver API, "Tensor Map Object
 * Management".
 */

/* What the driver makes of a tensor's shape and box; a kernel's parameter. */
struct __align__(64) tensor_map { unsigned long long opaque[16]; };
#define TENSOR_MAP const __grid_constant__ tensor_map

/* KERNEL for clusters of so many blocks. */
#define CLUSTER_KERNEL(threads, blocks, cluster) \
    extern "C" __global__ void __cluster_dims__(cluster, 1, 1) __launch_bounds__(threads, blocks)

/* ---- clusters ---- */

DEVICE unsigned cluster_rank(void)
{
    unsigned rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}

/* The barrier of all threads of the cluster, in two halves. */
DEVICE void cluster_arrive(void) { asm volatile("barrier.cluster.arrive;" ::: "memory"); }
DEVICE void cluster_wait(void) { asm volatile("barrier.cluster.wait;" ::: "memory"); }

/* Moves registers between warpgroups, to `count` a thread; every warp of a warpgroup calls the same. */
#define registers_take(count) asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(count))
#define registers_give(count) asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(count))

/* ---- mbarriers: 8 bytes of shared memory ---- */

/* A phase ends with so many arrivals, and as many bytes as were expected. */
DEVICE void mbarrier_init(unsigned barrier, unsigned arrivals)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}

/* Shows initialised mbarriers to copies and to the cluster. */
DEVICE void mbarrier_fence_init(void) { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }

DEVICE void mbarrier_arrive(unsigned barrier)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

/* Arrives at the mbarrier that lies at the same place in block `rank` of the cluster. It says that reads are over and publishes
 * no writes of this thread: with .release.cluster ptxas would put a fence of the whole GPU before it (MEMBAR.ALL.GPU), in
 * every step of a pipeline; CUTLASS's ClusterBarrier::arrive(cta_id) has none either. */
DEVICE void mbarrier_arrive_at(unsigned barrier, unsigned rank)
{
    asm volatile("{ .reg .b32 remote; mapa.shared::cluster.u32 remote, %0, %1;"
                 "mbarrier.arrive.shared::cluster.b64 _, [remote]; }"
                 ::"r"(barrier), "r"(rank) : "memory");
}

/* Arrives, and has the phase wait for so many bytes of copies as well. */
DEVICE void mbarrier_expect(unsigned barrier, unsigned bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}

/* Returns once the phase of this parity has ended; parity 1 of a new mbarrier has. It acquires within the block (the default):
 * what comes from other blocks of the cluster comes by bulk copies, which the mbarrier counts by their bytes, and after
 * their arrivals only a copy follows. .acquire.cluster would empty the L1 every time (CCTL.IVALL). */
DEVICE void mbarrier_wait(unsigned barrier, unsigned parity)
{
    asm volatile("{ .reg .pred over; again: mbarrier.try_wait.parity.shared::cta.b64 over, [%0], %1;"
                 "@!over bra again; }" ::"r"(barrier), "r"(parity) : "memory");
}

/* ---- from global to shared memory ---- */

/* The box of a tensor map, from these coordinates on, innermost first; what lies outside the tensor arrives as zeros.
 * The first coordinate is a multiple of 16 bytes: from elsewhere on the hardware copies nothing but stops the kernel at an illegal
 * instruction. Source: Triton, issue 7385 and `materialize_pointers` of its interpreter; TileLang, issue 2527, on an H100.
 * With _multicast it arrives at the same place in every block of the mask, and counts at the mbarrier there. */
DEVICE void copy_box_2d(unsigned to, const tensor_map *map, unsigned barrier, int x0, int x1)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%3, %4}], [%2];"
                 ::"r"(to), "l"(map), "r"(barrier), "r"(x0), "r"(x1)
                 : "memory");
}

DEVICE void copy_box_2d_multicast(unsigned to, const tensor_map *map, unsigned barrier, int x0, int x1,
                                  unsigned short blocks)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
                 "[%0], [%1, {%3, %4}], [%2], %5;"
                 ::"r"(to), "l"(map), "r"(barrier), "r"(x0), "r"(x1), "h"(blocks)
                 : "memory");
}

DEVICE void copy_box_3d(unsigned to, const tensor_map *map, unsigned barrier, int x0, int x1, int x2)
{
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%3, %4, %5}], [%2];"
                 ::"r"(to), "l"(map), "r"(barrier), "r"(x0), "r"(x1), "r"(x2)
                 : "memory");
}

DEVICE void copy_box_3d_multicast(unsigned to, const tensor_map *map, unsigned barrier, int x0, int x1, int x2,
                                  unsigned short blocks)
{
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
                 "[%0], [%1, {%3, %4, %5}], [%2], %6;"
                 ::"r"(to), "l"(map), "r"(barrier), "r"(x0), "r"(x1), "r"(x2), "h"(blocks)
                 : "memory");
}

DEVICE void copy_box_4d(unsigned to, const tensor_map *map, unsigned barrier, int x0, int x1, int x2, int x3)
{
    asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%3, %4, %5, %6}], [%2];"
                 ::"r"(to), "l"(map), "r"(barrier), "r"(x0), "r"(x1), "r"(x2), "r"(x3)
                 : "memory");
}

DEVICE void copy_box_4d_multicast(unsigned to, const tensor_map *map, unsigned barrier, int x0, int x1, int x2, int x3,
                                  unsigned short blocks)
{
    asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
                 "[%0], [%1, {%3, %4, %5, %6}], [%2], %7;"
                 ::"r"(to), "l"(map), "r"(barrier), "r"(x0), "r"(x1), "r"(x2), "r"(x3), "h"(blocks)
                 : "memory");
}

/* The map's pixels of an image (N, H, W, C) in the order of the windows that a convolution's output has, from the window at
 * pixel (n, h, w) on: of each window the pixel that lies so far to the right and down, from channel c on. */
DEVICE void copy_pixels(unsigned to, const tensor_map *map, unsigned barrier, int c, int w,
                        int h, int n, unsigned short right, unsigned short down)
{
    asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%3, %4, %5, %6}], [%2], {%7, %8};"
                 ::"r"(to), "l"(map), "r"(barrier), "r"(c), "r"(w), "r"(h), "r"(n), "h"(right), "h"(down)
                 : "memory");
}

DEVICE void copy_pixels_multicast(unsigned to, const tensor_map *map, unsigned barrier, int c, int w,
                                  int h, int n, unsigned short right, unsigned short down, unsigned short blocks)
{
    asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes.multicast::cluster "
                 "[%0], [%1, {%3, %4, %5, %6}], [%2], {%7, %8}, %9;"
                 ::"r"(to), "l"(map), "r"(barrier), "r"(c), "r"(w), "r"(h), "r"(n), "h"(right), "h"(down), "h"(blocks)
                 : "memory");
}

/* ---- from shared to global memory ---- */

/* Stores the map's box there; what lies outside the tensor is left out. */
DEVICE void store_box_2d(const tensor_map *map, unsigned from, int x0, int x1)
{
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%1, {%2, %3}], [%0];"
                 ::"r"(from), "l"(map), "r"(x0), "r"(x1) : "memory");
}

DEVICE void store_box_3d(const tensor_map *map, unsigned from, int x0, int x1, int x2)
{
    asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [%1, {%2, %3, %4}], [%0];"
                 ::"r"(from), "l"(map), "r"(x0), "r"(x1), "r"(x2) : "memory");
}

DEVICE void bulk_commit(void) { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }

/* Returns once all but the last `pending` of this thread's groups have read what they store. */
#define bulk_wait_read(pending) asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(pending) : "memory")

/* Bits that lie rounded in shared memory to global memory: of two neighbours of 16 bits or one of 32, and of one of 16. */
DEVICE void store_word(void *to, unsigned bits) { *(unsigned *)to = bits; }

DEVICE void store_half_word(void *to, unsigned bits) { *(unsigned short *)to = (unsigned short)bits; }

/* Two neighbours of a result to shared memory, rounded to nearest even. */
DEVICE void stage_f32_pair(unsigned to, float first, float second)
{
    asm volatile("st.shared.v2.f32 [%0], {%1, %2};" ::"r"(to), "f"(first), "f"(second) : "memory");
}

DEVICE void stage_f16_pair(unsigned to, float first, float second)
{
    unsigned bits;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(bits) : "f"(second), "f"(first));
    asm volatile("st.shared.u32 [%0], %1;" ::"r"(to), "r"(bits) : "memory");
}

DEVICE void stage_bf16_pair(unsigned to, float first, float second)
{
    unsigned bits;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(bits) : "f"(second), "f"(first));
    asm volatile("st.shared.u32 [%0], %1;" ::"r"(to), "r"(bits) : "memory");
}
