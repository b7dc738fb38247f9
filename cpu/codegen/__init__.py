"""Prints a scheme as C.

Read in this order:

    arrays    the arrays that a kernel takes, in the number formats of its problem
    check     which valid schemes a CPU kernel can be written for
    indices   places of arrays and strides as C text
    cursors   cursors, which bring lines to L2, as C
    print     the last form of the loops as C, one line a statement
    function_texts  the texts of C functions of vectors, for every instruction set
    vector_functions  these functions for one, with those that only some have
    epilogue  the epilogue as a C function
    masks     the masks of a kernel: names, and what defines them
    definitions  what the text of a kernel calls beside its own functions
    inside    what stands inside the frame of a C file: tile functions, and the loops around them
    frame/    the frame of a C file, around its functions
    pack      the function that packs the weights
    winograd  Winograd's algorithm around the products of an ordinary scheme
    emit      the whole C file
    program/  the C text of a program that is no product
"""
