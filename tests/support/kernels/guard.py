"""Arrays with forbidden pages beside them, and kernels run on such arrays."""

from __future__ import annotations

import ctypes
import mmap
from math import prod

import numpy as np

from cpu.kernel.callable import CpuKernel
from cpu.kernel.measure import check_exact, exact_case
from cpu.reference.oracle import WrongResult, error_bound, reals, reference, wrong
from cpu.runtime.numbers import ELEMENTS
from microkernels.tile.isa import ISAS
from tests.support.kernels.cases import ALL_CASES, CASES, kernel_of
from tiling.loops.lowering.stream_plan import may_stream
from tiling.text.notation import parse

# Where an array lies between its two forbidden pages: it ends at the second, it starts after the first, or it starts
# one element after the first, so that it is aligned to that and no more.
PLACES = ("after", "before", "unaligned")

_SLACK = np.uint32(0x7FC0BEEF)  # a NaN: what lies between an array and a page; used, it spoils the result
_F32 = np.dtype(np.float32)
_PACK = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 2)


class Guarded:
    """An array of `shape` between two pages that may not be touched, at one of PLACES."""

    def __init__(self, shape: tuple[int, ...], place: str, dtype: np.dtype = _F32):
        elements, size = prod(shape), dtype.itemsize
        first = 1 if place == "unaligned" else 0
        span = -(-size * (elements + first) // mmap.PAGESIZE) * mmap.PAGESIZE
        if place == "after":
            first = span // size - elements
        self._memory = mmap.mmap(-1, span + 2 * mmap.PAGESIZE)
        start = ctypes.addressof(ctypes.c_char.from_buffer(self._memory))
        for page in (start, start + mmap.PAGESIZE + span):
            nothing_allowed = 0
            if ctypes.CDLL(None).mprotect(ctypes.c_void_p(page), ctypes.c_size_t(mmap.PAGESIZE), nothing_allowed):
                raise OSError("mprotect refused a page of our own")
        np.frombuffer(self._memory, np.uint32, span // 4, mmap.PAGESIZE)[:] = _SLACK
        between = np.frombuffer(self._memory, np.uint8, span, mmap.PAGESIZE)
        ends = (slice(0, size * first), slice(size * (first + elements), span))
        self._slack = tuple((between[end], between[end].copy()) for end in ends)
        self.array = between[size * first : size * (first + elements)].view(dtype).reshape(shape)

    @property
    def pointer(self) -> ctypes.c_void_p:
        return ctypes.c_void_p(self.array.ctypes.data)

    @property
    def spilled(self) -> bool:
        """Whether something was written between the array and a page."""
        return any(np.any(now != before) for now, before in self._slack)


def check_guarded(kernel: CpuKernel, place: str) -> None:
    """Packs and computes through the C functions alone, every array at `place`. Raises WrongResult."""
    problem = kernel.original
    values, expected, bound = exact_case(kernel.scheme)
    x, w, *more = inputs = [Guarded(value.shape, place, value.dtype) for value in values]
    packed = Guarded((kernel.emitted.packed,), place, values[1].dtype)
    y = Guarded(problem.output.shape, place, ELEMENTS[problem.output_dtype].numpy)
    for operand, value in zip(inputs, values):
        operand.array[...] = value
    _PACK(kernel.pack_address)(w.pointer, packed.pointer)
    arguments = [operand.pointer for operand in (x, packed, y, *more)]
    ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(arguments))(kernel.address)(*arguments)
    differ = np.argwhere(wrong(problem, y.array, expected, bound))
    if len(differ):
        at = tuple(int(i) for i in differ[0])
        raise WrongResult(
            f"guard page {place}: {len(differ)} outputs are wrong, y{list(at)} is {y.array[at]}, not {expected[at]}"
        )
    arrays = dict(zip((tensor.name for tensor in problem.epilogue_arrays), more))
    for name, operand in {"x": x, "w": w, "packed w": packed, "y": y, **arrays}.items():
        if operand.spilled:
            raise WrongResult(f"guard page {place}: something was written beside {name}")


def check_case(name: str, isa: str) -> None:
    """The kernel of a case is exact on integers, within its bound on reals, and touches nothing beside its arrays at
    any of PLACES. One that may stream its stores does so too. Raises WrongResult.
    """
    problem, text = ALL_CASES[name]
    # Other schemes have the same text either way, as test_stream_plan.py shows.
    streams = (False, True) if may_stream(parse(problem, text.format(v=ISAS[isa].lanes))) else (False,)
    for stream in streams:
        kernel = kernel_of(problem, text, isa, stream=stream)
        if not stream:
            check_exact(kernel)
        if not stream and name in CASES:  # those with an epilogue are in test_epilogue_kernels.py
            x, w = reals(problem, seed=1)
            if not np.all(np.abs(kernel(x, w) - reference(problem, x, w)) <= error_bound(problem, x, w)):
                raise WrongResult("outputs of reals are beyond their bound")
        for place in PLACES:
            check_guarded(kernel, place)
