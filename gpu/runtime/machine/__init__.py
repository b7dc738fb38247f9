"""The GPU of this process, and programs on it.

Read in this order:

    driver     calls of the CUDA driver that CuPy lacks: tensor maps, and whether there is a GPU
    device     the GPU that this process would use
    loaded     a program on a device, and its launches
    loaded_program  a program of several launches on a device
    timer      how long the device takes for a call
    isolation  what a worker process that uses a device needs
    compare    counts on the device the elements of an output outside their limits
"""
