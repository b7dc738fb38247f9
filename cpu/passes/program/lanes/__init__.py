"""Loops of programs as lanes, and lanes as vector instructions.

Read in this order:

    split_lanes      which loops become lanes
    loop_as_lanes    one of these loops; sums in two steps
    transpose_reads  columns, a block of rows at a time
    peel_tails       last vectors that are not whole
    claim_lines      prefetches lines of long outputs before they are written
    prefetch_next_rows
                     prefetches rows that are read next while one is stored
    store_columns    columns that are only copied
    braid_rows       a few rows that are only copied, side by side
    vectors          lanes as vector instructions
    keep_nan         NaN beside a maximum, where each step tested for it
    statement        one statement as vectors
    guarded          elements of which some may lie outside
    definitions      functions by means of others
    instructions     the vector instructions, with their meaning
"""
