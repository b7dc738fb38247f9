"""The passes of programs: each says by a rule how loops become fast ones.

Read in this order:

    share_loops      neighbouring loops over one row as one
    split_ranges     a choice by position as two loops
    spread_reads     loops around a copy in the order that the first cache can bear
    rows/            loops over the rows of large arrays
    lanes/           loops as lanes, and lanes as vector instructions
    jam              several points of a loop in one iteration, as the next passes write them
    jam_vectors      several vectors of a sum at once
    pack_columns     arrays in between as products read them
    jam_rows         several rows of a product at once
    interleave_rows  several short rows at once, so that waits overlap
    bind_tasks       the outer loops on several cores
    bound_loops      ends loops where their results are no longer needed
    bound_windows    the middle of images without tests for their edges
    repeat_steps     several steps of a product in an iteration
    join_products    a row computed beside the product that reads it
    place_rows       where the arrays of a worker lie
"""
