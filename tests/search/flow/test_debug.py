"""What `TILEWRIGHT_DEBUG` has a search tell, level by level."""

from __future__ import annotations

import re
from io import StringIO

import pytest

from cpu.runtime.compiler.toolchain import CompileError
from search import generate_conv
from search.flow import debug
from tests.support.search.searching import SCHEME, SHAPE, conv

SEARCH = ["--shape", "c=4,h=6,w=6,k=8,r=1,s=1", "--isa", "portable", "--budget", "2", "--trials", "2", "--forget"]


@pytest.fixture
def no_ranking(monkeypatch):
    monkeypatch.setattr("search.flow.ranked.rank_first", lambda *_: None)


@pytest.mark.parametrize("level", range(6))
def test_every_level_tells_what_the_lower_ones_do_and_more(level, capsys, monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_DEBUG", str(level))
    generate_conv(c=4, h=6, w=6, k=8, r=1, s=1, isa="portable", threads=1)
    told = capsys.readouterr().err
    assert ("the best of" in told or "kept by an earlier search" in told) is (level >= 1)
    assert ("_pack(const" in told) is (level >= 4) and ("\t.section" in told) is (level >= 5)


@pytest.mark.slow
@pytest.mark.parametrize("level, schemes", [(2, False), (3, True)])
def test_measurements_and_candidates(level, schemes, capsys, monkeypatch, no_ranking):
    monkeypatch.setenv("TILEWRIGHT_DEBUG", str(level))
    assert conv(*SEARCH) == 0
    lines = capsys.readouterr().err.splitlines()
    timed = [line for line in lines if re.match(r"[\d.e-]+ ms( while [^ ].*)?  ", line)]  # while others disturb it
    assert timed
    assert (sum(line.endswith("V(k,4)") and line not in timed for line in lines) > 2) is schemes


@pytest.mark.slow
def test_nothing_is_told_without_it(capsys, monkeypatch):
    monkeypatch.delenv("TILEWRIGHT_DEBUG", raising=False)
    assert conv("--shape", SHAPE, "--scheme", SCHEME, "--isa", "portable") == 0
    assert capsys.readouterr().err == ""


class Closed(StringIO):
    """A stream whose reader is gone."""

    def write(self, text):
        raise BrokenPipeError


def test_what_cannot_be_told_costs_no_result(capsys, monkeypatch):
    def fail():
        raise CompileError("refused")

    monkeypatch.setenv("TILEWRIGHT_DEBUG", "1")
    debug.tell(1, fail)
    assert capsys.readouterr().err == "nothing can be told: refused\n"
    monkeypatch.setattr("sys.stderr", Closed())
    debug.tell(1, lambda: "told")


def test_a_level_that_is_no_number_is_said_once(capsys):
    debug.wanted.cache_clear()
    assert [debug.wanted("loud"), debug.wanted("loud"), debug.wanted("")] == [0, 0, 0]
    assert capsys.readouterr().err == "TILEWRIGHT_DEBUG='loud' is not a number from 0 to 5: nothing is told\n"
