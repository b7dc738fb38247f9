"""The workers of a kernel that runs: who is at work, and who has waited for whom.

Workers run one after the other here, or at once where that is the same, so results say nothing of their order. It is a
`Race` where one of them writes what another one touches, unless a barrier of both stands in between, or both groups
took a counter in between. A worker is named by the loops around it, from the outside: block 3, thread 7. Statements in
no loop over threads are run by every thread of the group.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

Worker = tuple[tuple[str, int], ...]  # the kind and the number in each loop over workers
Written = tuple[Worker, int]  # by whom, and after how many waits
Action = Written
Place = tuple[str, tuple[int, ...]]  # an array, and an index of it

THREADS = ("core", "thread", "lane")  # kinds whose workers are single threads
# Whose workers of a kind wait for each other.
GROUPS = {"block": "cluster", "warp": "block", "thread": "block", "lane": "warp"}


def alone() -> None:
    """Where no other role and no other block runs, nobody ends a phase meanwhile."""
    raise Race("a worker waits for a phase that no other one can end meanwhile")


class Race(Exception):
    """Two workers touch one element in no order, and one of them writes. The message says where, and who."""


@dataclass
class Workers:
    """Who is at work, and who has waited for whom."""

    # Whether a pass has placed barriers. If not, workers wait after each loop over them, and nothing is checked.
    barriers: bool = False
    now: Worker = ()  # who is at work; () where one worker does all
    waits: int = 0  # how often any group has waited, so that each wait has a number
    waited: dict[Worker, int] = field(default_factory=dict)  # the last wait of each group
    placed: dict[Worker, Any] = field(default_factory=dict)  # memory of each block and of the call (`histories`)
    # For each counter, the groups that took it, with the last wait of each before.
    taken: dict[Place, list[tuple[Worker, int]]] = field(default_factory=dict)
    # For each group, what was in `taken` when it took a counter itself.
    seen: dict[Worker, list[tuple[Worker, int, int]]] = field(default_factory=dict)
    mbarriers: dict[tuple[Worker, Place], Mbarrier] = field(default_factory=dict)
    heard: dict[Worker, dict[Worker, int]] = field(default_factory=dict)  # the waits that mbarriers told each worker of
    shared: dict[tuple[Worker, str], Any] = field(default_factory=dict)  # the shared memory of each block, by buffer
    # For each block, the workers of others that reached into its memory, with the last wait of each before.
    reached: dict[Worker, dict[Worker, int]] = field(default_factory=dict)
    meeting: dict[Worker, set[Worker]] = field(default_factory=dict)  # for each cluster, its blocks that wait here
    together: int = 1  # blocks of a cluster
    pause: Callable[[], None] = alone  # lets other roles and blocks go on

    def tell(self) -> Action:
        """The worker at work, and how far it has come: what it does later is another matter."""
        self.waits += 1
        return self.now, self.waits - 1

    def hear(self, actions: Iterable[Action]) -> None:
        """What others did comes before what the worker at work does now."""
        heard = self.heard.setdefault(self.now, {})
        for other, waits in actions:
            heard[other] = max(waits, heard.get(other, 0))

    def block(self, rank: int | None = None) -> Worker:
        """This block, or that of another rank in its cluster; () outside of blocks."""
        if rank is None:
            return tuple(each for each in self.now if each[0] == "block")
        (first,) = (number for kind, number in self.now if kind == "cluster")
        return (("block", first + rank),)

    def mbarrier(self, place: Place, rank: int | None = None) -> tuple[Worker, Place]:
        """The name of an mbarrier of this block, or of another one."""
        return self.block(rank), place

    def reach(self, rank: int, name: str) -> Any:
        """A buffer in the shared memory of the cluster's block of this rank. Raises Race where it may not be there."""
        block = self.block(rank)
        if (block, name) not in self.shared:
            raise Race(f"{named(self.now)} reaches for {name} of {named(block)}, which has not begun")
        if block != self.block():
            self.reached.setdefault(block, {})[self.now] = self.waits
        return self.shared[block, name]

    def end(self, cluster: Worker) -> None:
        """All blocks of a cluster have ended. Raises Race where one may have ended before another reached for it."""
        for block, others in self.reached.items():
            for other, waits in others.items():
                if self.waited.get(cluster, 0) <= waits and not self._heard_in(block, other, waits):
                    raise Race(
                        f"{named(block)} may end before {named(other)} reaches for its memory: no barrier after it, "
                        "and nobody in the block waits for its arrival"
                    )
        self.reached.clear()

    def _heard_in(self, block: Worker, other: Worker, waits: int) -> bool:
        """Whether a worker of a block waited for an mbarrier at which another worker arrived after an action."""
        return any(heard.get(other, -1) >= waits for worker, heard in self.heard.items() if set(block) <= set(worker))

    def meet(self) -> None:
        """The block at work waits for the others of its cluster."""
        cluster = self.now[:-1]
        here = self.meeting.setdefault(cluster, set())
        here.add(self.now)
        if len(here) == self.together:
            self.waits += 1
            self.waited[cluster] = self.waits
            self.meeting[cluster] = set()
        while self.meeting[cluster] is here:
            self.pause()

    def wait(self) -> None:
        """All workers of the group at work wait for each other."""
        self.waits += 1
        self.waited[self.now] = self.waits

    def barrier(self, kind: str) -> None:
        """The workers of a kind wait. Raises Race in a loop over them."""
        if kind == "block" and len(self.now) > 1 and self.now[-1][0] == "block":
            self.meet()
        elif kind in dict(self.now):
            raise Race(f"{named(self.now)} waits for others of its kind inside a loop over them")
        elif self.now and self.now[-1][0] == GROUPS.get(kind):
            self.wait()

    @property
    def many(self) -> bool:
        """Whether several threads do what is done now."""
        return bool(self.now) and self.now[-1][0] not in THREADS

    def ordered(self, other: Worker, waits: int) -> bool:
        """Whether an action of another worker, after so many waits, comes before the current action."""
        if other == self.now:
            return True
        for size in range(min(len(other), len(self.now)) + 1):
            group = other[:size]
            if group != self.now[:size]:
                break
            if self.waited.get(group, 0) > waits:
                return True
        return self.published(other, waits) or self.was_told(other, waits)

    def take(self, counter: Place) -> None:
        """The worker at work takes a counter for its group."""
        group, before = self.now[:-1], self.taken.setdefault(counter, [])
        self.seen.setdefault(group, []).extend((other, waits, self.waits) for other, waits in before)
        before.append((group, self.waited.get(group, 0)))

    def was_told(self, other: Worker, waits: int) -> bool:
        """Whether another worker, or one of its group, arrived at an mbarrier after an action, and this one waited."""
        for size in range(1, len(self.now) + 1):
            for who, until in self.heard.get(self.now[:size], {}).items():
                if who[: len(other)] == other and waits <= until:
                    return True
        return False

    def published(self, other: Worker, waits: int) -> bool:
        """Whether another group waited after an action and took a counter, which this group took then and waited."""
        for size in range(1, len(self.now) + 1):
            here = self.waited.get(self.now[:size], 0)
            for group, last, then in self.seen.get(self.now[:size], ()):
                if other[: len(group)] == group and waits < last and then < here:
                    return True
        return False


@dataclass
class Mbarrier:
    """Its arrivals and bytes of this phase that are still to come. ended: how many phases. told: who arrived, for each
    phase.
    """

    name: str
    arrivals: int
    left: int
    bytes: int = 0
    ended: int = 0
    told: list[list[Action]] = field(default_factory=lambda: [[]])

    def arrive(self, workers: Workers, arrivals: int, more: int) -> None:
        """The worker at work arrives so often, and so many more bytes are to come. Raises Race for one too many."""
        self.told[-1].append(workers.tell())
        self.left -= arrivals
        self.bytes += more
        if self.left < 0:
            raise Race(f"all arrivals of a phase of {self.name} have come, and there is one more")
        if not self.left and not self.bytes:
            self.ended += 1
            self.left = self.arrivals
            self.told.append([])

    def wait(self, workers: Workers, phase: int) -> None:
        """The worker at work goes on once a phase has ended.

        Raises Race where a later one has, too: the hardware tells two phases in a row apart, not three.
        """
        if self.ended < phase:
            raise Race(
                f"a worker waits for phase {phase} of {self.name}, which has ended {self.ended}: they look alike"
            )
        while self.ended <= phase:
            workers.pause()
        if self.ended > phase + 1:
            raise Race(f"a worker waits for phase {phase} of {self.name}, which has ended {self.ended} phases")
        self._hear(workers)

    def wait_for_parity(self, workers: Workers, parity: int) -> None:
        """The worker at work goes on once the phase that ended last has a parity. In a new one it counts as odd."""
        while self.ended % 2 == parity:
            workers.pause()
        self._hear(workers)

    def _hear(self, workers: Workers) -> None:
        """The worker at work sees what all did who arrived in phases that have ended."""
        for actions in self.told[: self.ended]:
            workers.hear(actions)


def named(worker: Worker) -> str:
    """A worker as messages name it: `block 0 thread 3`."""
    return " ".join(f"{kind} {number}" for kind, number in worker)
