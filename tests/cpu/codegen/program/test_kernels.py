"""Compiled kernels of programs: exactly the definition on whole numbers, and near it on real ones."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from cpu.codegen.program.emit import emit
from cpu.kernel.program import build_program
from cpu.passes.program import bind_tasks
from cpu.reference.programs import evaluate, rounded
from cpu.runtime.version import VERSION
from microkernels.tile.isa import AVX2, AVX512F, PORTABLE, isa_named
from tests.support.golden import check_golden
from tests.support.kernels.cases import ON_EVERY_ISA
from tests.support.programs.computed import check, outputs
from tests.support.programs.guarded import check_guarded_program
from tests.support.programs.programs import (
    ATTENTION,
    PRODUCTS,
    SOFTMAX,
    inputs_of,
    random_long_program,
)
from tiling.arguments import ArgumentError
from tiling.program.infer import sized
from tiling.program.read import read


@pytest.mark.exhaustive
@pytest.mark.parametrize("isa", ON_EVERY_ISA)
@pytest.mark.parametrize("seed", range(8))
def test_random_programs_are_exact(isa, seed):
    check(1000 * len(isa) + seed, isa, 1)


@pytest.mark.exhaustive
@pytest.mark.parametrize("isa", ON_EVERY_ISA)
@pytest.mark.parametrize("seed", range(3))
def test_random_long_programs_are_exact(isa, seed, monkeypatch):
    monkeypatch.setattr(bind_tasks, "LEAST_ELEMENTS", 64)
    check(1000 * len(isa) + seed, isa, 2, random_long_program)


@pytest.mark.parametrize("isa", ON_EVERY_ISA)
def test_both_parts_of_a_loop_that_is_cut_are_summed_in_lanes(isa):
    program = sized(read("y[] = sum[k] where(k == 100, 2, 1) * x[k]"), {}, {"x": (200,)})
    x = np.random.default_rng(0).integers(-2, 3, 200).astype(np.float32)
    assert outputs(program, isa, {"x": x})["y"] == x.sum() + x[100]


@pytest.mark.parametrize("isa", ON_EVERY_ISA)
def test_vectors_across_rows_may_end_in_part_of_one(isa):
    program = sized(read(SOFTMAX), {}, {"x": (100, 1)})
    x = np.random.default_rng(0).standard_normal((100, 1)).astype(np.float32)
    np.testing.assert_array_equal(outputs(program, isa, {"x": x})["y"], np.ones((100, 1)))


@pytest.mark.exhaustive(isa=None)
@pytest.mark.parametrize("isa", ON_EVERY_ISA)
def test_threads_change_no_bit(isa):
    program = sized(read(SOFTMAX), {}, {"x": (100, 1003)})
    x = np.random.default_rng(0).standard_normal((100, 1003)).astype(np.float32)
    alone, together = (outputs(program, isa, {"x": x}, threads)["y"] for threads in (1, 3))
    np.testing.assert_array_equal(alone, together)


@pytest.mark.exhaustive
@pytest.mark.parametrize("isa", ON_EVERY_ISA)
@pytest.mark.parametrize("columns", [1, 5, 16, 40, 1003])
def test_rows_of_any_length(isa, columns):
    text = "m[i] = mean[j] x[i,j]; v[i] = mean[j] (x[i,j] - m[i]) * (x[i,j] - m[i]); "
    text += "y[i,j] = (x[i,j] - m[i]) * rsqrt(v[i] + 1e-5) * g[j] + b[j]"
    program = sized(read(text), {}, {"x": (3, columns), "g": (columns,), "b": (columns,)})
    random = np.random.default_rng(2)
    given = {a.name: random.standard_normal(a.shape).astype(np.float32) for a in program.inputs}
    found, wanted = outputs(program, isa, given)["y"], evaluate(program, given)["y"]
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)


def test_a_chain_of_maps_is_one_loop():
    """Three maps around a reversal: nothing between them is stored."""
    text = "c[p] = a[p] + 1; e[p] = c[99-p] * 2; y[i,j] = e[50*i+j] * 3"
    program = sized(read(text), {"i": 2, "j": 50}, {"a": (100,)})
    a = np.arange(100, dtype=np.float32)
    np.testing.assert_array_equal(outputs(program, "portable", {"a": a})["y"], ((a + 1)[::-1] * 6).reshape(2, 50))
    kernel = build_program(program, PORTABLE)
    assert "array_of" not in kernel.source and "c[" not in kernel.source.partition("_supported(void)")[2]


GOLDENS = {
    "softmax_avx512f": (SOFTMAX, {"x": (100, 1000)}, {}, AVX512F, 2),
    "lookup_portable": (
        "t: s32; y[i,j] = x[t[i],j] * 0.5 + (x[t[i],j-1] else 1)",
        {"t": (6,), "x": (9, 10)},
        {},
        PORTABLE,
        1,
    ),
    "pooling_avx2": (
        "y[h,w,c] = max[r,s] x[2*h+r-1,2*w+s-1,c] else -1e9",
        {"x": (8, 8, 20)},
        {"h": 4, "w": 4, "r": 3, "s": 3, "c": 20},
        AVX2,
        1,
    ),
}


@pytest.mark.parametrize("name", GOLDENS)
def test_golden(name, update_golden):
    text, shapes, extents, isa, threads = GOLDENS[name]
    emitted = emit(sized(read(text), extents, shapes), isa, threads).text
    check_golden(f"programs/{name}.c", emitted.replace(f"Tilewright {VERSION}.", "Tilewright."), update_golden)


@pytest.mark.parametrize("isa", ["portable"])
def test_any_name_may_be_used(isa):
    """A program may use names of C, of its library, of loops and of the file, and one name for a dim and an array."""
    text = "acc_y[i] = sum[int] main[i,int] * x_0[int]; y[task,i] = acc_y[i] + task; "
    text += "x_0_here[each] = max[i] y[each,i]; X[each] = x_0_here[each] * each[each] + j0[each] + y_i[each]"
    shapes = {"main": (20, 3), "x_0": (3,), "each": (4,), "j0": (4,), "y_i": (4,)}
    program = sized(read(text), {"task": 4, "each": 4}, shapes, outputs=("y", "X"))
    random = np.random.default_rng(1)
    given = {name: random.integers(-3, 4, shape).astype(np.float32) for name, shape in shapes.items()}
    wanted = evaluate(program, given)
    for name, found in outputs(program, isa, given).items():
        np.testing.assert_array_equal(found, wanted[name])


@pytest.mark.parametrize("isa", ON_EVERY_ISA)
@pytest.mark.parametrize(
    "text, shapes, threads",
    [
        # A row along the dim that its product keeps.
        ("e[c] = max(x[c], 1) * x[c] - 1; y[c] = sum[j] e[j] * v[j,c]", {"x": (64,), "v": (64, 64)}, 1),
        ("e[b,c] = max(x[b,c], 1) - 1; y[b,c] = sum[j] e[b,j] * v[j,c]", {"x": (5, 64), "v": (64, 64)}, 1),
        # Arrays that are called as passes call loops.
        ("e[j] = max(x[j], 1) * x[j] - 1; y[c] = sum[j] e[j] * j_now[j,c]", {"x": (64,), "j_now": (64, 64)}, 1),
        ("y[j] = sum[i] j_part[i,j]", {"j_part": (25, 4096)}, 2),
        ("y[j] = sum[h,w] h_w_walked[h,w,j]", {"h_w_walked": (5, 5, 4096)}, 1),
    ],
    ids=["a row", "a row of each batch", "j_now", "j_part", "h_w_walked"],
)
def test_no_name_has_two_meanings(isa, text, shapes, threads):
    program = sized(read(text), {}, shapes)
    given = inputs_of(program, Random(1))
    np.testing.assert_array_equal(outputs(program, isa, given, threads)["y"], evaluate(program, given)["y"])


@pytest.mark.parametrize("isa", ON_EVERY_ISA)
@pytest.mark.parametrize("b", [1, 5])
def test_rows_of_a_batch_of_any_size_are_their_own(isa, b):
    text = "x: f32[b,c]; e[b,c] = max(x[b,c], 1) - 1; y[b,c] = sum[j] e[b,j] * v[j,c]"
    program = sized(read(text), {"b": "<=5", "c": 64}, {"v": (64, 64)})
    drawn = np.random.default_rng(b)
    given = {"x": drawn.integers(-2, 3, (b, 64)), "v": drawn.integers(-2, 3, (64, 64))}
    given = {name: array.astype(np.float32) for name, array in given.items()}
    wanted = evaluate(sized(read(text), {"b": b, "c": 64}, {"v": (64, 64)}), given)["y"]
    np.testing.assert_array_equal(build_program(program, isa_named(isa))(**given), wanted)


@pytest.mark.parametrize("isa", ON_EVERY_ISA)
def test_transpositions_are_exact(isa):
    program = sized(
        read("u[k,j,i] = x[i,j,k] + z[j,k,i]; y[k,j,i] = u[k,j,i] * 2"), {}, {"x": (37, 3, 40), "z": (3, 40, 37)}
    )
    given = inputs_of(program, Random(3))
    np.testing.assert_array_equal(outputs(program, isa, given)["y"], evaluate(program, given)["y"])
    assert "transposed(" in build_program(program, isa_named(isa)).source


@pytest.mark.exhaustive
@pytest.mark.parametrize("isa", ON_EVERY_ISA)
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("text", ["y[j,i] = x[i,j]", "y[i,k,j] = x[i,j,k]", "y[k,j,i] = x[i,j,k]"])
def test_copies_of_columns_are_exact(isa, threads, text):
    program = sized(read(text), {}, {"x": (70, 67, 35) if "k" in text else (83, 130)})
    given = inputs_of(program, Random(3))
    np.testing.assert_array_equal(outputs(program, isa, given, threads)["y"], evaluate(program, given)["y"])
    assert "transposed_to(y + " in build_program(program, isa_named(isa), threads).source


@pytest.mark.exhaustive
@pytest.mark.parametrize("isa", ON_EVERY_ISA)
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("channels, width", [(2, 32), (3, 224), (3, 37), (5, 33)])
def test_an_image_gets_its_channels_last(isa, threads, channels, width):
    program = sized(read("y[n,h,w,c] = x[n,c,h,w]"), {}, {"x": (2, channels, 70, width)})
    given = inputs_of(program, Random(3))
    np.testing.assert_array_equal(outputs(program, isa, given, threads)["y"], evaluate(program, given)["y"])
    braids = f"braided_{channels}(y + " in build_program(program, isa_named(isa), threads).source
    assert braids == (channels <= isa_named(isa).lanes // 2)


@pytest.mark.exhaustive
@pytest.mark.parametrize("isa", ON_EVERY_ISA)
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(
    "text, shape",
    [
        ("y[j] = sum[i] x[i,j]", (27, 4096)),
        ("y[j] = mean[h,w] x[h,w,j]", (7, 7, 1005)),
        ("y[n,j] = max[i] x[n,i,j] * 2", (2, 25, 1003)),
        ("x: bf16; y[j] = sum[i] x[i,j]", (25, 8192)),
    ],
)
def test_long_columns_are_exact(isa, threads, text, shape):
    program = sized(read(text), {}, {"x": shape})
    given = inputs_of(program, Random(4))
    expected = rounded(evaluate(program, given)["y"], program.array("y").dtype)
    np.testing.assert_allclose(outputs(program, isa, given, threads)["y"], expected, rtol=1e-6)  # a mean is rounded


@pytest.mark.slow
@pytest.mark.exhaustive(isa=None)
@pytest.mark.parametrize("isa", ON_EVERY_ISA)
def test_a_long_sum_has_the_same_bits_on_any_number_of_threads(isa):
    program = sized(read("y[] = sum[i] x[i] * x[i]; m[] = max[i] x[i]"), {}, {"x": (1_000_003,)}, outputs=("y", "m"))
    x = np.random.default_rng(0).standard_normal(1_000_003).astype(np.float32)
    alone, together = (outputs(program, isa, {"x": x}, threads) for threads in (1, 2))
    assert alone["y"] == together["y"] and alone["m"] == together["m"] == x.max()
    assert abs(alone["y"] - (x.astype(float) ** 2).sum()) < 1e-6 * 1_000_003
    assert build_program(program, isa_named(isa), 2).threads == 2


@pytest.mark.exhaustive
@pytest.mark.parametrize("isa", ON_EVERY_ISA)
@pytest.mark.parametrize("name", PRODUCTS)
def test_products_are_exact(isa, name):
    text, shapes = PRODUCTS[name]
    program = sized(read(text), {"h": 5, "w": 9} if name == "convolution" else {}, shapes)
    given = inputs_of(program, Random(4))
    (output,) = program.outputs
    np.testing.assert_array_equal(outputs(program, isa, given, 2)[output], evaluate(program, given)[output])


@pytest.mark.exhaustive
@pytest.mark.parametrize("isa", ON_EVERY_ISA)
@pytest.mark.parametrize("queries, keys", [(1, 130), (5, 17), (64, 64)])
def test_attention(isa, queries, keys):
    shapes = {"q": (3, queries, 24), "k": (3, keys, 24), "v": (3, keys, 24)}
    program = sized(read(ATTENTION), {}, shapes)
    random = np.random.default_rng(5)
    given = {name: random.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
    found = outputs(program, isa, given, 2)["y"]
    np.testing.assert_allclose(found, evaluate(program, given)["y"], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(
    "text, extents, shapes",
    [
        ("y[x_i,i,j] = x[i,j,x_i]", {"x_i": 5, "i": 6, "j": 7}, {"x": (6, 7, 5)}),
        ("y[j_block,j,i] = x[j_block,i,j]", {}, {"x": (3, 40, 40)}),
        ("y[b_c,c,j] = a[b_c,j] + a_b[c,j]", {}, {"a": (3, 5), "a_b": (4, 5)}),
        (
            "y[i] = positions[i] + transposed[i] + typeof[i]",
            {},
            dict.fromkeys(("positions", "transposed", "typeof"), (4,)),
        ),
        ("t: s32; s: s32; u[i,j] = x[t[i],j]; y[i,j] = u[i,j] + x[s[i],j]", {}, {"t": (4,), "s": (4,), "x": (5, 20)}),
        ("t: s32; m[i] = max[j] x[t[i],j]; y[i,j] = x[t[i],j] - m[i]", {}, {"t": (4,), "x": (5, 20)}),
        ("t: s32; e[i] = i*i*i; y[j] = e[t[j]*1000] else 0", {"i": 4000}, {"t": (4,)}),
    ],
)
def test_names_and_gathers(text, extents, shapes):
    program = sized(read(text), extents, shapes)
    given = inputs_of(program, Random(1))
    given |= {name: np.abs(array) % 3 for name, array in given.items() if name in ("s", "t")}
    np.testing.assert_array_equal(outputs(program, "portable", given)["y"], evaluate(program, given)["y"])


def test_conditions_are_grouped_as_they_are_written():
    conditions = "(a[i] or b[i]) and c[i]", "a[i] or b[i] and c[i]", "a[i] and (b[i] or c[i])"
    text = "y[i] = " + " + ".join(f"where({condition}, {1 << n}, 0)" for n, condition in enumerate(conditions))
    program = sized(read(f"a: bool; b: bool; c: bool; {text}"), {}, {name: (8,) for name in "abc"})
    given = {name: np.arange(8) >> place & 1 for place, name in enumerate("abc")}
    np.testing.assert_array_equal(outputs(program, "portable", given)["y"], evaluate(program, given)["y"])


@pytest.mark.parametrize("isa", ON_EVERY_ISA)
def test_an_index_may_be_computed_of_floats(isa):
    text = "n: s64; n[i] = s64(floor(g[i] * 2.5 + 0.5)); y[i] = x[n[i]] else 0"
    program = sized(read(text), {}, {"g": (40,), "x": (60,)})
    given = {"g": np.linspace(-2, 26, 40, dtype=np.float32), "x": np.arange(60, dtype=np.float32)}
    np.testing.assert_array_equal(outputs(program, isa, given)["y"], evaluate(program, given)["y"])


@pytest.mark.parametrize(
    "text, shapes",
    [
        ("t: s32; e[i] = x[i] * 2; y[j] = e[t[j]]", {"t": (5,), "x": (20,)}),
        ("t: s32; e[i] = x[t[i]]; y[j] = e[j-1] else 0", {"t": (5,), "x": (20,)}),
        ("t: s32; y[] = sum[i] x[t[i]]", {"t": (262147,), "x": (20,)}),
        ("t: s32; y[] = sum[i] x[t[i]]", {"t": (262144,), "x": (20,)}),
    ],
)
def test_an_index_that_lies_outside_is_an_error_whatever_was_fused(text, shapes):
    program = sized(read(text), {"i": 5, "j": 5} if "j" in text else {}, shapes)
    kernel = build_program(program, PORTABLE)
    given = {"t": np.zeros(shapes["t"], np.int32), "x": np.ones(20, np.float32)}
    kernel(**given)
    given["t"][3] = 99
    with pytest.raises(ArgumentError):
        kernel(**given)


@pytest.mark.exhaustive
@pytest.mark.parametrize("isa", ON_EVERY_ISA)
@pytest.mark.parametrize(
    "text, extents, shapes",
    [
        ("y[i] = x[i+1] else 1", {"i": 40}, {"x": (39,)}),
        ("y[i] = x[i-3] else 1", {"i": 45}, {"x": (39,)}),
        (SOFTMAX, {}, {"x": (3, 37)}),
        ("y[j,i] = x[i,j] * 2", {}, {"x": (35, 37)}),
        (
            "y[h,w,c] = max[r,s] x[2*h+r-1,2*w+s-1,c] else -9",
            {"h": 3, "w": 4, "r": 3, "s": 3, "c": 19},
            {"x": (6, 7, 19)},
        ),
        ("y[i,j] = sum[k] x[i,k] * w[j,k]", {}, {"x": (70, 21), "w": (45, 21)}),
        ("x: bf16; y: f16; y[i,j] = x[i,j] + x[i,j+1]", {"i": 3, "j": 20}, {"x": (3, 21)}),
        (ATTENTION, {}, {"q": (2, 35, 5), "k": (2, 300, 5), "v": (2, 300, 5)}),
        (ATTENTION, {}, {"q": (2, 1, 64), "k": (2, 512, 64), "v": (2, 512, 64)}),
        ("y[j] = sum[i] x[i,j]", {}, {"x": (27, 1005)}),
    ],
)
def test_nothing_is_touched_beside_the_arrays(isa, text, extents, shapes):
    program = sized(read(text), extents, shapes)
    kernel = build_program(program, isa_named(isa))
    given = inputs_of(program, Random(6))
    (output,) = kernel.outputs
    expected = rounded(evaluate(program, given)[output.name], output.dtype)
    check_guarded_program(kernel, kernel.inputs, output, given, expected)
