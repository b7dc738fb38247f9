"""Whether the model predicts times and traffic.

Read in this order:

    model     model accuracy on random schemes: rank correlation, top-1 loss, traffic error
    gpu_model  how well the model of GPUs ranks schedules whose times are in a table
    choice    what the model's choice loses beside what a search would try
    traffic   the bytes that a scheme moves: predicted, and from the addresses of its own kernel
    counters  the bytes that the CPU's own counters see
"""
