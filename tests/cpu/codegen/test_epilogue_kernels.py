"""Epilogues as vector code, against float64 on every instruction set."""

from __future__ import annotations

import math
import re
from contextlib import closing

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpu.codegen.emit import emit
from cpu.kernel.callable import build
from cpu.kernel.measure import check_exact
from cpu.reference.epilogue import finished
from cpu.reference.oracle import beyond, error_bound, exact_bound, integers, reals, reference
from cpu.runtime.compiler.toolchain import find_compiler
from cpu.runtime.numbers import ELEMENTS
from cpu.runtime.processes.worker import Worker
from microkernels.tile.isa import ISAS, isa_named
from tests import exactness
from tests.support.kernels.assembly import assembly_of, nearly_full, spills_of
from tests.support.kernels.cases import CASES, ON_EVERY_ISA, kernel_of
from tests.support.kernels.epilogue_cases import ARRAYS, INFIX, Y
from tests.support.kernels.low_precision_cases import ISA, NUMBERS, ON_BOTH
from tests.support.kernels.random_cases import Case
from tests.support.sampled import examples
from tiling.dtypes.products import OPERAND_DTYPES
from tiling.epilogue import FUNCTIONS, fused
from tiling.operators import conv2d, matmul
from tiling.text.notation import parse as parse_scheme
from tiling.value import Applied, Constant, Epilogue

EXACT = ["relu(y + b)", "relu(y*scale + b - z)", "min(max(y, -6), 6) + abs(z) * -t[h]"]
ROUNDED = ["silu(y + b)", "gelu(y / 9 + t[n,h])", "tanh(b) * exp(-abs(y)) / hardswish(z + 0.3)"]
PLACES = [
    "one window looped, one clipped",
    "taps outside the tile",
    "channels split around the tile",
    "composed rows in two dims",
    "masked and accumulated",
    "strides, dilation, asymmetric padding, batch",
    "loops for cores",
    "matrix product",
    "groups and accumulated",
    "depthwise, composed rows",
]


def fitting(problem, text):
    """The text with the dims that a product has."""
    return text.replace("[n,h]", "[m]").replace("[h]", "[m]") if problem.op == "matmul" else text


@pytest.mark.slow
@pytest.mark.exhaustive
@pytest.mark.parametrize("isa", ON_EVERY_ISA)
@pytest.mark.parametrize("texts", [EXACT, ROUNDED], ids=["exact", "rounded"])
@pytest.mark.parametrize("number", range(len(PLACES)))
def test_exact_on_integers_and_bounded_on_reals(number, isa, texts):
    """Split sums, masks, λ, cores and products, each with one epilogue that is exact and one that rounds."""
    problem, scheme = CASES[PLACES[number]]
    text = texts[number % len(texts)]
    kernel = kernel_of(fused(problem, fitting(problem, text)), scheme, isa)
    check_exact(kernel)
    assert (np.max(exact_bound(kernel.problem, *integers(kernel.problem))) == 0) == (text in EXACT)
    assert kernel.problem.epilogue.keeps_integers == (text in EXACT)
    inputs = reals(kernel.problem, seed=1)
    wrong = beyond(kernel(*inputs), reference(kernel.problem, *inputs), error_bound(kernel.problem, *inputs))
    assert not wrong.any()


@pytest.mark.slow
@pytest.mark.exhaustive
@pytest.mark.parametrize("isa", ON_EVERY_ISA)
@pytest.mark.parametrize("place", ["masked last vector", "masked and accumulated", "matrix product"])
def test_arrays_are_read_to_their_end_and_no_further(worker, place, isa):
    problem, scheme = CASES[place]
    problem = fused(problem, fitting(problem, "relu(y*scale - z) + t[h]"))
    found = parse_scheme(problem, scheme.format(v=ISAS[isa].lanes))
    worker.call("tests.exactness:check", timeout=300, **exactness.job(Case(found, isa, threads=1, stream=False)))


@pytest.fixture(scope="module")
def worker():
    with closing(Worker(packages=("tests",))) as worker:
        yield worker


@pytest.mark.parametrize("isa", ON_EVERY_ISA)
def test_streaming_stores(isa):
    problem, scheme = CASES["one window looped, one clipped"]
    problem = fused(problem, "relu(y + b + z)")
    kernel = kernel_of(problem, scheme, isa, stream=True)
    check_exact(kernel)
    inputs = integers(problem)
    out = np.empty(problem.output.elements + 1, np.float32)[1:].reshape(problem.output.shape)
    assert np.array_equal(kernel(*inputs, out=out), reference(problem, *inputs))


SMALL_VALUES = st.sampled_from([-3.0, -1.0, -0.5, 0.0, 0.25, 1.0, 2.0, 7.0]).map(
    lambda v: Constant(v) if v >= 0 else Applied("neg", (Constant(-v),))
)


@pytest.mark.slow
@examples(20)
@given(st.data())
def test_random_expressions_are_within_their_bound(data):
    problem = conv2d(n=2, c=3, h=3, w=4, k=6, r=1, s=1)
    operations = [*INFIX, *FUNCTIONS.items()]
    tree = data.draw(
        st.recursive(
            st.just(Y) | SMALL_VALUES | ARRAYS,
            lambda inside: st.sampled_from(operations).flatmap(
                lambda o: st.tuples(*[inside] * o[1]).map(lambda arguments: Applied(o[0], arguments))
            ),
            max_leaves=6,
        )
    )
    problem = fused(problem, str(Epilogue(Applied("add", (tree, Y)))))
    kernel = kernel_of(problem, "R(n) R(k) R(h) S(y) T(c,3) U(w,4) V(k,{v})", "portable")
    check_exact(kernel)
    inputs = reals(problem, seed=data.draw(st.integers(0, 99)))
    assert not beyond(kernel(*inputs), reference(problem, *inputs), error_bound(problem, *inputs)).any()


def through(text, isa, values):
    """The epilogue `text` of every value: the sum of a product of 1 x 1 matrices side by side is the value itself."""
    problem = fused(matmul(m=1, n=len(values), k=1), text)
    kernel = kernel_of(problem, "R(n) S(c) V(n,{v})", isa)
    return kernel(np.ones((1, 1), np.float32), values.reshape(1, -1))[0]


# Units in the last place, as the emitted text states them, and the functions by another road than the oracle's.
ERF = np.vectorize(math.erfc, otypes=[float])
ACCURACY = {
    "exp": (1.1, np.exp),
    "tanh": (3, np.tanh),
    "sigmoid": (3, lambda v: np.exp(-np.logaddexp(0, -v))),
    "silu": (4, lambda v: v * np.exp(-np.logaddexp(0, -v))),
    "gelu": (8, lambda v: v * ERF(-v / math.sqrt(2)) / 2),
}


def beyond_units(function, values, got):
    """The values whose results are farther off than the emitted text states."""
    units, exact = ACCURACY[function]
    with np.errstate(all="ignore"):
        expected = exact(values.astype(np.float64))
        rounded = expected.astype(np.float32)
        unit = np.spacing(np.abs(np.where(np.isfinite(rounded), rounded, 1))).astype(np.float64)
        off = np.abs(got - expected)
        same = (got == rounded) | (np.isnan(got) & np.isnan(expected))
    return values[~same & ~(off <= units * unit + 2.0**-119)]


@pytest.mark.exhaustive
@pytest.mark.parametrize("isa", ON_EVERY_ISA)
@pytest.mark.parametrize("function", ACCURACY)
def test_functions_are_a_few_units_from_exact(function, isa):
    """Over the whole range of f32: a sample of all bit patterns, and the patterns around every edge there is."""
    edges = np.array(
        [0, 1, 1e-45, 2**-126, 1e-3, 5.5, 13.2, 15, 86.98, 86.995, 87, 88.73, 104, 3.4e38, np.inf], np.float32
    )
    around = (edges.view(np.uint32)[:, None] + np.arange(-64, 65)).ravel()
    patterns = np.concatenate([np.arange(0, 2**31, 9973), around[around >= 0]]).astype(np.uint32)
    values = np.concatenate([patterns, patterns | 1 << 31]).astype(np.uint32).view(np.float32)
    assert beyond_units(function, values, through(f"{function}(y)", isa, values))[:9].size == 0


@pytest.mark.parametrize("dtype", ON_BOTH)
@pytest.mark.parametrize("function", ACCURACY)
def test_functions_are_as_exact_after_products_of_narrow_numbers(function, dtype):
    """Their instruction sets have another FMA. The sums are 0, so that the bias is what a function gets."""
    values = np.linspace(-20, 20, 1 << 16, dtype=np.float32)
    numbers = NUMBERS[dtype]
    problem = matmul(m=1, n=len(values), k=numbers, dtype=dtype, output_dtype="f32")
    scheme = parse_scheme(fused(problem, f"{function}(y + b)"), f"R(n) S(c) R(k) D(k,{numbers}) V(n,16)")
    x, w = (np.zeros(t.shape, ELEMENTS[d].numpy) for t, d in zip(problem.tensors, OPERAND_DTYPES[dtype]))
    got = build(scheme, isa_named(ISA[dtype]))(x, w, values)[0]
    assert beyond_units(function, values, got)[:9].size == 0


def test_a_large_bias_is_one_of_the_summands():
    """Sums that begin with it are rounded at its size, 256 times."""
    problem = fused(matmul(m=16, n=8, k=256), "y + b")
    x, w, b = reals(problem)
    inputs = x, w, 1e6 + b
    kernel = build(parse_scheme(problem, "T(m,4) R(n) S(c) T(k,256) U(m,4) V(n,4)"), ISAS["portable"])
    error = np.abs(kernel(*inputs) - reference(problem, *inputs))
    assert (error <= error_bound(problem, *inputs)).all() and error.max() > np.spacing(np.float32(1e6))


@pytest.mark.parametrize("number", ["1.00000005960464477539", "0.1", "16777217", "1e-50", "3.4e38", "1e-45"])
def test_a_number_is_rounded_to_f32_once(number):
    """The first lies halfway between two f32: as a double and as that double's decimal text it falls on either side."""
    ones = np.ones(4, np.float32)
    assert through(f"y*{number}", "portable", ones).tolist() == (ones * np.float32(float(number))).tolist()


@pytest.mark.slow
@pytest.mark.parametrize("isa", ON_EVERY_ISA)
def test_what_is_no_number_stays_none(isa):
    values = np.array([np.nan, np.inf, -np.inf, 2], np.float32)
    nowhere = [True, False, False, False]
    for text in ("relu(y)", "relu6(y)", "leaky_relu(y, 0.1)", "max(y, -y)"):
        assert np.isnan(through(text, isa, values)).tolist() == nowhere, text
    assert through("relu(y)", isa, values)[1:].tolist() == [np.inf, 0, 2]


@pytest.mark.parametrize("isa", ON_EVERY_ISA)
def test_a_product_is_rounded_once_to_a_whole_number(isa):
    """Sums whose products lie so near to a half, or on it, that the nearest f32 would be rounded to the other side."""
    random = np.random.default_rng(0)
    scales = np.concatenate([random.uniform(1e-4, 2e-3, 500), [2.0**-7, 0.5]]).astype(np.float32)
    whole = np.floor((np.arange(-300, 300) + 0.5)[:, None] / scales.astype(float))
    y = (whole[..., None] + np.arange(2)).astype(np.float32)
    scale = np.broadcast_to(scales[:, None], y.shape)
    wanted = np.rint(y.astype(float) * scale.astype(float))  # an f64 holds the products
    assert (np.rint(y * scale) != wanted).any()
    values = np.ascontiguousarray(y.reshape(1, -1))
    problem = fused(matmul(m=1, n=values.size, k=1), "round_mul(y, scale)")
    kernel = kernel_of(problem, "R(n) S(c) V(n,{v})", isa)
    assert np.array_equal(kernel(np.ones((1, 1), np.float32), values, scale=scale.reshape(-1)), wanted.reshape(1, -1))


@pytest.mark.parametrize("isa", ON_EVERY_ISA)
def test_a_product_is_rounded_to_a_whole_number_below_2_to_the_22(isa):
    """To the edge it is exact and zeros are +0; beyond it is within the bound, also of products that f32 holds."""
    inside = [2**22 - 0.5, 2**22 - 1.5, 2**22 - 0.25, 2**21 + 0.5, 0.3, 0.5, 1.5, 0.0]
    edges = [2**22, 2**22 + 0.5, 2**22 + 1, 2**23 - 1, 6e6 + 0.5, 2**24 + 2, 2**30 + 128, 2**31 - 128, 2.0**120]
    y = np.array([sign * v for v in (*inside, *edges) for sign in (1, -1)], np.float32)
    problem = fused(matmul(m=1, n=y.size, k=1), "round_mul(y, scale)")
    kernel = kernel_of(problem, "R(n) S(c) V(n,{v})", isa)
    arrays = np.ones((1, 1), np.float32), y.reshape(1, -1), np.ones(y.size, np.float32)
    (found,), (wanted,), (bound,) = kernel(*arrays), reference(problem, *arrays), exact_bound(problem, *arrays)
    assert wanted.tolist() == np.rint(y.astype(float)).tolist()
    assert np.array_equal(bound == 0, np.abs(y) < 2**22) and not beyond(found, wanted, bound).any()
    assert not np.signbit(found[found == 0]).any()


def test_the_oracle_is_the_definition():
    """Each function of the reference against another way to write it."""
    values = np.linspace(-4, 4, 64).reshape(1, -1)
    definitions = {
        "relu": lambda v: v * (v > 0),
        "relu6": lambda v: np.clip(v, 0, 6),
        "hardsigmoid": lambda v: np.clip(v / 6 + 0.5, 0, 1),
        "hardswish": lambda v: v * np.clip(v / 6 + 0.5, 0, 1),
        "abs": abs,
        "gelu_tanh": lambda v: 0.5 * v * (1 + np.tanh(0.7978845608028654 * (v + 0.044715 * v * v * v))),
        **{name: exact for name, (_, exact) in ACCURACY.items()},
    }
    assert {*definitions} == {name for name, count in FUNCTIONS.items() if count == 1}
    product = matmul(m=1, n=64, k=1)
    for name, definition in definitions.items():
        assert np.allclose(finished(fused(product, f"{name}(y)"), values, ()).value, definition(values), 1e-13), name
    b = np.linspace(-1, 2, 64)
    problem = fused(product, "clamp(y, -1, b) / 2 - -leaky_relu(y, 0.25) * min(y, b) + max(y, 1)")
    expected = [
        min(max(v, -1), c) / 2 + (v if v > 0 else 0.25 * v) * min(v, c) + max(v, 1) for v, c in zip(values[0], b)
    ]
    assert np.allclose(finished(problem, values, (b,)).value[0], expected, 1e-13)


def innermost_spills(assembly):
    """Spills inside the innermost loops that multiply."""
    lines, labels, loops = assembly.splitlines(), {}, []
    for number, line in enumerate(lines):
        if label := re.match(r"(\.L\w+):", line):
            labels[label[1]] = number
        jump = re.match(r"\s+j\w+\s+(\.L\w+)", line)
        if jump and jump[1] in labels:
            loops.append((labels[jump[1]], number))
    inner = [a for a in loops if not any(a != b and a[0] <= b[0] and b[1] <= a[1] for b in loops)]
    frame = "movq %rsp, %rbp\n" if re.search(r"movq\s+%rsp, %rbp", assembly) else ""
    texts = [frame + "\n".join(lines[first : last + 1]) for first, last in inner]
    assert any("vfmadd" in text for text in texts)
    return [spill for text in texts if "vfmadd" in text for spill in spills_of(text)]


@pytest.mark.isa("avx512f")
@pytest.mark.parametrize("rows, vectors", [(14, 2), (9, 3), (28, 1)])
@pytest.mark.parametrize(
    "text, spills", [("relu(y + b)", False), ("relu6(y*scale + b + z)", False), ("silu(y + b)", True)]
)
def test_the_inner_loop_keeps_its_registers(rows, vectors, text, spills):
    """Arithmetic costs no spill at all; a function needs registers, and takes them outside the inner loops."""
    problem, scheme = nearly_full(rows, vectors, taps=1)
    source = emit(parse_scheme(fused(problem, text), scheme), ISAS["avx512f"])
    assembly = assembly_of(source)
    if spills:
        slower_with_clang()
    assert not innermost_spills(assembly)
    assert spills or not spills_of(assembly)


@pytest.mark.slow
@pytest.mark.isa("avx512f")
@pytest.mark.parametrize("text", ["relu(y + b)", "relu(y + b + z)"])
def test_a_zero_to_compare_with_takes_no_register_from_the_accumulators(text):
    """ResNet's first layer: gcc 12 kept a zero through the inner loops, and spilled 10 of 28 accumulators a step."""
    problem = fused(conv2d(c=3, h=224, w=224, k=64, r=7, s=7, stride=2, padding=3), text)
    scheme = "T(h,8) T(w,8) T(h,14) T(k,2) S(y) T(r,7) T(c,3) U(s,7) U(w,14) U(k,2) V(k,16)"
    source = emit(parse_scheme(problem, scheme), ISAS["avx512f"])
    slower_with_clang()
    assert not spills_of(assembly_of(source))


@pytest.mark.slow
def test_a_bias_is_read_by_the_first_pass_alone():
    """Sums of two passes: the second goes on from y, and loads of a bias there would cost 2 % of a short tile."""
    problem = fused(conv2d(c=256, h=14, w=14, k=512, r=1, s=1, stride=2), "relu(y + b)")
    source = emit(parse_scheme(problem, "T(k,16) T(h,7) T(c,2) S(y) T(c,128) U(w,7) U(k,2) V(k,16)"), ISAS["avx512f"])
    first, later = re.search(r"if \(first\) {\n(.*?)} else {\n(.*?)}\n", source.text, re.DOTALL).groups()
    assert first.count("loadu_ps(e_b") == source.text.count("loadu_ps(e_b") == 14
    assert later.count("loadu_ps(y") == source.text.count("loadu_ps(y") == 14


def slower_with_clang():
    if find_compiler().kind == "clang":
        pytest.xfail("clang 14 spills some accumulators here, which costs time and nothing else")


@pytest.mark.exhaustive(isa=None)
@pytest.mark.parametrize("isa", ON_EVERY_ISA)
def test_a_division_by_zero_is_as_in_c(isa):
    row = isa_named(isa)
    kernel = build(parse_scheme(fused(matmul(m=4, n=1, k=1), "y/0"), f"R(m) S(c) R(k) V(n,{row.lanes})"), row)
    sums = np.array([1, -1, 0, np.nan], np.float32).reshape(4, 1)
    np.testing.assert_array_equal(kernel(sums, np.ones((1, 1), np.float32)).ravel(), [np.inf, -np.inf, np.nan, np.nan])
