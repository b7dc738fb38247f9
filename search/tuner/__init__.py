"""What a search is asked for, what it measures, and what it chooses.

Read in this order:

    target  the CPU or GPU that a kernel is made for, as data
    dtypes  a problem in the dtypes of a target
    tune    measures the best candidates within a time budget
    store   keeps what was measured and chosen on this machine
"""
