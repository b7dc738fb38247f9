"""`bench.studies.kernels.fused`: its arithmetic and page, and one tiny kernel timed beside its fused forms."""

from __future__ import annotations

import pytest

import bench.studies.kernels.fused as fused
from cpu.runtime.processes.worker import CandidateError
from search.evaluator.cpu.backend import cpu_backend
from search.tuner import store
from tiling.machine import Timing
from tiling.text.notation import parse
from tiling.text.shapes import parse_shape

SHAPE = "c=8,h=6,w=6,k=8,r=1,s=1"
SCHEME = "R(k) R(h) S(y) T(c,8) U(w,6) V(k,4)"


@pytest.fixture
def chosen(monkeypatch):
    """A search was done before, and a turn is short."""
    monkeypatch.setattr(fused, "ROUNDS", 3)
    monkeypatch.setattr(fused, "TURN_SECONDS", 0.005)
    store.choose(cpu_backend("portable").key(parse_shape(SHAPE)), "measure", SCHEME, Timing((1e-6,), 10.0))


def costs(threads: int = 1) -> fused.Costs:
    def turns(*seconds):
        return tuple(Timing((each,), 2.0) for each in seconds)

    bare, scheme = turns(1e-6, 2e-6, 9e-6), parse(parse_shape(SHAPE), SCHEME)
    return fused.Costs(
        "R3",
        scheme,
        threads,
        bare,
        (("relu(y + b)", turns(1.01e-6, 2.04e-6, 8e-6)), ("y + z", turns(2e-6, 4e-6, 9e-6))),
    )


def test_a_cost_is_the_median_of_the_turns_ratios():
    assert costs().seconds == 2e-6
    assert costs().fraction_of_peak == pytest.approx(2 * 8 * 8 * 36 / 2e-6 / 2e9)
    assert costs().costs == pytest.approx({"relu(y + b)": 0.01, "y + z": 1.0})


def test_the_page_counts_what_is_dear():
    page = fused.page([costs(), costs(2)], "python -m bench.fused")
    assert "## On 1 thread" in page and "## On 2 threads" in page
    assert "- `relu(y + b)`: 1.0 % in the median, over 2 % on 0 of 1." in page
    assert "- `y + z`: 100.0 % in the median, over 2 % on 1 of 1." in page
    assert f"| R3 | 0.002 | 115.2 | +1.0 % | +100.0 % | `{SCHEME}` |" in page


@pytest.mark.slow
def test_a_kernel_is_timed_beside_its_fused_forms(chosen, capsys, tmp_path):
    asked = ["--shape", SHAPE, "--isa", "portable", "--report", str(tmp_path / "fused.md")]
    assert fused.main(asked) == 0
    said = capsys.readouterr().out
    assert SHAPE in said and "relu(y + b + z)" in said and SCHEME in said
    assert SCHEME in (tmp_path / "fused.md").read_text()


@pytest.mark.slow
def test_an_epilogue_of_the_shape_gives_way_to_those_compared(chosen, capsys):
    assert fused.main(["--shape", f"{SHAPE},epilogue=y*scale", "--isa", "portable"]) == 0
    assert "relu(y + b)" in capsys.readouterr().out


def test_what_goes_wrong_is_a_sentence(chosen, capsys, monkeypatch):
    assert fused.main(["--shape", "c=0"]) == 2
    assert fused.main(["--suite", "nosuch"]) == 2
    assert fused.main(["--shape", f"{SHAPE},dtype=f16"]) == 2
    assert fused.main(["--shape", f"{SHAPE},dtype=int8"]) == 2

    def call(*_, **__):
        raise CandidateError("crashed with SIGILL")

    monkeypatch.setattr(fused.Worker, "call", call)
    assert fused.main(["--shape", SHAPE, "--isa", "portable"]) == 1
    said = capsys.readouterr().err
    assert f"{SHAPE} on 1 thread: the kernel failed: crashed with SIGILL" in said and "Traceback" not in said
    assert "dtype 'f16' is not covered on a CPU" in said
