"""Speeds that anyone can print again.

In this folder, and in its rooms:

    command      the command `python -m bench`
    render       the command `python -m bench.render`
    model        the command `python -m bench.model`
    gpu_model    the command `python -m bench.gpu_model`
    choice       the command `python -m bench.choice`
    disturbed    the command `python -m bench.disturbed`
    deployed     the command `python -m bench.deployed`
    latency      the command `python -m bench.latency`
    prefetch     the command `python -m bench.prefetch`
    limits       the command `python -m bench.limits`
    ahead        the earlier name of `prefetch`
    fused        the command `python -m bench.fused`
    tiles        the command `python -m bench.tiles`
    schedules    the command `python -m bench.schedules`
    shifts       the command `python -m bench.shifts`
    search_cost  the command `python -m bench.search_cost`
    programs     the command `python -m bench.programs`
    trained      the command `python -m bench.trained`
    run/         measures layers: conditions, contests, a journal of results
    report/      results as tables, pages, pictures and data
    studies/     questions asked one at a time: each is a command of its own
    peers/       other libraries behind one interface

`python -m bench` runs suites of layers; each of the commands above answers one question.
"""

import tilewright_entry  # noqa: F401 - first: it keeps files of the current folder out of the way
