"""Passes that turn loops over lanes into vector and matrix instructions.

Read in this order:

    exchange_lanes    groups of channels side by side in a vector
    share_sums        common parts of the sums of Winograd's transforms, computed once
    matrix_tiles      steps as matrix instructions
    shape_tiles       the shapes of tile registers, in front of the tiles that use them
    transpose_stores  outputs whose neighbours are rows of a tile
    vectorise         loops over lanes as vector instructions
"""
