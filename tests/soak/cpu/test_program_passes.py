"""Many random programs mean the same after every pass."""

from __future__ import annotations

import time
from collections import Counter
from random import Random

from cpu.passes.order import PROGRAM
from tests.support.programs.passes import check, check_runtime
from tiling.loops.passes import names

# One or two of 1,000 programs need "claim lines" or "skew rows". So many of either kind are drawn at most for these.
MOST = 5000


def test_every_pass_keeps_many_definitions(soak_seconds, soak_seed, monkeypatch):
    """500 random programs of either kind, more while there is time or a pass has changed none. Each pass changes some.
    The figures are printed.
    """
    end, seeds, done, changed = time.monotonic() + soak_seconds, Random(soak_seed), 0, Counter()
    every = set(names(PROGRAM)[1:])
    while done < 500 or time.monotonic() < end or (set(changed) != every and done < MOST):
        changed.update(check(seeds.randrange(2**32), monkeypatch))
        changed.update(check_runtime(seeds.randrange(2**32), monkeypatch))
        done += 1
    print(f"{2 * done} random programs mean the same after every pass; so many of them each pass changed:")
    print(*(f"{name}: {changed[name]}" for name in names(PROGRAM)[1:]), sep="\n")
    assert set(changed) == every
