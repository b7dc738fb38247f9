"""A scheme as a kernel for this CPU. Read in this order, from the scheme to the machine code:

    site          where a nest computes a register tile, and which cases of padding and masking occur there
    epilogue      what a store does to the sum, as C
    tile          one register tile as a C function
    nest          the loops around it, and the choice of the function by position
    pack          the weights in the order the scheme reads them
    transform     a small constant matrix times a vector of vectors, as C that shares sums
    winograd      Winograd's algorithm around the products of an ordinary scheme
    emit          the whole C file
    kernel        the file compiled, loaded and callable
    export        the kernel for programs without Python
    oracle        what it must compute, from the definition; epilogue_oracle what follows the sum,
                  winograd_oracle what float32 may make of it by Winograd's algorithm
    batch_norm    a batch normalisation folded into weights and bias
    measure       what a worker does with a candidate: build, check, time

then the edge, which knows nothing of schemes:

    host          what this CPU is: vendor, ISA flags, caches, a fingerprint
    toolchain     the C compiler: finding it, asking what it can do, running it
    cache         compiled kernels kept on disk, each compiled once (cache_command looks after them)
    timer         calls per second, peak FMA rate and bandwidths, timed in C
    probe         measured facts of this machine
    worker        isolated runs: a crash or a hang of a kernel costs one child (worker_child is its other side)
"""
