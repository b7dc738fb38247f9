"""A CuPy made of NumPy arrays, whose launches run the twin."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from types import SimpleNamespace

import numpy as np
import pytest

H200_TELLS = {
    "name": b"NVIDIA H200",
    "major": 9,
    "minor": 0,
    "multiProcessorCount": 100,
    "sharedMemPerBlockOptin": 232448,
    "sharedMemPerMultiprocessor": 233472,
    "l2CacheSize": 60 << 20,
}


class FakeArray(np.ndarray):
    """A NumPy array with the attributes of a CuPy array that the kernel looks at."""

    data = property(lambda self: SimpleNamespace(ptr=self.ctypes.data))
    device = property(lambda self: SimpleNamespace(id=0))


def fake_array(array):
    room = np.zeros(array.nbytes + 256, np.uint8)
    start = -room.ctypes.data % 256
    placed = room[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    placed[...] = array
    return placed.view(FakeArray)


class FakeCupy:
    """CuPy as kernels use it; launches run the twin of `scheme`. It notes what is launched and allocated.

    stream: the current one. capturing: those that are captured for a graph. allowed: what happened in a capture.
    """

    ndarray = FakeArray

    def __init__(self):
        self.scheme, self.stream, self.capturing = None, 0, ()
        self.launches, self.attributes, self.workspaces, self.allowed = [], [], [], []
        driver = SimpleNamespace(
            CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES=8, funcSetAttribute=lambda *a: self.attributes.append(a)
        )
        runtime = SimpleNamespace(
            getDeviceProperties=lambda number: H200_TELLS,
            # CUDA gives no status of the legacy stream while another stream is captured.
            streamIsCapturing=lambda stream: stream in self.capturing if stream else 1 / 0,
        )
        self.cuda = SimpleNamespace(
            is_available=lambda: True,
            get_current_stream=lambda: SimpleNamespace(ptr=self.stream),
            Stream=SimpleNamespace(ptds=SimpleNamespace(ptr=2)),
            Device=Device,
            using_allocator=self.using_allocator,
            runtime=runtime,
            function=SimpleNamespace(Module=type("Module", (Module,), {"cupy": self})),
            driver=driver,
        )

    def empty(self, shape, dtype):
        return self._made("empty", shape, dtype)

    def zeros(self, shape, dtype):
        return self._made("zeros", shape, dtype)

    def _made(self, what, shape, dtype):
        if self.stream in self.capturing:
            self.allowed.append(what)
        return fake_array(np.zeros(shape, dtype))

    @staticmethod
    def from_dlpack(given):
        return fake_array(np.asarray(given)) if given.dtype != np.int32 else 1 / 0

    @contextmanager
    def using_allocator(self, allocator):
        self.allowed.append(f"allocator {allocator}")
        yield
        self.allowed.append("pool")

    @contextmanager
    def allocating_in_a_capture(self):
        self.allowed.append("relaxed")
        yield
        self.allowed.append("as before")


class Device:
    id = 0

    def __init__(self, number=0):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None


class Module:
    cupy: FakeCupy

    def load(self, code):
        assert code == b"code"

    def get_function(self, symbol):
        return Function(self.cupy, symbol)


class Function:
    ptr = 7

    def __init__(self, cupy, symbol):
        self.cupy, self.symbol = cupy, symbol

    def __call__(self, grid, block, arguments, shared):
        # Imported here, so that the tests of the language run where the GPU packages cannot be imported.
        from gpu.codegen.loops.scheme import emit_scheme
        from gpu.twin.launch import run_on_twin

        self.cupy.launches.append((self.symbol, grid, block, shared))
        source = emit_scheme(self.cupy.scheme)
        *inputs, output = arguments[: source.arrays]
        self.cupy.workspaces.append(arguments[len(inputs) + 1 :])
        output[...] = run_on_twin(source, *inputs).output


@pytest.fixture
def fake_device(monkeypatch):
    """A CuPy whose launches run the twin: what the kernel hands over decides whether the result is right."""
    import gpu.runtime.machine.loaded
    from gpu.runtime.compiler.compile import Cubin

    fake = FakeCupy()
    monkeypatch.setitem(sys.modules, "cupy", fake)
    monkeypatch.setattr(gpu.runtime.machine.loaded, "allocating_in_a_capture", fake.allocating_in_a_capture)
    monkeypatch.setattr(gpu.runtime.machine.loaded, "_IN_GRAPHS", {})
    monkeypatch.setattr(
        gpu.runtime.machine.loaded,
        "compile_cubin",
        lambda source, architecture: Cubin(source.symbol, architecture, b"code", 64, 0, "fake"),
    )
    return fake
