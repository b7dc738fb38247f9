"""Measurements by other computers of the same kind, the workers of a `dask.distributed` cluster.

Read in this order:

    address  the address of their scheduler
    member   what a worker of the cluster runs
    pool     hands tasks to the workers that are like this machine, and gets each done once
"""
