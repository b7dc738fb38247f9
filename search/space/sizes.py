"""Tile sizes for the caches: scipy finds continuous sizes, then the nearest integers that divide are compared.

Outside the register tile each cache beyond L1 has a tile: what is computed while that cache is filled once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise, product

import numpy as np

from search.cost.cache_conflicts import geometry
from tiling.arrays.access import access_of
from tiling.machine import Machine
from tiling.problem import Problem
from tiling.scheme.compose import divisors
from tiling.tensor import Tensor

# With the loop orders fixed, the bytes into a cache are products of extents (MOpt), smooth in the logarithms of the
# sizes:
#
#   volume = footprint of the tile · trips of every loop outside the tile, except the innermost loops over dims that the
#            tensor does not have, which leave it in place. The first loop that moves the tensor widens a window.
#
# MOpt minimises the time of the slowest level, and AMPL finds the sizes. Here SLSQP minimises a p-norm of the levels'
# times, which is smooth, lies close to their maximum, and breaks ties among the faster levels.

# p of the norm over the levels. At 8, two equal levels count 9 % more than their maximum.
NORM = 8
# How many integer neighbours of the continuous optimum are returned.
NEIGHBOURS = 3
# The search stops at this relative change of the time, or after so many steps.
TOLERANCE, STEPS = 1e-3, 12
_STEP = 1e-4  # the step of the finite differences, in log(size)


@dataclass(frozen=True)
class TiledDim:
    """One dim outside the register tile: loops walk over `count` pieces of `points` points each."""

    dim: str
    points: int
    count: int


# How many pieces of each block the tile of each cache beyond L1 holds, nearest cache first.
Chain = tuple[tuple[int, ...], ...]


class Sizer:
    """Chooses tile sizes for one problem and machine. `inside`: the points of the dims that no block loops over."""

    def __init__(
        self,
        problem: Problem,
        machine: Machine,
        blocks: tuple[TiledDim, ...],
        inside: Mapping[str, int],
        threads: int = 1,
    ):
        self._problem = problem
        self._access = access_of(problem)
        self._blocks = blocks
        self._dims = [block.dim for block in blocks]
        self._place = {dim: place for place, dim in enumerate(self._dims)}
        self._points = np.log([block.points for block in blocks])
        self._most = np.log([block.count for block in blocks])
        self._fixed = {dim: float(inside.get(dim, 1)) for dim in problem.extents}
        caches = range(1, len(machine.caches))
        self._capacity = [geometry(machine.caches, level, threads).bytes for level in caches]
        outside = [cache.bandwidth for cache in machine.caches[2:]] + [machine.memory_bandwidth]
        self._bandwidth = outside[: len(self._capacity)]
        self._has = {tensor.name: tensor.dims for tensor in problem.tensors}
        self._slides = {
            tensor.name: {dim for index in tensor.indices if len(index.terms) > 1 for dim, _ in index.terms}
            for tensor in problem.tensors
        }
        self._chosen: dict[tuple[tuple[str, ...], ...], tuple[Chain, ...]] = {}
        # A cache that holds the whole problem needs no tile of its own, nor do those outside it.
        everything = np.exp(self._most + self._points)[None, :]
        total = sum(float(footprint[0]) for footprint in self._footprints(everything).values())
        self.tiled = sum(capacity < total for capacity in self._capacity)

    def choose(self, orders: tuple[tuple[str, ...], ...]) -> tuple[Chain, ...]:
        """The best chains of tile sizes, best first, for loop `orders` outside each tile.

        orders[l] holds the loops directly outside the tile of the l-th cache beyond L1, outermost dim first. Caches
        from `tiled` on hold everything.
        """
        whole = tuple(block.count for block in self._blocks)
        rest = (whole,) * (len(self._capacity) - self.tiled)
        if self.tiled == 0 or not self._blocks:
            return ((whole,) * len(self._capacity),)
        if orders not in self._chosen:
            wanted = self._continuous(orders)
            self._chosen[orders] = tuple(chain + rest for chain in self._integers(wanted, orders))
        return self._chosen[orders]

    def _continuous(self, orders: tuple[tuple[str, ...], ...]) -> np.ndarray:
        """The continuous optimum, as log(pieces) per tiled cache and block."""
        # scipy takes half a second to load. Whoever only runs, explains or times a given scheme needs none of it.
        from scipy.optimize import minimize

        levels, dims = self.tiled, len(self._blocks)
        shape = (levels, dims)
        most = np.tile(self._most, levels)
        remembered: dict[bytes, tuple[np.ndarray, np.ndarray]] = {}

        def values(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            """Time and room at x, and their differences along every variable, computed in one batch."""
            key = x.tobytes()
            if key not in remembered:
                batch = np.vstack([x, x + _STEP * np.eye(x.size)]).reshape(-1, *shape)
                time, room = self._evaluate(batch, orders)
                found = np.vstack([np.log(time)[None, :], room])
                remembered[key] = found[:, 0], (found[:, 1:] - found[:, :1]) / _STEP
            return remembered[key]

        constraints = [{"type": "ineq", "fun": lambda x: values(x)[0][1:], "jac": lambda x: values(x)[1][1:]}]
        if levels > 1:
            # An outer tile holds the inner one.
            nested = np.hstack([np.zeros(((levels - 1) * dims, dims)), np.eye((levels - 1) * dims)])
            nested[:, : (levels - 1) * dims] -= np.eye((levels - 1) * dims)
            constraints.append({"type": "ineq", "fun": lambda x: nested @ x, "jac": lambda x: nested})
        start = np.repeat(np.arange(1, levels + 1) / (levels + 1), dims) * most
        result = minimize(
            lambda x: values(x)[0][0],
            start,
            jac=lambda x: values(x)[1][0],
            bounds=[(0.0, high) for high in most],
            constraints=constraints,
            method="SLSQP",
            options={"maxiter": STEPS, "ftol": TOLERANCE},
        )
        x = result.x if np.all(np.isfinite(result.x)) else start
        return np.asarray(np.clip(x, 0.0, most)).reshape(shape)

    def _integers(self, wanted: np.ndarray, orders: tuple[tuple[str, ...], ...]) -> tuple[Chain, ...]:
        """The best chains of divisors beside the wanted sizes; chains that fit the caches come first."""
        per_block = [self._divisors(block.count, wanted[:, place]) for place, block in enumerate(self._blocks)]
        chosen = list(product(*per_block))
        batch = np.log(np.array(chosen, dtype=float)).transpose(0, 2, 1)
        time, room = self._evaluate(batch, orders)
        lacking = np.minimum(room, 0.0).sum(axis=0)
        ranked = np.lexsort((time, -lacking))[:NEIGHBOURS]
        # Only chains that fit are kept; if none fits, the chain that lacks least room.
        kept = [i for i in ranked if lacking[i] == 0.0] or [ranked[0]]
        return tuple(tuple(zip(*chosen[i])) for i in kept)

    def _divisors(self, count: int, wanted: np.ndarray) -> list[tuple[int, ...]]:
        """Chains a | b | … | count of divisors just below and above the wanted sizes, one divisor per tiled cache."""
        steps = divisors(count)
        near = []
        for size in np.exp(wanted):
            below = max((d for d in steps if d <= size * 1.001), default=1)
            above = min((d for d in steps if d >= size), default=count)
            near.append(sorted({1, below, above} if len(self._blocks) < 4 else {below, above}))
        chains = [c for c in product(*near) if all(b % a == 0 for a, b in pairwise(c))]
        # Where no two of the nearest divisors divide each other, the largest one below serves all caches.
        return chains or [(near[0][0],) * len(near)]

    def _evaluate(self, batch: np.ndarray, orders: tuple[tuple[str, ...], ...]) -> tuple[np.ndarray, np.ndarray]:
        """Seconds of each case, and log(capacity / footprint) per cache, for log(pieces)[case, cache, block]."""
        tiles = [batch[:, level, :] for level in range(self.tiled)]
        tiles.append(np.broadcast_to(self._most, tiles[0].shape))
        points = [np.exp(tile + self._points) for tile in tiles]
        footprints = [self._footprints(each) for each in points[:-1]]
        times, room = [], []
        for level in range(self.tiled):
            volume = np.zeros(len(batch))
            for tensor in self._problem.tensors:
                of_tensor = [each[tensor.name] for each in footprints]
                moved = self._moved(tensor, of_tensor, tiles, points, level, orders)
                volume = volume + moved * (2 if tensor.role == "output" else 1)
            times.append(volume / self._bandwidth[level])
            room.append(np.log(self._capacity[level]) - np.log(sum(footprints[level].values())))
        each = np.array(times)
        largest = each.max(axis=0)
        return largest * ((each / largest) ** NORM).sum(axis=0) ** (1 / NORM), np.array(room)

    def _moved(
        self,
        tensor: Tensor,
        footprints: list[np.ndarray],
        tiles: list[np.ndarray],
        points: list[np.ndarray],
        level: int,
        orders: tuple[tuple[str, ...], ...],
    ) -> np.ndarray:
        """Bytes of one tensor that move into a cache, found by climbing the loops outside its tile, inner to outer.

        footprints: its tile's in each cache. tiles, points: log(pieces) and the points of each block there; the last of
        each is everything.
        """
        volume, placed = footprints[level], True
        for outer in range(level, self.tiled):
            inside, outside = tiles[outer], tiles[outer + 1]
            for dim in reversed(orders[outer]):
                if placed and dim not in self._has[tensor.name]:
                    continue
                place = self._place[dim]
                if placed and dim in self._slides[tensor.name]:
                    widened = points[outer].copy()
                    widened[:, place] = points[outer + 1][:, place]
                    # The window's overlap is relative, so it scales the volume that was found so far.
                    volume = volume * self._footprint(tensor, widened) / footprints[outer]
                else:
                    volume = volume * np.exp(outside[:, place] - inside[:, place])
                placed = False
        return volume

    def _footprints(self, points: np.ndarray) -> dict[str, np.ndarray]:
        return {tensor.name: self._footprint(tensor, points) for tensor in self._problem.tensors}

    def _footprint(self, tensor: Tensor, points: np.ndarray) -> np.ndarray:
        """Bytes of a tensor's tile, for points[case, block].

        An axis counts the span of its index, or the product of its dims where taps leave holes.
        """
        size: np.ndarray | float = float(self._access.bytes_of(tensor))
        for index in tensor.indices:
            span: np.ndarray | float = 1.0
            count: np.ndarray | float = 1.0
            for dim, coefficient in index.terms:
                extent = points[:, self._place[dim]] if dim in self._place else self._fixed[dim]
                span = span + (extent - 1) * coefficient
                count = count * extent
            if tensor.reach and index is tensor.indices[-1]:
                span, count = span - 1 + tensor.reach, tensor.shape[-1]
            size = size * np.minimum(span, count)
        return size if isinstance(size, np.ndarray) else np.full(len(points), size)
