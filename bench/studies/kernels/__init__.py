"""What single ideas in kernels gain.

Read in this order:

    deployed   the speed of a saved kernel called from C, beside its tuned speed
    fused      the cost of an epilogue that is fused into the store
    prefetch   the gain of prefetches in kernels
    limits     what keeps kernels from the peak, one thing at a time
    tiles      the times of tile registers on this CPU
    schedules  registers and memory of a GPU's schedules, beside an earlier commit
    shifts     Triton's shift-convolutions, fused and in steps
"""
