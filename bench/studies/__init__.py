"""Studies of single questions, each with a command of its own.

Read in this order:

    model     model accuracy on random schemes: rank correlation, top-1 loss, traffic error
    traffic   the bytes that a scheme moves: predicted, and from the addresses of its own kernel
    counters  the bytes that the CPU's own counters see
    latency   how long a user waits: first call, cached call, rankings
    deployed  the speed of a saved kernel called from C, beside its tuned speed
    fused     the cost of an epilogue that is fused into the store
    prefetch  the gain of prefetches in kernels
    tiles     the times of tile registers on this CPU
    programs  programs of networks beside PyTorch
    models    whole models beside ONNX Runtime
    waiting   how long a user of a model waits, and what its library takes
    trained   trained models inside wheels of PyPI: whether they agree with ONNX Runtime
"""
