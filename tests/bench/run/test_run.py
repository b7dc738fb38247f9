"""A run of made-up layers that ends early, is continued, or misses something; the journal that keeps it."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

import bench.command as command
import bench.report.render as render
import bench.run.conditions as known
import bench.run.suites as runs
from bench.report.files import ReportError
from bench.report.results import MODEL, OURS, ContenderResult, LayerResult
from bench.run.journal import alone, journal
from bench.run.suites import plan
from cpu.runtime.processes.worker import CandidateError, OutOfMemory, WorkerError
from microkernels.ranking.offline import measuring_alone
from search.evaluator.cpu.backend import cpu_backend
from tests.support.search.made_up import PROBLEM, Made, made_up_backend
from tiling.epilogue import fused
from tiling.machine import Timing
from tiling.operators import conv2d, in_layout, matmul
from tiling.text.shapes import canonical, suite
from tiling.text.suite import Layer

# Journals


def result(layer: str, percent: float = 50.0, threads: int = 1, **changes) -> LayerResult:
    """A made-up layer of 1 GFLOP on cores of 100 GFLOP/s each."""
    timing = Timing((1 / (percent * threads),) * 5, 100.0)
    ours = ContenderResult(OURS, "NHWC", timing, timing, 1e-7)
    made = LayerResult(
        suite="made_up", layer=layer, count=1, op="conv2d", shape="c=4,h=6,w=8,k=8,r=1,s=1", flops=10**9,
        flops_on_image=10**9, compulsory_bytes=1000, threads=threads, dtype="f32", cache="warm",
        scheme=f"tuned {layer}", model_scheme=f"model {layer}", tried=((1.0, 2.0),),
        contenders=(ours, replace(ours, name=MODEL)), skipped=(), memory_bandwidth=1e10, search_seconds=1.0,
        total_seconds=2.0,
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
    with alone(), pytest.raises(ReportError, match="another benchmark or ranking is measuring"), alone():
        raise AssertionError("two at once")
    with alone():
        pass


def test_a_benchmark_and_a_ranking_do_not_time_each_other(monkeypatch, tmp_path):
    monkeypatch.setenv("TILEWRIGHT_DATA", str(tmp_path))
    with measuring_alone(pytest.fail), pytest.raises(ReportError, match="another benchmark or ranking"), alone():
        raise AssertionError("two at once")


# Whole runs of made-up layers


@pytest.fixture
def made_up(monkeypatch, tmp_path_factory):
    """`python -m bench` with a suite of three small layers and `outcomes[layer]` in the place of every run."""
    outcomes = {name: result(name) for name in "ABC"}
    ran = []

    def run(backend, name, layer, count, problem, **options):
        ran.append(layer)
        if isinstance(outcomes[layer], BaseException):
            raise outcomes[layer]
        return outcomes[layer]

    monkeypatch.setenv("TILEWRIGHT_DATA", str(tmp_path_factory.mktemp("data")))  # no other test's unfinished run
    monkeypatch.setattr(
        "tiling.text.shapes.suite", lambda name: tuple(Layer(layer, "c=4", 1, PROBLEM) for layer in "ABC")
    )
    monkeypatch.setattr(command, "cpu_backend", lambda *_: made_up_backend())
    monkeypatch.setattr(command, "machine_catalog", lambda *_, **__: None)
    monkeypatch.setattr(runs, "run_layer", run)
    outcomes["ran"] = ran
    return outcomes


MADE_UP = ["--suite", "made_up", "--peers", "none"]


@pytest.mark.slow
def test_a_whole_run_writes_report_and_json(made_up, tmp_path, capsys):
    lines = tmp_path / "lines.jsonl"
    assert (
        command.main(["--suite", "made_up", "made_up", *MADE_UP[2:], "--report", str(tmp_path), "--json", str(lines)])
        == 0
    )
    text = (tmp_path / "performance.md").read_text(encoding="utf-8")
    assert text.count("| made_up:A |") == 1  # a suite named twice counts once
    assert "Incomplete" not in text + capsys.readouterr().out
    assert [json.loads(line).get("layer") for line in lines.read_text().splitlines()] == [None, "A", "B", "C"]


@pytest.mark.parametrize("budget, told", [("2", True), ("14", False)])
def test_a_search_that_took_longer_than_its_budget_is_told(budget, told, made_up, capsys):
    made_up["B"] = replace(made_up["B"], search_seconds=14.0)
    assert command.main([*MADE_UP, "--budget", budget]) == 0
    said = "made_up:B on 1 thread: its search took 14.0 s: to list the candidates and measure one takes longer than"
    assert (f"{said} --budget {budget}\n" in capsys.readouterr().err) is told


@pytest.mark.parametrize("cache", ["warm", "cold"])
def test_kernels_are_searched_for_the_caches_that_they_are_timed_with(cache, made_up, monkeypatch):
    asked = []
    monkeypatch.setattr(command, "cpu_backend", lambda *options: asked.append(options[-1]) or made_up_backend())
    assert command.main([*MADE_UP, "--cache", cache]) == 0
    assert asked == [cache]


@pytest.mark.slow
def test_layers_are_run_in_the_layout_asked_for(made_up, monkeypatch, tmp_path):
    """Every convolution; products have none."""
    depthwise = conv2d(c=4, k=4, groups=4, h=5, w=5, r=3, s=3)
    problems = {"A": PROBLEM, "B": depthwise, "C": matmul(m=2, n=3, k=4)}
    monkeypatch.setattr(
        "tiling.text.shapes.suite", lambda name: tuple(Layer(n, "c=4", 1, p) for n, p in problems.items())
    )
    ran = {}
    monkeypatch.setattr(
        runs, "run_layer", lambda _, __, layer, ___, problem, **____: ran.setdefault(layer, problem) and result(layer)
    )
    assert command.main([*MADE_UP, "--layout", "nchw", "--report", str(tmp_path)]) == 0
    assert ran == {"A": in_layout(PROBLEM, "nchw"), "B": in_layout(depthwise, "nchw"), "C": problems["C"]}
    assert "--layout nchw" in (tmp_path / "performance.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_layers_are_run_with_the_epilogue_asked_for(made_up, monkeypatch, tmp_path):
    """Convolutions and products, several images too; the command, the journal and the report name it."""
    problems = {"A": PROBLEM, "B": matmul(m=2, n=3, k=4)}
    layers = (*(Layer(n, "c=4", 1, p) for n, p in problems.items()), Layer("C", "q=1", 1, None, unsupported="none yet"))
    monkeypatch.setattr("tiling.text.shapes.suite", lambda name: layers)
    ran, journals = {}, []

    def run(_, suite, layer, __, problem, **___):
        ran[layer] = problem
        return result(layer, suite=suite, op=problem.op, shape=canonical(problem))

    monkeypatch.setattr(runs, "run_layer", run)
    monkeypatch.setattr(command, "journal", lambda known: journals.append(known) or journal(known))
    for epilogue in ("relu(y + b)", "relu(y + b + z)"):
        arguments = [*MADE_UP, "--epilogue", epilogue, "--report", str(tmp_path)]
        assert command.main(arguments) == 1  # for C
        assert ran == {name: fused(problem, epilogue) for name, problem in problems.items()}
    text = (tmp_path / "performance.md").read_text(encoding="utf-8")
    assert "--epilogue 'relu(y + b + z)'" in text and "## made_up, on 1 thread, relu(y+b+z)" in text
    assert "c=4 h=6 w=8 k=8 r=3 s=3 pad=1 epilogue=relu(y+b[k]+z[n,h,w,k])" in text
    assert (tmp_path / "performance.csv").exists() and journals[0] != journals[1]
    monkeypatch.setattr("tiling.text.shapes.suite", lambda name: layers[:1])
    assert command.main([*MADE_UP, "--batch", "3", "--epilogue", "relu(y + b)"]) == 0
    assert ran["A"].epilogue is not None and ran["A"].extents["n"] == 3


@pytest.mark.slow
@pytest.mark.exhaustive(error=None, why=lambda why: "failed" in why)
@pytest.mark.parametrize(
    "error, code, why",
    [
        (CandidateError("it crashed"), 1, "made_up:B on 1 thread (failed: it crashed)"),
        (OutOfMemory("too large"), 1, "made_up:B on 1 thread (failed: too large)"),
        (WorkerError("dead"), 1, "made_up:B on 1 thread, made_up:C on 1 thread (not ended before an error: dead)"),
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
    assert [
        line.split()[0] for line in capsys.readouterr().out.splitlines() if line[:4].strip() in ("A", "B", "C")
    ] == ["A", "B", "C"]


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
    assert (
        versions == {} and name == "made" and why.startswith("it is installed and does not load (ImportError: libtorch")
    )
    assert "\n" not in why


def test_a_run_without_any_result_writes_no_report(made_up, tmp_path):
    made_up["A"] = KeyboardInterrupt()
    assert command.main([*MADE_UP, "--report", str(tmp_path)]) == 130
    assert not (tmp_path / "performance.md").exists()


def test_a_layer_that_is_not_supported_is_missing_with_its_reason(made_up, monkeypatch, capsys):
    layers = (Layer("A", "c=4", 1, PROBLEM), Layer("D", "c=4,q=1", 1, None, unsupported="no such operator yet"))
    monkeypatch.setattr("tiling.text.shapes.suite", lambda name: layers)
    assert command.main(MADE_UP) == 1
    assert "made_up:D on 1 thread (no such operator yet)" in " ".join(capsys.readouterr().out.split())
    assert made_up["ran"] == ["A"]


def test_missing_peers_are_named_with_how_to_get_them(made_up, monkeypatch, capsys):
    peers = {"made": Made(absent="not installed: pip install 'tilewright[peers]'"), "other": Made()}
    monkeypatch.setattr(known, "PEERS", peers)
    assert command.main(["--suite", "made_up", "--peers", "made", "other"]) == 0
    assert "without made: not installed: pip install 'tilewright[peers]'" in capsys.readouterr().err
    assert command.main(["--suite", "made_up", "--peers", "made"]) == 2
    told = capsys.readouterr().err
    assert "without made: not installed" in told and "none of the peers that are asked for can run" in told


def test_every_suite_is_run_on_every_number_of_threads():
    backends = [cpu_backend("portable", threads) for threads in (1, 2)]
    visits = plan({name: suite(name) for name in ("mobilenet", "resnet18")}, backends)
    assert len(visits) == 2 * (9 + 12) and str(visits[0]) == "mobilenet:M1 on 1 thread"
    assert str(visits[-1]) == "resnet18:R12 on 2 threads"
