"""The loop language, in which a kernel is written until it is printed.

Read in this order:

    index        index expressions
    buffer       an array, and the memory that it lies in
    language     the nodes of the loop language: values, conditions, statements
    machines     the statements that only some machines have
    kernel       a kernel: its arrays, its functions, what it does
    c_text       indices and conditions as text of C and CUDA
    walk         the statements of a kernel, one after the other
    rewrite      the changes that passes share
    conditions   the conditions of a block, and changes of them
    quotients    quotients of numbers that are never negative
    passes       what a pass is, and a kernel after each of a list
    facts/       what passes and printers ask of loops
    value_text   values, places and conditions as pseudo-code
    listing      a kernel of any form as pseudo-code
    lowering/    from a scheme to loops
    meaning/     what functions, memory and instructions mean
    interpreter/ runs loops of any form
"""
