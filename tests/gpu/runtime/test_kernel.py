"""The callable kernel: what it refuses, what it hands to CuPy, and, where there is a GPU, that it is right."""

import gc
import pickle
import re
import sys
import threading
import weakref
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import gpu.runtime.kernel
import gpu.runtime.machine.device
import gpu.runtime.machine.loaded
from cpu.runtime.compiler.toolchain import CompileError
from cpu.runtime.numbers import from_bits, to_bits
from gpu.codegen.loops.scheme import emit_scheme
from gpu.model.devices import DEVICES
from gpu.model.predict import rank
from gpu.model.space import candidates
from gpu.runtime.compiler.compile import Cubin, compile_cubin
from gpu.runtime.kernel import ArgumentError, check_array, choose, load
from gpu.runtime.machine.device import DeviceError, current_device, described
from search.evaluator.gpu.measure import compiled
from tests.support.gpu.cases import PROBLEM, SPLIT, check_on_twin, expected, integers, product_scheme
from tests.support.gpu.compiling import needs_nvrtc
from tests.support.gpu.fake_device import H200_TELLS, fake_array
from tiling.epilogue import fused
from tiling.machine import Timing
from tiling.operators import conv2d, matmul


def test_a_launch_hands_over_the_grid_the_threads_and_the_shared_memory(fake_device):
    scheme = fake_device.scheme = product_scheme(PROBLEM)
    kernel = load(scheme)
    assert kernel.loaded.cubin.architecture == "sm_90a"
    inputs = integers(PROBLEM)
    arrays = [fake_array(to_bits(array, "f16")) for array in inputs]
    output = kernel(*arrays)
    np.testing.assert_array_equal(output, expected(PROBLEM, *inputs))
    source = kernel.source
    assert fake_device.launches == [(source.symbol, (source.grid,), (source.threads,), source.shared_bytes)]
    assert fake_device.attributes == [(7, 8, source.shared_bytes)]


def test_a_kernel_travels_as_its_scheme(fake_device):
    fake_device.scheme = product_scheme(PROBLEM)
    kernel = replace(load(fake_device.scheme), timing=Timing((1e-3,), 1e5))
    again = pickle.loads(pickle.dumps(kernel))
    assert (again.scheme, again.timing) == (kernel.scheme, kernel.timing) and again.loaded is not kernel.loaded
    inputs = integers(PROBLEM)
    np.testing.assert_array_equal(again(*(fake_array(to_bits(a, "f16")) for a in inputs)), expected(PROBLEM, *inputs))


def test_every_stream_has_semaphores_and_partial_sums_of_its_own(fake_device):
    fake_device.scheme = SPLIT
    kernel, arrays = load(SPLIT), [fake_array(to_bits(array, "f16")) for array in integers(PROBLEM)]
    for stream in (0, 5, 0):
        fake_device.stream = stream
        np.testing.assert_array_equal(kernel(*arrays), expected(PROBLEM, *integers(PROBLEM)))
    first, second, third = fake_device.workspaces
    assert [a.size for a in first] == [kernel.source.semaphores, kernel.source.partial_sums]
    assert first[0] is third[0] is not second[0] and not first[0].any()


def test_in_threads_default_streams_are_different_streams(fake_device):
    fake_device.scheme, fake_device.stream = SPLIT, 2
    kernel, arrays = load(SPLIT), [fake_array(to_bits(array, "f16")) for array in integers(PROBLEM)]
    kernel(*arrays)
    other = threading.Thread(target=kernel, args=arrays)
    other.start()
    other.join()
    assert len(kernel.loaded.workspaces) == 2


def test_a_launch_that_is_captured_has_semaphores_and_partial_sums_of_its_own(fake_device):
    """A graph may run beside launches on its stream and beside other graphs; what it uses is never freed. The
    semaphores are zeroed on the stream that is captured, so in every run of the graph: never those of an ordinary
    launch.
    """
    fake_device.scheme, fake_device.stream, fake_device.capturing = SPLIT, 5, {5}
    kernel, arrays = load(SPLIT), [fake_array(to_bits(array, "f16")) for array in integers(PROBLEM)]
    out = fake_array(np.zeros((40, 24), np.float16))
    for _ in range(2):
        kernel(*arrays, out=out)
    assert fake_device.allowed == ["relaxed", "allocator None", "empty", "zeros", "empty", "pool", "as before"] * 2
    assert not kernel.loaded.workspaces
    fake_device.capturing = ()
    kernel(*arrays, out=out)
    first, second, third = fake_device.workspaces
    assert len({id(array) for memory in (first, second, third) for array in memory}) == 6
    for given, (_, *kept) in zip((first, second), kernel.loaded.captured):
        assert given[0] is kept[0] and given[1] is kept[1]
    assert not third[0].any()


@pytest.mark.parametrize("scheme", [SPLIT, product_scheme(PROBLEM)], ids=["split", "plain"])
@pytest.mark.parametrize("captured", [True, False])
def test_a_graphs_kernel_outlives_its_callable(fake_device, scheme, captured):
    fake_device.scheme, fake_device.stream, fake_device.capturing = scheme, 5, {5} if captured else ()
    kernel, arrays = load(scheme), [fake_array(to_bits(array, "f16")) for array in integers(PROBLEM)]
    for _ in range(3):
        kernel(*arrays)
    module = weakref.ref(kernel.loaded.module)
    del kernel
    gc.collect()
    assert bool(module()) == captured and len(gpu.runtime.machine.loaded._IN_GRAPHS) == captured


def test_the_result_goes_where_it_is_wanted(fake_device):
    scheme = fake_device.scheme = product_scheme(PROBLEM)
    inputs = integers(PROBLEM)
    out = fake_array(np.zeros((40, 24), np.float16))
    assert load(scheme)(*(fake_array(to_bits(a, "f16")) for a in inputs), out=out) is out
    np.testing.assert_array_equal(out, expected(PROBLEM, *inputs))


def test_a_dlpack_tensor_gives_one_of_its_library(fake_device):
    scheme = fake_device.scheme = product_scheme(PROBLEM)
    inputs = integers(PROBLEM)
    output = load(scheme)(*(to_bits(a, "f16") for a in inputs))
    assert type(output) is np.ndarray
    np.testing.assert_array_equal(output, expected(PROBLEM, *inputs))


def test_arrays_that_a_kernel_cannot_take(fake_device):
    kernel = load(product_scheme(PROBLEM))
    a, b = (fake_array(to_bits(array, "f16")) for array in integers(PROBLEM))
    with pytest.raises(ArgumentError, match="a is a list: give a CuPy array"):
        kernel([1.0], b)
    with pytest.raises(ArgumentError, match="a is float32, but this kernel takes float16"):
        kernel(fake_array(a.astype(np.float32)), b)
    with pytest.raises(ArgumentError, match=r"b has shape \(24, 56\), but this kernel takes \(56, 24\)"):
        kernel(a, fake_array(np.ascontiguousarray(b.T)))
    with pytest.raises(ArgumentError, match="b is not contiguous"):
        kernel(a, fake_array(np.ascontiguousarray(b.T)).T)


def test_the_epilogues_arrays_follow_the_inputs(fake_device):
    problem = fused(PROBLEM, "relu(y + b)")
    scheme = fake_device.scheme = product_scheme(problem)
    inputs = integers(problem)
    arrays = [fake_array(to_bits(array, "f16")) for array in inputs]
    np.testing.assert_array_equal(load(scheme)(*arrays), expected(problem, *inputs))
    with pytest.raises(ArgumentError, match="epilogue reads b: 0 arrays were given for it"):
        load(scheme)(*arrays[:2])
    with pytest.raises(ArgumentError, match=r"^the epilogue's b has shape \(23,\), but this kernel takes \(24,\)"):
        load(scheme)(*arrays[:2], fake_array(np.zeros(23, np.float16)))


def test_misaligned_arrays_are_refused():
    with pytest.raises(ArgumentError, match="a does not begin at a multiple of 16 bytes"):
        check_array(PROBLEM.broadcast, "f16", (40, 56), "float16", True, 1 << 20 | 8)


def test_arrays_of_another_device_are_refused(fake_device):
    kernel = load(product_scheme(PROBLEM))
    elsewhere = replace(kernel, loaded=replace(kernel.loaded, device=1))
    with pytest.raises(ArgumentError, match="a is on GPU 0, this kernel on GPU 1: move it there"):
        elsewhere(*(fake_array(to_bits(array, "f16")) for array in integers(PROBLEM)))


@pytest.mark.parametrize(
    "status, name, advice",
    [
        (209, "CUDA_ERROR_NO_BINARY_FOR_GPU", "its driver may be older than this CUDA, so update the driver"),
        (700, "CUDA_ERROR_ILLEGAL_ADDRESS", "if an earlier kernel of this process failed, only a new process"),
        (715, "CUDA_ERROR_ILLEGAL_INSTRUCTION", "if an earlier kernel of this process failed, only a new process"),
        (719, "CUDA_ERROR_LAUNCH_FAILED", "if an earlier kernel of this process failed, only a new process"),
    ],
)
def test_machine_code_that_the_driver_refuses(fake_device, monkeypatch, status, name, advice):
    """An old driver, or a fault before that makes every call fail: only of the first one a driver's age is blamed."""

    class Refused(RuntimeError):
        pass

    def refuse(self, code):
        error = Refused(name)
        error.status = status
        raise error

    cuda = sys.modules["cupy"].cuda
    monkeypatch.setattr(cuda.driver, "CUDADriverError", Refused, raising=False)
    monkeypatch.setattr(cuda.function.Module, "load", refuse)
    with pytest.raises(DeviceError, match=rf"does not load what fake compiled \({name}\): {advice}"):
        load(product_scheme(PROBLEM))


def test_a_kernel_that_needs_too_much_shared_memory(fake_device, monkeypatch):
    monkeypatch.setitem(H200_TELLS, "sharedMemPerBlockOptin", 1000)
    with pytest.raises(DeviceError, match="needs 16384 bytes of shared memory for a block, NVIDIA H200 has 1000"):
        load(product_scheme(PROBLEM, unrolled=(2, 4, 2)))


@pytest.mark.parametrize(("major", "architecture"), [(8, "sm_80"), (10, "sm_100")])
def test_a_kernel_that_only_hopper_runs(fake_device, monkeypatch, major, architecture):
    monkeypatch.setattr(gpu.runtime.machine.loaded, "compile_cubin", compile_cubin)
    monkeypatch.setitem(H200_TELLS, "major", major)
    problem = matmul(m=512, n=512, k=512, dtype="f16")
    with pytest.raises(CompileError, match=f"needs the architecture sm_90a and cannot be compiled for {architecture}$"):
        load(next(s for s in candidates(problem, DEVICES["H200"]) if "@warpgroup" in s.text))


def test_a_device_is_what_the_driver_tells_and_what_its_kind_is_known_for(fake_device):
    device = current_device()
    assert (device.name, device.multiprocessors, device.l2_bytes) == ("NVIDIA H200", 100, 60 << 20)
    assert device.memory_bandwidth == DEVICES["H200"].memory_bandwidth
    small = described("NVIDIA RTX A1000 Laptop GPU", 86, H200_TELLS)
    assert small.architecture == "sm_86"
    newer = described("NVIDIA Something", 120, H200_TELLS)
    assert newer.architecture == "sm_120" and newer.matrix_flops == DEVICES["H200"].matrix_flops
    assert device.wgmma_flops and not newer.wgmma_flops
    with pytest.raises(DeviceError, match=r"compute capability 7.5: kernels need 8.0"):
        described("Tesla T4", 75, H200_TELLS)


def test_without_a_device_it_is_said(monkeypatch):
    fake = SimpleNamespace(cuda=SimpleNamespace(is_available=lambda: False))
    monkeypatch.setitem(sys.modules, "cupy", fake)
    with pytest.raises(
        DeviceError, match="there is no CUDA device here: a kernel can be compiled and explained, but not run"
    ):
        load(product_scheme(PROBLEM))


def test_who_has_no_driver_is_told_so_before_cupy_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)
    monkeypatch.setattr(gpu.runtime.machine.device, "no_gpu", lambda: None)
    with pytest.raises(DeviceError, match=r"^CuPy is not installed, which runs CUDA kernels: .*tilewright\[gpu\]"):
        load(product_scheme(PROBLEM))
    monkeypatch.setattr(gpu.runtime.machine.device, "no_gpu", lambda: "there is no CUDA device here (no driver)")
    told = (
        r"^there is no CUDA device here \(no driver\); where there is one, CuPy runs CUDA kernels: .*tilewright\[gpu\]"
    )
    with pytest.raises(DeviceError, match=told):
        load(product_scheme(PROBLEM))


@needs_nvrtc
@pytest.mark.parametrize(
    "problem",
    [
        matmul(m=50, n=70, k=90, dtype="bf16"),
        conv2d(c=3, h=20, w=20, k=16, r=3, s=3, stride=2, padding=1, dtype="f16", filters="krsc"),
    ],
    ids=str,
)
def test_the_models_choice_compiles_and_is_exact_on_the_twin(problem):
    source, cubin = choose(rank(problem, DEVICES["H200"]), problem, DEVICES["H200"])
    assert cubin.spilled == 0 and cubin.architecture == "sm_90a"
    assert check_on_twin(source.scheme) == 0


@pytest.mark.slow
def test_no_schedule_is_taken_whose_inputs_are_copied_by_code_that_spills(monkeypatch):
    def spilling(program, architecture):
        return Cubin(program.symbol, architecture, b"code", 64, 16 * program.symbol.endswith("_rows"), "fake")

    monkeypatch.setattr("gpu.runtime.compiler.compile.compile_cubin", spilling)
    monkeypatch.setattr("gpu.runtime.kernel.compile_cubin", spilling)
    problem, device = matmul(m=8191, n=8191, k=8191, dtype="bf16"), DEVICES["H200"]
    ranked = rank(problem, device)
    assert emit_scheme(ranked[0].scheme).copied
    source, _ = choose(ranked, problem, device)
    assert not source.copied
    texts = [ranked[0].scheme.text, source.scheme.text]
    shape = {"op": "matmul", "shape": "m=8191,n=8191,k=8191", "dtype": "bf16"}
    found = compiled(**shape, schemes=texts, architecture=device.architecture)
    assert found == {texts[0]: "ptxas spills 16 bytes of its registers"}


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", ["f16", "bf16", "tf32"])
@pytest.mark.parametrize(
    "problem",
    [
        {"m": 512, "n": 768, "k": 1024},
        {"m": 127, "n": 131, "k": 149},
        {"m": 100, "n": 72, "k": 88, "transpose_a": True, "transpose_b": True, "batch": 3},
        {"n": 2, "c": 64, "h": 28, "w": 28, "k": 64, "r": 3, "s": 3, "padding": 1},
        {"c": 3, "h": 57, "w": 57, "k": 64, "r": 7, "s": 7, "stride": 2, "padding": 3},
    ],
    ids=str,
)
def test_on_the_device_kernels_are_exact(problem, dtype):
    import cupy

    problem = conv2d(**problem, dtype=dtype, filters="krsc") if "c" in problem else matmul(**problem, dtype=dtype)
    inputs = integers(problem)
    device = current_device()
    kernel = load(choose(rank(problem, device), problem, device)[0].scheme)
    bits = [cupy.asarray(to_bits(array, dtype)) for array in inputs]
    if dtype == "bf16":
        bits = [array.view(gpu.runtime.kernel.array_dtype("bf16")) for array in bits]
    output = kernel(*bits)
    found = cupy.asnumpy(output.view(np.uint16) if problem.output_dtype == "bf16" else output)
    np.testing.assert_array_equal(from_bits(found, problem.output_dtype), expected(problem, *inputs))


@pytest.mark.gpu
def test_on_the_device_a_graph_runs_beside_launches_and_after_its_kernel_is_gone():
    import cupy

    problem = matmul(m=512, n=512, k=2048, dtype="f16")
    scheme = next(s for s in candidates(problem, current_device()) if re.match(r"T\(k,\d+\)@", s.text))
    inputs = integers(problem)
    arrays = [cupy.asarray(to_bits(array, "f16")) for array in inputs]
    outputs = [cupy.zeros((512, 512), "float16") for _ in range(2)]
    kernel, stream, other = load(scheme), cupy.cuda.Stream(non_blocking=True), cupy.cuda.Stream(non_blocking=True)
    with stream:
        stream.begin_capture()
        kernel(*arrays, out=outputs[0])
        graph = stream.end_capture()
        for _ in range(20):
            graph.launch(other)
            kernel(*arrays, out=outputs[1])
    stream.synchronize()
    del kernel
    gc.collect()
    other.synchronize()
    outputs[0].fill(0)
    cupy.cuda.Device().synchronize()
    graph.launch(other)
    other.synchronize()
    for output in outputs:
        np.testing.assert_array_equal(cupy.asnumpy(output).astype(np.float32), expected(problem, *inputs))
