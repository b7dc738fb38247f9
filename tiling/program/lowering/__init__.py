"""A program as plain loops.

Read in this order:

    group            which statements are computed row by row
    limits           where loops may end early
    online           which groups go on block by block, with a running maximum
    statements       one statement as plain loops
    blocks           the loops of a group that goes on block by block
    lower            a program as plain loops
    begin_registers  a pass: registers with their first value
"""
