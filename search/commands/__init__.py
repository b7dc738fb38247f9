"""What the command lines do and print.

Read in this order:

    options      the options that the command lines of all packages share
    ending       how a command ends: a sentence and an exit code
    progress     shows a search under way on a terminal
    products     the command lines of conv and matmul
    report       the result of one search, as text for people and as one JSON object for programs
    passes       what `--show-passes` prints
    composition  which microkernels the layers of a suite are composed of
    program      the command line of programs
"""
