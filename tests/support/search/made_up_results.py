"""Made-up results of a comparison: layers, times and conditions."""

from __future__ import annotations

from dataclasses import replace

from bench.report.results import MODEL, OURS, Conditions, ContenderResult, LayerResult
from bench.report.sections import sections
from tiling.machine import CacheLevel, Machine, Timing

GFLOP = 10**9
MACHINE = Machine("box-1", "avx2", 8, 16, 50e9, 4, (CacheLevel("L1", 32768, 64, 8, 200e9),), 10e9, 5e9, 8e9)
CONDITIONS = Conditions(
    "python -m bench --suite a 'b & c'", MACHINE, "gcc 12", "0.1", "3.11",
    (("fast", "Fast & <Furious>", "1.0"), ("slow|er", "Slow", "2.0")),
    (("ort", "onnxruntime is not installed: pip install 'tilewright[peers]'"),),
    "warm caches", "not pinned", "glibc keeps memory", "5 turns", 30.0,
)  # fmt: skip
WHY = "it takes no <7x7> & such"


def timing(percent: float, threads: int = 1) -> Timing:
    """The timing of 1 GFLOP at that percent of cores of 100 GFLOP/s each."""
    return Timing((1 / (percent * threads),) * 5, 100.0)


def layer(name: str, ours: float, peers: dict[str, float], suite="net", threads=1, **fields) -> LayerResult:
    """A made-up layer of 1 GFLOP; contenders at these percents of peak."""
    contenders = [
        ContenderResult(OURS, "NHWC", timing(ours, threads), timing(ours + 1, threads), 1e-7),
        ContenderResult(MODEL, "NHWC", timing(ours / 2, threads), timing(ours / 2, threads), 3e-6),
        *(ContenderResult(peer, "NCHW", timing(percent, threads), None, 1e-6) for peer, percent in peers.items()),
    ]
    result = LayerResult(
        suite=suite, layer=name, count=1, op="conv2d", shape="c=4,h=6,w=8,k=8,r=1,s=1", flops=GFLOP,
        flops_on_image=GFLOP * 4 // 5, compulsory_bytes=10**7, threads=threads, dtype="f32", cache="warm",
        scheme=f"T({name}) λ", model_scheme="M", tried=((0.01, 0.02), (1 / 3, 0.3)), contenders=tuple(contenders),
        skipped=(), memory_bandwidth=1e10, search_seconds=10.0, total_seconds=12.0,
    )  # fmt: skip
    return replace(result, **fields)


def on(threads: int) -> list[LayerResult]:
    """Ours loses one layer; a peer skips one; one has no peer at all."""
    return [
        layer("A<&>", 80, {"fast": 40, "slow|er": 20}, threads=threads, count=4),
        layer("B", 20, {"fast": 40}, threads=threads, skipped=(("slow|er", WHY),)),
        layer("C", 40, {}, threads=threads, search_seconds=31.0, total_seconds=33.0),
    ]


RESULTS = tuple(on(1) + on(2))
ONE, TWO = sections(RESULTS)
MISSING = (("net:D on 1 thread", "failed: it crashed"), ("net:E", "late"), ("net:F", "late"))
