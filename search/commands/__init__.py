"""What the command lines do and print.

Read in this order:

    options         the options that the command lines of all packages share
    ending          how a command ends: a sentence and an exit code
    progress        shows a search under way on a terminal
    passes          what `--show-passes` prints
    searching       the options of a search, and the search that they ask for
    report          the result of one search, as text for people and as one JSON object for programs
    composition     which microkernels the layers of a suite are composed of
    products        the command lines of conv and matmul
    program_report  the result of one program, as text and as JSON
    program         the command line of programs
"""
