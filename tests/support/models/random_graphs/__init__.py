"""Random ONNX models. Read in this order:

drawing                                what is drawn so far
products maps windows moves control    operators by kind
graphs                                 a whole model
"""
