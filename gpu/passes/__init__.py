"""From plain loops to those of blocks, warps and threads. A pass for each idea; every form has the same meaning.

In this folder, and in its rooms:

    order         the lists of passes, of programs and of schemes
    check_scheme  which schemes have a kernel
    facts/        what passes ask: kinds of workers, what is read and written
    values/       what is computed: safe indices, f32, zeros in place of tests
    threads/      loops on blocks, warps and lanes
    rows/         rows of programs on teams of threads
    memory/       shared memory, barriers, wide accesses
    matrices/     matrix instructions of warps, and the tiles that they read
"""
