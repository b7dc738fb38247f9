"""What a report says about a kernel for a GPU: its launch, its machine code, and the time of each pipe."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cpu.runtime.plural import plural
from cpu.runtime.version import VERSION
from gpu.codegen.pipeline.reading import is_pipeline, pipeline_of
from gpu.codegen.program import CudaSource
from gpu.model.devices import Device
from gpu.model.predict import GpuPrediction
from gpu.runtime.compiler.compile import Cubin
from search.evaluator.interface.protocol import Details
from search.space.explain import aligned
from search.tuner.target import Target
from tiling.durations import microseconds
from tiling.scheme.scheme import Scheme
from tiling.scheme.specifiers import Matrix, Unroll


@dataclass(frozen=True)
class CompiledKernel:
    """A kernel's text and its machine code. `uncompiled`: why there is no machine code, such as a missing NVRTC."""

    source: CudaSource
    cubin: Cubin | None
    uncompiled: str


def details(compiled: CompiledKernel, prediction: GpuPrediction, target: Target, device: Device) -> Details:
    """The details that only a report for a GPU has."""
    source, cubin = compiled.source, compiled.cubin
    blocks = source.blocks_on(device.multiprocessors)
    fields = {
        "device": device.name,
        "architecture": device.architecture,
        "predicted_seconds": prediction.seconds,
        "parts": {**dict(prediction.parts), "unhidden": prediction.unhidden},
        "bottleneck": prediction.bottleneck,
        "symbol": source.symbol,
        "grid": blocks,
        "block": source.threads,
        "shared_bytes": source.shared_bytes,
        "copied": [copy.name for copy in source.copied],
        "registers": cubin.registers if cubin else None,
        "spilled_bytes": cubin.spilled if cubin else None,
        "compiler": cubin.compiler if cubin else None,
    }
    machine_code = f"not compiled: {compiled.uncompiled}"
    if cubin:
        machine_code = f"{cubin.registers} registers a thread, {cubin.spilled} bytes spilled, {cubin.compiler}"
    launch = f"{plural(blocks, 'blocks')} of {source.threads} threads, {source.shared_bytes} bytes of "
    launch += "shared memory each"
    if source.copied:
        names = " and ".join(copy.name for copy in source.copied)
        launch += f", after one that lays out {names} for TMA copies"
    rate_of = "multiply-add" if source.scheme.problem.dtype == "f32" else "tensor-core"
    rate = source.scheme.problem.flops / prediction.seconds / 1e12
    predicted = (
        f"{prediction.seconds * 1e3:.4g} ms a call, {rate:.3g} TFLOP/s, limited by {_called(prediction.bottleneck)}"
    )
    return Details(
        fields=fields,
        lines=(("launch", launch), ("compiled", machine_code), ("predicted", predicted)),
        microkernels=(_microkernel(source.scheme),),
        bound="its bound",
        checked_on=", on the twin" if target.name == "cuda-twin" else f", on {device.name}",
        each="on the device",
        conditions="warm L2",
        speed=lambda reached, percent, peak: (
            f"{reached / 1e3:.1f} TFLOP/s = {percent:.1f} % of the {rate_of} rate {peak / 1e3:.0f} TFLOP/s"
        ),
        busy="other programs kept this GPU busy, or its clock changed: measure again when it is idle",
        place=("device", f"{device.name}, {device.architecture}"),
        cores=1,
        version=VERSION,
    )


# Parts whose heading in the table is too short for a sentence.
_SENTENCES = {
    "matrix": "matrix instructions",
    "shared": "shared memory",
    "l2": "the L2",
    "turns": "the turns of its workers",
    "unhidden": "the unhidden part",
}


def _microkernel(scheme: Scheme) -> str:
    """The matrix instruction, or the tile that a thread holds."""
    if not is_pipeline(scheme):
        tile = [str(s) for s in scheme.specifiers if isinstance(s, (Unroll, Matrix))]
        return " ".join(tile) or "one sum a thread"
    return pipeline_of(scheme).instruction.call


def explain(predictions: Sequence[GpuPrediction], why_not: str) -> str:
    """A plain-text report: one row per candidate, their schemes, and one sentence on the first, which is chosen.

    why_not: why a runner-up is not chosen that the model ranks before the first.
    """
    chosen, *runners_up = predictions
    names = ["chosen", *(f"#{place}" for place in range(2, 2 + len(runners_up)))]
    parts = (name for name, _ in chosen.parts)
    header = ["", "time", "speed", *parts, "unhidden", "blocks at once", "waves", "limited by"]
    rows = [header, *(_row(name, prediction) for name, prediction in zip(names, (chosen, *runners_up)))]
    schemes = [f"{name:>6}  {prediction.scheme.text}" for name, prediction in zip(names, (chosen, *runners_up))]
    return "\n".join([*aligned(rows), "", *schemes, "", reason(chosen, runners_up, why_not)])


def reason(chosen: GpuPrediction, runners_up: Sequence[GpuPrediction], why_not: str) -> str:
    """What limits the chosen scheme, how it fills the device, and what slows the next best scheme down most."""
    share = dict(chosen.parts)[chosen.bottleneck] / chosen.seconds
    text = (
        f"It is limited by {_called(chosen.bottleneck)} ({share:.0%} of the time); a multiprocessor holds "
        f"{chosen.resident} of its blocks at once, in {chosen.waves:.2f} waves"
    )
    return f"{text}. {_difference(chosen, runners_up[0], why_not)}." if runners_up else f"{text}."


def _difference(best: GpuPrediction, other: GpuPrediction, why_not: str) -> str:
    slower = other.seconds / best.seconds - 1
    if slower < -0.001:
        return f"The model would have taken the next one, predicted {-slower:.1%} faster; {why_not}"
    if slower < 0.001:
        return "The next candidate is predicted equal, so only a measurement can tell them apart"
    theirs = (*other.parts, ("unhidden", other.unhidden))
    mine = (*best.parts, ("unhidden", best.unhidden))
    worst = max(zip(theirs, mine), key=lambda pair: pair[0][1] - pair[1][1])[0][0]
    return f"The next candidate is predicted {slower:.1%} slower, most of all by {_called(worst)}"


def _called(part: str) -> str:
    """A part of a prediction, in a sentence."""
    return _SENTENCES.get(part, part)


def _row(name: str, prediction: GpuPrediction) -> list[str]:
    rate = f"{prediction.scheme.problem.flops / prediction.seconds / 1e12:.1f} TFLOP/s"
    parts = [microseconds(seconds) for _, seconds in (*prediction.parts, ("unhidden", prediction.unhidden))]
    filled = [str(prediction.resident), f"{prediction.waves:.2f}"]
    return [name, microseconds(prediction.seconds), rate, *parts, *filled, prediction.bottleneck]
