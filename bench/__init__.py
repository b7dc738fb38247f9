"""Speeds that anyone can print again. Read in this order:

    layers    one layer: tuned and model-only, side by side
    report    the results as a table, and as the page docs/performance.md
    model     how honest the model is: rank correlation and top-1 loss over random schemes, docs/model.md
    latency   how long a user waits: first call, cached call, rankings, docs/latency.md

`python -m bench` runs suites of layers; `python -m bench.model` and `python -m bench.latency` are commands of their
own.
"""
