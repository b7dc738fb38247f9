"""The command line of a search: options in, one report out."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from cpu.cache import keep_limit
from cpu.cache_command import size
from cpu.emit import emit
from cpu.export import writable
from cpu.host import host
from cpu.worker import CandidateError, is_worth_another_try
from microkernels.database import readable
from microkernels.isa import lacking
from microkernels.offline import machine_catalog
from microkernels.progress import shown
from search import store
from search.explain import explain, microseconds
from search.options import (
    FAILURES,
    INTERRUPTED,
    TARGETS,
    check_target,
    given,
    natural,
    on_cpu,
    repeated,
    seconds,
    whole,
)
from search.report import Report
from search.tune import Outcome
from search.volume import tasks
from search.workshop import ALGORITHMS, DEFAULT_BUDGET, DEFAULT_TRIALS, Workshop, workshop
from tiling.epilogue import fused
from tiling.machine import Timing
from tiling.operators import LAYOUTS
from tiling.problem import Problem, ProblemError
from tiling.scheme import Scheme, SchemeError, Tile
from tiling.shapes import canonical
from tiling.winograd import Winograd

RUNNERS_UP = 4
# A search that takes this many times its budget could not keep it: the tuner stops in time wherever it can.
OVERRUN = 1.2
VERDICT_SECONDS = 0.5


def main(
    program: str, parse_shape: Callable[[str, str | None], Problem], shape_help: str, arguments: list[str] | None = None
) -> int:
    """Runs the command line; the exit code. 2: what was asked for cannot be; 1: it went wrong; 130: Ctrl-C."""
    parser = _parser(program, shape_help)
    options = parser.parse_args(arguments)
    try:
        check_target(options.target, given(parser, arguments))
        search = _run if options.target == "cpu" else _gpu_search()
        report = search(program, fused(parse_shape(options.shape, options.layout), options.epilogue), options)
        print(json.dumps(report.as_json()) if options.json else report.as_text(), flush=True)
        return INTERRUPTED if report.interrupted else 0
    except BrokenPipeError:
        # The reader, such as `head`, has enough; Python must not try again when it exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        print(
            "interrupted before there was a result; what was measured is kept, the same command goes on",
            file=sys.stderr,
        )
        return INTERRUPTED
    except (ProblemError, SchemeError) as error:
        print(error, file=sys.stderr)
        return 2
    except CandidateError as error:
        print(f"the kernel failed: {readable(error.reason)}", file=sys.stderr)
        return 1
    except FAILURES as error:
        print(readable(str(error)), file=sys.stderr)
        return 1


def _gpu_search():
    from search.gpu_command import run  # a search for the CPU does not wait for what only a GPU needs

    return run


def _run(program: str, problem: Problem, options: argparse.Namespace) -> Report:
    problem = on_cpu(problem, options.dtype, options.output_dtype)
    shop = workshop(options.isa, options.threads, problem.dtype, options.algorithm)
    problem = shop.problem(problem)
    shop.check(problem)
    console = Console(stderr=True)
    if options.threads > host().cores:
        print(
            f"{options.threads} threads on {host().cores} cores wait for one another: expect a slow kernel",
            file=sys.stderr,
        )
    look_after_files(options)
    candidates: list[Scheme] = []
    started = time.monotonic()
    if options.scheme is not None:
        scheme, outcome = shop.parsed(problem, options.scheme), None
        if options.threads > 1 and isinstance(scheme, Scheme) and tasks(scheme) == 1:
            tiled = [s.dim for s in scheme.specifiers if isinstance(s, Tile) and s.dim not in scheme.problem.reductions]
            dim = tiled[0] if tiled else scheme.problem.vector_dim
            print(
                f"the scheme shares no work between threads: with no loop such as T({dim},2)@core one of "
                f"{options.threads} does all",
                file=sys.stderr,
            )
    else:
        _rank_first(shop, problem, console)
        started = time.monotonic()
        candidates = shop.candidates(problem)
        scheme, outcome = candidates[0], None
        if not options.model_only:
            outcome = tuned(shop, candidates, options, console, options.budget - (time.monotonic() - started))
            scheme = outcome.best.scheme
    search_seconds = time.monotonic() - started
    if outcome and search_seconds > OVERRUN * options.budget:
        print(
            f"the search took {search_seconds:.1f} s: to list the candidates and measure one takes longer than "
            f"--budget {options.budget:g}",
            file=sys.stderr,
        )
    kind = shop.kind("measure", problem)
    timing, max_error, explanation, emitted = outcome and outcome.best.timing, None, "", ()
    definition_error = None
    interrupted = outcome is not None and outcome.interrupted
    try:
        if outcome is None:
            shop.build(scheme)  # before the worker: here a scheme that cannot be emitted is refused as such
            timing, max_error = shop.verdict(scheme, VERDICT_SECONDS, options.seed)
        else:
            outcome, timing, max_error = verified(shop, outcome, options.seed)
            scheme, interrupted = outcome.best.scheme, outcome.interrupted or max_error is None
            keep(shop, problem, outcome, kind)  # only now: a kernel that fails its last check is nobody's choice
        if isinstance(scheme, Winograd) and max_error is not None:
            definition_error = shop.definition_error(problem, options.seed)
        if options.explain:
            explanation = _explain(shop, scheme, [c for c in candidates if c != scheme][: 2 * RUNNERS_UP])
        if options.emit:
            emitted = shop.build(scheme).save(options.emit)
    except KeyboardInterrupt:
        if outcome is None:
            raise
        # What was tuned is a result, whichever of the steps after it is cut short.
        scheme, interrupted = outcome.best.scheme, True
        keep(shop, problem, outcome, kind)
    return Report(
        scheme=scheme,
        threads=options.threads,
        cores=min(options.threads, shop.machine.cores),
        timing=timing,
        max_error=max_error,
        definition_error=definition_error,
        trials=outcome.trials if outcome else 0,
        failed=outcome.failed if outcome else 0,
        search_seconds=search_seconds,
        interrupted=interrupted,
        machine=shop.fingerprint,
        isa=shop.isa.name,
        lacking=lacking(shop.isa, host().flags) if options.isa is None else (),
        microkernels=tuple(str(m) for m in emit(scheme, shop.isa, shop.threads).microkernels),
        repeat=_repeat(program, problem, scheme, options),
        explanation=explanation,
        emitted=emitted,
    )


def look_after_files(options: argparse.Namespace) -> None:
    """Keeps the compile cache's limit and asks whether the kernel can be written, before a search begins.

    Raises CacheError, ExportError.
    """
    if options.cache_limit is not None:
        keep_limit(options.cache_limit)
    if options.emit:
        writable(options.emit)


def tuned(shop: Workshop, candidates: list[Scheme], options, console: Console, budget: float) -> Outcome:
    """The tuner's outcome, with a bar meanwhile."""
    problem = candidates[0].problem
    with _progress(console, problem, options.threads) as progress:
        outcome = shop.tune(
            candidates,
            budget=max(budget, 0.1),
            trials=options.trials,
            seed=options.seed,
            forget=options.forget,
            progress=progress,
        )
    return outcome


def keep(shop: Workshop, problem: Problem, outcome: Outcome, kind: str = "measure") -> None:
    """Makes the outcome this problem's choice of that kind, unless it was cut short and there is an earlier one."""
    key = shop.key(problem)
    if not outcome.interrupted or store.choice(key, kind) is None:
        store.choose(key, kind, outcome.best.scheme.text, outcome.best.timing)


def verified(shop: Workshop, outcome: Outcome, seed: int) -> tuple[Outcome, Timing, float | None]:
    """The outcome with the first of its finalists that passes the last check as its best; the final timing and error.

    One that fails is recorded as failed, so that no later search picks it, unless the machine may be at fault. A Ctrl-C
    costs only these: the tuner's timing, and None. Raises CandidateError, the first one's, where all fail.
    """
    first: CandidateError | None = None
    finalists = (outcome.best, *outcome.runners_up)
    for place, finalist in enumerate(finalists):
        passed = replace(outcome, best=finalist, runners_up=finalists[place + 1 :], failed=outcome.failed + place)
        try:
            return passed, *shop.verdict(finalist.scheme, VERDICT_SECONDS, seed)
        except CandidateError as error:
            first = first or error
            if not is_worth_another_try(error.reason):
                store.reject(shop.key(finalist.scheme.problem), finalist.scheme.text, error.reason)
        except KeyboardInterrupt:
            return passed, finalist.timing, None
    raise first


def _repeat(program: str, problem: Problem, scheme: Scheme, options: argparse.Namespace) -> str:
    words = ["--shape", canonical(problem), "--scheme", scheme.text]
    words += [] if options.threads == 1 else ["--threads", str(options.threads)]
    words += ["--isa", options.isa] if options.isa else []
    words += [] if options.seed == 0 else ["--seed", str(options.seed)]
    return repeated(program, words)


def _rank_first(shop: Workshop, problem: Problem, console: Console) -> None:
    """Ranks the microkernels quickly where this machine never did, and says so; otherwise does nothing."""
    with shown(console) as progress:
        machine_catalog(
            *shop.ranking(problem),
            announce=lambda sentence: print(sentence, file=sys.stderr),
            progress=progress,
        )


def _explain(shop: Workshop, scheme: Scheme, runners_up: Sequence[Scheme]) -> str:
    """The choice beside the runners-up of its own algorithm; of another one the best is named with its
    predicted time.
    """
    from search.winograd import explain_winograd  # scipy is only loaded when there is something to explain

    chosen, *others = shop.predicted([scheme, *runners_up])
    own = [other for other in others if isinstance(other.scheme, Winograd) == isinstance(scheme, Winograd)]
    table = (explain_winograd if isinstance(scheme, Winograd) else explain)(chosen, own[:RUNNERS_UP], shop.machine)
    rest = [other for other in others if other not in own]
    beside = (
        f"\nThe other algorithm's best, {rest[0].scheme}, is predicted {microseconds(rest[0].prediction.seconds)}."
        if rest
        else ""
    )
    return table + beside


@contextmanager
def _progress(console: Console, problem: Problem, threads: int) -> Iterator[Callable[[int, int, float], None]]:
    """A bar with the best so far and the time left, on a terminal; nothing elsewhere."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("measuring", total=None)

        def progress(tried: int, of: int, best: float) -> None:
            percent = 100 * problem.flops / best / threads
            bar.update(task, completed=tried, total=of, description=f"measuring, best {percent:.1f} % of peak")

        yield progress


def _parser(program: str, shape_help: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(program, description="Finds, checks and explains a fast kernel for one problem.")
    parser.add_argument("--shape", required=True, help=shape_help)
    parser.add_argument("--epilogue", metavar="TEXT", help="what the stores do to each sum, such as 'relu(y + b)'")
    parser.add_argument("--layout", choices=LAYOUTS, help="of a convolution's x and y; default: nhwc")
    parser.add_argument(
        "--target", choices=TARGETS, default="cpu", help="default cpu; cuda-twin runs a GPU kernel on this CPU"
    )
    parser.add_argument(
        "--dtype",
        metavar="NAME",
        help="f32, bf16 or int8 on the CPU, default f32; f16, bf16 or tf32 on a GPU, default f16",
    )
    parser.add_argument(
        "--output-dtype", metavar="NAME", help="bf16 or f32 of bf16; s32, f32, u8 or s8 of int8; default the first"
    )
    parser.add_argument(
        "--device", metavar="NAME", help="A100, L40S, H100 or H200; default: the GPU that is here, else H200"
    )
    parser.add_argument("--threads", type=whole, default=1, metavar="N", help="OpenMP threads; default 1")
    parser.add_argument(
        "--algorithm",
        choices=ALGORITHMS,
        default="direct",
        help="winograd: 3x3 of stride 1, larger errors; auto: the faster one",
    )
    parser.add_argument(
        "--budget",
        type=seconds,
        default=DEFAULT_BUDGET,
        metavar="SECONDS",
        help="for the whole search; default 30; at least a few, which the candidates and one measurement take",
    )
    parser.add_argument(
        "--trials",
        type=whole,
        default=DEFAULT_TRIALS,
        metavar="N",
        help=f"schemes to measure at most; default {DEFAULT_TRIALS}",
    )
    parser.add_argument(
        "--forget", action="store_true", help="measure anew what earlier searches measured, or saw fail"
    )
    parser.add_argument("--model-only", action="store_true", help="trust the model: measure no candidate")
    parser.add_argument("--scheme", metavar="TEXT", help="run exactly this scheme")
    parser.add_argument("--explain", action="store_true", help="predicted parts of the choice and of the runners-up")
    parser.add_argument(
        "--emit", type=Path, metavar="DIR", help="write the kernel there: .c, .h, .so, an example; .cu, .cubin"
    )
    parser.add_argument(
        "--isa",
        metavar="NAME",
        help="avx512f, avx2 or portable; avx512bf16, amxbf16; avx512vnni, amxint8; default: the widest this CPU runs",
    )
    parser.add_argument(
        "--seed", type=natural, default=0, metavar="N", help="of the random data and the explored schemes"
    )
    parser.add_argument(
        "--cache-limit",
        type=size,
        metavar="SIZE",
        help="of all compiled kernels on disk, such as 512M; kept for later runs",
    )
    parser.add_argument("--json", action="store_true", help="print exactly one JSON object")
    return parser
