"""The loop language, in which a kernel is written until it is printed.

Read in this order:

    index      index expressions
    language   the nodes of the loop language
    values     the dtype of a value
    sums       sums of registers by numbers, as values
    c_text     indices and conditions as text of C and CUDA
    nests      loops whose points need nothing of each other
    walk       the statements of a kernel, one after the other
    writes     which arrays a kernel writes to
    spans      between which places it does
    rewrite    the changes that passes share
    lanes      which lanes of its operands an instruction brings together
    passes     what a pass is, and a kernel after each of a list
    quotients  quotients of numbers that are never negative
    listing    a kernel of any form as pseudo-code
    lowering/  from a scheme to loops
    meaning/   what loops of any form compute
"""
