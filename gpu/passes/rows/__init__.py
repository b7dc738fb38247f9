"""Passes for the rows of programs, which teams of threads share.

Read in this order:

    bind_rows   rows on blocks, short ones on warps
    place_rows  the arrays of a row in shared memory, or in global memory
    share_rows  the loops of a row on the threads of its team
"""
