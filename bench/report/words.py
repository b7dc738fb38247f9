"""The words of a report for the peak and the times of each target."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Words:
    """The words for one target. peak: what percentages refer to. timed, call: what a time is. Others: sentences."""

    peak: str
    timed: str
    call: str
    machine: str
    measured: str
    process: str
    times: str


WORDS = {
    "cpu": Words(
        "FMA peak",
        "called from Python",
        "a call as a Python user makes it",
        "{fingerprint}, {cores} cores, {isa}; per core: {caches}.",
        "FMA peak of one core {peaks} GFLOP/s; memory read by one core {bandwidths} GB/s.",
        "Threads",
        "Medians. A call is what a Python user makes, into memory that is used again, weights packed before; the "
        "kernel alone is timed without Python. Percents and ratios are of calls where nothing else is said; the "
        "spread is the interquartile range over the median.",
    ),
    "cuda": Words(
        "tensor-core rate",
        "by events on the device",
        "what one call keeps the device busy",
        "{fingerprint}; {caches}.",
        "memory copied within the device at {bandwidths} GB/s, read and written; the tensor-core rate of the data "
        "sheet, at "
        "the boost clock, is {peaks} GFLOP/s.",
        "Driver and clocks",
        "Medians of what one call keeps the device busy, by CUDA events before and after it, into memory that is used "
        "again; neither Python nor the launch is in it. The spread is the interquartile range over the median.",
    ),
}
