"""A model's library: its kernels, the C text around them, and the files.

Read in this order:

    kernels  the C text of each step's kernel, by `search` or by rules
    places   where each array lies: in a caller's array, in the file of weights, or in the arena
    steps    the C lines of a model's steps
    text     the function that calls the kernels in order, its header, an example, a Makefile
    times    what steps took, and the layouts that were chosen by it, in the store
    build    compiles all to one library, and packs the weights
"""
