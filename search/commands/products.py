"""The command line of a search: reads options, prints one report."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from cpu.runtime.options import Parser
from cpu.runtime.output import INTERRUPTED, readable, readers_may_leave, terminal, write
from search.commands import composition
from search.commands.ending import ending
from search.commands.options import (
    EVERY_ISA_HELP,
    OUTPUT_HELP,
    check_target,
    dtype_help,
    given,
    repeated,
)
from search.commands.passes import known_pass, loops_text
from search.commands.report import Report
from search.commands.searching import (
    add_output,
    add_search,
    check_searched,
    keeping,
    measures,
    prepare,
    saved,
    searched,
)
from search.evaluator import backend_of, errors_of, target_of
from search.evaluator.interface.protocol import TargetError
from search.flow import ranked
from search.flow.find import Found, find
from search.tuner.dtypes import typed
from search.tuner.target import TARGETS, Target, Wanted
from tiling.dtypes.products import GPU_DTYPES
from tiling.epilogue import fused
from tiling.operators import LAYOUTS
from tiling.problem import Problem, ProblemError
from tiling.text.shapes import canonical


@ending("interrupted before there was a result; what was measured is kept, the same command goes on")
def main(
    program: str, parse_shape: Callable[[str, str | None], Problem], shape_help: str, arguments: list[str] | None = None
) -> int:
    """Runs the command line and returns the exit code. 1: it failed; 2: it cannot be done as asked; 130: Ctrl-C."""
    parser = _parser(program, shape_help)
    words = sys.argv[1:] if arguments is None else arguments
    if any(word.partition("=")[0] == "--suite" for word in words):
        return composition.main(program, words)
    options = parser.parse_args(arguments)
    found = given(parser, arguments)
    check_target(options.target, found)
    check_searched(found)
    problem = fused(parse_shape(options.shape, options.layout), options.epilogue)
    with errors_of(options.target), keeping(measures(options)):
        problem = typed(problem, options.target, options.dtype, options.output_dtype)
        if options.show_passes is not None:
            with readers_may_leave():
                write(_loops(problem, options))
            return 0
        report = _run(program, problem, options)
        with readers_may_leave():
            write(json.dumps(report.as_json()) if options.json else report.as_text())
    if report.unsaved:
        print(readable(report.unsaved), file=sys.stderr)
        return 1
    return INTERRUPTED if report.interrupted else 0


def _run(program: str, problem: Problem, options: argparse.Namespace) -> Report:
    """Finds a scheme; keeps, explains and writes it as the options say. Raises as `find` does, and ExportError."""
    target = _target(problem, options)
    only_told = bool(options.emit or options.explain or options.model_only)
    if target.absent and not only_told:
        raise TargetError(
            f"no device to run on: {target.absent}; without one --model-only, --explain and --emit work, and --target "
            "cuda-twin runs the kernel on a CPU"
        )
    prepare(options)
    return _finished(program, searched(problem, target, options), options)


def _target(problem: Problem, options: argparse.Namespace, written: bool = False) -> Target:
    wanted = Wanted(
        problem.dtype,
        options.isa,
        options.threads,
        options.algorithm,
        options.device,
        options.cache,
        options.cluster or "",
    )
    return target_of(options.target, wanted, written)


def _loops(problem: Problem, options: argparse.Namespace) -> str:
    """The loops that `--show-passes` prints. Nothing is measured and no kernel runs."""
    if options.json or options.explain or options.emit:
        raise ProblemError("--show-passes prints the loops and nothing else: leave out --json, --explain and --emit")
    target = _target(problem, options, written=True)
    backend = backend_of(target)
    wanted = known_pass(backend.pass_names, options.show_passes)
    if options.scheme is None and not target.absent:
        ranked.rank_first(backend, [backend.problem(problem)], terminal(), options.forget)
    recall = not (options.model_only or options.forget)
    found = find(problem, target, tune="model", scheme=options.scheme, recall=recall, verify=False)
    return loops_text(backend, found.scheme, wanted)


def _finished(program: str, found: Found, options: argparse.Namespace) -> Report:
    """Keeps, explains and writes what was found; gives the report."""
    error, explanation, unsaved, interrupted = None, "", "", found.interrupted
    emitted: tuple[Path, ...] = ()
    try:
        if found.tried:
            found.keep("measure")
        if found.max_error is not None:
            error = found.backend.definition_error(found.scheme, options.seed)
        if options.explain:
            explanation = found.explained()
        if options.emit:
            emitted, unsaved = _saved(found, options)
    except KeyboardInterrupt:
        if not found.tried:
            raise
        # The tuned scheme is a result, even if a later step is cut short.
        interrupted = True
        replace(found, interrupted=True).keep("measure")
    return Report(
        found=found,
        definition_error=error,
        repeat=_repeat(program, found, options),
        explanation=explanation,
        emitted=emitted,
        unsaved=unsaved,
        interrupted=interrupted,
        widest=options.isa is None,
    )


def _saved(found: Found, options: argparse.Namespace) -> tuple[tuple[Path, ...], str]:
    """The files that --emit wrote, and why it wrote none."""

    def write() -> tuple[Path, ...]:
        with errors_of(options.target):
            return found.backend.save(found.scheme, options.emit, options.name)

    return saved(write)


def _repeat(program: str, found: Found, options: argparse.Namespace) -> str:
    """The command that runs exactly the same kernel again."""
    problem, target = found.scheme.problem, found.backend.target
    shape = canonical(problem)
    words = [] if target.name == "cpu" else ["--target", target.name]
    words += [] if target.name == "cpu" or ",dtype=" in shape else ["--dtype", problem.dtype]
    words += ["--shape", shape, "--scheme", found.scheme.text]
    words += ["--threads", str(options.threads)] if options.threads != 1 else []
    words += ["--isa", options.isa] if options.isa else []
    words += ["--cache", options.cache] if options.cache != "warm" else []
    words += ["--device", options.device] if options.device else []
    words += ["--seed", str(options.seed)] if options.seed else []
    words += ["--model-only"] if target.absent else []
    return repeated(program, words)


def _parser(program: str, shape_help: str) -> argparse.ArgumentParser:
    parser = Parser(
        program,
        description="Finds, checks and explains a fast kernel for one problem. With --suite NAME … --composition it "
        "shows the microkernels that a suite's kernels are composed of: --suite NAME --help says more.",
        epilog="A GPU needs pip install 'tilewright[gpu]', and --cluster pip install 'tilewright[cluster]'.",
    )
    _add_problem(parser, shape_help)
    add_search(parser, EVERY_ISA_HELP)
    add_output(
        parser,
        explain="print the predicted parts of the choice and runners-up",
        emit="write the kernel to DIR: .c, .h, .so, an example; .cu, .cubin",
        name="one that holds the whole problem",
    )
    return parser


def _add_problem(parser: Parser, shape_help: str) -> None:
    """The options of what is computed, and for which target."""
    parser.add_argument("--shape", required=True, help=shape_help)
    parser.add_argument("--epilogue", metavar="TEXT", help="what the stores do to each sum, such as 'relu(y + b)'")
    parser.add_argument(
        "--layout", type=str.lower, choices=LAYOUTS, help="layout of a convolution's x and y; default: nhwc"
    )
    parser.add_argument(
        "--target", choices=TARGETS, default="cpu", help="default cpu; cuda-twin runs a GPU kernel on this CPU"
    )
    parser.add_argument(
        "--dtype",
        metavar="NAME",
        help=dtype_help((*GPU_DTYPES, "f32")),
    )
    parser.add_argument(
        "--output-dtype",
        metavar="NAME",
        help=OUTPUT_HELP,
    )
    parser.add_argument(
        "--device", metavar="NAME", help="A100, L40S, H100 or H200; default: the GPU that is here, else H200"
    )
