"""A scheme as CUDA.

Read in this order:

    pipeline/  a scheme that ends with a matrix instruction, read as a pipeline
    copies/    how inputs come to where they are multiplied
    program    an emitted kernel, and what its launch needs
    loops/     the text of programs and schemes: loops as CUDA
"""
