"""Measures layers: conditions, contests, and a journal of results.

Read in this order:

    algorithms  the layers of a suite for another algorithm than the definition
    batch       the convolutions of a suite on several images at once
    epilogues   the layers of a suite with an epilogue fused into their stores
    layouts     the convolutions of a suite with the axes of x and y in another order
    options     options that several commands have
    targets/    what a contest and the conditions take from a target
    conditions  the conditions of a run, and the peers that can run
    contest     checks our kernel and the peers on one layer in one process, then times them in turns
    layers      one layer: the search, then its contest
    journal     the results of an unfinished run, so that it can continue
    suites      all layers of all suites
    ending      how a command ends that was interrupted, or failed
"""
