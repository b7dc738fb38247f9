"""A CuPy made of NumPy arrays, whose launches run the twin."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from dataclasses import replace
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
    """CuPy as kernels use it; launches run the twin of `scheme`, or of a launch of `program`. It notes what is launched
    and allocated.

    stream: the current one. capturing: those that are captured for a graph. allowed: what happened in a capture.
    """

    ndarray = FakeArray

    def __init__(self):
        self.scheme, self.program, self.stream, self.capturing = None, None, 0, ()
        self.launches, self.attributes, self.workspaces, self.allowed = [], [], [], []
        driver = SimpleNamespace(
            CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES=8, funcSetAttribute=lambda *a: self.attributes.append(a)
        )
        runtime = SimpleNamespace(
            CUDARuntimeError=CudaError,
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
            memory=SimpleNamespace(OutOfMemoryError=OutOfMemory),
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
    def asnumpy(array):
        return np.array(array)

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


class OutOfMemory(MemoryError):
    """Raised where CuPy's pool has no memory."""


class CudaError(RuntimeError):
    """Raised by the runtime."""


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
        return ProgramFunction(self.cupy, symbol) if self.cupy.program else Function(self.cupy, symbol)


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


class ProgramFunction(Function):
    """The function of one launch of a program. It takes what the kernel's own parameters take, in their order."""

    def __call__(self, grid, block, arguments, shared):
        from gpu.twin.program import ProgramTwin

        self.cupy.launches.append((self.symbol, grid, block, shared))
        text = self.cupy.program
        (launch,) = (each for each in text.launches if each.symbol == self.symbol)
        count = len(launch.arrays)
        arrays, numbers, rest = arguments[:count], arguments[count:][: len(text.numbers)], arguments[count:]
        assert all(type(number) is np.int64 for number in numbers)
        assert grid == (launch.grid.at({name: int(n) for (name, _), n in zip(text.numbers, numbers)}),)
        known = {buffer.name: buffer for buffer in (*text.arrays, *text.between)}
        alone = replace(text, arrays=tuple(known[name] for name in launch.arrays), between=(), launches=(launch,))
        found, outside = ProgramTwin(alone).run([np.asarray(a) for a in arrays], [int(n) for n in numbers])
        for array, values in zip(arrays, found):
            array[...] = values
        (word,) = rest[len(numbers) :] if launch.reports else (None,)
        if outside:
            word[0] = 1


@pytest.fixture
def fake_device(monkeypatch):
    """A CuPy whose launches run the twin: what the kernel hands over decides whether the result is right."""
    import gpu.runtime.machine.loaded
    import gpu.runtime.machine.loaded_program
    from gpu.runtime.compiler.compile import Cubin
    from gpu.runtime.compiler.program import CompiledProgram

    fake = FakeCupy()
    monkeypatch.setitem(sys.modules, "cupy", fake)
    monkeypatch.setattr(gpu.runtime.machine.loaded, "allocating_in_a_capture", fake.allocating_in_a_capture)
    monkeypatch.setattr(gpu.runtime.machine.loaded, "_IN_GRAPHS", {})
    monkeypatch.setattr(
        gpu.runtime.machine.loaded,
        "compile_cubin",
        lambda source, architecture: Cubin(source.symbol, architecture, b"code", 64, 0, "fake"),
    )
    compiled = CompiledProgram(b"code", {}, {})
    monkeypatch.setattr(gpu.runtime.machine.loaded_program, "compile_program", lambda *_: compiled)
    monkeypatch.setattr(gpu.runtime.machine.loaded_program, "compiler_name", lambda: "fake")
    return fake
