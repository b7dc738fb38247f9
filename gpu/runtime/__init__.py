"""The edge: NVIDIA's compiler and driver, arrays, clocks, processes; and the callable kernel.

In its rooms, and in this folder:

    compiler/       from CUDA text to machine code
    machine/        the GPU of this process, and programs on it
    kernel          the callable on a device
    arrays          copies NumPy's arrays to the device and back
    export          a kernel's files for programs without Python
    export_program  the files of a program's kernels
"""
