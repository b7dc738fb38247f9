"""Puts the conditions of a decision where its flag stands.

    first = whether k_1 == 0                  tile 16mx16nx32k:
    tile 16mx16nx32k:                           …
      …                                 ->      if k_1 == 0:
      if first:                                   …
        …

So the loops around both may be split.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from tiling.loops.kernel import Kernel
from tiling.loops.language import Body, Condition, Decide, Flag, If, Statement
from tiling.loops.walk import with_blocks

_Decided = Mapping[str, tuple[Condition, ...]]


def state_conditions(kernel: Kernel) -> Kernel:
    """The kernel without flags."""
    return replace(kernel, body=_stated(kernel.body, {}))


def _stated(body: Body, decided: _Decided) -> Body:
    found: list[Statement] = []
    for statement in body:
        if isinstance(statement, Decide):
            decided = {**decided, statement.name: statement.conditions}
            continue
        if isinstance(statement, If):
            tests = (decided.get(c.name, (c,)) if isinstance(c, Flag) else (c,) for c in statement.conditions)
            statement = replace(statement, conditions=tuple(test for several in tests for test in several))
        found.append(with_blocks(statement, partial(_stated, decided=decided)))
    return tuple(found)
