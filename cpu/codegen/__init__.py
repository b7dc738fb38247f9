"""Prints a scheme as C.

Read in this order:

    expression        blocks of C as text
    operands          the operands in the file's comment, and the file's constants
    check             which valid schemes a CPU kernel can be written for
    epilogue          the epilogue as a C function
    pack              the function that packs the weights
    copies            the copy of x that a kernel makes first
    winograd          Winograd's algorithm around the products of an ordinary scheme
    call              the function that makes a call by itself, with memory and threads of its own
    emit              the whole C file, in the frames of `templates/`
    arrays            the arrays that a kernel takes, in the number formats of its problem
    program/          the C text of a program that is no product
"""
