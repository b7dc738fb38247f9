"""Programs on a device: what is handed to CuPy, on a stand-in whose launches run the twin, and what is refused."""

from __future__ import annotations

import json
import pickle
import re
from random import Random

import numpy as np
import pytest

from cpu.runtime.numbers import from_bits
from gpu.runtime.kernel import array_dtype
from gpu.runtime.machine import loaded
from gpu.runtime.machine.device import DeviceError
from search import generate_program
from search.evaluator.gpu import cuda_programs
from search.evaluator.gpu.cuda_programs import CudaProgramKernel
from search.program import main
from tests.support.gpu.fake_device import H200_TELLS, OutOfMemory, fake_array
from tests.support.gpu.programs import expected, program_of
from tests.support.programs.programs import inputs_of, stored
from tiling.arguments import ArgumentError
from tiling.problem import ProblemError
from tiling.program.infer import sized
from tiling.program.read import read

ROWS = "s[i] = sum[j] x[i,j]; y[i,j] = x[i,j] * s[i]"


def kernel_of(program, fake_device):
    """A kernel whose launches the stand-in runs."""
    fake_device.program = None
    kernel = CudaProgramKernel(program)
    fake_device.program = kernel.emitted
    return CudaProgramKernel(program)


def placed(arrays, program):
    """The arrays as a device has them."""
    return [fake_array(stored(arrays[a.name], a.dtype).view(array_dtype(a.dtype))) for a in program.inputs]


def numbers_of(found, dtype):
    bits = np.asarray(found)
    return from_bits(bits.view(np.uint16), "bf16") if dtype == "bf16" else bits


# One launch of vector accesses; of a block a row; two launches with room between; one that reports; several outputs.
NAMES = ("narrow map", "rows", "one long sum", "gather", "truths")


@pytest.mark.parametrize("name", NAMES)
def test_a_call_hands_over_the_arrays_of_each_launch_in_order(name, fake_device):
    program = program_of(name)
    kernel, arrays = kernel_of(program, fake_device), inputs_of(program, Random(1))
    given = kernel(*placed(arrays, program))
    named = given if isinstance(given, dict) else {kernel.outputs[0].name: given}
    for array in kernel.outputs:
        found = numbers_of(named[array.name], array.dtype)
        np.testing.assert_array_equal(found, expected(program, arrays)[array.name])
    launches = kernel.emitted.launches
    assert (len(launches) > 1 and bool(kernel.emitted.between)) == (name == "one long sum")
    assert fake_device.launches == [(e.symbol, (e.grid.offset,), (e.threads,), e.shared_bytes) for e in launches]
    assert fake_device.attributes[-len(launches) :] == [(7, 8, each.shared_bytes) for each in launches]


@pytest.mark.parametrize("i, j", [(1, 1), (33, 70), (6, 300)])
def test_grids_follow_from_the_extents_of_a_call(i, j, fake_device):
    kernel = kernel_of(sized(read(ROWS), {"i": "<=40", "j": "<=300"}), fake_device)
    x = np.random.default_rng(0).integers(-2, 3, (i, j)).astype(np.float32)
    np.testing.assert_array_equal(kernel(fake_array(x)), x * x.sum(1, keepdims=True))
    known = {"i_extent": i, "j_extent": j}
    assert [grid for _, grid, _, _ in fake_device.launches] == [(e.grid.at(known),) for e in kernel.emitted.launches]
    with pytest.raises(ArgumentError, match="dim i has 41 points in x, but this kernel takes 1 to 40"):
        kernel(fake_array(np.zeros((41, 2), np.float32)))


def test_an_index_that_lies_outside_is_an_error_of_its_own_call_alone(fake_device):
    program = program_of("gather")
    kernel, x = kernel_of(program, fake_device), np.arange(99, dtype=np.float32).reshape(3, 33)
    right, wrong = np.zeros(9, np.int32), np.array([0, 1, 2, 3, 0, 0, 0, 0, 0], np.int32)
    for t in (right, wrong, right):
        arrays = {"x": fake_array(x), "t": fake_array(t)}
        if t is wrong:
            with pytest.raises(ArgumentError, match="an index that the program reads from an array lies outside"):
                kernel(**arrays)
        else:
            np.testing.assert_array_equal(kernel(**arrays), x[right])


def test_outputs_go_where_they_are_wanted(fake_device):
    program = sized(read(ROWS), {"i": 3, "j": 40}, outputs=("s", "y"))
    kernel, x = kernel_of(program, fake_device), fake_array(np.ones((3, 40), np.float32))
    out = {"s": fake_array(np.zeros(3, np.float32)), "y": fake_array(np.zeros((3, 40), np.float32))}
    assert kernel(x, out=out) is out
    assert (out["s"] == 40).all() and (out["y"] == 40).all()
    assert set(kernel(x)) == {"s", "y"}
    with pytest.raises(ArgumentError, match="out must be a dict of arrays for s, y"):
        kernel(x, out=out["y"])
    with pytest.raises(ArgumentError, match=r"out has shape \(4,\), but this kernel takes \(3,\)"):
        kernel(x, out={**out, "s": fake_array(np.zeros(4, np.float32))})
    both = fake_array(np.zeros((4, 40), np.float32))
    for s, y in ((out["s"], x), (both[1].reshape(-1)[:3], both[:3])):
        with pytest.raises(ArgumentError, match="out overlaps another array: pass memory of its own"):
            kernel(x, out={"s": s, "y": y})


def test_an_extent_that_only_the_output_tells(fake_device):
    kernel = kernel_of(sized(read("y[i] = 2 * i"), {"i": "<=9"}), fake_device)
    out = fake_array(np.zeros(7, np.int64))
    np.testing.assert_array_equal(kernel(out=out), 2 * np.arange(7))
    with pytest.raises(ArgumentError, match="no shape that is given tells how many points dim i has"):
        kernel()


def test_a_dlpack_tensor_gives_one_of_its_library(fake_device):
    kernel = kernel_of(sized(read("y[i] = 2 * x[i]"), {"i": 9}), fake_device)
    x = np.arange(9, dtype=np.float32)
    assert type(kernel(x)) is np.ndarray and type(kernel(fake_array(x))) is not np.ndarray
    np.testing.assert_array_equal(kernel(x), 2 * x)


@pytest.mark.parametrize(
    "given, words",
    [
        (([1.0],), "x is a list: give a CuPy array"),
        ((fake_array(np.zeros(9, np.float64)),), "x is float64, but this kernel takes float32"),
        ((fake_array(np.zeros(8, np.float32)),), r"x has shape \(8,\), but this kernel takes \(9,\)"),
        ((fake_array(np.zeros(18, np.float32))[::2],), "x is not contiguous"),
        ((fake_array(np.zeros(10, np.float32))[1:],), "x does not begin at a multiple of 16 bytes"),
        ((), "x is missing: the program takes x"),
    ],
)
def test_arrays_that_a_kernel_cannot_take(given, words, fake_device):
    kernel = kernel_of(sized(read("y[i] = 2 * x[i]"), {"i": 9}), fake_device)
    with pytest.raises(ArgumentError, match=words):
        kernel(*given)


def test_a_captured_call_has_room_of_its_own_that_stays(fake_device):
    kernel, x = kernel_of(program_of("one long sum"), fake_device), fake_array(np.ones(1 << 18, np.float32))
    fake_device.stream, fake_device.capturing = 5, {5}
    out = fake_array(np.zeros((), np.float32))
    for _ in range(2):
        assert float(kernel(x, out=out)) == 1 << 18
    assert fake_device.allowed == ["relaxed", "allocator None", "empty", "pool", "as before"] * 2
    first, second = (room["y_parts"] for room in kernel.loaded.captured)
    assert not np.shares_memory(first, second) and {id(kernel.loaded): kernel.loaded} == loaded._IN_GRAPHS
    fake_device.capturing = ()
    kernel(x, out=out)
    assert len(kernel.loaded.captured) == 2


def test_a_call_that_waits_is_not_captured_for_a_graph(fake_device):
    kernel = kernel_of(program_of("gather"), fake_device)
    fake_device.stream, fake_device.capturing = 5, {5}
    with pytest.raises(DeviceError, match="it cannot be captured for a CUDA graph"):
        kernel(x=fake_array(np.zeros((3, 33), np.float32)), t=fake_array(np.zeros(9, np.int32)))
    assert not fake_device.launches


def test_what_the_device_lacks_is_said(fake_device, monkeypatch):
    program = program_of("one long sum")
    kernel = kernel_of(program, fake_device)

    def full(*_):
        raise OutOfMemory("out of memory")

    monkeypatch.setattr(fake_device, "empty", full)
    out = fake_array(np.zeros((), np.float32))
    with pytest.raises(DeviceError, match=r"needs \d+ bytes of the GPU's memory beside its arrays: out of memory"):
        kernel(fake_array(np.zeros(1 << 18, np.float32)), out=out)
    monkeypatch.setitem(H200_TELLS, "sharedMemPerBlockOptin", 1)
    with pytest.raises(DeviceError, match=r"needs \d+ bytes of shared memory for a block, NVIDIA H200 has 1"):
        CudaProgramKernel(program)


def test_a_kernel_travels_as_its_program(fake_device):
    program = sized(read("y[i] = 2 * x[i]"), {"i": 9})
    kernel = kernel_of(program, fake_device)
    again = pickle.loads(pickle.dumps(kernel))
    assert again.program == program and again.loaded is not kernel.loaded
    assert repr(again) == "<CudaProgramKernel of y[i] = 2 * x[i]>"


def test_generate_program_needs_a_device_and_takes_no_option_of_the_cpu(fake_device, no_device):
    with pytest.raises(DeviceError, match="there is no CUDA device here"):
        generate_program("y[i] = x[i]", i=3, target="cuda")
    with pytest.raises(ProblemError, match="tune means nothing to a GPU's program"):
        generate_program("y[i] = x[i]", i=3, target="cuda", tune="measure", budget=2)


COMMAND = [ROWS, "--shape", "i=3,j=200", "--target", "cuda"]


def test_without_a_device_the_command_says_what_works(no_device, capsys):
    assert main(COMMAND) == 1
    assert "no device to run on: there is no CUDA device here; without one --show-passes" in capsys.readouterr().err
    assert main([*COMMAND, "--show-passes", "bind-rows"]) == 0
    assert "for warp in 0..4, warp:" in capsys.readouterr().out
    assert main([*COMMAND, "--budget", "3"]) == 2
    assert "--budget means nothing to a GPU's program" in capsys.readouterr().err


@pytest.mark.slow
def test_the_command_checks_and_times_in_a_worker(stand_in, capsys, monkeypatch, tmp_path):
    monkeypatch.setattr("search.commands.program.MEASURE_SECONDS", 0.01)
    assert main([*COMMAND, "--json", "--emit", str(tmp_path / "out")]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["target"] == "cuda" and found["machine"] == "NVIDIA H200, 132 multiprocessors, sm_90a"
    assert found["error"]["y"] < 1e-5 and found["unchecked"] == ""
    assert found["seconds"] > 0 and len(found["samples"]) >= 5 and found["bytes"] == 2 * 4 * 600
    assert found["bytes_per_second"] == pytest.approx(found["bytes"] / found["seconds"])
    assert found["copy_bytes_per_second"] > 0 and len(found["emitted"]) == 4


@pytest.mark.slow
def test_what_goes_wrong_in_the_worker_is_a_sentence(stand_in, capsys, monkeypatch):
    monkeypatch.setattr("search.commands.program.MEASURE_SECONDS", 0.01)
    stand_in({"program_y": "fault"})
    assert main(COMMAND) == 1
    assert "the kernel failed: ended with status 1" in capsys.readouterr().err
    stand_in({"program_y": "wrong"})
    assert main(COMMAND) == 1
    told = capsys.readouterr()
    assert not told.out and re.search(
        r"the kernel failed: y is \S+ from the definition where roundings explain", told.err
    )
    stand_in({})
    assert main(COMMAND) == 0
    found = capsys.readouterr().out
    assert "error against the definition in float64, of the largest value: y " in found
    assert "µs, median of " in found and "GB/s of the 4,800 bytes of its arrays" in found
    stand_in({"program_y": "hang"})
    monkeypatch.setattr(cuda_programs, "READY_SECONDS", 5.0)
    assert main(COMMAND) == 1
    assert "the kernel failed: no answer within 5 s" in capsys.readouterr().err
