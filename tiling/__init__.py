"""The language of Tilewright: what to compute, and how it is tiled. Pure data, by the standard library alone; only what
runs loops (`loops/meaning/`, `loops/interpreter/`) needs NumPy.

In this folder, and in its rooms:

    tensor       affine indices, shapes, windows: what the tensors of a problem are made of
    value        the tree of an epilogue's expression
    problem      what to compute: dims, tensors, affine index expressions
    sliding      the arguments of sliding windows, checked
    operators    the operators: conv2d (grouped and depthwise too), matmul
    volumes      the operator conv3d
    tokens       a text read token by token, for the readers of epilogues and of programs
    epilogue     the reader of epilogues: expressions of the result, fused into the stores
    canonical    a problem as text
    machine      the machine that a scheme runs on, and the timings taken on it
    choices      names to choose from, as a sentence lists them
    durations    times as readers see them
    arguments    the error for an array that a kernel cannot take
    expression   sums and products as C text, for emitters and task maps
    dtypes/      the formats of numbers, and the dtypes of products: two tables
    arrays/      what register tiles touch in the arrays of a problem
    scheme/      how a problem is tiled: specifiers, and the rules that make them a valid scheme
    loops/       the loops that a scheme stands for, and what they prefetch
    rewrite/     rewrites of a problem into an equal one: each file says when its rewrite applies, or why it does not
    program/     programs of maps, reductions and products, and how they become loops
    text/        what people type and read: shapes, suites, schemes as text, the names of kernels
    suites/      lists of real layers, a text file each
"""
