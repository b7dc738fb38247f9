"""The functions that a worker process runs: build a candidate, check it, time it. They take and return JSON."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import ParamSpec, TypedDict, TypeVar

import numpy as np

from cpu.codegen.arrays import stored
from cpu.codegen.emit import emit
from cpu.kernel.arguments import aligned
from cpu.kernel.callable import CpuKernel, build, emitted
from cpu.reference.oracle import WrongResult, error_bound, exact_bound, integers, part_written, reals, reference, wrong
from cpu.reference.winograd import winograd_bound, winograd_integers
from cpu.runtime.machine.host import MachineError
from cpu.runtime.machine.samples import SAMPLE_SECONDS, quietly
from cpu.runtime.numbers import from_bits, to_bits
from microkernels.tile.benchmark import benchmark_scheme
from microkernels.tile.isa import isa_named
from microkernels.tile.microkernel import parse as parse_microkernel
from tiling.dtypes.formats import FORMATS
from tiling.dtypes.products import LANE_BYTES, OUTPUT_BYTES
from tiling.problem import Problem
from tiling.rewrite.winograd.algorithm import TAPS, Winograd
from tiling.scheme.scheme import Scheme
from tiling.text.notation import parse
from tiling.text.shapes import problem_of

# A search measures its best schemes several times, for 60 to 120 ms each. To emit one takes some 30 ms, for its passes.
_written = lru_cache(maxsize=64)(emit)

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


class Measurement(TypedDict):
    """Seconds per call, a sample each, one core's FMA peak, and why the times are in doubt (`Timing.disturbed`)."""

    samples: list[float]
    peak_gflops: float
    disturbed: str


class ErrorOnReals(TypedDict):
    """The largest error on random reals."""

    max_error: float


class CheckedMeasurement(Measurement, ErrorOnReals):
    """A measurement of a kernel that was also checked on random reals."""


def _with_memory(measure: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result]:
    """Wraps a function that may run out of memory for its arrays: it then raises MachineError.

    A kernel that finds no memory ends the process, so a MemoryError is never the kernel's fault.
    """

    @wraps(measure)
    def measured(*positional: _Arguments.args, **arguments: _Arguments.kwargs) -> _Result:
        try:
            return measure(*positional, **arguments)
        except MemoryError as error:
            raise MachineError(
                f"memory does not suffice to check a kernel against its definition ({error}): ask for a smaller shape, "
                "or end other programs"
            ) from error

    return measured


@_with_memory
def scheme(
    *, op: str, shape: str, scheme: str, isa: str, threads: int, stream: bool, seconds: float, cache: str = "warm"
) -> Measurement:
    """Times a scheme for about `seconds`. Returns {"samples": seconds a call, "peak_gflops": one core's, "disturbed"}.

    If other programs took the cores meanwhile, it measures once more; "disturbed" says if they did so again. The
    kernel must first compute small integers exactly: else raises WrongResult. cache: "warm", or "cold", where every
    call finds all arrays in memory.
    """
    kernel = _built(problem_of(op, shape), scheme, isa, threads, stream)
    return _timed(kernel, *check_exact(kernel), seconds=seconds, threads=threads, cache=cache)


@_with_memory
def verdict(
    *,
    op: str,
    shape: str,
    scheme: str,
    isa: str,
    threads: int,
    stream: bool,
    seconds: float,
    seed: int,
    cache: str = "warm",
) -> CheckedMeasurement:
    """As `scheme`, plus "max_error": the largest error on random reals drawn with `seed`, against float64.

    Raises WrongResult if integers are not exact or an error exceeds the bound of a float32 sum.
    """
    problem = problem_of(op, shape)
    kernel = _built(problem, scheme, isa, threads, stream)
    x, packed, out, *arrays = check_exact(kernel)
    inputs = reals(problem, seed)
    y = kernel(*stored(problem, inputs))
    largest = largest_error(problem, y, reference(problem, *inputs), bound_of(kernel.scheme, *inputs))
    timed = _timed(kernel, x, packed, out, *arrays, seconds=seconds, threads=threads, cache=cache)
    return {**timed, "max_error": largest}


@_with_memory
def definition_error(*, op: str, shape: str, isa: str, seed: int) -> ErrorOnReals:
    """{"max_error"} as in `verdict`, for the plainest scheme of a 3 x 3 convolution.

    A report shows it beside the error of Winograd's algorithm.
    """
    problem, chosen = problem_of(op, shape), isa_named(isa)
    text = f"R(n) R(h) R(w) R(k) S(y) T(r,{TAPS}) T(s,{TAPS}) T(c,{problem.extents['c']}) V(k,{chosen.lanes})"
    kernel, inputs = build(parse(problem, text), chosen), reals(problem, seed)
    return {
        "max_error": largest_error(problem, kernel(*inputs), reference(problem, *inputs), error_bound(problem, *inputs))
    }


def largest_error(problem: Problem, y: np.ndarray, expected: np.ndarray, bound: np.ndarray | float) -> float:
    """The largest error of y, a result on random reals in the kernel's own number format.

    Raises WrongResult if y has another shape than `expected`, or if an error exceeds `bound`.
    """
    y = part_written(problem, y)
    if y.shape != expected.shape:
        raise WrongResult(f"wrong result: shape {y.shape} instead of {expected.shape}")
    dtype = problem.output_dtype
    # A sum beyond the range of a narrow whole number becomes the end of that range.
    saturates = FORMATS[dtype].whole and OUTPUT_BYTES[dtype] < LANE_BYTES
    right = expected.clip(*FORMATS[dtype].ends) if saturates else expected
    with np.errstate(all="ignore"):
        error = np.abs(from_bits(y, dtype) - right)
    beyond = wrong(problem, y, expected, bound)
    if np.any(beyond):
        raise WrongResult(f"wrong result: an error of {error[beyond].max():g} on random reals is beyond its bound")
    return float(error[np.isfinite(error)].max(initial=0))


def compiled(*, op: str, shape: str, scheme: str, isa: str, threads: int, stream: bool, cache: str = "warm") -> None:
    """Compiles a scheme's kernel into the cache, so that measuring it later does not wait for the compiler.

    cache: how it will be measured, which does not change it.
    """
    _built(problem_of(op, shape), scheme, isa, threads, stream)


def _built(problem: Problem, scheme: str, isa: str, threads: int, stream: bool) -> CpuKernel:
    parsed = parse(problem, scheme)
    return CpuKernel(parsed, emitted(parsed, isa_named(isa), threads, stream, _written))


# Repetitions of a microkernel's measurement, each in memory of its own and beside its own peak. One repetition differs
# from the next by 2.7 %, because pages lie elsewhere (standard deviation, 16 tiles of f32 on Sapphire Rapids).
REPETITIONS = 5
# Seconds of a sample of it, about as long as the chunks of which the peak is the fastest. A core of a Zen 3 in a cloud
# was undisturbed for half a millisecond at a time. There 12 of 40 tiles had 50 to 80 % of their speed by samples of
# 1 ms, and the peak all of it (docs/decisions/062).
TILE_SAMPLE = 50e-6


@_with_memory
def microkernel(*, name: str, l1_bytes: int, seconds: float) -> Measurement:
    """As `scheme`, for one microkernel in its benchmark loop, on one thread. Returns the fastest of its repetitions."""
    tile = parse_microkernel(name)
    kernel = build(benchmark_scheme(tile, l1_bytes), isa_named(tile.isa))
    arrays, repetitions, held = check_exact(kernel), [], []
    for _ in range(REPETITIONS):
        held.append([aligned(array) for array in arrays])  # freed arrays would give the next repetition the same memory
        repetitions.append(_timed(kernel, *held[-1], seconds=seconds / REPETITIONS, threads=1, sample=TILE_SAMPLE))
    return min(repetitions, key=lambda repetition: min(repetition["samples"]) * repetition["peak_gflops"])


def check_exact(kernel: CpuKernel) -> tuple[np.ndarray, ...]:
    """Runs the kernel on small integers and compares with `==`, or within a bound what an epilogue rounds.

    Returns x, the packed weights, y and the epilogue's arrays. Raises WrongResult.
    """
    (values, w, *arrays), expected, bound = exact_case(kernel.scheme)
    x = aligned(values)
    packed = kernel.pack(w)
    y, right = kernel.empty(), _right(kernel.scheme)
    found, dtype = part_written(kernel.problem, y), kernel.problem.output_dtype
    # y is filled with wrong values first, so that an element that is never written cannot pass.
    y[...] = np.nan if y.dtype.kind == "f" else ~right
    kernel(x, packed, *arrays, out=y)
    if found.size < y.size and np.count_nonzero(np.isnan(y)) - np.count_nonzero(np.isnan(found)) < y.size - found.size:
        raise WrongResult("wrong result: the kernel writes to channels that are not its own")
    # If all bits are right, the slow comparison is left out: for a large output it would take most of a search's time.
    if np.array_equal(found, right):
        return x, packed.data, y, *arrays
    differ = np.argwhere(wrong(kernel.problem, found, expected, bound))
    if len(differ):
        at = tuple(int(i) for i in differ[0])
        raise WrongResult(
            f"wrong result: {len(differ)} of {found.size} outputs differ from the reference, the first at {at}: "
            f"{from_bits(found, dtype)[at]} instead of {expected[at]}"
        )
    return x, packed.data, y, *arrays


def exact_case(scheme: Scheme | Winograd) -> tuple[tuple[np.ndarray, ...], np.ndarray, np.ndarray | float]:
    """Inputs on which the scheme is exact in float32, the expected output, and the bound of an epilogue's rounding."""
    return _exact_case(scheme.problem, scheme.m if isinstance(scheme, Winograd) else None)


@lru_cache(maxsize=1)
def _exact_case(problem: Problem, m: int | None) -> tuple[tuple[np.ndarray, ...], np.ndarray, np.ndarray | float]:
    inputs = winograd_integers(problem, m) if m else integers(problem)
    expected = reference(problem, *inputs)
    return stored(problem, inputs), expected, exact_bound(problem, *inputs)


def _right(scheme: Scheme | Winograd) -> np.ndarray:
    """The expected output of `exact_case` in the kernel's own number format."""
    return _right_bits(scheme.problem, scheme.m if isinstance(scheme, Winograd) else None)


@lru_cache(maxsize=1)
def _right_bits(problem: Problem, m: int | None) -> np.ndarray:
    return to_bits(_exact_case(problem, m)[1], problem.output_dtype)


def bound_of(scheme: Scheme | Winograd, *inputs: np.ndarray) -> np.ndarray | float:
    """The largest error that the scheme's float32 result may have, per output."""
    problem = scheme.problem
    return winograd_bound(problem, scheme.m, *inputs) if isinstance(scheme, Winograd) else error_bound(problem, *inputs)


def _timed(
    kernel: CpuKernel,
    x: np.ndarray,
    packed: np.ndarray,
    y: np.ndarray,
    *arrays: np.ndarray,
    seconds: float,
    threads: int,
    cache: str = "warm",
    sample: float = SAMPLE_SECONDS,
) -> Measurement:
    """The kernel's samples and peak. If other programs took the cores meanwhile, it measures once more."""
    timing = quietly(lambda: kernel.measure(x, packed, y, seconds, arrays, cache == "cold", sample), threads, tries=2)
    return {"samples": list(timing.samples), "peak_gflops": timing.peak_gflops, "disturbed": timing.disturbed}
