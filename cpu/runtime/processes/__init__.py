"""Functions run in child processes: a crash or a hang of a kernel costs one child.

Read in this order:

    worker        the parent's side: runs a function in a child, with a time limit
    worker_child  the child's side
    forked        starts children: they are forks of a server that has imported what they need
    fork_server   that server
    pool          runs many tasks in several workers
"""
