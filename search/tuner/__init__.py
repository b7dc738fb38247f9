"""What a search is asked for, what it measures, and what it chooses.

Read in this order:

    target    the CPU or GPU that a kernel is made for, as data
    dtypes    a problem in the dtypes of a target
    measured  a scheme and its timings
    choosing  which of the measured schemes is chosen, and whether that is in doubt
    tune      measures the best candidates within a time budget
    peaks     notices that the FMA peak fell beside a visit
    store     keeps what was measured and chosen on this machine
"""
