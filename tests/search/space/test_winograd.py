"""Winograd's algorithm in a search: its candidates, when it is taken, and what its products wait for, by prediction."""

from __future__ import annotations

import json
from dataclasses import replace
from unittest.mock import patch

import pytest

from cpu.codegen.emit import emit
from microkernels.tile.isa import isa_named
from search import generate_conv
from search.conv import main
from search.cost.costs import COSTS
from search.cost.volume import EVERYTHING, NOTHING, WEIGHTS, Cold
from search.evaluator.cpu.backend import cpu_backend
from search.space.candidates import Knowledge, candidates
from search.space.winograd import blocks, fit_for_networks, predicted, winograd_candidates
from tests.support.sampled import in_turns
from tests.support.search.model_cases import CATALOG, L1, L2, L3, MACHINE, layer
from tiling.loops.lowering.prefetch.plan import left
from tiling.operators import conv2d
from tiling.problem import ProblemError
from tiling.rewrite.winograd.algorithm import Winograd
from tiling.text.notation import parse

PROBLEM = conv2d(c=64, h=56, w=56, k=64, r=3, s=3, padding=1)  # a block of 196 tiles, of 1.8 MB of V, in two parts
ROWS = "F(4x4,3x3) B(196,32) T(m,14) S(c) T(k,64) U(m,14) U(n,2) V(n,16)"
COLUMNS = "F(4x4,3x3) B(196,32) T(m,14) T(n,2) S(c) T(k,64) U(m,14) V(n,16)"
V, U = (4 * 36 * 64 * count for count in (196, 32))  # bytes of a block, and of a part


def waited(text: str, rate: float, cold: Cold = NOTHING) -> float:
    """Seconds that the prediction adds for what is not prefetched. rate: bytes/s of L3."""
    machine, scheme = replace(MACHINE, caches=(L1, L2, replace(L3, bandwidth=rate))), parse(PROBLEM, text)

    def seconds() -> float:
        (found,) = predicted([scheme], machine, replace(CATALOG, op="matmul"), 1, cold)
        return found.prediction.seconds

    with patch("search.space.winograd.left", lambda plans, array: 0.0):
        at_least = seconds()
    return seconds() - at_least


def test_products_wait_for_rows_and_weights_that_no_tile_prefetches():
    share = COSTS.not_prefetched - COSTS.exposed
    assert waited(ROWS, 60e9) == pytest.approx(share * 2 * V / 14 / 60e9)  # the rows of the first tile of 14
    assert waited(COLUMNS, 60e9) == pytest.approx(share * (2 * V + 2 * U) / 60e9)
    rows, columns = (waited(text, 60e9, cold=EVERYTHING) - waited(text, 60e9) for text in (ROWS, COLUMNS))
    assert rows == pytest.approx(0) and columns == pytest.approx(share * 2 * U / MACHINE.memory_bandwidth)


def test_tiles_that_leave_weights_to_others_need_not_wait():
    """A loop of 13 tiles prefetches all weights, and the rows of 12. The tile before the loop prefetches none."""
    text = "F(4x4,3x3) B(196,32) L(m, 1x14 + 13x14) S(c) T(k,64) U(m,λ) U(n,2) V(n,16)"
    plans = parse(PROBLEM, text).prefetches
    assert [plan.next_weights and plan.next_weights.lines for plan in plans] == [0, 2]
    assert left(plans, "w") == 0
    assert left(plans, "x") == pytest.approx(28 / 196)


def test_algorithms_have_names():
    with pytest.raises(ProblemError, match="must be one of direct, winograd, auto"):
        cpu_backend("portable", algorithm="fft")


@pytest.mark.slow
def test_auto_takes_what_winograd_cannot_compute():
    kernel = generate_conv(c=4, h=9, w=9, k=4, r=3, s=3, stride=2, isa="portable", algorithm="auto")
    assert not isinstance(kernel.scheme, Winograd)


@pytest.mark.slow
@in_turns(6)
@pytest.mark.parametrize("threads", [1, 2])
def test_candidates_are_valid_and_in_order(threads, turn):
    backend = cpu_backend("portable", threads)
    problem = conv2d(c=64, h=28, w=28, k=100, r=3, s=3, padding=1)
    found = winograd_candidates(problem, backend.machine, backend.catalog("matmul"), threads)
    times = [candidate.prediction.seconds for candidate in found]
    assert times == sorted(times) and {candidate.scheme.m for candidate in found} == {2, 3, 4}
    assert [
        c.prediction for c in predicted([f.scheme for f in found], backend.machine, backend.catalog("matmul"), threads)
    ] == [c.prediction for c in found]
    for candidate in found[turn::6]:
        assert parse(problem, candidate.scheme.text) == candidate.scheme
        emit(candidate.scheme, backend.isa, threads)


@pytest.mark.slow
def test_auto_begins_with_tiles_whose_weights_come_from_memory_in_time():
    """F(4) has 36 weights where F(2) has 16. With caches warm it is the fastest here."""
    backend, problem = cpu_backend("portable", 2), conv2d(c=128, h=28, w=28, k=128, r=3, s=3, padding=1)
    place = replace(backend.machine, memory_bandwidth=1e8), backend.catalog("matmul"), 2
    warm = winograd_candidates(problem, *place)
    fit = fit_for_networks(warm, *place)
    assert warm[0].scheme.m == 4 and fit[0].scheme.m == 2
    assert fit[0] is next(c for c in warm if c.scheme.m == 2) and fit[1:] == [c for c in warm if c is not fit[0]]
    auto = replace(backend, target=replace(backend.target, algorithm="auto"))
    forms = [scheme for scheme in auto.candidates(problem) if isinstance(scheme, Winograd)]
    usual = backend.machine, backend.catalog("matmul"), 2
    assert forms == [c.scheme for c in fit_for_networks(winograd_candidates(problem, *usual), *usual)]


def test_blocks_cover_and_keep_threads_busy():
    machine = cpu_backend("portable").machine
    problem = conv2d(c=256, h=14, w=14, k=256, r=3, s=3, padding=1)
    for block, channels in blocks(problem, 4, machine, 1):
        assert 8 <= block <= 16 and channels % machine.lanes == 0
    block, channels = blocks(problem, 4, machine, 2)[0]
    assert (-(-16 // block)) * (-(-256 // channels)) % 2 == 0


@pytest.mark.slow
def test_the_command_line(capsys):
    shape = "c=16,h=12,w=12,k=16,r=3,s=3,pad=1"
    words = ["--shape", shape, "--isa", "portable", "--algorithm", "winograd", "--explain", "--json"]
    scheme = "F(4x4,3x3) B(9,16) T(m,3) T(n,2) S(c) T(k,16) U(m,3) U(n,2) V(n,4)"
    assert main([*words, "--scheme", scheme]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["algorithm"], found["scheme"]) == ("winograd", scheme)
    assert 0 < found["direct_error"] < found["max_error"] < 1e-3
    assert "products where the definition takes" in found["explanation"]
    assert main(["--shape", "c=4,h=9,w=9,k=4,r=1,s=1", "--algorithm", "winograd", "--isa", "portable"]) == 2
    assert "kernels of 3 x 3, not 1 x 1" in capsys.readouterr().err


def test_weights_from_memory_do_not_decide_between_algorithms():
    """They would decide against Winograd's in a layer where it is the faster one inside ResNet-18 (decision 018)."""
    place = isa_named(MACHINE.isa), MACHINE, lambda op, by_matrix: replace(CATALOG, op=op), 1, "auto"
    assert isinstance(candidates(layer("R12"), Knowledge(*place, WEIGHTS))[0], Winograd)
