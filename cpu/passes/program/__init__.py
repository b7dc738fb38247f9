"""The passes of programs: each says by a rule how loops become fast ones.

Read in this order:

    share_loops   neighbouring loops over one row as one
    split_ranges  a choice by position as two loops
    split_lanes   which loops become lanes
    loop_as_lanes one of these loops; sums in two steps
    transpose_reads  columns, a block of rows at a time
    jam_vectors   several vectors of a sum at once
    jam_rows      several rows of a product at once
    interleave_rows  short rows in step, so that none waits
    bind_tasks    the outer loops on several cores
    bound_loops   where what loops compute is no longer needed
    peel_tails    last vectors that are not whole
    place_rows    where the arrays of a worker lie
    vectors       lanes as vector instructions
    lanes         one statement as vectors
    guarded       elements of which some may lie outside
    definitions   functions by others
    instructions  the vector instructions, with their meaning
"""
