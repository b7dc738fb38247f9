"""From C text to loaded code, compiled once per machine.

Read in this order:

    toolchain      the C compiler: finding it, asking what it can do, running it
    cache_folder   the folder of compiled kernels: what lies there, its limit, builds under way
    cache          compiled kernels kept on disk, each compiled once
    cache_command  the command that shows, empties and limits the cache
    headers        what many kernels begin with, read once for all of them
    loading        loads a shared object from bytes
    library        compiles C text once per machine
    makefile       the makefile of what is saved, for those who compile it without Python
"""
