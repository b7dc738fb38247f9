"""Blocks, or clusters of them, that share a tile's reduction: who has which part, and where sums and tickets lie."""

from __future__ import annotations

from gpu.pipeline import Pipeline
from tiling.taskmap import looped, repeat, spatial


def sharing_context(pipeline: Pipeline) -> dict:
    """What the templates say of tasks, parts of tiles that blocks have or clusters take in turns; and of a tile's
    tickets, one for all of a block that a barrier joins, or one for every warp.
    """
    turns, tile, task = pipeline.block_map.workers, "block", "blockIdx.x"
    if pipeline.bulk:
        turns, tile, task = pipeline.cluster_map.workers, "shared_tile", "task"
    tasks = spatial(pipeline.splits, turns)
    tiles = repeat(turns) @ spatial(pipeline.rank_map.workers)
    tickets = repeat(pipeline.tiles) @ spatial(pipeline.tickets_each)
    return {
        "split_of_task": tasks.index(0, task),
        "tile_of_task": tasks.index(1, task),
        "shared_tile": tiles.index(0, "rank", looped(("tile", turns))),
        "ticket": tickets.index(0, pipeline.lane_map.index(0, "threadIdx.x"), looped((tile, pipeline.tiles))),
        "tile_sums_at": _sums_at(pipeline, tile=f"(long){tile}", thread="threadIdx.x"),
        "sums_at": lambda part: _sums_at(pipeline, part=f"(long){part}", i="i", j="j"),
    }


def _sums_at(pipeline: Pipeline, thread="0", **counters: str) -> str:
    """Where those of a thread's sums lie that a part of the reduction gives of row tile `i` and column tile `j`; from
    the first on along what is not named.

    They lie as threads hold them, four at a time, so that a warp stores whole lines. In all they may be more than 32
    bits count.
    """
    counts = {
        "tile": pipeline.tiles,
        "part": pipeline.splits,
        "i": pipeline.unrolled[0],
        "j": pipeline.column_tiles,
    }
    places = spatial(pipeline.consumers) @ repeat(4)
    for count in reversed(counts.values()):
        places = repeat(count) @ places
    loops = ((counters.get(name, "0"), count) for name, count in counts.items())
    return places.index(0, thread, looped(*loops, ("0", 4)))
