"""Passes that change how values are computed, wherever that happens.

Read in this order:

    guard_gathers   elements whose index is read: inside, or reported
    compute_in_f32  numbers of 16 bits are f32 while they are computed with
    add_zeros       no test around products of tiles that hold zeros beyond the edges
"""
