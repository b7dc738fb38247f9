"""The edge: this CPU, its compiler, files and processes. Nothing here knows what a kernel computes.

In its rooms, and in this folder:

    compiler/    C text to loaded code, compiled once per machine
    machine/     what this CPU is, and how fast it is
    processes/   functions run in child processes
    numbers      the number formats of arrays
    frames       the frames of generated files
    version      the version that generated files and commands name
    saved_files  reads the files of saved programs, and tells who else may have written them
    taken_names  the names that C, C++ or a C library takes
    team         the C text before a team of OpenMP threads
    options      the parser of every command line
    output       prints results, and ends quietly when nobody reads them any more
    plural       numbers of things in sentences
"""
