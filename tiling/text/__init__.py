"""What people type and read: shapes, suites, schemes as text, the names of kernels.

Read in this order:

    notation  the text form of a scheme: parse and print
    shapes    the text forms of a problem: suite names, key=value lists, benchdnn descriptors
    suite     lists of real networks' layers, and how often each network has them
    symbol    the C name of a problem's kernel
"""
