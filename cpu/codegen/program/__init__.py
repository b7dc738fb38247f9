"""The C text of a program's kernel.

Read in this order:

    names        names that neither C nor the file has taken
    functions    the functions of the language in C, by dtype
    definitions  what a file defines: vectors, functions, accesses, shuffles
    needed       those definitions that the statements of a kernel need
    print        the statements as C
    emit         the whole file
    anchored     the file of a function that calls the kernels of a program around an anchor
    explain      why a kernel has its loops, in sentences
"""
