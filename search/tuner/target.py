"""The CPU or GPU that a kernel is made for, as data. `search.evaluator` knows how each kind of target is used."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

from search.tuner import store
from tiling.problem import Problem, ProblemError
from tiling.text.shapes import canonical

_CPUS_ALONE = ("threads", "isa", "algorithm", "output_dtype", "name", "cache", "cluster")
# For each kind of target, as users spell it, the arguments that mean nothing to it.
FOREIGN = {
    "cpu": ("device",),
    "cuda": _CPUS_ALONE,
    "cuda-twin": (*_CPUS_ALONE, "tune", "budget", "trials", "forget"),
}
TARGETS = tuple(FOREIGN)
ALGORITHMS = ("direct", "winograd", "auto")
CACHES = ("warm", "cold")
# A cache of models alone, whose weights do not stay in it from call to call.
COLD_WEIGHTS = "cold weights"


@dataclass(frozen=True)
class Target:
    """One CPU or GPU and how it is used. Equal targets share measurements.

    machine: the fingerprint of the CPU or GPU. isa: an instruction set, or a GPU's architecture. algorithm: "direct",
    the definition; "winograd" (`tiling.rewrite.winograd.algorithm`); "auto", the faster of the two. device: a GPU's
    name. absent: why no kernel can run here; empty where kernels can run. cache: "warm" where a call finds its arrays
    where the call before left them; "cold" where it finds them in memory; `COLD_WEIGHTS` where it finds its weights
    there. cluster: the address of the `dask.distributed` scheduler whose workers try candidates; empty where this
    machine does.
    """

    name: str
    machine: str
    isa: str
    dtype: str
    threads: int = 1
    algorithm: str = "direct"
    device: str = ""
    absent: str = ""
    cache: str = "warm"
    cluster: str = ""

    def key(self, problem: Problem, compiler: str) -> store.Key:
        """The store's key for a problem as this target computes it."""
        conditions = {"warm": "", "cold": "cold caches"}.get(self.cache, self.cache)
        return store.Key(self.machine, self.isa, compiler, problem.op, canonical(problem), self.threads, conditions)

    def kind(self, tune: str, revision: str = "") -> str:
        """The store's name for a kind of choice. A choice of the model holds as long as the ranking behind it."""
        words = (tune, revision if tune == "model" else "", "" if self.algorithm == "direct" else self.algorithm)
        return " ".join(filter(None, words))


@dataclass(frozen=True)
class Wanted:
    """What a user wants of a target. What is None, the machine decides (`search.evaluator.target_of`).

    isa: by default the widest of the dtype that this CPU runs and the system lets this process use. device: by default
    the GPU that is here. The other fields are those of `Target`.
    """

    dtype: str = "f32"
    isa: str | None = None
    threads: int = 1
    algorithm: str = "direct"
    device: str | None = None
    cache: str = "warm"
    cluster: str = ""


def check_meant(target: str, arguments: Collection[str], spelt: Callable[[str], str]) -> None:
    """Raises ProblemError if one of `arguments` means nothing to a target; `spelt` writes the argument's name."""
    for name in FOREIGN[target]:
        if name in arguments:
            raise ProblemError(f"{spelt(name)}: leave it out")
