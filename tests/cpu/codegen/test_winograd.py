"""Winograd's algorithm: its matrices, its kernels (exact on whole numbers, within their bound on reals), its choice."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from unittest.mock import patch

import numpy as np
import pytest

from bench.run.algorithms import computed_by
from bench.run.contest import contest
from cpu.codegen.emit import emit
from cpu.kernel.callable import build
from cpu.kernel.measure import bound_of, check_exact, exact_case
from cpu.kernel.saved import load
from cpu.reference.oracle import WrongResult, reals, reference
from cpu.reference.winograd import winograd_bound
from microkernels.tile.isa import ISAS
from search import generate_conv
from tests.exactness import FAR
from tests.support.kernels.cases import ON_EVERY_ISA
from tests.support.kernels.guard import PLACES, check_guarded
from tests.support.kernels.winograd_cases import CASES, EPILOGUES, ODD, text_of
from tiling.arguments import ArgumentError
from tiling.epilogue import fused
from tiling.operators import conv2d
from tiling.problem import ProblemError
from tiling.rewrite.winograd.algorithm import SIZES, Winograd, product_problem, tile_grid, transforms
from tiling.scheme.specifiers import SchemeError
from tiling.text.notation import parse
from tiling.text.shapes import canonical, suite

# What vectors of more lanes may get wrong; random cases (`tests.support.kernels.random_cases`) draw all the rest on
# every instruction set.
OF_WIDE_VECTORS = (
    "odd image, primes, batch",
    "asymmetric padding",
    "whole vectors of output channels, not of input channels",
)


def kernel_of(case, isa, threads=1):
    return build(parse(case[0], text_of(*case, ISAS[isa].lanes)), ISAS[isa], threads)


@pytest.mark.parametrize("m", SIZES)
def test_the_transforms_compute_a_convolution(m):
    matrices, rng = transforms(m), np.random.default_rng(m)
    x, w = ([Fraction(int(v)) for v in rng.integers(-9, 10, count)] for count in (m + 2, 3))

    def times(matrix, vector):
        return [sum(a * b for a, b in zip(row, vector)) for row in matrix]

    points = [a * b for a, b in zip(times(matrices.weights, w), times(matrices.input, x))]
    assert times(matrices.output, points) == [sum(x[i + j] * w[j] for j in range(3)) for i in range(m)]


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "name, isa",
    [(name, "portable") for name in CASES]
    + [pytest.param(name, isa, marks=pytest.mark.isa(isa)) for isa in ("avx512f", "avx2") for name in OF_WIDE_VECTORS],
)
def test_kernels_are_exact_on_whole_numbers(name, isa):
    check_exact(kernel_of(CASES[name], isa))


@pytest.mark.parametrize("order, array", [("R(n) R(m)", "UP"), ("R(m) R(n)", "VP")])
def test_products_prefetch_the_matrices_of_their_point(order, array):
    """As if all arrays were large: then a cursor walks U or V of one point."""
    with patch.multiple("tiling.loops.lowering.prefetch.limits", **FAR):
        kernel = build(parse(ODD, f"F(2x2,3x3) B(7,48) {order} S(c) T(k,19) V(n,4)"), ISAS["portable"])
    assert f" = place({array}, " in kernel.source
    check_exact(kernel)


@pytest.mark.exhaustive
@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("name", CASES)
def test_every_function_that_is_called_is_defined(name, isa):
    """A compiler may drop the call and take the text all the same: another one, or another option, would not."""
    text = emit(parse(CASES[name][0], text_of(*CASES[name], ISAS[isa].lanes)), ISAS[isa]).text
    defined = re.findall(r"^static __attribute__\(\(noinline\)\) void (\w+)\(", text, re.MULTILINE)
    called = set(re.findall(r"^ +((?:input|output)_\w+|padded)\(", text, re.MULTILINE))
    assert called == set(defined) and {"input_tile", "output_tile"} <= called


@pytest.mark.parametrize("name", EPILOGUES)
def test_epilogues_are_exact_too(name):
    kernel = kernel_of(EPILOGUES[name], "portable")
    check_exact(kernel)
    assert kernel.scheme.problem.epilogue.keeps_integers


@pytest.mark.isa("avx512f")
def test_the_next_weights_are_prefetched_for_winograds_products():
    """A product of half a megabyte of weights prefetches those that it multiplies next."""
    problem = conv2d(c=512, h=8, w=8, k=256, r=3, s=3, padding=1)
    kernel = build(parse(problem, "F(4x4,3x3) B(4,256) T(n,16) T(m,2) S(c) T(k,512) U(m,2) V(n,16)"), ISAS["avx512f"])
    assert "w_next = l2_prefetch(w_next, w_end);" in kernel.source
    check_exact(kernel)


@pytest.mark.slow
@pytest.mark.exhaustive
@pytest.mark.parametrize("threads", [2, 3])
@pytest.mark.parametrize(
    "case", [CASES["odd image, primes, batch"], EPILOGUES["bias and residual"]], ids=["odd", "fused"]
)
def test_tasks_are_shared_among_threads(case, threads):
    check_exact(kernel_of(case, "portable", threads))


def test_a_kernel_has_no_more_threads_than_tasks():
    assert kernel_of(CASES["no padding"], "portable", 64).threads == 8


@pytest.mark.slow
def test_calls_from_several_threads_at_once_do_not_meet():
    kernel = kernel_of(CASES["odd image, primes, batch"], "portable", 2)
    packed = [kernel.pack(reals(ODD, seed)[1]) for seed in range(4)]
    alone = [kernel(reals(ODD, seed)[0], packed[seed]) for seed in range(4)]
    with ThreadPoolExecutor(4) as pool:
        for _ in range(20):
            together = list(pool.map(lambda seed: kernel(reals(ODD, seed)[0], packed[seed]), range(4)))
            assert all(np.array_equal(a, b) for a, b in zip(alone, together))


@pytest.mark.slow
@pytest.mark.exhaustive(isa=None)
@pytest.mark.parametrize("isa", ON_EVERY_ISA)
def test_nothing_beside_the_arrays_is_touched(isa):
    for case in (CASES["odd image, primes, batch"], CASES["asymmetric padding"], EPILOGUES["arrays of every shape"]):
        kernel = kernel_of(case, isa)
        for place in PLACES:
            check_guarded(kernel, place)


@pytest.mark.slow
@pytest.mark.parametrize(
    "case", [CASES["odd image, primes, batch"], CASES["F(3), tiles left over"], EPILOGUES["bias and residual"]]
)
def test_errors_on_reals_are_within_their_bound(case):
    kernel = kernel_of(case, "portable")
    inputs = reals(kernel.problem)
    error = np.abs(kernel(*inputs) - reference(kernel.problem, *inputs))
    bound = bound_of(kernel.scheme, *inputs)
    assert np.all(error <= bound) and error.max() > 0
    # A bound that any result meets would show nothing.
    assert np.median(bound) < 1e-2


def test_larger_tiles_have_larger_bounds():
    inputs = reals(ODD)
    bounds = [winograd_bound(ODD, m, *inputs).mean() for m in SIZES]
    assert bounds == sorted(bounds)


@pytest.mark.parametrize("m", SIZES)
def test_the_data_of_the_exact_check_reach_every_channel(m):
    """Where most of x and w is 0, that is still no empty test: each channel and each output takes part."""
    problem = conv2d(c=64, h=12, w=12, k=32, r=3, s=3, padding=1)
    scheme = parse(problem, text_of(problem, m, 4, 1, 4))
    (x, w), expected, bound = exact_case(scheme)
    assert np.all(np.any(x, axis=(0, 1, 2))) and np.all(np.any(w, axis=(0, 2, 3))) and np.all(np.any(w, axis=(1, 2, 3)))
    assert np.all(np.any(expected, axis=(0, 1, 2))) and bound == 0


def test_a_wrong_kernel_is_found_out():
    kernel = kernel_of(CASES["odd image, primes, batch"], "portable")
    pack = kernel.pack
    kernel.pack = lambda w: pack(w[:, ::-1].copy())
    with pytest.raises(WrongResult, match="outputs differ"):
        check_exact(kernel)


def test_texts_parse_back():
    for problem, *rest in (*CASES.values(), *EPILOGUES.values()):
        scheme = parse(problem, text_of(problem, *rest, 4))
        assert isinstance(scheme, Winograd) and parse(problem, scheme.text) == scheme
    spaced = " F( 4 x 4 , 3x3 )B( 7,40)  R(m) R(n) S(c) T(k,19) V(n,8)"
    assert parse(ODD, spaced).text == "F(4x4,3x3) B(7,40) R(m) R(n) S(c) T(k,19) V(n,8)"


@pytest.mark.parametrize(
    "text, message",
    [
        ("F(4x3,3x3) B(7,8) R(m) R(n) S(c) T(k,19) V(n,4)", "expected such as F"),
        ("F(4x4,3x3) R(m) R(n) S(c) T(k,19) V(n,4)", "expected such as F"),
        ("F(6x6,3x3) B(1,8) R(m) R(n) S(c) T(k,19) V(n,4)", "tiles are of 2 to 4 outputs a side"),
        ("F(4x4,3x3) B(25,8) R(m) R(n) S(c) T(k,19) V(n,4)", "a block has 1 to 24 tiles"),
        ("F(4x4,3x3) B(0,8) R(m) R(n) S(c) T(k,19) V(n,4)", "a block has 1 to 24 tiles"),
        ("F(4x4,3x3) B(7,128) R(m) R(n) S(c) T(k,19) V(n,4)", "up to 37 output channels"),
        ("F(4x4,3x3) B(7,10) R(m) R(n) S(c) T(k,19) V(n,4)", "no whole vectors of 4 lanes"),
        ("F(4x4,3x3) B(7,8) R(m) R(n) S(c) T(k,18) V(n,4)", "cover 18 points of dim k"),
        ("F(4x4,3x3) B(7,8) F(4x4,3x3) B(7,8) V(n,4)", "not matmul"),
        ("F(4x4,3x3) B(8,8) T(m,8)@core R(n) S(c) T(k,19) V(n,4)", "may have no @core loop"),
        ("F(4x4,3x3) B(7,16) R(m) R(n) S(c) T(k,19) V(n,16)", "portable has vectors of 4 lanes"),
        ("F(4x4,3x3) B(7,8) R(m) R(n) T(k,19) V(n,4)", r"S\(c\) is missing"),
    ],
)
def test_texts_that_are_refused(text, message):
    with pytest.raises(SchemeError, match=message):
        emit(parse(ODD, text), ISAS["portable"])


@pytest.mark.parametrize(
    "change, message",
    [
        ({"stride": 2}, "stride 1, not 2 and 2"),
        ({"dilation": (1, 2)}, "dilation 1, not 1 and 2"),
        ({"r": 5, "s": 5}, "kernels of 3 x 3, not 5 x 5"),
        ({"groups": 2}, "without groups, not one of 2 groups"),
        ({"groups": 4}, "not depthwise2d"),
        ({"layout": "nchw"}, "channels last"),
        ({"layout": "nchw", "h": 1, "w": 1, "padding": 1}, "channels last"),
    ],
)
def test_problems_that_are_refused(change, message):
    arguments = {"c": 4, "h": 9, "w": 9, "k": 4, "r": 3, "s": 3, **change}
    with pytest.raises(ProblemError, match=message):
        generate_conv(**arguments, isa="portable", algorithm="winograd")


@pytest.mark.slow
def test_generated_kernels_are_winograds_only_where_asked():
    arguments = {"c": 16, "h": 12, "w": 12, "k": 16, "r": 3, "s": 3, "padding": 1, "isa": "portable"}
    kinds = {name: generate_conv(**arguments, algorithm=name) for name in ("winograd", "auto", "direct")}
    assert isinstance(kinds["winograd"].scheme, Winograd) and not isinstance(kinds["direct"].scheme, Winograd)
    # Kept apart: what one of them chose is not what the next call of another gets.
    assert generate_conv(**arguments, algorithm="winograd").scheme == kinds["winograd"].scheme
    assert generate_conv(**arguments).scheme == kinds["direct"].scheme
    x, w = reals(kinds["direct"].problem)
    for kernel in kinds.values():
        assert np.allclose(kernel(x, w), reference(kernel.problem, x, w), atol=1e-4)


def test_weights_packed_by_another_algorithm_are_refused():
    kernel, direct = kernel_of(CASES["no padding"], "portable"), "R(k) R(h) R(w) S(y) T(r,3) T(s,3) T(c,32) V(k,4)"
    x, w = reals(kernel.problem)
    with pytest.raises(ArgumentError, match="another kernel"):
        kernel(x, build(parse(kernel.problem, direct), ISAS["portable"]).pack(w))


@pytest.mark.slow
def test_an_array_may_be_added_to_in_place():
    kernel = kernel_of((fused(ODD, "y + z"), 4, 7, 2), "portable")
    (x, w, z), expected, _ = exact_case(kernel.scheme)
    assert kernel(x, w, z, out=z) is z and np.array_equal(z, expected)


@pytest.mark.slow
def test_saved_kernels_are_loaded_again(tmp_path):
    kernel = kernel_of(EPILOGUES["bias and residual"], "portable")
    # A direct kernel of the same problem may lie beside it, and be linked with it: the two have names of their own.
    direct = build(
        parse(kernel.problem, f"R(n) R(k) R(h) R(w) S(y) T(r,3) T(s,3) T(c,{ODD.extents['c']}) V(k,4)"),
        ISAS["portable"],
    )
    records = [next(path for path in each.save(tmp_path) if path.suffix == ".json") for each in (kernel, direct)]
    for each, record in zip((kernel, direct), records, strict=True):
        loaded = load(record)
        assert loaded.scheme == each.scheme
        check_exact(loaded)
    assert (tmp_path / f"{kernel.emitted.symbol}.so").exists() and "_winograd_" in kernel.emitted.symbol


def test_products_of_a_block():
    assert tile_grid(ODD, 4) == (4, 3)
    product = product_problem(ODD, 7, 40)
    assert product.extents == {"m": 7, "n": 40, "k": 19}
    # Rows start on cache lines, an odd number of lines apart.
    assert (product.broadcast.stride("m"), product.output.stride("m")) == (48, 48)


def test_a_suite_leaves_out_what_winograd_cannot_compute():
    layers = suite("resnet18")
    taken = {layer.name: layer for layer in computed_by(layers, "winograd")}
    assert [name for name, layer in taken.items() if layer.problem] == ["R2", "R6", "R9", "R12"]
    assert (
        "kernels of 3 x 3, not 7 x 7" in taken["R1"].unsupported and "stride 1, not 2 and 2" in taken["R4"].unsupported
    )
    assert computed_by(layers, "auto") == computed_by(layers, "direct") == layers


@pytest.mark.slow
def test_a_contest_holds_each_algorithm_to_its_own_bound():
    problem = conv2d(c=16, h=12, w=12, k=16, r=3, s=3, padding=1)
    texts = {
        "tilewright": text_of(problem, 4, 9, 2, 4),
        "model only": "R(k) R(h) R(w) S(y) T(r,3) T(s,3) T(c,16) V(k,4)",
    }
    common = {"isa": "portable", "threads": 1, "stream": False, "peers": [], "cache": "warm"}
    found = contest(
        target="cpu", op="conv2d", shape=canonical(problem), schemes=texts, **common, rounds=1, seconds=0.001, seed=0
    )
    ours, direct = found["contenders"]
    assert 0 < direct["max_error"] < ours["max_error"] < 1e-4
