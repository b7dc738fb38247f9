"""Winograd's algorithm: a 3 x 3 convolution of stride 1 as products between two transforms.

Read in this order:

    algorithm  the transforms, the problem of the products, and when it applies
    tiles      the transforms of tiles, as functions of loops
    loops      the loops around the products
    weights    packs the weights: their transform
"""
