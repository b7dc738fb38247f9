"""What loops of any form compute: slow, plain, and independent of every pass.

Read in this order:

    functions     what the functions of values mean
    workers       who is at work, and who has waited for whom
    memory        arrays whose every access is checked
    roles         two roles of warps, side by side
    prefetches    which cache lines are prefetched
    instructions  the lanes of an instruction, all at once
    scope         what names stand for at a place of a kernel
    buffers       makes buffers, and sees them from elsewhere
    asynchronous  copies, mbarriers and prefetches, whose effect comes later
    lanes         runs the lanes of a vector side by side
    interpret     runs loops
"""
