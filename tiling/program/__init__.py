"""Programs: statements of maps, reductions and products over named dims.

Read in this order:

    language     the values: a program, its statements and expressions; `str` writes their text
    functions    the table of functions, with their operators
    names        checks that each name stands for something
    read         reads a text
    indices      index expressions as sums of dims
    dtypes       in which dtype values meet
    runtime      extents that each call has anew
    bounds       between which bounds indices lie, and how far they reach
    checks       checks every index
    infer        extents, shapes and dtypes of a program
    operator_row  a row of the table of operators
    image_operators  the operators of images
    operators    all operators of networks, each a program
    anchors/     sums of products that the search tiles
    rewrite/     equal programs that are faster to compute
    lowering/    a program as plain loops
"""
