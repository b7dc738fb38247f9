"""What the copy engine needs to know of arrays.

Read in this order:

    tensor_map       an array's shape and the box of it that one TMA copy moves
    aligned          where copies of inputs lie that TMA cannot read in their places
"""
