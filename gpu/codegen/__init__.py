"""A scheme as CUDA.

Read in this order:

    instructions     the matrix instructions, and task maps that say which lane holds which element
    pipeline         tiles, stages and workers of a GPU pipeline
    reading          reads a scheme as a pipeline, or raises SchemeError with the reason
    operand          how one input's tile lies in shared memory, and how threads copy it there
    gather           the same copy where rows are not aligned: threads shift chunks into place in registers
    fragments        how a warp loads fragments from shared memory
    split_k          split-K: which block has which part of a reduction, and where partial sums lie
    epilogue         what happens to each sum before it is stored
    epilogue_arrays  how a lane loads the arrays that an epilogue names
    residual         the TMA copy of an epilogue's array that has the output's layout, z in `relu(y + b + z)`
    program          an emitted kernel, and what its launch needs
    tensor_map       an array's shape and the box of it that one TMA copy moves
    aligned          copies of inputs that TMA cannot read where they lie
    tma              how Hopper's TMA pipeline copies and stores: tensor maps, and the text of one step
    emit             the kernel's text
    loops/           programs: loops as CUDA text
"""
