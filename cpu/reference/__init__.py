"""What kernels must compute, from the definition.

Read in this order:

    oracle          the sums of a problem, test data, and the bound of a float32 kernel's error
    epilogue        what follows the sum, with a bound of its error
    winograd        test data and the error bound for Winograd's algorithm
    programs        each statement of a program, by its definition
    program_bounds  how far roundings can take a kernel of a program from it
"""
