"""A contest with made-up peers, and a layer that is run with one."""

from __future__ import annotations

import numpy as np
import pytest

import bench.run.contest as contests
import bench.run.layers as layers
import bench.run.targets.cpu as on_cpu
from bench.report.results import MODEL, OURS
from bench.run.contest import contest
from bench.run.layers import run_layer
from cpu.runtime.processes.worker import CandidateError
from search.evaluator.cpu.backend import cpu_backend
from search.flow.find import Found, find
from search.tuner.measured import Measured
from tests.support.search.made_up import PROBLEM, Made, made_up_backend
from tiling.epilogue import fused
from tiling.machine import Timing
from tiling.text.notation import parse
from tiling.text.shapes import canonical

SCHEME = "T(h,6) T(w,2) S(y) T(c,4) T(r,3) T(s,3) U(w,4) U(k,2) V(k,4)"


@pytest.fixture
def enter(monkeypatch):
    """Runs a contest of the portable kernel with peers that are given by name, as on an idle machine."""
    monkeypatch.setattr(on_cpu, "undisturbed", lambda measure, threads: measure())

    def entered(cache="warm", problem=PROBLEM, **peers):
        monkeypatch.setattr(contests, "PEERS", peers)
        return contest(
            target="cpu", op="conv2d", shape=canonical(problem), schemes={OURS: SCHEME, MODEL: SCHEME}, isa="portable",
            threads=1, stream=False, peers=list(peers), cache=cache, rounds=2, seconds=0.005, seed=1,
        )  # fmt: skip

    return entered


@pytest.mark.slow
def test_a_contest_times_everyone_in_turns(enter):
    first, second = [], []
    found = enter(one=Made(calls=first), two=Made(calls=second))
    assert [c["name"] for c in found["contenders"]] == [OURS, MODEL, "one", "two"]
    for contender in found["contenders"]:
        assert contender["call"]["samples"] and min(contender["call"]["samples"]) > 0
        assert contender["call"]["peak_gflops"] > 0 and contender["max_error"] < 1e-4
    assert all(c["kernel"]["samples"] for c in found["contenders"][:2]) and found["contenders"][2]["kernel"] is None
    # A B A B: each of the two has calls before and after the other's.
    assert min(first) < min(second) < max(first) < max(second)
    assert found["skipped"] == [] and found["memory_bandwidth"] > 0


@pytest.mark.slow
def test_peers_are_given_the_convolution_that_was_asked_for(monkeypatch):
    class Asked(Made):
        def unsupported_reason(self, problem):
            return None if problem.op == "conv2d" and problem.extents["h"] == 6 else f"asked for {problem}"

    monkeypatch.setattr(on_cpu, "undisturbed", lambda measure, threads: measure())
    monkeypatch.setattr(contests, "PEERS", {"one": Asked()})
    found = contest(
        target="cpu", op="pointwise2d", shape="c=4,h=6,w=8,k=8,r=1,s=1,layout=nchw",
        schemes={OURS: "R(w) S(y) T(c,4) U(k,8) V(w,4)"}, isa="portable", threads=1, stream=False,
        peers=["one"], cache="warm", rounds=1, seconds=0.005, seed=1,
    )  # fmt: skip
    assert [c["name"] for c in found["contenders"]] == [OURS, "one"] and found["skipped"] == []


@pytest.mark.slow
def test_a_turn_that_others_disturb_is_repeated(enter, monkeypatch):
    swept = []
    monkeypatch.setattr(on_cpu, "_sweeper", lambda: lambda: swept.append(1))
    monkeypatch.setattr(on_cpu, "undisturbed", lambda measure, threads: (measure(), measure())[1])
    found = enter(cache="cold", one=Made())
    assert len(swept) > sum(len(c["call"]["samples"]) for c in found["contenders"])


def test_cold_caches_are_swept_before_each_call(enter, monkeypatch):
    swept = []
    monkeypatch.setattr(on_cpu, "_sweeper", lambda: lambda: swept.append(1))
    found = enter(cache="cold", one=Made())
    assert len(swept) == sum(len(c["call"]["samples"]) for c in found["contenders"])
    assert all(c["kernel"] is None for c in found["contenders"])


@pytest.mark.parametrize(
    "peer, reason",
    [
        (Made(spoil=lambda y: y + 1), "wrong result: an error of 1"),
        (Made(spoil=lambda y: y * np.nan), "wrong result: an error of nan"),
        (Made(spoil=lambda y: y[:, 1:]), "wrong result: shape (1, 5, 8, 8) instead of (1, 6, 8, 8)"),
        (Made(absent="not installed"), "not installed"),
        (Made(unsupported="takes no padding"), "takes no padding"),
        (
            Made(broken=RuntimeError("could not create a primitive\nat line 7")),
            "RuntimeError: could not create a primitive",
        ),
        (Made(broken=KeyError()), "KeyError: no reason given"),
    ],
)
def test_a_peer_that_fails_is_skipped_with_its_reason(enter, peer, reason):
    found = enter(bad=peer, good=Made())
    assert [c["name"] for c in found["contenders"]] == [OURS, MODEL, "good"]
    ((name, why),) = found["skipped"]
    assert name == "bad" and why.startswith(reason) and "\n" not in why


@pytest.mark.parametrize("epilogue", ["relu(y + b)", "gelu(y*scale + z)"])
def test_an_epilogues_arrays_are_handed_to_everyone(enter, epilogue):
    problem = fused(PROBLEM, epilogue)
    found = enter(problem=problem, right=Made(), bare=Made(spoil=lambda y: y + 0.01))
    assert [c["name"] for c in found["contenders"]] == [OURS, MODEL, "right"]
    assert all(c["max_error"] < 1e-4 and c["call"]["samples"] for c in found["contenders"])
    assert all(c["kernel"]["samples"] for c in found["contenders"][:2])
    ((_, why),) = found["skipped"]
    assert why.startswith("wrong result: an error of 0.01")


@pytest.fixture
def search(monkeypatch):
    """Call it with what every search finds; by default the one scheme, never measured."""

    def finds(**found):
        scheme = parse(PROBLEM, SCHEME)
        found = Found(**dict(backend=made_up_backend(), scheme=scheme, ranked=[scheme]) | found)
        asked = []
        monkeypatch.setattr(layers, "find", lambda *_, **options: asked.append(options) or found)
        return asked

    finds()
    return finds


def test_a_peer_that_kills_the_process_is_found_and_left_out(monkeypatch, search):
    calls = []

    def call(peers, job, target):
        calls.append((list(job["schemes"]), list(peers)))
        if "deadly" in peers:
            raise CandidateError("crashed with SIGSEGV")
        timing = {"samples": [1.0], "peak_gflops": 1.0}
        ours = {"name": OURS, "layout": "NHWC", "call": timing, "kernel": timing, "max_error": 0.0}
        return {"contenders": [ours], "skipped": [], "memory_bandwidth": 1.0}

    monkeypatch.setattr(layers, "_call", call)
    found = run_layer(made_up_backend(), "made_up", "A", 1, PROBLEM, peers=["harmless", "deadly"], budget=1.0)
    assert found.skipped == (("deadly", "crashed with SIGSEGV"),)
    assert calls == [
        ([OURS, MODEL], ["harmless", "deadly"]), ([], ["harmless"]), ([], ["deadly"]), ([OURS, MODEL], ["harmless"])
    ]  # fmt: skip


def test_peers_that_only_die_together_leave_ours_alone(monkeypatch, search):
    def call(peers, job, target):
        if len(peers) > 1:
            raise CandidateError("no answer within 1 s: killed")
        timing = {"samples": [1.0], "peak_gflops": 1.0}
        ours = {"name": OURS, "layout": "NHWC", "call": timing, "kernel": timing, "max_error": 0.0}
        return {"contenders": [ours], "skipped": [], "memory_bandwidth": 1.0}

    monkeypatch.setattr(layers, "_call", call)
    found = run_layer(made_up_backend(), "made_up", "A", 1, PROBLEM, peers=["one", "two"], budget=1.0)
    assert [name for name, _ in found.skipped] == ["one", "two"]
    assert all("no contest with all peers in one process: no answer" in why for _, why in found.skipped)


def test_a_kernel_of_ours_that_kills_the_process_is_no_peers_fault(monkeypatch, search):
    def call(peers, job, target):
        if job["schemes"]:
            raise CandidateError("crashed with SIGILL")

    monkeypatch.setattr(layers, "_call", call)
    with pytest.raises(CandidateError, match="SIGILL"):
        run_layer(made_up_backend(), "made_up", "A", 1, PROBLEM, peers=["harmless"], budget=1.0)


def test_the_models_choice_is_its_first_one_that_works(monkeypatch, search):
    works = parse(PROBLEM, SCHEME)
    fails = parse(PROBLEM, SCHEME.replace("T(h,6) T(w,2)", "T(w,2) T(h,6)"))
    search(ranked=[fails, works], tried=(Measured(works, (Timing((1.0,), 1.0),)),))
    jobs = []

    def call(peers, job, target):
        jobs.append(job["schemes"])
        raise CandidateError("enough")

    monkeypatch.setattr(layers, "_call", call)
    with pytest.raises(CandidateError, match="enough"):
        run_layer(made_up_backend(), "made_up", "A", 1, PROBLEM, budget=1.0)
    assert jobs == [{OURS: works.text, MODEL: works.text}]


def test_an_interrupted_search_is_no_result(search):
    asked = search(interrupted=True)
    with pytest.raises(KeyboardInterrupt):
        run_layer(made_up_backend(), "made_up", "A", 1, PROBLEM, budget=1.0)
    assert asked[0]["forget"] is True


def test_the_contests_process_keeps_freed_memory_and_has_what_each_peer_wants(monkeypatch):
    monkeypatch.setattr(layers, "PEERS", {"made": Made()})
    chosen = layers.environment(["made"], 3)
    assert chosen["MADE_THREADS"] == "3" and int(chosen["MALLOC_MMAP_THRESHOLD_"]) > 1 << 30


@pytest.mark.slow
def test_a_layer_run_for_real_has_both_timings_and_errors(monkeypatch):
    monkeypatch.setattr(layers, "ROUNDS", 2)
    searches = []

    def kept(*args, **options):
        searches.append(find(*args, **options))
        return searches[-1]

    monkeypatch.setattr(layers, "find", kept)
    backend = cpu_backend("portable")
    found = run_layer(backend, "tiny", "T", 2, PROBLEM, budget=1.0)
    assert found.shape == canonical(PROBLEM) and found.flops == PROBLEM.flops > found.flops_on_image
    assert found.threads == 1 and found.count == 2 and found.cache == "warm"
    assert [c.name for c in found.contenders] == [OURS, MODEL]
    for contender in found.contenders:
        for timing in (contender.call, contender.kernel):
            assert timing.samples and min(timing.samples) > 0 and timing.peak_gflops > 0
        assert 0 <= contender.max_error < 1e-4
    assert len(found.tried) >= 1 and all(p > 0 and m > 0 for p, m in found.tried)
    assert 0 < found.search_seconds < found.total_seconds
    (search,) = searches
    ranked = [scheme.text for scheme in backend.candidates(PROBLEM)]
    assert [scheme.text for scheme in search.ranked] == ranked
    # A second need not be enough for the first of them, where other programs take the cores.
    measured = {each.scheme.text for each in search.tried}
    assert found.model_scheme == next(text for text in ranked if text in measured)
