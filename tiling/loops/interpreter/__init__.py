"""Runs loops of any form: slow, plain, and independent of every pass.

Read in this order:

    scope         what names stand for at a place of a kernel
    points        values and places in many iterations at once
    buffers       makes buffers, and sees them from elsewhere
    asynchronous  copies, mbarriers and prefetches, whose effect comes later
    roles         two roles of warps, side by side
    lanes         runs the lanes of a vector at once
    iterations    runs the iterations of a nest at once
    each_thread   what names stand for in each of many threads
    touched       the elements that they touch
    together      runs what all threads of a loop do at once
    workers       runs loops over workers of a GPU, and roles
    instructions  runs an instruction by its meaning
    interpret     runs loops
"""
