"""The command `python -m search.program TEXT`: a fast kernel for a program of maps, reductions and products."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from pathlib import Path
from typing import Any

from cpu.runtime.machine.host import host
from cpu.runtime.options import Parser
from cpu.runtime.output import INTERRUPTED, readable, readers_may_leave, write
from microkernels.tile.isa import isa_named, lacking
from search.commands.ending import ending
from search.commands.options import ISA_HELP, check_target, given, repeated
from search.commands.passes import known_pass, listed
from search.commands.program_report import GpuReport, ProgramReport
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
from search.evaluator import errors_of, target_of
from search.evaluator.cpu.programs import (
    PASS_NAMES,
    ProgramKernel,
    anchored_for,
    around,
    build,
    explanation,
    loops_after,
    measured,
    random_inputs,
    target_of_anchor,
)
from search.evaluator.interface.definition import definition_error
from search.evaluator.interface.protocol import TargetError
from search.flow.find import Found
from search.tuner.target import TARGETS, Target, Wanted
from tiling.problem import ProblemError
from tiling.program.infer import Sized, sized
from tiling.program.read import read
from tiling.text.shapes import canonical

NAME = "python -m search.program"
MEASURE_SECONDS = 0.2  # the time of all samples of the chosen kernel
# Beside what no search for a GPU has (`search.tuner.target`), these mean nothing to a GPU's program.
_CPUS_ALONE = ("explain", "model_only", "scheme", "budget", "trials", "forget")


@ending("interrupted before there was a result; what was measured is kept, the same command goes on")
def main(arguments: list[str] | None = None) -> int:
    """Runs the command line and returns the exit code. 1: it failed; 2: it cannot be done as asked; 130: Ctrl-C."""
    parser = _parser()
    options, found = parser.parse_args(arguments), given(parser, arguments)
    check_target(options.target, found)
    check_searched(found)
    if options.outputs is not None and not _outputs(options):
        raise ProblemError(f"--outputs {options.outputs!r} names no array: write one, or several with commas between")
    program = sized(read(_text_of(options.text)), _sizes(options.shape), dtype=options.dtype, outputs=_outputs(options))
    if options.show_passes is not None and (options.json or options.explain or options.emit):
        raise ProblemError("--show-passes prints the loops and nothing else: leave out --json, --explain and --emit")
    with errors_of(options.target), keeping(measures(options)):
        report = (_told if options.target == "cpu" else _told_of_gpu)(program, options, found)
    with readers_may_leave():
        write(report if isinstance(report, str) else json.dumps(report.as_json()) if options.json else report.as_text())
    if isinstance(report, str):
        return 0
    if report.unsaved:
        print(readable(report.unsaved), file=sys.stderr)
        return 1
    return INTERRUPTED if isinstance(report, ProgramReport) and report.interrupted else 0


def _told(program: Sized, options: argparse.Namespace, found: frozenset[str]) -> ProgramReport | str:
    """The report on a CPU's kernel, or its loops. Raises as `find`, building and saving do."""
    written = options.show_passes is not None
    wanted = Wanted(
        isa=options.isa,
        threads=options.threads,
        algorithm=options.algorithm,
        cache=options.cache,
        cluster=options.cluster or "",
    )
    target = target_of("cpu", wanted, written)
    if written:
        return _loops(program, target, options.show_passes)
    prepare(options)
    kernel, chosen = _kernel(program, target, options, found)
    inputs = random_inputs(program, options.seed)
    emitted, unsaved = saved(lambda: kernel.save(options.emit, options.name)) if options.emit else ((), "")
    return ProgramReport(
        kernel=kernel,
        target=target,
        found=chosen,
        error=definition_error(kernel, options.seed, direct=not chosen or chosen.scheme.algorithm == "direct"),
        timing=measured(kernel, inputs, MEASURE_SECONDS),
        moved=sum(array.nbytes for array in (*inputs, *kernel.empty())),
        repeat=_repeat(program, chosen, options),
        lacking=() if options.isa else lacking(isa_named(target.isa), host().flags),
        explanation=tuple(explanation(program, target)) if options.explain else (),
        choice=chosen.explained() if options.explain and chosen else "",
        emitted=emitted,
        unsaved=unsaved,
    )


def _kernel(
    program: Sized, target: Target, options: argparse.Namespace, given: frozenset[str]
) -> tuple[ProgramKernel, Found | None]:
    """The kernel, and how the scheme of the product in it was found; None where all loops follow from rules."""
    around_anchor = anchored_for(program, target)
    if isinstance(around_anchor, str):
        asked = {
            "--scheme": options.scheme,
            "--algorithm winograd": options.algorithm == "winograd",
            "--cache cold": options.cache == "cold",
            "--cluster": options.cluster,
            **{f"--{option}": option in given for option in ("budget", "trials", "forget")},
        }
        if foreign := [option for option, meant in asked.items() if meant]:
            raise ProblemError(
                f"{foreign[0]} is for a product, and here all loops follow from rules ({around_anchor}): leave it out"
            )
        return build(program, target), None
    found = searched(around_anchor.stores.problem, target_of_anchor(around_anchor, target), options)
    if found.tried:
        found.keep("measure")
    anchor: Any = found.build()
    return around(program, around_anchor, anchor, target), found


def _told_of_gpu(program: Sized, options: argparse.Namespace, found: frozenset[str]) -> GpuReport | str:
    """The report on a GPU's kernel, or its loops. The twin computes it, untimed, or the GPU that is here."""
    for name in _CPUS_ALONE:
        if name in found:
            raise ProblemError(f"--{name.replace('_', '-')} means nothing to a GPU's program: leave it out")
    from search.evaluator.gpu.programs import GPU_PASS_NAMES, GpuProgramKernel, TwinProgramKernel, gpu_loops_after

    if options.show_passes is not None:
        return _listed(program, gpu_loops_after(program), GPU_PASS_NAMES, options.show_passes)
    target = target_of(options.target, Wanted())
    if target.absent:
        raise TargetError(
            f"no device to run on: {target.absent}; without one --show-passes works, and --target cuda-twin runs the "
            "kernel on a CPU and writes its files"
        )
    prepare(options)
    kernel = GpuProgramKernel(program)
    emitted, unsaved = saved(lambda: kernel.save(options.emit, target.isa)) if options.emit else ((), "")
    if options.target == "cuda-twin":
        error = definition_error(TwinProgramKernel(program), options.seed)
        return GpuReport(kernel, target, error, None, emitted, unsaved)
    from search.evaluator.gpu.cuda_programs import verdict_on

    given = (str(program.program), _sizes(options.shape), options.dtype, program.outputs)
    verdict = verdict_on(*given, seed=options.seed, seconds=MEASURE_SECONDS)
    return GpuReport(kernel, target, verdict.error, verdict, emitted, unsaved)


def _repeat(program: Sized, found: Found | None, options: argparse.Namespace) -> str:
    """The command that makes the same kernel again."""
    words = [str(program.program)]
    words += ["--shape", options.shape] if options.shape else []
    words += ["--outputs", options.outputs] if options.outputs else []
    words += ["--dtype", options.dtype] if options.dtype != "f32" else []
    words += ["--scheme", found.scheme.text] if found else []
    words += ["--threads", str(options.threads)] if options.threads != 1 else []
    words += ["--isa", options.isa] if options.isa else []
    words += ["--cache", options.cache] if options.cache != "warm" else []
    words += ["--seed", str(options.seed)] if options.seed else []
    return repeated(NAME, words)


def _loops(program: Sized, target: Target, wanted: str) -> str:
    """What `--show-passes` prints: the loops after each pass, or after one."""
    found = anchored_for(program, target)
    if not isinstance(found, str):
        problem = found.stores.problem
        command = ["-m", f"search.{'matmul' if problem.op == 'matmul' else 'conv'}", "--shape", canonical(problem)]
        raise ProblemError(
            f"--show-passes: the loops of the anchor are those of {problem}: "
            f"{shlex.join(['python', *command, '--show-passes'])} shows them"
        )
    return _listed(program, loops_after(program, target), PASS_NAMES, wanted)


def _listed(program: Sized, forms: list[tuple[str, str]], names: tuple[str, ...], wanted: str) -> str:
    return listed(f"# {program.program}", forms, known_pass(names, wanted))


def _text_of(text: str) -> str:
    """The program. `-` stands for standard input, `@FILE` for a file."""
    if text == "-":
        if sys.stdin is None:  # closed by whoever started us
            raise ProblemError("- reads the program from standard input, which is closed")
        return sys.stdin.read()
    if not text.startswith("@"):
        return text
    if text == "@":
        raise ProblemError("@ lacks the name of a file: write @FILE")
    try:
        return Path(text[1:]).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise ProblemError(f"{text[1:]} cannot be read: {getattr(error, 'strerror', None) or error}") from None


def _sizes(text: str) -> dict[str, int | str]:
    """The extents that `i=2,j<=50` gives. Raises ProblemError."""
    sizes: dict[str, int | str] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, _, number = part.partition("=")
        bound, name = name.endswith("<"), name.removesuffix("<")
        if not name.strip().isidentifier() or not number.strip().removeprefix("-").isdecimal():
            raise ProblemError(
                f"--shape {part!r}: write DIM=EXTENT, such as i=2,j=50, or j<=50 where each call has another extent"
            )
        if name.strip() in sizes:
            raise ProblemError(f"--shape gives {name.strip()} twice")
        sizes[name.strip()] = f"<={number.strip()}" if bound else int(number)
    return sizes


def _outputs(options: argparse.Namespace) -> tuple[str, ...]:
    """The arrays that are wanted."""
    return tuple(filter(None, (name.strip() for name in (options.outputs or "").split(","))))


def _parser() -> Parser:
    parser = Parser(
        NAME,
        description="Makes, checks, times and explains a kernel for a program. The search is for the scheme of the "
        "matrix product or convolution in it; all other loops follow from rules.",
    )
    parser.add_argument(
        "text", metavar="TEXT", help="statements, such as 'y[i] = sum[j] x[i,j]'; @FILE reads a file, - standard input"
    )
    parser.add_argument(
        "--shape",
        default="",
        metavar="DIM=EXTENT,…",
        help="the extents of dims, such as i=2,j=50; j<=50: of any call, up to 50",
    )
    parser.add_argument("--outputs", metavar="NAMES", help="the arrays that are wanted; default: the last")
    parser.add_argument("--dtype", default="f32", metavar="NAME", help="dtype of inputs that declare none; default f32")
    parser.add_argument(
        "--target", choices=TARGETS, default="cpu", help="default cpu; cuda-twin runs a GPU's kernel on this CPU"
    )
    add_search(parser, ISA_HELP)
    add_output(
        parser,
        explain="print what was fused, and what stopped the rest",
        emit="write the kernel to DIR: .c, .h, .so; .cu",
        name="program",
    )
    return parser
