"""The loop language, in which a kernel is written until it is printed.

Read in this order:

    index      index expressions
    language   the nodes of the loop language
    values     the dtype of a value
    sums       sums of registers by numbers, as values
    rewrite    the walks that passes share
    listing    a kernel of any form as pseudo-code
    lowering/  from a scheme to loops
    meaning/   what loops of any form compute
"""
