"""The copies of x: which one a kernel makes, and each as plain loops.

A *word* has 32 bits, a lane of a vector: one number of f32, or the dot group of an instruction on vectors. A *block* is
a run of words: the dot group of a matrix instruction, or the vector that a transposition takes at once.

Read in this order:

    plan        which copy of x a kernel makes
    lower       the copy that it makes before it computes, as loops
    im2col      the copies that dot groups need
    laid_out    flattened pixels, with zeros between the rows
    transposed  the copy whose channels come last
    panels      the panels that tiles share, S(x)
    strips      which strips of an image a scheme may copy, S(x)
"""
