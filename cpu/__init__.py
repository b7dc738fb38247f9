"""The CPU back end: it prints a scheme as C, compiles it, and makes a kernel that Python can call.

In this folder, and in its rooms:

    cache       the command `python -m cpu.cache`
    runtime/    the edge: this CPU, its compiler, files and processes. Nothing here knows what a kernel computes
    cluster/    measurements by other computers of the same kind
    passes/     refines the loops of a kernel, one idea a file
    codegen/    prints a scheme as C
    kernel/     a kernel that can be called: loaded, given arrays, measured, saved
    reference/  computes what a kernel must compute, from the definition
"""

import tilewright_entry  # noqa: F401 - first: it keeps files of the current folder out of the way
