"""What one search found, as text for people and as one JSON object for programs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from cpu.emit import VERSION
from tiling.machine import Timing
from tiling.scheme import Scheme
from tiling.shapes import canonical
from tiling.winograd import Winograd

# On an idle machine the middle half of the samples lies within some percent; beyond this it was not idle.
BUSY_SPREAD = 0.2


@dataclass(frozen=True)
class Report:
    """One search: its scheme, checked and timed.

    cores: how many of the machine's cores the threads can occupy; the peak is theirs together. max_error: the largest
    on random reals, None where a Ctrl-C came before that check (the integer check precedes every time);
    definition_error: on the same data that of a direct convolution, None where the scheme is one. lacking: the CPU
    flags for want of which no wider instruction set was chosen.
    """

    scheme: Scheme
    threads: int
    cores: int
    timing: Timing
    max_error: float | None
    definition_error: float | None
    trials: int
    failed: int
    search_seconds: float
    interrupted: bool
    machine: str
    isa: str
    lacking: tuple[str, ...]
    microkernels: tuple[str, ...]
    repeat: str
    explanation: str
    emitted: tuple[Path, ...]

    @property
    def gflops(self) -> float:
        """Reached, in GFLOP/s."""
        return self.scheme.problem.flops / self.timing.seconds / 1e9

    @property
    def peak_gflops(self) -> float:
        """The FMA peak of the cores in use, in GFLOP/s."""
        return self.timing.peak_gflops * self.cores

    @property
    def transformed(self) -> bool:
        """Whether this is Winograd's algorithm and not the definition."""
        return isinstance(self.scheme, Winograd)

    def as_json(self) -> dict:
        """One object; seconds a call, GFLOP/s."""
        return {
            "shape": canonical(self.scheme.problem),
            "scheme": self.scheme.text,
            "microkernels": list(self.microkernels),
            "seconds": self.timing.seconds,
            "samples": list(self.timing.samples),
            "spread": self.timing.spread,
            "gflops": self.gflops,
            "peak_gflops": self.peak_gflops,
            "percent_of_peak": 100 * self.gflops / self.peak_gflops,
            "threads": self.threads,
            "correct": True,  # a kernel that is not exact never gets a time, let alone a report
            "max_error": self.max_error,
            "algorithm": self.scheme.algorithm,
            "direct_error": self.definition_error if self.transformed else self.max_error,
            "trials": self.trials,
            "failed": self.failed,
            "search_seconds": self.search_seconds,
            "interrupted": self.interrupted,
            "cache": "warm",
            "machine": self.machine,
            "isa": self.isa,
            "lacking": list(self.lacking),
            "version": VERSION,
            "repeat": self.repeat,
            "explanation": self.explanation,
            "emitted": [str(path) for path in self.emitted],
        }

    def as_text(self) -> str:
        """A line a fact."""
        problem, timing = self.scheme.problem, self.timing
        found = f"{self.trials} scheme{'s' if self.trials > 1 else ''} measured" if self.trials else "none measured"
        if self.failed:
            found += f", {self.failed} of them failed"
        if self.interrupted:
            found += ", ended by Ctrl-C"
        exact = problem.epilogue is None or problem.epilogue.keeps_integers
        check = "exact on small integers" + ("" if exact else ", but for what the epilogue rounds")
        if self.max_error is not None:
            # Sums of int8 are exact: only what follows them rounds.
            bound = "its bound" if self.transformed or problem.dtype == "int8" else "K·eps"
            bound += " as the epilogue carries it on" if problem.epilogue else ""
            data = "numbers" if problem.dtype == "int8" else "reals"
            check += f"; largest error on random {data} {self.max_error:.2g}, within {bound}"
        if self.definition_error is not None:
            check += f"; a direct convolution's on the same data {self.definition_error:.2g}"
        of_f32 = "" if problem.dtype == "f32" else " of f32"
        lines = [
            ("problem", f"{problem.op} {canonical(problem)}   ({problem.flops / 1e9:.3g} GFLOP)"),
            ("scheme", self.scheme.text),
            ("composed of", ", ".join(self.microkernels)),
            (
                "time",
                f"{timing.seconds * 1e3:.4g} ms a call, median of {len(timing.samples)} samples, spread "
                f"{100 * timing.spread:.1f} %, {self.threads} thread{'s' if self.threads > 1 else ''}, warm caches",
            ),
            (
                "speed",
                f"{self.gflops:.1f} GFLOP/s = {100 * self.gflops / self.peak_gflops:.1f} % of the FMA peak{of_f32} "
                f"{self.peak_gflops:.1f} GFLOP/s measured beside it",
            ),
            ("check", check),
            ("search", f"{self.search_seconds:.1f} s, {found}"),
            (
                "machine",
                f"{self.machine}, {self.isa}"
                + (f", since this CPU lacks {', '.join(self.lacking)}" if self.lacking else ""),
            ),
            ("repeat with", self.repeat),
        ]
        if timing.spread > BUSY_SPREAD:
            lines.append(
                (
                    "remark",
                    "the samples differ a lot: other programs kept this machine busy, so measure again when it is idle",
                )
            )
        lines += [("wrote", str(path)) for path in self.emitted]
        text = "\n".join(f"{name:<12} {value}" for name, value in lines)
        return f"{text}\n\n{self.explanation}" if self.explanation else text
