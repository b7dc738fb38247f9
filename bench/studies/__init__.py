"""Studies of single questions, each with a command of its own.

Read in this order:

    model        model accuracy on random schemes: rank correlation, top-1 loss, traffic error
    choice       what the model's choice loses beside what a search would try
    traffic      the bytes that a scheme moves: predicted, and from the addresses of its own kernel
    counters     the bytes that the CPU's own counters see
    latency      how long a user waits: first call, cached call, rankings
    disturbed    what a search chooses beside other programs, and what that loses
    deployed     the speed of a saved kernel called from C, beside its tuned speed
    fused        the cost of an epilogue that is fused into the store
    prefetch     the gain of prefetches in kernels
    tiles        the times of tile registers on this CPU
    shifts       Triton's shift-convolutions, fused and in steps
    search_cost  the speed that searches reach, over the seconds they take
    programs     programs of networks beside PyTorch
    bandwidth    how fast this machine reads and writes what they read and write
    models       whole models beside ONNX Runtime
    waiting      how long a user of a model waits, and what its library takes
    trained      trained models inside wheels of PyPI: whether they agree with ONNX Runtime, and how fast they are
"""
