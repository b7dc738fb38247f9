"""Passes that decide where numbers lie in memory.

Read in this order:

    pack_weights   weights in the order in which loops read them
    packing        the loops that pack
    copy_runs      copies of x as moves of memory
    stage_panels   a part of x that several tiles share, packed on the way
    stage_strips   flattened images, copied strip by strip
    stream_stores  stores past the caches
    store_lines    narrow vectors that fill a line
    place_buffers  places in the memory that a call hands over
"""
