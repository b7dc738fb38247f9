"""Rewrites of a problem into an equal one: each file says when its rewrite applies, or why it does not.

Read in this order:

    unvectorised  a scheme without V and M, as one for a CPU
    parts       a sum that cores share, as sums of its parts and their addition
    dot_groups  a problem of narrow numbers as one of dot groups
    flattened   a convolution with its pixels as one dim
    grouped     convolutions of few channels per group: several groups in one vector
    im2col      the copies of x that dot groups need
    laid_out    the copy of x as flattened pixels, with zeros between the rows
    pointwise   pointwise convolutions of channels-first images as matrix products
    panels      the panels of their x that tiles share, S(x)
    copy_plan   which copy of x a kernel makes
    copies_of_x  the one that it makes first, as loops
    strips      which strips of an image a scheme may copy, S(x)
    transposed  the copy of x whose channels come last
    winograd    Winograd's algorithm for 3 x 3 convolutions of stride 1
    winograd_tiles  its transforms of tiles, as functions of loops
    winograd_loops  its loops around the products
    winograd_weights  its packing: the transform of the weights
    weight_groups  what a dot group of the weights holds, and how many numbers a packed copy has
"""
