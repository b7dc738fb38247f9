"""From CUDA text to machine code, compiled once.

Read in this order:

    nvrtc         NVIDIA's compiler: takes text, gives machine code and its log
    device_layer  the part of gpu/device/ that a kernel uses
    compile       compiles an emitted kernel once: machine code, registers and spills
    program       the CUDA file of a program, and its machine code
"""
