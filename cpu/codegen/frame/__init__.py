"""The frame of a C file, around its functions.

Read in this order:

    frames    the frames of C files, in `templates/`
    operands  the operands in the file's comment
    remarks   the other comments
    call      the function that makes a call by itself, with memory and threads of its own
    header    the headers of saved kernels
    example   the program that shows how a saved kernel is called
"""
