"""From a scheme to loops: as a nest that is priced, and as plain loops that passes refine.

Read in this order:

    nest      a scheme as a nest, one node a loop
    show      a scheme as indented pseudo-code
    prefetch  what register tiles prefetch; `prefetch_plan` has all of a scheme's
    prefetch_apart  which lines of x a tile prefetches, since they lie far apart
    prefetch_rows  which rows of x a tile prefetches, since the next one alone reads them
    prefetch_weights  which weights it prefetches, since products with weights of their own follow
    stream_plan  whether their stores bypass the caches
    lower     a scheme as plain loops of the language
    workers   loops whose workers each hold a tile, moved around it
    tile      a register tile in them: accumulators, sums, stores
    point     one point of a tile: the elements it touches, and whether it exists
    arrays    the arrays of a kernel: names, axes, shapes, dtypes
    epilogue  an epilogue as a value
"""
