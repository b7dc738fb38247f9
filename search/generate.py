"""Where the packages meet: a problem in, a kernel for this machine out.

    generate_conv(c=64, h=56, …) -> Kernel          the Python entry point
    Workshop(threads, isa)                          what the command lines use: this machine, its catalog, its workers

Everything that decides is pure and lives elsewhere; here it is given this machine's facts, store, workers and clock.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property

from cpu.host import fingerprint, host
from cpu.kernel import Kernel, build
from cpu.probe import probe
from cpu.worker import CandidateError, Task, Worker, run_all
from microkernels.catalog import Catalog, load
from microkernels.isa import Isa, best_isa, isa_named
from search import store
from search.tune import Outcome, tune
from tiling.machine import CacheLevel, Machine, Timing
from tiling.notation import parse
from tiling.problem import Problem, ProblemError, conv2d
from tiling.scheme import Scheme, SchemeError
from tiling.shapes import canonical

DEFAULT_BUDGET = 30.0  # seconds
DEFAULT_TRIALS = 32
# A candidate's whole visit to a worker: compile, reference, check, samples. The largest layer takes about 3 s.
_CANDIDATE_SECONDS = 60.0


@dataclass(frozen=True)
class Workshop:
    """This machine, ready to choose and build schemes for `threads` threads on one instruction set."""

    isa: Isa
    threads: int = 1

    @cached_property
    def fingerprint(self) -> str:
        return fingerprint(host())

    @cached_property
    def machine(self) -> Machine:
        """This machine's description; probed once (about two seconds), then kept in the store."""
        found = store.facts(self.fingerprint, self.isa.name)
        if found is None:
            found = probe(self.isa.compiler_flags, self.isa.lanes, host())
            store.keep_facts(self.fingerprint, self.isa.name, found)
        caches = tuple(
            CacheLevel(c.name, c.bytes, c.line, c.ways, found["read"][c.name], c.shared_by) for c in host().caches
        )
        return Machine(
            fingerprint=self.fingerprint,
            isa=self.isa.name,
            lanes=self.isa.lanes,
            registers=self.isa.registers,
            peak=found["peak_gflops"] * 1e9,
            cores=host().cores,
            caches=caches,
            memory_bandwidth=found["read"]["memory"],
            memory_write_bandwidth=found["memory_write"],
            stream_bandwidth=found["memory_stream"],
        )

    def catalog(self, op: str) -> Catalog:
        """The ranked microkernels; with none ranked yet, one that estimates every score from the tile's shape."""
        return load(self.fingerprint, self.isa.name, op)

    def key(self, problem: Problem) -> store.Key:
        """Under which the store keeps this problem."""
        return store.Key(self.fingerprint, self.isa.name, problem.op, canonical(problem), self.threads)

    def build(self, scheme: Scheme) -> Kernel:
        """The scheme's kernel. Raises SchemeError, ToolchainError, CacheError."""
        return build(scheme, self.isa, self.threads, streams(scheme.problem))

    def job(self, scheme: Scheme) -> dict:
        """The arguments that every function of `cpu.measure` takes for a scheme."""
        return {
            "op": scheme.problem.op,
            "shape": canonical(scheme.problem),
            "scheme": scheme.text,
            "isa": self.isa.name,
            "threads": self.threads,
            "stream": streams(scheme.problem),
        }

    def candidates(self, problem: Problem) -> list[Scheme]:
        """Candidate schemes in the order to try them; the first is the model's choice (`search.space`)."""
        from search.space import candidates, shortlist  # scipy is only loaded when there is something to search

        ranked = candidates(problem, self.machine, self.catalog(problem.op), self.threads)
        return [candidate.scheme for candidate in shortlist(ranked, len(ranked))]

    def predicted(self, schemes: Sequence[Scheme]) -> list:
        """Any schemes of one problem with their predictions, in the order given."""
        from search.predict import Predictor
        from search.space import Candidate, trusted

        problem = schemes[0].problem
        predictor = Predictor(problem, self.machine, trusted(self.catalog(problem.op)), self.threads)
        return [Candidate(scheme, predictor.predict(scheme)) for scheme in schemes]

    def tune(
        self,
        schemes: Sequence[Scheme],
        *,
        budget: float = DEFAULT_BUDGET,
        trials: int = DEFAULT_TRIALS,
        seed: int = 0,
        progress: Callable[[int, int, float], None] = lambda tried, of, best: None,
    ) -> Outcome:
        """Measures the most promising of `schemes` in isolated workers and settles on one; everything is recorded."""
        key = self.key(schemes[0].problem)
        with closing(Worker(env=self.environment)) as worker:

            def measure(scheme: Scheme, seconds: float) -> Timing | str:
                outcome = self.measure(worker, scheme, seconds)
                store.record(key, scheme.text, outcome)
                return outcome

            return tune(
                schemes,
                measure,
                self.prepare,
                budget=budget,
                trials=trials,
                clock=time.monotonic,
                seed=seed,
                known=store.measured(key),
                progress=progress,
            )

    def measure(self, worker: Worker, scheme: Scheme, seconds: float) -> Timing | str:
        """One scheme in a worker: its timing, or the reason why there is none."""
        try:
            found = worker.call("cpu.measure:scheme", timeout=_CANDIDATE_SECONDS, seconds=seconds, **self.job(scheme))
        except CandidateError as error:
            return error.reason
        return Timing(tuple(found["samples"]), found["peak_gflops"])

    def prepare(self, schemes: Sequence[Scheme]) -> None:
        """Compiles schemes on all cores, so that measuring them finds them in the cache."""
        tasks = [Task("cpu.measure:compiled", _CANDIDATE_SECONDS, self.job(scheme)) for scheme in schemes]
        # A scheme that does not compile says so again when it is measured, where its reason is recorded.
        for _ in run_all(tasks, min(len(tasks), host().cores)):
            pass

    def verdict(self, scheme: Scheme, seconds: float, seed: int) -> tuple[Timing, float]:
        """The scheme checked and timed in a worker of its own: timing and largest error. Raises CandidateError."""
        with closing(Worker(env=self.environment)) as worker:
            found = worker.call(
                "cpu.measure:verdict", timeout=_CANDIDATE_SECONDS, seconds=seconds, seed=seed, **self.job(scheme)
            )
        return Timing(tuple(found["samples"]), found["peak_gflops"]), found["max_error"]

    @property
    def environment(self) -> dict[str, str]:
        """Threads of a kernel under test wait actively between calls, as they do in a program that calls it often."""
        return {"OMP_WAIT_POLICY": "active"} if self.threads > 1 else {}


def workshop(isa: str | None = None, threads: int = 1) -> Workshop:
    """The workshop of this machine; `isa` defaults to the widest this CPU runs. Raises ProblemError."""
    if isinstance(threads, bool) or not isinstance(threads, int) or threads < 1:
        raise ProblemError(f"threads={threads!r} must be a whole number of at least 1")
    try:
        chosen = isa_named(isa) if isa else best_isa(host().flags)
    except ValueError as error:
        raise ProblemError(str(error)) from None
    missing = [flag for flag in chosen.cpu_flags if flag not in host().flags]
    if missing:
        raise ProblemError(f"this CPU does not run {chosen.name}: it lacks {', '.join(missing)}")
    return Workshop(chosen, threads)


def streams(problem: Problem) -> bool:
    """Whether outputs are written past the caches: they would not stay there until anyone reads them.

    A plain store first reads the line it overwrites, so an output that leaves the caches anyway costs twice.
    """
    return problem.output.elements * problem.bytes_per_element > host().caches[-1].bytes


def generate_conv(
    *,
    n: int = 1,
    c: int,
    h: int,
    w: int,
    k: int,
    r: int,
    s: int,
    stride=1,
    padding=0,
    dilation=1,
    threads: int = 1,
    tune: str = "model",
    budget: float = DEFAULT_BUDGET,
    isa: str | None = None,
) -> Kernel:
    """A kernel for one 2-D convolution on this machine: y = kernel(x, w).

    x is (N,H,W,C) float32, w is (K,C,R,S) float32 as PyTorch has it, y is (N,OH,OW,K). `stride` and `dilation` are a
    number or (h, w); `padding` is a number, (h, w) or ((top, bottom), (left, right)). tune="model" trusts the model
    and measures nothing; "measure" tries the most promising schemes for about `budget` seconds. What was chosen is
    kept, and the next call with the same arguments returns at once.

    Raises ProblemError for a shape that cannot be computed, ToolchainError without a C compiler, CacheError or
    StoreError where files cannot be kept, TuningError where no candidate runs.
    """
    problem = conv2d(n=n, c=c, h=h, w=w, k=k, r=r, s=s, stride=stride, padding=padding, dilation=dilation)
    return generate(problem, threads=threads, tune=tune, budget=budget, isa=isa)


def generate(problem: Problem, *, threads: int, tune: str, budget: float, isa: str | None = None) -> Kernel:
    """As `generate_conv`, for any problem."""
    if tune not in ("model", "measure"):
        raise ProblemError(f'tune={tune!r} must be "model" or "measure"')
    shop = workshop(isa, threads)
    key = shop.key(problem)
    kept = _kept(key, tune, problem)
    if kept:
        scheme, timing = kept
    else:
        candidates = shop.candidates(problem)
        scheme, timing = candidates[0], None
        if tune == "measure":
            outcome = shop.tune(candidates, budget=budget)
            scheme, timing = outcome.best.scheme, outcome.best.timing
        store.choose(key, tune, scheme.text, timing)
    kernel = shop.build(scheme)
    if timing:
        kernel.timing = timing
    return kernel


def _kept(key: store.Key, tune: str, problem: Problem) -> tuple[Scheme, Timing | None] | None:
    """What an earlier search settled on, unless the record is no valid scheme of this problem."""
    found = store.choice(key, tune)
    try:
        return (parse(problem, found[0]), found[1]) if found else None
    except SchemeError:
        return None
