"""How evenly cores can share loops."""

from __future__ import annotations

from functools import lru_cache
from itertools import combinations

from tiling.scheme.compose import divisors

# Two loops are shared by at most so many tasks for each thread.
PER_THREAD = 8


def share(tasks: int, threads: int) -> float:
    """The share of the work that the busiest of the threads does, where all tasks take as long."""
    return -(-tasks // threads) / tasks


@lru_cache(maxsize=4096)
def least_share(trips: tuple[int, ...], threads: int) -> float:
    """The least such share where one or two of the loops with these trips are cut into tasks; 1 where none can be."""
    counts = [divisors(each) for each in trips]
    single = [n for each in counts for n in each]
    pairs = [a * b for one, two in combinations(counts, 2) for a in one for b in two if a * b <= PER_THREAD * threads]
    return min((share(tasks, threads) for tasks in (*single, *pairs)), default=1.0)
