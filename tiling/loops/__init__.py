"""The loops that a scheme stands for: as a nest that is priced, and as a program that passes refine.

Read in this order:

    nest        a scheme as a nest, one node a loop
    show        a scheme as indented pseudo-code
    prefetch    what register tiles prefetch
    index       index expressions
    language    the nodes of the loop language
    lower       a scheme as plain loops of the language
    interpret   runs loops of any form
    functions   what the functions of values mean
    sums        sums of registers by numbers, as values
    rewrite     the walks that passes share
    listing     a kernel of any form as pseudo-code
"""
