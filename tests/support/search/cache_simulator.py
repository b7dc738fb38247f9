"""A cache with least-recently-used replacement, and the addresses that a lowered scheme touches, in order.

It is what the analytic model is checked against: exact, slow, and sharing nothing with it but the nest.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from itertools import product

from tiling.arrays.access import access_of
from tiling.loops.lowering.nest import Loop, RegisterTile, Staged, nest_of
from tiling.machine import CacheLevel
from tiling.problem import Problem
from tiling.scheme.scheme import Scheme
from tiling.tensor import Tensor


class Cache:
    """Sets of `ways` lines; `touch` tells whether the line had to come from outside."""

    def __init__(self, level: CacheLevel):
        self.line = level.line
        self.ways = level.ways or level.bytes // level.line
        self.sets = [OrderedDict() for _ in range(level.bytes // level.line // self.ways)]

    def touch(self, address: int) -> bool:
        line = address // self.line
        lines = self.sets[line % len(self.sets)]
        if line in lines:
            lines.move_to_end(line)
            return False
        lines[line] = True
        if len(lines) > self.ways:
            lines.popitem(last=False)
        return True


def moved_bytes(scheme: Scheme, level: CacheLevel) -> dict[str, int]:
    """Bytes that a cold cache of this level takes in for each tensor; the output's count both ways."""
    cache, missed = Cache(level), {tensor.name: 0 for tensor in scheme.problem.tensors}
    for name, address in touches(scheme):
        missed[name] += cache.touch(address)
    moved = {name: count * level.line for name, count in missed.items()}
    moved[scheme.problem.output.name] *= 2
    return moved


def touches(scheme: Scheme) -> Iterator[tuple[str, int]]:
    """(tensor, byte address) of every scalar of x, vector of weights and vector of the output, as they are used."""
    problem = scheme.problem
    base, bases = 0, {}
    for tensor in problem.tensors:
        bases[tensor.name] = base
        # Tensors apart, and not all starting in the same set.
        base += -(-tensor.elements * 8 // 4096) * 4096 + 64 * 5
    packed: dict[tuple, int] = {}
    yield from _walk(nest_of(scheme), {dim: 0 for dim in problem.extents}, problem, bases, packed)


def _walk(nodes, start, problem: Problem, bases, packed) -> Iterator[tuple[str, int]]:
    for node in nodes:
        if isinstance(node, Loop):
            for trip in range(node.trips):
                inner = {**start, node.dim: start[node.dim] + node.start + trip * node.step}
                yield from _walk(node.body, inner, problem, bases, packed)
        elif isinstance(node, Staged):
            yield from _walk(node.body, start, problem, bases, packed)
            if node.tensor == problem.output.name:
                yield from _outputs(_register(node), start, problem, bases)
        else:
            yield from _inputs(node, start, problem, bases, packed)


def _register(node) -> RegisterTile:
    while not isinstance(node, RegisterTile):
        node = node.body[0]
    return node


def _inputs(register: RegisterTile, start, problem: Problem, bases, packed) -> Iterator[tuple[str, int]]:
    extents, lanes = register.extents, register.lanes
    size = access_of(problem).element_bytes
    for taps in product(*(range(extents[d]) for d in problem.reductions)):
        at = {**start, **{d: start[d] + t for d, t in zip(problem.reductions, taps)}}
        pixels = [
            _address(problem.broadcast, {**at, **{d: at[d] + i for d, i in zip(problem.row_dims, rows)}})
            for rows in product(*(range(extents[d]) for d in problem.row_dims))
        ]
        if all(address is None for address in pixels):
            continue  # a tap that lies on padding for the whole tile is left out, with its weights
        for vector in range(extents[problem.vector_dim] // lanes):
            # Packed in the order of first use.
            key = (start[problem.vector_dim], vector, *(at[d] for d in problem.reductions))
            place = packed.setdefault(key, len(packed))
            yield problem.vector.name, bases[problem.vector.name] + place * lanes * size
        for address in pixels:
            if address is not None:
                yield problem.broadcast.name, bases[problem.broadcast.name] + address * size


def _outputs(register: RegisterTile, start, problem: Problem, bases) -> Iterator[tuple[str, int]]:
    extents, dim = register.extents, problem.vector_dim
    for rows in product(*(range(extents[d]) for d in problem.row_dims)):
        for vector in range(0, extents[dim], register.lanes):
            point = {**start, **{d: start[d] + i for d, i in zip(problem.row_dims, rows)}}
            point[dim] = start[dim] + vector
            address = _address(problem.output, point)
            yield problem.output.name, bases[problem.output.name] + address * access_of(problem).element_bytes


def _address(tensor: Tensor, point) -> int | None:
    """Elements from the start of the tensor, or None on padding."""
    values = [index.at(point) for index in tensor.indices]
    if any(not 0 <= value < extent for value, extent in zip(values, tensor.shape)):
        return None
    return sum(value * stride for value, stride in zip(values, tensor.strides))
