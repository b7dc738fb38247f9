"""Which worker computes which tile: Hidet's task mapping.

`repeat(shape)` has one worker, which does all tasks in order. `spatial(shape)` has one worker for each task. `f ∘ g`
nests them: worker w does f(w / |g|) ⊙ shape(g) + g(w mod |g|). A tile loop bound to workers is `spatial`, an unbound
one is `repeat`, and nested loops are a composition.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import prod

from tiling.expression import added, times


@dataclass(frozen=True)
class TaskMap:
    """A mapping from workers to tasks, as a composition of atoms, outermost first."""

    atoms: tuple[tuple[str, tuple[int, ...]], ...]

    def __post_init__(self) -> None:
        if not self.atoms:
            raise ValueError("a task map needs at least one atom")
        for kind, shape in self.atoms:
            if kind not in ("repeat", "spatial"):
                raise ValueError(f"{kind!r} is neither repeat nor spatial")
            if len(shape) != len(self.atoms[0][1]) or any(extent < 1 for extent in shape):
                raise ValueError(f"{kind}{shape}: atoms have one positive extent for each of the same axes")

    @property
    def workers(self) -> int:
        """|f|: the product over spatial atoms."""
        return prod(prod(shape) for kind, shape in self.atoms if kind == "spatial")

    @property
    def shape(self) -> tuple[int, ...]:
        """Tasks along each axis."""
        return tuple(prod(extents) for extents in zip(*(shape for _, shape in self.atoms)))

    def __matmul__(self, inner: TaskMap) -> TaskMap:
        """`outer @ inner` is outer ∘ inner."""
        return TaskMap(self.atoms + inner.atoms)

    def tasks(self, worker: int) -> tuple[tuple[int, ...], ...]:
        """The tasks of one worker, in the order in which it does them."""
        if not 0 <= worker < self.workers:
            raise ValueError(f"worker {worker} of {self.workers}")
        done: tuple[tuple[int, ...], ...] = ((0,) * len(self.shape),)
        left = self.workers
        for kind, shape in self.atoms:
            if kind == "repeat":
                steps = tuple(product(*map(range, shape)))
            else:
                left //= prod(shape)
                steps = (_unflatten(worker // left % prod(shape), shape),)
            done = tuple(tuple(t * e + i for t, e, i in zip(task, shape, step)) for task in done for step in steps)
        return done

    @property
    def loops(self) -> tuple[int, ...]:
        """Iterations of the loops in which a worker does its tasks, outermost first, without loops of one iteration."""
        return tuple(extent for kind, shape in self.atoms if kind == "repeat" for extent in shape if extent > 1)

    def index(self, axis: int, worker: str, counters: tuple[str, ...] = ()) -> str:
        """The C expression of the task along `axis` that a worker does. `counters` name the variables of `loops`.

        A worker or counter "0" adds nothing.
        """
        if len(counters) != len(self.loops):
            raise ValueError(f"{len(self.loops)} loops need as many counters, not {len(counters)}")
        left, terms, scale, unused = self.workers, [], self.shape[axis], iter(counters)
        for kind, shape in self.atoms:
            scale //= shape[axis]
            if kind == "repeat":
                named = [next(unused) if extent > 1 else "" for extent in shape]
                term = named[axis]
            else:
                left //= prod(shape)
                stride = left * prod(shape[axis + 1 :])
                term = _digit(worker, stride, shape[axis], self.workers) if shape[axis] > 1 else ""
            terms.append(times(term or "0", scale))
        return added(*terms)


def repeat(*shape: int) -> TaskMap:
    """One worker, all tasks in row-major order."""
    return TaskMap((("repeat", shape),))


def spatial(*shape: int) -> TaskMap:
    """One worker for each task: worker w does task `(w // stride_i) % d_i` along axis i."""
    return TaskMap((("spatial", shape),))


def looped(*counters: tuple[str, int]) -> tuple[str, ...]:
    """The names of the counters that have a loop in `TaskMap.loops`: those that count further than one."""
    return tuple(name for name, count in counters if count > 1)


def _digit(worker: str, stride: int, extent: int, workers: int) -> str:
    term = worker if stride == 1 else f"{worker} / {stride}"
    return f"{term} % {extent}" if stride * extent < workers else term


def _unflatten(flat: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    index = []
    for extent in reversed(shape):
        index.append(flat % extent)
        flat //= extent
    return tuple(reversed(index))
