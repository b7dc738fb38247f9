"""Problems of bf16 and int8 as problems of dot groups: along which dims, for which problems, in which schemes."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from cpu.codegen.emit import emit
from cpu.kernel.measure import check_exact
from cpu.runtime.machine.host import supports
from microkernels.ranking.offline import UsageError, usable_isa
from microkernels.scores.catalog import Catalog
from microkernels.tile.estimate import estimate
from microkernels.tile.isa import isa_named
from microkernels.tile.microkernel import microkernel_of, ranked_op
from microkernels.tile.microkernel import parse as parse_microkernel
from search import generate_conv
from search.conv import main as command
from search.cost.volume import EVERYTHING, traffic
from search.space.explain import explain
from search.space.sample import random_schemes
from search.space.space import candidates
from tests.support.kernels.low_precision_cases import ISA, ONE
from tests.support.search.model_cases import MACHINE
from tiling.arrays.access import access_of
from tiling.epilogue import fused
from tiling.operators import conv2d, in_layout
from tiling.problem import ProblemError
from tiling.rewrite.dot_groups import (
    copies,
    dot_group_dims,
    in_dot_groups,
    scheme_from_dot_groups,
    scheme_in_dot_groups,
)
from tiling.rewrite.grouped import beside_each_other
from tiling.scheme.specifiers import DotGroup, SchemeError
from tiling.text.notation import parse
from tiling.text.shapes import canonical, parse_shape


@pytest.mark.parametrize(
    "dtype, dots, message",
    [
        ("bf16", "D(c,3)", r"D\(c,3\): a lane of 32 bits holds 2 of bf16"),
        ("f32", "D(c,2)", r"D\(c,2\): a lane of 32 bits holds 1 of f32"),
        ("int8", "D(s,4)", r"D\(s,4\): a group is summed over and lies side by side in x, which s does not"),
        ("bf16", "D(sc,2)", r"R\(c\): D\(sc,2\) fuses dim c, which may then not stand elsewhere"),
        ("bf16", "D(c,2) D(c,2)", r"D\(c,2\): D stands just before V, and there is at most one"),
    ],
)
def test_groups_that_cannot_be(dtype, dots, message):
    with pytest.raises(SchemeError, match=message):
        parse(conv2d(**ONE, dtype=dtype), f"T(h,4) S(y) R(c) U(w,4) {dots} V(k,16)")


@pytest.mark.parametrize(
    "dims, dilation, covered", [("rc", 1, "R(s)"), ("cs", 1, "R(r)"), ("sc", 2, "R(r)"), ("rsc", 1, "")]
)
def test_words_along_dims_that_do_not_lie_side_by_side(dims, dilation, covered):
    problem = conv2d(c=3, h=5, w=5, k=16, r=2, s=2, dilation=dilation, dtype="bf16")
    with pytest.raises(SchemeError, match=f"lies side by side in x, which {dims} does not"):
        parse(problem, f"R(h) R(w) S(y) {covered} R({dims}) D({dims},2) V(k,16)")


@pytest.mark.parametrize(
    "make, message",
    [
        (
            lambda: conv2d(c=65794, h=1, w=1, k=1, r=1, s=1, dtype="int8"),
            "a sum of 65794 products of int8 may not fit 32 bits",
        ),
        (
            lambda: fused(conv2d(**ONE, dtype="int8"), "relu(y)"),
            r"the epilogue relu\(y\) gives floats: with int8 ask for",
        ),
        (lambda: conv2d(**ONE, dtype="bf16", output_dtype="u8"), "bf16 gives an output of bf16 or f32, not 'u8'"),
    ],
)
def test_problems_that_cannot_be(make, message):
    with pytest.raises(ProblemError, match=message):
        make()


def test_words_are_what_register_tiles_and_caches_see():
    problem = conv2d(c=10, h=4, w=4, k=6, r=3, s=3, groups=2, dtype="int8")
    dots = in_dot_groups(problem)
    assert dots.extents["c"] == 2 and dots.broadcast.shape == (1, 4, 4, 4) and dots.vector.shape == (6, 2, 3, 3)
    assert dots.broadcast.stride("g") == 2 and access_of(dots).element_bytes == 4 and in_dot_groups(dots) is dots
    scheme = parse(problem, "R(g) R(h) R(w) S(y) T(c,2) T(r,3) T(s,3) D(c,4) V(k,16)")
    assert (
        parse(problem, scheme.text) == scheme
        and scheme_from_dot_groups(problem, scheme_in_dot_groups(scheme)) == scheme
    )


@pytest.mark.parametrize(
    "extents, dtype, dims",
    [
        (dict(c=3, h=9, w=9, k=32, r=3, s=3, padding=1), "bf16", "sc"),  # 5 words instead of 6
        (dict(c=3, h=9, w=9, k=32, r=3, s=3, padding=1), "int8", "c"),  # 3 either way
        (dict(c=3, h=9, w=9, k=32, r=7, s=7, padding=3, stride=2), "int8", "sc"),  # 6 instead of 7
        (dict(c=3, h=16, w=16, k=16, r=4, s=4, stride=4), "int8", "sc"),  # windows that do not overlap: a smaller copy
        (dict(c=4, h=9, w=9, k=32, r=3, s=3), "bf16", "c"),  # no copy at all
        (dict(c=6, h=9, w=9, k=32, r=3, s=1), "int8", "c"),  # one tap is no window
        (dict(c=17, h=9, w=9, k=16, r=1, s=3), "bf16", "c"),  # a copy of 26 words for 9, to save one FMA
        (dict(c=1, h=9, w=64, k=16, r=9, s=33), "bf16", "c"),  # a copy larger than y
        (dict(c=3, h=9, w=9, k=32, r=3, s=3, dilation=2), "bf16", "c"),  # the taps do not lie side by side
        (dict(c=9, h=9, w=9, k=48, r=3, s=3, groups=3), "bf16", "c"),
    ],
)
def test_words_run_along_windows_where_that_pays(extents, dtype, dims):
    problem = conv2d(**extents, dtype=dtype)
    assert dot_group_dims(problem) == dims
    dots = in_dot_groups(problem)
    assert dots == in_dot_groups(problem, DotGroup(dims, {"bf16": 2, "int8": 4}[dtype])) and dots.extents["s"] == (
        1 if dims == "sc" else extents["s"]
    )
    group = "R(g) " if "groups" in extents else ""
    scheme = scheme_from_dot_groups(problem, parse(dots, group + "R(k) R(h) R(w) S(y) R(r) R(s) R(c) V(k,16)"))
    assert parse(problem, scheme.text) == scheme
    assert scheme_from_dot_groups(problem, scheme_in_dot_groups(scheme)) == scheme


@pytest.mark.parametrize("dtype, numbers", [("bf16", 2), ("int8", 4)])
def test_words_of_one_number_where_every_channel_is_by_itself(dtype, numbers):
    problem = conv2d(c=21, h=9, w=9, k=21, r=3, s=3, groups=21, padding=1, dtype=dtype)
    dots = in_dot_groups(problem)
    assert (
        (dots.dtype, dots.dot_group) == (dtype, 1)
        and dots.broadcast == problem.broadcast
        and dots.extents == problem.extents
    )
    assert access_of(dots).bytes_of(dots.broadcast) == 4 // numbers and access_of(dots).bytes_of(dots.vector) == 4
    scheme = parse(problem, "R(c) T(h,9) S(y) U(r,3) U(s,3) U(w,9) V(c,16)")
    assert scheme_from_dot_groups(problem, scheme_in_dot_groups(scheme)) == scheme and not copies(scheme)
    with pytest.raises(SchemeError, match="lies side by side in x, which c does not"):
        parse(problem, f"T(h,9) S(y) R(c) U(r,3) U(s,3) U(w,9) D(c,{numbers}) V(c,16)")
    transposed = in_dot_groups(in_layout(problem, "nchw"))
    whole = -(-21 // numbers) * numbers  # a transposed x is copied by words
    assert transposed.broadcast.shape == (1, 9, 9, whole) and transposed.extents == problem.extents


@pytest.mark.parametrize("dtype, size, words", [("bf16", 2, 1), ("bf16", 8, 4), ("int8", 2, 1), ("int8", 8, 2)])
def test_dot_groups_of_groups_side_by_side(dtype, size, words):
    problem = conv2d(c=48, h=4, w=4, k=48, groups=48 // size, r=3, s=3, padding=1, dtype=dtype)
    beside = beside_each_other(problem, 16)
    found, numbers = in_dot_groups(beside), {"bf16": 2, "int8": 4}[dtype]
    assert (
        beside.op == "grouped2d"
        and (found.dtype, found.dot_group) == (dtype, numbers)
        and found.broadcast == beside.broadcast
    )
    assert found.extents["c"] == words and access_of(found).bytes_of(found.broadcast) == 4 // numbers
    # The search asks the ranking that has its tiles.
    tile = microkernel_of(found, dict.fromkeys(found.extents, 1) | {"w": 7, "c": words}, ISA[dtype])
    assert tile.measured_as.op == ranked_op(found) == ("grouped2d" if words > 1 else "depthwise2d")
    scheme = parse(beside, f"R(k) R(h) S(y) T(r,3) T(s,3) U(c,{words}) U(w,4) D(c,{numbers}) V(k,16)")
    assert scheme_from_dot_groups(beside, scheme_in_dot_groups(scheme)).units == scheme.units and not copies(scheme)
    if words > 1:
        with pytest.raises(SchemeError, match=rf"U\(c,{words}\) is missing"):
            text = f"R(k) R(h) S(y) T(r,3) T(s,3) T(c,{words}) U(w,4) D(c,{numbers}) V(k,16)"
            emit(parse(beside, text), isa_named(ISA[dtype]))


def test_a_tile_of_groups_is_ranked_as_one_of_as_many_words():
    tile = parse_microkernel("bf16_grouped2d_ukernel_14wx16kx3sx2c_s1__avx512bf16")  # groups of four
    assert str(tile.measured_as) == "f32_grouped2d_ukernel_14wx16kx3sx2c_s1__avx512f"
    tile = parse_microkernel("int8_grouped2d_ukernel_14wx16kx3s_s2__avx512vnni")  # one word is a group
    assert str(tile.measured_as) == "f32_depthwise2d_ukernel_14wx16cx3s_s2__avx512f"
    assert 0 < estimate(tile) <= 1


@pytest.mark.parametrize("dtype, share", [("bf16", 2), ("int8", 4)])
def test_the_traffic_of_a_narrow_x_is_that_of_its_bytes(dtype, share):
    shape = dict(c=128, h=112, w=112, k=128, groups=128, r=3, s=3, padding=1)
    text = "T(h,112) T(c,8) T(w,28) S(y) U(r,3) U(s,3) U(w,4) V(c,16)"
    schemes = [scheme_in_dot_groups(parse(conv2d(**shape, dtype=of), text)) for of in ("f32", dtype)]
    of_f32, narrow = (traffic(scheme, MACHINE, cold=EVERYTHING)[-1].of("x") for scheme in schemes)
    assert of_f32 == share * narrow > 0


@pytest.mark.parametrize(
    "text", ["c=8,h=4,w=4,k=16,r=1,s=1,dtype=bf16", "c=8,h=4,w=4,k=16,r=1,s=1,dtype=int8,out=u8,epilogue=y/4"]
)
def test_the_text_of_a_problem_says_its_dtypes(text):
    assert canonical(parse_shape(text)) == text


@pytest.mark.slow
def test_the_search_chooses_schemes_of_the_dtype_and_keeps_them():
    if not supports(isa_named("avx512vnni").cpu_flags):
        pytest.skip("needs avx512vnni")
    arguments = dict(
        c=6, h=9, w=9, k=24, r=3, s=3, padding=1, dtype="int8", output_dtype="u8", epilogue="y*scale[k] + b"
    )
    kernel = generate_conv(**arguments, isa="avx512vnni")
    assert "D(sc,4) V(k,16)" in kernel.scheme.text and kernel.problem.dtype == "int8"
    check_exact(kernel)
    assert generate_conv(**arguments, isa="avx512vnni").scheme == kernel.scheme
    assert all(str(tile).startswith("int8_conv2d_ukernel_") for tile in kernel.emitted.microkernels)
    assert kernel.timing.seconds > 0


@pytest.mark.slow
@pytest.mark.isa("avx512bf16")
def test_the_command_takes_dtypes_by_option_and_in_the_shape(capsys, monkeypatch):
    ranked = []
    monkeypatch.setattr("search.flow.ranked.machine_catalog", lambda isa, op, **_: ranked.append((isa.name, op)))
    shape = "c=8,h=6,w=6,k=16,r=3,s=3,pad=1"
    options = ["--output-dtype", "f32", "--isa", "avx512bf16", "--model-only", "--json"]
    assert command(["--shape", shape, "--dtype", "bf16", *options]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["shape"] == f"{shape},dtype=bf16,out=f32" and found["isa"] == "avx512bf16" and found["correct"]
    assert ranked == [("avx512f", "conv2d")]
    assert command(["--shape", found["shape"], "--scheme", found["scheme"], "--json"]) == 0
    assert command(["--shape", found["shape"], "--dtype", "int8", "--model-only"]) == 2
    assert "the shape is of bf16, but dtype=int8: give one" in capsys.readouterr().err


def test_words_are_ranked_as_f32_tiles_of_their_shape():
    for dtype, isa in ISA.items():
        tile = parse_microkernel(f"{dtype}_conv2d_ukernel_2hx7wx32kx3s_s1__{isa}")
        assert tile.dtype == dtype and str(tile.measured_as) == "f32_conv2d_ukernel_2hx7wx32kx3s_s1__avx512f"
        with pytest.raises(UsageError, match="its ranking is avx512f's"):
            usable_isa(isa)
    with pytest.raises(ValueError, match="not in canonical form"):
        parse_microkernel("int8_conv2d_ukernel_14wx32k_s1__avx512f")


@pytest.mark.parametrize("channels", [3, 4])
def test_an_explanation_says_where_x_is_copied(channels):
    problem = conv2d(c=channels, h=16, w=16, k=32, r=3, s=3, dtype="bf16")
    machine = replace(MACHINE, isa="avx512bf16")
    best = candidates(in_dot_groups(problem), machine, Catalog("", "avx512bf16", "conv2d"))[0]
    told = explain(replace(best, scheme=scheme_from_dot_groups(problem, best.scheme)), [], machine)
    assert ("; x is copied first, so that dot groups lie along sc;" in told) == (channels == 3)


@pytest.mark.slow
def test_the_search_never_lets_sums_wait_in_a_narrow_output():
    machine = replace(MACHINE, isa="avx512bf16")
    for output, waits in (("bf16", False), ("f32", True)):
        dots = in_dot_groups(conv2d(c=2048, h=14, w=14, k=512, r=3, s=3, padding=1, dtype="bf16", output_dtype=output))
        catalog = Catalog("", "avx512bf16", "conv2d")
        for schemes in (
            [found.scheme for found in candidates(dots, machine, catalog)],
            random_schemes(dots, machine, catalog, 20, 0),
        ):
            assert any(not scheme.single_pass for scheme in schemes) == waits
