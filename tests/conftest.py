"""What every test gets: folders of its own, skips for instruction sets this CPU lacks, and `--update-golden`."""

import pytest
from hypothesis import HealthCheck, settings

# A loaded machine is slow now and then; that is no failure of the code.
settings.register_profile("tilewright", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("tilewright")


def pytest_addoption(parser):
    parser.addoption("--update-golden", action="store_true", help="rewrite tests/golden instead of comparing with it")


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


def pytest_runtest_setup(item):
    for marker in item.iter_markers("isa"):
        _skip_without(*marker.args)


def _skip_without(name: str) -> None:
    # Imported here, so that the tests of the language run where the CPU packages cannot be imported.
    from cpu.host import supports
    from microkernels.isa import isa_named

    missing = [flag for flag in isa_named(name).cpu_flags if not supports([flag])]
    if missing:
        pytest.skip(f"needs {name}: this CPU lacks {', '.join(missing)}")
