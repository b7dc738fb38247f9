"""From a scheme to loops: as a nest that is priced, and as plain loops that passes refine.

Read in this order:

    nest      a scheme as a nest, one node a loop
    show      a scheme as indented pseudo-code
    prefetch/ what register tiles prefetch, one kind a file
    stream_plan  whether their stores bypass the caches
    lower     a scheme as plain loops of the language
    workers   loops whose workers each hold a tile, moved around it
    tile      a register tile in them: accumulators, sums, stores
    point     one point of a tile: the elements it touches, and whether it exists
    arrays    the arrays of a kernel: names, axes, shapes, dtypes
    epilogue  an epilogue as a value
"""
