"""A scheme that ends with a matrix instruction, read as a pipeline.

Read in this order:

    instructions  the matrix instructions, and task maps that say which lane holds which element
    stages        tiles, stages and workers of a pipeline
    reading       reads a scheme as a pipeline, or raises SchemeError with the reason
"""
