"""Compilers that search for a kernel, each search in a process of its own. Read in this order:

tvm xtc                one compiler each
tvm_library            calls libraries that XTC and TVM compiled
tvm_search xtc_search  the processes that search
"""
