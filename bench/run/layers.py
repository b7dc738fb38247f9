"""One layer of a suite: searches a scheme, then times it in turns with the model's choice and the peers."""

from __future__ import annotations

import atexit
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any

from bench.peers import PEERS
from bench.report.results import MODEL, OURS, ContenderResult, LayerResult
from bench.run.targets.table import TARGETS
from cpu.runtime.processes.worker import CandidateError, Worker
from search.evaluator.cpu.backend import CpuBackend
from search.evaluator.gpu.cuda import CudaBackend
from search.flow.find import DEFAULT_TRIALS, find
from tiling.arrays.access import access_of
from tiling.machine import Timing
from tiling.problem import Problem
from tiling.text.shapes import canonical

ROUNDS = 7
# Seconds of a contest in a worker for references, compilation and every turn, without preparing peers.
_TIMEOUT_SECONDS = 600.0
PACKAGES = ("bench", "cpu")
# glibc gives a large array back to the system when it is freed, and its pages are faulted in anew at the next call: a
# library that allocates its output would be timed with that. 2^31-1 is as high as these thresholds go.
ALLOCATOR = {
    "MALLOC_MMAP_THRESHOLD_": str(2**31 - 1),
    "MALLOC_TRIM_THRESHOLD_": str(2**31 - 1),
    "MALLOC_TOP_PAD_": str(1 << 28),
    # NumPy asks for huge pages where an array is large; so glibc and PyTorch do for everybody else's. They take some
    # 5 % off a layer of 38 MB.
    "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1",
    "THP_MEM_ALLOC_ENABLE": "1",
}
# By target and environment, the processes of contests that are used again.
_LASTING: dict[tuple[str, tuple[tuple[str, str], ...]], Worker] = {}
# OpenMP threads that wait spin for a fraction of a millisecond: awake when the next call comes, asleep when another
# contender's turn does. libgomp's own default is several milliseconds, libomp's 200 (KMP_BLOCKTIME counts in
# milliseconds), and an OMP_WAIT_POLICY of active would have them spin through everybody's turns.
WAITING = {"GOMP_SPINCOUNT": "30000", "KMP_BLOCKTIME": "1"}


def run_layer(
    backend: CpuBackend | CudaBackend,
    suite: str,
    layer: str,
    count: int,
    problem: Problem,
    *,
    peers: Sequence[str] = (),
    cache: str = "warm",
    budget: float,
    seed: int = 0,
) -> LayerResult:
    """Searches for `budget` seconds, checks winner, model's choice and peers, then times all in turns.

    Raises CandidateError where one of our two schemes fails, and TuningError where no candidate runs. Raises
    KeyboardInterrupt also where a Ctrl-C ended the search with a result, since the full budget might find a better one.
    """
    started = time.monotonic()
    # Earlier measurements are ignored, so that every run searches anew. On a GPU, where a check takes as long as a
    # search, the contest alone makes the last one.
    checked = not TARGETS[backend.target.name].lasting
    search = find(problem, backend.target, budget=budget, trials=DEFAULT_TRIALS, forget=True, verify=checked)
    if search.interrupted:
        raise KeyboardInterrupt
    measured = {found.scheme.text for found in search.tried}
    # The model's choice is its first scheme that works, since another scheme would end the contest.
    best, problem = search.scheme, backend.problem(problem)
    access = access_of(problem)
    first = next((c for c in search.ranked if c.text in measured), search.ranked[0])
    predicted = backend.predicted_seconds([measured.scheme for measured in search.tried])
    job = {
        **{key: value for key, value in backend.job(best).items() if key != "scheme"},
        **{"schemes": {OURS: best.text, MODEL: first.text}, "cache": cache, "seed": seed},
    }
    found, skipped = held(job, peers, backend.target.name)
    return LayerResult(
        suite=suite,
        layer=layer,
        count=count,
        op=problem.op,
        shape=canonical(problem),
        flops=problem.flops,
        flops_on_image=round(problem.flops * problem.inside_fraction),
        compulsory_bytes=sum(t.elements * access.bytes_of(t) for t in (*problem.tensors, *problem.epilogue_arrays)),
        threads=backend.target.threads,
        dtype=problem.dtype,
        cache=cache,
        scheme=best.text,
        model_scheme=first.text,
        tried=tuple((seconds, m.timing.seconds) for seconds, m in zip(predicted, search.tried)),
        contenders=tuple(_contender(**contender) for contender in found["contenders"]),
        skipped=(*((peer, reason) for peer, reason in found["skipped"]), *skipped),
        memory_bandwidth=found["memory_bandwidth"],
        search_seconds=search.seconds,
        total_seconds=time.monotonic() - started,
        target=backend.target.name,
        algorithm=backend.target.algorithm,
    )


def environment(peers: Sequence[str], threads: int) -> dict[str, str]:
    """The environment of the contest's process."""
    chosen = {**ALLOCATOR, **WAITING}
    for peer in peers:
        chosen |= PEERS[peer].environment(threads)
    return chosen


def held(job: dict[str, Any], peers: Sequence[str], target: str) -> tuple[dict[str, Any], list[tuple[str, str]]]:
    """The contest, and (peer, reason) for each peer that is left out.

    Where the contest's process dies, each peer gets a short contest alone. The contest is then held again without the
    peers that die there; without all peers where none dies.
    """
    job = {**job, "rounds": ROUNDS, "seconds": TARGETS[target].turn_seconds}
    try:
        return _call(peers, job, target), []
    except CandidateError as error:
        if not peers:
            raise
        together = f"no contest with all peers in one process: {error.reason}"
    skipped = {}
    for peer in peers:
        try:
            _call([peer], {**job, "schemes": {}, "rounds": 1}, target)
        except CandidateError as error:
            skipped[peer] = error.reason
    skipped = skipped or dict.fromkeys(peers, together)
    return _call([peer for peer in peers if peer not in skipped], job, target), list(skipped.items())


def _call(peers: Sequence[str], job: dict[str, Any], target: str) -> dict[str, Any]:
    timeout = _TIMEOUT_SECONDS + sum(PEERS[peer].patience for peer in peers)
    variables = environment(peers, job.get("threads", 1))
    with _worker(target, tuple(sorted(variables.items()))) as worker:
        found: dict[str, Any] = worker.call(
            "bench.run.contest:contest", timeout=timeout, target=target, peers=list(peers), **job
        )
    return found


@contextmanager
def _worker(target: str, variables: tuple[tuple[str, str], ...]) -> Iterator[Worker]:
    """The process of a contest: a new one, or where the target says so one for the contests of all layers.

    A process whose contest failed is not used again: after a fault a GPU answers nothing in it.
    """
    if not TARGETS[target].lasting:
        with closing(_new_worker(target, variables)) as worker:
            yield worker
        return
    key = target, variables
    if key not in _LASTING:
        _LASTING[key] = _new_worker(target, variables)
    try:
        yield _LASTING[key]
    except BaseException:
        _LASTING.pop(key).close()
        raise


def end_lasting() -> None:
    """Ends the processes that hold the contests of several layers."""
    while _LASTING:
        _LASTING.popitem()[1].close()


atexit.register(end_lasting)


def _new_worker(target: str, variables: tuple[tuple[str, str], ...]) -> Worker:
    return Worker(memory_bytes=TARGETS[target].address_space, env=dict(variables), packages=PACKAGES)


def _contender(
    *, name: str, layout: str, call: dict[str, Any], kernel: dict[str, Any] | None, max_error: float
) -> ContenderResult:
    return ContenderResult(name, layout, Timing.of(call), Timing.of(kernel) if kernel else None, max_error)
