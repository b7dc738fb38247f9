"""The dtypes, as two tables. They import nothing, so that whatever holds numbers may ask them.

formats   how a number is stored: bits, meaning, its name in C, NumPy and ONNX
products  what can be multiplied: formats of x and w, of sums and of outputs
"""
