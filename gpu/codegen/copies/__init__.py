"""How inputs come to where they are multiplied, as the text of one step.

Read in this order:

    operand          how one input's tile lies in shared memory
    tensor_map       an array's shape and the box of it that one TMA copy moves
    aligned          copies of inputs that TMA cannot read where they lie
    epilogue_arrays  how a lane loads the arrays that an epilogue names
    tma              how Hopper's TMA pipeline copies and stores
"""
