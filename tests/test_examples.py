"""The programs of examples/, run as a user runs them."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from graph.compile import main as compile_command

EXAMPLES = Path(__file__).parents[1] / "examples"


def run(name: str, *words: str, cwd: Path | None = None) -> str:
    """What the example prints; it must end well. cwd: the folder that it is run in."""
    environment = {**os.environ, "PYTHONPATH": str(EXAMPLES.parent)}
    command = [sys.executable, str(EXAMPLES / f"{name}.py"), *words]
    ended = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=cwd, timeout=600)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


def test_every_example_is_run_here():
    text = Path(__file__).read_text()
    assert {path.stem for path in EXAMPLES.glob("*.py")} == set(re.findall(r'run\("(\w+)"', text))


@pytest.mark.slow
def test_a_layer_from_python():
    printed = run("layer")
    assert printed.count("y (1, 56, 56, 64)") == 3
    assert re.search(r"computed by .*V\(k,\d+\)\n[0-9.]+ ms a call, \d+% of peak", printed)


@pytest.mark.slow
def test_a_fused_block_on_pytorchs_tensors():
    if not importlib.util.find_spec("torch"):
        pytest.skip("PyTorch is not installed")
    assert "y is a Tensor of (1, 32, 14, 14), channels last: True" in run("pytorch_block")


@pytest.mark.slow
def test_a_saved_kernel_called_from_threads_of_cpp(tmp_path):
    if not shutil.which("c++"):
        pytest.skip("there is no C++ compiler")
    printed = run("cpp_threads", cwd=tmp_path)
    assert printed.count("wrote ") == 7 and len(set(re.findall(r"image \d: sum (-?\d+)", printed))) > 1
    assert (tmp_path / "layer" / "layer.so").exists(), "without a folder it writes where it is run"


@pytest.mark.slow
def test_a_model_that_the_commands_take(tmp_path, capsys):
    assert "wrote " in run("write_model", str(tmp_path / "model.onnx"))
    assert compile_command([str(tmp_path / "model.onnx"), "--explain"]) == 0
    printed = capsys.readouterr().out
    assert "y: f32[1, 16, 1, 1]" in printed and "1 of them a product of 0.000885 GFLOP" in printed


@pytest.mark.parametrize(
    "name, package, extra", [("write_model", "onnx", "models"), ("pytorch_block", "torch", "torch")]
)
def test_an_example_says_what_to_install(name, package, extra):
    file = EXAMPLES / f"{name}.py"
    without = f"import runpy, sys; sys.modules[{package!r}] = None; runpy.run_path({str(file)!r})"
    environment = {**os.environ, "PYTHONPATH": str(EXAMPLES.parent)}
    ended = subprocess.run(
        [sys.executable, "-c", without], capture_output=True, text=True, env=environment, timeout=600
    )
    assert ended.returncode == 1
    assert re.fullmatch(rf"this example needs \w+: pip install 'tilewright\[{extra}\]'\n", ended.stderr)


@pytest.mark.slow
def test_a_gpu_kernel_on_a_machine_without_one(tmp_path):
    printed = run("gpu_kernel", str(tmp_path))
    assert (cuda := list(tmp_path.glob("*.cu"))) and str(cuda[0]) in printed
    assert "exact on small integers, on the twin" in printed


@pytest.mark.slow
def test_reading_a_scheme():
    printed = run("read_scheme")
    assert "for w in 2 steps of 4:" in printed and "for w in 1 step of 6 from 8:" in printed
    assert "f32_conv2d_ukernel_4wx32k_s1__avx512f, f32_conv2d_ukernel_6wx32k_s1__avx512f" in printed
