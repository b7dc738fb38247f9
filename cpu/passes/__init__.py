"""The passes of a CPU kernel, one idea a file: each takes loops and gives loops.

Read in this order:

    order       the list of passes
    control/    loops, their bounds, tests, functions and cores
    memory/     packing, copies, prefetches, stores that bypass or fill cache lines
    vectors/    loops over lanes as vector and matrix instructions
    registers/  pointers, the operands of a step, sums, constants
    program/    the passes of programs that are no product
"""
