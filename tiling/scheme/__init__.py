"""How a problem is tiled.

Read in this order:

    specifiers  what each specifier means, and how it is written
    counts      the units of each dim, and how many of them specifiers cover
    rules       what makes specifiers a valid scheme
    scheme      a valid tiling of a problem
    compose     λ: every way to cover an extent exactly with one or two microkernel sizes
    taskmap     which worker gets which tile: repeat, spatial and their composition
"""
