"""The passes of a CPU kernel, one idea a file: each takes loops and gives loops.

Read in this order:

    order       the lists of passes, of products and of programs
    facts       what passes need to know beside the loops
    forms       a kernel after each pass
    control/    loops, their bounds, tests, functions and cores
    memory/     packing, copies, stores that bypass or fill cache lines
    prefetch/   cache lines, before they are needed
    vectors/    loops over lanes as vector and matrix instructions
    registers/  pointers, the operands of a step, sums, constants
    program/    passes that only programs take
"""
