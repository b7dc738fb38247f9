"""Programs: statements of maps, reductions and products over named dims.

Read in this order:

    language     the values: a program, its statements and expressions; `str` writes their text
    functions    the table of functions, with their operators
    names        checks that each name stands for something
    read         reads a text
    indices      index expressions as sums of dims
    dtypes       in which dtype values meet
    runtime      extents that each call has anew
    infer        extents, shapes and dtypes of a program; checks every index
    operators    the operators of networks, each a program
    product      a sum of products by the roles of its dims
    anchor       sums of products as problems of `tiling.operators`
    stores       the maps that follow an anchor, as an epilogue
    rewrite      equal programs that are faster to compute
    group        which statements are computed row by row
    limits       where loops may end early
    online       which groups go on block by block, with a running maximum
    statements   one statement as plain loops
    blocks       the loops of a group that goes on block by block
    lower        a program as plain loops
"""
