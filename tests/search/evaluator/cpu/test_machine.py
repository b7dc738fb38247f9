"""The facts of this CPU: a probe is kept, and one that other programs disturbed is repeated when they have ended."""

import pytest

from cpu.runtime.compiler.cache_folder import CacheError
from cpu.runtime.compiler.toolchain import ToolchainError
from cpu.runtime.machine.host import host
from cpu.runtime.machine.probe import STANDING
from microkernels.scores.database import StoreError
from microkernels.tile.isa import isa_named
from search.evaluator.cpu import machine
from search.tuner import store

NOW = 1e6
OTHERS = "other programs took 1.0 cores"


@pytest.fixture
def probes(monkeypatch, tmp_path):
    """What probes find, one after the other: a rate, the disturbance, the time. Nothing else runs on the machine."""
    found = []

    def probe(flags, lanes, of):
        rate, disturbed, at = found.pop(0)
        levels = dict.fromkeys([*(cache.name for cache in of.caches), "memory"], rate)
        rates = {"peak_gflops": 1.0, "memory_stream": rate, "read": levels, "write": levels}
        return {**rates, "disturbed": disturbed, "at": at}

    monkeypatch.setenv("TILEWRIGHT_DATA", str(tmp_path))
    monkeypatch.setattr(machine, "probe", probe)
    monkeypatch.setattr(machine, "busy", lambda threads: "")
    monkeypatch.setattr(machine.time, "time", lambda: NOW)
    return found


def memory() -> float:
    return machine.machine_of(isa_named("portable"), "here").memory_bandwidth


def test_a_probe_is_kept(probes):
    probes.append((3.0, "", 1.0))
    assert [memory(), memory()] == [3.0, 3.0] and not probes


@pytest.mark.parametrize("again, wanted", [(9.0, 9.0), (2.0, 3.0)])
def test_a_disturbed_probe_is_repeated_once_the_machine_is_quiet(probes, again, wanted):
    probes += [(3.0, OTHERS, NOW - STANDING - 1), (again, "", NOW)]
    assert [memory(), memory(), memory()] == [3.0, wanted, wanted] and not probes
    assert store.facts("here", "portable")["disturbed"] == ""


def test_a_disturbed_probe_stands_while_the_machine_is_busy(probes, monkeypatch):
    asked = []
    monkeypatch.setattr(machine, "busy", lambda threads: asked.append(threads) or OTHERS)
    probes.append((3.0, OTHERS, NOW - STANDING - 1))
    assert [memory(), memory()] == [3.0, 3.0] and asked == [host().cores]


def test_a_disturbed_probe_stands_for_the_searches_of_one_sitting(probes):
    probes.append((3.0, OTHERS, NOW - 1))
    assert [memory(), memory()] == [3.0, 3.0]


@pytest.mark.parametrize("place", [(machine, "probe"), (store, "keep_facts")], ids=["no probe", "nothing kept"])
@pytest.mark.parametrize("error", [ToolchainError, CacheError, StoreError, OSError])
def test_a_disturbed_probe_serves_where_it_cannot_be_repeated(probes, monkeypatch, place, error):
    probes += [(3.0, OTHERS, NOW - STANDING - 1), (9.0, "", NOW)]
    assert memory() == 3.0

    def fails(*parts):
        raise error("no more")

    monkeypatch.setattr(*place, fails)
    assert memory() == 3.0
