"""A compile cache of a test's own."""

import pytest


@pytest.fixture
def kernels(tmp_path, monkeypatch):
    """Each test has its own cache; returns the folder that entries land in."""
    monkeypatch.setenv("TILEWRIGHT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "kernels"
