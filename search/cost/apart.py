"""The time that cores wait for lines which another core wrote last.

Core i of n has the i-th of n parts of each array's memory where all kernels of a program share work by the outermost
axis. So the kernel before leaves these lines in its caches, and the kernel after finds them there.
"""

from __future__ import annotations

from math import prod

from search.cost.cache_conflicts import geometry
from search.cost.costs import COSTS
from tiling.arrays.access import access_of
from tiling.machine import Machine
from tiling.scheme.scheme import Scheme
from tiling.scheme.specifiers import Tile
from tiling.tensor import Tensor


def apart(scheme: Scheme, machine: Machine, threads: int) -> float:
    """The seconds for lines of x and y outside of a core's own part of them, as many as the others' L2 holds."""
    if threads == 1 or not any(map(_shared, scheme.specifiers)):
        return 0.0
    problem, size = scheme.problem, access_of(scheme.problem).bytes_of
    most = (threads - 1) * geometry(machine.caches, min(1, len(machine.caches) - 1), threads).bytes
    arrays = (problem.tensors[0], problem.output)
    moved = sum(min(most, outside(scheme, each, threads) * each.elements * size(each)) for each in arrays)
    return COSTS.theirs * moved / machine.caches[0].line


def outside(scheme: Scheme, tensor: Tensor, threads: int) -> float:
    """The share of a tensor that the first core reads or writes outside of its own part of the memory."""
    shared = [specifier for specifier in scheme.specifiers if isinstance(specifier, Tile) and _shared(specifier)]
    inside = prod(loop.trips for loop in shared)
    first = -(-inside // threads)
    taken = []
    for loop in shared:
        inside //= loop.trips  # tasks of one trip of this loop
        taken.append((loop.dim, min(loop.trips, -(-first // inside)) / loop.trips))
    outermost = next((index for index, extent in zip(tensor.indices, tensor.shape) if extent > 1), None)
    if outermost is None:
        return 0.0
    along = prod(share for dim, share in taken if outermost.coefficient(dim))
    beside = prod(share for dim, share in taken if dim in tensor.dims and not outermost.coefficient(dim))
    return beside * max(0.0, along - 1 / threads)


def _shared(specifier: object) -> bool:
    return isinstance(specifier, Tile) and specifier.worker == "core"
