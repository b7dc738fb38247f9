"""`bench.studies.kernels.deployed`: its arithmetic, and one tiny kernel tuned, saved, compiled into its program and
timed in turns.
"""

from __future__ import annotations

import pytest

import bench.studies.kernels.deployed as deployed
from cpu.runtime.processes.worker import CandidateError
from search.evaluator.cpu.backend import cpu_backend
from search.evaluator.cpu.evaluator import CpuEvaluator
from search.tuner import store
from tiling.machine import Timing
from tiling.text.notation import parse
from tiling.text.shapes import parse_shape

SHAPE = "c=8,h=6,w=6,k=8,r=1,s=1"
SCHEME = "R(k) R(h) S(y) T(c,8) U(w,6) V(k,4)"


@pytest.fixture
def chosen(monkeypatch):
    """A search was done before, and a turn is short."""
    monkeypatch.setattr(deployed, "ROUNDS", 2)
    monkeypatch.setattr(deployed, "TURN_SECONDS", 0.02)
    problem = parse_shape(SHAPE)
    store.choose(cpu_backend("portable").key(problem), "measure", SCHEME, Timing((1e-6,), 10.0))


def test_what_a_turn_is_compared_by():
    scheme = parse(parse_shape(SHAPE), SCHEME)
    assert deployed.Turns(scheme, (4.0, 1.0, 2.0), (1.1, 2.02, 4.4)).slower == pytest.approx(0.1)


@pytest.mark.slow
def test_a_saved_kernel_is_timed_beside_the_tuned_one(chosen, capsys):
    assert deployed.main(["--shape", SHAPE, "--isa", "portable"]) == 0
    assert f"{SHAPE} as {SCHEME}" in capsys.readouterr().out


def test_a_program_that_fails_is_a_sentence(chosen, capsys, monkeypatch, tmp_path):
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\necho no memory >&2\nexit 3\n")
    program.chmod(0o755)
    monkeypatch.setattr(deployed, "_example", lambda folder, library: program)
    assert deployed.main(["--shape", SHAPE, "--isa", "portable"]) == 1
    assert "the saved program failed with status 3: no memory" in capsys.readouterr().err


def test_bad_options_are_sentences(capsys):
    assert deployed.main(["--shape", "c=0"]) == 2
    assert deployed.main(["--shape", SHAPE, "--isa", "avx9"]) == 2
    assert "Traceback" not in capsys.readouterr().err


def test_a_candidate_that_fails_is_a_sentence(chosen, capsys, monkeypatch):
    def measure(*_):
        raise CandidateError("crashed with SIGILL")

    monkeypatch.setattr(CpuEvaluator, "measure", measure)
    assert deployed.main(["--shape", SHAPE, "--isa", "portable"]) == 1
    assert "the kernel failed: crashed with SIGILL" in capsys.readouterr().err
