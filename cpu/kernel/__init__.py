"""A kernel that can be called: loaded, given arrays, measured, saved.

Read in this order:

    opened       opens the library of a kernel, and asks it whether this CPU runs it
    callable     a kernel as a Python function; checks arguments
    arguments    takes the arrays of a call from any library, checks them, and gives y back in the same library
    given        which array of a call is which, by place or by name
    dlpack       reads bfloat16 tensors of other libraries as NumPy arrays of their bits
    entry        the fast path of such a call, in C, when all arrays need no conversion
    program      a kernel as a Python function, for programs
    random_inputs  random inputs of a program
    anchored     a program around the kernel of its matrix product or convolution
    batch_norm   folds a batch normalisation into weights and bias
    export       saves a kernel for programs without Python
    export_program  the same for the kernel of a program, around an anchor too
    saved        loads a saved kernel again
    measure      builds, checks and times a candidate in a worker process
"""
