"""The workers that tests cause to start: forked, but where a test is about their start."""

import subprocess
from contextlib import suppress

import pytest

from tests.support.running import forked


@pytest.fixture(scope="session", autouse=True)
def workers_are_forked():
    """A search starts several, and each start takes 0.6 s of a core."""
    with pytest.MonkeyPatch.context() as patch:
        with suppress(ImportError):  # the tests of the language run where the CPU packages cannot be imported
            patch.setattr(*forked.forked_workers())
        yield
    forked.end()


@pytest.fixture
def started_workers(monkeypatch):
    """Workers start as in a user's program."""
    monkeypatch.setattr("cpu.runtime.processes.worker.subprocess", subprocess)
