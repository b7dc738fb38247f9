"""Programs for a GPU from the command line and from Python."""

import json
from pathlib import Path

import numpy as np
import pytest

from search import ProblemError, generate_program
from search.program import main

TEXT = "s[i] = sum[j] x[i,j]; y[i,j] = x[i,j] / s[i]"


def test_a_program_runs_on_the_twin(capsys, tmp_path):
    folder = tmp_path / "out"
    assert main([TEXT, "--shape", "i=3,j=200", "--target", "cuda-twin", "--json", "--emit", str(folder)]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["launches"] == [{"blocks": "1", "threads": 128, "shared_bytes": 16}]
    assert facts["error"]["y"] < 1e-5
    text, *others = map(Path, facts["emitted"])
    assert text.suffix == ".cu" and 'extern "C" __global__' in text.read_text(encoding="utf-8")
    assert [path.suffix for path in others] in ([], [".cubin", ".h", ".c"])  # without NVRTC there is only the text
    assert all(path.parent == folder and path.exists() for path in others)


def test_show_passes_prints_one_of_them(capsys):
    assert main([TEXT, "--shape", "i=3,j=200", "--target", "cuda-twin", "--show-passes", "bind-rows"]) == 0
    assert "for warp in 0..4, warp:" in capsys.readouterr().out


def test_the_report_counts_launches(capsys):
    assert main(["y[i] = 2 * x[i]", "--shape", "i=100", "--target", "cuda-twin"]) == 0
    assert "launch 0     1 block of " in capsys.readouterr().out


@pytest.mark.parametrize(
    "more, words", [(["--threads", "2"], "--threads means nothing"), (["--show-passes", "x"], "no such pass")]
)
def test_what_cannot_be_done_is_said(more, words, capsys):
    assert main([TEXT, "--shape", "i=3,j=200", "--target", "cuda-twin", *more]) == 2
    assert words in capsys.readouterr().err


def test_generate_program_takes_a_target():
    kernel = generate_program("y[i,j] = 2 * x[i,j]", i=3, j=5, target="cuda-twin")
    x = np.arange(15, dtype=np.float32).reshape(3, 5)
    np.testing.assert_array_equal(kernel(x), 2 * x)
    with pytest.raises(ProblemError, match="means nothing"):
        generate_program("y[i] = x[i]", i=3, target="cuda-twin", threads=2)
