"""The C text of each step's kernel: a product's by a search, a program's by rules. All are compiled on all cores."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from typing import Any  # a product's scheme, and its source

from cpu.runtime.compiler.library import compiled_object
from cpu.runtime.machine.host import host
from cpu.runtime.numbers import ELEMENTS
from search.commands.progress import SearchState
from search.evaluator.cpu.backend import CpuBackend
from search.evaluator.cpu.programs import text_of
from search.evaluator.interface.errors import CompileError
from search.flow.kernels import kernel_for
from tiling.dtypes.products import OPERAND_DTYPES
from tiling.problem import Problem
from tiling.program.infer import Sized

Work = Problem | Sized


@dataclass(frozen=True)
class KernelFile:
    """A compiled file's facts. It defines SYMBOL_run, SYMBOL_supported, and for a product SYMBOL_pack_run.

    threads: how many share a call; each calls SYMBOL_run. arrays: the C type of each, such as "const float *".
    scratch: bytes of memory that a call needs while it runs. packed: bytes of the packed weights of a product; 0 for a
    program, which returns 1 if an index that it read lay outside. scheme: the text that a search chose. residuals: the
    places of the inputs that may be the output itself. pack_threads: how many share the packing.
    """

    symbol: str
    text: str
    flags: tuple[str, ...]
    threads: int
    arrays: tuple[str, ...]
    scratch: int
    packed: int = 0
    scheme: str = ""
    residuals: tuple[int, ...] = ()
    pack_threads: int = 1

    @property
    def openmp(self) -> bool:
        return self.threads > 1

    @property
    def packing(self) -> tuple[str, ...]:
        """The C type of each parameter of SYMBOL_pack_run: a product's weights, where they are packed, and the team
        that shares the packing.
        """
        return self.arrays[1], self.arrays[1].removeprefix("const "), *("long", "long") * (self.pack_threads > 1)

    @property
    def parameters(self) -> tuple[str, ...]:
        """The C type of each parameter of SYMBOL_run."""
        return (*self.arrays, *("char *",) * (self.scratch > 0), *("long", "long") * (self.threads > 1))


def products_of(works: Iterable[Work]) -> list[Problem]:
    """The different products of a model, the largest first: these take gcc longest."""
    return sorted(dict.fromkeys(work for work in works if isinstance(work, Problem)), key=lambda work: -work.flops)


def by_dtype(problems: Iterable[Problem]) -> dict[str, list[Problem]]:
    """The problems of each dtype: each has a back end of its own."""
    found: dict[str, list[Problem]] = {}
    for problem in problems:
        found.setdefault(problem.dtype, []).append(problem)
    return found


class Kernels:
    """Makes the kernels of products and programs. Each text is emitted once, and compiled into the cache.

    of: gives the back end for the products of a dtype.
    """

    def __init__(self, of: Callable[[str], CpuBackend]):
        self.of, self.backend = of, of("f32")
        self._texts: dict[tuple[Work, str], KernelFile] = {}

    def text(self, work: Work, scheme: Any = None) -> KernelFile:
        """The kernel's text, which is not compiled here. scheme: the one of a product."""
        key = (work, scheme.text if scheme else "")
        if key not in self._texts:
            self._texts[key] = self._written(work, scheme)
        return self._texts[key]

    def _written(self, work: Work, scheme: Any) -> KernelFile:
        if isinstance(work, Problem):
            return self._product(work, self.of(work.dtype).emitted(scheme), scheme)
        text = text_of(work, self.backend.target)
        types = tuple(p.replace("restrict ", "").rpartition("*")[0] + "*" for p in text.parameters)
        return KernelFile(text.symbol, text.inside, text.compiler_flags, text.threads, types, self._scratch(text))

    def _product(self, work: Problem, source: Any, scheme: Any) -> KernelFile:
        x, w, y = (ELEMENTS[name] for name in (*OPERAND_DTYPES[work.dtype], work.output_dtype))
        arrays = f"const {x.c} *", f"const {w.c} *", f"{y.c} *", *("const float *",) * len(work.epilogue_arrays)
        size, packed = self._scratch(source), w.numpy.itemsize * source.packed
        # With several passes, partial sums wait in the output and would overwrite what the last pass reads.
        beside = enumerate(work.epilogue_arrays, 2) if scheme.single_pass else ()
        return KernelFile(
            source.symbol,
            source.inside,
            source.compiler_flags,
            source.threads,
            arrays,
            size,
            packed,
            scheme.text,
            tuple(place for place, array in beside if work.may_be_output(array)),
            source.pack_threads,
        )

    def _scratch(self, source: Any) -> int:
        """The scratch bytes of a kernel with a model's team, which may have more threads than it has work for."""
        more = self.backend.target.threads - source.threads if source.threads > 1 else 0
        scratch: int = source.scratch + source.own * more
        return scratch

    def compiled(
        self, works: Iterable[Work], schemes: Mapping[Problem, Any], progress: Callable[[SearchState], None]
    ) -> Mapping[Work, KernelFile]:
        """A kernel for every different work, compiled on all cores. schemes: the products' schemes.

        Raises ToolchainError and CacheError, and what `search.flow.kernels.kernel_for` raises where a scheme does not
        compile.
        """
        all_ = list(dict.fromkeys(works))
        ordered: list[Work] = [*products_of(all_), *(work for work in all_ if isinstance(work, Sized))]
        found: dict[Work, KernelFile] = {}
        jobs: dict[Future[bytes], Work] = {}
        with ThreadPoolExecutor(host().cores) as pool:
            try:
                # Texts are emitted while the compiler works on earlier ones.
                for work in ordered:
                    found[work] = self.text(work, schemes[work] if isinstance(work, Problem) else None)
                    jobs[pool.submit(object_of, found[work])] = work
                    progress(SearchState("compiling kernels", sum(job.done() for job in jobs), len(ordered)))
                for done, job in enumerate(as_completed(jobs)):
                    progress(SearchState("compiling kernels", done + 1, len(ordered)))
                    work = jobs[job]
                    if isinstance(work, Problem) and isinstance(job.exception(), CompileError):
                        other: Any = kernel_for(work, self.of(work.dtype).target)  # the model's next choice
                        found[work] = self._product(work, other.emitted, other.scheme)
                    else:
                        job.result()
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
        return found


def object_of(kernel: KernelFile) -> bytes:
    """The compiled kernel, for linking. Raises ToolchainError and CacheError."""
    return compiled_object(kernel.text, kernel.flags, kernel.openmp)
