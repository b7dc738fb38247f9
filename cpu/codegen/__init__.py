"""Prints a scheme as C.

Read in this order:

    site              a place where the nest computes a register tile, with its cases of padding and masking
    expression        blocks of C as text, and the terms of addresses
    operands          the operands in the file's comment, and the file's constants
    check             which valid schemes a CPU kernel can be written for
    epilogue          the epilogue as a C function
    transposed_store  transposed output: the output's neighbours are rows of a tile, not lanes
    tile              a register tile as a C function
    dispatch          which tile function a position calls
    panel             `S(x)`: the packed panel of x that register tiles share
    flat_pixels       the copy of x as flattened pixels, with zeros between the rows
    nest              the loops around the register tiles
    pack              the function that packs the weights
    transposed_copy   the transposed copy of x, where tiles need the channels of a pixel side by side
    im2col            the copies of x that a kernel makes first: im2col, zeros beside rows, alignment
    winograd          Winograd's algorithm around the products of an ordinary scheme
    emit              the whole C file
    arrays            the arrays that a kernel takes, in the number formats of its problem
"""
