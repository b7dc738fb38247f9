"""Passes that decide what registers hold: pointers, the operands of a step, sums, constants.

Read in this order:

    products            reads the multiplications of a step: what each adds to, and what it multiplies
    unroll_steps        several steps in one iteration, where vectors are short
    walk_pointers       pointers of each loop
    order_step          the multiplications of a step
    promote_accumulators  accumulators as registers
    add_in_place        sums that stay where they are
    own_registers       accumulators that begin with a bias
    load_zero           the zero of an epilogue
    store_lanes         stores of some lanes without a mask
"""
