"""This CPU as a target.

Read in this order:

    backend   how schemes are built for it, and how workers try them
    machine   its facts for the model: what the system tells, and what was probed once
    cluster   candidates on the workers of a cluster
    report    what a report says about a kernel
    programs  kernels of programs: built, checked, measured
"""
