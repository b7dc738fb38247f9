"""Sums of products in a program, which the search tiles as it tiles a matrix product or a convolution.

Read in this order:

    product  a sum of products by the roles of its dims
    anchor   sums of products as problems of `tiling.operators`
    stores   the maps that follow an anchor, as an epilogue
"""
