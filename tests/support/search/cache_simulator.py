"""A cache with least-recently-used replacement, and the addresses that a lowered scheme touches, in order.

It is what the analytic model is checked against: exact, slow, and sharing nothing with it but the nest.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from functools import cache
from itertools import product
from operator import add

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
    for touched in _walk(nest_of(scheme), {dim: 0 for dim in problem.extents}, problem, bases, packed):
        yield from touched


def _walk(nodes, start, problem: Problem, bases, packed) -> Iterator[Iterator[tuple[str, int]]]:
    """What each register tile touches, and each stored output."""
    for node in nodes:
        if isinstance(node, Loop):
            for trip in range(node.trips):
                inner = {**start, node.dim: start[node.dim] + node.start + trip * node.step}
                yield from _walk(node.body, inner, problem, bases, packed)
        elif isinstance(node, Staged):
            yield from _walk(node.body, start, problem, bases, packed)
            if node.tensor == problem.output.name:
                yield _outputs(_register(node), start, problem, bases)
        else:
            yield _inputs(node, start, problem, bases, packed)


def _register(node) -> RegisterTile:
    while not isinstance(node, RegisterTile):
        node = node.body[0]
    return node


def _inputs(register: RegisterTile, start, problem: Problem, bases, packed) -> Iterator[tuple[str, int]]:
    extents, lanes = register.extents, register.lanes
    size = access_of(problem).element_bytes
    dims = tuple(problem.broadcast.dims)
    address_of = _addresses(problem.broadcast, dims)
    rows = _rows(dims, tuple((d, extents[d]) for d in problem.row_dims))
    for taps in product(*(range(extents[d]) for d in problem.reductions)):
        at = {**start, **{d: start[d] + t for d, t in zip(problem.reductions, taps)}}
        first = [at[dim] for dim in dims]
        pixels = [address_of(tuple(map(add, first, row))) for row in rows]
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


@cache
def _rows(dims: tuple[str, ...], extents: tuple[tuple[str, int], ...]) -> tuple[tuple[int, ...], ...]:
    """Each row of a tile, as the distance of these dims from its first."""
    rows = product(*(range(extent) for _, extent in extents))
    return tuple(tuple({d: i for (d, _), i in zip(extents, row)}.get(dim, 0) for dim in dims) for row in rows)


def _outputs(register: RegisterTile, start, problem: Problem, bases) -> Iterator[tuple[str, int]]:
    extents, dim = register.extents, problem.vector_dim
    address_of = _addresses(problem.output, tuple(start))
    for rows in product(*(range(extents[d]) for d in problem.row_dims)):
        for vector in range(0, extents[dim], register.lanes):
            point = {**start, **{d: start[d] + i for d, i in zip(problem.row_dims, rows)}}
            point[dim] = start[dim] + vector
            place = bases[problem.output.name] + address_of(tuple(point.values())) * access_of(problem).element_bytes
            yield problem.output.name, place


@cache
def _addresses(tensor: Tensor, dims: tuple[str, ...]) -> Callable[[tuple[int, ...]], int | None]:
    """Gives the elements from the start of the tensor to a point of these dims, or None on padding.

    Each is computed once: the loops around a tile, and other schemes of the problem, come to the same points.
    """

    @cache
    def address(point: tuple[int, ...]) -> int | None:
        values = [index.at(dict(zip(dims, point))) for index in tensor.indices]
        if any(not 0 <= value < extent for value, extent in zip(values, tensor.shape)):
            return None
        return sum(value * stride for value, stride in zip(values, tensor.strides))

    return address
