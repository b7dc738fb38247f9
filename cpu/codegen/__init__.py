"""Prints a scheme as C.

Read in this order:

    expression        blocks of C as text
    operands          the operands in the file's comment, and the file's constants
    check             which valid schemes a CPU kernel can be written for
    epilogue          the epilogue as a C function
    flat_pixels       the copy of x as flattened pixels, with zeros between the rows
    pack              the function that packs the weights
    transposed_copy   the transposed copy of x, where tiles need the channels of a pixel side by side
    im2col            the copies of x that a kernel makes first: im2col, zeros beside rows, alignment
    winograd          Winograd's algorithm around the products of an ordinary scheme
    emit              the whole C file
    arrays            the arrays that a kernel takes, in the number formats of its problem
    program/          the C text of a program that is no product
"""
