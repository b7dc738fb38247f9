"""What people type and read: shapes, suites, schemes as text, the names of kernels.

Read in this order:

    notation    the text form of a scheme: parse and print
    shapes      the text forms of a problem: a suite's layer, key=value pairs, a descriptor of benchdnn
    pairs       key=value pairs
    descriptor  descriptors of benchdnn
    suite       lists of real networks' layers, and how often each network has them
    symbol      the C name of a problem's kernel
    numbers     numbers as generated code spells them
"""
