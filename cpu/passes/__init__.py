"""The passes of a CPU kernel, one idea a file: each takes loops and gives loops. `order` has the list.

Read in this order:

    order               the list of passes
    exchange_lanes      groups of channels side by side in a vector
    pack_weights        weights in the order in which loops read them
    packing             the loops that pack
    copy_runs           copies of x as moves of memory
    stage_panels        a part of x that several tiles share, packed on the way
    stage_strips        flattened images, copied strip by strip
    prefetch            cache lines, before they are needed
    bound_pixels        flattened pixels, without the gaps between rows
    bound_taps          taps on padding, left out by the bounds of loops
    split_cases         padding and the last vector, decided by position
    outline             a function for each kind of register tile
    bind_cores          core loops as one parallel loop
    share_sums          what sums of Winograd's transforms have in common
    matrix_tiles        steps as matrix instructions
    transpose_stores    outputs whose neighbours are rows of a tile
    vectorise           loops over lanes as vector instructions
    walk_pointers       pointers of each loop
    order_step          the multiplications of a step
    unroll              unrolled loops, written out
    hoist_accumulators  accumulators as registers
    own_registers       accumulators that begin with a bias
    load_zero           the zero of an epilogue
    stream_stores       stores past the caches
    store_lines         narrow vectors that fill a line
    share_threads       what one thread of a team does, and where its buffers lie
    program/            the passes of programs that are no product
"""
