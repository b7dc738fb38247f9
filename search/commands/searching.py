"""The options of a search, and the search that they ask for: the command lines of problems and of programs share
both.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from cpu.cluster.address import cluster
from cpu.runtime.options import Parser
from cpu.runtime.output import terminal
from cpu.runtime.plural import plural
from microkernels.scores.unkept import kept_if_possible
from search.commands.options import FAILURES, c_name, folder, natural, seconds, whole
from search.commands.passes import add_show_passes
from search.commands.progress import shown
from search.evaluator import backend_of
from search.evaluator.interface.files import limited, size, writable
from search.flow import ranked
from search.flow.find import DEFAULT_BUDGET, DEFAULT_TRIALS, OVERRUN, Found, find
from search.tuner.target import ALGORITHMS, CACHES, Target
from tiling.problem import Problem, ProblemError

# What options say of the candidates of a search, and the options with which nothing is searched. A choice of the model
# and `--show-passes` do forget rankings of other machines.
_TRIES_NONE = ("model_only", "scheme", "show_passes")
_OF_SEARCHES = {
    "cluster": ("has other computers try candidates", _TRIES_NONE),
    "budget": ("says how long to try candidates", _TRIES_NONE),
    "trials": ("says how many candidates to try", _TRIES_NONE),
    "forget": ("tries candidates again", ("scheme",)),
}


def add_search(parser: Parser, isa: str) -> None:
    """Adds the options of how a scheme is found. isa: the help of `--isa`."""
    parser.add_argument("--threads", type=whole, default=1, metavar="N", help="OpenMP threads; default 1")
    parser.add_argument("--isa", metavar="NAME", help=isa)
    parser.add_argument(
        "--algorithm",
        choices=ALGORITHMS,
        default="direct",
        help="winograd: for 3x3 of stride 1, with larger errors; auto: the faster one",
    )
    parser.add_argument(
        "--cache",
        choices=CACHES,
        default="warm",
        help="cold: for calls that find all arrays in memory, as in a large network; default warm",
    )
    parser.add_argument(
        "--budget",
        type=seconds,
        default=DEFAULT_BUDGET,
        metavar="SECONDS",
        help="time for the whole search; default 30; listing the candidates and one measurement take a few",
    )
    parser.add_argument(
        "--trials",
        type=whole,
        default=DEFAULT_TRIALS,
        metavar="N",
        help=f"measure at most so many schemes; default {DEFAULT_TRIALS}",
    )
    parser.add_argument(
        "--forget",
        action="store_true",
        help="ignore the measurements and failures of earlier searches, and rankings of other machines",
    )
    parser.add_argument(
        "--cluster",
        type=cluster,
        metavar="ADDRESS",
        help="try candidates on the workers of this dask.distributed scheduler that are like this machine",
    )
    parser.add_argument("--model-only", action="store_true", help="trust the model: measure no candidate")
    parser.add_argument("--scheme", metavar="TEXT", help="run exactly this scheme")
    parser.add_argument(
        "--seed", type=natural, default=0, metavar="N", help="seed of the random data and of the explored schemes"
    )


def add_output(parser: Parser, *, explain: str, emit: str, name: str) -> None:
    """Adds the options of what is printed and written. explain, emit: their help. name: a function's default name."""
    parser.add_argument("--explain", action="store_true", help=explain)
    add_show_passes(parser)
    parser.add_argument("--emit", type=folder, metavar="DIR", help=emit)
    parser.add_argument(
        "--name",
        type=c_name,
        metavar="NAME",
        help=f"name of the C function that --emit writes; default: {name}",
    )
    parser.add_argument(
        "--cache-limit",
        type=size,
        metavar="SIZE",
        help="size of all compiled kernels on disk, such as 512M; kept for later runs",
    )
    parser.add_argument("--json", action="store_true", help="print exactly one JSON object")


def check_searched(found: frozenset[str]) -> None:
    """Raises ProblemError where an option says how candidates are tried, and another one tries none.

    found: as `given` gives.
    """
    for option, (what, others) in _OF_SEARCHES.items():
        if option in found and (none := [name for name in others if name in found]):
            name = none[0].replace("_", "-")
            raise ProblemError(f"--{option} {what}, and --{name} tries none: leave one out")


def measures(options: argparse.Namespace) -> bool:
    """Whether a command may measure candidates."""
    return not options.model_only and options.show_passes is None


def keeping(measured: bool) -> AbstractContextManager[None]:
    """Around a command. One by which no candidate is measured also works where nothing can be kept."""
    return nullcontext() if measured else kept_if_possible()


def prepare(options: argparse.Namespace) -> None:
    """Checks where the files go, and limits the compile cache, before a search begins. Raises ProblemError."""
    if options.name and not options.emit:
        raise ProblemError("--name is the name of what --emit writes: give --emit DIR too")
    if options.cache_limit is not None and (said := limited(options.cache_limit)):
        print(said, file=sys.stderr)
    if options.emit:
        writable(options.emit)


def saved(write: Callable[[], tuple[Path, ...]]) -> tuple[tuple[Path, ...], str]:
    """The files that --emit wrote, and why it wrote none: the report on a long search is printed all the same."""
    try:
        return write(), ""
    except FAILURES as error:
        return (), str(error)


def searched(problem: Problem, target: Target, options: argparse.Namespace) -> Found:
    """The scheme for a problem that a command line asks for. Raises as `find` does."""
    backend = backend_of(target)
    computed = backend.problem(problem)
    wanted = None if options.scheme is None else backend.parsed(computed, options.scheme)
    for sentence in backend.remarks(wanted):
        print(sentence, file=sys.stderr)
    console = terminal()
    if wanted is None:
        ranked.rank_first(backend, [computed], console, options.forget)
    by_model = options.model_only or bool(target.absent) or target.name == "cuda-twin"
    with shown(console, computed, target.threads, None if by_model else options.budget) as progress:
        found = find(
            problem,
            target,
            tune="model" if by_model else "measure",
            scheme=options.scheme,
            budget=options.budget,
            trials=options.trials,
            seed=options.seed,
            forget=options.forget,
            progress=progress,
        )
    if found.tried and found.seconds > OVERRUN * options.budget:
        print(
            f"the search took {found.seconds:.1f} s, {found.listing:.1f} s of it to list "
            f"{plural(len(found.ranked), 'schemes')}: to list the candidates and measure one takes longer than "
            f"--budget {options.budget:g}",
            file=sys.stderr,
        )
    return found
