"""The register tile: what it is, which ones a machine can hold, how they are emitted, and how fast each one is.

Read in this order:

    forms         the fields of a row of the table
    isa           a table: one row per instruction set, nothing else in the toolkit knows an intrinsic
    amx           the rows of it that have tile registers beside vectors
    microkernel   a register tile and the grammar of its name
    space         every tile that an instruction set's registers can hold
    emit          a register tile in C: accumulators, one reduction step, the stores
    matrix        a register tile of matrix instructions: runs of rows, tile registers, one step
    database      the SQLite file that keeps what was measured
    benchmark     the loop a register tile is measured in
    estimate      how fast a register tile's shape allows it to be
    catalog       the ranked microkernels of a machine, and a score for every tile
    records       what was measured of them, in the database
    rank          the offline stage: emit, compile, run in isolation, score against the FMA peak
    offline       the offline stage wired to this machine: its CPU, workers and clock
    progress      a ranking's progress, on a terminal or in a log
    plot          the ranking as a heat map
    command       the command line

`python -m microkernels rank | show | plot` is the offline stage's command line.
"""
