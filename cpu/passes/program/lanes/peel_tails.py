"""Takes the last vector, which has fewer lanes, out of its loop.

    for j in 0..100 by 16:                       for j in 0..96 by 16:
      if j < 85:                                   for lane in 0..16, vector:
        for lane in 0..16, vector:         ->        y[j + lane] = x[j + lane] + 1
          y[j + lane] = x[j + lane] + 1          for lane in 0..4, vector:
      else:                                        y[lane + 96] = x[lane + 96] + 1
        for lane in 0..4, vector:
          y[j + lane] = x[j + lane] + 1

Where a worker's part of the loop may end before the last vector, a test of its end stays. Where there is no whole
vector, no loop is left.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tiling.loops.index import applied, variable
from tiling.loops.kernel import Kernel
from tiling.loops.language import Body, For, If, Inside, Statement
from tiling.loops.rewrite import substituted
from tiling.loops.walk import allocated_once, with_blocks


def peel_tails(kernel: Kernel) -> Kernel:
    """The kernel whose loops over vectors have whole vectors alone."""
    return replace(kernel, body=_peeled(kernel.body))


def _peeled(body: Body) -> Body:
    return allocated_once(found for statement in body for found in _loops(with_blocks(statement, _peeled)))


def _loops(statement: Statement) -> Iterator[Statement]:
    choice = statement.body[0] if isinstance(statement, For) and len(statement.body) == 1 else None
    if not isinstance(statement, For) or not isinstance(choice, If) or not _whole(choice, statement):
        yield statement
        return
    (test,) = choice.conditions
    assert isinstance(test, Inside) and test.high is not None
    step, beyond = statement.step, variable(statement.name) - test.index + test.high  # a vector from there is not whole
    last = beyond + (step - 1) - (beyond + (step - 1)) % step  # where the last vector begins
    tail = substituted(choice.otherwise, {statement.name: last})
    all_of_it = statement.stop.is_constant or statement.stop == beyond + (step - 1)
    stop = last if all_of_it else applied("min", statement.stop, last)
    if stop != statement.start:
        yield replace(statement, stop=stop, body=choice.body)
    if statement.stop.is_constant:
        yield from tail
    else:
        yield If((Inside(statement.stop - last, 1, None),), tail)


def _whole(choice: If, loop: For) -> bool:
    """Whether a test asks for a whole vector of the loop."""
    test = choice.conditions[0]
    return (
        len(choice.conditions) == 1
        and isinstance(test, Inside)
        and test.low is None
        and bool(choice.otherwise)
        and test.index.coefficient(loop.name) == 1
    )
