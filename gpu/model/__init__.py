"""Which schedules fit a GPU, and how long each takes by the analytic model.

Read in this order:

    devices  GPUs as data: limits and rates
    schedules  under 200 for each dtype, whatever the problem
    pixel_blocks  the blocks of pixels to try, where an image has few channels
    space    the schemes to try of a problem
    steps    what a step of a pipeline takes of a multiprocessor, and the end of a tile
    traffic  what a pipeline moves to and from the L2 and memory
    predict  the time of a scheme by the model, with its parts
    loops    the time of a scheme without a matrix instruction
    loops_space  the schedules to try without a matrix instruction
"""
