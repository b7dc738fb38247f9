"""`python -m bench.tiles`: a line a case where there are tile registers, a sentence where there are none."""

from __future__ import annotations

import pytest

from bench.studies.kernels import tiles
from cpu.runtime.machine.host import tiles_given


@pytest.mark.isa("amxbf16")
def test_every_case_is_timed(capsys):
    if not tiles_given():
        pytest.skip("the system gives this process no tile registers")
    assert tiles.main([]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(" ns  ")[1] for line in lines] == list(tiles.CASES)
    assert all(float(line.split()[0]) > 0 for line in lines)


@pytest.mark.isa("amxbf16")
def test_an_unusable_cache_is_a_sentence(monkeypatch, capsys):
    if not tiles_given():
        pytest.skip("the system gives this process no tile registers")
    monkeypatch.setenv("TILEWRIGHT_CACHE", "/proc/nowhere")
    assert tiles.main([]) == 1
    assert "/proc/nowhere" in capsys.readouterr().err


def test_without_tile_registers_it_says_so(monkeypatch, capsys):
    monkeypatch.setattr(tiles, "tiles_given", lambda: False)
    assert tiles.main([]) == 1
    printed = capsys.readouterr()
    assert "no tile registers" in printed.err and printed.out == ""
