"""Kernels for this CPU: how problems are computed on it, which schemes there are, and how they are built."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any  # what workers are given and give is JSON

from cpu.codegen.emit import Source, emit, forms_of, packing_forms_of
from cpu.kernel.callable import CpuKernel, emitted
from cpu.passes.order import PRODUCT
from cpu.runtime.compiler.toolchain import CompileError, compile_shared, find_compiler
from cpu.runtime.machine.host import host
from cpu.runtime.machine.neighbours import busy
from cpu.runtime.processes.worker import Worker
from microkernels.scores.catalog import Catalog
from microkernels.scores.shipped import known, revision
from microkernels.tile.isa import isa_named
from microkernels.tile.isa_row import Isa
from search.cost.volume import EVERYTHING, NOTHING, WEIGHTS, tasks
from search.evaluator.cpu.cluster import ClusterEvaluator
from search.evaluator.cpu.evaluator import CpuEvaluator
from search.evaluator.cpu.machine import machine_of
from search.evaluator.cpu.report import details, explained
from search.evaluator.cpu.target import cpu_target
from search.evaluator.interface.protocol import CANDIDATE_SECONDS, Details, Evaluator
from search.space import candidates
from search.space.candidates import Knowledge
from search.tuner import store
from search.tuner.dtypes import on_cpu
from search.tuner.measured import AnyScheme
from search.tuner.target import COLD_WEIGHTS, Target, Wanted
from search.tuner.tune import TuningError
from tiling.loops.listing import listing
from tiling.loops.lowering.stream_plan import outgrows
from tiling.loops.passes import names
from tiling.machine import Machine, Timing
from tiling.problem import Problem
from tiling.rewrite.unvectorised import vectorised
from tiling.rewrite.winograd.algorithm import Winograd
from tiling.scheme.scheme import Scheme
from tiling.scheme.specifiers import Tile
from tiling.text.shapes import canonical

# How many of the model's candidates are built until one compiles. Where none does, the compiler is at fault.
MOST_BUILDS = 4
# Emitted texts are kept for the next call: emitting one takes some 30 ms, for its passes.
_written = lru_cache(maxsize=64)(emit)


def cpu_backend(
    isa: str | None = None,
    threads: int = 1,
    dtype: str = "f32",
    algorithm: str = "direct",
    cluster: str = "",
    cache: str = "warm",
) -> CpuBackend:
    """The back end of this CPU (`Wanted`)."""
    return CpuBackend(cpu_target(Wanted(dtype, isa, threads, algorithm, cluster=cluster, cache=cache)))


@dataclass(frozen=True)
class CpuBackend:
    """`search.evaluator.interface.protocol.Backend` of this CPU."""

    target: Target

    @cached_property
    def isa(self) -> Isa:
        return isa_named(self.target.isa)

    @cached_property
    def machine(self) -> Machine:
        return machine_of(self.isa, self.target.machine)

    def catalog(self, op: str, by_matrix: bool = False) -> Catalog:
        """The ranked microkernels of an operator; where `by_matrix`, those of matrix instructions.

        Where none is ranked yet, the catalog estimates every score from the tile's shape.
        """
        found = self._catalogs
        if (op, by_matrix) not in found:
            found[op, by_matrix] = known(self.target.machine, self.isa.name if by_matrix else self.isa.ranked, op)
        return found[op, by_matrix]

    @cached_property
    def _catalogs(self) -> dict[tuple[str, bool], Catalog]:
        return {}

    def with_cold_weights(self) -> CpuBackend:
        """The back end for calls that find their weights in memory, as those of a large model."""
        return CpuBackend(replace(self.target, cache=COLD_WEIGHTS))

    @property
    def knowledge(self) -> Knowledge:
        target = self.target
        cold = {"cold": EVERYTHING, COLD_WEIGHTS: WEIGHTS}.get(target.cache, NOTHING)
        return Knowledge(self.isa, self.machine, self.catalog, target.threads, target.algorithm, cold)

    def problem(self, problem: Problem) -> Problem:
        found = candidates.computed(on_cpu(problem, self.isa.dtype, None), self.isa)
        candidates.check_algorithm(found, self.target.algorithm)
        return found

    def parsed(self, problem: Problem, text: str) -> AnyScheme:
        scheme = candidates.parsed(problem, text)
        return vectorised(scheme, self.isa.lanes) if isinstance(scheme, Scheme) else scheme

    def ranking(self, problem: Problem) -> tuple[Isa, str]:
        return candidates.ranking(problem, self.isa)

    def candidates(self, problem: Problem) -> Sequence[AnyScheme]:
        return candidates.candidates(problem, self.knowledge)

    def predicted_seconds(self, schemes: Sequence[AnyScheme]) -> list[float]:
        if not schemes:
            return []
        return [found.prediction.seconds for found in candidates.predicted(schemes, self.knowledge)]

    def key(self, problem: Problem) -> store.Key:
        compiler = find_compiler()
        return self.target.key(problem, f"{compiler.kind} {compiler.version}")

    def kind(self, tune: str, problem: Problem) -> str:
        isa, op = self.ranking(problem)
        return self.target.kind(tune, str(revision(self.target.machine, isa.name, op)))

    def first_built(self, schemes: Iterable[AnyScheme]) -> AnyScheme:
        refused: CompileError | None = None
        for scheme in islice(schemes, MOST_BUILDS):
            try:
                self.compile(scheme)
                return scheme
            except CompileError as error:
                refused = refused or error
        raise refused or TuningError("no schemes were given to build")

    def compile(self, scheme: AnyScheme) -> None:
        """Builds a kernel; one that cannot run here is only written."""
        if self.target.absent:
            self.emitted(scheme)
        else:
            self.build(scheme)

    def build(self, scheme: AnyScheme, timing: Timing | None = None) -> CpuKernel:
        kernel = self._kernels.get(scheme.text)
        if kernel is None:
            either: Any = scheme  # a kernel takes Winograd's algorithm too, and tells them apart
            kernel = CpuKernel(either, self.emitted(scheme), cold=self.target.cache == "cold")
            self._kernels[scheme.text] = kernel
        if timing:
            kernel.timing = timing
        return kernel

    def emitted(self, scheme: AnyScheme) -> Source:
        """The C text of a scheme, which is not compiled here. Raises SchemeError, ToolchainError."""
        either: Any = scheme
        return emitted(either, self.isa, self.target.threads, _streams(scheme), _written)

    @cached_property
    def _kernels(self) -> dict[str, CpuKernel]:
        return {}

    def job(self, scheme: AnyScheme) -> dict[str, Any]:
        """The arguments that every function of `cpu.kernel.measure` takes for a scheme."""
        return {
            "op": scheme.problem.op,
            "shape": canonical(scheme.problem),
            "scheme": scheme.text,
            "isa": self.isa.name,
            "threads": self.target.threads,
            "stream": _streams(scheme),
        } | ({"cache": "cold"} if self.target.cache == "cold" else {})

    def disturbance(self) -> str:
        return busy(self.target.threads)

    def evaluator(self, problem: Problem) -> Evaluator:
        here = CpuEvaluator(self.job, self.environment)
        if not self.target.cluster:
            return here
        return ClusterEvaluator(here, self.job, self.target.cluster, self.environment)

    def checker(self, problem: Problem) -> CpuEvaluator:
        return CpuEvaluator(self.job, self.environment)

    @property
    def environment(self) -> dict[str, str]:
        """The environment of workers.

        Threads of a kernel under test wait actively between calls, as in a program that calls it often. NumPy's threads
        would wait so too, on the cores where the kernel is timed, so NumPy gets one thread. That does not hold where
        NumPy's threads are OpenMP's.
        """
        libraries = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
        return dict.fromkeys(libraries, "1") | ({"OMP_WAIT_POLICY": "active"} if self.target.threads > 1 else {})

    def definition_error(self, scheme: AnyScheme, seed: int) -> float | None:
        if not isinstance(scheme, Winograd):
            return None
        job = {"op": scheme.problem.op, "shape": canonical(scheme.problem), "isa": self.isa.name, "seed": seed}
        with closing(Worker(env=self.environment)) as worker:
            found = worker.call("cpu.kernel.measure:definition_error", timeout=CANDIDATE_SECONDS, **job)
        return float(found["max_error"])

    def remarks(self, scheme: AnyScheme | None) -> list[str]:
        threads, said = self.target.threads, []
        if threads > 1 and isinstance(scheme, Scheme) and tasks(scheme) == 1:
            tiled = [s.dim for s in scheme.specifiers if isinstance(s, Tile) and s.dim not in scheme.problem.reductions]
            dim = tiled[0] if tiled else scheme.problem.vector_dim
            said.append(
                f"the scheme shares no work between threads: with no loop such as T({dim},2)@core one of {threads} "
                "does all"
            )
        return said

    def details(self, scheme: AnyScheme) -> Details:
        return details(scheme, self.target, self.machine)

    def explain(self, scheme: AnyScheme, others: Sequence[AnyScheme], why_not: str) -> str:
        return explained(scheme, others, self.knowledge)

    def source(self, scheme: AnyScheme) -> str:
        return self.build(scheme).source

    def assembly(self, scheme: AnyScheme) -> str:
        emitted = self.build(scheme).emitted
        with TemporaryDirectory(prefix="tilewright-") as folder:
            path = Path(folder) / "kernel.s"
            compile_shared(find_compiler(), emitted.text, path, (*emitted.compiler_flags, "-S"), emitted.openmp)
            return path.read_text(encoding="utf-8", errors="replace")

    @property
    def pass_names(self) -> tuple[str, ...]:
        return names(PRODUCT)

    def passes(self, scheme: AnyScheme) -> Iterator[tuple[str, str]]:
        either: Any = scheme  # of either algorithm
        forms = forms_of(either, self.isa, _streams(scheme), self.target.threads)
        return ((name, listing(kernel)) for name, kernel in forms)

    def packing(self, scheme: AnyScheme) -> Iterator[tuple[str, str]]:
        either: Any = scheme  # of either algorithm
        forms = packing_forms_of(either, self.isa, _streams(scheme), self.target.threads)
        return ((name, listing(kernel)) for name, kernel in forms)

    def save(self, scheme: AnyScheme, folder: Path, name: str | None = None) -> tuple[Path, ...]:
        return self.build(scheme).save(folder, name)


def _streams(scheme: AnyScheme) -> bool:
    return outgrows(scheme.problem, host().caches[-1].bytes)
