"""Passes of schemes that end with a matrix instruction of a warpgroup, Hopper's wgmma, and what they share.

After them a launch reads so:

    the tiles of all stages, and mbarriers that say of each stage whether it is full or empty
    the warps that multiply:                         a warp that copies, beside them:
      for each tile, for each step:                    for each tile, for each step:
        wait until the stage is full                     wait until the stage is empty
        wgmma on it; the stage before is empty           ask the copy engine to fill it
      leave the sums in boxes, have these stored

Read in this order:

    instructions          the instructions of a warpgroup, with their meaning over its lanes
    kinds                 which kind of kernel such a scheme has
    check_warpgroup       which of these schemes have a kernel
    cut_tiles             tiles across the depth, in the blocks that wgmma reads
    join_steps            one loop of steps over taps and channels
    pixels                which windows of an image a tile has the pixels of
    copy_boxes            tiles by the copy engine, counted at an mbarrier
    multiply_warpgroups   products by wgmma, which reads the tiles in shared memory
    multiply_beside       products that go on while threads copy
    specialise_warps      a warp that copies ahead beside the warps that multiply
    take_turns            warpgroups that take tiles in turns, each its own (ping-pong)
    store_boxes           outputs by the copy engine, from two buffers of each warp
    load_residual         what an epilogue adds at each point, by the copy engine to these buffers
    share_copies          copies that the blocks of a cluster share
"""
