"""What passes and printers ask of loops.

Read in this order:

    nests      how many iterations loops have, and whether these need nothing of each other
    writes     which arrays a kernel writes to
    spans      between which places it does
    values     the dtype of a value
    sums       sums of registers by numbers, as values
    lanes      which lanes of its operands an instruction brings together
"""
