"""The command `python -m bench`: times suites of real layers, our kernels beside other libraries."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from bench.peers import PEERS
from bench.report.files import append, check_writable
from bench.report.formats import BenchRun, conditions_line, to_json
from bench.report.markdown import around_markers
from bench.report.results import Conditions, LayerResult
from bench.report.sections import PAPER, sections
from bench.report.written import publish, show
from bench.run.algorithms import computed_by
from bench.run.batch import batched
from bench.run.conditions import available, conditions, identity
from bench.run.ending import ending
from bench.run.epilogues import followed_by
from bench.run.journal import Journal, alone, journal
from bench.run.layouts import laid_out
from bench.run.options import add_layout
from bench.run.suites import Visit, plan, run
from bench.run.targets.table import TARGETS
from bench.studies.networks import models, programs
from cpu.cluster.address import cluster
from cpu.runtime.options import Parser
from gpu.runtime.machine.device import DeviceError
from microkernels.ranking.offline import machine_catalog
from microkernels.tile.isa import ISAS_OF
from microkernels.tile.isa_row import Isa
from search.commands.options import check_target, dtype_help, folder, seconds, whole
from search.evaluator.cpu.backend import CpuBackend, cpu_backend
from search.evaluator.gpu.cuda import CudaBackend, cuda_backend
from search.flow.find import DEFAULT_BUDGET
from search.tuner.dtypes import DEFAULT_GPU_DTYPE
from search.tuner.target import ALGORITHMS
from tiling.dtypes.products import GPU_DTYPES, SUM_DTYPE, dtype_of
from tiling.problem import Problem, ProblemError
from tiling.text.shapes import chosen
from tiling.text.suite import Layer

STEM = "performance"  # of the report's files


@dataclass
class Finding:
    """The results of a run so far. They outlive whatever ends the run."""

    visits: Sequence[Visit] = ()
    results: list[LayerResult] = field(default_factory=list)
    failures: dict[Visit, str] = field(default_factory=dict)

    def missing(self, ended: str) -> list[tuple[str, str]]:
        """(layer, why) for each visit without a result. `ended` is the reason for visits that never ended."""
        done = {(r.suite, r.layer, r.threads) for r in self.results}
        without = [v for v in self.visits if (v.suite, v.layer.name, v.backend.target.threads) not in done]
        return [(str(visit), self.failures.get(visit, ended)) for visit in without]


@ending("interrupted: what is done is kept, the same command continues", DeviceError)
def main(arguments: list[str] | None = None) -> int:
    """Runs the command line and returns the exit code. 1: it failed; 2: it cannot be done as asked; 130: Ctrl-C."""
    words = sys.argv[1:] if arguments is None else arguments
    if "--models" in words:
        return models.main(arguments)
    for place, pair in enumerate(pairwise(words)):
        if pair == ("--suite", "programs"):
            return programs.main([*words[:place], *words[place + 2 :]])
    options = _parser().parse_args(arguments)
    _check_target(options)
    suites = _suites(options)
    _check_files(options)
    versions, absent = available(options.peers, options.target)
    threads = list(dict.fromkeys(options.threads))
    for sentence in _remarks(options, absent, threads):
        print(sentence, file=sys.stderr)
    backends = _backends(options, suites, threads)
    known = conditions(_command(options), backends[0], versions, absent, options.cache, options.budget)
    unfinished = journal(identity(list(suites), suites, threads, options.dtype, options.algorithm, known))
    found = Finding(plan(suites, backends))
    print(
        f"layers to time: {len(found.visits)}, each with {options.budget:g} s of search and some 15 s of checks "
        "and turns; Ctrl-C keeps what is done",
        file=sys.stderr,
    )
    try:
        with alone():
            if options.restart:
                unfinished.discard()
            _collect(found, unfinished, known, options)
    except (KeyboardInterrupt, Exception) as error:
        _publish(found, known, options, f"not ended before {_named(error)}")
        raise
    missing = _publish(found, known, options)
    # Layers that failed are tried again by the same command.
    if not missing:
        unfinished.discard()
    return int(bool(missing) or not found.results)


def _named(error: BaseException) -> str:
    return "a Ctrl-C" if isinstance(error, KeyboardInterrupt) else f"an error: {error}"


def _publish(found: Finding, known: Conditions, options: argparse.Namespace, ended: str = "") -> list[tuple[str, str]]:
    """Shows and writes what was found, if anything; gives the layers that are missing, with the reason.

    ended: what ended the run before its end.
    """
    missing = found.missing(ended)
    if not found.results:
        return missing
    show(sections(found.results), missing)
    # A part of a run may make a report, which says so, but must not replace the last whole report.
    readme = None if ended else options.readme
    for sentence in publish(BenchRun(known, tuple(found.results), tuple(missing)), options.report, STEM, readme):
        print(sentence, file=sys.stderr)
    if options.readme and ended:
        print(f"{options.readme} stays as it was: the run has not ended", file=sys.stderr)
    return missing


def _check_target(options: argparse.Namespace) -> None:
    """Fills in the target's dtype. Raises ProblemError for an option that means nothing to the target."""
    gpu = options.target == "cuda"
    default = DEFAULT_GPU_DTYPE if gpu else "f32"
    options.dtype = default if options.dtype is None else dtype_of(options.dtype)
    known = GPU_DTYPES if gpu else tuple(ISAS_OF)
    if options.dtype not in known:
        raise ProblemError(
            f"dtype {options.dtype!r:.40} is not covered by --target {options.target}: {', '.join(known)}"
        )
    if options.epilogue and SUM_DTYPE[options.dtype] != "f32":
        raise ProblemError(
            f"--epilogue is not covered with --dtype {options.dtype}, whose sums are stored whole: leave it out"
        )
    if gpu and options.layout != "nhwc":
        raise ProblemError(f"--layout {options.layout} is not covered by --target cuda: leave it out")
    changed = {
        "algorithm": options.algorithm != "direct",
        "threads": options.threads != [1],
        "cluster": bool(options.cluster),
    }
    check_target(options.target, frozenset(name for name, differs in changed.items() if differs))


def _suites(options: argparse.Namespace) -> dict[str, tuple[Layer, ...]]:
    images = options.batch
    found = {name: _laid_out(layers, options) for name, layers in chosen(options.suite).items()}
    if images != 1:
        found = {f"{name}-b{images}": batched(name, layers, images) for name, layers in found.items()}
    return {name: followed_by(layers, options.epilogue) for name, layers in found.items()}


def _laid_out(layers: tuple[Layer, ...], options: argparse.Namespace) -> tuple[Layer, ...]:
    return computed_by(laid_out(layers, options.layout), options.algorithm)


def _backends(
    options: argparse.Namespace, suites: dict[str, tuple[Layer, ...]], threads: Sequence[int]
) -> Sequence[CpuBackend | CudaBackend]:
    """One for each number of threads, or one for the GPU."""
    if options.target == "cuda":
        return [cuda_backend(options.dtype)]
    cluster = options.cluster or ""
    backends = [cpu_backend(None, count, options.dtype, options.algorithm, cluster, options.cache) for count in threads]
    problems = [layer.problem for layers in suites.values() for layer in layers if layer.problem]
    for ranking in dict.fromkeys(ranking for problem in problems for ranking in _rankings(backends[0], problem)):
        machine_catalog(*ranking, announce=lambda sentence: print(sentence, file=sys.stderr), cluster=cluster)
    return backends


def _rankings(backend: CpuBackend, problem: Problem) -> tuple[tuple[Isa, str], ...]:
    """The ranking for the candidates of a problem; none for a problem that is refused, as its own turn will say."""
    try:
        return (backend.ranking(backend.problem(problem)),)
    except ProblemError:
        return ()


def _check_files(options: argparse.Namespace) -> None:
    """Checks before the run that its results can be written. Raises ReportError."""
    for path in filter(None, (options.json, options.readme, options.report and options.report / f"{STEM}.md")):
        check_writable(path)
    if options.readme:
        around_markers(options.readme)


def _remarks(options: argparse.Namespace, absent: Sequence[tuple[str, str]], threads: Sequence[int]) -> Iterator[str]:
    yield from (f"without {peer}: {why}" for peer, why in absent)
    if options.peers and {peer for peer, _ in absent} == set(options.peers):
        raise ProblemError("none of the peers that are asked for can run: --peers none times our kernels alone")
    if options.cache == "cold" and max(threads) > 1:
        raise ProblemError("--cache cold is for --threads 1: what empties one core's caches leaves those of the others")


def _collect(found: Finding, unfinished: Journal, known: Conditions, options: argparse.Namespace) -> None:
    def fail(visit: Visit, why: str) -> None:
        found.failures[visit] = why
        print(f"{visit}: {why}", file=sys.stderr)

    def keep(result: LayerResult) -> None:
        unfinished.keep(result)
        if options.json:
            append(options.json, to_json(result))

    if options.json and not (options.json.exists() and options.json.stat().st_size):
        append(options.json, conditions_line(known))
    measured = {"peers": [name for name, _, _ in known.peers], "cache": options.cache, "budget": options.budget}
    known_before = unfinished.results()
    if known_before:
        print(f"going on: {len(known_before)} of {len(found.visits)} layers were measured before", file=sys.stderr)
    for result in run(found.visits, known_before, keep, fail, **measured):
        found.results.append(result)


def _command(options: argparse.Namespace) -> str:
    words = ["python", "-m", "bench", "--suite", *options.suite]
    if options.target == "cpu":
        words += ["--threads", *map(str, options.threads)]
        words += ["--dtype", options.dtype] if options.dtype != "f32" else []
    else:
        words += ["--target", options.target, "--dtype", options.dtype]
    if options.batch != 1:
        words += ["--batch", str(options.batch)]
    if options.peers is not None:
        words += ["--peers", *options.peers]
    if options.cache != "warm":
        words += ["--cache", options.cache]
    if options.layout != "nhwc":
        words += ["--layout", options.layout]
    if options.algorithm != "direct":
        words += ["--algorithm", options.algorithm]
    if options.epilogue is not None:
        words += ["--epilogue", options.epilogue]
    words += ["--budget", f"{options.budget:g}"]
    words += ["--cluster", options.cluster] if options.cluster else []
    for name in ("report", "readme"):
        if getattr(options, name):
            words += [f"--{name}", str(getattr(options, name))]
    return shlex.join(words)


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        "python -m bench",
        description="Times suites of layers beside other libraries. With --models it times whole models, with "
        "--suite programs programs: see python -m bench --models --help and python -m bench --suite programs --help.",
        epilog="The other libraries: pip install 'tilewright[peers]'; pictures: 'tilewright[plot]'; --cluster: "
        "'tilewright[cluster]'. What is missing is left out.",
    )
    parser.add_argument(
        "--suite", nargs="+", default=list(PAPER), metavar="NAME[:LAYER]", help="default: yolo9000 resnet18"
    )
    parser.add_argument(
        "--peers", nargs="+", metavar="NAME",
        help=f"peers: {' '.join(PEERS)}, or none; default: those of {' '.join(TARGETS['cpu'].usual_peers)}, on a GPU "
        f"{' '.join(TARGETS['cuda'].usual_peers)}, that are installed",
    )  # fmt: skip
    parser.add_argument("--threads", nargs="+", type=whole, default=[1], metavar="N", help="default: 1")
    parser.add_argument("--cache", choices=("warm", "cold"), default="warm", help="before each call; default: warm")
    parser.add_argument("--target", choices=tuple(TARGETS), default="cpu", help="what computes; default: cpu")
    parser.add_argument("--dtype", metavar="NAME", help=dtype_help(GPU_DTYPES))
    parser.add_argument("--batch", type=whole, default=1, metavar="N", help="images of every convolution; default: 1")
    add_layout(parser)
    parser.add_argument(
        "--algorithm", choices=ALGORITHMS, default="direct",
        help="winograd: of 3x3 layers of stride 1, others are left out; auto: the faster one; default: direct",
    )  # fmt: skip
    parser.add_argument(
        "--epilogue", metavar="TEXT",
        help="what follows every layer, fused into its stores, such as 'relu(y + b)'; default: nothing",
    )  # fmt: skip
    parser.add_argument(
        "--budget", type=seconds, default=DEFAULT_BUDGET, metavar="SECONDS",
        help=f"search of each layer; default {DEFAULT_BUDGET:g}",
    )  # fmt: skip
    parser.add_argument(
        "--cluster",
        type=cluster,
        metavar="ADDRESS",
        help="search on the workers of this dask.distributed scheduler; all contenders are timed here",
    )
    parser.add_argument("--restart", action="store_true", help="forget what an unfinished run of this command has done")
    parser.add_argument("--json", type=Path, metavar="FILE", help="append one JSON object a layer")
    parser.add_argument("--report", type=folder, metavar="DIR", help=f"write {STEM}.md .html .csv .jsonl and pictures")
    parser.add_argument("--readme", type=Path, metavar="FILE.md", help="rewrite the table between its markers")
    return parser
