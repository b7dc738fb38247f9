"""Compiled models as functions of arrays.

Read in this order:

    arguments      the arrays of a call: in order, with the wanted dtypes and shapes
    saved_folder   the folder that a compiled model is saved in
    compiled       a compiled model
    open_model     a model with open dims: compiled for each call's shapes, once
    random_inputs  random inputs of a compiled model
    turns          times models in turns in one process, step by step
    differences    how much the arrays of two ways to compute differ
"""
