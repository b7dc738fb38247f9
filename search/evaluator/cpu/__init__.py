"""This CPU as a target.

Read in this order:

    target     instruction set, threads and the like, as wanted
    backend    which schemes there are for a problem, and how they are built
    evaluator  tries schemes in worker processes
    machine    its facts for the model: what the system tells, and what was probed once
    cluster    candidates on the workers of a cluster
    report     what a report says about a kernel
    programs   kernels of programs: built, checked, measured
"""
