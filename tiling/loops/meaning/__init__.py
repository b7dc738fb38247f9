"""What loops of any form compute: slow, plain, and independent of every pass.

Read in this order:

    functions     what the functions of values mean
    workers       who is at work, and who has waited for whom
    memory        arrays whose every access is checked
    roles         two roles of warps, side by side
    prefetches    which cache lines are prefetched
    slices        loops over lanes as slices of arrays
    known         which instructions, nests and loops over threads can run at once
    scope         what names stand for at a place of a kernel
    points        values and places in many iterations at once
    buffers       makes buffers, and sees them from elsewhere
    asynchronous  copies, mbarriers and prefetches, whose effect comes later
    lanes         runs the lanes of a vector, and nests of loops, at once
    together      runs what all threads of a loop do at once
    interpret     runs loops
"""
