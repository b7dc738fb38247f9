"""What every test gets: folders of its own, skips for instruction sets this CPU lacks, `--update-golden` and `--soak`.

A test marked `soak` runs only with `--soak MINUTES`, which runs nothing else. It asks for `soak_seconds` and stops by
itself once that time is over; `soak_seed` is where its random numbers start. What it prints is shown at the end.
"""

import random
import signal
import time
from functools import cache

import pytest
from hypothesis import HealthCheck, settings

# A loaded machine is slow now and then; that is no failure of the code.
settings.register_profile("tilewright", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("tilewright")


def pytest_addoption(parser):
    parser.addoption("--update-golden", action="store_true", help="rewrite tests/golden instead of comparing with it")
    parser.addoption(
        "--soak", type=float, metavar="MINUTES", help="run the soak tests, which share this time, and no other"
    )
    parser.addoption(
        "--soak-seed", type=int, metavar="N", help="of the soak tests' random numbers; printed, by default a new one"
    )


def pytest_configure(config):
    # A shell that starts a command in the background has it ignore Ctrl-C, and so would every program that a test
    # starts.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if config.option.soak_seed is None:
        config.option.soak_seed = random.randrange(2**32)
    if config.option.soak is not None and config.option.soak <= 0:
        raise pytest.UsageError("--soak takes a number of minutes above 0")


def pytest_report_header(config):
    if config.option.soak is not None:
        return f"soak: {config.option.soak:g} minutes; the same again with --soak-seed {config.option.soak_seed}"


def pytest_collection_modifyitems(config, items):
    long, short = [], []
    for item in items:
        (long if item.get_closest_marker("soak") else short).append(item)
    items[:], left_out = (short, long) if config.option.soak is None else (long, short)
    config.hook.pytest_deselected(items=left_out)


class SoakTime:
    """The time that the soak tests share: what one leaves is for those after it."""

    def __init__(self, minutes: float, tests: int):
        self.deadline, self.tests = time.monotonic() + 60 * minutes, tests

    def share(self) -> float:
        """Seconds for the next test, of which there are so many left."""
        share = max(0.0, self.deadline - time.monotonic()) / self.tests
        self.tests -= 1
        return share


@pytest.fixture(scope="session")
def soak_time(request) -> SoakTime:
    return SoakTime(request.config.option.soak, len(request.session.items))


@pytest.fixture
def soak_seconds(soak_time) -> float:
    """How long this soak test may go on. A test does its least work even where it is 0."""
    return soak_time.share()


@pytest.fixture
def soak_seed(request) -> int:
    """Where the random numbers of a soak test start: `--soak-seed`."""
    return request.config.option.soak_seed


@pytest.fixture
def update_golden(request) -> bool:
    """Whether golden files are to be rewritten."""
    return request.config.getoption("--update-golden")


@pytest.fixture(scope="session", autouse=True)
def isolated_folders(tmp_path_factory):
    """No test reads or writes the user's own measurements and compiled kernels."""
    with pytest.MonkeyPatch.context() as patch:
        for variable in ("TILEWRIGHT_DATA", "TILEWRIGHT_CACHE"):
            patch.setenv(variable, str(tmp_path_factory.mktemp(variable.lower())))
        yield


@pytest.fixture
def data_folder(tmp_path, monkeypatch):
    """Folders of this test's own; the one of measurements."""
    monkeypatch.setenv("TILEWRIGHT_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("TILEWRIGHT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "data"


def pytest_runtest_setup(item):
    for marker in item.iter_markers("isa"):
        _skip_without(*marker.args)
    if item.get_closest_marker("gpu") and (missing := device_missing()):
        pytest.skip(f"needs a GPU: {missing}")


@cache
def device_missing() -> str:
    """Why no GPU can be used here; empty where one can."""
    from gpu.kernel import DeviceError, current_device

    try:
        current_device()
    except DeviceError as error:
        return str(error)
    return ""


def _skip_without(name: str) -> None:
    # Imported here, so that the tests of the language run where the CPU packages cannot be imported.
    from cpu.host import supports
    from microkernels.isa import isa_named

    missing = [flag for flag in isa_named(name).cpu_flags if not supports([flag])]
    if missing:
        pytest.skip(f"needs {name}: this CPU lacks {', '.join(missing)}")
