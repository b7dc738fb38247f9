"""How a problem is tiled.

Read in this order:

    scheme   specifiers, and the rules that make them a valid scheme
    compose  λ: every way to cover an extent exactly with one or two microkernel sizes
    taskmap  which worker gets which tile: repeat, spatial and their composition
"""
