"""Sums of products in a program, which the search tiles as it tiles a matrix product or a convolution.

Read in this order:

    product  a sum of products by the roles of its dims
    anchor   sums of products as problems of `tiling.operators`
    lay_out  the copy of an operand in another order of its axes
    stores   the maps that follow an anchor, as an epilogue
"""
