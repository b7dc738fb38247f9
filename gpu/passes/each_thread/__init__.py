"""The last passes, after which each statement is what one thread runs.

Read in this order:

    guard_workers  tests where the first workers alone take part
    round_stores   stores that round, in place of roundings
"""
