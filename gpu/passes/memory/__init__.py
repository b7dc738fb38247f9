"""Passes for shared memory, barriers and wide accesses.

Read in this order:

    stage_tiles      tiles of the inputs in shared memory
    widen            four neighbours in one access
    widen_copies     four neighbours of a tile in one access
    allocate_shared  where arrays of shared memory lie, by their lifetimes
    place_barriers   barriers where threads need what others wrote
    prefetch_maps    the copy engine fetches the maps of arrays early
"""
