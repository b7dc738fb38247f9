"""Programs of networks and whole models, beside other libraries.

Read in this order:

    programs         programs of networks beside PyTorch
    bandwidth        how fast this machine reads and writes what they read and write
    runtime_extents  kernels with runtime extents beside those made for one size
    fused_maps       kernels with fused maps beside bare ones
    models           whole models beside ONNX Runtime
    waiting          how long a user of a model waits, and what its library takes
    trained          trained models inside wheels of PyPI: whether they agree with ONNX Runtime, and how fast they are
"""
