"""`python -m microkernels`: rank, show and plot."""

import importlib.util
import json
import os
import subprocess
import sys
import threading
import time
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path

import filelock
import pytest

import microkernels.ranking.command as command_line
from cpu.runtime.machine.host import fingerprint, host
from cpu.runtime.processes.pool import Pool
from cpu.runtime.processes.worker import CandidateError, WorkerError
from microkernels.ranking import offline, plot
from microkernels.scores.catalog import Entry, Failure
from microkernels.scores.records import load, measured
from microkernels.tile.estimate import estimate
from microkernels.tile.isa import AVX2, EVERY_ISA, PORTABLE
from microkernels.tile.microkernel import parse
from microkernels.tile.space import quick, space
from tests.support.microkernels.cases import TILE, timing_at

ROOT = Path(__file__).parents[3]

pytestmark = pytest.mark.usefixtures("data_folder")


@pytest.fixture
def fake_workers(monkeypatch):
    monkeypatch.setattr(offline, "measure_in_workers", lambda jobs, l1_bytes: nullcontext(measure_with(l1_bytes)))
    monkeypatch.setattr(offline, "find_compiler", lambda: None)


def measure_with(l1_bytes):
    def measure(kernels):
        for kernel in kernels:
            if kernel.row_count == 5:
                yield kernel, "no answer within 60 s: killed"
            else:
                yield kernel, timing_at(kernel, estimate(kernel), l1_bytes)

    return measure


@pytest.mark.slow
def test_rank_show_and_plot(fake_workers, capsys, tmp_path):
    assert command_line.main(["rank", "--isa", "portable", "--quick"]) == 0
    printed = capsys.readouterr()
    count = len(quick(PORTABLE))
    assert printed.out.startswith(f"{count} measured in ")
    failed = sum(kernel.row_count == 5 for kernel in quick(PORTABLE))
    assert f"{failed} of them failed; 0 were measured before" in printed.out
    assert f"and {failed - 1} more: no answer within 60 s: killed" in printed.out
    assert printed.out.count("GFLOP/s") == 10
    assert 5 <= printed.err.count(" measured, best ") <= 11

    assert command_line.main(["rank", "--isa", "portable", "--quick", "--resume"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith(f"{failed} measured in "), "what took too long is tried again, and nothing else"
    assert f"{failed} of them failed; {count - failed} were measured before" in printed

    assert command_line.main(["show", "--isa", "portable", "--top", "3", "--json"]) == 0
    printed = capsys.readouterr()
    lines = [json.loads(line) for line in printed.out.splitlines()]
    assert len(lines) == 3 and printed.err == ""
    assert lines[0]["score"] >= lines[2]["score"] > 0
    assert parse(lines[0]["kernel"]).isa == "portable"
    assert lines[0]["samples"] == 3 and lines[0]["peak_gflops"] == 100.0

    assert command_line.main(["show", "--isa", "portable"]) == 0
    assert capsys.readouterr().out.count("\n") == count - failed + 1

    if importlib.util.find_spec("matplotlib"):
        assert command_line.main(["plot", "--isa", "portable", str(tmp_path / "map.png")]) == 0
        assert (tmp_path / "map.png").stat().st_size > 1000


@pytest.mark.parametrize("file", ["", "map", "/dev/full"])
def test_a_picture_has_the_name_that_is_given(file, capsys):
    """matplotlib would add .png, and so write beside the file that is named."""
    assert command_line.main(["plot", "--isa", "portable", file]) == 2
    assert capsys.readouterr().err == f"{file!r} names no kind of picture: end it in .png, .svg or .pdf\n"


def test_ctrl_c_keeps_what_is_done_and_says_how_to_resume(fake_workers, monkeypatch, capsys):
    def measure(kernels):
        yield kernels[0], timing_at(kernels[0], 0.5)
        raise KeyboardInterrupt

    monkeypatch.setattr(offline, "measure_in_workers", lambda jobs, l1_bytes: nullcontext(measure))
    assert command_line.main(["rank", "--isa", "portable", "--quick"]) == 130
    *_, kept, again = capsys.readouterr().err.splitlines()
    assert kept == "interrupted; what was measured is kept, and the next search may measure the rest"
    assert again == "continue with: python -m microkernels rank --isa portable --quick --resume"
    assert command_line.main(["show", "--isa", "portable", "--json"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 1


def test_a_machine_at_fault_is_one_sentence_and_no_kernel_s_failure(monkeypatch, capsys):
    def run(self, tasks):
        yield next(tasks), CandidateError("crashed with SIGSEGV")
        raise WorkerError("the cache folder \x1b[2J cannot be written")

    monkeypatch.setattr(offline, "find_compiler", lambda: None)
    monkeypatch.setattr(Pool, "run", run)
    assert command_line.main(["rank", "--isa", "portable", "--quick"]) == 1
    assert capsys.readouterr().err.splitlines()[-1] == r"the cache folder \x1b[2J cannot be written"
    catalog = load(offline.fingerprint(offline.host()), "portable")
    assert (catalog.entries, catalog.failures) == ((), (Failure(quick(PORTABLE)[0], "crashed with SIGSEGV"),))
    assert measured(offline.fingerprint(offline.host())) == {quick(PORTABLE)[0].name}


def test_show_without_a_ranking_says_how_to_make_one(capsys):
    assert command_line.main(["show", "--isa", "portable"]) != 0
    printed = capsys.readouterr()
    assert "python -m microkernels rank --isa portable --op conv2d" in printed.err and printed.out == ""


def test_what_cannot_be_ranked_is_refused_in_a_sentence(monkeypatch, capsys):
    assert command_line.main(["rank", "--isa", "avx9"]) == 2
    assert (
        capsys.readouterr().err
        == f"unknown instruction set 'avx9' (did you mean avx2?); known are {', '.join(EVERY_ISA)}\n"
    )
    bare = replace(offline.host(), flags=frozenset({"fma"}))
    monkeypatch.setattr(offline, "host", lambda: bare)
    assert command_line.main(["rank", "--isa", "avx512f"]) == 2
    assert capsys.readouterr().err == "this CPU does not run avx512f: it lacks avx512f, avx512vl\n"
    assert offline.usable_isa(None) == PORTABLE
    assert command_line.main(["rank", "--quick", "--stride", "2"]) == 2
    with pytest.raises(SystemExit) as ended:
        command_line.main(["rank", "--jobs", "0"])
    assert ended.value.code == 2


@pytest.mark.slow
def test_a_reader_that_has_enough_is_no_error(fake_workers):
    command_line.main(["rank", "--isa", "portable"])
    show = [sys.executable, "-m", "microkernels", "show", "--isa", "portable"]
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(show, cwd=ROOT, stdout=writing, stderr=subprocess.PIPE)
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, b"")


# The picture


@pytest.mark.slow
@pytest.mark.skipif(not importlib.util.find_spec("matplotlib"), reason="needs matplotlib, the extra [plot]")
def test_the_heat_map_is_written(tmp_path):
    entries = [Entry(kernel, estimate(kernel), timing_at(kernel, 0.5)) for kernel in space(AVX2)]
    plot.heat_map(entries, tmp_path / "map.png")
    assert (tmp_path / "map.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(plot.PlotError, match="nothing to draw"):
        plot.heat_map([], tmp_path / "none.png")
    with pytest.raises(plot.PlotError, match="cannot be written"):
        plot.heat_map(entries[:5], tmp_path / "no" / "folder.png")
    with pytest.raises(plot.PlotError, match="cannot be written"):
        plot.heat_map(entries[:5], tmp_path / "map.unknown")


@pytest.mark.slow
@pytest.mark.skipif(not importlib.util.find_spec("matplotlib"), reason="needs matplotlib, the extra [plot]")
def test_a_picture_says_along_which_dims_its_points_lie(monkeypatch, tmp_path):
    from matplotlib.axes import Axes

    said = []
    monkeypatch.setattr(Axes, "set_ylabel", lambda axis, text: said.append(text))
    flat, block = (parse(f"f32_conv2d_ukernel_{rows}x8k_s1__portable") for rows in ("3w", "2hx3w"))
    for kernels in ([flat], [flat, block]):
        plot.heat_map([Entry(kernel, 0.9, timing_at(kernel, 0.9)) for kernel in kernels], tmp_path / "map.png")
    assert said == ["output points along w", "output points along w × h"]


def test_without_matplotlib_the_picture_says_what_to_install(monkeypatch, tmp_path):
    for name in ("matplotlib", "matplotlib.figure", "matplotlib.backends.backend_agg"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(plot.PlotError, match=r"pip install 'tilewright\[plot\]'"):
        plot.heat_map([Entry(TILE, 0.9, timing_at(TILE, 0.9))], tmp_path / "map.png")


# Two at once


def test_a_ranking_waits_for_another_and_says_so(fake_workers, capsys, data_folder):
    data_folder.mkdir()
    other = filelock.FileLock(data_folder / "measuring.lock")
    other.acquire()
    waiting = threading.Thread(target=command_line.main, args=(["rank", "--isa", "portable", "--quick"],))
    waiting.start()
    said = ""
    while "another ranking or benchmark is measuring on this machine: this one begins when that has ended" not in said:
        assert waiting.is_alive()
        said += capsys.readouterr().err
        time.sleep(0.01)
    assert not load(fingerprint(host()), "portable").entries
    other.release()
    waiting.join(60)
    assert load(fingerprint(host()), "portable").entries


def test_who_waited_for_a_ranking_does_not_measure_again(fake_workers, monkeypatch):
    """The other one ranks between this one's first look and the end of its wait."""
    other = offline.rank_machine

    @contextmanager
    def waited(announce):
        monkeypatch.setattr(offline, "measuring_alone", lambda announce: nullcontext())
        other(quick(PORTABLE))
        yield

    monkeypatch.setattr(offline, "measuring_alone", waited)
    assert offline.machine_catalog(PORTABLE, announce=pytest.fail).entries
