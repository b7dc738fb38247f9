"""Passes of the steps of a scheme with a warp's matrix instruction: what copies and loads when.

Read in this order:

    fill_ahead           rings of stages
    step                 a step, as the passes below read it
    load_ahead           the next part's words while this one is multiplied
    load_first           the first part's words before copies
    unroll_copies        what a thread copies, at fixed distances
    keep_loops           loops that compilers may not unroll
"""
