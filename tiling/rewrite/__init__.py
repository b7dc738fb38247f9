"""Rewrites of a problem into an equal one: each file says when its rewrite applies, or why it does not.

Read in this order:

    unvectorised   a scheme without V and M, as one for a CPU
    parts          a sum that cores share, as sums of its parts and their addition
    dot_groups     a problem of narrow numbers as one of dot groups
    copied_rows    a product whose a is copied first, its sums along rows
    weight_groups  what a dot group of the weights holds, and how many numbers a packed copy has
    flattened      a convolution with its pixels as one dim
    grouped        convolutions of few channels per group: several groups in one vector
    pointwise      pointwise convolutions of channels-first images as matrix products
    copied         a copy of an input, as data
    aligned        inputs in rows that a copy engine finds
    blocked        images of few channels in blocks of pixels
    copies/        the copies of x: which one a kernel makes, and each as loops
    winograd/      Winograd's algorithm for 3 x 3 convolutions of stride 1
"""
