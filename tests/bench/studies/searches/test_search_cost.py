"""`bench.studies.searches.search_cost`: points, means, page and picture; one small layer searched with made-up
contenders."""

import os
from importlib.util import find_spec

import pytest

import bench.studies.searches.search_cost as study
from bench.report.curves import Curve, curves
from bench.studies.searches.search_cost import OURS, Reached, Searched, along, page, picture, together
from cpu.runtime.processes.worker import CandidateError
from search.evaluator.cpu.backend import cpu_backend
from tiling.operators import matmul
from tiling.text.suite import Layer


def reached(*points):
    return tuple(Reached(after, seconds, percent) for after, seconds, percent in points)


FIRST = Searched(
    "net:A",
    {
        OURS: reached(("the model alone", 1.0, 80.0), ("8 s of budget", 8.0, 90.0)),
        "xtc": reached(("1 schedule", 10.0, 20.0), ("2 schedules", 20.0, 40.0), ("3 schedules", 30.0, 45.0)),
    },
    (("tvm", "it is not installed"),),
)
SECOND = Searched(
    "net:B",
    {
        OURS: reached(("the model alone", 3.0, 20.0), ("8 s of budget", 10.0, 40.0)),
        "xtc": reached(("1 schedule", 20.0, 5.0), ("2 schedules", 30.0, 10.0)),
    },
    (),
)


def test_earlier_points_of_a_search_are_slower_by_its_own_clock():
    found = along([(1, 2.0, 4e-3), (16, 3.0, 2e-3), (32, 5.0, 2e-3)], 50.0)
    assert found == reached(("1 schedule", 2.0, 25.0), ("16 schedules", 3.0, 50.0), ("32 schedules", 5.0, 50.0))
    assert along([], 50.0) == ()


def test_means_are_over_the_layers_that_were_searched():
    means = together([FIRST, SECOND])
    assert [(point.after, point.seconds) for point in means[OURS]] == [("the model alone", 2.0), ("8 s of budget", 9.0)]
    assert [point.percent for point in means[OURS]] == pytest.approx([40.0, 60.0])
    assert [(point.seconds, point.percent) for point in means["xtc"]] == [
        (15.0, pytest.approx(10.0)),
        (25.0, pytest.approx(20.0)),
    ]
    alone = Searched("net:C", {OURS: FIRST.searches[OURS]}, ())
    assert together([FIRST, alone])["xtc"] == FIRST.searches["xtc"]


def test_the_page_has_the_means_each_layer_and_who_is_left_out():
    said = page([FIRST, SECOND], 1, "python -m bench.search_cost", ["XTC: 0"], "search.svg")
    assert "| Tilewright | the model alone | 2.0 | 40.0 |" in said and "![" in said and "(search.svg)" in said
    assert "| XTC (TVM back end), best of its random schedules | 2 schedules | 25.0 | 20.0 |" in said
    assert "| net:B | Tilewright | 8 s of budget | 10.0 | 40.0 |" in said
    assert "- net:A, TVM MetaSchedule, best of its evolutionary search: it is not installed" in said
    assert "Left out" not in page([SECOND], 1, "", [], "") and "![" not in page([SECOND], 1, "", [], "")


def test_of_many_points_the_table_shows_a_few():
    many = reached(*((str(trial), float(trial), 1.0) for trial in range(1, 33)))
    assert [point.after for point in study._told(many)] == ["1", "2", "4", "8", "16", "32"]
    assert [point.after for point in study._told(many[:20])] == ["1", "2", "4", "8", "16", "20"]
    assert study._told(many[:4]) == list(many[:4])


@pytest.mark.skipif(not find_spec("matplotlib"), reason="needs matplotlib, the extra [plot]")
def test_the_picture_names_searches_and_budgets():
    svg = picture(together([FIRST, SECOND]))
    assert svg.startswith("<?xml") and "the model alone" in svg and "Tilewright" in svg and "1 schedule" in svg
    assert svg == picture(together([FIRST, SECOND])), "the same points give the same file"
    assert "seconds of search a layer" in curves([Curve("one", ((1.0, 120.0, ""),))], "FMA peak")


@pytest.fixture
def held(monkeypatch):
    """Contests in which each way of ours is twice as fast as the one before, and the peer's search had two trials."""
    jobs = []

    def hold(job, peers, target):
        jobs.append(job)
        flops = 2 * 24**3
        timings = {
            name: {"samples": [flops / (0.1 * 2**place * 100e9)], "peak_gflops": 100.0}
            for place, name in enumerate([*job["schemes"], *peers])
        }
        contenders = [{"name": name, "call": timing} for name, timing in timings.items()]
        return {"contenders": contenders, "skipped": [], "histories": {"made": [[1, 1.5, 3e-3], [16, 2.5, 1e-3]]}}, []

    monkeypatch.setattr(study, "held", hold)
    return jobs


@pytest.mark.slow
def test_a_layer_is_searched_by_the_model_and_with_each_budget(held, data_folder):
    before = os.environ.get("TILEWRIGHT_CACHE")
    found = study.searched("net:A", matmul(m=24, n=24, k=24), cpu_backend("portable"), [1.0], ["made"])
    assert os.environ.get("TILEWRIGHT_CACHE") == before
    ours = found.searches[OURS]
    assert [point.after for point in ours] == ["the model alone", "1 s of budget"]
    assert [point.percent for point in ours] == pytest.approx([10.0, 20.0]) and all(p.seconds > 0 for p in ours)
    assert [(p.seconds, p.percent) for p in found.searches["made"]] == [(1.5, pytest.approx(40 / 3)), (2.5, 40.0)]
    assert list(held[0]["schemes"]) == ["the model alone", "1 s of budget"] and "scheme" not in held[0]


@pytest.mark.slow
def test_a_peer_that_does_not_search_is_left_out_with_that_reason(held, data_folder):
    found = study.searched("net:A", matmul(m=24, n=24, k=24), cpu_backend("portable"), [], ["made", "other"])
    assert found.skipped == (("other", "it does not search"),) and not found.searches["other"]


def test_the_command_writes_the_page_and_goes_on_past_a_layer_that_fails(monkeypatch, tmp_path, capsys, data_folder):
    problem = matmul(m=24, n=24, k=24)
    layers = tuple(Layer(name, "…", 1, problem) for name in "ABC")
    monkeypatch.setattr(study, "chosen", lambda names: {"net": layers})
    monkeypatch.setattr("search.flow.ranked.rank_first", lambda *_: None)

    def made(name, *_):
        if name == "net:C":
            raise CandidateError("crashed with SIGILL")
        return FIRST if name == "net:A" else SECOND

    monkeypatch.setattr(study, "searched", made)
    report = tmp_path / "new" / "search-cost.md"
    assert study.main(["--layers", "net", "--peers", "none", "--report", str(report)]) == 1
    printed = capsys.readouterr()
    assert "net:C: crashed with SIGILL" in printed.err and "net:A" in printed.out
    said = report.read_text()
    assert "`python -m bench.search_cost --layers net --budgets 2 8 30 --peers none --threads 1 --report " in said
    assert report.with_suffix(".svg").exists() == bool(find_spec("matplotlib")) == ("search-cost.svg" in said)


def test_what_is_unknown_is_a_sentence(capsys):
    assert study.main(["--layers", "no_such"]) == 2 and "there is no suite 'no_such'" in capsys.readouterr().err
    assert study.main(["--peers", "no_such"]) == 2 and "there is no peer 'no_such'" in capsys.readouterr().err
