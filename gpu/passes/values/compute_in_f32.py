"""Numbers that are stored in 16 bits are computed with in f32, and rounded where they are stored.

    acc[…] += X[m + m_u, k + k_u] * W[…]          acc[…] += as_f32(X[m + m_u, k + k_u]) * as_f32(W[…])
    …                                       ->    …
    Y[…] = to_f16(acc[m_u, n_u, 0])               Y[…] = as_f16(acc[m_u, n_u, 0])

The arrays of an epilogue are stored as the output is. For tf32, the inputs are f32 that are rounded before the product:
a matrix instruction would truncate them.
"""

from __future__ import annotations

from dataclasses import replace

from tiling.dtypes.formats import WIDENED
from tiling.loops.buffer import Buffer
from tiling.loops.facts.values import dtypes_of
from tiling.loops.kernel import Kernel
from tiling.loops.language import Apply, Load, Operand, Statement, Store
from tiling.loops.rewrite import with_own_values
from tiling.loops.walk import with_blocks
from tiling.scheme.scheme import Scheme


def compute_in_f32(kernel: Kernel, scheme: Scheme) -> Kernel:
    """The kernel, which computes in f32."""
    stored = scheme.problem.output_dtype
    rounded = {array.name for array in kernel.arrays if array.dtype == "tf32"}
    arrays = tuple(replace(a, dtype=stored) if _of_epilogue(a) else a for a in kernel.arrays)
    arrays = tuple(replace(a, dtype="f32") if a.name in rounded else a for a in arrays)
    kernel = replace(kernel, arrays=arrays)
    dtypes = dtypes_of(kernel)

    def wider(operand: Operand) -> Operand | None:
        if isinstance(operand, Load) and operand.buffer in rounded:
            return Apply("as_tf32", (operand,))
        if isinstance(operand, Load) and dtypes[operand.buffer] in WIDENED:
            return Apply(WIDENED[dtypes[operand.buffer]], (operand,))
        return None

    def statement(inner: Statement) -> Statement:
        inner = with_own_values(inner, wider)
        if isinstance(inner, Store) and dtypes[inner.buffer] in WIDENED:
            value = inner.value
            if isinstance(value, Apply) and value.function == f"to_{dtypes[inner.buffer]}":
                (value,) = value.arguments
            inner = replace(inner, value=Apply(f"as_{dtypes[inner.buffer]}", (value,)))
        return with_blocks(inner, lambda block: tuple(map(statement, block)))

    return replace(kernel, body=tuple(map(statement, kernel.body)))


def _of_epilogue(array: Buffer) -> bool:
    return array.name.startswith("E_")
