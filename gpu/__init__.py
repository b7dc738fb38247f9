"""The GPU target: it turns a scheme or a program into a CUDA kernel, and runs the kernel's text on a CPU.

In this folder:

    calibrate   the command `python -m gpu.calibrate`
    limits/     what every GPU has: registers and memory of a multiprocessor
    passes/     turn loops into loops over blocks, warps and threads
    codegen/    a scheme as CUDA, and such loops
    model/      which schedules fit a GPU, and how long each takes
    runtime/    the edge: NVIDIA's compiler and driver, arrays, clocks, processes; and the callable kernel
    twin/       the twin, a CPU emulation: it runs a kernel's text thread by thread and checks every access
    probes/     whether a device does what the twin does
    device/     the device layer that a kernel's text calls, as PTX
"""

import tilewright_entry  # noqa: F401 - first: it keeps files of the current folder out of the way
