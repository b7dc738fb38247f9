"""`python -m search.conv --suite NAME … --composition`: the microkernels that each layer's scheme is composed of.

It is figure 6 of TTile's paper for any layers and machine. A layer's scheme is the choice of an earlier measured
search, where there is one. Else they are the model's, or those of a search of `--budget` seconds.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

from cpu.runtime.options import Parser
from cpu.runtime.output import readers_may_leave, terminal, write
from cpu.runtime.plural import plural
from microkernels.tile.microkernel import Microkernel, microkernel_of
from search.commands.ending import ending
from search.commands.options import ISA_HELP, seconds, whole
from search.commands.progress import counted
from search.evaluator import backend_of, target_of
from search.flow import ranked
from search.flow.find import DEFAULT_BUDGET, find
from search.tuner.dtypes import on_cpu
from search.tuner.target import Target, Wanted
from search.tuner.tune import SearchState
from tiling.problem import Problem
from tiling.rewrite.dot_groups import scheme_in_dot_groups
from tiling.scheme.scheme import Scheme
from tiling.text.shapes import chosen


@dataclass(frozen=True)
class Composed:
    """A layer's scheme and the microkernels in it, the one that computes most of the output first.

    shares: how much of the output each computes, in (0, 1]; they sum to 1. measured: whether a search measured the
    scheme.
    """

    layer: str
    scheme: str
    shares: dict[Microkernel, float]
    measured: bool


def shares_of(scheme: Scheme, isa: str) -> dict[Microkernel, float]:
    """The microkernels of a scheme, each with the share of the output that it computes, the largest first."""
    nest = scheme_in_dot_groups(scheme)
    branches = nest.branches.values()
    units = [prod(count * size for count, size in choice) for choice in product(*branches)]
    shares: dict[Microkernel, float] = {}
    for tile, part in zip(nest.tiles, units):
        kernel = microkernel_of(nest.problem, tile, isa)
        shares[kernel] = shares.get(kernel, 0.0) + part / sum(units)
    return dict(sorted(shares.items(), key=lambda item: -item[1]))


@ending("interrupted: what was found is kept, the same command goes on")
def main(program: str, arguments: Sequence[str]) -> int:
    """Runs the command line and returns the exit code. 1: it failed; 2: it cannot be done as asked; 130: Ctrl-C."""
    options = _parser(program).parse_args(arguments)
    target = target_of("cpu", Wanted(isa=options.isa, threads=options.threads))
    layers = _layers(options.suite)
    found = _composed(layers, target, options.budget)
    with readers_may_leave():
        write(json.dumps(as_json(found)) if options.json else as_text(found))
    return 0


def _layers(names: Sequence[str]) -> dict[str, Problem]:
    """The layers of the suites that can be computed, by `suite:layer`. Says which cannot."""
    found = {}
    for suite, layers in chosen(names).items():
        for layer in layers:
            if layer.problem is None:
                print(f"{suite}:{layer.name} is left out: {layer.unsupported}", file=sys.stderr)
            else:
                found[f"{suite}:{layer.name}"] = on_cpu(layer.problem, "f32", None)
    return found


def _composed(layers: dict[str, Problem], target: Target, budget: float | None) -> list[Composed]:
    """The composition of each layer. budget: seconds of search for each that no search has measured yet."""
    backend, console = backend_of(target), terminal()
    ranked.rank_first(backend, map(backend.problem, layers.values()), console)
    tune, composed = "measure" if budget else "model", []
    with counted(console) as progress:
        for done, (name, problem) in enumerate(layers.items()):
            progress(SearchState(name, done, len(layers)))
            found = find(problem, target, tune=tune, recall=True, verify=bool(budget), budget=budget or DEFAULT_BUDGET)
            if found.interrupted:
                raise KeyboardInterrupt
            if not found.recalled:
                found.keep(tune)
            assert isinstance(found.scheme, Scheme)  # the target's algorithm is the direct one
            measured = found.timing is not None
            composed.append(Composed(name, found.scheme.text, shares_of(found.scheme, target.isa), measured))
    return composed


def users(found: Sequence[Composed]) -> dict[Microkernel, list[str]]:
    """The layers of each microkernel, the most used first."""
    layers: dict[Microkernel, list[str]] = {}
    for each in found:
        for kernel in each.shares:
            layers.setdefault(kernel, []).append(each.layer)
    return dict(sorted(layers.items(), key=lambda item: (-len(item[1]), item[0].name)))


def as_text(found: Sequence[Composed]) -> str:
    """A line a layer, then a line a microkernel."""
    width = max(len(each.layer) for each in found)
    lines = []
    for each in found:
        parts = ", ".join(f"{100 * share:.0f} % {kernel}" for kernel, share in each.shares.items())
        lines.append(f"{each.layer:<{width}}  {parts}")
    used = users(found)
    composed = sum(len(each.shares) > 1 for each in found)
    measured = sum(each.measured for each in found)
    lines += [
        "",
        f"{plural(len(used), 'microkernels')} in all; {composed} of {len(found)} layers are composed of several; "
        f"{plural(measured, 'schemes')} chosen by measurement, all others by the model",
    ]
    lines += [f"{len(layers):>3} of {len(found)}  {kernel}: {' '.join(layers)}" for kernel, layers in used.items()]
    return "\n".join(lines)


def as_json(found: Sequence[Composed]) -> dict[str, object]:
    """One object: the layers, each with its scheme and shares, and the layers of each microkernel."""
    layers = [
        {
            "layer": each.layer,
            "scheme": each.scheme,
            "measured": each.measured,
            "microkernels": {kernel.name: share for kernel, share in each.shares.items()},
        }
        for each in found
    ]
    return {"layers": layers, "microkernels": {kernel.name: names for kernel, names in users(found).items()}}


def _parser(program: str) -> argparse.ArgumentParser:
    parser = Parser(program, description="Shows the microkernels that the kernels of a suite are composed of.")
    parser.add_argument("--suite", nargs="+", required=True, metavar="NAME[:LAYER]", help="suites, or layers of them")
    parser.add_argument("--composition", action="store_true", required=True, help="what this command shows")
    parser.add_argument("--threads", type=whole, default=1, metavar="N", help="OpenMP threads; default 1")
    parser.add_argument("--isa", metavar="NAME", help=ISA_HELP)
    parser.add_argument(
        "--budget",
        type=seconds,
        metavar="SECONDS",
        help="measure schemes of each layer for so long, where no search has yet; default: the model's choices",
    )
    parser.add_argument("--json", action="store_true", help="print exactly one JSON object")
    return parser
