"""`python -m bench.schedules`: a line a schedule, and what changed since an earlier run."""

import json
from dataclasses import asdict, replace

import pytest

from bench.studies.kernels import schedules
from bench.studies.kernels.schedules import CompiledSchedule, main, table
from gpu.model.devices import DEVICES
from search.evaluator.gpu.backend import GpuBackend, gpu_target
from tests.support.gpu.compiling import needs_nvrtc

ONE = CompiledSchedule("product", "f16", "A100", "T(m,2)@block", 100, 4096, 0, 5, 2e-6)


# A schedule whose registers are a text.
WRONG = json.dumps([asdict(ONE) | {"registers": "a"}])


def test_changes_stand_beside_the_numbers():
    other = replace(ONE, scheme="T(n,2)@block")
    text = table([replace(ONE, registers=104, blocks=4), replace(other, predicted_seconds=1e-6)], [ONE])
    first, second = text.splitlines()[1:3]
    assert "104 (+4)" in first and "4 (-1)" in first and "4096" in first and "(" not in second.partition("T(")[0]
    assert "2 schedules, of which 1 were there before" in text
    assert text.endswith(
        "take more than before: 1 registers, 0 shared, 0 spilled, 0 predicted; of 1 a multiprocessor runs fewer blocks"
    )


def test_without_an_earlier_run_there_are_numbers_alone():
    assert table([ONE], []).endswith("1 schedules") and "2.0" in table([ONE], [])


@pytest.mark.slow
@needs_nvrtc
def test_a_run_is_compared_with_itself(tmp_path, capsys):
    where = ["--problem", "split", "--dtype", "f16", "--device", "A100", "--every", "90"]
    assert main([*where, "--json", str(tmp_path / "before.json")]) == 0
    assert main([*where, "--before", str(tmp_path / "before.json")]) == 0
    said = capsys.readouterr().out
    assert "2 were there before; of these take more than before: 0 registers, 0 shared, 0 spilled, 0 predicted" in said
    assert said.endswith("of 0 a multiprocessor runs fewer blocks\n")


@pytest.mark.parametrize("name", schedules.problems("f16"))
def test_every_problem_has_schedules_whose_threads_copy(name):
    backend = GpuBackend(gpu_target("cuda-twin", "f16", "A100"))
    assert len(backend.candidates(backend.problem(schedules.problems("f16")[name]))) > 50


@pytest.mark.parametrize(
    "threads, registers, shared_bytes, blocks",
    [(256, 255, 0, 1), (128, 168, 0, 3), (128, 169, 0, 2), (128, 32, 40 << 10, 4), (1024, 32, 0, 2), (32, 16, 0, 32)],
)
def test_blocks_are_as_many_as_registers_shared_memory_and_threads_allow(threads, registers, shared_bytes, blocks):
    """As NVIDIA's occupancy calculator says for 8.0."""
    assert DEVICES["A100"].blocks_at_once(threads, registers, shared_bytes) == blocks


def test_a_file_that_is_not_there_is_named(capsys):
    assert main(["--before", "nowhere.json"]) == 1
    assert capsys.readouterr().err == "cannot read nowhere.json: No such file or directory\n"


@pytest.mark.parametrize("text", ['[{"a": 1}]', "3", "[3]", "", "{", '{"a": 1}', "\xff", WRONG])
def test_a_file_of_something_else_is_one_sentence(text, tmp_path, capsys):
    path = tmp_path / "other.json"
    path.write_text(text, encoding="latin-1")
    assert main(["--before", str(path)]) == 1
    assert capsys.readouterr().err == f"{path} holds no schedules: give a file that --json wrote\n"


@pytest.mark.parametrize("number", ["0", "-2", "x"])
def test_every_takes_a_number_of_at_least_1(number, capsys):
    with pytest.raises(SystemExit) as ended:
        main([f"--every={number}"])
    said = f"argument --every: {number!r} is not a whole number of at least 1; see --help\n"
    assert ended.value.code == 2 and capsys.readouterr().err == f"python -m bench.schedules: error: {said}"


def test_where_nothing_can_be_written_nothing_is_compiled(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(schedules, "measured", lambda *given: pytest.fail("it compiles"))
    (tmp_path / "file").touch()
    path = tmp_path / "file" / "new.json"
    assert main(["--json", str(path)]) == 1
    assert capsys.readouterr().err.startswith(f"cannot write {path}: ")


def test_an_interruption_is_one_sentence(capsys, monkeypatch):
    def interrupted(*given):
        raise KeyboardInterrupt

    monkeypatch.setattr(schedules, "measured", interrupted)
    assert main([]) == 130
    assert capsys.readouterr().err == "interrupted: nothing is written\n"
