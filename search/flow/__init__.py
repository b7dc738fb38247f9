"""The way from a problem and a target to a kernel.

Read in this order:

    find       problem, target ──► Found: candidates, measurement, last check, earlier choices
    recorded   what find reads from the store and writes to it
    kernels    the kernel for any problem, by find
    generate   the Python entry points for convolutions and products
    programs   the one for programs
    ranked     ranks the microkernels before the first search
    choices    the model's choices for many problems at once, listed on all cores
    in_models  what is measured of kernels inside whole models, in the same store
    debug      TILEWRIGHT_DEBUG
"""
