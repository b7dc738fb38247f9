"""The command `python -m bench.shifts`: Triton's shift-convolutions, fused and in steps, beside PyTorch.

Every channel of an image moves by its own (dh, dw) of {-1, 0, 1}², then a 1 x 1 convolution follows. Channels lie
sorted by their shift, nine groups of them. All take the same whole numbers, whose sums are exact, and must agree.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from bench.peers.cpu import torch_cpu
from bench.report.files import check_writable, write
from bench.report.sections import on_threads
from bench.run.ending import ending
from bench.run.journal import alone
from bench.run.layers import ALLOCATOR, WAITING
from bench.run.targets.turns import timed
from cpu.kernel.arguments import aligned
from cpu.kernel.callable import CpuKernel
from cpu.kernel.program import ProgramKernel
from cpu.runtime.compiler.toolchain import find_compiler
from cpu.runtime.machine.host import fingerprint, host
from cpu.runtime.options import Parser
from cpu.runtime.output import readable
from cpu.runtime.plural import plural
from cpu.runtime.processes.worker import CandidateError, Worker
from search.commands.options import whole
from search.flow.generate import generate_matmul
from search.flow.programs import generate_program
from tiling.program.operators import program_of
from tiling.text.shapes import suite

ROUNDS = 15
TURN_SECONDS = 0.02
TAPS = 9
_TIMEOUT_SECONDS = 300.0
_SUITE = "triton_conv"

# Where the shifts are numbers of the program, one statement does all.
FUSED = "y[n,h,w,k] = sum[r,s,c] (x[n,h+r-1,w+s-1,{group}*(3*r+s)+c] else 0) * (f[k,{group}*(3*r+s)+c] else 0)"
SHIFT = "a: s32; b: s32; z[n,h,w,c] = x[n,h+a[c],w+b[c],c] else 0"
# What a reader calls each way to compute it.
WAYS = {
    "fused": "one statement with the shifts in its indices",
    "arrays": "a program that reads the shifts from two arrays",
    "steps": "a kernel that shifts, then one for the product",
    "torch": "PyTorch: nine slices, then its linear layer",
}


@dataclass(frozen=True)
class Task:
    """One of Triton's tasks: n images of (h, w, c), k output channels."""

    name: str
    n: int
    h: int
    w: int
    c: int
    k: int

    @property
    def group(self) -> int:
        """Channels of each shift; the last group has what is left."""
        return -(-self.c // TAPS)

    @property
    def shifts(self) -> tuple[np.ndarray, np.ndarray]:
        """dh and dw of each channel."""
        number = np.arange(self.c, dtype=np.int32) // self.group
        return number // 3 - 1, number % 3 - 1

    @property
    def flops(self) -> int:
        """Multiplications and additions of the product."""
        return 2 * self.n * self.h * self.w * self.c * self.k


@dataclass(frozen=True)
class Times:
    """Seconds of a call by way, medians over the turns. missing: why a way has no time."""

    task: str
    threads: int
    seconds: dict[str, float]
    missing: dict[str, str]


def tasks() -> tuple[Task, ...]:
    """The tasks whose convolution has a window of 3 x 3."""
    found = []
    for layer in suite(_SUITE):
        if layer.problem is not None and layer.problem.extents["r"] == layer.problem.extents["s"] == 3:
            found.append(Task(layer.name, *(layer.problem.extents[dim] for dim in "nhwck")))
    return tuple(found)


def turns(*, task: dict[str, Any], threads: int, ways: list[str], rounds: int, turn: float) -> dict[str, Any]:
    """Times one task in a worker. The fields of `Times`. Raises CandidateError where two ways differ."""
    given = Task(**task)
    random = np.random.default_rng(0)
    x = aligned(random.integers(-3, 4, (given.n, given.h, given.w, given.c)).astype(np.float32))
    f = aligned(random.integers(-3, 4, (given.k, given.c)).astype(np.float32))
    calls: dict[str, Callable[[], Any]] = {}
    missing, expected = {}, shifted(given, x) @ f.T
    for way in ways:
        try:
            call = _READY[way](given, x, f, threads)
            found = np.asarray(call())
        except Exception as error:  # whatever a library raises, the others are still compared
            missing[way] = readable(f"{type(error).__name__}: {error}")[:200]
            continue
        if not np.array_equal(found, expected):
            raise CandidateError(f"{given.name}: {WAYS[way]}: {np.sum(found != expected)} numbers are wrong")
        calls[way] = call
    clocks = {way: timed(call, turn) for way, call in calls.items()}
    samples: dict[str, list[float]] = {way: [] for way in clocks}
    for _ in range(rounds):
        for way, clock in clocks.items():
            samples[way].append(clock())
    return asdict(Times(given.name, threads, {way: median(each) for way, each in samples.items()}, missing))


def shifted(task: Task, x: np.ndarray) -> np.ndarray:
    """Every channel of x moved by its own shift, with zeros where no pixel moves to: the definition, in NumPy."""
    wide = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
    return np.stack(
        [
            wide[:, 1 + a : 1 + a + task.h, 1 + b : 1 + b + task.w, channel]
            for channel, (a, b) in enumerate(zip(*task.shifts))
        ],
        -1,
    )


def _fused(task: Task, x: np.ndarray, f: np.ndarray, threads: int) -> Callable[[], Any]:
    extents: dict[str, Any] = {"n": task.n, "h": task.h, "w": task.w, "k": task.k, "r": 3, "s": 3, "c": task.group}
    shapes = {"x": x.shape, "f": f.shape}
    kernel = generate_program(FUSED.format(group=task.group), shapes=shapes, threads=threads, **extents)
    assert isinstance(kernel, ProgramKernel)
    (y,) = kernel.empty()
    return lambda: kernel(x=x, f=f, out=y)


def _arrays(task: Task, x: np.ndarray, f: np.ndarray, threads: int) -> Callable[[], Any]:
    program = program_of("shift_convolution", x.shape, f.shape, (task.c,), (task.c,))
    kernel = generate_program(program, threads=threads)
    assert isinstance(kernel, ProgramKernel)
    (y,), (a, b) = kernel.empty(), task.shifts
    return lambda: kernel(x=x, f=f, a=a, b=b, out=y)


def _steps(task: Task, x: np.ndarray, f: np.ndarray, threads: int) -> Callable[[], Any]:
    extents: dict[str, Any] = dict(zip("nhwc", x.shape))
    shift = generate_program(SHIFT, shapes={"x": x.shape, "a": (task.c,), "b": (task.c,)}, threads=threads, **extents)
    product = generate_matmul(m=task.n * task.h * task.w, n=task.k, k=task.c, threads=threads)
    assert isinstance(shift, ProgramKernel) and isinstance(product, CpuKernel)
    (z,), y, packed, (a, b) = shift.empty(), product.empty(), product.pack(np.ascontiguousarray(f.T)), task.shifts

    def call() -> np.ndarray:
        shift(x=x, a=a, b=b, out=z)
        product(z.reshape(-1, task.c), packed, out=y)
        return y.reshape(task.n, task.h, task.w, task.k)

    return call


def _torch(task: Task, x: np.ndarray, f: np.ndarray, threads: int) -> Callable[[], Any]:
    import torch

    torch_cpu.settle(threads)
    given, weights = torch.from_numpy(x), torch.from_numpy(f)
    z, group = torch.zeros(x.shape), task.group
    moves = []
    for number in range(-(-task.c // group)):
        a, b = number // 3 - 1, number % 3 - 1
        to = (slice(max(0, -a), task.h - max(0, a)), slice(max(0, -b), task.w - max(0, b)))
        origin = (slice(max(0, a), task.h - max(0, -a)), slice(max(0, b), task.w - max(0, -b)))
        channels = slice(number * group, (number + 1) * group)
        moves.append((z[:, to[0], to[1], channels], given[:, origin[0], origin[1], channels]))

    def call() -> Any:
        with torch.inference_mode():
            for to, origin in moves:
                to.copy_(origin)
            return torch.nn.functional.linear(z, weights)

    return call


_READY: dict[str, Callable[[Task, np.ndarray, np.ndarray, int], Callable[[], Any]]] = {
    "fused": _fused,
    "arrays": _arrays,
    "steps": _steps,
    "torch": _torch,
}


def measured(task: Task, threads: int, ways: Sequence[str]) -> Times:
    """One task on so many threads. Raises CandidateError, and what a worker raises."""
    with closing(Worker(env={**ALLOCATOR, **WAITING, **torch_cpu.environment(threads)}, packages=("bench",))) as worker:
        found = worker.call(
            "bench.studies.kernels.shifts:turns",
            timeout=_TIMEOUT_SECONDS,
            task=asdict(task),
            threads=threads,
            ways=list(ways),
            rounds=ROUNDS,
            turn=TURN_SECONDS,
        )
    return Times(**found)


def table(found: Sequence[Times]) -> list[str]:
    """A row a task, in milliseconds."""
    ways = [way for way in WAYS if any(way in each.seconds for each in found)]
    lines = [f"| task | threads | {' | '.join(ways)} |", f"| --- | ---: |{' ---: |' * len(ways)}"]
    for each in found:
        times = (f"{1e3 * each.seconds[way]:.2f}" if way in each.seconds else "–" for way in ways)
        lines.append(f"| {each.task} | {each.threads} | {' | '.join(times)} |")
    return lines


def page(found: Sequence[Times], command: str, torch: str) -> str:
    """The page that `--report` writes."""
    compiler = find_compiler()
    shapes = {task.name: f"{task.n}x{task.h}x{task.w}x{task.c} to {task.k} channels" for task in tasks()}
    lines = [
        "# Shift-convolutions",
        "",
        f"Written by `{command}` on `{fingerprint(host())}` with {plural(host().cores, 'cores')}, {compiler.kind} "
        f"{compiler.version}, {torch}. float32, warm, milliseconds of a call from Python, medians over {ROUNDS} turns "
        "in one process; all results were the same to the bit.",
        "",
        *table(found),
        "",
        *(f"- {way}: {what}" for way, what in WAYS.items() if any(way in each.seconds for each in found)),
        *(f"- {name}: {shapes[name]}" for name in dict.fromkeys(each.task for each in found)),
    ]
    missing = {(way, why) for each in found for way, why in each.missing.items()}
    lines += [f"- without {way}: {why}" for way, why in sorted(missing)]
    return "\n".join(lines) + "\n"


@ending("interrupted: no page is written")
def main(arguments: list[str] | None = None) -> int:
    """Runs the command line and returns the exit code."""
    options = _parser().parse_args(arguments)
    found, code = [], 0
    if options.report:
        check_writable(options.report)
    with alone():
        for threads in dict.fromkeys(options.threads):
            for task in tasks():
                try:
                    found.append(measured(task, threads, options.ways))
                except CandidateError as error:
                    print(f"{task.name} {on_threads(threads)}: {readable(error.reason)}", file=sys.stderr)
                    code = 1
                    continue
                for way, why in found[-1].missing.items():
                    print(f"{task.name}: {way} is left out: {why}", file=sys.stderr)
                times = ", ".join(f"{way} {1e3 * seconds:.2f} ms" for way, seconds in found[-1].seconds.items())
                print(f"{task.name} {on_threads(threads)}: {times}", flush=True)
    if options.report and found:
        words = ["python", "-m", "bench.shifts", "--threads", *map(str, options.threads), "--ways", *options.ways]
        command = shlex.join([*words, "--report", str(options.report)])
        write(options.report, page(found, command, _torch_version(options.ways)))
    return code


def _torch_version(ways: Sequence[str]) -> str:
    try:
        return torch_cpu.version() if "torch" in ways else "without PyTorch"
    except ModuleNotFoundError:
        return "without PyTorch"


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        "python -m bench.shifts",
        description="Triton's shift-convolutions.",
        epilog="Without PyTorch (pip install 'tilewright[peers]') only ours are timed.",
    )
    parser.add_argument("--threads", nargs="+", type=whole, default=[1], metavar="N", help="default: 1")
    parser.add_argument("--ways", nargs="+", choices=tuple(WAYS), default=list(WAYS), help="default: all")
    parser.add_argument("--report", type=Path, metavar="FILE.md", help="write the page, such as shifts.md")
    return parser
