"""A GPU as a target, and its CPU emulation.

Read in this order:

    backend   the part that needs no GPU: problems, schedules, compiling
    report    what a report says about a kernel
    check     checks outputs against limits around a reference
    measure   what a worker process runs: it compiles, loads, checks and times candidates
    cuda      this process's GPU
    twin      the CPU emulation, a target of its own
    programs  kernels of programs: on the twin, and as CUDA text
    cuda_programs  kernels of programs on this process's GPU
"""
