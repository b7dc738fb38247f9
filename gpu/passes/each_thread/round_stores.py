"""Lets the store of a narrow number round it.

Y[m + m_u, …] = as_f16(acc[…])    ->    put(to: Y + [m + m_u, …], v: acc[…])
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache, partial

from tiling.dtypes.formats import WIDENED
from tiling.loops.facts.values import dtype_of, dtypes_of
from tiling.loops.index import ZERO
from tiling.loops.kernel import Kernel
from tiling.loops.language import Address, Apply, Body, Do, Instruction, Invoke, Load, Statement, Store
from tiling.loops.walk import buffers_of, with_statements


def round_stores(kernel: Kernel) -> Kernel:
    """The kernel without roundings of numbers that a store rounds."""
    narrow = {b.name: b.dtype for b in buffers_of(kernel).values() if b.memory != "registers" and b.dtype in WIDENED}
    return replace(kernel, body=with_statements(kernel.body, partial(_stored, narrow, dtypes_of(kernel))))


def _stored(narrow: Mapping[str, str], dtypes: Mapping[str, str], statement: Statement) -> Body | None:
    """The store that rounds, in place of a store of what is rounded from f32; None for any other statement."""
    if not isinstance(statement, Store) or statement.buffer not in narrow:
        return None
    dtype, value = narrow[statement.buffer], statement.value
    if not isinstance(value, Apply) or value.function != f"as_{dtype}" or dtype_of(value.arguments[0], dtypes) != "f32":
        return None
    given = (("to", Address(statement.buffer, statement.at)), ("v", value.arguments[0]))
    return (Do(Invoke(put(dtype), given)),)


@lru_cache(maxsize=4)
def put(dtype: str) -> Instruction:
    """An f32, rounded, to an element."""
    rounded = Apply(f"as_{dtype}", (Load("v", (ZERO,)),))
    return Instruction("put", f"put_{dtype}({{to}}, {{v}})", (Store("to", (ZERO,), rounded),))
