"""MetaSchedule's search for one layer, in its own process: `python -m bench.peers.compilers.tvm_search JSON`.

Evolutionary search with the cost model that it trains meanwhile, as `tune_tir` runs it. The fastest schedule becomes a
shared library in `folder`, whose path is printed.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Mapping
from typing import Any

SYMBOL = "layer"
# Schedules between two lessons of the cost model. MetaSchedule's default of 64 would leave the model no say in so few.
_TRIALS_A_LESSON = 16
_SEED = 1
# For one build. A builder's process first loads TVM's intrinsics. On a Zen 3 that takes 30 s and more, which is
# all that TVM gives by default: no schedule was built.
_BUILD_SECONDS = 120.0


def main() -> None:
    """Prints {"library", "symbol", "tried", "history"} as the last line."""
    began = time.monotonic()
    import tvm
    from tvm.s_tir import meta_schedule as ms

    request = json.loads(sys.argv[1])
    target, module = _target(request["threads"]), tvm.IRModule({"main": _function(request)})
    history = _history(began)
    evaluated = ms.runner.EvaluatorConfig(number=1, repeat=3, min_repeat_ms=10)
    with tempfile.TemporaryDirectory(dir=request["folder"]) as folder:
        database = ms.tune_tir(
            module, target, folder, max_trials_global=request["trials"], num_trials_per_iter=_TRIALS_A_LESSON,
            builder=ms.builder.LocalBuilder(timeout_sec=_BUILD_SECONDS),
            runner=ms.runner.LocalRunner(evaluator_config=evaluated),
            measure_callbacks=[*ms.measure_callback.MeasureCallback.create("default"), history], seed=_SEED,
        )  # fmt: skip
        schedule = ms.tir_integration.compile_tir(database, module, target)
    if schedule is None or not history.points:
        sys.exit("no schedule that MetaSchedule drew for this layer runs")
    path = f"{request['folder']}/layer.so"
    tvm.compile(schedule.mod, target=target).export_library(path)
    print(json.dumps({"library": path, "symbol": SYMBOL, "tried": history.tried, "history": history.points}))


def _history(began: float) -> Any:
    """A callback that adds to its `points`, after each batch of trials, those of `Prepared.history` since `began`."""
    from tvm.ir.utils import derived_object
    from tvm.s_tir import meta_schedule as ms

    @derived_object
    class History(ms.measure_callback.PyMeasureCallback):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.points: list[tuple[int, float, float]] = []
            self.tried = 0

        def apply(
            self, task_scheduler: Any, task_id: int, measure_candidates: Any, builder_results: Any, runner_results: Any
        ) -> None:
            ran = [min(map(float, result.run_secs)) for result in runner_results if not result.error_msg]
            self.tried += len(ran)
            before = [best for *_, best in self.points[-1:]]
            if ran or before:
                self.points.append((self.tried, time.monotonic() - began, min(before + ran)))

    return History()


def _target(threads: int) -> Any:
    """This CPU as LLVM knows it: the host target's name of the core, and as many cores as there are threads."""
    import tvm

    mcpu = tvm.get_global_func("target.llvm_get_system_cpu")()
    return tvm.target.Target({"kind": "llvm", "mcpu": str(mcpu), "num-cores": threads})


def _function(request: Mapping[str, Any]) -> Any:
    from tvm import te, topi

    x, w = (te.placeholder(request[name], "float32", name=name) for name in ("x", "w"))
    if request["op"] == "matmul":
        y = topi.matmul(x, w)
    else:
        y = topi.nn.conv2d_nhwc(x, w, request["stride"], request["padding"], request["dilation"])
    return te.create_prim_func([x, w, y]).with_attr("global_symbol", SYMBOL)


if __name__ == "__main__":
    main()
