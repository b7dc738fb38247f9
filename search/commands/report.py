"""The result of one search for any target, as text for people and as one JSON object for programs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from cpu.runtime.plural import plural
from search.evaluator.interface.protocol import Details
from search.flow.find import MARKED, Found
from tiling.machine import Timing
from tiling.rewrite.winograd.algorithm import Winograd
from tiling.text.shapes import canonical

# On an idle machine the middle half of the samples lies within some percent. With a larger spread it was busy.
BUSY_SPREAD = 0.2


@dataclass(frozen=True)
class Report:
    """The report on one search.

    definition_error: the largest error of a direct convolution on the data of the last check; None where the scheme is
    one. interrupted: whether a Ctrl-C came during or after the search. unsaved: why the kernel's files could not be
    written; empty where they were. widest: whether the widest instruction set was chosen by default.
    """

    found: Found
    definition_error: float | None
    repeat: str
    explanation: str
    emitted: tuple[Path, ...]
    interrupted: bool
    unsaved: str = ""
    widest: bool = True

    @cached_property
    def details(self) -> Details:
        return self.found.backend.details(self.found.scheme)

    @property
    def timing(self) -> Timing | None:
        return self.found.timing

    @property
    def conflicts(self) -> int | None:
        return self.found.verdict.conflicts if self.found.verdict else None

    @property
    def lacking(self) -> tuple[str, ...]:
        return self.details.lacking if self.widest else ()

    @property
    def gflops(self) -> float:
        """The speed in GFLOP/s."""
        assert self.timing  # asked for where there is one
        return self.found.scheme.problem.flops / self.timing.seconds / 1e9

    @property
    def peak_gflops(self) -> float:
        """The peak of the cores in use, in GFLOP/s."""
        assert self.timing  # asked for where there is one
        return self.timing.peak_gflops * self.details.cores

    def as_json(self) -> dict[str, object]:
        """One object, in seconds per call and GFLOP/s; null where a value is unknown."""
        found, details, target, timing = self.found, self.details, self.found.backend.target, self.timing
        problem = found.scheme.problem
        transformed = isinstance(found.scheme, Winograd)
        return {
            "shape": canonical(problem),
            "scheme": found.scheme.text,
            "target": target.name,
            "dtype": problem.dtype,
            "microkernels": list(details.microkernels),
            "seconds": timing and timing.seconds,
            "samples": list(timing.samples) if timing else None,
            "spread": timing and timing.spread,
            "disturbed": timing and timing.disturbed,
            "gflops": timing and self.gflops,
            "peak_gflops": timing and self.peak_gflops,
            "percent_of_peak": timing and 100 * self.gflops / self.peak_gflops,
            "threads": target.threads,
            "correct": None if target.absent else True,  # a wrong kernel ends in an error, not in a report
            "check": self.check,
            "max_error": self.found.max_error,
            "algorithm": found.scheme.algorithm,
            "direct_error": self.definition_error if transformed else self.found.max_error,
            "conflicts": self.conflicts,
            "trials": found.trials,
            "failed": found.failed,
            "known": found.known,
            "ranked": len(found.ranked),
            "search_seconds": found.seconds,
            "listing_seconds": found.listing,
            "interrupted": self.interrupted,
            "cache": target.cache,
            "machine": target.machine,
            "isa": target.isa,
            "lacking": list(self.lacking),
            "version": details.version,
            "repeat": self.repeat,
            "explanation": self.explanation,
            "emitted": [str(path) for path in self.emitted],
            **details.fields,
        }

    @property
    def check(self) -> str:
        """A sentence on the last check: whether the kernel ran, where, and its largest error."""
        if self.found.backend.target.absent:
            return f"not run: {self.found.backend.target.absent}"
        problem = self.found.scheme.problem
        exact = problem.epilogue is None or problem.epilogue.keeps_integers
        said = "exact on small integers" + ("" if exact else ", but for what the epilogue rounds")
        said += self.details.checked_on
        if self.found.max_error is not None:
            data = "numbers" if problem.sums_are_exact else "reals"
            said += f"; largest error on random {data} {self.found.max_error:.2g}, within {self.details.bound}"
        if self.definition_error is not None:
            said += f"; a direct convolution's on the same data {self.definition_error:.2g}"
        if self.conflicts is not None:
            said += f"; bank conflicts cost {self.conflicts} cycles"
        return said

    def as_text(self) -> str:
        """The report as text, one fact per line."""
        found, details, problem = self.found, self.details, self.found.scheme.problem
        where, place = details.place
        lines = [
            ("problem", f"{problem.op} {canonical(problem)}   ({problem.flops / 1e9:.3g} GFLOP)"),
            ("scheme", found.scheme.text),
            *details.lines,
            *self._times(),
            ("check", self.check),
            ("search", f"{found.seconds:.1f} s, {tried(found, self.interrupted)}"),
            (where, place + (f", since this CPU lacks {', '.join(self.lacking)}" if self.lacking else "")),
            ("repeat with", self.repeat),
        ]
        if self.timing and self.timing.disturbed:
            lines.append(("remark", f"{self.timing.disturbed}: {self._marked()}"))
        elif self.timing and self.timing.spread > BUSY_SPREAD:
            lines.append(("remark", f"the samples differ a lot: {details.busy}"))
        lines += [("wrote", str(path)) for path in self.emitted]
        text = "\n".join(f"{name:<12} {value}" for name, value in lines)
        return f"{text}\n\n{self.explanation}" if self.explanation else text

    def _marked(self) -> str:
        """What follows from times in doubt."""
        kept = self.found.tried and not self.found.given
        return MARKED if kept else "the time is in doubt, so measure again when the machine is quiet"

    def _times(self) -> list[tuple[str, str]]:
        timing, details = self.timing, self.details
        if timing is None:
            return [("time", "not measured")]
        time = (
            f"{timing.seconds * 1e3:.4g} ms {details.each}, median of {plural(len(timing.samples), 'samples')}, spread "
            f"{100 * timing.spread:.1f} %, {details.conditions}"
        )
        percent = 100 * self.gflops / self.peak_gflops
        return [("time", time), ("speed", details.speed(self.gflops, percent, self.peak_gflops))]


def tried(found: Found, interrupted: bool) -> str:
    """A sentence on what the search spent its time on."""
    if found.given:
        return "the scheme was given"
    said = f"{plural(found.trials, 'schemes')} measured" if found.trials else "none measured"
    if found.failed:
        said += f", {found.failed} of them failed"
    if found.known:
        said += f", {found.known} known from earlier searches"
    if found.known and not found.trials:
        said += " and the best of those compared again"
    if interrupted:
        said += ", ended by Ctrl-C"
    if len(found.ranked) == 1:
        return f"one scheme ranked by the model, {said}"
    return f"{said}; {found.listing:.1f} s of it listed and ranked {len(found.ranked)} schemes"
