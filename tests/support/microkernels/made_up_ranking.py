"""Short rankings, for tests that need one and are not about its scores: a real one takes half a minute."""

from collections.abc import Iterable

from cpu.runtime.machine.host import fingerprint, host
from microkernels.scores.catalog import Entry
from microkernels.scores.records import record
from microkernels.tile.estimate import estimate
from microkernels.tile.isa import PORTABLE
from microkernels.tile.microkernel import RANKED_AS, Microkernel
from microkernels.tile.space import quick
from tiling.machine import Timing


def visit_once(monkeypatch) -> None:
    """Has a ranking measure each microkernel once, whether its score is in doubt or not."""
    for limit in ("REPETITIONS", "MOST"):
        monkeypatch.setattr(f"microkernels.ranking.rank.{limit}", 1)


def make_up(kernels: Iterable[Microkernel]) -> None:
    """Records the scores that the tiles' shapes let expect."""
    for kernel in kernels:
        record(fingerprint(host()), Entry(kernel, estimate(kernel), Timing((1e-6,), 60.0)), settled=True)


def make_up_portable() -> None:
    """All that a search on portable C would rank first."""
    for op in sorted(set(RANKED_AS.values())):
        make_up(quick(PORTABLE, op))
