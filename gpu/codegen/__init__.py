"""A scheme as CUDA.

Read in this order:

    pipeline/  a scheme that ends with a matrix instruction, read as a pipeline
    copies/    how inputs come to where they are multiplied
    epilogue   what happens to each sum before it is stored
    program    an emitted kernel, and what its launch needs
    emit       the kernel's text
    loops/     programs, and schemes without a matrix instruction: loops as CUDA text
"""
