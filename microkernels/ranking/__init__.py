"""The offline stage: it measures every tile on this machine, once.

Read in this order:

    rank        the ranking: which tiles are measured, how often, and which outcome counts
    contenders  which of the best tiles are measured again, until neighbours are told apart
    offline     the ranking on this machine: its CPU, workers and clock
    export      this machine's rankings as the file of its kind, which may come with the package
    progress    the progress of a ranking, on a terminal or in a log
    plot        a ranking as a heat map
    command     the command line
"""
