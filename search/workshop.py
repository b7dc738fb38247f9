"""This machine, ready to choose and build schemes: its facts, its catalogue, its workers, its store.

Everything that decides is pure and lives elsewhere; here it is given this machine's facts, store, workers and clock.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial
from itertools import zip_longest
from operator import index
from typing import ClassVar

from cpu.host import fingerprint, host, tiles_given, tiles_refused
from cpu.kernel import Kernel, build
from cpu.probe import probe
from cpu.toolchain import find_compiler
from cpu.worker import CandidateError, Task, Worker, is_worth_another_try, run_all
from microkernels.catalog import Catalog
from microkernels.isa import ISAS_OF, Isa, best_isa, isa_named
from microkernels.microkernel import ranked_op
from microkernels.records import load, revision
from search import store
from search.layouts import layouts
from search.occupancy import geometry
from search.options import on_cpu
from search.strips import with_strips
from search.tune import Outcome, tune
from search.volume import streams
from tiling.grouped import beside_each_other
from tiling.machine import CacheLevel, Machine, Timing
from tiling.notation import parse
from tiling.pointwise import along_pixels
from tiling.problem import Problem, ProblemError
from tiling.scheme import Dot, Scheme
from tiling.shapes import canonical
from tiling.winograd import Winograd, refusal
from tiling.words import block_of, in_words, scheme_in_words, scheme_of_words

ALGORITHMS = ("direct", "winograd", "auto")
DEFAULT_BUDGET = 30.0  # seconds
DEFAULT_TRIALS = 32
# Candidates that are tried with x in strips as well.
STRIPPED = 32
MOST_THREADS = 1024  # beyond it a number of threads is a typing error, and OpenMP may end the process over it
# A candidate's whole visit to a worker: compile, reference, check, samples. The largest layer takes about 3 s.
CANDIDATE_SECONDS = 60.0


@dataclass(frozen=True)
class Workshop:
    """This machine, ready to choose and build schemes for `threads` threads on one instruction set.

    algorithm: "direct", the definition; "winograd" (`tiling.winograd`); "auto", whichever of the two is faster.
    """

    isa: Isa
    threads: int = 1
    algorithm: str = "direct"
    target: ClassVar[str] = "cpu"

    @cached_property
    def fingerprint(self) -> str:
        return fingerprint(host())

    @cached_property
    def machine(self) -> Machine:
        """This machine's description; probed once (about two seconds), then kept in the store."""
        measured_on = isa_named(self.isa.ranked)
        found = store.facts(self.fingerprint, measured_on.name)
        if found is None or not {c.name for c in host().caches} <= set(found["read"]):
            found = probe(measured_on.compiler_flags, measured_on.lanes, host())
            store.keep_facts(self.fingerprint, measured_on.name, found)
        caches = tuple(
            CacheLevel(
                c.name,
                c.bytes,
                c.line,
                c.ways,
                found["read"][c.name],
                c.shared_by,
                found["write"][c.name],
            )
            for c in host().caches
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
            memory_write_bandwidth=found["write"]["memory"],
            stream_bandwidth=found["memory_stream"],
        )

    def catalog(self, op: str, blocked: bool = False) -> Catalog:
        """The ranked microkernels, of matrix instructions where problems are `blocked`; with none ranked yet, one that
        estimates every score from the tile's shape.
        """
        return load(self.fingerprint, self.isa.name if blocked else self.isa.ranked, op)

    def ranking(self, problem: Problem) -> tuple[Isa, str]:
        """The instruction set and the operator whose ranking `candidates` asks most for this problem."""
        words = in_words(problem, self._block(problem))
        return (self.isa if words.blocked else isa_named(self.isa.ranked)), ranked_op(words)

    def _block(self, problem: Problem) -> Dot | None:
        return block_of(problem) if self.isa.matrix else None

    def _beside(self, words: Problem) -> Machine:
        """This machine for a problem of words or blocks: with the instruction set that multiplies them."""
        vectors = self.isa.matrix and not words.blocked
        return replace(self.machine, isa=self.isa.vectors) if vectors else self.machine

    def kind(self, tune: str, problem: Problem) -> str:
        """How the store names a choice: the model's own holds for as long as the ranking it was made from."""
        isa, op = self.ranking(problem)
        name = tune if tune == "measure" else f"{tune} {revision(self.fingerprint, isa.name, op)}"
        return name if self.algorithm == "direct" else f"{name} {self.algorithm}"

    def key(self, problem: Problem) -> store.Key:
        """Under which the store keeps this problem."""
        compiler = find_compiler()
        name = f"{compiler.kind} {compiler.version}"
        return store.Key(self.fingerprint, self.isa.name, name, problem.op, canonical(problem), self.threads)

    def build(self, scheme: Scheme) -> Kernel:
        """The scheme's kernel. Raises SchemeError, ToolchainError, CacheError."""
        return build(scheme, self.isa, self.threads, streams(scheme.problem, host().caches[-1].bytes))

    def job(self, scheme: Scheme) -> dict:
        """The arguments that every function of `cpu.measure` takes for a scheme."""
        return {
            "op": scheme.problem.op,
            "shape": canonical(scheme.problem),
            "scheme": scheme.text,
            "isa": self.isa.name,
            "threads": self.threads,
            "stream": streams(scheme.problem, host().caches[-1].bytes),
        }

    def problem(self, problem: Problem) -> Problem:
        """A problem as it is computed here: in the dtype of the instruction set, narrow groups side by side in its
        vectors, or the pixels of a pointwise convolution, channels first.

        Raises ProblemError.
        """
        computed = on_cpu(problem, self.isa.dtype, None)
        return along_pixels(beside_each_other(computed, self.isa.lanes), self.isa.lanes)

    def parsed(self, problem: Problem, text: str) -> Scheme | Winograd:
        """The scheme that `text` spells for a problem as it is computed here; where its vectors lie along another dim,
        for the one that was asked for. Raises SchemeError.
        """
        asked = problem.asked
        other = asked is not problem and re.search(rf"V\(\s*{asked.vector_dim}\s*,", text)
        return parse(asked if other else problem, text)

    def check(self, problem: Problem) -> None:
        """Raises ProblemError where Winograd's algorithm is asked for and cannot compute the problem."""
        refused = refusal(problem) if self.algorithm == "winograd" else None
        if refused:
            raise ProblemError(refused)

    def candidates(self, problem: Problem) -> list[Scheme | Winograd]:
        """Candidate schemes in the order to try them; the first is the model's choice (`search.space`,
        `search.winograd`).

        Of narrow numbers those of the problem of words, or of blocks where the CPU has matrix instructions: to tiles
        and caches they are the same. Raises ProblemError as `check` does.
        """
        from search.space import shortlist  # scipy is only loaded when there is something to search
        from search.winograd import winograd_candidates

        self.check(problem)
        transformed, direct = [], []
        if self.algorithm != "direct" and not refusal(problem):
            transformed = winograd_candidates(problem, self.machine, self.catalog("matmul"), self.threads)
        if self.algorithm != "winograd":
            ranked = self._ranked(problem)
            direct = shortlist(ranked, len(ranked))
        # Each algorithm's own order is kept: that of `shortlist` is not of predicted time alone.
        first_transformed = transformed and (
            not direct or transformed[0].prediction.seconds <= direct[0].prediction.seconds
        )
        turns = (transformed, direct) if first_transformed else (direct, transformed)
        mixed = [candidate for pair in zip_longest(*turns) for candidate in pair if candidate]
        return [candidate.scheme for candidate in mixed]

    def _ranked(self, problem: Problem) -> tuple:
        """Direct candidates in all layouts of x, and the best of them with x in strips, fastest predicted first."""
        from search.copies import after_copy
        from search.space import Candidate, candidates, rounded

        dot, found = self._block(problem), []
        for words in layouts(problem, dot):
            catalog = self.catalog(ranked_op(words), words.blocked)
            for candidate in candidates(words, self._beside(words), catalog, self.threads):
                scheme = scheme_of_words(problem, candidate.scheme, dot)
                found.append(Candidate(scheme, after_copy(candidate.prediction, scheme, self.machine)))
        # Stable: those of one layout that count as equal stay in the order of `search.space`.
        found.sort(key=rounded(found))
        largest = geometry(self.machine.caches, min(1, len(self.machine.caches) - 1), self.threads).bytes / 2
        strips = self.predicted([s for best in found[:STRIPPED] for s in with_strips(best.scheme, largest)])
        found += strips
        return tuple(sorted(found, key=rounded(found)))

    def predicted(self, schemes: Sequence[Scheme | Winograd]) -> list:
        """Any schemes of one problem with their predictions, in the order given."""
        from search.copies import after_copy
        from search.predict import Predictor
        from search.space import Candidate, trusted
        from search.winograd import predicted

        # Schemes of one problem may have words along other dims, or blocks.
        catalog = lru_cache(lambda words: trusted(self.catalog(ranked_op(words), words.blocked)))
        predictor = lru_cache(lambda words: Predictor(words, self._beside(words), catalog(words), self.threads))
        transformed = predicted(
            [s for s in schemes if isinstance(s, Winograd)], self.machine, self.catalog("matmul"), self.threads
        )
        known = {candidate.scheme: candidate for candidate in transformed}
        in_turn = [known.get(s) or scheme_in_words(s) for s in schemes]
        return [
            found if s in known else Candidate(s, after_copy(predictor(found.problem).predict(found), s, self.machine))
            for s, found in zip(schemes, in_turn)
        ]

    def predicted_seconds(self, schemes: Sequence[Scheme]) -> list[float]:
        """Of a call, by the model, in the order given; none for none."""
        return [candidate.prediction.seconds for candidate in self.predicted(schemes)] if schemes else []

    def tune(
        self,
        schemes: Sequence[Scheme],
        *,
        budget: float = DEFAULT_BUDGET,
        trials: int = DEFAULT_TRIALS,
        seed: int = 0,
        forget: bool = False,
        progress: Callable[[int, int, float], None] = lambda tried, of, best: None,
    ) -> Outcome:
        """Measures the most promising of `schemes` in isolated workers and settles on one; everything is recorded.

        What earlier searches found out takes part, failures too unless the machine may have been at fault for them;
        with `forget` nothing does. Raises TuningError, ToolchainError without a
        compiler, StoreError, and WorkerError where this machine is at fault and not a candidate.
        """
        key = self.key(schemes[0].problem)
        with closing(Worker(env=self.environment)) as worker:
            return tune_and_record(
                key,
                self.kind("measure", schemes[0].problem),
                schemes,
                partial(self.measure, worker),
                self.prepare,
                forget=forget,
                budget=budget,
                trials=trials,
                seed=seed,
                progress=progress,
            )

    def measure(
        self, worker: Worker, scheme: Scheme, seconds: float, patience: float = CANDIDATE_SECONDS
    ) -> Timing | str:
        """One scheme in a worker: its timing, or the reason why there is none."""
        patience = min(patience, CANDIDATE_SECONDS)
        try:
            found = worker.call("cpu.measure:scheme", timeout=patience, seconds=seconds, **self.job(scheme))
        except CandidateError as error:
            return error.reason
        return Timing(tuple(found["samples"]), found["peak_gflops"])

    def prepare(self, schemes: Sequence[Scheme], patience: float = CANDIDATE_SECONDS) -> dict[str, str]:
        """Compiles schemes on all cores, so that measuring them finds them in the cache; why some do not compile, by
        text.
        """
        patience = min(patience, CANDIDATE_SECONDS)
        tasks = [Task("cpu.measure:compiled", patience, self.job(scheme)) for scheme in schemes]
        with closing(run_all(tasks, min(len(tasks), host().cores))) as outcomes:
            return {t.arguments["scheme"]: o.reason for t, o in outcomes if isinstance(o, CandidateError)}

    def verdict(self, scheme: Scheme, seconds: float, seed: int) -> tuple[Timing, float]:
        """The scheme checked and timed in a worker of its own: timing and largest error. Raises CandidateError."""
        with closing(Worker(env=self.environment)) as worker:
            found = worker.call(
                "cpu.measure:verdict", timeout=CANDIDATE_SECONDS, seconds=seconds, seed=seed, **self.job(scheme)
            )
        return Timing(tuple(found["samples"]), found["peak_gflops"]), found["max_error"]

    def definition_error(self, problem: Problem, seed: int) -> float:
        """The largest error of a direct convolution on the data of `verdict`, in a worker of its own. Raises
        CandidateError.
        """
        with closing(Worker(env=self.environment)) as worker:
            job = {"op": problem.op, "shape": canonical(problem), "isa": self.isa.name, "seed": seed}
            return worker.call("cpu.measure:definition_error", timeout=CANDIDATE_SECONDS, **job)["max_error"]

    @property
    def environment(self) -> dict[str, str]:
        """Threads of a kernel under test wait actively between calls, as they do in a program that calls it often.

        Those of NumPy's products wait so too, on cores that the kernel is timed on: there are none, unless they are
        OpenMP's as well.
        """
        libraries = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
        return dict.fromkeys(libraries, "1") | ({"OMP_WAIT_POLICY": "active"} if self.threads > 1 else {})


def tune_and_record(
    key: store.Key,
    kind: str,
    schemes: Sequence[Scheme],
    measure: Callable[[Scheme, float, float], Timing | str],
    prepare: Callable[[Sequence[Scheme], float], dict[str, str]],
    *,
    forget: bool,
    **options,
) -> Outcome:
    """`search.tune.tune`, whose other arguments are the `options`, keeping each outcome in the store at once.

    What is kept takes part, and the store's choice of `kind` is the incumbent. Failures that the
    machine may be at fault for are tried again; with `forget` nothing earlier counts. Raises TuningError, StoreError,
    and what `measure` and `prepare` raise.
    """
    known = {} if forget else {text: found for text, found in store.measured(key).items() if _stands(found)}
    kept = None if forget else store.choice(key, kind)

    def measured(scheme: Scheme, seconds: float, patience: float) -> Timing | str:
        outcome = measure(scheme, seconds, patience)
        store.record(key, scheme.text, outcome)
        return outcome

    def prepared(wanted: Sequence[Scheme], patience: float) -> dict[str, str]:
        failed = prepare(wanted, patience)
        for text, reason in failed.items():
            store.record(key, text, reason)
        return failed

    incumbent = kept[0] if kept else None
    return tune(schemes, measured, prepared, clock=time.monotonic, known=known, incumbent=incumbent, **options)


def _stands(outcome: Timing | str) -> bool:
    """Whether the next search need not try again: not where a time-out or a lack of memory ended the measurement."""
    return isinstance(outcome, Timing) or not is_worth_another_try(outcome)


def workshop(isa: str | None = None, threads: int = 1, dtype: str = "f32", algorithm: str = "direct") -> Workshop:
    """The workshop of this machine; `isa` defaults to the widest of `dtype` that this CPU runs and the system lets this
    process use. Raises ProblemError.
    """
    if algorithm not in ALGORITHMS:
        raise ProblemError(f"algorithm={algorithm!r} must be one of {', '.join(ALGORITHMS)}")
    try:
        threads = index(threads)
    except TypeError:
        threads = 0
    if not 1 <= threads <= MOST_THREADS:
        raise ProblemError(f"threads must be a whole number from 1 to {MOST_THREADS}")
    if isa is not None and not isinstance(isa, str):
        raise ProblemError(f"isa={isa!r} must be the name of an instruction set")
    try:
        chosen = best_isa(host().flags, dtype) if isa is None else isa_named(isa)
    except ValueError as error:
        raise ProblemError(str(error)) from None
    missing = [flag for flag in chosen.cpu_flags if flag not in host().flags]
    if missing:
        raise ProblemError(f"this CPU does not run {chosen.name}: it lacks {', '.join(missing)}")
    if chosen.dtype != dtype:
        raise ProblemError(f"{chosen.name} computes in {chosen.dtype}, not {dtype}: use {' or '.join(ISAS_OF[dtype])}")
    if chosen.matrix and not tiles_given():
        if isa is not None:
            raise ProblemError(f"{tiles_refused(chosen.name)}: use {chosen.vectors}")
        chosen = isa_named(chosen.vectors)
    return Workshop(chosen, threads, algorithm)
