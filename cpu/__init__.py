"""Everything that touches this machine: its CPU, compilers, clocks, files and processes.

Files of the edge, in reading order:

1. ``host.py``       what this CPU is: vendor, ISA flags, caches, a fingerprint.
2. ``toolchain.py``  the C compiler: finding it, asking what it can do, running it.
3. ``cache.py``      compiled kernels kept on disk, each compiled once.
4. ``timer.c``       the clock, in C: calls per second, peak FMA rate, bandwidths.
5. ``timer.py``      the same from Python, through cffi.
6. ``probe.py``      measured facts of this machine: peak and bandwidth of each level.
7. ``worker.py``     isolated runs: a crash or a hang of a kernel costs one child.
"""
