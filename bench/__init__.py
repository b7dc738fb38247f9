"""Speeds that anyone can print again. Read in this order:

    layers    one layer: tuned and model-only, side by side
    results   what a run finds, as records
    sections  results that belong together, with their title
    summary   the figures of a section and the conditions of a run, as sentences
    report    a table for the terminal, and a folder with all of the following
    markdown  the page docs/performance.md, and the table in the README
    plots     bars, roofline, and the model's predictions beside the measurements
    html      one page that needs no other file
    formats   JSON lines and CSV
    files     what is written where, and what cannot be
    render    the reports again from JSON lines
    model     how honest the model is: rank correlation and top-1 loss over random schemes, docs/model.md
    latency   how long a user waits: first call, cached call, rankings, docs/latency.md

`python -m bench` runs suites of layers; `python -m bench.model`, `python -m bench.latency` and `python -m bench.render`
are commands of their own.
"""
