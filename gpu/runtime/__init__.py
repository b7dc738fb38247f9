"""The edge: NVIDIA's compiler and driver, arrays, clocks, processes; and the callable kernel.

Read in this order:

    nvrtc      NVIDIA's compiler: takes text, gives machine code and its log
    device_layer  the part of gpu/device/ that a kernel uses
    compile    compiles an emitted kernel once: machine code, registers and spills
    driver     calls of the CUDA driver that CuPy lacks: tensor maps, and whether there is a GPU
    device     the GPU that this process would use
    loaded     a program on a device, and its launches
    kernel     the callable on a device
    program    the CUDA file of a program, and its machine code
    arrays     copies NumPy's arrays to the device and back
    timer      how long the device takes for a call
    isolation  what a worker process that uses a device needs
    compare    counts on the device the elements of an output outside their limits
    export     a kernel's files for programs without Python
    export_program  the same of a program's kernels
"""
