"""Passes of the steps of a scheme with a matrix instruction: what copies and loads when, and who waits for it.

Read in this order:

    fill_ahead           rings of stages
    step                 a step, as the passes below read it
    load_ahead           the next part's words while this one is multiplied
    load_first           the first part's words before copies
    unroll_copies        what a thread copies, at fixed distances
    state_parities       whether phases that are waited for are even or odd
    keep_loops           loops that compilers may not unroll
"""
