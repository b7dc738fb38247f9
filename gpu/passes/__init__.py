"""From plain loops to loops over blocks, warps and threads. One pass for each idea; every form has the same meaning.

In this folder, and in its rooms:

    order         the lists of passes, for programs and for schemes
    check_scheme  which schemes have a kernel
    facts/        facts that passes ask for: kinds of workers, accesses to memory
    values/       how values are computed: safe indices, f32, zeros in place of tests
    threads/      loops on blocks, warps and lanes
    rows/         rows of programs on teams of threads
    memory/       shared memory, barriers, wide accesses
    matrices/     matrix instructions of warps, and the tiles that they read
    steps/        what the steps of a warp's scheme copy and load when
    warpgroups/   matrix instructions of warpgroups, and a warp that copies for them
    each_thread/  the end of both lists: tests for workers, stores that round
"""
