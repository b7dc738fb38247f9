"""The result of `python -m search.program`, as text for people and as one JSON object for programs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cpu.runtime.plural import plural
from cpu.runtime.version import VERSION
from search.commands.report import tried
from search.evaluator.cpu.programs import ProgramKernel
from search.evaluator.interface.definition import unbounded
from search.flow.find import MARKED, Found
from search.tuner.target import Target
from tiling.machine import Timing
from tiling.program.language import Program

if TYPE_CHECKING:
    from search.evaluator.gpu.cuda_programs import ProgramVerdict
    from search.evaluator.gpu.programs import GpuProgramKernel

# The largest error of each output, by name, or a sentence that says why it is unknown.
Errors = dict[str, float] | str


@dataclass(frozen=True)
class ProgramReport:
    """The report on a CPU's kernel.

    found: how the scheme of the product in the program was chosen; None where all loops follow from rules. moved: the
    bytes of the arrays that a call takes and gives. lacking: what this CPU lacks of the widest instruction set, where
    none was asked for. explanation: why the kernel has its loops, in sentences. choice: why the product has its scheme.
    unsaved: why the kernel's files could not be written; empty where they were.
    """

    kernel: ProgramKernel
    target: Target
    found: Found | None
    error: Errors
    timing: Timing
    moved: int
    repeat: str
    lacking: tuple[str, ...]
    explanation: tuple[str, ...]
    choice: str
    emitted: tuple[Path, ...]
    unsaved: str

    @property
    def interrupted(self) -> bool:
        """Whether a Ctrl-C ended the search."""
        return self.found is not None and self.found.interrupted

    @property
    def remarks(self) -> list[str]:
        """What to know of the choice and of the time."""
        doubts, found = [], self.found
        if self.target.cache == "cold":
            doubts.append("the product's scheme is chosen for cold calls, and the time is of warm ones")
        if found and found.tried and found.timing and found.timing.disturbed:
            doubts.append(f"{found.scheme.problem}: {found.timing.disturbed}: {MARKED}")
        if self.timing.disturbed:
            doubts.append(f"{self.timing.disturbed}: the time is in doubt, so measure again when the machine is quiet")
        return doubts

    def as_json(self) -> dict[str, object]:
        """One object, in seconds per warm call, with the names of `search.conv`; null where nothing was searched for.

        chosen_for: whether the scheme was chosen for warm or cold calls.
        """
        kernel, target, found, timing = self.kernel, self.target, self.found, self.timing
        details = found and found.backend.details(found.scheme)
        return {
            "program": str(kernel.program.program),
            "dims": dict(kernel.program.dims),
            "runtime": list(kernel.program.runtime),
            "inputs": {array.name: [array.dtype, *array.shape] for array in kernel.inputs},
            "outputs": {array.name: [array.dtype, *array.shape] for array in kernel.outputs},
            "scheme": found and found.scheme.text,
            "target": target.name,
            "microkernels": list(details.microkernels) if details else [],
            "seconds": timing.seconds,
            "samples": list(timing.samples),
            "spread": timing.spread,
            "disturbed": timing.disturbed,
            "bytes": self.moved,
            "bytes_per_second": self.moved / timing.seconds,
            "threads": kernel.threads,
            "check": self.check,
            "error": self.error if isinstance(self.error, dict) else None,
            "unchecked": self.error if isinstance(self.error, str) else "",
            "max_error": max(self.error.values()) if isinstance(self.error, dict) else None,
            "algorithm": found and found.scheme.algorithm,
            "trials": found and found.trials,
            "failed": found and found.failed,
            "known": found and found.known,
            "ranked": found and len(found.ranked),
            "search_seconds": found and found.seconds,
            "listing_seconds": found and found.listing,
            "interrupted": self.interrupted,
            "chosen_for": target.cache,
            "machine": target.machine,
            "isa": target.isa,
            "lacking": list(self.lacking),
            "version": VERSION,
            "repeat": self.repeat,
            "remarks": self.remarks,
            "explanation": list(self.explanation),
            "choice": self.choice,
            "emitted": [str(path) for path in self.emitted],
        }

    @property
    def check(self) -> str:
        """A sentence on the errors of the outputs."""
        if self.found and self.found.scheme.algorithm != "direct":
            return _checked(self.error, "", "Winograd's sums have other terms")
        return _checked(self.error, "", unbounded(self.kernel.program))

    def as_text(self) -> str:
        """The report as text, one fact per line."""
        kernel, dims = self.kernel, dict(self.kernel.program.dims)
        arrays = [
            ", ".join(f"{array.name}: {array.dtype}[{', '.join(map(str, array.shape))}]" for array in side)
            for side in (kernel.inputs, kernel.outputs)
        ]
        lines: list[tuple[str, str]] = [("inputs", arrays[0] or "none"), ("outputs", arrays[1])]
        if kernel.program.runtime:
            extents = ", ".join(f"{dim} from 1 to {dims[dim]}" for dim in kernel.program.runtime)
            lines.append(("runtime", f"{extents}; checked and timed with all"))
        if self.found:
            lines.append(("scheme", self.found.scheme.text))
            lines.append(("search", f"{self.found.seconds:.1f} s, {tried(self.found, self.interrupted)}"))
        rate = f"{self.moved / self.timing.seconds / 1e9:.1f} GB/s of the {self.moved:,} bytes of its arrays"
        lines += [
            ("machine", f"{self.target.machine}, {self.target.isa}, {self._threads()}"),
            ("check", self.check),
            ("time", f"{_time(self.timing)}, warm: {rate}"),
            ("repeat with", self.repeat),
            *(("remark", sentence) for sentence in self.remarks),
            *(("why", sentence) for sentence in self.explanation),
        ]
        text = _told(kernel.program.program, lines, self.emitted)
        return f"{text}\n\n{self.choice}" if self.choice else text

    def _threads(self) -> str:
        few = f", of {self.target.threads} asked for: there is too little to do for more"
        return plural(self.kernel.threads, "threads") + few * (self.kernel.threads != self.target.threads)


@dataclass(frozen=True)
class GpuReport:
    """The report on a GPU's kernel.

    verdict: what the GPU that is here was asked; None where the twin computed the kernel. unsaved: as for a CPU's.
    """

    kernel: GpuProgramKernel
    target: Target
    error: Errors
    verdict: ProgramVerdict | None
    emitted: tuple[Path, ...]
    unsaved: str

    def as_json(self) -> dict[str, object]:
        """One object, in seconds per warm call; null where nothing was timed."""
        verdict, timing = self.verdict, self.verdict and self.verdict.timing
        return {
            "program": str(self.kernel.program.program),
            "dims": dict(self.kernel.program.dims),
            "target": self.target.name,
            "machine": self.target.machine,
            "launches": [
                {"blocks": str(each.grid), "threads": each.threads, "shared_bytes": each.shared_bytes}
                for each in self.kernel.emitted.launches
            ],
            "seconds": timing and timing.seconds,
            "samples": timing and list(timing.samples),
            "spread": timing and timing.spread,
            "bytes": verdict and verdict.moved,
            "bytes_per_second": verdict and verdict.rate,
            "copy_bytes_per_second": verdict and verdict.bandwidth,
            "error": self.error if isinstance(self.error, dict) else None,
            "unchecked": self.error if isinstance(self.error, str) else "",
            "emitted": [str(path) for path in self.emitted],
        }

    def as_text(self) -> str:
        """The report as text, one fact per line."""
        lines = []
        for number, each in enumerate(self.kernel.emitted.launches):
            shared = f", {each.shared_bytes} bytes of shared memory" * (each.shared_bytes > 16)
            blocks = "1 block" if str(each.grid) == "1" else f"{each.grid} blocks"  # a grid may depend on extents
            lines.append((f"launch {number}", f"{blocks} of {plural(each.threads, 'threads')}{shared}"))
        verdict = self.verdict
        why_not = unbounded(self.kernel.program)
        lines.append(("check", _checked(self.error, "" if verdict else "on the twin, ", why_not)))
        if verdict:
            rate = f"{verdict.rate / 1e9:.1f} GB/s of the {verdict.moved:,} bytes of its arrays"
            lines.append(("machine", self.target.machine))
            lines.append(("time", f"{_time(verdict.timing)}, on the device, warm: {rate}"))
            lines.append(("copy", f"{verdict.bandwidth / 1e9:.1f} GB/s, where the GPU's memory copies an array"))
        return _told(self.kernel.program.program, lines, self.emitted)


def _checked(error: Errors, where: str, unbounded: str) -> str:
    """A sentence on errors. unbounded: why no bound of them is known; empty where they are within one."""
    if isinstance(error, str):
        return f"not checked: {error}"
    told = ", ".join(f"{name} {each:.1e}" for name, each in error.items())
    judged = f"no bound is known, since {unbounded}" if unbounded else "within what roundings explain"
    return f"{judged}; error {where}against the definition in float64, of the largest value: {told}"


def _time(timing: Timing) -> str:
    samples = f"median of {plural(len(timing.samples), 'samples')}, spread {100 * timing.spread:.1f} %"
    return f"{1e6 * timing.seconds:.3g} µs, {samples}"


def _told(program: Program, lines: list[tuple[str, str]], emitted: tuple[Path, ...]) -> str:
    """Statements, one a line, then facts."""
    facts = [*lines, *(("wrote", str(path)) for path in emitted)]
    return "\n".join([*str(program).split("; "), *(f"{name:<12} {value}" for name, value in facts)])
