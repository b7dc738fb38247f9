"""Rewrites of a program into an equal one that is faster to compute, in the order of `order`:

    inline              computes maps where they are read
    factor_sums         divides sums instead of their values
    invert_sums         multiplies exponentials by the inverse of their sum
    transpose_operands  operands of products the other way round
    split_sums          long sums in parts

`anchored` cuts a program into an anchor, with what its stores do, and what comes before and after. `lay_out_operands`
makes arrays of operands that no scheme reads.
`axes` and `wider` say how arrays lie in memory, `free_names` and `rename` give other names of arrays and dims, and
`first_axis` the program of one point of that axis.
"""
