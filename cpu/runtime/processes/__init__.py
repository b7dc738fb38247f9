"""Functions run in child processes: a crash or a hang of a kernel costs one child.

Read in this order:

    worker        the parent's side: runs a function in a child, with a time limit
    worker_child  the child's side
    pool          runs many tasks in several workers
"""
