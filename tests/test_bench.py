"""The benchmarks' arithmetic, pages and refusals on made-up numbers, and one tiny layer run for real."""

from __future__ import annotations

import json

import pytest

import bench.__main__ as suites
import bench.latency as latency
import bench.model as model
from bench.files import ReportError
from bench.layers import LayerResult, run_layer
from bench.model import Honesty
from cpu.worker import CandidateError
from search.tune import Measured, Outcome
from search.workshop import workshop
from tiling.machine import CacheLevel, Machine, Timing
from tiling.problem import conv2d
from tiling.shapes import canonical, suite
from tiling.suite import Layer

MACHINE = Machine("box-1", "avx2", 8, 16, 50e9, 4, (CacheLevel("L1", 32768, 64, 8, 200e9),), 10e9, 5e9, 8e9)
PROBLEM = conv2d(c=4, h=6, w=8, k=8, r=1, s=1)


def result(layer: str, percent: float, model_percent: float, search_seconds: float = 10.0, threads: int = 1):
    """A made-up layer of 1 GFLOP on cores of 100 GFLOP/s each."""
    tuned, alone = (Timing((1 / (p * threads),) * 5, 100.0) for p in (percent, model_percent))
    return LayerResult(
        "made_up", layer, "c=4,h=6,w=8,k=8,r=1,s=1", 10**9, threads,
        f"tuned {layer}", tuned, 1e-7, f"model {layer}", alone, 3e-6, 20, search_seconds, search_seconds + 2,
    )  # fmt: skip



def honesty(predicted, measured, failed=0):
    return Honesty("made_up:A", "c=4,h=6", ("s",) * len(predicted), tuple(predicted), tuple(measured), failed)


def model_page(results):
    return model.page(results, "python -m bench.model", "box-1", threads=1, schemes=7, seed=5)


@pytest.fixture
def no_work(monkeypatch):
    """Fails the test where anything of a machine is asked for."""

    def reached(*_, **__):
        raise AssertionError("the run had begun")

    for module in (suites, model):
        monkeypatch.setattr(module, "workshop", reached)
        monkeypatch.setattr(module, "machine_catalog", reached)
    monkeypatch.setattr(latency, "waits", reached)


@pytest.fixture
def made_up(monkeypatch):
    """`python -m bench` with a suite of three small layers and `outcomes[layer]` in the place of every run."""
    outcomes = {name: result(name, 50, 50) for name in "ABC"}

    def run(shop, name, layer, problem, budget):
        if isinstance(outcomes[layer], BaseException):
            raise outcomes[layer]
        return outcomes[layer]

    class Shop:
        isa, threads, machine = None, 1, MACHINE

    monkeypatch.setattr(suites, "suite", lambda name: [Layer(layer, "", 1, PROBLEM) for layer in "ABC"])
    monkeypatch.setattr(suites, "workshop", lambda isa, threads: Shop())
    monkeypatch.setattr(suites, "machine_catalog", lambda *_, **__: None)
    monkeypatch.setattr(suites, "run_layer", run)
    return outcomes


# What the figures are


def test_percent_of_peak_is_of_all_threads_used():
    assert result("A", 80, 40, threads=4).percent == pytest.approx(80)
    assert result("A", 80, 40, threads=4).tuned.seconds == pytest.approx(1 / 320)


@pytest.mark.parametrize(
    "predicted, measured, correlation, loss",
    [
        ((1, 2, 3), (10, 20, 30), 1, 0),
        ((1, 2, 3), (30, 20, 10), -1, 2),
        ((2, 1, 3), (10, 15, 30), 0.5, 0.5),
        ((1, 2, 4, 8), (1, 5, 6, 1000), 1, 0),
    ],
)
def test_honesty_compares_ranks_and_the_favourite(predicted, measured, correlation, loss):
    asked = honesty(predicted, measured)
    assert asked.correlation == pytest.approx(correlation)
    assert asked.top1_loss == pytest.approx(loss)


def test_honesty_has_no_figure_without_measurements_to_compare():
    assert honesty((), ()).correlation is None and honesty((), ()).top1_loss is None
    assert honesty((1,), (2,)).correlation is None and honesty((1,), (2,)).top1_loss == 0
    assert honesty((1, 1), (2, 3)).correlation is None


# Tables and pages


def test_model_page_states_its_conditions_and_the_mean():
    text = model_page([honesty((1, 2, 3), (1e-3, 2e-3, 3e-3)), honesty((1, 2, 3), (3, 2, 1), failed=4)])
    assert "At most 7 random" in text and "seed 5" in text and "on 1 thread;" in text
    assert "Mean rank correlation over 2 layers: 0.00." in text
    assert "| made_up:A | c=4 h=6 | 3 | 0 | 1.00 | 0 % | 1 | 3 |" in text
    assert "| 3 | 4 | -1.00 | 200 % |" in text


def test_model_page_has_dashes_for_a_layer_where_all_failed():
    text = model_page([honesty((), (), failed=7), honesty((1, 2), (3, 4))])
    assert "| made_up:A | c=4 h=6 | 0 | 7 | – | – | – | – |" in text
    assert "over 1 layer: 1.00." in text
    assert "over 0 layers: –." in model_page([honesty((), (), failed=7)])


def test_the_papers_networks_are_one_section_and_others_one_each():
    names = ("mobilenet", "yolo9000", "resnet18")
    shop = workshop("portable", 2)
    paper, mobile = suites.plan({name: suite(name) for name in names}, shop)
    assert paper.title == "The 23 layers of TTile's paper, on 2 threads" and len(paper.layers) == 23
    assert mobile.title == "mobilenet, on 2 threads" and all(name.startswith("mobilenet:") for name, _ in mobile.layers)
    (alone,) = suites.plan({"resnet18": suite("resnet18")}, shop)
    assert alone.title == "resnet18, on 2 threads" and len(alone.layers) == 12


# Whole runs of made-up layers


def test_a_whole_run_writes_page_and_json(made_up, tmp_path, capsys):
    report, lines = tmp_path / "new" / "page.md", tmp_path / "lines.json"
    assert suites.main(["--suite", "made_up", "made_up", "--report", str(report), "--json", str(lines)]) == 0
    text = report.read_text(encoding="utf-8")
    assert text.count("| made_up:A |") == 1  # a suite named twice counts once
    assert "Incomplete" not in text + capsys.readouterr().out
    assert [json.loads(line)["layer"] for line in lines.read_text().splitlines()] == ["A", "B", "C"]


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
    report = tmp_path / "page.md"
    assert suites.main(["--suite", "made_up", "--report", str(report)]) == code
    text = report.read_text(encoding="utf-8")
    assert text.splitlines()[2] == f"**Incomplete: without {why}.**"
    assert "| made_up:A |" in text and "| made_up:B |" not in text
    assert why in capsys.readouterr().out


def test_a_run_without_any_result_writes_no_page(made_up, tmp_path):
    made_up["A"] = KeyboardInterrupt()
    assert suites.main(["--suite", "made_up", "--report", str(tmp_path / "page.md")]) == 130
    assert not (tmp_path / "page.md").exists()


def test_an_interrupted_search_is_no_result():
    best = Measured(None, Timing((1.0,), 1.0))

    class Interrupted:
        def candidates(self, problem):
            return ["scheme"]

        def tune(self, schemes, **options):
            assert options["forget"] is True
            return Outcome(best, 1, 0, True)

    with pytest.raises(KeyboardInterrupt):
        run_layer(Interrupted(), "made_up", "A", PROBLEM, 1.0)


# What is refused before anything runs


@pytest.mark.parametrize(
    "main, arguments",
    [
        (suites.main, ["--budget", "0"]),
        (suites.main, ["--budget", "nan"]),
        (suites.main, ["--budget", "-3"]),
        (suites.main, ["--threads", "0"]),
        (suites.main, ["--threads", "two"]),
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


@pytest.mark.parametrize("module", [suites, model])
def test_a_layer_that_cannot_be_computed_is_left_out_with_the_reason(no_work, monkeypatch, capsys, module):
    monkeypatch.setattr(module, "suite", lambda name: [Layer("D1", "groups=2", 3, None, "no groups yet")])
    with pytest.raises(AssertionError, match="the run had begun"):
        module.main(["--suite", "made_up"])
    assert capsys.readouterr().err == "made_up:D1 is left out: no groups yet\n"


@pytest.mark.parametrize("main", [suites.main, model.main])
def test_an_unknown_suite_exits_2_with_a_sentence(no_work, capsys, main):
    assert main(["--suite", "resnet81"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("there is no suite 'resnet81'") and said.count("\n") == 1


@pytest.mark.parametrize(
    "main, option",
    [(suites.main, "--report"), (suites.main, "--json"), (model.main, "--report"), (latency.main, "--report")],
)
@pytest.mark.parametrize("place", ["", "a_file/page.md"])
def test_an_unwritable_file_is_found_before_anything_runs(no_work, tmp_path, capsys, main, option, place):
    (tmp_path / "a_file").write_text("", encoding="utf-8")
    assert main([option, str(tmp_path / place)]) == 1
    said = capsys.readouterr().err
    assert said.startswith(f"cannot write {tmp_path}") and said.count("\n") == 1


# For real


def test_a_layer_run_for_real_has_both_timings_and_errors():
    shop = workshop("portable")
    found = run_layer(shop, "tiny", "T", PROBLEM, 1.0)
    assert found.shape == canonical(PROBLEM) and found.flops == PROBLEM.flops and found.threads == 1
    for timing in (found.tuned, found.model):
        assert timing.samples and min(timing.samples) > 0 and timing.peak_gflops > 0
    assert 0 <= found.max_error < 1e-4 and 0 <= found.model_max_error < 1e-4
    assert found.trials >= 1 and 0 < found.search_seconds < found.total_seconds
    assert found.tuned_scheme and found.model_scheme == shop.candidates(PROBLEM)[0].text
