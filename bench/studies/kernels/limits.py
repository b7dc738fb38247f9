"""The command `python -m bench.limits --suite yolo9000:Y2`: what keeps kernels from the peak, one thing at a time.

The text of one scheme is compiled with one change after the other, and all variants take turns on one thread. An array
whose rows all lie at one place stays in the caches, and the kernel computes something else with the same FMAs. A
compiler may leave out some loads and stores of it, so such an array takes at most what the table says.
"""

from __future__ import annotations

import mmap
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from math import prod
from statistics import median

import numpy as np

from bench.run.ending import ending
from bench.run.journal import alone
from cpu.codegen.emit import Source, emit
from cpu.kernel.callable import CpuKernel
from cpu.runtime.machine.neighbours import undisturbed
from cpu.runtime.options import Parser
from search.evaluator.cpu.backend import CpuBackend, cpu_backend
from search.tuner.measured import AnyScheme
from tiling.loops.language import LINE
from tiling.machine import Timing
from tiling.problem import Problem, ProblemError
from tiling.scheme.scheme import Scheme
from tiling.tensor import Tensor
from tiling.text.shapes import canonical, chosen, problem_of

ROUNDS, TURN_SECONDS = 7, 0.05
# Misses of the TLB, lines of y that are read before they are written, and conflicts of sets.
CHANGES = ("pages of 4 KB", "y streamed", "a line more a pixel")
IN_CACHE = ("x in cache", "y in cache", "both in cache")
HUGE_PAGE = 2 << 20
EXAMPLE = "c=16,h=112,w=112,k=24,r=1,s=1"


def still(source: Source, array: str) -> Source:
    """The kernel with all images and rows of an array at one place, so that the array stays in the caches."""
    return _strided(source, array, lambda axis, step: 0 if axis in "nh" else step)


def apart(source: Source, array: str, channels: int) -> Source:
    """The kernel with a cache line more between pixels of `channels` f32, so that they share no sets of a cache."""
    return _strided(source, array, lambda axis, step: step + step // channels * (LINE // 4) if axis in "nhw" else step)


def _strided(source: Source, array: str, step: Callable[[str, int], int]) -> Source:
    """The kernel with other elements between neighbours along the axes of an array. Raises ProblemError without any."""
    stride = re.compile(rf"(static const long {array}_(\w+) = )(\d+);")
    inside, count = stride.subn(lambda m: f"{m[1]}{step(m[2], int(m[3]))};", source.inside)
    if not count:
        raise ProblemError(f"the kernel says no strides of {array}")
    return replace(source, inside=inside)


def variants(scheme: Scheme, backend: CpuBackend) -> dict[str, tuple[Source, bool]]:
    """By name: the kernel, and whether its arrays ask for large pages.

    Rows that a register tile has several of cannot lie at one place: a compiler would multiply only one of them.
    """
    channels = [tensor.shape[-1] for tensor in (scheme.problem.tensors[0], scheme.problem.output)]
    plain, streamed = (emit(scheme, backend.isa, 1, stream) for stream in (False, True))
    further = apart(apart(plain, "X", channels[0]), "Y", channels[1])
    found = {"as it is": (plain, True)} | dict(zip(CHANGES, ((plain, False), (streamed, True), (further, True))))
    if any(tile[dim] > 1 for tile in scheme.tiles for dim in "nh"):
        return found
    x, y = still(plain, "X"), still(plain, "Y")
    return found | dict(zip(IN_CACHE, ((x, True), (y, True), (still(x, "Y"), True))))


def area(elements: int, large: bool) -> np.ndarray:
    """Random f32 at the beginning of a large page, in large pages where the system grants them, or in none."""
    memory = mmap.mmap(-1, 4 * elements + 2 * HUGE_PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    memory.madvise(mmap.MADV_HUGEPAGE if large else mmap.MADV_NOHUGEPAGE)
    whole = np.frombuffer(memory, np.uint8)
    found = whole[-whole.ctypes.data % HUGE_PAGE :][: 4 * elements].view(np.float32)
    found[:] = np.random.default_rng(0).random(elements, np.float32)
    return found


@dataclass(frozen=True)
class Limits:
    """The samples of one scheme's variants."""

    scheme: AnyScheme
    timings: Mapping[str, Timing]

    @property
    def percent(self) -> float:
        """The percentage of the FMA peak that the kernel as it is reaches."""
        return 100 * self.timings["as it is"].fraction_of_peak(self.scheme.problem.flops)

    def change(self, name: str) -> str:
        """By how many percent a variant takes longer than the kernel as it is; a dash where there is none."""
        if name not in self.timings:
            return "–"
        return f"{100 * (self.timings[name].seconds / self.timings['as it is'].seconds - 1):+.1f} %"


def limits(backend: CpuBackend, scheme: Scheme) -> Limits:
    """Times the variants of a scheme in turns. Raises as `CpuBackend.build` does, and ProblemError without strides."""
    kinds = variants(scheme, backend)
    kernels = {name: CpuKernel(scheme, source) for name, (source, _) in kinds.items()}

    def padded(tensor: Tensor) -> int:
        return prod(tensor.shape[:-1]) * (tensor.shape[-1] + LINE // 4)

    sizes = (padded(scheme.problem.tensors[0]), kinds["as it is"][0].packed, padded(scheme.problem.output))
    arrays = {large: [area(size, large) for size in sizes] for large in (True, False)}
    turns: dict[str, list[Timing]] = {name: [] for name in kinds}
    for _ in range(ROUNDS):
        for name, kernel in kernels.items():
            x, packed, y = arrays[kinds[name][1]]
            measure = partial(kernel.measure, x, packed, y, TURN_SECONDS)
            turns[name].append(undisturbed(measure, 1))
    peak = max(turn.peak_gflops for found in turns.values() for turn in found)
    return Limits(scheme, {n: Timing(tuple(median(t.samples) for t in found), peak) for n, found in turns.items()})


def _problem(backend: CpuBackend, problem: Problem) -> Problem:
    if problem.layout != "nhwc" or problem.epilogue_arrays or not problem.windows:
        raise ProblemError(
            f"{canonical(problem)}: only convolutions of channels last without an epilogue are changed so"
        )
    return backend.problem(problem)


@ending("interrupted")
def main(arguments: list[str] | None = None) -> int:
    """Prints a table, a line a layer, and returns the exit code."""
    parser = Parser("python -m bench.limits", description="What keeps kernels from the peak: one thing at a time.")
    parser.add_argument("--suite", nargs="+", default=[], metavar="NAME[:LAYER]", help="a suite, or a layer of it")
    parser.add_argument("--shape", nargs="+", default=[], metavar="TEXT", help=f"a convolution, such as {EXAMPLE}")
    options = parser.parse_args(arguments)
    backend = cpu_backend()
    suites = chosen(options.suite).items() if options.suite else ()
    found = [(f"{suite.partition(':')[0]}:{each.name}", each.problem) for suite, layers in suites for each in layers]
    found += [(text, problem_of("conv2d", text)) for text in options.shape]
    if not found:
        raise ProblemError(f"no layer is named: give --suite yolo9000:Y2, or --shape {EXAMPLE}")
    problems = [(name, _problem(backend, problem)) for name, problem in found if problem]
    kinds = (*CHANGES, *IN_CACHE)
    with alone():
        print("| layer | % of the FMA peak |" + "".join(f" {kind} |" for kind in kinds))
        print("| --- | ---: |" + " ---: |" * len(kinds))
        for name, problem in problems:
            scheme = next((s for s in backend.candidates(problem) if isinstance(s, Scheme)), None)
            if scheme is None:
                raise ProblemError(f"{name}: no kernel of one scheme is known for it, so there is none to change")
            each = limits(backend, scheme)
            print(f"| {name} | {each.percent:.1f} |{''.join(f' {each.change(kind)} |' for kind in kinds)}", flush=True)
    print(
        "\n+ takes longer than the kernel as it is, - is faster. – has several rows in a register tile, as in U(h,2)."
        " Taps on padding count as operations, though kernels leave them out."
    )
    return 0
