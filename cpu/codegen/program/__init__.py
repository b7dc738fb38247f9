"""The C text of a program's kernel.

Read in this order:

    names        names that C and the file leave free
    functions    the C functions of vectors, by function and dtype
    print        the statements as C
    emit         the whole file
"""
