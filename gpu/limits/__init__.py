"""What every GPU has, from sm_80 on, and Hopper besides: numbers that texts and the model go by.

multiprocessor   registers and memory, and how many blocks these are enough for
hopper           tiles of wgmma and TMA, clusters, and registers of threads beside their sums
"""
