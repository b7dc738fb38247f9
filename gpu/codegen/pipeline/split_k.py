"""Split-K: which cluster has which part of a reduction, and where partial sums and semaphores lie."""

from __future__ import annotations

from gpu.codegen.pipeline.stages import Pipeline
from tiling.scheme.taskmap import looped, repeat, spatial


def sharing_context(pipeline: Pipeline) -> dict[str, object]:
    """The names that the templates use for tasks and semaphores.

    A task is a tile, or a split-K part of one; clusters take them in turns. A tile has a semaphore for every warp.
    """
    turns = pipeline.cluster_map.workers
    tasks = spatial(pipeline.split_k, turns)
    tiles = repeat(turns) @ spatial(pipeline.rank_map.workers)
    semaphores = repeat(pipeline.tiles) @ spatial(pipeline.semaphores_each)
    return {
        "split_of_task": tasks.index(0, "task"),
        "tile_of_task": tasks.index(1, "task"),
        "shared_tile": tiles.index(0, "rank", looped(("tile", turns))),
        "semaphore": semaphores.index(
            0, pipeline.lane_map.index(0, "threadIdx.x"), looped(("shared_tile", pipeline.tiles))
        ),
        "tile_sums_at": _sums_at(pipeline, tile="(long)shared_tile", thread="threadIdx.x"),
        "sums_at": lambda part: _sums_at(pipeline, part=f"(long){part}", i="i", j="j"),
    }


def _sums_at(pipeline: Pipeline, thread: str = "0", **counters: str) -> str:
    """The index, as C, of a thread's partial sums for the given tile, split-K part, row tile `i` and column tile `j`.

    A counter that is not given is 0. Each thread's sums lie in fours, so that a warp stores whole lines. The index may
    need more than 32 bits.
    """
    counts = {
        "tile": pipeline.tiles,
        "part": pipeline.split_k,
        "i": pipeline.unrolled[0],
        "j": pipeline.column_tiles,
    }
    places = spatial(pipeline.consumers) @ repeat(4)
    for count in reversed(counts.values()):
        places = repeat(count) @ places
    loops = ((counters.get(name, "0"), count) for name, count in counts.items())
    return places.index(0, thread, looped(*loops, ("0", 4)))
