"""Passes that prefetch cache lines before they are needed. `tiling.loops.lowering.prefetch` decides which.

Read in this order:

    prefetch         walks the tiles of a kernel, and has their loops aim cursors
    in_tiles         what a tile prefetches, kind by kind
    addresses        where prefetches point
    cursors          the next weights and rows of x, line by line
    next_panel       the next panel of x
    next_weights     weights that products in turn have of their own
    next_outputs     lines of y that the next tile stores to
    outputs          lines of y that a tile stores to
    later_x          lines of x that lie far apart
    later_vectors    packed vectors of a later step
    prefetch_rows    rows of x that the next tile alone reads
    prefetch_pixels  pixels of x that the next tile reads
"""
