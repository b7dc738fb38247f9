"""Passes that bind loops to blocks, warps and lanes.

Read in this order:

    split_launches    the kernel as launches, one after the other
    transpose_tiles   transposing maps through shared memory
    bind_points       points of maps on threads, neighbours on neighbours
    join_launches     launches that need nothing of each other as one
    bind_blocks       a scheme's loops over blocks as the blocks of a launch
    bind_clusters     its loops over clusters as clusters that take the tiles in turns
    state_conditions  conditions in place of flags
    interleave_points points of a warp dealt to its lanes in turns
    bind_threads      its loops over warps and lanes as threads, which stage together
    move_registers    registers of warps that copy for those that multiply
    skip_blocks       blocks that lie beyond an edge do nothing
    skip_turns        warpgroups that take turns leave out products and copies beyond an edge
    combine_lanes     the results of threads combined: across lanes, then across warps
    elect_threads     one thread where one store is enough
"""
