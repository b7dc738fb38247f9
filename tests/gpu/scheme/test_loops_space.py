"""The schedules without a matrix instruction: what they become for problems of any size, exact on the twin."""

from __future__ import annotations

import re
from dataclasses import replace
from math import prod

import pytest

from gpu.codegen.loops.scheme import emit_scheme
from gpu.model.devices import DEVICES
from gpu.model.loops import predict_loops
from gpu.model.loops_space import loop_schedules, loop_schemes, scheme_of
from gpu.runtime.compiler.compile import compile_cubin
from gpu.twin.launch import TwinError
from search.conv import main
from search.evaluator.gpu.backend import GpuBackend, gpu_target
from tests.support.gpu.compiling import needs_nvrtc
from tests.support.gpu.schemes import on_twin
from tiling.operators import conv2d, in_layout, matmul

SMALL = {
    "odd product": matmul(m=37, n=45, k=13),
    "batch": matmul(m=9, n=33, k=5, batch=2, transpose_b=True, dtype="bf16"),
    "convolution": conv2d(n=2, c=3, h=7, w=9, k=20, r=3, s=3, padding=1, stride=2),
    "channels first": in_layout(conv2d(n=1, c=5, h=7, w=9, k=12, r=3, s=3, padding=1, dtype="f16"), "nchw"),
    "groups": conv2d(n=1, c=6, h=5, w=6, k=18, r=3, s=3, padding=1, groups=3),
    "depthwise": conv2d(n=1, c=21, h=6, w=7, k=21, r=3, s=3, padding=1, groups=21),
    "a row": matmul(m=1, n=40, k=70),
}


def test_there_are_few():
    assert len(set(loop_schedules())) == len(loop_schedules()) < 200


@pytest.mark.parametrize("name", SMALL)
def test_they_cover_any_size_exactly_once(name):
    """On the twin, which fails for an output that is written twice or not at all."""
    schemes = loop_schemes(SMALL[name])
    tried = schemes[:: max(1, len(schemes) // 4)]
    for scheme in tried:
        assert on_twin(scheme, seeds=(0,)), scheme.text


@pytest.mark.parametrize("name", ["odd product", "convolution"])
def test_no_guard_of_an_edge_is_one_too_many(name):
    scheme = next(s for s in loop_schemes(SMALL[name]) if any(s.visited(d) > s.extents[d] for d in s.extents))
    source = emit_scheme(scheme)
    guards = [line.strip() for line in source.text.splitlines() if line.strip().startswith("if (")]
    ahead = re.compile(r"if \(k \+ \d+ <")  # of a copy ahead: where k has an edge, a step too many brings zeros
    guards = [g for g in guards if not ahead.match(g)]
    assert guards
    for guard in guards:
        text = source.text.replace(guard, "{")
        with pytest.raises(TwinError):
            on_twin(scheme, replace(source, text=text), seeds=(0,))


def test_a_ring_copies_no_step_too_many_where_steps_are_whole():
    scheme = next(s for s in loop_schemes(matmul(m=33, n=40, k=64)) if "S(b, " in s.text and s.visited("k") == 64)
    source = emit_scheme(scheme)
    (guard,) = {line.strip() for line in source.text.splitlines() if line.strip().startswith("if (k + ")}
    with pytest.raises(TwinError):
        on_twin(scheme, replace(source, text=source.text.replace(guard, "{")), seeds=(0,))


@pytest.mark.slow
@pytest.mark.exhaustive
@pytest.mark.parametrize("device", ["A100", "L40S", "H200"])
@pytest.mark.parametrize("taps, least", [(13, 10), (31, 1)])
def test_wide_windows_have_schedules_whose_ring_does_not_fit(device, taps, least):
    problem = conv2d(n=1, c=64, h=56, w=56, k=64, r=taps, s=taps, padding=taps // 2)
    backend = GpuBackend(gpu_target("cuda-twin", "f32", device))
    found = backend.candidates(problem)
    assert len(found) >= least and len(found) == len({scheme.text for scheme in found})


@pytest.mark.parametrize("name", SMALL)
def test_every_one_fits_a_device_and_has_a_time(name):
    problem, device = SMALL[name], DEVICES["A100"]
    times = [predict_loops(emit_scheme(s), device) for s in loop_schemes(problem)]
    assert all(each.seconds > 0 and each.resident >= 1 for each in times)


@pytest.mark.slow
def test_large_problems_take_large_tiles_and_small_ones_small():
    def best(problem):
        times = [predict_loops(emit_scheme(s), DEVICES["H100"]) for s in loop_schemes(problem)]
        return min(times, key=lambda each: each.seconds).scheme

    large, small = (best(matmul(m=n, n=n, k=n)) for n in (4096, 64))
    sums = [prod(count for dim, count in scheme.tiles[0].items() if dim != "k") for scheme in (large, small)]
    assert sums[0] >= 64 > sums[1]
    assert best(matmul(m=1024, n=1024, k=64)).text != small.text


@needs_nvrtc
@pytest.mark.parametrize("place", range(0, len(loop_schedules()), 7))
def test_they_compile_without_spills(place):
    scheme = scheme_of(matmul(m=2040, n=2044, k=1000), loop_schedules()[place])
    assert compile_cubin(emit_scheme(scheme), "sm_80").spilled == 0


@pytest.mark.slow
def test_a_search_finds_them(capsys):
    shape = "c=4,h=6,w=8,k=8,r=3,s=3,pad=1,layout=nchw"
    assert main(["--shape", shape, "--target", "cuda-twin", "--dtype", "f32"]) == 0
    said = capsys.readouterr().out
    assert "@lane" in said and "exact on small integers" in said
    assert main(["--shape", "c=8,h=5,w=5,k=8,r=3,s=3,pad=1,groups=2", "--target", "cuda-twin"]) == 0
    assert "exact on small integers" in capsys.readouterr().out
