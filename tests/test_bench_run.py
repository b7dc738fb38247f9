"""A contest with made-up peers, a run that is continued, and the command line around them."""

from __future__ import annotations

import json
import time
from dataclasses import replace

import numpy as np
import pytest

import bench.__main__ as command
import bench.conditions as known
import bench.contest as contests
import bench.latency as latency
import bench.layers as layers
import bench.model as model
import bench.render as render
import bench.run as runs
from bench.contest import contest
from bench.files import ReportError
from bench.journal import alone, journal
from bench.layers import run_layer
from bench.peers.peer import Peer, Prepared
from bench.results import MODEL, OURS, Contender, LayerResult
from bench.run import plan
from cpu.oracle import reference
from cpu.worker import CandidateError
from search.tune import Measured, Outcome
from search.workshop import workshop
from tiling.machine import CacheLevel, Machine, Timing
from tiling.operators import conv2d
from tiling.shapes import canonical, suite
from tiling.suite import Layer

MACHINE = Machine("box-1", "avx2", 8, 16, 50e9, 4, (CacheLevel("L1", 32768, 64, 8, 200e9),), 10e9, 5e9, 8e9)
PROBLEM = conv2d(c=4, h=6, w=8, k=8, r=3, s=3, padding=1)
SCHEME = "T(h,6) T(w,2) S(y) T(c,4) T(r,3) T(s,3) U(w,4) U(k,2) V(k,4)"


class Made(Peer):
    """A peer that computes with the reference, and is wrong, late or absent on demand."""

    name, title = "made", "made up"

    def __init__(self, spoil=lambda y: y, absent=None, refusal=None, broken=None, calls=None):
        self.spoil, self.absent, self.refusal, self.broken, self.calls = spoil, absent, refusal, broken, calls

    def missing(self):
        return self.absent

    def version(self):
        return "made 1"

    def environment(self, threads):
        return {"MADE_THREADS": str(threads)}

    def refuses(self, problem):
        return self.refusal

    def prepare(self, problem, x, w, threads):
        if self.broken:
            raise self.broken
        y = self.spoil(reference(problem, x, w)).astype(np.float32)
        return Prepared(lambda: self.calls is None or self.calls.append(time.perf_counter()), lambda: y, "NHWC")


@pytest.fixture
def enter(monkeypatch):
    """Runs a contest of the portable kernel with peers that are given by name."""

    def entered(cache="warm", **peers):
        monkeypatch.setattr(contests, "PEERS", peers)
        return contest(
            op="conv2d", shape=canonical(PROBLEM), schemes={OURS: SCHEME, MODEL: SCHEME}, isa="portable", threads=1,
            stream=False, peers=list(peers), cache=cache, rounds=2, seconds=0.005, seed=1,
        )  # fmt: skip

    return entered


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


def test_cold_caches_are_for_one_thread(no_work, capsys):
    assert command.main(["--cache", "cold", "--threads", "2", "--peers", "none"]) == 2
    assert "--cache cold is for --threads 1" in capsys.readouterr().err


def test_cold_caches_are_swept_before_each_call(enter, monkeypatch):
    swept = []
    monkeypatch.setattr(contests, "_sweeper", lambda: lambda: swept.append(1))
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
        (Made(refusal="takes no padding"), "takes no padding"),
        (Made(broken=RuntimeError("could not create a primitive\nat line 7")), "RuntimeError: could not create a primitive"),
        (Made(broken=KeyError()), "KeyError: no reason given"),
    ],
)
def test_a_peer_that_fails_is_skipped_with_its_reason(enter, peer, reason):
    found = enter(bad=peer, good=Made())
    assert [c["name"] for c in found["contenders"]] == [OURS, MODEL, "good"]
    ((name, why),) = found["skipped"]
    assert name == "bad" and why.startswith(reason) and "\n" not in why


def made_up_shop():
    class Shop:
        isa, threads, machine = None, 1, MACHINE

        def candidates(self, problem):
            from tiling.notation import parse

            return [parse(problem, SCHEME)]

        def tune(self, schemes, **options):
            return Outcome(Measured(schemes[0], Timing((1.0,), 1.0)), 1, 0, False)

        def predicted(self, schemes):
            return []

        def job(self, scheme):
            return {
                **{"op": "conv2d", "shape": canonical(PROBLEM), "scheme": scheme.text, "isa": "portable"},
                **{"threads": 1, "stream": False},
            }

    return Shop()


def test_a_peer_that_kills_the_process_is_found_and_left_out(monkeypatch):
    calls = []

    def call(peers, job):
        calls.append((list(job["schemes"]), list(peers)))
        if "deadly" in peers:
            raise CandidateError("crashed with SIGSEGV")
        timing = {"samples": [1.0], "peak_gflops": 1.0}
        ours = {"name": OURS, "layout": "NHWC", "call": timing, "kernel": timing, "max_error": 0.0}
        return {"contenders": [ours], "skipped": [], "memory_bandwidth": 1.0} 

    monkeypatch.setattr(layers, "_call", call)
    found = run_layer(made_up_shop(), "made_up", "A", 1, PROBLEM, peers=["harmless", "deadly"], budget=1.0)
    assert found.skipped == (("deadly", "crashed with SIGSEGV"),)
    assert calls == [
        ([OURS, MODEL], ["harmless", "deadly"]), ([], ["harmless"]), ([], ["deadly"]), ([OURS, MODEL], ["harmless"])
    ]  # fmt: skip


def test_peers_that_only_die_together_leave_ours_alone(monkeypatch):
    def call(peers, job):
        if len(peers) > 1:
            raise CandidateError("no answer within 1 s: killed")
        timing = {"samples": [1.0], "peak_gflops": 1.0}
        ours = {"name": OURS, "layout": "NHWC", "call": timing, "kernel": timing, "max_error": 0.0}
        return {"contenders": [ours], "skipped": [], "memory_bandwidth": 1.0}

    monkeypatch.setattr(layers, "_call", call)
    found = run_layer(made_up_shop(), "made_up", "A", 1, PROBLEM, peers=["one", "two"], budget=1.0)
    assert [name for name, _ in found.skipped] == ["one", "two"]
    assert all("no contest with all peers in one process: no answer" in why for _, why in found.skipped)


def test_a_kernel_of_ours_that_kills_the_process_is_no_peers_fault(monkeypatch):
    def call(peers, job):
        if job["schemes"]:
            raise CandidateError("crashed with SIGILL")

    monkeypatch.setattr(layers, "_call", call)
    with pytest.raises(CandidateError, match="SIGILL"):
        run_layer(made_up_shop(), "made_up", "A", 1, PROBLEM, peers=["harmless"], budget=1.0)


def test_an_interrupted_search_is_no_result():
    class Interrupted:
        def candidates(self, problem):
            return ["scheme"]

        def tune(self, schemes, **options):
            assert options["forget"] is True
            return Outcome(Measured(None, Timing((1.0,), 1.0)), 1, 0, True)

    with pytest.raises(KeyboardInterrupt):
        run_layer(Interrupted(), "made_up", "A", 1, PROBLEM, budget=1.0)


def test_the_contests_process_keeps_freed_memory_and_has_what_each_peer_wants(monkeypatch):
    monkeypatch.setattr(layers, "PEERS", {"made": Made()})
    chosen = layers.environment(["made"], 3)
    assert chosen["MADE_THREADS"] == "3" and int(chosen["MALLOC_MMAP_THRESHOLD_"]) > 1 << 30


def test_a_layer_run_for_real_has_both_timings_and_errors():
    shop = workshop("portable")
    found = run_layer(shop, "tiny", "T", 2, PROBLEM, budget=1.0)
    assert found.shape == canonical(PROBLEM) and found.flops == PROBLEM.flops > found.flops_on_image
    assert found.threads == 1 and found.count == 2 and found.cache == "warm"
    assert [c.name for c in found.contenders] == [OURS, MODEL]
    for contender in found.contenders:
        for timing in (contender.call, contender.kernel):
            assert timing.samples and min(timing.samples) > 0 and timing.peak_gflops > 0
        assert 0 <= contender.max_error < 1e-4
    assert len(found.tried) >= 1 and all(p > 0 and m > 0 for p, m in found.tried)
    assert 0 < found.search_seconds < found.total_seconds
    assert found.model_scheme == shop.candidates(PROBLEM)[0].text


# Journals


def result(layer: str, percent: float = 50.0, threads: int = 1, **changes) -> LayerResult:
    """A made-up layer of 1 GFLOP on cores of 100 GFLOP/s each."""
    timing = Timing((1 / (percent * threads),) * 5, 100.0)
    ours = Contender(OURS, "NHWC", timing, timing, 1e-7)
    made = LayerResult(
        suite="made_up", layer=layer, count=1, op="conv2d", shape="c=4,h=6,w=8,k=8,r=1,s=1", flops=10**9,
        flops_on_image=10**9, compulsory_bytes=1000, threads=threads, dtype="f32", cache="warm", scheme=f"tuned {layer}",
        model_scheme=f"model {layer}", tried=((1.0, 2.0),), contenders=(ours, replace(ours, name=MODEL)), skipped=(),
        memory_bandwidth=1e10, search_seconds=1.0, total_seconds=2.0,
    )  # fmt: skip
    return replace(made, **changes)


def test_a_journal_gives_back_what_it_kept_and_survives_a_torn_line():
    kept = journal({"suites": ["a"]})
    assert kept.results() == []
    kept.keep(result("A"))
    with kept.path.open("a", encoding="utf-8") as file:
        file.write('{"suite": "made_up", "lay')
    kept.keep(result("B"))
    assert kept.results() == [result("A"), result("B")]
    assert journal({"suites": ["a"]}).results() == kept.results()
    assert journal({"suites": ["b"]}).results() == []
    kept.discard()
    assert kept.results() == []


def test_two_benchmarks_do_not_time_each_other():
    with alone(), pytest.raises(ReportError, match="another benchmark is running"), alone():
        raise AssertionError("two at once")
    with alone():
        pass


# Whole runs of made-up layers


@pytest.fixture
def made_up(monkeypatch, tmp_path_factory):
    """`python -m bench` with a suite of three small layers and `outcomes[layer]` in the place of every run."""
    outcomes = {name: result(name) for name in "ABC"}
    ran = []

    def run(shop, name, layer, count, problem, **options):
        ran.append(layer)
        if isinstance(outcomes[layer], BaseException):
            raise outcomes[layer]
        return outcomes[layer]

    monkeypatch.setenv("TILEWRIGHT_DATA", str(tmp_path_factory.mktemp("data")))  # no other test's unfinished run
    monkeypatch.setattr(command, "suite", lambda name: tuple(Layer(layer, "c=4", 1, PROBLEM) for layer in "ABC"))
    monkeypatch.setattr(command, "workshop", lambda isa, threads: made_up_shop())
    monkeypatch.setattr(command, "machine_catalog", lambda *_, **__: None)
    monkeypatch.setattr(runs, "run_layer", run)
    outcomes["ran"] = ran
    return outcomes


MADE_UP = ["--suite", "made_up", "--peers", "none"]


def test_a_whole_run_writes_report_and_json(made_up, tmp_path, capsys):
    lines = tmp_path / "lines.jsonl"
    assert command.main(["--suite", "made_up", "made_up", *MADE_UP[2:], "--report", str(tmp_path), "--json", str(lines)]) == 0
    text = (tmp_path / "performance.md").read_text(encoding="utf-8")
    assert text.count("| made_up:A |") == 1  # a suite named twice counts once
    assert "Incomplete" not in text + capsys.readouterr().out
    assert [json.loads(line).get("layer") for line in lines.read_text().splitlines()] == [None, "A", "B", "C"]


@pytest.mark.parametrize(
    "error, code, why",
    [
        (CandidateError("it crashed"), 1, "made_up:B on 1 thread (failed: it crashed)"),
        (KeyboardInterrupt(), 130, "made_up:B on 1 thread, made_up:C on 1 thread (not ended before a Ctrl-C)"),
        (ReportError("full"), 1, "made_up:B on 1 thread, made_up:C on 1 thread (not ended before an error: full)"),
    ],
)
def test_an_incomplete_run_does_not_pass_for_a_whole_one(made_up, tmp_path, capsys, error, code, why):
    made_up["B"] = error
    assert command.main([*MADE_UP, "--report", str(tmp_path)]) == code
    text = (tmp_path / "performance.md").read_text(encoding="utf-8")
    assert f"Incomplete: without {why}." in text
    assert "made_up:A" in text
    assert why in " ".join(capsys.readouterr().out.split())


def test_a_run_is_continued_where_it_was_interrupted(made_up):
    made_up["B"] = KeyboardInterrupt()
    assert command.main(MADE_UP) == 130
    made_up["B"] = result("B")
    assert command.main(MADE_UP) == 0
    assert made_up["ran"] == ["A", "B", "B", "C"]
    # It is complete now: the next one measures anew.
    assert command.main(MADE_UP) == 0
    assert made_up["ran"][4:] == ["A", "B", "C"]


def test_another_question_continues_nothing_and_restart_forgets(made_up):
    made_up["B"] = KeyboardInterrupt()
    assert command.main(MADE_UP) == 130
    assert command.main([*MADE_UP, "--budget", "7"]) == 130
    assert command.main([*MADE_UP, "--restart"]) == 130
    assert made_up["ran"] == ["A", "B"] * 3


def test_layers_that_failed_are_tried_again(made_up):
    made_up["B"] = CandidateError("it crashed")
    assert command.main(MADE_UP) == 1
    made_up["B"] = result("B")
    assert command.main(MADE_UP) == 0
    assert made_up["ran"] == ["A", "B", "C", "B"]


def test_a_continued_run_adds_each_line_once_and_the_lines_render(made_up, tmp_path, capsys):
    lines = tmp_path / "lines.jsonl"
    made_up["B"] = KeyboardInterrupt()
    assert command.main([*MADE_UP, "--json", str(lines)]) == 130
    made_up["B"] = result("B")
    assert command.main([*MADE_UP, "--json", str(lines)]) == 0
    assert [json.loads(line).get("layer") for line in lines.read_text().splitlines()] == [None, "A", "B", "C"]
    capsys.readouterr()
    assert render.main([str(lines)]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines() if line[:4].strip() in ("A", "B", "C")] == ["A", "B", "C"]


def test_a_readme_never_shows_a_part_as_the_whole(made_up, tmp_path, capsys):
    readme = tmp_path / "README.md"
    readme.write_text("<!-- bench:begin -->\n<!-- bench:end -->\n", encoding="utf-8")
    made_up["B"] = KeyboardInterrupt()
    assert command.main([*MADE_UP, "--readme", str(readme)]) == 130
    assert readme.read_text(encoding="utf-8") == "<!-- bench:begin -->\n<!-- bench:end -->\n"
    assert "stays as it was" in capsys.readouterr().err
    made_up["B"] = CandidateError("it crashed")
    assert command.main([*MADE_UP, "--readme", str(readme)]) == 1
    assert "going on: 1 of 3 layers" in capsys.readouterr().err
    assert "**Incomplete: without made_up:B on 1 thread (failed: it crashed)" in readme.read_text(encoding="utf-8")


def test_a_peer_that_does_not_load_is_missing_with_the_reason(monkeypatch):
    class Broken(Made):
        def version(self):
            raise ImportError("libtorch.so: no such file\nand more")

    monkeypatch.setattr(known, "PEERS", {"made": Broken()})
    versions, ((name, why),) = known.available(["made"])
    assert versions == {} and name == "made" and why.startswith("it is installed and does not load (ImportError: libtorch")
    assert "\n" not in why


def test_a_run_without_any_result_writes_no_report(made_up, tmp_path):
    made_up["A"] = KeyboardInterrupt()
    assert command.main([*MADE_UP, "--report", str(tmp_path)]) == 130
    assert not (tmp_path / "performance.md").exists()


def test_a_layer_that_is_not_supported_is_missing_with_its_reason(made_up, monkeypatch, capsys):
    layers = (Layer("A", "c=4", 1, PROBLEM), Layer("D", "c=4,q=1", 1, None, refused="no such operator yet"))
    monkeypatch.setattr(command, "suite", lambda name: layers)
    assert command.main(MADE_UP) == 1
    assert "made_up:D on 1 thread (no such operator yet)" in " ".join(capsys.readouterr().out.split())
    assert made_up["ran"] == ["A"]


def test_missing_peers_are_named_with_how_to_get_them(made_up, monkeypatch, capsys):
    monkeypatch.setattr(known, "PEERS", {"made": Made(absent="not installed: pip install '.[peers]'")})
    assert command.main(["--suite", "made_up", "--peers", "made"]) == 0
    assert "without made: not installed: pip install '.[peers]'" in capsys.readouterr().err


def test_every_suite_is_run_on_every_number_of_threads():
    shops = [workshop("portable", threads) for threads in (1, 2)]
    visits = plan({name: suite(name) for name in ("mobilenet", "resnet18")}, shops)
    assert len(visits) == 2 * (9 + 12) and str(visits[0]) == "mobilenet:M1 on 1 thread"
    assert str(visits[-1]) == "resnet18:R12 on 2 threads"


# What is refused before anything runs


@pytest.fixture
def no_work(monkeypatch):
    """Fails the test where anything of a machine is asked for."""

    def reached(*_, **__):
        raise AssertionError("the run had begun")

    for module in (command, model):
        monkeypatch.setattr(module, "workshop", reached)
        monkeypatch.setattr(module, "machine_catalog", reached)
    monkeypatch.setattr(latency, "waits", reached)


@pytest.mark.parametrize(
    "main, arguments",
    [
        (command.main, ["--budget", "0"]),
        (command.main, ["--budget", "nan"]),
        (command.main, ["--budget", "-3"]),
        (command.main, ["--threads", "0"]),
        (command.main, ["--threads", "two"]),
        (model.main, ["--schemes", "1"]),
        (model.main, ["--schemes", "-5"]),
        (model.main, ["--seed", "-1"]),
    ],
)
def test_bad_options_exit_2_with_a_sentence(no_work, capsys, main, arguments):
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert f"argument {arguments[0]}: '{arguments[1]}' is not a" in said and "Traceback" not in said


@pytest.mark.parametrize("main", [command.main, model.main])
def test_an_unknown_suite_exits_2_with_a_sentence(no_work, capsys, main):
    assert main(["--suite", "resnet81"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("there is no suite 'resnet81'") and said.count("\n") == 1


def test_a_peer_of_a_gpu_is_not_compared_with_kernels_of_the_cpu(no_work, capsys):
    assert command.main(["--peers", "ort", "cublas"]) == 2
    assert capsys.readouterr().err == (
        "cublas computes on a GPU: beside kernels of the CPU it would compare two machines\n"
    )


def test_an_unknown_peer_exits_2_with_a_sentence(no_work, capsys):
    assert command.main(["--peers", "onednnn"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("there is no peer 'onednnn'; there are") and said.count("\n") == 1


@pytest.mark.parametrize(
    "main, option",
    [
        *((command.main, option) for option in ("--report", "--json", "--readme")),
        *((m.main, "--report") for m in (model, latency)),
    ],
)
def test_an_unwritable_file_is_found_before_anything_runs(no_work, tmp_path, capsys, main, option):
    (tmp_path / "a_file").write_text("", encoding="utf-8")
    assert main([option, str(tmp_path / "a_file" / "page.md")]) == 1
    said = capsys.readouterr().err
    assert said.startswith(f"cannot write {tmp_path}") and said.count("\n") == 1


def test_a_readme_without_markers_is_found_before_anything_runs(no_work, tmp_path, capsys):
    (tmp_path / "README.md").write_text("# Mine\n", encoding="utf-8")
    assert command.main(["--readme", str(tmp_path / "README.md")]) == 1
    assert "needs a line <!-- bench:begin -->" in capsys.readouterr().err
