"""Libraries on an NVIDIA GPU, which are not compared with those on a CPU. Read in this order:

torch_cuda           a GPU through PyTorch, for the three libraries
cudnn cublas triton  one library each
triton_product       the kernel in Triton's language
"""
