"""What a search for a GPU found, as text for people and as one JSON object for programs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from gpu.emit import VERSION
from gpu.reading import pipeline_of
from search.gpu_target import Choice
from search.gpu_workshop import GpuWorkshop
from search.report import BUSY_SPREAD
from tiling.machine import Timing
from tiling.shapes import canonical


@dataclass(frozen=True)
class Measurement:
    """The choice on the device: timed by events, its largest error on random reals (None where a Ctrl-C came before
    that), and of the search before it how many schedules were measured and how many of them failed."""

    timing: Timing
    max_error: float | None
    trials: int = 0
    failed: int = 0


@dataclass(frozen=True)
class GpuReport:
    """One choice for a GPU: predicted, compiled where NVRTC is, checked where it ran, timed where that was a device.

    unchecked: why the kernel was not run, empty where it was and is right. conflicts: the extra cycles that bank
    conflicts cost on the twin, None where it did not run there. measured: None where it did not run on a device.
    """

    choice: Choice
    target: str
    unchecked: str
    conflicts: int | None
    measured: Measurement | None
    search_seconds: float
    repeat: str
    explanation: str
    emitted: tuple[Path, ...]
    interrupted: bool = False

    def as_json(self) -> dict:
        """One object; seconds a call as predicted, parts of them by pipe; null where something was not found out."""
        choice, source, cubin = self.choice, self.choice.source, self.choice.cubin
        problem, prediction = choice.scheme.problem, choice.predictions[0]
        return {
            "shape": canonical(problem),
            "scheme": choice.scheme.text,
            "target": self.target,
            "dtype": problem.dtype,
            "device": choice.device.name,
            "architecture": choice.device.architecture,
            "predicted_seconds": prediction.seconds,
            "parts": {**dict(prediction.parts), "unhidden": prediction.unhidden},
            "bottleneck": prediction.bottleneck,
            "symbol": source.symbol,
            "grid": source.blocks_on(choice.device.multiprocessors),
            "block": source.threads,
            "shared_bytes": source.shared_bytes,
            "copied": [copy.name for copy in source.copied],
            "registers": cubin.registers if cubin else None,
            "spilled_bytes": cubin.spilled if cubin else None,
            "compiler": cubin.compiler if cubin else None,
            "correct": None if self.unchecked else True,  # a kernel that is not exact ends in an error, not in a report
            "check": self.check,
            "conflicts": self.conflicts,
            **self._times(),
            "ranked": len(choice.predictions),
            "search_seconds": self.search_seconds,
            "interrupted": self.interrupted,
            "version": VERSION,
            "repeat": self.repeat,
            "explanation": self.explanation,
            "emitted": [str(path) for path in self.emitted],
            **self._as_on_a_cpu(),
        }

    def _as_on_a_cpu(self) -> dict:
        """What only a search for the CPU would say otherwise: whoever reads its object can read this one."""
        choice = self.choice
        shop = GpuWorkshop(choice.device, choice.scheme.problem.dtype)
        return {
            "machine": shop.fingerprint,
            "isa": choice.device.architecture,
            "lacking": [],
            "threads": shop.threads,
            "microkernels": [pipeline_of(choice.scheme).instruction.call],
            "algorithm": choice.scheme.algorithm,
            "direct_error": self.measured and self.measured.max_error,
            "cache": "warm",
        }

    def _times(self) -> dict:
        """What was measured, under the names that a search for the CPU has for it."""
        found, flops = self.measured, self.choice.scheme.problem.flops
        timing = found and found.timing
        return {
            "seconds": timing and timing.seconds,
            "samples": list(timing.samples) if timing else None,
            "spread": timing and timing.spread,
            "gflops": timing and flops / timing.seconds / 1e9,
            "peak_gflops": timing and timing.peak_gflops,
            "percent_of_peak": timing and 100 * timing.fraction_of_peak(flops),
            "max_error": found and found.max_error,
            "trials": found.trials if found else 0,
            "failed": found.failed if found else 0,
        }

    @property
    def check(self) -> str:
        """Whether the kernel was run, where, and what was seen."""
        if self.unchecked:
            return f"not run: {self.unchecked}"
        epilogue = self.choice.scheme.problem.epilogue
        rounded = epilogue is not None and not epilogue.keeps_integers
        exact = "exact on small integers" + (", but for what the epilogue rounds" if rounded else "")
        if self.conflicts is None:
            error = self.measured and self.measured.max_error
            reals = "" if error is None else f"; largest error on random reals {error:.2g}, within its bound"
            return f"{exact}, on {self.choice.device.name}{reals}"
        return f"{exact}, on the twin; bank conflicts cost {self.conflicts} cycles"

    def as_text(self) -> str:
        """A line a fact."""
        choice, source, cubin = self.choice, self.choice.source, self.choice.cubin
        problem, prediction = choice.scheme.problem, choice.predictions[0]
        speed = problem.flops / prediction.seconds / 1e12
        compiled = f"not compiled: {choice.uncompiled}"
        if cubin:
            compiled = f"{cubin.registers} registers a thread, {cubin.spilled} bytes spilled, {cubin.compiler}"
        count = source.blocks_on(choice.device.multiprocessors)
        blocks = f"{count} block{'s' if count > 1 else ''}"
        launch = f"{blocks} of {source.threads} threads, {source.shared_bytes} bytes of shared memory each"
        if source.copied:
            names = " and ".join(copy.name for copy in source.copied)
            launch += f", after one that lays out {names} for bulk copies"
        schedules = f"{len(choice.predictions)} schedules" if len(choice.predictions) > 1 else "one scheme"
        lines = [
            ("problem", f"{problem.op} {canonical(problem)}   ({problem.flops / 1e9:.3g} GFLOP)"),
            ("scheme", choice.scheme.text),
            ("launch", launch),
            ("compiled", compiled),
            (
                "predicted",
                f"{prediction.seconds * 1e3:.4g} ms a call, {speed:.1f} TFLOP/s, limited by its "
                f"{prediction.bottleneck}" + ("" if self.measured else "; not measured"),
            ),
            *self._measured_lines(),
            ("check", self.check),
            ("search", f"{self.search_seconds:.1f} s, {schedules} ranked by the model{self._tried()}"),
            ("device", f"{choice.device.name}, {choice.device.architecture}"),
            ("repeat with", self.repeat),
        ]
        lines += [("wrote", str(path)) for path in self.emitted]
        text = "\n".join(f"{name:<12} {value}" for name, value in lines)
        return f"{text}\n\n{self.explanation}" if self.explanation else text

    def _measured_lines(self) -> list[tuple[str, str]]:
        if not self.measured:
            return []
        timing, flops = self.measured.timing, self.choice.scheme.problem.flops
        time = (
            f"{timing.seconds * 1e3:.4g} ms on the device, median of {len(timing.samples)} samples, spread "
            f"{100 * timing.spread:.1f} %, warm L2"
        )
        speed = (
            f"{flops / timing.seconds / 1e12:.1f} TFLOP/s = {100 * timing.fraction_of_peak(flops):.1f} % of the "
            f"tensor-core rate {timing.peak_gflops / 1e3:.0f} TFLOP/s"
        )
        busy = "other programs kept this GPU busy, or its clock changed: measure again when it is idle"
        remark = [("remark", f"the samples differ a lot: {busy}")] if timing.spread > BUSY_SPREAD else []
        return [("time", time), ("speed", speed), *remark]

    def _tried(self) -> str:
        """How many schedules were measured, where some were."""
        found = self.measured
        if not found or not found.trials:
            return ""
        failed = f", {found.failed} of them failed" if found.failed else ""
        return f", {found.trials} of them measured{failed}" + (", ended by Ctrl-C" if self.interrupted else "")
