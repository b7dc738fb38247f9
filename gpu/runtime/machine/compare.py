"""Counts on the device how many elements of an output are outside their limits."""

# That takes a millisecond. To copy the largest outputs to the CPU and compare them there takes over a second.

from __future__ import annotations

from functools import lru_cache
from math import ceil
from typing import Any

from gpu.codegen.program import CudaProgram
from gpu.runtime.machine.loaded import Loaded, load_program
from tiling.dtypes.formats import FORMATS
from tiling.scheme.taskmap import looped, repeat, spatial

_THREADS = 256
_MOST_BLOCKS = 2048  # several for each multiprocessor; the CPU adds up the counts of all threads


def outside(dtype: str, found: Any, low: Any, high: Any) -> int:
    """How many elements of `found` are not between those of `low` and `high`.

    All three are CuPy arrays of the bits of one dtype. The limits are included. An element counts as outside where any
    of the three is NaN.
    """
    import cupy

    counting = _loaded(cupy.cuda.Device().id, found.size, dtype)
    counts = cupy.empty(counting.program.grid * _THREADS, "float32")
    counting.launch(found, low, high, counts)
    return int(cupy.asnumpy(counts).sum(dtype="float64"))


def counter(elements: int, dtype: str) -> CudaProgram:
    """A program on the arrays found, low, high and counts: each thread writes how many of its elements are outside."""
    blocks = min(_MOST_BLOCKS, ceil(elements / _THREADS))
    threads = repeat(blocks) @ spatial(_THREADS)
    turns = ceil(elements / threads.shape[0])
    block = ("(long)blockIdx.x", blocks)
    element = (repeat(turns) @ threads).index(0, "threadIdx.x", looped(("turn", turns), block))
    pointer, load = f"const {FORMATS[dtype].cuda} *", f"load_{dtype}"
    text = f"""/* Each thread counts elements outside their limits; no comparison holds of what is no number. */
KERNEL({_THREADS}, 1) outside_{dtype}({pointer}found, {pointer}low, {pointer}high, float *counts)
{{
    float count = 0;
    for (long turn = 0; turn < {turns}; ++turn) {{
        const long i = {element};
        if (i < {elements}) {{
            const float value = {load}(found + i);
            if (!({load}(low + i) <= value && value <= {load}(high + i)))
                count += 1;
        }}
    }}
    store_f32(counts + {threads.index(0, "threadIdx.x", looped(block))}, count);
}}
"""
    return CudaProgram(f"outside_{dtype}", text, blocks, _THREADS, 0, 4)


@lru_cache(maxsize=4)
def _loaded(device: int, elements: int, dtype: str) -> Loaded:
    """The counting kernel, loaded on the current device."""
    return load_program(counter(elements, dtype))
