"""Speeds that anyone can print again. Read in this order:

    results   what a run finds, as records
    peers     other libraries behind one interface
    conditions  what a run is measured under, and which peers are there
    contest   one layer in one process: ours and the peers checked, then timed in turns
    layers    one layer: the search, then its contest
    journal   results of a run that has not ended, so that it can go on
    run       all layers of all suites
    sections  results that belong together, with their title
    summary   the figures of a section and the conditions of a run, as sentences
    report    a table for the terminal, and a folder with all of the following
    markdown  the page docs/performance.md, and the table in the README
    plots     bars, roofline, and the model's predictions beside the measurements
    html      one page that needs no other file
    formats   JSON lines and CSV
    files     what is written where, and what cannot be
    render    the reports again from JSON lines
    model     how honest the model is over random schemes: rank correlation, top-1 loss, traffic error, docs/model.md
    traffic   the bytes of a scheme: predicted, and from the addresses of its own kernel
    counters  the bytes as the CPU counts them, where it does
    deployed  a saved kernel called from C, beside its tuned speed
    latency   how long a user waits: first call, cached call, rankings, docs/latency.md

`python -m bench` runs suites of layers; `bench.model`, `bench.latency`, `bench.deployed` and `bench.render` are
commands of their own.
"""
