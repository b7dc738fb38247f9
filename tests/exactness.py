"""`python -m tests.exactness --cases 2000`: random kernels beside guard pages, compared exactly with the definition.

A worker builds and runs each case, so that a crash is a finding and not the end of the run. The seed is printed, and a
case that fails prints the line that repeats it: --shape and --scheme run one case, --place at one place of its arrays.
"""

from __future__ import annotations

import itertools
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, nullcontext
from random import Random
from unittest.mock import patch

from cpu.kernel.callable import build
from cpu.runtime.compiler.toolchain import find_compiler
from cpu.runtime.machine.host import host
from cpu.runtime.options import Parser
from cpu.runtime.processes.pool import Pool, Task
from cpu.runtime.processes.worker import CandidateError
from microkernels.tile.isa import EVERY_ISA, isa_named
from microkernels.tile.microkernel import OPERATORS
from search.commands.options import natural, whole
from tests.support.kernels.guard import PLACES, check_guarded
from tests.support.kernels.random_cases import Case, case
from tiling.arrays.access import access_of
from tiling.text.notation import parse
from tiling.text.shapes import canonical, problem_of

# A compilation that takes longer than this on a loaded machine hangs.
CASE_SECONDS = 300


# What `tiling.loops.lowering.prefetch.limits` takes for few and small, so that random kernels, which are, prefetch too.
FAR = {
    "FEW_WEIGHTS": 0,
    "SMALL_X": 0,
    "LARGEST_L1": -1,
    "MOST_A_LINE": 1 << 30,
    "LEAST_A_LINE": 0,
    "PREFETCH_DISTANCE": 1,
    "LOADS_AN_FMA": 1 << 30,
    "MOST_A_LINE_OF_LANES": 1 << 30,
    "LEAST_IN_TURN": 1,
    "LONG_VECTOR": 0,
}


def check(
    *, op: str, shape: str, scheme: str, isa: str, threads: int, stream: bool, far: bool = False, places=PLACES
) -> None:
    """In a worker: one kernel with its arrays at `places` of `tests.support.kernels.guard`. Raises WrongResult, or
    crashes.

    It prints each place beforehand: what a worker printed last is told of its crash.
    """
    with patch.multiple("tiling.loops.lowering.prefetch.limits", **FAR) if far else nullcontext():
        kernel = build(parse(problem_of(op, shape), scheme), isa_named(isa), threads, stream)
    for place in places:
        print(f"--place {place}", flush=True)
        check_guarded(kernel, place)


def run(
    seed: int,
    enough: Callable[[int], bool],
    jobs: int,
    report: Callable[[str], None],
    function: str = "tests.exactness:check",
) -> tuple[Counter, int]:
    """Cases number 0, 1, … of `seed` until `enough(started)`: (how many passed, by kind; how many failed)."""
    runnable = tuple(isa.name for isa in EVERY_ISA.values() if host().flags.issuperset(isa.cpu_flags))
    threads = (1, 1, 2, 3) if find_compiler().openmp else (1,)

    def cases() -> Iterator[Case]:
        for number in itertools.count():
            if enough(number):
                return
            yield case(Random(f"{seed}:{number}"), runnable, threads, volumes=True)

    return check_all(cases(), jobs, report, function)


def check_all(
    cases: Iterable[Case], jobs: int, report: Callable[[str], None], function: str = "tests.exactness:check"
) -> tuple[Counter, int]:
    """Checks cases in workers and draws them as workers become free; returns as `run` does."""
    running: dict[Task, Case] = {}

    def tasks() -> Iterator[Task]:
        for drawn in cases:
            task = Task(function, CASE_SECONDS, job(drawn))
            running[task] = drawn
            yield task

    passed: Counter = Counter()
    failed = 0
    with (
        tempfile.TemporaryDirectory(prefix="tilewright-cases-") as cache,
        closing(Pool(jobs, packages=("tests",), env={"TILEWRIGHT_CACHE": cache})) as pool,
    ):
        for task, outcome in pool.run(tasks()):
            drawn = running.pop(task)
            if isinstance(outcome, CandidateError):
                failed += 1
                report(f"FAILED: {outcome.reason}\n    {drawn.command}")
            else:
                passed.update(kinds(drawn))
    return passed, failed


def job(drawn: Case) -> dict:
    """The arguments of `check`."""
    problem = drawn.scheme.problem
    return {
        "op": problem.op,
        "shape": canonical(problem),
        "scheme": drawn.scheme.text,
        "isa": drawn.isa,
        "threads": drawn.threads,
        "stream": drawn.stream,
        "far": drawn.far,
    }


def kinds(drawn: Case) -> list[str]:
    """What a case is counted as."""
    text, problem = drawn.scheme.text, drawn.scheme.problem
    found = ["cases", problem.op, drawn.isa]
    found += [f"{problem.dtype} to {problem.output_dtype}"] if problem.dtype != "f32" else []
    found += ["channels first"] if access_of(problem).transposed_output else []
    found += ["by Winograd's algorithm"] if drawn.scheme.algorithm == "winograd" else []
    found += ["composed"] if "λ" in text else []
    found += ["with pixels as one dim"] if "(hw," in text or "(hw)" in text else []
    found += ["strip by strip"] if "S(x)" in text and not access_of(problem).weights_broadcast else []
    found += ["with core loops"] if "@core" in text else []
    found += ["streamed"] if drawn.stream else []
    found += ["as if far"] if drawn.far else []
    found += ["masked"] if problem.extents[problem.vector_dim] % drawn.scheme.lanes else []
    return found


def summary(passed: Counter, failed: int) -> str:
    """One line."""
    parts = ", ".join(f"{count} {kind}" for kind, count in passed.items() if kind != "cases")
    return f"{passed['cases']} cases exact at {len(PLACES)} places beside guard pages ({parts}); {failed} failed"


def main(arguments: list[str] | None = None) -> int:
    """The command line; 1 where a case failed."""
    parser = Parser("python -m tests.exactness", description="Random kernels against the definition.")
    parser.add_argument("--cases", type=whole, default=2000, metavar="N", help="how many; default 2000")
    parser.add_argument("--seed", type=natural, metavar="N", help="seed of the cases; default: the clock's")
    parser.add_argument("--jobs", type=whole, default=host().cores, metavar="N", help="workers; default: one a core")
    parser.add_argument("--shape", help="run this one case")
    parser.add_argument("--scheme", help="scheme of that case")
    parser.add_argument("--op", choices=OPERATORS, default="conv2d")
    parser.add_argument("--isa", choices=EVERY_ISA, default="portable")
    parser.add_argument("--threads", type=whole, default=1)
    parser.add_argument("--stream", action="store_true", help="that case with streaming stores")
    parser.add_argument("--far", action="store_true", help="that case as if its arrays were large")
    parser.add_argument(
        "--place", choices=PLACES, help="that case with its arrays there only; default: at each in turn"
    )
    options = parser.parse_args(arguments)
    if (options.shape is None) != (options.scheme is None):
        parser.error("--shape and --scheme belong together")
    if options.shape is not None:
        named = {name: getattr(options, name) for name in ("op", "shape", "scheme", "isa", "threads", "stream", "far")}
        check(**named, places=(options.place,) if options.place else PLACES)
        print("exact")
        return 0
    seed = options.seed if options.seed is not None else time.time_ns() % 2**31
    print(f"seed {seed}: python -m tests.exactness --cases {options.cases} --seed {seed}", flush=True)
    passed, failed = run(
        seed, lambda started: started >= options.cases, options.jobs, lambda text: print(text, flush=True)
    )
    print(summary(passed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
