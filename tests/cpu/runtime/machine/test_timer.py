"""The timer and the probe. No test needs AVX or asserts how long anything takes."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import cffi
import numpy as np
import pytest

from cpu.runtime.machine.host import FALLBACK_CACHES, Cache, host, supports
from cpu.runtime.machine.probe import STANDING, best_of, buffer_sizes, in_doubt, probe
from cpu.runtime.machine.timer import peak_gflops, read_bandwidth, stream_bandwidth, time_calls, write_bandwidth
from tests.support.running.own_cache import shared_object

COUNTING = """
int begun;
void count(const void *x, const void *w, void *y) {
    ++begun; ((float *)y)[0] += ((const float *)x)[0] * ((const float *)w)[0];
}
"""


def test_time_calls_runs_the_kernel_on_the_arrays():
    ffi = cffi.FFI()
    ffi.cdef("extern int begun; void count(const void *, const void *, void *);")
    library = ffi.dlopen(str(shared_object(COUNTING, ())))
    x, w, y = (np.full(1, value, dtype=np.float32) for value in (2, 3, 0))
    x.flags.writeable = False
    times = time_calls(library.count, x, w, y, seconds=1e-4, samples=3, warmup=2)
    assert len(times) == 3 and all(seconds > 0 for seconds in times)
    assert library.begun >= 2 + 1 + 3
    assert y[0] == 6 * library.begun
    address = int(ffi.cast("uintptr_t", ffi.addressof(library, "count")))
    begun = library.begun
    time_calls(address, x, w, y, seconds=0.0, samples=1, warmup=0)
    assert library.begun == begun + 2  # one to learn how long a call takes, one sample


def test_time_calls_refuses_arrays_that_it_cannot_pass():
    good = np.zeros((4, 4), dtype=np.float32)
    fixed = good.copy()
    fixed.flags.writeable = False
    with pytest.raises(ValueError, match="x must be C-contiguous"):
        time_calls(0, good.T[1:], good, good)
    with pytest.raises(ValueError, match="y is read-only"):
        time_calls(0, good, good, fixed)
    with pytest.raises(ValueError, match="samples=0"):
        time_calls(0, good, good, good, samples=0)


def test_peak_and_bandwidths_are_positive():
    assert 0 < peak_gflops((), 4, 1e-3) < math.inf
    buffer = np.ones(100_001, dtype=np.uint8)[1:]
    for measure in (read_bandwidth, write_bandwidth, stream_bandwidth):
        assert 0 < measure(buffer, (), 4, 1e-3) < math.inf
        assert measure(buffer[:100], (), 4, 1e-3) == 0
    with pytest.raises(ValueError, match="lanes=3"):
        peak_gflops((), 3)


@pytest.mark.parametrize("measure", [write_bandwidth, stream_bandwidth])
@pytest.mark.parametrize("offset", [0, 1, 63])
def test_stores_stay_inside_the_buffer(measure, offset):
    whole = np.full(4096, 250, dtype=np.uint8)
    measure(whole[offset : offset + 2000], (), 4, 0.0)
    assert (whole[:offset] == 250).all() and (whole[offset + 2000 :] == 250).all()
    assert (whole[offset : offset + 2000] == 7).any()


@pytest.mark.parametrize(
    ("needed", "flags", "lanes"),
    [
        (("avx2", "fma"), ("-mavx2", "-mfma"), 8),
        (("avx512f", "fma"), ("-mavx512f", "-mfma"), 16),
    ],
)
def test_wide_vectors(needed, flags, lanes):
    if not supports(needed):
        pytest.skip(f"this CPU has no {needed[0]}")
    buffer = np.ones(1 << 16, dtype=np.uint8)
    assert peak_gflops(flags, lanes, 1e-3) > 0
    for measure in (read_bandwidth, write_bandwidth, stream_bandwidth):
        assert measure(buffer, flags, lanes, 1e-3) > 0


# probe


def test_buffer_sizes_fit_their_level():
    caches = (Cache("L1", 64, 64, 1, 1), Cache("L2", 100, 64, 1, 1), Cache("L3", 1 << 30, 64, 1, 1))
    sizes = buffer_sizes(replace(host(), caches=caches))
    assert sizes == {"L1": 32, "L2": 82, "L3": 1600, "memory": 256 << 20}


def test_probe_is_plain_data():
    small = replace(host(), caches=FALLBACK_CACHES)
    facts = probe((), 4, small)
    assert json.loads(json.dumps(facts)) == facts
    kinds = [facts[kind] for kind in ("read", "write")]
    assert all(list(kind) == ["L1", "L2", "memory"] for kind in kinds)
    rates = [facts["peak_gflops"], facts["memory_stream"], *(rate for kind in kinds for rate in kind.values())]
    assert all(0 < rate < math.inf for rate in rates)
    assert isinstance(facts["disturbed"], str) and facts["at"] > 0


def test_of_two_probes_the_better_rates_count():
    kinds = {"read": {"L1": 4.0, "memory": 2.0}, "write": {"L1": 3.0, "memory": 1.0}}
    earlier = {"peak_gflops": 9.0, "memory_stream": 1.0, **kinds, "disturbed": "by others", "at": 5.0}
    kinds = {"read": {"L1": 3.0, "memory": 8.0}, "write": {"L1": 5.0, "memory": 0.5}}
    later = {"peak_gflops": 8.0, "memory_stream": 2.0, **kinds, "disturbed": "", "at": 6.0}
    assert best_of(earlier, later) == {
        "peak_gflops": 9.0,
        "memory_stream": 2.0,
        "read": {"L1": 4.0, "memory": 8.0},
        "write": {"L1": 5.0, "memory": 1.0},
        "disturbed": "",
        "at": 6.0,
    }


def test_a_probe_in_doubt_stands_for_a_while():
    assert in_doubt({"disturbed": "other programs took 1.0 cores", "at": 100.0}, 101.0 + STANDING)
    assert not in_doubt({"disturbed": "other programs took 1.0 cores", "at": 100.0}, 99.0 + STANDING)
    assert in_doubt({"disturbed": "other programs took 1.0 cores", "at": 1e300}, 100.0)  # a clock that was set back
    assert not in_doubt({"disturbed": "", "at": 100.0}, 101.0 + STANDING)
    assert not in_doubt({}, STANDING)
