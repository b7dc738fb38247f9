"""What a scheme costs: bytes into each cache, and time.

Read in this order:

    costs            the constants that the model assumes of any core
    cache_conflicts  how many lines of each cache set a tile takes
    volume           the bytes that a scheme moves into each cache
    visits           how often loops visit register tiles and change between them
    tiles            the time of one visit to a register tile
    predict          the time of a scheme, with its parts
    copies           the time that a kernel's copy of x adds
    additions        the time that adding up the parts of sums adds
    apart            the time that cores wait for lines of other cores
"""
