"""Passes of schemes that end with a matrix instruction of a warp, and what they share.

Read in this order:

    check_matrix         which of these schemes have a kernel
    instructions         the instructions of a warp, with their meaning over its lanes
    stage_matrices       tiles of the inputs in shared memory, as matrices
    copy_asynchronously  numbers of 16 and 32 bits by cp.async
    multiply_matrices    tiles of a warp on its lanes, products by mma.sync
    gather_rows          odd rows of 16 bits through registers
    share_sums           parts of sums by several blocks or clusters
    load_matrices        words of lanes by ldmatrix
    store_pairs          neighbours that a lane holds in one access
    load_once            what an epilogue reads of a row or column once
    swizzle              rows of a tile in different banks
"""
