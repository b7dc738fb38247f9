"""Tensor maps: what no TMA copy can move is refused in a sentence; what the driver is asked for; what the twin finds
wrong.
"""

import ctypes
import re
import sys
import threading
import time
from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest

import gpu.runtime.machine.driver
from gpu.codegen.copies.tensor_map import Pixels, TensorMap, TensorMapError
from gpu.codegen.loops.copier import copier
from gpu.codegen.loops.scheme import emit_scheme
from gpu.codegen.program import CudaProgram
from gpu.probes.probe import WORDS, Probe
from gpu.probes.tma_probes import BARRIER, LOADS
from gpu.runtime.machine.device import DeviceError
from gpu.runtime.machine.driver import DriverError, allocating_in_a_capture, encoded
from gpu.runtime.machine.loaded import Loaded
from gpu.twin.launch import Twin, TwinError
from tiling.epilogue import fused
from tiling.operators import matmul
from tiling.text.notation import parse

GOOD = {"name": "a", "array": 0, "dtype": "f16", "dims": (72, 56), "strides": (144,), "box": (64, 32)}
PIXELS = {**GOOD, "dims": (64, 9, 9, 2), "strides": (128, 1152, 10368), "box": (64,)}


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"strides": (140,)}, "a: rows 140 bytes apart .* needs a multiple of 16"),
        ({"box": (64, 257)}, "no other side is longer than 256"),
        ({"box": (32, 32)}, "rows are 64 elements"),
        ({"dtype": "f32"}, "rows are 32 elements"),
        ({"dims": (72, (1 << 31) + 1)}, "is too large for TMA copies"),
        ({**PIXELS, "pixels": Pixels((-129, 0), (0, 0), (1, 1), 64)}, "more than 128 pixels"),
        ({**PIXELS, "pixels": Pixels((0, 0), (0, 0), (9, 1), 64)}, "a stride of 9 .* only up to 8"),
        ({**PIXELS, "pixels": Pixels((0, 0), (0, 0), (1, 1), 512)}, "no other side is longer than 256"),
    ],
)
def test_what_cannot_be_copied_by_tma(changed, message):
    TensorMap(**GOOD)
    with pytest.raises(TensorMapError, match=message):
        TensorMap(**GOOD | changed)


def on_a_stream(**more):
    """What a launch looks at of `cupy.cuda`, on a stream that is not being captured."""
    return SimpleNamespace(
        Device=lambda number: nullcontext(),
        get_current_stream=lambda: SimpleNamespace(ptr=5),
        Stream=SimpleNamespace(ptds=SimpleNamespace(ptr=2)),
        runtime=SimpleNamespace(streamIsCapturing=lambda stream: False),
        **more,
    )


@pytest.fixture
def driver(monkeypatch):
    """A driver of CUDA 13.2 that notes what it is asked for, fills in the map and answers `result`."""
    fake = SimpleNamespace(calls=[], result=0, fill=7, version=13020)

    def version(place):
        place._obj.value = fake.version

    fake.cuDriverGetVersion = version

    def encode(name):
        def call(place, *arguments):
            ctypes.memset(place, fake.fill, 128)
            found = [list(a) if isinstance(a, ctypes.Array) else getattr(a, "value", a) for a in arguments]
            fake.calls.append((name, place.value % 64, *found))
            return fake.result

        return call

    for name in ("cuTensorMapEncodeTiled", "cuTensorMapEncodeIm2col"):
        setattr(fake, name, encode(name))
    monkeypatch.setattr(gpu.runtime.machine.driver, "_driver", lambda: fake)
    return fake


def test_the_driver_is_asked_for_a_swizzled_map_without_interleaving(driver):
    found = encoded(TensorMap(**GOOD), 4096)
    assert found.dtype == "V128" and found.shape == (1,) and set(found.view(np.uint8)) == {7}
    assert driver.calls == [("cuTensorMapEncodeTiled", 0, 6, 2, 4096, [72, 56], [144], [64, 32], [1, 1], 0, 3, 2, 0)]


@pytest.mark.parametrize(("rows", "wrong"), [(909, True), (910, True), (911, False)])
def test_a_bit_that_older_drivers_set_in_maps_of_small_tensors_is_cleared(driver, rows, wrong):
    """Rows of 72 elements, 144 bytes: 910 of them are 131040 bytes, under 128 KiB, 911 are more."""
    tensor = TensorMap(**GOOD | {"dims": (72, rows)})
    driver.fill, whole = 0xFF, 2**64 - 1
    for driver.version, cleared in ((13010, wrong), (13020, False)):
        expected = [whole, whole - (cleared << 21), *[whole] * 14]
        assert encoded(tensor, 4096).view(np.uint64).tolist() == expected


@pytest.mark.parametrize(("dtype", "kind"), [("tf32", 11), ("f32", 7)])
def test_only_inputs_of_tf32_are_rounded_on_their_way(driver, dtype, kind):
    """The driver's type 11 is TFLOAT32; sums are of type 7, FLOAT32, and stay as they are."""
    encoded(TensorMap(**GOOD | {"dtype": dtype, "box": (32, 32)}), 4096)
    assert driver.calls[0][2] == kind


def test_a_map_of_the_same_memory_is_made_once(driver, monkeypatch):
    device = SimpleNamespace(cuda=on_a_stream())
    monkeypatch.setitem(sys.modules, "cupy", device)
    program = CudaProgram("p", "", 1, 32, 0, 2, maps=(TensorMap(**GOOD | {"name": "once"}),))
    given = []
    loaded = Loaded(program, None, 0, 1, lambda *launch: given.append(launch[2]), None)
    for pointer in (4096, 4096, 8192):
        loaded.launch(SimpleNamespace(data=SimpleNamespace(ptr=pointer)), "c")
    assert [call[4] for call in driver.calls] == [4096, 8192]
    assert given[0][0] is given[1][0] is not given[2][0] and given[0][1] == "c"


def test_the_driver_is_asked_for_runs_of_windows(driver):
    windows = Pixels((-1, -2), (0, -1), (2, 1), 128)
    encoded(TensorMap(**PIXELS | {"dtype": "bf16", "pixels": windows}), 1 << 40)
    shape = ([64, 9, 9, 2], [128, 1152, 10368])
    corners = ([-1, -2], [0, -1])
    assert driver.calls == [
        ("cuTensorMapEncodeIm2col", 0, 9, 4, 1 << 40, *shape, *corners, 64, 128, [1, 2, 1, 1], 0, 3, 2, 0)
    ]


def test_memory_may_be_allocated_in_a_capture_and_only_then(driver):
    """CUDA hands back the mode that was in force, which is to be in force again."""
    modes, driver.mode = [], 0

    def exchange(mode):
        modes.append(mode._obj.value)
        driver.mode, mode._obj.value = mode._obj.value, driver.mode
        return driver.result

    driver.cuThreadExchangeStreamCaptureMode = exchange
    with pytest.raises(ZeroDivisionError), allocating_in_a_capture():
        assert driver.mode == 2
        raise ZeroDivisionError
    assert modes == [2, 0] and driver.mode == 0
    driver.result = 3
    refused = pytest.raises(DriverError, match=r"does not let memory be allocated during a capture \(error 3\)")
    with refused, allocating_in_a_capture():
        pass


def test_a_map_that_the_driver_refuses(driver):
    driver.result = 1
    with pytest.raises(DriverError, match=r"refuses the tensor map of a .error 1 of cuTensorMapEncodeTiled"):
        encoded(TensorMap(**GOOD), 4096)


def test_a_launch_hands_maps_over_in_the_arrays_places(driver, monkeypatch):
    device = SimpleNamespace(cuda=on_a_stream())
    monkeypatch.setitem(sys.modules, "cupy", device)
    problem = fused(matmul(m=512, n=128, k=64, dtype="f16"), "y + b")
    tiles = "T(m,4)@cluster T(n,1)@cluster T(m,2)@block S(c) T(k,1) S(a, 3) S(b, 3)"
    source = emit_scheme(parse(problem, f"{tiles} T(m,1)@warpgroup U(k,4) U(m,1) U(n,1) M(m64n128k16)"))
    launches = []
    loaded = Loaded(source, None, 0, source.blocks_on(3), lambda *given: launches.append(given), None)
    arrays = [SimpleNamespace(data=SimpleNamespace(ptr=256 * i)) for i in range(1, 5)]
    loaded.launch(*arrays)
    ((grid, block, parameters, shared),) = launches
    assert (grid, block, shared) == ((6,), (160,), source.shared_bytes)
    assert parameters[2] is arrays[2]
    assert [p.dtype for i, p in enumerate(parameters) if i != 2] == ["V128"] * 3
    assert [call[4] for call in driver.calls] == [256, 512, 1024]
    driver.result = 1
    with pytest.raises(DeviceError, match="refuses the tensor map of X"):
        loaded.launch(*(SimpleNamespace(data=SimpleNamespace(ptr=1 << 30)) for _ in arrays))


class Room:
    """Bytes of the device's memory, from 1 MiB on."""

    data = SimpleNamespace(ptr=1 << 20)

    def __getitem__(self, place):
        return _at(self.data.ptr + place.start)


def test_a_launch_takes_copies_in_the_place_of_arrays_that_are_not_aligned(driver, monkeypatch):
    room = Room()
    asked = []
    cupy = SimpleNamespace(cuda=on_a_stream(), empty=lambda *of: asked.append(of) or room)
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    problem = matmul(m=128, n=136, k=67, dtype="f16", transpose_b=True)
    tiles = "T(m,2)@cluster T(n,3)@cluster S(c) T(k,2) S(a, 3) S(b, 3)"
    source = emit_scheme(parse(problem, f"{tiles} T(m,1)@warpgroup U(k,4) U(m,1) U(n,1) M(m64n64k16)"))
    launches = []
    before = copier(source)
    first = Loaded(before, None, 0, before.blocks_on(3), lambda *given: launches.append(given), None)
    loaded = Loaded(source, None, 0, source.blocks_on(3), lambda *given: launches.append(given), None, first)
    arrays = [_at(256 * i) for i in range(1, 4)]
    for _ in range(2):
        loaded.launch(*arrays)
    assert asked == [(2 * (128 + 136) * 80, "uint8")]
    (grid, block, parameters, shared), (_, _, maps, _) = launches[:2]
    assert (grid, block, parameters, shared) == ((40 + 43,), (256,), (arrays[0], arrays[1], room), 16)
    assert [call[4] for call in driver.calls] == [1 << 20, (1 << 20) + 2 * 128 * 80, 768]
    assert [call[5:7] for call in driver.calls[:2]] == [([80, 128], [160]), ([80, 136], [160])]
    assert [p.dtype for p in maps] == ["V128"] * 3 and len(launches) == 4


class OutOfMemoryError(MemoryError):
    """As CuPy's pool raises it."""


class RuntimeFault(RuntimeError):
    """As the CUDA runtime raises it, which allocates where CuPy's pool does not: during a capture."""

    def __init__(self, status, words):
        super().__init__(words)
        self.status = status


@pytest.mark.parametrize(
    ("raised", "told"),
    [
        (OutOfMemoryError("out of memory allocating"), DeviceError),
        (RuntimeFault(2, "out of memory"), DeviceError),
        (RuntimeFault(700, "an illegal memory access"), RuntimeFault),
    ],
)
def test_copies_that_the_device_has_no_memory_for_are_said(monkeypatch, raised, told):
    def full(*of):
        raise raised

    cuda = on_a_stream(memory=SimpleNamespace(OutOfMemoryError=OutOfMemoryError))
    cuda.runtime.CUDARuntimeError = RuntimeFault
    monkeypatch.setitem(sys.modules, "cupy", SimpleNamespace(cuda=cuda, empty=full, zeros=full))
    program = CudaProgram("p", "", 1, 32, 0, 2, semaphores=3, partial_sums=1000)
    words = {
        DeviceError: "needs 4000 bytes of the GPU's memory beside its arrays: out of memory",
        RuntimeFault: "illegal",
    }
    with pytest.raises(told, match=words[told]):
        Loaded(program, None, 0, 1, None, None).launch("a", "c")


def test_no_other_thread_copies_between_a_copy_and_its_kernel(driver, monkeypatch):
    """Both launch on one stream, and CuPy lets other threads run during a launch."""
    cupy = SimpleNamespace(cuda=on_a_stream(), empty=lambda *of: Room())
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    problem = matmul(m=128, n=136, k=67, dtype="f16", transpose_b=True)
    tiles = "T(m,2)@cluster T(n,3)@cluster S(c) T(k,2) S(a, 3) S(b, 3)"
    source = emit_scheme(parse(problem, f"{tiles} T(m,1)@warpgroup U(k,4) U(m,1) U(n,1) M(m64n64k16)"))
    order = []

    def launching(what):
        def launch(*given):
            order.append((what, threading.get_ident()))
            time.sleep(0.02)

        return launch

    first = Loaded(copier(source), None, 0, 1, launching("copy"), None)
    loaded = Loaded(source, None, 0, 1, launching("kernel"), None, first)
    threads = [threading.Thread(target=loaded.launch, args=[_at(256 * i) for i in range(1, 4)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [what for what, _ in order] == ["copy", "kernel"] * 4
    assert all(copied[1] == multiplied[1] for copied, multiplied in zip(order[::2], order[1::2]))


def _at(pointer):
    return SimpleNamespace(data=SimpleNamespace(ptr=pointer))


def test_without_a_driver_it_is_said(monkeypatch):
    def missing(name):
        raise OSError("libcuda.so.1: cannot open shared object file")

    monkeypatch.setattr(ctypes, "CDLL", missing)
    with pytest.raises(DriverError, match="the CUDA driver cannot be loaded: libcuda"):
        encoded(TensorMap(**GOOD), 4096)


INIT = f"if (lane == 0) {{ mbarrier_init(shared + {BARRIER}, 1); mbarrier_fence_init(); }} __syncthreads(); "
COPY = f"if (lane == 0) copy_box_2d(shared, &a, shared + {BARRIER}, 0, 0);"
ZERO = "const unsigned zeros[4] = {0, 0, 0, 0}; store_shared_16(shared + 16 * lane, zeros);"
PIXELS_FROM = COPY.replace("box_2d", "pixels").replace("0, 0)", "0, AT, 0, 0)")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (f"mbarrier_arrive(shared + {BARRIER});", "nobody has initialised an mbarrier at byte 8192"),
        (f"{INIT} mbarrier_wait(shared + {BARRIER}, 0);", "no thread can go on: of 32, .* 32 at an mbarrier"),
        (f"{INIT} mbarrier_arrive_at(shared + {BARRIER}, 1);", "the cluster has no block 1"),
        (
            f"{INIT} if (lane == 0) {{ mbarrier_expect(shared + {BARRIER}, 8); mbarrier_arrive(shared + {BARRIER}); }}",
            "all arrivals",
        ),
        (f"{INIT.replace('mbarrier_fence_init();', '')} {COPY}", "no mbarrier_fence_init followed"),
        (f"{INIT} {COPY} load_shared(shared);", "to which a copy is under way"),
        (
            f"{INIT} {ZERO} __syncwarp(); {COPY}",
            "overwrites byte 0 of shared memory, which a thread wrote: no fence_proxy_async came after that",
        ),
        (f"{INIT} {COPY}", "block ends while a copy"),
        (f"{INIT} {COPY} {COPY}", "which a copy under way writes"),
        (f"{INIT} {COPY.replace('shared, &a', 'shared + 512, &a')}", "a multiple of 1024, not byte 512"),
        (f"{INIT} {COPY.replace('shared, &a', 'shared + 6144, &a')}", "past the 8200 of shared memory"),
        (f"{INIT} {COPY.replace('2d', '3d').replace('0, 0)', '0, 0, 0)')}", "the tensor map is of 2 dims"),
        (f"{INIT} {COPY.replace('0, 0)', '7, 0)')}", "begins at element 7 of a row, which is no multiple of 16 bytes"),
        (
            f"{INIT} {COPY.replace('2d', '2d_multicast').replace('0, 0)', '0, 0, 2)')}",
            "the cluster has 1 blocks, the mask is 2",
        ),
        (
            f"{INIT} {COPY.replace('box_2d', 'pixels').replace('0, 0)', '0, -1, -2, 0, 256, 0)')}",
            "lie 256 .* only up to 255",
        ),
        (f"{INIT} {PIXELS_FROM.replace('AT', '5, -2, 0')}", "begins outside the box of windows: 5 along dim 1"),
        (f"{INIT} {PIXELS_FROM.replace('AT', '-1, 4, 0')}", "begins outside the box of windows: 4 along dim 2"),
        (f"{INIT} {PIXELS_FROM.replace('AT', '-3, 0, 0')}", "begins outside the box of windows: -3 along dim 1"),
        ("if (lane == 0) store_box_2d(&a, shared, 0, 0);", "writes to an input"),
        ("if (lane == 0) store_box_2d(&a, shared, -4, 0);", "begins at element -4 of a row"),
        ("cluster_wait();", "comes before cluster_arrive"),
        ("cluster_arrive(); cluster_arrive();", "a second time"),
    ],
)
def test_the_twin_says_what_is_wrong(body, message):
    words = np.zeros(WORDS, np.uint32)
    (tensor, *_) = LOADS["copy_pixels" if "copy_pixels" in body else "copy_box_2d"]
    probe = Probe("wrong", body, words, words, 32, BARRIER + 8, (tensor,))
    twin, said = Twin(probe.program), []
    for seed in range(8):  # in some orders a copy arrives before it is missed
        with pytest.raises(TwinError) as error:
            twin.launch(words, words, words, seed=seed)
        said.append(str(error.value))
    assert any(re.search(message, what) for what in said), said
