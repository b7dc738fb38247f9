"""XTC's search for one layer, in a process of its own: `python -m bench.peers.compilers.xtc_search JSON`.

It compiles and times `trials` schedules that one of XTC's own strategies draws, keeps the fastest as a shared library
in `folder`, and prints its path. It is a process of its own for two reasons: XTC must learn the number of TVM's threads
at the start, and a schedule that crashes must not end the other peers.
"""

from __future__ import annotations

import itertools
import json
import sys
import time
from collections.abc import Mapping
from typing import Any

# The first found the best schedules: it uses vectors, and no more accumulators than there are registers. The last has a
# schedule even for sizes that no vector divides.
STRATEGIES = ("tile_pprprp_vr", "tile_pprprp_v", "tile_pprprp")
MIN_REPEAT_MS = 20


def main() -> None:
    """Prints {"library", "symbol", "tried", "strategy", "history"} as the last line."""
    began = time.monotonic()
    request = json.loads(sys.argv[1])
    graph = _graph(request)
    name, strategy, samples = _samples(graph, request["threads"], request["trials"])
    best, tried, history = None, 0, []
    for number, sample in enumerate(samples, 1):
        module = _compile(graph, strategy, sample, f"{request['folder']}/schedule{number}")
        seconds, code, _ = module.get_evaluator(repeat=3, number=1, min_repeat_ms=MIN_REPEAT_MS).evaluate()
        tried += code == 0
        if code == 0 and (best is None or min(seconds) < best[0]):
            best = (min(seconds), module)
        if best:
            history.append((number, time.monotonic() - began, best[0]))
    if best is None:
        sys.exit("no schedule that XTC drew for this layer runs")
    found = {"library": best[1].file_name, "symbol": best[1].payload_name, "tried": tried, "strategy": name}
    print(json.dumps({**found, "history": history}))


def _graph(request: Mapping[str, Any]) -> Any:
    import xtc.graphs.xtc.op as op

    a, b = (op.tensor(tuple(request[shape]), "float32", name=shape) for shape in ("x", "w"))
    with op.graph(name="layer") as builder:
        if request["op"] == "matmul":
            op.matmul(a, b, name="y")
        else:
            op.conv2d(a, b, stride=tuple(request["stride"]), name="y")
    return builder.graph


def _samples(graph: Any, threads: int, trials: int) -> tuple[str, Any, list[Any]]:
    """The first strategy that has any schedule for the graph: its name, itself, its schedules."""
    from xtc.search.strategies import Strategies

    for name in STRATEGIES:
        strategy = Strategies.create(name, graph, threads=threads)
        drawn = list(itertools.islice(strategy.sample(trials, 0), trials))
        if drawn:
            return name, strategy, drawn
    sys.exit("XTC's strategies have no schedule for this layer")


def _compile(graph: Any, strategy: Any, sample: Any, path: str) -> Any:
    from xtc.backends.tvm import Backend

    backend = Backend(graph)
    scheduler = backend.get_scheduler()
    strategy.generate(scheduler, sample)
    return backend.get_compiler(shared_lib=True, dump_file=path, bare_ptr=False).compile(schedule=scheduler.schedule())


if __name__ == "__main__":
    main()
