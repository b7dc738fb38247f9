"""What register tiles touch in the arrays of a problem.

Read in this order:

    access       how register tiles reach the arrays: what passes, model and search ask
    footprint    how many bytes of each tensor a tile touches, and which taps fall on padding
    flat_pixels  the flattened pixels of an image: h and w as one dim, hw
    pixel_blocks blocks of pixels as one pixel of many channels
    bias         the bias that sums begin with, where an epilogue adds one
"""
