"""The least sum of seconds of steps on two sides, as a minimum cut."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:  # scipy's graphs take a sixth of the time in which a command starts, and few processes cut
    from scipy.sparse import csr_array

_UNIT = 1e-8  # seconds: capacities of a flow are whole numbers of 32 bits
_MOST = 1 << 30
NEVER = _MOST * _UNIT  # the seconds of what cannot be


class Cut:
    """Two sides of a set of numbered steps: those with channels last, and those with channels first."""

    def __init__(self, count: int):
        self.count = count
        self.first = count + 1  # whoever stands for it always has channels first
        self.size = count + 2
        self.capacities: dict[tuple[int, int], float] = {}

    def _add(self, one: int, other: int, cost: float) -> None:
        self.capacities[one, other] = self.capacities.get((one, other), 0.0) + cost

    def costs(self, step: int, *, first: float = 0.0, last: float = 0.0) -> None:
        """The seconds of a step on either side."""
        self._add(self.count, step, first)
        self._add(step, self.first, last)

    def differs(self, writer: int, reader: int, *, to_first: float, to_last: float) -> None:
        """The seconds lost where two steps are on different sides. to_first: where the reader has channels first."""
        self._add(writer, reader, to_first)
        self._add(reader, writer, to_last)

    def converted(self, writer: int, readers: Iterable[int], *, to_first: float, to_last: float) -> None:
        """The seconds lost once where any of these readers is not on the writer's side."""
        some_last, all_last = self.size, self.size + 1
        self.size += 2
        self._add(some_last, writer, to_last)
        self._add(writer, all_last, to_first)
        for reader in readers:
            self._add(reader, some_last, NEVER)
            self._add(all_last, reader, NEVER)

    def last(self) -> frozenset[int]:
        """The steps with channels last where the sum is least; of several such sets the smallest."""
        from scipy.sparse.csgraph import breadth_first_order, maximum_flow

        graph = self._graph(self.capacities)
        left = graph - maximum_flow(graph, self.count, self.first).flow
        left.eliminate_zeros()
        reached = breadth_first_order(left, self.count, return_predecessors=False)
        return frozenset(int(step) for step in reached if step < self.count)

    def least(self, decided: Mapping[int, bool]) -> float:
        """The least sum of seconds where some steps have channels last, or do not."""
        from scipy.sparse.csgraph import maximum_flow

        places = {step: (self.count, step) if last else (step, self.first) for step, last in decided.items()}
        graph = self._graph({**self.capacities, **dict.fromkeys(places.values(), NEVER)})
        return float(maximum_flow(graph, self.count, self.first).flow_value) * _UNIT

    def _graph(self, capacities: Mapping[tuple[int, int], float]) -> csr_array:
        from scipy.sparse import csr_array

        rows, columns = zip(*capacities)
        units = [min(round(cost / _UNIT), _MOST) for cost in capacities.values()]
        return csr_array((np.array(units, np.int32), (rows, columns)), (self.size, self.size))
