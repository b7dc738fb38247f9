"""One dtype by any of the names that libraries have for it."""

from __future__ import annotations

import json

import numpy as np
import pytest

from bench.command import main as bench_command
from cpu.runtime.machine.host import supports
from microkernels.tile.isa import isa_named
from search import generate_conv, generate_matmul, generate_program
from search.conv import main
from search.program import main as program_command
from tiling.dtypes.products import CPU_DTYPES, dtype_of, output_dtype_of
from tiling.problem import ProblemError
from tiling.program.infer import sized
from tiling.program.read import read
from tiling.text.shapes import canonical, parse_shape

SHAPE = {"c": 8, "h": 4, "w": 4, "k": 8, "r": 1, "s": 1}


class _Foreign:
    """As torch.bfloat16 is: an object that only its text names."""

    def __repr__(self):
        return "torch.bfloat16"


@pytest.mark.parametrize(
    "value, ours",
    [
        *[("f32", "f32"), ("float32", "f32"), (np.float32, "f32"), (np.dtype("float32"), "f32")],
        *[("bfloat16", "bf16"), (_Foreign(), "bf16"), (np.float16, "f16"), ("int8", "int8"), (np.int8, "int8")],
        *[(None, None), ("float64", "float64"), (7, 7)],
    ],
)
def test_a_dtype_has_many_names(value, ours):
    assert dtype_of(value) == ours


def test_an_output_of_int8_is_signed():
    assert [output_dtype_of(value) for value in ("int8", np.uint8, np.int32, "s32")] == ["s8", "u8", "s32", "s32"]


@pytest.mark.parametrize("dtype", ["float32", np.float32, np.dtype(np.float32)])
def test_python_takes_them(dtype):
    assert generate_conv(**SHAPE, dtype=dtype, output_dtype=dtype, isa="portable").problem.dtype == "f32"
    assert generate_matmul(m=4, n=8, k=8, dtype=dtype, isa="portable").problem.dtype == "f32"


def test_pytorchs_own_are_taken():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    assert [dtype_of(torch.bfloat16), dtype_of(torch.int8), output_dtype_of(torch.int8)] == ["bf16", "int8", "s8"]
    assert generate_conv(**SHAPE, dtype=torch.float32, isa="portable").problem.dtype == "f32"


def test_a_dtype_that_is_none_is_refused_by_the_name_it_was_given():
    covered = ", ".join(CPU_DTYPES.values())
    for dtype in ("float64", np.float64, ["f32"]):
        with pytest.raises(ProblemError, match=f"dtype .* is not covered on a CPU: {covered} are"):
            generate_conv(**SHAPE, dtype=dtype)


def test_a_gpu_takes_them():
    pytest.importorskip("cuda.bindings.nvrtc", reason="needs NVRTC")
    kernel = generate_conv(**SHAPE, dtype=np.float16, target="cuda-twin")
    assert kernel.problem.dtype == "f16"


def test_shapes_take_them():
    assert canonical(parse_shape("c=8,h=4,w=4,k=8,r=1,s=1,dtype=bfloat16,out=float32")).endswith("dtype=bf16,out=f32")


@pytest.mark.parametrize(
    "value, ours",
    [
        *[("float32", "f32"), (np.float64, "f64"), ("double", "f64"), (np.dtype("int64"), "s64"), (np.uint8, "u8")],
        *[("int8", "s8"), (np.bool_, "bool"), ("half", "f16"), (_Foreign(), "bf16"), ("f32", "f32")],
    ],
)
def test_programs_take_them(value, ours):
    program = sized(read("y[i] = x[i]"), {"i": 3}, dtype=value)
    assert [array.dtype for array in (*program.inputs, *program.assigned)] == [ours, ours]


def test_a_program_declares_them():
    kernel = generate_program("a: int32[3]; b: float64[3]\ny[i] = a[i] + b[i]", isa="portable")
    assert [array.dtype for array in kernel.inputs] == ["s32", "f64"]


@pytest.mark.parametrize("value", ["tf32", "complex64", np.complex128, ["f32"], None])
def test_a_program_refuses_what_it_does_not_compute_with(value):
    with pytest.raises(ProblemError, match=r"dtype=.* must be one of f32, f64, f16, bf16, s64,"):
        generate_program("y[i] = x[i]", i=3, dtype=value)


@pytest.mark.slow
def test_the_command_lines_take_them(monkeypatch, capsys):
    monkeypatch.setattr("search.flow.ranked.rank_first", lambda *_: None)  # dtype does not depend on the scheme
    shape = "c=8,h=4,w=4,k=8,r=1,s=1"
    options = ["--isa", "portable", "--model-only", "--json"]
    assert main(["--shape", shape, "--dtype", "float32", "--output-dtype", "float32", *options]) == 0
    assert json.loads(capsys.readouterr().out)["isa"] == "portable"
    assert program_command(["y[i] = 2 * x[i]", "--shape", "i=4", "--dtype", "float64", "--isa", "portable"]) == 0
    assert "x: f64[4]" in capsys.readouterr().out
    # The dtype is looked at before the layout.
    assert bench_command(["--suite", "resnet18", "--target", "cuda", "--dtype", "bfloat16", "--layout", "nchw"]) == 2
    assert "--layout nchw is not covered" in capsys.readouterr().err


@pytest.mark.slow
def test_int8_goes_out_as_a_library_says():
    if not supports(isa_named("avx512vnni").cpu_flags):
        pytest.skip("needs avx512vnni")
    kernel = generate_conv(**SHAPE, dtype="int8", output_dtype=np.int8, epilogue="y*scale[k]")
    assert kernel.problem.output_dtype == "s8"
