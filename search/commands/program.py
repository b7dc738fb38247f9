"""The command `python -m search.program TEXT`: a fast kernel for a program of maps, reductions and products."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from cpu.runtime.options import Parser
from cpu.runtime.output import readers_may_leave, write
from cpu.runtime.plural import plural
from search.commands.ending import ending
from search.commands.options import ISA_HELP, c_name, folder, natural, seconds, whole
from search.commands.passes import add_show_passes, known_pass, listed
from search.evaluator import target_of
from search.evaluator.cpu.programs import (
    PASS_NAMES,
    AnchoredKernel,
    anchored_for,
    definition_error,
    explanation,
    loops_after,
    random_inputs,
)
from search.evaluator.interface.files import writable
from search.flow.find import DEFAULT_BUDGET
from search.flow.programs import gpu_program_kernel, program_kernel
from search.tuner.target import TARGETS, Target, Wanted
from tiling.problem import ProblemError
from tiling.program.infer import Sized, sized
from tiling.program.read import read


@ending("interrupted before there was a result")
def main(arguments: list[str] | None = None) -> int:
    """Runs the command line and returns the exit code. 1: it failed; 2: it cannot be done as asked; 130: Ctrl-C."""
    options = _parser().parse_args(arguments)
    text = told(options)
    with readers_may_leave():
        write(text)
    return 0


def told(options: argparse.Namespace) -> str:
    """What the command prints. Raises ProblemError, and what building and saving raise."""
    outputs = tuple(filter(None, (options.outputs or "").split(",")))
    if options.outputs is not None and not outputs:
        raise ProblemError(f"--outputs {options.outputs!r} names no array: write one, or several with commas between")
    if options.search_budget is not None and options.tune != "measure":
        raise ProblemError("--search-budget is the time of --tune measure: give that too, or leave it out")
    program = sized(read(_text_of(options.text)), _sizes(options.shape), dtype=options.dtype, outputs=outputs)
    if options.target != "cpu":
        return _told_of_gpu(options, program)
    wanted = Wanted(isa=options.isa, threads=options.threads)
    if options.show_passes is not None:
        if options.json or options.explain or options.emit:
            raise ProblemError(
                "--show-passes prints the loops and nothing else: leave out --json, --explain and --emit"
            )
        return _loops(program, target_of("cpu", wanted, written=True), options.show_passes)
    target = target_of("cpu", wanted)
    if options.name and not options.emit:
        raise ProblemError("--name is the name of what --emit writes: give --emit DIR too")
    if options.emit:
        writable(options.emit)
    doubts: list[str] = []
    kernel = program_kernel(program, target, options.tune, options.search_budget or DEFAULT_BUDGET, doubts.append)
    errors = definition_error(kernel, options.seed)
    timing = kernel.measure(random_inputs(program, options.seed), options.budget)
    emitted: tuple[Path, ...] = kernel.save(options.emit, options.name) if options.emit else ()
    sentences = explanation(program, target) if options.explain else []
    moved = sum(array.nbytes for array in random_inputs(program, options.seed))
    moved += sum(array.nbytes for array in kernel.empty())
    facts: dict[str, Any] = {
        "program": str(program.program),
        "dims": dict(program.dims),
        "runtime": list(program.runtime),
        "inputs": {array.name: [array.dtype, *array.shape] for array in kernel.inputs},
        "outputs": {array.name: [array.dtype, *array.shape] for array in kernel.outputs},
        "scheme": kernel.scheme if isinstance(kernel, AnchoredKernel) else None,
        "isa": target.isa,
        "threads": kernel.threads,
        "error": errors if isinstance(errors, dict) else None,
        "unchecked": errors if isinstance(errors, str) else "",
        "seconds": timing.seconds,
        "bytes": moved,
        "bytes_per_second": moved / timing.seconds,
        "remarks": doubts,
        "explanation": sentences,
        "emitted": [str(path) for path in emitted],
    }
    return json.dumps(facts) if options.json else _report(facts, options.threads)


def _told_of_gpu(options: argparse.Namespace, program: Sized) -> str:
    """What the command prints for a GPU's kernel, which the twin computes: nothing is timed."""
    if options.threads != 1 or options.isa or options.tune != "model" or options.explain or options.name:
        raise ProblemError(
            f"--threads, --isa, --tune, --explain and --name mean nothing to --target {options.target}: leave them out"
        )
    kernel = gpu_program_kernel(program, options.target)
    from search.evaluator.gpu.programs import GPU_PASS_NAMES, gpu_loops_after

    if options.show_passes is not None:
        return _listed(program, gpu_loops_after(program), GPU_PASS_NAMES, options.show_passes)
    if options.emit:
        writable(options.emit)
    facts: dict[str, Any] = {
        "program": str(program.program),
        "dims": dict(program.dims),
        "launches": [
            {"blocks": str(each.grid), "threads": each.threads, "shared_bytes": each.shared_bytes}
            for each in kernel.emitted.launches
        ],
        "emitted": [str(path) for path in kernel.save(options.emit)] if options.emit else [],
    }
    errors = definition_error(kernel, options.seed)
    facts["error"] = errors if isinstance(errors, dict) else None
    facts["unchecked"] = errors if isinstance(errors, str) else ""
    if options.json:
        return json.dumps(facts)
    lines = str(program.program).split("; ")
    for number, each in enumerate(facts["launches"]):
        shared = f", {each['shared_bytes']} bytes of shared memory" * (each["shared_bytes"] > 16)
        lines.append(
            f"launch {number}  {plural(each['blocks'], 'blocks')} of {plural(each['threads'], 'threads')}{shared}"
        )
    if facts["error"] is not None:
        text = ", ".join(f"{name} {error:.1e}" for name, error in facts["error"].items())
        lines.append(f"error    on the twin, against the definition in float64, of the largest value: {text}")
    else:
        lines.append(f"error    not checked: {facts['unchecked']}")
    return "\n".join([*lines, *(f"wrote    {path}" for path in facts["emitted"])])


def _report(facts: dict[str, Any], threads: int) -> str:
    """The facts for people."""
    arrays = {
        side: ", ".join(f"{name}: {dtype}[{', '.join(map(str, shape))}]" for name, (dtype, *shape) in each.items())
        for side, each in (("inputs", facts["inputs"]), ("outputs", facts["outputs"]))
    }
    lines = [
        *str(facts["program"]).split("; "),
        f"inputs   {arrays['inputs'] or 'none'}",
        f"outputs  {arrays['outputs']}",
    ]
    if facts["runtime"]:
        extents = ", ".join(f"{dim} from 1 to {facts['dims'][dim]}" for dim in facts["runtime"])
        lines.append(f"runtime  {extents}; checked and timed with all")
    if facts["scheme"]:
        lines.append(f"scheme   {facts['scheme']}")
    on = plural(facts["threads"], "threads")
    few = f", of {threads} asked for: there is too little to do for more" if facts["threads"] != threads else ""
    lines.append(f"machine  {facts['isa']}, {on}{few}")
    if facts["error"]:
        text = ", ".join(f"{name} {error:.1e}" for name, error in facts["error"].items())
        lines.append(f"error    against the definition in float64, of the largest value: {text}")
    else:
        lines.append(f"error    not checked: {facts['unchecked']}")
    rate = f"{facts['bytes_per_second'] / 1e9:.1f} GB/s of the {facts['bytes']:,} bytes of its arrays"
    lines.append(f"time     {1e6 * facts['seconds']:.3g} µs, warm: {rate}")
    lines += [f"remark   {sentence}" for sentence in facts["remarks"]]
    lines += [f"why      {sentence}" for sentence in facts["explanation"]]
    return "\n".join([*lines, *(f"wrote    {path}" for path in facts["emitted"])])


def _loops(program: Sized, target: Target, wanted: str) -> str:
    """What `--show-passes` prints: the loops after each pass, or after one."""
    found = anchored_for(program, target)
    if not isinstance(found, str):
        raise ProblemError(f"--show-passes: the loops of the anchor are those of {found.stores.problem}: ask for these")
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


def _parser() -> argparse.ArgumentParser:
    parser = Parser("python -m search.program", description="Makes, checks, times and explains a kernel for a program.")
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
        "--target", choices=TARGETS, default="cpu", help="cpu, or cuda-twin: a GPU's kernel on a CPU; default cpu"
    )
    parser.add_argument("--threads", type=whole, default=1, metavar="N", help="OpenMP threads at most; default 1")
    parser.add_argument("--isa", metavar="NAME", help=ISA_HELP)
    parser.add_argument("--budget", type=seconds, default=0.2, metavar="SECONDS", help="time to measure; default 0.2")
    parser.add_argument(
        "--tune",
        choices=("model", "measure"),
        default="model",
        help="how the scheme of a product in it is chosen; default model",
    )
    parser.add_argument(
        "--search-budget", type=seconds, metavar="SECONDS", help=f"search of --tune measure; default {DEFAULT_BUDGET:g}"
    )
    parser.add_argument("--explain", action="store_true", help="print what was fused, and what stopped the rest")
    add_show_passes(parser)
    parser.add_argument("--emit", type=folder, metavar="DIR", help="write the kernel to DIR: .c, .h, .so")
    parser.add_argument("--name", type=c_name, metavar="NAME", help="name of the C function that --emit writes")
    parser.add_argument("--seed", type=natural, default=0, metavar="N", help="seed of the random data")
    parser.add_argument("--json", action="store_true", help="print exactly one JSON object")
    return parser
