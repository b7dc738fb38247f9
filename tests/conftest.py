"""What every test gets: folders of its own, skips for instruction sets this CPU lacks, and pytest's options of ours.

`--soak MINUTES` runs the tests of the folder `soak` and nothing else, `--sample` leaves out cases of exhaustive tests,
`--fast` more, and `--update-golden` rewrites golden files instead of comparing with them.
"""

import gc
import os
import random
import signal
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.support import sampled
from tests.support.sampled import covering_sample, lacking, quick_sample

# A loaded machine is slow now and then; that is no failure of the code. `make test` draws the same cases every time, so
# that its outcome depends on the code alone; `make soak` draws new ones.
settings.register_profile("soak", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("same", settings.get_profile("soak"), derandomize=True)
settings.load_profile("same")

# NumPy's threads spin for a while after each product: a quarter of the CPU time of a process that compares with the
# reference, on cores that the other processes need.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# It holds the kernels that a whole run compiles and a dozen headers of 25 MB. `python -m cpu.cache limit` writes it so.
SHARED_CACHE_BYTES = f"{2 << 30}\n"

# Fixtures that several folders use.
pytest_plugins = [
    "tests.support.gpu.cupy_fixture",
    "tests.support.gpu.fake_device",
    "tests.support.gpu.lasting_cache",
    "tests.support.gpu.no_device",
    "tests.support.running.emulated",
]

SOAK = Path(__file__).parent / "soak"


def pytest_addoption(parser):
    parser.addoption("--update-golden", action="store_true", help="rewrite tests/golden instead of comparing with it")
    parser.addoption(
        "--sample",
        action="store_true",
        help="of a test that is marked exhaustive only cases that have every value of every parameter",
    )
    parser.addoption(
        "--fast",
        action="store_true",
        help="no test that is marked slow, and one case of any other",
    )
    parser.addoption(
        "--soak", type=float, metavar="MINUTES", help="run the soak tests, which share this time, and no other"
    )
    parser.addoption(
        "--soak-seed",
        type=int,
        metavar="N",
        help="seed of the soak tests' random numbers; printed, by default a new one",
    )


def pytest_configure(config):
    # A shell that starts a command in the background has it ignore Ctrl-C, and so would every program that a test
    # starts.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if config.option.soak_seed is None:
        config.option.soak_seed = random.randrange(2**32)
    if config.option.soak is not None and config.option.soak <= 0:
        raise pytest.UsageError("--soak takes a number of minutes above 0")
    if config.option.soak is not None:
        settings.load_profile("soak")
    if config.option.sample or config.option.fast:
        sampled.ONE_OF = 8
    _probe_once()


def _probe_once() -> None:
    """This machine's speeds, which take 0.7 s, are measured once in a process, not for each data folder of a test."""
    with suppress(ImportError):  # the tests of the language run where the CPU packages cannot be imported
        from cpu.runtime.machine import probe

        probe.probe = cache(probe.probe)


def pytest_ignore_collect(collection_path, config):
    """Soak tests need no other file. Without `--soak` theirs are collected too, so that none of them stops loading."""
    other = collection_path.suffix == ".py" and SOAK not in collection_path.parents
    return True if other and config.option.soak is not None else None


@pytest.hookimpl(hookwrapper=True)
def pytest_collection(session):
    """What is collected stays to the end. Looking through it for garbage again and again takes a quarter of the time of
    collecting, and a seventh of the tests' own.
    """
    gc.disable()
    yield
    gc.freeze()
    gc.enable()


def pytest_report_header(config):
    if config.option.soak is not None:
        return f"soak: {config.option.soak:g} minutes; the same again with --soak-seed {config.option.soak_seed}"


def pytest_collection_modifyitems(config, items):
    long, short = [], []
    for item in items:
        (long if SOAK in item.path.parents else short).append(item)
    items[:], left_out = (short, long) if config.option.soak is None else (long, short)
    # Files with slow tests begin first, so that no process is left alone with one at the end (Makefile: loadfile). The
    # longest begin at once: those of whole runs lie directly in this folder.
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: (item.path not in slow, len(item.path.parts)))
    for chosen, sample_of in ((config.option.sample, covering_sample), (config.option.fast, quick_sample)):
        if chosen:
            sample = set(sample_of(items))
            left_out += [item for item in items if item not in sample]
            items[:] = [item for item in items if item in sample]
    config.hook.pytest_deselected(items=left_out)


@pytest.fixture
def update_golden(request) -> bool:
    """Whether golden files are to be rewritten."""
    return request.config.getoption("--update-golden")


@pytest.fixture(scope="session", autouse=True)
def isolated_folders(tmp_path_factory, pytestconfig):
    """No test reads or writes the user's own measurements and compiled kernels.

    Temporary files lie in pytest's folder too: what is killed leaves them, and so do some libraries that end well.

    Compiled kernels are shared by the whole run, processes of pytest-xdist included: many files build the same ones.
    Without room for all of them, and for gcc's precompiled headers, each would be compiled again and take thrice
    as long. So a test that asks about the limit, or deletes kernels, has a cache of its own.

    They stay for the next run, as far as pytest keeps anything: a third of a first run is the compiler's time. A kernel
    is found by all that decides its code, so a changed one is compiled. `pytest --cache-clear` forgets them.

    The microkernels of portable C count as ranked: each process would measure all of them, for half a minute. A test
    that is about the ranking has a data folder of its own.

    Some things take other times than in use, such as samples: a search would spend most of its time on them.
    """
    base = tmp_path_factory.getbasetemp()
    own = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "compiled-kernels"
    kept = getattr(pytestconfig, "cache", None)
    cache = kept.mkdir(own.name) if kept else own
    cache.mkdir(exist_ok=True)
    limit = cache / "limit"
    if not limit.exists() or limit.read_text() != SHARED_CACHE_BYTES:  # another run may read it
        limit.write_text(SHARED_CACHE_BYTES)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TILEWRIGHT_DATA", str(tmp_path_factory.mktemp("data")))
        patch.setenv("TILEWRIGHT_CACHE", str(cache))
        patch.setenv("TMPDIR", str(tmp_path_factory.mktemp("temporary")))
        patch.setattr(tempfile, "tempdir", None)  # it is read once, and then kept
        _rank_nothing()
        _take_seconds(patch)
        yield
    assert limit.read_text() == SHARED_CACHE_BYTES, "a test has changed the limit of the cache that all tests share"


def _rank_nothing() -> None:
    with suppress(ImportError):  # as for `_probe_once`
        from tests.support.microkernels.made_up_ranking import make_up_portable

        make_up_portable()


# Samples are short, since no test is about how fast a kernel is: in visits of a search, its last check, the report of a
# program, and a ranking. And a model's schemes are listed here, however long that takes: what a test gains by starting
# more processes for it, the tests beside it lose.
SECONDS = {
    "search.tuner.tune.SHORT": 0.01,
    "search.tuner.tune.LONG": 0.02,
    "search.flow.find.VERDICT_SECONDS": 0.02,
    "search.flow.recorded.VERDICT_SECONDS": 0.02,
    "search.commands.program.MEASURE_SECONDS": 0.02,
    "microkernels.ranking.offline.MEASURE_SECONDS": 0.02,
    "search.flow.choices._START_SECONDS": 60.0,
}


def _take_seconds(patch: pytest.MonkeyPatch) -> None:
    with suppress(ImportError):  # as for `_probe_once`
        for name, seconds in SECONDS.items():
            patch.setattr(name, seconds)


@pytest.fixture
def data_folder(tmp_path, monkeypatch):
    """A folder of measurements of this test's own."""
    monkeypatch.setenv("TILEWRIGHT_DATA", str(tmp_path / "data"))
    return tmp_path / "data"


def pytest_runtest_setup(item):
    if missing := lacking(item):
        pytest.skip(missing)
    if item.get_closest_marker("gpu") and (missing := device_missing()):
        pytest.skip(f"needs a GPU: {missing}")


@cache
def device_missing() -> str:
    """Why no GPU can be used here; empty where one can."""
    from gpu.runtime.machine.device import DeviceError, current_device

    try:
        current_device()
    except DeviceError as error:
        return str(error)
    return ""
