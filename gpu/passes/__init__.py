"""From plain loops to those of blocks, warps and threads. A pass for each idea; every form has the same meaning.

Read in this order:

    order            the lists of passes, of programs and of schemes
    workers          the kinds of workers, their variables and their numbers
    reading          what a block of statements reads and writes
    split_launches   the kernel as launches, one after the other
    guard_gathers    elements whose index is read: inside, or reported
    bind_points      points of maps on threads, neighbours on neighbours
    widen            four neighbours in one access
    bind_rows        rows on blocks, short ones on warps
    place_rows       the arrays of a row in shared memory, or in global memory
    share_rows       the loops of a row on the threads of its team
    combine_lanes    what threads have found: across lanes, then across warps
    elect_threads    one thread where one store is enough
    allocate_shared  where arrays of shared memory lie, by their lifetimes
    place_barriers   barriers where threads need what others wrote

And of schemes, before the last two:

    check_scheme     which schemes without a matrix instruction have a kernel
    compute_in_f32   numbers of 16 bits are f32 while they are computed with
    bind_blocks      the loops over blocks as the blocks of a launch
    bind_threads     the loops over warps and lanes as threads, which stage together
    stage_tiles      tiles of the inputs in shared memory
    widen_copies     four neighbours of a tile in one access
    add_zeros        no test around products of tiles that hold zeros beyond the edges
"""
