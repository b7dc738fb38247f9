"""Whole networks by other libraries. Read in this order:

architectures   networks by name, with random weights
whole_models    other libraries on whole models
torch_programs  programs of networks, and PyTorch's way to compute them
program_peers   other libraries on these programs
"""
