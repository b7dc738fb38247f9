"""The twin: it runs a kernel's text on a CPU, thread by thread, and checks every access.

Read in this order:

    layer         the device layer, compiled once for all kernels
    launch        compiles a kernel's text with the twin's headers, and runs it
    program       runs the launches of a program
    twin.h        threads, shared and global memory, cp.async, ldmatrix and mma
    twin_wgmma.h  Hopper's wgmma
    twin_tma.h   Hopper's TMA copies, mbarriers and clusters
    twin_split_k.h  split-K: semaphores and partial sums
    twin_elements.h  the elements that programs read and write
"""
