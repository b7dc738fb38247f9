"""What every GPU has, from sm_80 on: numbers that texts and the model go by.

multiprocessor   registers and memory, and how many blocks these are enough for
"""
