"""Passes for the rows of programs, which teams of threads share.

Read in this order:

    bind_rows        rows on blocks, short ones on warps
    share_rows       the loops of a row on the threads of its team
    unroll_turns     the turns in which a thread takes its points
    keep_rows        the arrays of a row in registers of its threads
    deal_neighbours  four neighbours of a row for a thread in each turn
    place_rows       other arrays of a row in shared memory, or in global memory
"""
