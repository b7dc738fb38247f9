"""What loops of any form compute: slow, plain, and independent of every pass.

Read in this order:

    functions  what the functions of values mean
    interpret  runs loops
"""
