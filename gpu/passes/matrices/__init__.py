"""Passes of schemes that end with a matrix instruction of a warp, and what they share.

Read in this order:

    check_matrix         which of these schemes have a kernel
    instructions         the instructions of a warp, with their meaning over its lanes
    stage_matrices       tiles of the inputs in shared memory, as matrices
    copy_asynchronously  numbers of 16 and 32 bits by cp.async
    fill_ahead           rings of stages
    multiply_matrices    tiles of a warp on its lanes, products by mma.sync
    share_sums           parts of sums by several blocks
    load_matrices        words of lanes by ldmatrix
    load_ahead           the next part's words while this one is multiplied
    store_pairs          neighbours that a lane holds in one access
    load_once            what an epilogue reads of a row or column once
    unroll_copies        what a thread copies, at fixed distances
    swizzle              rows of a tile in different banks
    keep_loops           loops that compilers may not unroll
"""
