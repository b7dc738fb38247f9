"""What a worker process runs: build one candidate, check it, time it with the FMA peak beside. JSON in, JSON out."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from cpu.kernel import Kernel, aligned, build
from cpu.neighbours import undisturbed
from cpu.numbers import ELEMENTS, from_bits, stored, to_bits
from cpu.oracle import error_bound, exact_bound, integers, reals, reference, wrong
from cpu.winograd_oracle import winograd_bound, winograd_integers
from microkernels.benchmark import benchmark_scheme
from microkernels.isa import isa_named
from microkernels.microkernel import parse as parse_microkernel
from tiling.notation import parse
from tiling.problem import Problem
from tiling.scheme import Scheme
from tiling.shapes import problem_of
from tiling.winograd import TAPS, Winograd


class WrongResult(RuntimeError):
    """A kernel that does not compute its problem: how many outputs differ, and where the first one is."""


def scheme(*, op: str, shape: str, scheme: str, isa: str, threads: int, stream: bool, seconds: float) -> dict:
    """Times a scheme for about `seconds`: {"samples": seconds per call, "peak_gflops": one core's}.

    Once more where other programs took the cores meanwhile. The kernel must first compute small-integer data exactly,
    else WrongResult is raised.
    """
    problem = problem_of(op, shape)
    kernel = build(parse(problem, scheme), isa_named(isa), threads, stream)
    return _timed(kernel, *check_exact(kernel), seconds=seconds, threads=threads)


def verdict(
    *, op: str, shape: str, scheme: str, isa: str, threads: int, stream: bool, seconds: float, seed: int
) -> dict:
    """As `scheme`, plus "max_error": the largest error on random reals of `seed`, against float64.

    Raises WrongResult where integers are not exact or an error exceeds the bound of a float32 sum.
    """
    problem = problem_of(op, shape)
    kernel = build(parse(problem, scheme), isa_named(isa), threads, stream)
    x, packed, out, *arrays = check_exact(kernel)
    inputs = reals(problem, seed)
    y = kernel(*stored(problem, inputs))
    largest = largest_error(problem, y, reference(problem, *inputs), bound_of(kernel.scheme, *inputs))
    timed = _timed(kernel, x, packed, out, *arrays, seconds=seconds, threads=threads)
    return {**timed, "max_error": largest}


def definition_error(*, op: str, shape: str, isa: str, seed: int) -> dict:
    """{"max_error"} as `verdict` has it, of the plainest scheme of a 3 x 3 convolution: for its error, not for its
    speed.
    """
    problem, chosen = problem_of(op, shape), isa_named(isa)
    text = f"R(n) R(h) R(w) R(k) S(y) T(r,{TAPS}) T(s,{TAPS}) T(c,{problem.extents['c']}) V(k,{chosen.lanes})"
    kernel, inputs = build(parse(problem, text), chosen), reals(problem, seed)
    return {
        "max_error": largest_error(problem, kernel(*inputs), reference(problem, *inputs), error_bound(problem, *inputs))
    }


def largest_error(problem: Problem, y: np.ndarray, expected: np.ndarray, bound: np.ndarray) -> float:
    """Of a result on random reals, as it is stored; raises WrongResult where it has another shape or an error exceeds
    its `bound`.
    """
    if y.shape != expected.shape:
        raise WrongResult(f"wrong result: shape {y.shape} instead of {expected.shape}")
    dtype = problem.output_dtype
    # Where a sum lies beyond 8 bits the end of their range is right.
    range_of_8 = np.iinfo(ELEMENTS[dtype].numpy) if dtype in ("u8", "s8") else None
    right = expected.clip(range_of_8.min, range_of_8.max) if range_of_8 else expected
    with np.errstate(all="ignore"):
        error = np.abs(from_bits(y, dtype) - right)
    beyond = wrong(problem, y, expected, bound)
    if np.any(beyond):
        raise WrongResult(f"wrong result: an error of {error[beyond].max():g} on random reals is beyond its bound")
    return float(error[np.isfinite(error)].max(initial=0))


def compiled(*, op: str, shape: str, scheme: str, isa: str, threads: int, stream: bool) -> None:
    """Puts a scheme's kernel into the compile cache, so that measuring it later does not wait for the compiler."""
    build(parse(problem_of(op, shape), scheme), isa_named(isa), threads, stream)


# Looks at a microkernel, each in memory of its own and beside its own peak: where pages lie, one differs from the next
# by 2.7 % (standard deviation, 16 tiles of f32 on Sapphire Rapids), the median of five by 1.2.
LOOKS = 5


def microkernel(*, name: str, l1_bytes: int, seconds: float) -> dict:
    """As `scheme`, for one microkernel inside its benchmark loop, on one thread: the median of LOOKS."""
    tile = parse_microkernel(name)
    kernel = build(benchmark_scheme(tile, l1_bytes), isa_named(tile.isa))
    arrays, looks, held = check_exact(kernel), [], []
    for _ in range(LOOKS):
        held.append([aligned(array) for array in arrays])  # or the next look would be in the same memory
        looks.append(_timed(kernel, *held[-1], seconds=seconds / LOOKS, threads=1))
    looks.sort(key=lambda look: min(look["samples"]) * look["peak_gflops"])
    return looks[LOOKS // 2]


def check_exact(kernel: Kernel) -> tuple[np.ndarray, ...]:
    """Runs the kernel on small integers and compares with `==`; what an epilogue rounds, with its bound.

    Returns (x, packed w, y) and the epilogue's arrays. Raises WrongResult.
    """
    (values, w, *arrays), expected, bound = exact_case(kernel.scheme)
    x = aligned(values)
    packed = kernel.pack(w)
    y, right = kernel.empty(), _right(kernel.scheme)
    dtype = kernel.problem.output_dtype
    # An output that is never written cannot pass.
    y[...] = np.nan if dtype == "f32" else ~right
    kernel(x, packed, *arrays, out=y)
    # Bits that are right need no second look, which takes a search of a large output most of its time.
    differ = () if np.array_equal(y, right) else np.argwhere(wrong(kernel.problem, y, expected, bound))
    if len(differ):
        at = tuple(int(i) for i in differ[0])
        raise WrongResult(
            f"wrong result: {len(differ)} of {y.size} outputs differ from the reference, the first at {at}: "
            f"{from_bits(y, dtype)[at]} instead of {expected[at]}"
        )
    return x, packed.data, y, *arrays


def exact_case(scheme: Scheme | Winograd) -> tuple[tuple[np.ndarray, ...], np.ndarray, np.ndarray | float]:
    """Inputs on which the scheme is exact in float32, what they give, and how far an epilogue may round that."""
    return _exact_case(scheme.problem, scheme.m if isinstance(scheme, Winograd) else None)


@lru_cache(maxsize=1)
def _exact_case(problem: Problem, m: int | None):
    inputs = winograd_integers(problem, m) if m else integers(problem)
    expected = reference(problem, *inputs)
    return stored(problem, inputs), expected, exact_bound(problem, *inputs)


def _right(scheme: Scheme | Winograd) -> np.ndarray:
    """What the scheme gives for `exact_case`, as it is stored; sums that an epilogue rounds may differ from it."""
    return _right_bits(scheme.problem, scheme.m if isinstance(scheme, Winograd) else None)


@lru_cache(maxsize=1)
def _right_bits(problem: Problem, m: int | None) -> np.ndarray:
    return to_bits(_exact_case(problem, m)[1], problem.output_dtype)


def bound_of(scheme: Scheme | Winograd, *inputs: np.ndarray) -> np.ndarray:
    """The largest error that the scheme's float32 result may have, per output."""
    problem = scheme.problem
    return winograd_bound(problem, scheme.m, *inputs) if isinstance(scheme, Winograd) else error_bound(problem, *inputs)


def _timed(kernel: Kernel, x, packed, y, *arrays, seconds: float, threads: int) -> dict:
    """The kernel's samples and peak; measured once more where other programs took the cores meanwhile."""
    timing = undisturbed(lambda: kernel.measure(x, packed, y, seconds, arrays), threads, tries=2)
    return {"samples": list(timing.samples), "peak_gflops": timing.peak_gflops}
