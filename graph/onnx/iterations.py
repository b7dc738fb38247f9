"""Iterations of a Loop or a Scan, as a loop in C or one after the other.

A loop of a known number of iterations is written out where its arrays change their shapes from one to the next, or
where a shape depends on the iteration's number.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import onnx
from onnx import helper

from graph.model.language import Loop, Slice, Step
from graph.model.node import Unsupported
from graph.model.regions import region
from graph.onnx.graphs import block, copy_step, inlined
from graph.onnx.reading import Reading
from tiling.program.infer import Array

# The most iterations that are written out: each has its own kernel calls in the text.
MOST_UNROLLED = 64


class Varying(Exception):
    """Something varies between calls or iterations that must not. places: which inputs decide it."""

    def __init__(self, why: str, places: tuple[int, ...] = ()):
        super().__init__(why)
        self.places = places


@dataclass(frozen=True)
class Iterations:
    """A Loop or a Scan.

    counter, going: inputs of the body, "" where it has none. iterations: their number where it is known, or the array
    that holds it. start: the array of the condition, or "". ends: whether the body's first output is the condition.
    states: for each state the input of the body, and the array before the first iteration. parts: for each input that
    is split along its first axis: the input of the body, the array, and whether from its end. results, stacked: names
    of outputs, "" where one is not wanted. backward: for each stacked output, whether it begins at the end.
    """

    proto: onnx.NodeProto
    name: str
    body: onnx.GraphProto
    counter: str
    going: str
    iterations: int | str
    start: str
    ends: bool
    states: tuple[tuple[str, str], ...]
    parts: tuple[tuple[str, str, bool], ...]
    results: tuple[str, ...]
    stacked: tuple[str, ...]
    backward: tuple[bool, ...]

    @property
    def scope(self) -> str:
        return f"\0{next(filter(None, self.proto.output), self.name)}"


def repeat(reading: Reading, loop: Iterations) -> None:
    """Reads the iterations as a loop; written out where there is only one, or where a loop is not possible."""
    few = isinstance(loop.iterations, int) and loop.iterations <= MOST_UNROLLED and not loop.start
    if few and isinstance(loop.iterations, int) and loop.iterations <= 1:
        _written_out(reading, loop)
        return
    restore = reading.kept()
    try:
        _looped(reading, loop)
    except (Varying, Unsupported):
        if not few:
            raise
        restore()
        _written_out(reading, loop)


def _looped(reading: Reading, loop: Iterations) -> None:
    """The iterations as a loop. Every state has memory, which an iteration reads and then writes."""
    scope, name = loop.scope, loop.name
    states = _states(reading, loop)
    parts = _parts(reading, loop)
    for state in states.values():
        reading.arrays[state.name] = state
    given, counter = {inside: state.name for inside, state in states.items()} | parts, ""
    if loop.counter:
        counter = given[loop.counter] = f"{scope}.iteration.number"
        reading.arrays[counter] = Array(counter, "s64", ())
    if loop.going:  # an iteration begins only where this is true
        given[loop.going] = f"{scope}.iteration.going"
        reading.know(given[loop.going], np.array(True))
    steps, found = block(reading, loop.body, f"{scope}.iteration.", f"{name}.body", given)
    buffers = tuple(states.values())
    before = [copy_step(name, initial, buffer.name) for (_, initial), buffer in zip(loop.states, buffers)]
    going, after = "", []
    if loop.ends:
        ended, *found = found
        if _may_end(reading, loop, ended):
            going = f"{scope}.going"
            reading.arrays[going] = Array(going, "bool", ())
            before.append(copy_step(name, loop.start or f"{scope}.iteration.going", going))
            after.append((ended, going))
    stacks, filled = _stacked(reading, loop, found[len(buffers) :], bool(going))
    steps += filled
    kept, next_states = _next_states(reading, loop, found, buffers)
    steps += kept
    steps += [copy_step(name, value, target) for value, target in (*after, *next_states)]
    arrays = (*(buffer.name for buffer in buffers), *stacks, *([going] if going else []))
    read = any(counter in step.inputs for step in steps)
    work = Loop(scope, tuple(steps), loop.iterations, going, counter if read else "", arrays)
    reading.steps += [*before, region(name, work)]


def _states(reading: Reading, loop: Iterations) -> dict[str, Array]:
    """The memory of each state, by the input of the body that reads it."""
    states = {}
    for (inside, initial), result in zip(loop.states, loop.results):
        if initial not in reading.arrays:
            raise Varying(
                f"its state {inside} is {reading.told(initial)}: a loop that is written out may have such a state, and "
                f"that takes a known number of iterations, of at most {MOST_UNROLLED}"
            )
        first = reading.arrays[initial]
        states[inside] = Array(result or f"{loop.scope}.state.{inside}", first.dtype, first.shape)
    return states


def _parts(reading: Reading, loop: Iterations) -> dict[str, str]:
    """The part of each split array that an iteration reads, by the input of the body."""
    return {
        inside: _sliced(reading, loop.scope, f"{loop.scope}.iteration.part{place}", reading.arrays[array], backward)
        for place, (inside, array, backward) in enumerate(loop.parts)
    }


def _may_end(reading: Reading, loop: Iterations, ended: str) -> bool:
    """Whether a condition may end the loop before its last iteration. ended: the condition that the body computes."""
    known = reading.constants.get(ended)
    return bool(loop.start) or known is None or not known.reshape(-1)[0]


def _stacked(reading: Reading, loop: Iterations, values: list[str], ends: bool) -> tuple[list[str], list[Step]]:
    """The stacked outputs, and the steps that write an iteration's row of each."""
    stacks, steps = [], []
    for value, output, backward in zip(values, loop.stacked, loop.backward):
        if not isinstance(loop.iterations, int) or ends:
            raise Varying(
                "how many iterations it makes is computed in the call, and an output has a row for each", (0, 1)
            )
        part = _tensor(reading, value)
        stack = output or f"{loop.scope}.stack.{value}"
        reading.arrays[stack] = Array(stack, part.dtype, (loop.iterations, *part.shape))
        target = _sliced(reading, loop.scope, f"\0{stack}.part", reading.arrays[stack], backward)
        steps.append(copy_step(loop.name, value, target))
        stacks.append(stack)
    return stacks, steps


def _next_states(
    reading: Reading, loop: Iterations, values: list[str], buffers: tuple[Array, ...]
) -> tuple[list[Step], list[tuple[str, str]]]:
    """The steps that keep what another state is about to overwrite, and which array goes to which state then."""
    names = {buffer.name for buffer in buffers}
    steps, moves = [], []
    for value, buffer in zip(values, buffers):
        if value not in reading.arrays:
            raise Varying(
                f"a state is {reading.told(buffer.name)} before an iteration and {reading.told(value)} after it"
            )
        after = reading.arrays[value]
        if (after.dtype, after.shape) != (buffer.dtype, buffer.shape):
            told = [f"{each.dtype}{list(each.shape)}" for each in (buffer, after)]
            raise Varying(f"a state is {told[0]} before an iteration and {told[1]} after it")
        root = reading.root(value)
        if root == buffer.name:
            continue
        if root in names:  # another state, which is written in this iteration too
            kept = f"{loop.scope}.iteration.kept.{buffer.name}"
            reading.arrays[kept] = Array(kept, after.dtype, after.shape)
            steps.append(copy_step(loop.name, value, kept))
            value = kept
        moves.append((value, buffer.name))
    return steps, moves


def _written_out(reading: Reading, loop: Iterations) -> None:
    """The nodes of every iteration, one iteration after the other."""
    assert isinstance(loop.iterations, int)
    state = [initial for _, initial in loop.states]
    stacks: list[list[str]] = [[] for _ in loop.stacked]
    for iteration in range(loop.iterations):
        scope = f"{loop.scope}.iteration{iteration}."
        given = dict(zip((inside for inside, _ in loop.states), state))
        for place, (inside, array, backward) in enumerate(loop.parts):
            at = loop.iterations - 1 - iteration if backward else iteration
            given[inside] = part_of(reading, array, f"{scope}part{place}", at)
        for inside, number in ((loop.counter, np.array(iteration, np.int64)), (loop.going, np.array(True))):
            if inside:
                given[inside] = f"{scope}input.{inside}"
                reading.know(given[inside], number)
        found = inlined(reading, loop.body, scope, f"{loop.name}.body{iteration}", given)
        going = np.array(True)
        if loop.ends:
            ended, *found = found
            if ended not in reading.constants:
                raise Varying("whether another iteration begins is computed in the call, and shapes depend on it")
            going = reading.constants[ended]
        state = found[: len(state)]
        for stack, value in zip(stacks, found[len(state) :]):
            stack.append(value)
        if not going.reshape(-1)[0]:
            break
    for outer, inner in zip(loop.results, state):
        reading.alias(outer, inner)
    for outer, stack, backward in zip(loop.stacked, stacks, loop.backward):
        if not outer:
            continue
        if not stack:
            raise Varying("it makes no iteration, so that an output has no elements")
        stack_rows(reading, stack[::-1] if backward else stack, outer, loop.name)


def _tensor(reading: Reading, name: str) -> Array:
    """The tensor that an iteration adds to an output."""
    if name not in reading.arrays:
        raise Varying(f"an iteration adds {reading.told(name)} to an output, and must add a tensor")
    return reading.arrays[name]


def _sliced(reading: Reading, iteration: str, name: str, whole: Array, backward: bool) -> str:
    """The part of an array that belongs to the current iteration of a loop."""
    reading.arrays[name] = Array(name, whole.dtype, whole.shape[1:])
    reading.views[name] = whole.name
    reading.slices[name] = Slice(iteration, whole.shape[0], backward)
    return name


def stack_rows(reading: Reading, arrays: list[str], output: str, name: str) -> None:
    """One array of several of the same shape, along a new first axis."""
    rows = []
    for number, array in enumerate(arrays):
        rows.append(f"\0{output}.row{number}")
        reading.view(rows[-1], array, (1, *_tensor(reading, array).shape))
    reading.node(helper.make_node("Concat", rows, [output], axis=0), f"{name}.stack")


def part_of(reading: Reading, array: str, name: str, at: int) -> str:
    """One part of an array along its first axis."""
    shape = reading.arrays[array].shape
    if shape[0] == 1:
        reading.view(name, array, shape[1:])
        return name
    reading.know(f"{name}.at", np.array(at, np.int64))
    reading.node(helper.make_node("Gather", [array, f"{name}.at"], [name], axis=0), name.strip("\0"))
    return name
