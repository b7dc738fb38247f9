"""The language of Tilewright: what to compute, and how it is tiled. Standard library only, nothing but pure data.

Read in this order:

    problem    what to compute: dims, tensors, affine index expressions
    operators  the problems there are: conv2d (grouped and depthwise too), matmul
    epilogue   what follows the operator: an expression of its result, fused into the stores
    suite      lists of real networks' layers, and how often each network has them
    shapes     the text forms of a problem: suite names, key=value lists, benchdnn descriptors
    scheme     how it is tiled: specifiers, and the rules that make them a valid scheme
    notation   the text form of a scheme: parse and print
    compose    λ: every way to cover an extent exactly with one or two microkernel sizes
    nest       a scheme lowered to the loops it stands for, one node a loop
    footprint  how many bytes of each tensor a tile touches, and which taps fall on padding
    taskmap    which worker gets which tile: repeat, spatial and their composition
    machine    the machine a scheme runs on, and the timings taken on it
    show       a scheme as indented pseudo-code
"""
