"""What a contest and the conditions of a run take from a target: "cpu", or "cuda" for an NVIDIA GPU.

Read in this order:

    turns      seconds of a call, as one of several that take turns in a process
    interface  what a target gives: its peers, its conditions, contenders that are checked and can be timed
    cpu        on the CPU: calls from Python by its clock, the FMA peak measured around every turn
    cuda       on a GPU: by events on the device
    table      the targets by name
"""
