"""Passes that change which loops there are, where they begin and end, and what is tested.

Read in this order:

    bound_pixels      flattened pixels: stores leave out the gaps between rows
    bound_taps        taps on padding, left out by the bounds of loops
    cases             what a test becomes at each position
    split_cases       padding and the last vector, decided by position
    cut_taps          loops over taps in tiles, in runs that reach the same rows
    outline           a function for each kind of register tile
    bind_cores        core loops as one parallel loop
    unroll            unrolled loops, written out
    divide_from_zero  quotients of numbers that are at least 0, which C rounds as loops do
    share_threads     what one thread of a team does
    place_barriers    where the threads of a team wait for each other
"""
