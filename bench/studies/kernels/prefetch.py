"""The command `python -m bench.prefetch --suite yolo9000:Y23`: the gain of prefetches in kernels
(`tiling.loops.lowering.prefetch`).

It compiles the kernel of one scheme three times: as emitted, with prefetches to L2 only, and with none. Addresses and
counters are the same in all three. The kernels take turns in one process on one thread, and the median of each counts.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

from bench.run.ending import ending
from bench.run.journal import alone
from bench.run.layouts import laid_out
from bench.run.options import add_isa, add_layout
from cpu.codegen.arrays import stored
from cpu.kernel.arguments import aligned
from cpu.kernel.callable import CpuKernel
from cpu.reference.oracle import reals
from cpu.runtime.machine.neighbours import undisturbed
from cpu.runtime.options import Parser
from search.commands.options import CPU_DTYPE_HELP
from search.evaluator.cpu.backend import CpuBackend, cpu_backend
from search.tuner.measured import AnyScheme
from tiling.machine import Timing
from tiling.problem import ProblemError
from tiling.text.shapes import chosen

ROUNDS, TURN_SECONDS = 7, 0.1
REQUEST = "__builtin_prefetch"
# What is put before the kernel's text: a macro is not expanded inside itself, so the second one still asks. Level 2 is
# L2, level 3 is L1.
BEFORE = {
    "none": f"#define {REQUEST}(line, write, level) ((void)(line))\n",
    "to L2": f"#define {REQUEST}(line, write, level) ((level) == 2 ? {REQUEST}(line, write, 2) : (void)0)\n",
    "all": "",
}


@dataclass(frozen=True)
class Gain:
    """The samples of one scheme for each kernel of BEFORE."""

    scheme: AnyScheme
    timings: dict[str, Timing]

    def percent(self, name: str) -> float:
        """The percentage of the FMA peak that was measured beside it."""
        return 100 * self.timings[name].fraction_of_peak(self.scheme.problem.flops)


def gain(backend: CpuBackend, scheme: AnyScheme) -> Gain | None:
    """The samples of a scheme's kernels; None where its kernel has no prefetches. Raises as `CpuBackend.build` does."""
    kernel = backend.build(scheme)
    if REQUEST not in kernel.source:
        return None
    source = kernel.emitted
    kernels = {
        name: CpuKernel(scheme, replace(source, inside=before + source.inside)) for name, before in BEFORE.items()
    }
    x, w = map(aligned, stored(scheme.problem, reals(scheme.problem, 0)))
    packed, y = kernel.pack(w), kernel.empty()
    turns: dict[str, list[Timing]] = {name: [] for name in BEFORE}
    for _ in range(ROUNDS):
        for name, each in kernels.items():
            turns[name].append(undisturbed(partial(each.measure, x, packed.data, y, TURN_SECONDS), 1))
    # Other programs only lower a peak, and the turns were mixed, so the highest peak counts for all.
    peak = max(turn.peak_gflops for timings in turns.values() for turn in timings)
    samples = {name: tuple(s for turn in timings for s in turn.samples) for name, timings in turns.items()}
    return Gain(scheme, {name: Timing(found, peak) for name, found in samples.items()})


@ending("interrupted")
def main(arguments: list[str] | None = None) -> int:
    """Prints a line a layer and returns the exit code."""
    parser = Parser(
        "python -m bench.prefetch", description="What prefetches bring: kernels with all, with those to L2, with none."
    )
    parser.add_argument("--suite", required=True, nargs="+", metavar="NAME[:LAYER]", help="a suite, or a layer of it")
    parser.add_argument("--scheme", metavar="TEXT", help="scheme of a single layer; default: the model's choice")
    parser.add_argument("--dtype", default="f32", metavar="NAME", help=CPU_DTYPE_HELP)
    add_layout(parser)
    add_isa(parser)
    options = parser.parse_args(arguments)
    backend = cpu_backend(options.isa, 1, options.dtype)
    suites = {name: laid_out(layers, options.layout) for name, layers in chosen(options.suite).items()}
    layers = [(name, layer) for name, layers in suites.items() for layer in layers]
    if options.scheme and len(layers) > 1:
        raise ProblemError("--scheme is for a single layer: name it as SUITE:LAYER")
    with alone():
        for number, (name, layer) in enumerate(layers):
            if layer.problem is None:
                print(f"{name}:{layer.name}: {layer.unsupported}")
                continue
            problem = backend.problem(layer.problem)
            scheme = backend.parsed(problem, options.scheme) if options.scheme else backend.candidates(problem)[0]
            if number == 0:
                print("percent of the FMA peak of f32, the kernel alone, by what it prefetches")
            found = gain(backend, scheme)
            told = ", ".join(f"{kind} {found.percent(kind):.1f} %" for kind in BEFORE) if found else "no prefetches"
            print(f"{name.partition(':')[0]}:{layer.name:<4} {told}   {scheme}", flush=True)
    return 0
