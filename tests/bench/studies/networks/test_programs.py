"""`bench.studies.networks.programs`: its page and messages, and one small workload with a made-up PyTorch."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import bench.studies.networks.programs as study
from bench import command
from bench.peers.networks.torch_programs import WORKLOADS, Workload
from cpu.runtime.processes.worker import CandidateError
from tiling.program.infer import sized
from tiling.program.read import read

RACES = [
    study.ProgramRace("A", 1, 2e-6, 1e-6, {"torch": 4e-6}, 8000),
    study.ProgramRace("B", 1, 2e-6, 1e-6, {"torch": 1e-6}, 8000),
]


@pytest.mark.parametrize("work", WORKLOADS, ids=lambda work: work.name)
def test_every_workload_is_a_program(work):
    program = sized(read(work.text), work.extents, work.shapes)
    assert {array.name for array in program.inputs} == set(work.shapes)


def test_the_page_says_where_pytorch_is_faster():
    page = study.page(
        [*RACES, study.ProgramRace("A", 2, 1e-6, 1e-6, {"torch": 2e-6}, 8000)], "python -m bench.programs", "PyTorch 0"
    )
    assert "PyTorch takes 1.00 times as long in the geometric mean, and is faster on 1 of 2: B." in page
    assert "## On 2 threads" in page and "| A | 1.0 | 1.0 | 8.0 | – | – | 2.0 | 2.00 |" in page


def test_the_page_has_the_share_of_the_bandwidth_and_the_cost_of_what_is_fused():
    found = study.ProgramRace("A", 1, 2e-6, 1e-6, {"torch": 4e-6}, 8000, least=8.7e-7, bare=9.9e-7)
    page = study.page([found], "python -m bench.programs", "PyTorch 0")
    assert "| A | 2.0 | 1.0 | 8.0 | 87 | 1.010 | 4.0 | 2.00 |" in page
    assert "8.0 GB/s =  87 % of the bandwidth, 1.010 times the bare one" in study.row(found)


def test_the_page_has_a_column_for_every_library():
    both = study.ProgramRace("A", 1, 2e-6, 1e-6, {"torch": 4e-6, "ort": 3e-6}, 8000)
    page = study.page([both, RACES[1]], "python -m bench.programs", "PyTorch 0")
    assert "The fastest of PyTorch, ONNX Runtime takes 0.87 times as long" in page
    assert (
        "| A | 2.0 | 1.0 | 8.0 | – | – | 4.0 | 3.0 | 1.50 |" in page
        and "| B | 2.0 | 1.0 | 8.0 | – | – | 1.0 | – | 0.50 |" in page
    )


class Tensor(np.ndarray):
    """An array with the method of a tensor."""

    def numpy(self):
        return np.asarray(self)


@pytest.fixture
def made_up(monkeypatch):
    """A made-up PyTorch, and one workload whose result is this factor times x."""

    def chosen(factor: float) -> None:
        work = Workload("double", "y[i] = 2 * x[i]", {"x": (100,)}, lambda torch, x: factor * x)
        monkeypatch.setattr(study, "WORKLOADS", (work,))

    torch = SimpleNamespace(from_numpy=lambda array: array.view(Tensor))
    monkeypatch.setitem(__import__("sys").modules, "torch", torch)
    monkeypatch.setattr(study.torch_cpu, "settle", lambda threads: None)
    return chosen


def test_a_workload_is_timed_in_turns(made_up):
    made_up(2)
    found = study.ProgramRace(**study.turns(number=0, threads=1, peers=["torch"], rounds=2, turn=1e-4))
    assert found.moved == 800 and min(found.ours, found.kernel, found.peers["torch"], found.least) > 0
    assert found.bare == 0
    assert found.missing == {}


def test_what_is_fused_is_timed_beside_the_bare_kernel(made_up, monkeypatch):
    made_up(2)
    twice = study.WORKLOADS[0]
    monkeypatch.setattr(study, "WORKLOADS", (replace(twice, bare="y[i] = x[i]"),))
    assert study.ProgramRace(**study.turns(number=0, threads=1, peers=["torch"], rounds=1, turn=1e-4)).bare > 0


@pytest.mark.parametrize("work", [w for w in WORKLOADS if w.bare], ids=lambda work: work.name)
def test_what_is_fused_reads_nothing_more(work):
    found, bare = (sized(read(text), work.extents, work.shapes) for text in (work.text, work.bare))
    assert found.inputs == bare.inputs


def test_a_library_that_fails_is_left_out_with_the_reason(made_up, monkeypatch):
    made_up(2)

    def fails(*arguments):
        raise RuntimeError("no such operator")

    monkeypatch.setitem(study.PROGRAM_PEERS, "ort", ("ONNX Runtime", "onnxruntime", fails))
    found = study.ProgramRace(**study.turns(number=0, threads=1, peers=["torch", "ort"], rounds=1, turn=1e-4))
    assert list(found.peers) == ["torch"] and found.missing == {"ort": "RuntimeError: no such operator"}
    with pytest.raises(CandidateError, match="double: no peer computes it"):
        study.turns(number=0, threads=1, peers=["ort"], rounds=1, turn=1e-4)


def test_a_result_that_is_not_pytorchs_is_an_error(made_up):
    made_up(2.1)
    with pytest.raises(CandidateError, match="double: the result is not PyTorch's"):
        study.turns(number=0, threads=1, peers=["torch"], rounds=1, turn=1e-4)


def test_runtime_extents_are_timed_beside_one_size(monkeypatch, capsys):
    case = study.runtime_extents.Case("twice", "y[i] = 2 * x[i]", {"i": "<=900"}, ({"i": 100}, {"i": 900}))
    monkeypatch.setattr(study.runtime_extents, "CASES", (case,))
    monkeypatch.setattr(study.runtime_extents, "ROUNDS", 1)
    assert study.main(["--runtime"]) == 0
    printed = capsys.readouterr().out
    assert "twice, i=100" in printed and "twice, i=900" in printed and printed.count("times") == 2
    assert study.main(["--runtime", "--only", "soft"]) == 2


def test_fused_maps_are_timed_beside_bare_kernels(monkeypatch, capsys):
    maps = study.fused_maps
    cases = [maps.Case("twice", "y[i] = 2 * x[i]", "y[i] = x[i]", {"i": 100})]
    cases.append(maps.Case("added", "y[i] = x[i] + z[i]", "y[i] = x[i]", {"i": 1000}))
    monkeypatch.setattr(maps, "CASES", tuple(cases))
    monkeypatch.setattr(maps, "ROUNDS", 1)
    assert study.main(["--fused"]) == 0
    head, twice, added = capsys.readouterr().out.splitlines()
    assert head == "on 1 thread:" and twice.startswith("twice") and twice.endswith("%") and "bare" in twice
    assert added.endswith("%, and reads 4 kB more")
    assert study.main(["--fused", "--only", "soft"]) == study.main(["--fused", "--runtime"]) == 2
    assert "--fused prints its own cases and nothing else" in capsys.readouterr().err


@pytest.mark.parametrize("case", study.fused_maps.CASES, ids=lambda case: case.name)
def test_every_case_of_fused_maps_is_a_program(case):
    whole, bare = (sized(read(text), case.extents, {}) for text in (case.text, case.bare))
    assert {array.name for array in bare.inputs} <= {array.name for array in whole.inputs}


@pytest.mark.parametrize("case", study.runtime_extents.CASES, ids=lambda case: case.name)
def test_every_case_of_runtime_extents_is_a_program(case):
    program = sized(read(case.text), case.bounds)
    assert program.runtime and all(set(size) == set(program.runtime) for size in case.sizes)


def test_messages(capsys, monkeypatch):
    assert study.main(["--peers", "ort", "inductor", "openvino"]) == 2
    assert capsys.readouterr().err == "openvino and inductor crash in one process: time one, then the other\n"
    assert study.main(["--only", "nothing"]) == 2
    assert "--only nothing: no program has this in its name; there are softmax BERT" in capsys.readouterr().err

    def missing():
        raise ModuleNotFoundError("torch")

    monkeypatch.setattr(study.torch_cpu, "version", missing)
    assert study.main(["--only", "soft"]) == 1
    assert capsys.readouterr().err == "PyTorch is missing: pip install 'tilewright[peers]'\n"


def test_the_suite_of_programs_is_this_study(monkeypatch):
    given = []
    monkeypatch.setattr(study, "main", lambda words: given.append(words) or 0)
    assert command.main(["--threads", "2", "--suite", "programs", "--only", "soft"]) == 0
    assert given == [["--threads", "2", "--only", "soft"]]
