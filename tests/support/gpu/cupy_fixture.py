"""The fixture that puts `stand_in` where CuPy and NVIDIA's bindings would be, in this process and in its workers."""

import json
import sys
from pathlib import Path

import pytest


@pytest.fixture
def stand_in(monkeypatch, tmp_path):
    """A machine with an H200; gives a function that says which kernels fail, by a part of their text, and how."""
    # Imported here, so that the tests of the language run where the GPU packages cannot be imported.
    import gpu.runtime.machine.timer
    from bench.run.layers import end_lasting
    from gpu.runtime.machine.loaded import Loaded
    from gpu.runtime.machine.loaded_program import LoadedProgram

    for name in _replaced():
        monkeypatch.delitem(sys.modules, name)
    for each in (Loaded, LoadedProgram):
        monkeypatch.setattr(each, "launch", each.launch)  # the stand-in replaces it
    gpu.runtime.machine.timer._head_start.cache_clear()
    monkeypatch.syspath_prepend(str(Path(__file__).with_name("stand_in")))
    monkeypatch.setenv("TILEWRIGHT_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("STAND_IN_FAULTS", str(tmp_path / "faults"))

    def fail(faults: dict[str, str]) -> None:
        (tmp_path / "faults").write_text(json.dumps(faults))

    fail({})
    yield fail
    end_lasting()  # a worker keeps the variables of the test that started it
    for name in _replaced():
        del sys.modules[name]
    gpu.runtime.machine.timer._head_start.cache_clear()


def _replaced():
    return [name for name in sys.modules if name.partition(".")[0] in ("cuda", "cupy")]
