"""A kernel that was saved."""

import pytest

from tests.support.kernels.cases import kernel_of
from tests.support.kernels.saved import PROBLEM, TEXT


@pytest.fixture
def saved(tmp_path):
    """The paths of a saved kernel by suffix."""
    written = kernel_of(PROBLEM, TEXT, "portable").save(tmp_path / "saved")
    return {path.suffix: path for path in written if not path.stem.endswith("_example")}
