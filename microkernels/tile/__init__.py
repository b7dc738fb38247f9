"""The register tile: instruction sets, the tiles that their registers hold, and what instructions mean.

Read in this order:

    isa_row              the fields of a row of the table of instruction sets
    isa                  the table: one row per instruction set. Nothing else in the toolkit knows an intrinsic
    amx                  the rows that have tile registers beside vectors
    microkernel          a register tile and the grammar of its name
    space                every tile that an instruction set's registers can hold
    estimate             the speed that a register tile's shape allows
    lanes                lanes of a vector in C
    instructions         what the forms of a row mean in loops
    matrix               a register tile of matrix instructions: runs of rows, tile registers
    matrix_instructions  what the instructions of tile registers mean in loops
    transpose            a block of a register tile transposed in registers, for a transposed output
    benchmark            the loop that a register tile is measured in
"""
