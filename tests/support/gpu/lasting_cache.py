"""The fixture of a cache for kernels of GPUs that outlives the run."""

import pytest


@pytest.fixture
def lasting_cache(request, monkeypatch, tmp_path):
    """Takes the compile cache of a name: one that outlives the run, as far as pytest keeps anything."""

    # Imported here, so that the tests of the language run where the CPU packages cannot be imported.
    from cpu.runtime.compiler.cache_folder import keep_limit

    def take(name: str) -> None:
        kept = getattr(request.config, "cache", None)
        monkeypatch.setenv("TILEWRIGHT_CACHE", str(kept.mkdir(f"cubins-{name}") if kept else tmp_path))
        keep_limit(32 << 20)  # two generations of some 450 kernels

    return take
