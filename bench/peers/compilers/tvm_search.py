"""MetaSchedule's space for one layer, in its own process: `python -m bench.peers.compilers.tvm_search JSON`.

Draws `trials` schedules from the space that MetaSchedule generates for this CPU (what its `replay-trace` strategy
does), compiles and times each, keeps the fastest as a shared library in `folder`, and prints its path. MetaSchedule's
own loop would start a process per candidate and train a cost model, which takes minutes before the first result.
"""

from __future__ import annotations

import json
import sys
import time

import numpy as np

SYMBOL = "layer"


def main() -> None:
    """Prints {"library", "symbol", "tried", "history"} as the last line."""
    began = time.monotonic()
    import tvm

    request = json.loads(sys.argv[1])
    target = _target(request["threads"])
    best, tried, history = None, 0, []
    for number, module in enumerate(_schedules(_function(request), target, request["trials"])):
        try:
            library = tvm.compile(module, target=target)
        except Exception:  # a schedule that TVM drew and cannot compile is none
            continue
        path = f"{request['folder']}/schedule{number}.so"
        library.export_library(path)
        seconds = _seconds(path, request)
        tried += 1
        if best is None or seconds < best[0]:
            best = (seconds, path)
        history.append((time.monotonic() - began, best[0]))
    if best is None:
        sys.exit("no schedule that TVM drew for this layer compiles")
    print(json.dumps({"library": best[1], "symbol": SYMBOL, "tried": tried, "history": history}))


def _target(threads: int):
    """This CPU as LLVM knows it: the host target's name of the core, and as many cores as there are threads."""
    import tvm

    mcpu = tvm.get_global_func("target.llvm_get_system_cpu")()
    return tvm.target.Target({"kind": "llvm", "mcpu": str(mcpu), "num-cores": threads})


def _function(request: dict):
    from tvm import te, topi

    x, w = (te.placeholder(request[name], "float32", name=name) for name in ("x", "w"))
    if request["op"] == "matmul":
        y = topi.matmul(x, w)
    else:
        y = topi.nn.conv2d_nhwc(x, w, request["stride"], request["padding"], request["dilation"])
    return te.create_prim_func([x, w, y]).with_attr("global_symbol", SYMBOL)


def _schedules(function, target, trials: int):
    """IR modules: each trial replays a trace of the design space with decisions of its own."""
    import tvm
    from tvm.s_tir import Schedule
    from tvm.s_tir import meta_schedule as ms
    from tvm.s_tir.schedule import Trace

    module = tvm.IRModule({SYMBOL: function})
    context = ms.TuneContext(mod=module, target=target, space_generator="post-order-apply", num_threads=1, rand_state=1)
    designs = context.generate_design_space()
    for trial in range(trials):
        schedule = Schedule(module, seed=1 + trial)
        Trace(designs[trial % len(designs)].trace.insts, {}).apply_to_schedule(schedule, remove_postproc=True)
        if all(process.apply(schedule) for process in context.space_generator.postprocs):
            yield schedule.mod


def _seconds(path: str, request: dict) -> float:
    import tvm

    arrays = [tvm.runtime.tensor(np.ones(request[name], np.float32)) for name in ("x", "w", "y")]
    timed = tvm.runtime.load_module(path).time_evaluator(SYMBOL, tvm.cpu(), number=1, repeat=3, min_repeat_ms=10)
    return min(timed(*arrays).results)


if __name__ == "__main__":
    main()
