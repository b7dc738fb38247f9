"""Blocks of steps inside branches and loops: all steps of a model, passes over every block, and when arrays live.

Positions count all steps in the order of the text: a region first, then those of its blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from graph.model.language import Branch, Copy, Loop, Model, Step


def blocks(step: Step) -> tuple[tuple[Step, ...], ...]:
    """The blocks of a region; empty for any other step."""
    if isinstance(step.work, Branch):
        return step.work.then, step.work.otherwise
    return (step.work.body,) if isinstance(step.work, Loop) else ()


def every(steps: Iterable[Step]) -> Iterator[Step]:
    """All steps by position."""
    for step in steps:
        yield step
        for block in blocks(step):
            yield from every(block)


def kernel_steps(steps: Iterable[Step]) -> Iterator[Step]:
    """The steps that a kernel computes: programs and products."""
    return (step for step, _ in kernel_turns(steps))


def kernel_turns(steps: Iterable[Step]) -> Iterator[tuple[Step, int]]:
    """The steps that a kernel computes, and how often a call does so; once where a loop's iterations are not known."""
    for step in steps:
        work = step.work
        turns = work.iterations if isinstance(work, Loop) and isinstance(work.iterations, int) else 1
        for block in blocks(step):
            yield from ((inner, turns * own) for inner, own in kernel_turns(block))
        if not isinstance(work, (Branch, Copy, Loop)):
            yield step, 1


def region(node: str, work: Branch | Loop) -> Step:
    """The step of a region, with the arrays that it reads from outside and those that outlive it."""
    made = Step(node, work, (), ())
    inside = [step for block in blocks(made) for step in block]
    read = [name for step in inside for name in step.inputs]
    written = [name for step in inside for name in step.outputs]
    if isinstance(work, Branch):
        kept = [name for step in inside if isinstance(step.work, Copy) for name in step.outputs]
        read.append(work.condition)
    else:
        kept = list(work.kept)
        read += [name for name in (work.going, work.iterations) if name and isinstance(name, str)]
        written.append(work.counter)
    own = {*written} - {*kept}
    return replace(
        made,
        inputs=tuple(dict.fromkeys(name for name in read if name not in own)),
        outputs=tuple(dict.fromkeys(kept)),
    )


def needed(steps: Sequence[Step], outputs: Iterable[str], root: Callable[[str], str]) -> tuple[Step, ...]:
    """The steps that these arrays need. root: gives the array in whose memory an array lies."""
    wanted = set(map(root, outputs))
    kept: list[Step] = []
    for step in reversed(steps):
        if wanted.intersection(map(root, step.outputs)):
            kept.append(step)
            wanted |= set(map(root, step.inputs))
    return tuple(reversed(kept))


def in_blocks(change: Callable[[Model], Model], model: Model) -> Model:
    """The model with a pass applied to its steps, and to the steps of every block as if the block were a model.

    Only copies write arrays that are read outside a block, so a block has no outputs.
    """

    def changed(steps: tuple[Step, ...]) -> tuple[Step, ...]:
        return in_blocks(change, replace(model, steps=steps, outputs=())).steps

    steps = []
    for step in model.steps:
        work = step.work
        if isinstance(work, Branch):
            work = replace(work, then=changed(work.then), otherwise=changed(work.otherwise))
        elif isinstance(work, Loop):
            work = replace(work, body=changed(work.body))
        steps.append(replace(step, work=work))
    return change(replace(model, steps=tuple(steps)))


def spans(model: Model) -> Mapping[str, tuple[int, int]]:
    """The first and the last position at which each array that a step writes must keep its numbers.

    An array that outlives the iterations of a loop that touches it lives during the whole loop.
    """
    found: dict[str, tuple[int, int]] = {}
    owners: dict[str, int] = {}  # how many loops stand around an array
    position = 0

    def touch(names: Iterable[str], at: int, loops: tuple[tuple[int, int], ...]) -> None:
        for name in names:
            root = model.root(name)
            if root not in owners:
                continue
            inner = loops[owners[root] :]
            first, last = inner[0] if inner else (at, at)
            known = found.get(root, (first, last))
            found[root] = min(first, known[0]), max(last, known[1])

    def visit(steps: tuple[Step, ...], loops: tuple[tuple[int, int], ...]) -> None:
        nonlocal position
        for step in steps:
            at = position
            position += 1
            for name in step.outputs:
                owners.setdefault(model.root(name), len(loops))
            touch(step.outputs if not blocks(step) else (), at, loops)
            if isinstance(step.work, Branch):
                touch((step.work.condition,), at, loops)
            elif not isinstance(step.work, Loop):
                touch(step.inputs, at, loops)
            inner = loops
            if isinstance(step.work, Loop):
                inner = (*loops, (at, at + sum(1 for _ in every(step.work.body))))
                if step.work.counter:
                    owners[step.work.counter] = len(inner)
                    touch((step.work.counter,), at, inner)
                touch((*step.inputs, *step.outputs), at, inner)
            for block in blocks(step):
                visit(block, inner)

    visit(model.steps, ())
    return found
