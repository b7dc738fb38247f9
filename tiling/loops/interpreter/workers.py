"""Loops over workers of a GPU, and warps in two roles: one after the other, or beside each other where they wait."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from tiling.loops.interpreter.roles import beside
from tiling.loops.interpreter.scope import Scope
from tiling.loops.interpreter.together import together
from tiling.loops.language import Body, For
from tiling.loops.machines import Beside

Run = Callable[[Body, Scope], None]


def for_workers(statement: For, scope: Scope, run: Run) -> None:
    """The iterations of a loop over workers. run: runs a block."""
    workers, group = scope.workers, scope.workers.now
    if group and group[-1][0] == "cluster":
        _for_cluster(statement, scope, run)
        return
    if together(statement, scope):
        scope.numbers.pop(statement.name, None)
        if not group:
            workers.wait()
        return
    for number in range(statement.start.at(scope.numbers), statement.stop.at(scope.numbers), statement.step):
        scope.numbers[statement.name] = number
        workers.now = (*group, (statement.kind, number)) if workers.barriers else group
        run(statement.body, replace(scope, copies=scope.copies.worker(statement.kind, number)))
    scope.numbers.pop(statement.name, None)
    workers.now = group
    if not group:
        workers.wait()  # launches follow one another


def _for_cluster(statement: For, scope: Scope, run: Run) -> None:
    """The blocks of a cluster run beside each other."""
    workers, group = scope.workers, scope.workers.now
    numbers = range(statement.start.at(scope.numbers), statement.stop.at(scope.numbers), statement.step)

    def block(number: int) -> None:
        workers.now = (*group, (statement.kind, number))
        here = replace(scope.inner(), copies=scope.copies.worker(statement.kind, number))
        here.numbers[statement.name] = number
        run(statement.body, here)

    workers.together = len(numbers)
    beside([partial(block, number) for number in numbers], workers)
    workers.end(group)


def in_roles(statement: Beside, scope: Scope, run: Run) -> None:
    """Two roles of warps, beside each other. run: runs a block."""
    bodies = (statement.body, statement.otherwise)
    beside([part for body in bodies for part in _parts(body, scope, run)], scope.workers)


def _parts(body: Body, scope: Scope, run: Run) -> list[Callable[[], None]]:
    """The parts that run a role: one, or one for each worker of a loop that is all of it."""
    loop = body[0] if len(body) == 1 else None
    if not isinstance(loop, For) or loop.kind != "warpgroup":
        return [partial(run, body, scope.inner())]
    return [partial(_worker, loop, number, scope.inner(), run) for number in range(loop.stop.at(scope.numbers))]


def _worker(loop: For, number: int, scope: Scope, run: Run) -> None:
    """What a worker of a loop does."""
    scope.numbers[loop.name] = number
    if scope.workers.barriers:
        scope.workers.now = (*scope.workers.now, (loop.kind, number))
    run(loop.body, replace(scope, copies=scope.copies.worker(loop.kind, number)))
