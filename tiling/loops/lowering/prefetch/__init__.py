"""What register tiles prefetch, as data: each file decides one kind, and says when there is none.

Read in this order:

    plan          all that the tiles of a scheme prefetch
    limits        the limits, and what several kinds ask of a tile
    pieces        the next weights and rows of x, into L2
    panel         the next panel of an x that is read in place, into L2
    weights       weights that products in turn have of their own, into L2
    rows          rows of x that the next tile alone reads, into L1
    pixels        pixels of x that the next tile is first to read, into L1
    apart         lines of x that lie far apart, into L1
    past_l1       packed vectors of a later step, into L1
    outputs       lines of y that a tile stores to
    next_outputs  lines of y that the next tile stores to
"""
