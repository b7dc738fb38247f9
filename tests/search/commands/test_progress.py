"""What a terminal shows of a search under way."""

from __future__ import annotations

from io import StringIO

from rich.console import Console

from cpu.runtime.output import terminal
from search.commands.progress import counted, shown
from search.tuner.tune import SearchState
from tests.support.search.searching import PROBLEM


def told(budget: float | None) -> str:
    console = Console(file=StringIO(), force_terminal=True, width=120)
    with shown(console, PROBLEM, 1, budget) as progress:
        progress(SearchState("measuring", 2, 8, best=4 * PROBLEM.flops))
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


def test_the_elapsed_time_stands_beside_the_budget():
    """No time left is guessed: steps differ too much, and a guess of two seconds has stood still for eight."""
    text = told(30.0)
    assert "measuring, best 25.0 % of peak" in text and "2/8" in text and "0:00:00" in text and "of 30 s" in text
    assert "-:--:--" not in text and "eta" not in text


def test_a_choice_of_the_model_has_no_budget():
    assert "measuring" in told(None) and " of 0" not in told(None) and "None" not in told(None)


def test_nothing_is_shown_where_there_is_no_terminal(capsys):
    assert terminal() is None
    with shown(terminal(), PROBLEM, 1, 30.0) as progress:
        progress(SearchState("measuring", 2, 8, best=4 * PROBLEM.flops))
    with counted(terminal()) as progress:
        progress(SearchState("compiling kernels", 1, 9))
    assert capsys.readouterr() == ("", "")


def counting(*stages: SearchState) -> str:
    console = Console(file=StringIO(), force_terminal=True, width=120)
    with counted(console) as progress:
        for stage in stages:
            progress(stage)
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


def test_steps_that_are_alike_have_a_count_and_the_time_left():
    text = counting(*(SearchState("compiling kernels", done, 8) for done in range(3)))
    assert "compiling kernels" in text and "2 of 8" in text and ("-:--:--" in text or "0:00:" in text)
    assert "reading" in counting(SearchState("reading"))


def test_other_steps_begin_a_count_of_their_own():
    text = counting(SearchState("listing candidates", 4, 4), SearchState("compiling kernels", 1, 9))
    assert "1 of 9" in text and "5 of" not in text


def test_a_terminal_is_found(monkeypatch):
    monkeypatch.setattr("sys.stderr", shown_on := StringIO())
    monkeypatch.setattr(shown_on, "isatty", lambda: True, raising=False)
    console = terminal()
    assert console is not None and console.is_terminal and console.stderr
