"""What a machine without a GPU and without NVRTC does, wherever the tests run."""

import pytest


@pytest.fixture
def no_device(monkeypatch):
    # Imported here, so that the tests of the language run where the other packages cannot be imported.
    import gpu.runtime.compiler.nvrtc
    import gpu.runtime.machine.device
    import gpu.runtime.machine.loaded
    import gpu.runtime.machine.loaded_program
    import search.evaluator.gpu.backend
    import search.evaluator.gpu.cuda
    from gpu.runtime.compiler.nvrtc import CompilerMissing
    from gpu.runtime.machine.device import DeviceError

    def absent():
        raise DeviceError("there is no CUDA device here")

    def missing():
        raise CompilerMissing("NVRTC cannot be loaded, which compiles CUDA kernels: pip install 'tilewright[nvrtc]'")

    monkeypatch.setattr(search.evaluator.gpu.backend, "current_device", absent)
    monkeypatch.setattr(search.evaluator.gpu.cuda, "current_device", absent)
    monkeypatch.setattr(gpu.runtime.machine.device, "current", absent)
    monkeypatch.setattr(gpu.runtime.machine.loaded, "current", absent)
    monkeypatch.setattr(gpu.runtime.machine.loaded_program, "current", absent)
    monkeypatch.setattr(gpu.runtime.compiler.nvrtc, "_bindings", missing)
