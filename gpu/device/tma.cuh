/*
 * The device layer of Hopper's TMA copies, as PTX for sm_90a. TMA copies a tile that a tensor map describes between
 * global and shared memory, without help from threads. mbarriers tell when a tile has arrived. Blocks of a cluster see
 * each other's shared memory. Source: PTX ISA, "mbarrier", "cp.async.bulk.tensor" and "Tensors"; CUDA driver API,
 * "Tensor Map Object Management".
 */

/* A tensor map: the driver encodes a tensor's shape and box in it. A kernel takes it as a parameter. */
struct __align__(64) tensor_map { unsigned long long opaque[16]; };
#define TENSOR_MAP const __grid_constant__ tensor_map

/* A kernel with blocks of `threads` threads, in clusters of `cluster` blocks. A multiprocessor must have registers for
 * at least `blocks` of them. */
#define CLUSTER_KERNEL(threads, blocks, cluster) \
    extern "C" __global__ void __cluster_dims__(cluster, 1, 1) __launch_bounds__(threads, blocks)

/* ---- clusters ---- */

DEVICE unsigned cluster_rank(void)
{
    unsigned rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}

/* The barrier of all threads of the cluster, in two halves. It publishes no writes of its threads: mbarriers have
 * fences of their own. Without .relaxed, ptxas would put a fence of the whole GPU before it (MEMBAR.ALL.GPU). */
DEVICE void cluster_arrive(void) { asm volatile("barrier.cluster.arrive.relaxed;" ::: "memory"); }
DEVICE void cluster_wait(void) { asm volatile("barrier.cluster.wait;" ::: "memory"); }

/* ---- mbarriers: 8 bytes of shared memory ---- */

/* A phase of an mbarrier ends after `arrivals` arrivals, once all expected bytes have come. */
DEVICE void mbarrier_init(unsigned barrier, unsigned arrivals)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}

/* Makes initialised mbarriers visible to copies and to the cluster. */
DEVICE void mbarrier_fence_init(void) { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }

DEVICE void mbarrier_arrive(unsigned barrier)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

/* Arrives at the mbarrier at the same place in block `rank` of the cluster. This says that reads are over; it publishes
 * no writes of this thread. With .release.cluster, ptxas would put a fence of the whole GPU before it (MEMBAR.ALL.GPU),
 * in every step of a pipeline. CUTLASS's ClusterBarrier::arrive(cta_id) has no such fence either. */
DEVICE void mbarrier_arrive_at(unsigned barrier, unsigned rank)
{
    asm volatile("{ .reg .b32 remote; mapa.shared::cluster.u32 remote, %0, %1;"
                 "mbarrier.arrive.shared::cluster.b64 _, [remote]; }"
                 ::"r"(barrier), "r"(rank) : "memory");
}

/* Arrives, and lets the phase end only after `bytes` more bytes of copies. */
DEVICE void mbarrier_expect(unsigned barrier, unsigned bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}

/* Returns once the phase of this parity has ended. In a new mbarrier the phase of parity 1 counts as ended. It acquires
 * within the block, which is the default and is enough: data from other blocks of the cluster comes by TMA copies,
 * whose bytes the mbarrier counts, and only a copy follows their arrivals. .acquire.cluster would empty the L1 every
 * time (CCTL.IVALL). */
DEVICE void mbarrier_wait(unsigned barrier, unsigned parity)
{
    asm volatile("{ .reg .pred over; again: mbarrier.try_wait.parity.shared::cta.b64 over, [%0], %1;"
                 "@!over bra again; }" ::"r"(barrier), "r"(parity) : "memory");
}

/* Fetches a tensor map for the copy engine, which needs it for the first copy of its array. */
DEVICE void prefetch_map(const tensor_map *map) { asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory"); }

/* ---- from global to shared memory ---- */

/* Copies the box of a tensor map that begins at these coordinates, innermost first. Elements outside the tensor are
 * zeros. The first coordinate must be a multiple of 16 bytes; else the hardware stops the kernel with an illegal
 * instruction. Source: Triton, issue 7385 and `materialize_pointers` of its interpreter; TileLang, issue 2527, on an
 * H100. With _multicast the box arrives at the same place in each block of the mask `blocks`, and counts at the
 * mbarrier there. */
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

/* Copies pixels of an image (N, H, W, C), one for each window, in the order of a convolution's output. The first window
 * begins at pixel (n, h, w). The pixel of a window lies `right` and `down` from its first one; channels begin at c. */
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

/* Stores a box at these coordinates. Elements outside the tensor are not stored. */
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

DEVICE void tma_commit(void) { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }

/* Returns once all of this thread's groups but the last `pending` have read the bytes that they store. */
#define tma_wait_read(pending) asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(pending) : "memory")
