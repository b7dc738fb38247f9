"""The edge: this CPU, its compiler, files and processes. Nothing here knows what a kernel computes.

Read in this order:

    host           what this CPU is: vendor, ISA flags, caches, a fingerprint
    toolchain      the C compiler: finding it, asking what it can do, running it
    cache_folder   the folder of compiled kernels: what lies there, its limit, builds under way
    cache          compiled kernels kept on disk, each compiled once
    cache_command  the command that shows, empties and limits the cache
    library        compiles C text once per machine
    loading        loads a shared object from bytes
    timer          seconds per call, peak FMA rate and bandwidths, timed in C
    probe          measures one core of this machine: peak and bandwidths
    neighbours     repeats a measurement when other programs used its cores
    numbers        the number formats of arrays
    taken_names    the names that C, C++ or a C library takes
    output         prints results, and ends quietly when nobody reads them any more
    plural         numbers of things in sentences
    worker         runs functions in a child process: a crash or a hang of a kernel costs one child
    worker_child   the child's side of `cpu.runtime.worker`
    pool           runs many tasks in several workers
"""
