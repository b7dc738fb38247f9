"""From a scheme with a matrix instruction to a CUDA kernel, and its twin on a CPU.

Read in this order:

    instructions  the matrix instructions there are, and which lane holds which element: task maps
    pipeline      what a scheme says of a GPU's levels: tiles, ring of shared-memory slots, who does what
    reading       a scheme read as such a pipeline, or refused
    operand       how one input's tile lies in shared memory and gets there
    gather        the same copy where rows are not aligned: chunks shifted into place in registers
    fragments     how a warp loads what it multiplies from there
    sharing       which part of a tile a block has where several share it, and where their sums lie
    expression    sums and products of C
    epilogue      what is done to each sum before it is stored
    emit          the kernel's text, and in program what its launch needs
    tensor_map    what a bulk copy moves: an array's shape and a box of it, as the hardware reads it
    aligned       copies of inputs that no bulk copy can take as they lie, made before
    bulk          how Hopper's bulk pipeline copies and stores: tensor maps, and the text of one step
    device/       the layer that the text calls: PTX for NVRTC, and its twin in C
    nvrtc         NVIDIA's compiler: text in, machine code and what it said of it out
    compile       the text compiled, once: machine code, registers and spills
    devices       what the limits and the model need to know of a GPU
    space         under 200 schedules for each dtype, whatever the problem's size, as schemes
    predict       the time of a scheme, with its parts
    kernel        the callable on a device
    arrays timer  NumPy's arrays to it and back; how long the device takes
    isolation     worker processes that use a device, and faults
    driver        tensor maps as the CUDA driver makes them
    twin          running the text on a CPU, thread by thread, with every access checked
    probe         a small kernel of one call, and in bulk_probes those of bulk copies, mbarriers and clusters
    calibrate     whether a device does what the twin does
"""
