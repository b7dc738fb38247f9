"""`python -m bench.choice`, on made-up timings: who takes part, and what the model's choice loses."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

import bench.studies.accuracy.choice as choice
from tiling.machine import Timing
from tiling.operators import conv2d
from tiling.problem import ProblemError
from tiling.scheme.specifiers import SchemeError

PROBLEM = conv2d(c=4, h=6, w=6, k=8, r=1, s=1)


class MadeUp:
    """A back end and its evaluator: candidates A, B, C, ..., each with a timing or a reason why there is none."""

    isa = None

    def __init__(self, outcomes):
        self.outcomes, self.measured, self.target = outcomes, [], SimpleNamespace(threads=2, machine="box-1")

    def candidates(self, problem):
        return [SimpleNamespace(text=text) for text in self.outcomes]

    def parsed(self, problem, text):
        if text == "of an earlier version":
            raise SchemeError("it does not parse")
        return SimpleNamespace(text=text)

    def problem(self, problem):
        return problem

    def key(self, problem):
        return "key"

    def evaluator(self, problem):
        return self

    def close(self):
        pass

    def prepare(self, schemes, patience):
        return {s.text: "does not compile" for s in schemes if self.outcomes.get(s.text) == "does not compile"}

    def measure(self, scheme, seconds, patience):
        self.measured.append(scheme.text)
        return self.outcomes[scheme.text]


@pytest.fixture
def known(monkeypatch):
    """What an earlier search measured."""
    found = {}
    monkeypatch.setattr(choice.store, "measured", lambda key: found)
    return found


def test_the_choice_is_compared_with_the_fastest_by_seconds_times_peak(known):
    backend = MadeUp({"A": Timing((3.0,), 100.0), "B": Timing((1.0,), 200.0), "C": Timing((1.0,), 250.0)})
    found = choice.timed(backend, "made_up:A", PROBLEM, 3)
    assert found.schemes == ("A", "B", "C") and found.fastest == 1 and found.loss == pytest.approx(0.5)
    assert found.percent(1) == pytest.approx(100 * PROBLEM.flops / (1.0 * 2 * 200e9))  # two threads at 200 GFLOP/s
    assert backend.measured == ["A", "B", "C"] * choice.ROUNDS  # in turns


def test_the_fastest_of_an_earlier_search_takes_part(known):
    known.update(X=Timing((1.0,), 300.0), Y=Timing((2.0,), 100.0), Z="does not compile", A=Timing((3.0,), 100.0))
    backend = MadeUp({"A": Timing((3.0,), 100.0), "Y": Timing((2.0,), 100.0)})
    assert choice.timed(backend, "made_up:A", PROBLEM, 1).schemes == ("A", "Y")
    known["A"] = Timing((1.0,), 100.0)  # a candidate itself: it takes part once
    assert choice.timed(backend, "made_up:A", PROBLEM, 1).schemes == ("A",)
    known["of an earlier version"] = Timing((0.1,), 100.0)
    assert choice.timed(backend, "made_up:A", PROBLEM, 1).schemes == ("A",)
    with pytest.raises(ProblemError, match="no candidate"):
        choice.timed(MadeUp({}), "made_up:A", PROBLEM, 1)


def test_candidates_that_fail_are_left_out_and_a_choice_that_fails_is_told(known):
    good = Timing((1.0,), 100.0)
    backend = MadeUp({"A": good, "B": "does not compile", "C": "wrong result", "D": good})
    assert choice.timed(backend, "made_up:A", PROBLEM, 4).schemes == ("A", "D")
    assert backend.measured.count("B") == 0 and backend.measured.count("C") == 1
    with pytest.raises(ProblemError, match="the model's choice cannot be timed: A"):
        choice.timed(MadeUp({"A": "wrong result", "B": good}), "made_up:A", PROBLEM, 2)


def test_the_page_has_a_table_for_each_number_of_threads():
    one = choice.Choice("made_up:A", PROBLEM, 1, ("A", "B"), (1.1, 1.0))
    two = choice.Choice("made_up:B", PROBLEM, 2, ("A",), (1.0,))
    text = choice.page([one, two], "python -m bench.choice", "box-1", 16)
    assert "## On 1 thread\n\nThe model's choice takes 10.0 % longer" in text and "at most 5 % on 0 of 1." in text
    assert "| 2 | 0.0 | 0.0 | 10.0 % | `A` | `B` |" in text and "| 1 | 0.0 | 0.0 | 0.0 % | `A` | the same |" in text
    assert "the 15 candidates" in text and text.index("On 1 thread") < text.index("On 2 threads")


def test_of_cold_calls_the_choice_for_warm_ones_takes_part(known):
    cold = MadeUp({"A": Timing((2.0,), 100.0), "B": Timing((2.2,), 100.0), "W": Timing((2.5,), 100.0)})
    found = choice.timed(cold, "made_up:A", PROBLEM, 2, MadeUp({"W": Timing((1.0,), 100.0)}))
    assert found.schemes == ("A", "B", "W") and found.warm == "W" and found.warm_longer == pytest.approx(0.25)
    assert "The choice for warm calls takes 25.0 % longer than that for cold calls" in choice.summary([found])
    text = choice.page([found], "python -m bench.choice", "box-1", 2, "cold")
    assert "kernels alone, with all arrays in memory," in text and "| 0.0 % | +25.0 % | `A` | the same |" in text
    same = choice.timed(cold, "made_up:A", PROBLEM, 2, MadeUp({"A": Timing((1.0,), 100.0)}))
    assert same.schemes == ("A", "B") and same.warm == "A" and same.warm_longer == 0.0
    failed = choice.timed(
        MadeUp(cold.outcomes | {"W": "wrong result"}), "made_up:A", PROBLEM, 2, MadeUp({"W": Timing((1.0,), 100.0)})
    )
    assert failed.schemes == ("A", "B") and failed.warm == "" and "warm" not in choice.summary([failed])


def test_a_layer_that_is_measured_ends_in_a_line_and_a_page(known, monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(choice, "machine_catalog", lambda *_, **__: None)
    backend = MadeUp({"A": Timing((2.0,), 100.0), "B": Timing((1.0,), 100.0)})
    monkeypatch.setattr(choice, "cpu_backend", lambda *_, **__: backend)
    assert (
        choice.main(
            ["--suite", "resnet18:R11", "--threads", "2", "--candidates", "2", "--report", str(tmp_path / "page.md")]
        )
        == 0
    )
    line, sentence = capsys.readouterr().out.splitlines()
    assert line.startswith("resnet18:R11   on 2 threads: ") and line.endswith("100.0 % behind the fastest of 2")
    assert sentence.startswith("The model's choice takes 100.0 % longer")
    assert (tmp_path / "page.md").read_text().count("resnet18:R11") == 3


def test_a_layer_whose_choice_cannot_be_timed_is_left_out(known, monkeypatch, capsys):
    monkeypatch.setattr(choice, "machine_catalog", lambda *_, **__: None)
    monkeypatch.setattr(choice, "cpu_backend", lambda *_, **__: MadeUp({"A": "wrong result"}))
    assert choice.main(["--suite", "resnet18:R11"]) == 0
    assert capsys.readouterr().err == "resnet18:R11 is left out: the model's choice cannot be timed: A\n"
