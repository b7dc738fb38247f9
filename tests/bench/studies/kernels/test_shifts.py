"""`bench.studies.kernels.shifts`: every way computes the definition; the page says what is missing."""

from importlib.util import find_spec

import numpy as np
import pytest

import bench.studies.kernels.shifts as study
from bench.studies.kernels.shifts import Task, Times, page, shifted, tasks, turns
from cpu.runtime.processes.worker import CandidateError

pytestmark = pytest.mark.usefixtures("data_folder")
SMALL = Task("small", 2, 5, 6, 20, 8)  # groups of 3, the last of 2: six shifts and a bit


def test_the_tasks_are_triton_s():
    assert [(t.name, t.n, t.h, t.w, t.c, t.k) for t in tasks()] == [
        *(("T1", 4, 112, 112, 64, 128), ("T2", 4, 56, 56, 128, 256), ("T3", 4, 28, 28, 256, 512)),
        *(("T4", 4, 14, 14, 512, 512), ("T5", 4, 7, 7, 512, 512)),
    ]


def test_a_shifted_image_is_that_of_every_pixel():
    x = np.random.default_rng(0).random((1, 3, 4, 20), np.float32)
    small = Task("small", 1, 3, 4, 20, 8)
    found = shifted(small, x)
    rows, columns = small.shifts
    assert set(zip(rows.tolist(), columns.tolist())) == {(n // 3 - 1, n % 3 - 1) for n in range(7)}
    for h, w, c in np.ndindex(3, 4, 20):
        at = (h + rows[c], w + columns[c])
        inside = 0 <= at[0] < 3 and 0 <= at[1] < 4
        assert found[0, h, w, c] == (x[0, at[0], at[1], c] if inside else 0)


@pytest.mark.slow
@pytest.mark.parametrize("threads", [1, 2])
def test_every_way_computes_the_definition(threads):
    ways = [way for way in study.WAYS if way != "torch" or find_spec("torch")]
    given = {"task": vars(SMALL), "threads": threads, "ways": ways, "rounds": 1, "turn": 0.001}
    found = Times(**turns(**given))
    assert found.missing == {} and set(found.seconds) == set(ways) and min(found.seconds.values()) > 0


def test_a_way_that_is_wrong_ends_the_task_and_one_that_fails_is_left_out(monkeypatch):
    def failing(*_):
        raise RuntimeError("no such thing")

    monkeypatch.setitem(study._READY, "torch", failing)
    monkeypatch.setitem(study._READY, "steps", lambda task, x, f, threads: lambda: shifted(task, x) @ f.T)
    given = {"task": vars(SMALL), "threads": 1, "rounds": 1, "turn": 0.001}
    found = turns(**given, ways=["steps", "torch"])
    assert found["missing"] == {"torch": "RuntimeError: no such thing"} and set(found["seconds"]) == {"steps"}
    monkeypatch.setitem(study._READY, "torch", lambda task, x, f, threads: lambda: shifted(task, x) @ f.T + 1)
    with pytest.raises(CandidateError, match=r"small: PyTorch.*480 numbers are wrong"):
        turns(**given, ways=["steps", "torch"])


def test_the_page_has_a_row_a_task_and_says_what_is_missing():
    found = [Times("T1", 1, {"fused": 2e-3, "steps": 1e-3}, {"torch": "it is not there"})]
    said = page(found, "python -m bench.shifts", "without PyTorch")
    assert "| task | threads | fused | steps |" in said and "| T1 | 1 | 2.00 | 1.00 |" in said
    assert "- T1: 4x112x112x64 to 128 channels" in said and "- without torch: it is not there" in said
    assert "two arrays" not in said


def test_the_command_prints_and_writes(monkeypatch, tmp_path, capsys):
    def made(task, threads, ways):
        if task.name == "T2":
            raise CandidateError("crashed with SIGSEGV")
        return Times(task.name, threads, {"steps": 1e-3}, {})

    monkeypatch.setattr(study, "measured", made)
    assert study.main(["--ways", "steps", "--report", str(tmp_path / "shifts.md")]) == 1
    printed = capsys.readouterr()
    assert "T1 on 1 thread: steps 1.00 ms" in printed.out and "T2 on 1 thread: crashed with SIGSEGV" in printed.err
    assert "--threads 1 --ways steps --report" in (tmp_path / "shifts.md").read_text()
