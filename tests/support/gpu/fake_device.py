"""A CuPy made of NumPy arrays, whose launches run the twin."""

import sys
from contextlib import contextmanager
from functools import partial
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


@pytest.fixture
def fake_device(monkeypatch):
    """A CuPy whose launches run the twin: what the kernel hands over decides whether the result is right."""
    # Imported here, so that the tests of the language run where the GPU packages cannot be imported.
    import gpu.runtime.machine.loaded
    from gpu.codegen.loops.scheme import emit_scheme
    from gpu.runtime.compiler.compile import Cubin
    from gpu.twin.launch import run_on_twin

    launches = []

    class Device:
        id = 0

        def __init__(self, number=0):
            pass

        def __enter__(self):
            return self

        def __exit__(self, *_):
            return None

    class Function:
        ptr = 7

        def __init__(self, symbol):
            self.symbol = symbol

        def __call__(self, grid, block, arguments, shared):
            launches.append((self.symbol, grid, block, shared))
            *inputs, output = arguments[: emit_scheme(launches_of.scheme).arrays]
            launches_of.workspaces.append(arguments[len(inputs) + 1 :])
            output[...] = run_on_twin(emit_scheme(launches_of.scheme), *inputs).output

    class Module:
        def load(self, code):
            assert code == b"code"

        def get_function(self, symbol):
            return Function(symbol)

    attributes = []
    launches_of = SimpleNamespace(
        scheme=None, launches=launches, attributes=attributes, workspaces=[], stream=0, capturing=(), allowed=[]
    )

    @contextmanager
    def using_allocator(allocator):
        launches_of.allowed.append(f"allocator {allocator}")
        yield
        launches_of.allowed.append("pool")

    @contextmanager
    def allocating_in_a_capture():
        launches_of.allowed.append("relaxed")
        yield
        launches_of.allowed.append("as before")

    def made(what, shape, dtype):
        if launches_of.stream in launches_of.capturing:
            launches_of.allowed.append(what)
        return fake_array(np.zeros(shape, dtype))

    fake = SimpleNamespace(
        ndarray=FakeArray,
        empty=partial(made, "empty"),
        zeros=partial(made, "zeros"),
        from_dlpack=lambda given: fake_array(np.asarray(given)) if given.dtype != np.int32 else 1 / 0,
        cuda=SimpleNamespace(
            is_available=lambda: True,
            get_current_stream=lambda: SimpleNamespace(ptr=launches_of.stream),
            Stream=SimpleNamespace(ptds=SimpleNamespace(ptr=2)),
            Device=Device,
            using_allocator=using_allocator,
            runtime=SimpleNamespace(
                getDeviceProperties=lambda number: H200_TELLS,
                # CUDA gives no status of the legacy stream while another stream is captured.
                streamIsCapturing=lambda stream: stream in launches_of.capturing if stream else 1 / 0,
            ),
            function=SimpleNamespace(Module=Module),
            driver=SimpleNamespace(
                CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES=8, funcSetAttribute=lambda *a: attributes.append(a)
            ),
        ),
    )
    monkeypatch.setitem(sys.modules, "cupy", fake)
    monkeypatch.setattr(gpu.runtime.machine.loaded, "allocating_in_a_capture", allocating_in_a_capture)
    monkeypatch.setattr(gpu.runtime.machine.loaded, "_IN_GRAPHS", {})
    monkeypatch.setattr(
        gpu.runtime.machine.loaded,
        "compile_cubin",
        lambda source, architecture: Cubin(source.symbol, architecture, b"code", 64, 0, "fake"),
    )
    return launches_of
