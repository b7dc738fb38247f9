"""What passes ask.

Read in this order:

    accesses    what is elsewhere in buffers
    workers     the kinds of workers, their variables and their numbers
    reading     what a block of statements reads and writes
    divisors    by which numbers indices can be divided
    rings       stages that take turns
    registers   what threads hold, and how many blocks fit
    neighbours  what neighbours of a tile have in common
    runs        where neighbours of a tile lie side by side in an array
"""
