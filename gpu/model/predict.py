"""The analytic model: how long a scheme takes on a device, and which of the device's pipes is the slowest.

Each part of a prediction is the time that one pipe is busy if no other pipe makes it wait. The slowest part counts,
joined by the time of memory, plus the time that nothing hides. Blocks run in waves of as many as the device holds at
once, so the model counts an almost empty last wave too. `bench/results/h200-schedules.csv` holds what it was fitted to.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, hypot

from gpu.codegen.pipeline.reading import pipeline_of
from gpu.codegen.pipeline.stages import Pipeline
from gpu.model.devices import Device
from gpu.model.space import candidates, resident_blocks
from gpu.model.steps import copy_cycles, drain_cycles, matrix_cycles, shared_cycles, step_cycles, store_seconds
from gpu.model.traffic import aligning_seconds, l2_bytes, memory_bytes, tiles_within
from tiling.problem import Problem
from tiling.scheme.scheme import Scheme

# Between two events an empty kernel takes 2.5 to 3 µs.
LAUNCH_SECONDS = 2.6e-6
_MEMORY_LATENCY = 800  # cycles, from published micro-benchmarks, to one digit
_READ_BANDWIDTH = 64  # bytes a cycle that one multiprocessor reads from the L2
# Seconds by which a launch of clusters of two blocks is longer, which meet when they begin: the median of 44 schedules
# below 40 µs is 0.43 µs further from the model without it than that of 50 others timed by the same kernels.
_CLUSTER_SECONDS = 0.4e-6
_MAPS_SECONDS = 0.4e-6  # until a block with tensor maps has them, its mbarriers and the first box
_TRIPS = 5  # to memory, one after another, where blocks share a sum: stores, a fence, the semaphore, loads, stores
MEMORY = "memory"


@dataclass(frozen=True)
class GpuPrediction:
    """The predicted seconds of a scheme: `parts` by pipe, and `unhidden`, which no pipe's work hides.

    `resident` blocks run on a multiprocessor at once, in `waves` waves. The part `turns` is no pipe: threads that copy
    and multiply in turns, or warpgroups that multiply and drain their tiles in turns, cannot end before it.
    """

    scheme: Scheme
    parts: tuple[tuple[str, float], ...]
    unhidden: float
    resident: int
    waves: float

    @property
    def seconds(self) -> float:
        """Pipes of a multiprocessor and the L2 hide each other; memory and the slowest of them hide each other partly:
        with the larger one alone, layers whose inputs come from memory measure 20 to 40 % more.
        """
        memory = sum(time for name, time in self.parts if name == MEMORY)
        return hypot(max(time for name, time in self.parts if name != MEMORY), memory) + self.unhidden

    @property
    def bottleneck(self) -> str:
        return max(self.parts, key=lambda part: part[1])[0]


def predict(scheme: Scheme, device: Device) -> GpuPrediction:
    """The time of a scheme on a device. Raises ValueError where it does not fit the device."""
    pipeline = pipeline_of(scheme)
    resident = resident_blocks(pipeline, device)
    if resident < 1:
        raise ValueError(f"{scheme.text} does not fit {device.name}")
    if pipeline.asynchronous and not device.wgmma_flops:
        raise ValueError(f"{scheme.text}: {device.name} has no wgmma")
    at_once, takers = resident * device.multiprocessors, pipeline.taker_map.workers
    grid = tiles_within(pipeline) // takers * pipeline.split_k
    whole, rest = divmod(grid, at_once)
    # Tiles of the busiest multiprocessor, and how many of them one block or taker computes one after another.
    serial = (whole * resident + ceil(rest / device.multiprocessors)) * takers
    rounds = ceil(grid / at_once)
    cycle, steps = 1 / device.clock, pipeline.steps
    pipes = {
        "matrix": matrix_cycles(pipeline, device),
        "shared": shared_cycles(pipeline, device),
        "copies": copy_cycles(pipeline),
    }
    # Blocks of a multiprocessor reach the ends of their tiles together; takers drain a tile while others multiply.
    drain, drains = drain_cycles(pipeline, min(resident, serial)), rounds
    turns = rounds * steps * step_cycles(pipeline, device)
    if takers > 1:
        turns, drains = serial * (steps * max(pipes.values()) + drain) / takers, 1
    parts = (
        *((name, serial * steps * each * cycle) for name, each in pipes.items()),
        ("turns", turns * cycle),
        ("l2", l2_bytes(pipeline) / device.l2_bandwidth),
        (MEMORY, memory_bytes(pipeline, at_once * takers, device) / device.memory_bandwidth),
    )
    unhidden = LAUNCH_SECONDS + (2 * _MEMORY_LATENCY + drains * drain) * cycle + _adding_up(pipeline, device)
    unhidden += store_seconds(pipeline, device) + aligning_seconds(pipeline, device, LAUNCH_SECONDS)
    unhidden += _MAPS_SECONDS * pipeline.tma
    unhidden += _CLUSTER_SECONDS if pipeline.rank_map.workers > 1 else 0.0
    return GpuPrediction(scheme, parts, unhidden, resident, grid / at_once)


def order(p: GpuPrediction) -> tuple[float, list[float], str]:
    """The key to sort by, the fastest first; among equals one whose other pipes are less busy."""
    return p.seconds, sorted((time for _, time in p.parts), reverse=True), p.scheme.text


def rank(problem: Problem, device: Device) -> tuple[GpuPrediction, ...]:
    """All candidates of the space on a device, the fastest by prediction first."""
    return tuple(sorted((predict(s, device) for s in candidates(problem, device)), key=order))


def _adding_up(pipeline: Pipeline, device: Device) -> float:
    """Seconds in which the last block of a split-K tile takes its split-K semaphore and adds up the partial sums of all
    blocks.
    """
    if pipeline.split_k == 1:
        return 0.0
    last = 4 * pipeline.partial_sums / min(tiles_within(pipeline), device.multiprocessors) / _READ_BANDWIDTH
    return (_TRIPS * _MEMORY_LATENCY + last) / device.clock
