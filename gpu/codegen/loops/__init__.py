"""The CUDA text of loops that passes have bound to blocks, warps and threads.

Read in this order:

    names       names that CUDA and the device layer leave free
    launches    the text, and what its launches need
    functions   functions of single numbers as text
    print       the statements as text
    emit        the whole file of a program
    maps        tensor maps of arrays that have boxes
    copier      the kernel that copies inputs to rows where the copy engine finds them
    scheme      the text of a scheme
"""
