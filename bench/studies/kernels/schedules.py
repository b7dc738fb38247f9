"""The command `python -m bench.schedules`: what each schedule of a GPU takes, beside what it took before.

    python -m bench.schedules --json before.json                 (at one commit)
    python -m bench.schedules --before before.json               (at another one)

A line a schedule: registers of a thread and bytes of shared memory of a block, bytes spilled, blocks that one
multiprocessor then runs at once, predicted microseconds. NVRTC compiles each schedule; no GPU is needed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from bench.report.files import check_writable, write
from bench.run.ending import ending
from cpu.runtime.compiler.toolchain import ToolchainError
from cpu.runtime.machine.host import host
from cpu.runtime.options import Parser
from search.commands.options import whole
from search.evaluator.gpu.backend import GpuBackend, gpu_target
from search.space.explain import aligned
from search.tuner.measured import AnyScheme
from tiling.operators import conv2d, matmul
from tiling.problem import Problem

DTYPES = ("f16", "bf16", "tf32")


class FileError(RuntimeError):
    """A file of schedules that cannot be read; the message says which and why."""


def problems(dtype: str) -> dict[str, Problem]:
    """A problem of every kind that has kernels of its own: aligned, across the sum, few tiles, few steps, odd rows,
    pixels.
    """
    return {
        "product": matmul(m=4096, n=4096, k=4096, dtype=dtype, transpose_b=True),
        "across": matmul(m=4096, n=4096, k=4096, dtype=dtype),
        "split": matmul(m=512, n=512, k=4096, dtype=dtype, transpose_b=True),
        "short": matmul(m=4096, n=4096, k=64, dtype=dtype, transpose_b=True),
        "odd": matmul(m=1001, n=999, k=2039, dtype=dtype, transpose_a=True),
        "conv": conv2d(n=16, c=64, h=56, w=56, k=512, r=3, s=3, padding=1, dtype=dtype),
        "stem": conv2d(c=3, h=224, w=224, k=64, r=7, s=7, stride=2, padding=3, dtype=dtype),
    }


@dataclass(frozen=True)
class CompiledSchedule:
    """A schedule, and what it takes: registers of a thread, bytes of shared memory and spilled, predicted seconds.

    blocks: as many as one multiprocessor runs at once, by what they take of it.
    """

    problem: str
    dtype: str
    device: str
    scheme: str
    registers: int
    shared_bytes: int
    spilled_bytes: int
    blocks: int
    predicted_seconds: float

    @property
    def key(self) -> tuple[str, str, str, str]:
        return self.problem, self.dtype, self.device, self.scheme

    @property
    def is_whole(self) -> bool:
        """Whether every field has its type, as a file need not."""
        numbers = (self.registers, self.shared_bytes, self.spilled_bytes, self.blocks, self.predicted_seconds)
        return all(isinstance(text, str) for text in self.key) and all(isinstance(n, (int, float)) for n in numbers)


def measured(names: Sequence[str], dtype: str, device: str, every: int) -> Iterator[CompiledSchedule]:
    """What every Nth schedule of each problem takes. Raises ToolchainError, SchemeError."""
    backend = GpuBackend(gpu_target("cuda-twin", dtype, device))

    def of(problem: str, scheme: AnyScheme) -> CompiledSchedule:
        fields: Mapping[str, Any] = backend.details(scheme).fields
        if fields["registers"] is None:
            raise ToolchainError("NVRTC is not installed: pip install 'tilewright[nvrtc]'")
        registers, shared, spilled = (fields[name] for name in ("registers", "shared_bytes", "spilled_bytes"))
        blocks = backend.device.blocks_at_once(fields["block"], registers, shared)
        seconds = fields["predicted_seconds"]
        return CompiledSchedule(
            problem, dtype, backend.device.name, scheme.text, registers, shared, spilled, blocks, seconds
        )

    with ThreadPoolExecutor(host().cores) as pool:
        for name in names:
            schemes = backend.candidates(backend.problem(problems(dtype)[name]))
            yield from pool.map(partial(of, name), schemes[::every])


def table(now: Sequence[CompiledSchedule], before: Sequence[CompiledSchedule]) -> str:
    """The lines of all schedules, with the changes since, and how many take more than before or run in fewer blocks."""
    earlier = {each.key: each for each in before}
    rows = [["problem", "registers", "shared", "spilled", "blocks", "predicted µs", "scheme"]]
    more = dict.fromkeys(("registers", "shared_bytes", "spilled_bytes", "predicted_seconds"), 0)
    fewer = 0
    for each in now:
        old = earlier.get(each.key)
        for name in more:
            more[name] += old is not None and getattr(each, name) > getattr(old, name)
        fewer += old is not None and each.blocks < old.blocks
        named = (*list(more)[:3], "blocks")
        cells = [_changed(getattr(each, name), getattr(old, name) if old else None) for name in named]
        earlier_us = round(old.predicted_seconds * 1e6, 1) if old else None
        seconds = _changed(round(each.predicted_seconds * 1e6, 1), earlier_us)
        rows.append([f"{each.problem} {each.dtype} {each.device}", *cells, seconds, each.scheme])
    lines = [*aligned(rows), "", f"{len(now)} schedules"]
    if before:
        known = sum(each.key in earlier for each in now)
        says = ", ".join(f"{count} {name.split('_')[0]}" for name, count in more.items())
        lines[-1] += f", of which {known} were there before; of these take more than before: {says}; of {fewer} a "
        lines[-1] += "multiprocessor runs fewer blocks"
    return "\n".join(lines)


def _changed(value: float, before: float | None) -> str:
    return f"{value}" if before is None or value == before else f"{value} ({value - before:+.4g})"


def earlier(path: Path) -> list[CompiledSchedule]:
    """The schedules that `--json` wrote. Raises FileError."""
    try:
        found = [CompiledSchedule(**each) for each in json.loads(path.read_text(encoding="utf-8"))]
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror or error}") from None
    except (ValueError, TypeError):
        found = []
    if not found or not all(each.is_whole for each in found):
        raise FileError(f"{path} holds no schedules: give a file that --json wrote")
    return found


@ending("interrupted: nothing is written", ToolchainError, FileError)
def main(arguments: list[str] | None = None) -> int:
    """Prints the table and returns the exit code. 1: there is no NVRTC, or a file cannot be read or written."""
    parser = Parser(
        "python -m bench.schedules", description="Prints what each schedule of a GPU takes; needs NVRTC, but no GPU."
    )
    parser.add_argument("--problem", nargs="+", choices=list(problems("f16")), default=list(problems("f16")))
    parser.add_argument("--dtype", nargs="+", choices=DTYPES, default=list(DTYPES))
    parser.add_argument("--device", nargs="+", default=["A100", "H200"])
    parser.add_argument("--every", type=whole, default=1, metavar="N", help="only every Nth schedule; default 1: all")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write what was found to this file")
    parser.add_argument("--before", type=Path, metavar="FILE", help="compare with what --json wrote")
    given = parser.parse_args(arguments)
    before = earlier(given.before) if given.before else []
    if given.json:
        check_writable(given.json)
    pairs = [(dtype, device) for dtype in given.dtype for device in given.device]
    now = [each for dtype, device in pairs for each in measured(given.problem, dtype, device, given.every)]
    if given.json:
        write(given.json, json.dumps([asdict(each) for each in now], indent=0))
    print(table(now, before))
    return 0
