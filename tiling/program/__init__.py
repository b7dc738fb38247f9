"""Programs: statements of maps, reductions and products over named dims.

Read in this order:

    language     the values: a program, its statements and expressions; `str` writes their text
    functions    the table of functions, with their operators
    names        checks that each name stands for something
    read         reads a text
    indices      index expressions as sums of dims
    dtypes       in which dtype values meet
    infer        extents, shapes and dtypes of a program; checks every index
    operators    the operators of networks, each a program
    inline       computes maps where they are read
    transpose_operands  operands of products the other way round
    split_sums   long sums in parts
    rename       a program with other names
    group        which statements are computed row by row
    lower        a program as plain loops
"""
