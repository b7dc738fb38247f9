"""The fixture that puts `stand_in/cupy` where CuPy would be, in this process and in its workers."""

import json
import sys
from pathlib import Path

import pytest


@pytest.fixture
def stand_in(monkeypatch, tmp_path):
    """A machine with an H200; gives a function that says which kernels fail, by a part of their text, and how."""
    _forget_cupy(monkeypatch)
    monkeypatch.syspath_prepend(str(Path(__file__).with_name("stand_in")))
    monkeypatch.setenv("TILEWRIGHT_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("STAND_IN_FAULTS", str(tmp_path / "faults"))

    def fail(faults: dict[str, str]) -> None:
        (tmp_path / "faults").write_text(json.dumps(faults))

    fail({})
    yield fail
    _forget_cupy(monkeypatch)


def _forget_cupy(monkeypatch):
    for name in [name for name in sys.modules if name.partition(".")[0] == "cupy"]:
        monkeypatch.delitem(sys.modules, name)
