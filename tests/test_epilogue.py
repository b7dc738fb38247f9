"""Epilogues: the language, the vector code against float64 on every instruction set, the arguments, the errors."""

from __future__ import annotations

import math
import re
import subprocess
from contextlib import closing

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cpu.batch_norm import fold_batch_norm
from cpu.emit import emit, single_pass, symbol_of
from cpu.epilogue_oracle import finished
from cpu.kernel import ArgumentError, aligned_empty
from cpu.measure import check_exact
from cpu.oracle import beyond, error_bound, exact_bound, integers, reals, reference
from cpu.timer import time_calls
from cpu.toolchain import BASE_FLAGS, find_compiler
from cpu.worker import Worker
from microkernels.isa import ISAS
from search import generate_conv, generate_matmul, load_kernel, store
from search.volume import traffic
from search.workshop import workshop
from tests import exactness
from tests.random_cases import Case
from tests.test_kernels import CASES, ON_EVERY_ISA, POINTWISE, PRODUCT, kernel_of, nearly_full, spills_of
from tests.test_search import SCHEME, SHAPE, conv
from tiling.epilogue import FUNCTIONS, Apply, Array, Epilogue, EpilogueError, Number, Sum, fused, parse
from tiling.machine import CacheLevel, Machine
from tiling.notation import parse as parse_scheme
from tiling.operators import conv2d, matmul
from tiling.shapes import canonical, parse_matmul_shape, parse_shape

CONV = conv2d(n=2, c=3, h=5, w=6, k=7, r=3, s=3, padding=1)
Y, B, Z = Sum(), Array("b", ("k",)), Array("z", ("n", "h", "w", "k"))

# ---- the language


@pytest.mark.parametrize(
    "text, printed",
    [
        ("relu(y + b)", "relu(y+b[k])"),
        ("relu( y+b[ k ]+z )", "relu(y+b[k]+z[n,h,w,k])"),
        ("relu6(y*scale + shift) - residual", "relu6(y*scale[k]+shift[k])-residual[n,h,w,k]"),
        ("min(max(y, 0), 6.0)", "min(max(y,0),6)"),
        ("y - (b - 1) - 2", "y-(b[k]-1)-2"),
        ("((y))*(b*2)/(.5)", "y*(b[k]*2)/0.5"),
        ("-(y + 1) * -y", "-(y+1)*-y"),
        ("- - y", "--y"),
        ("y + t[n,k] + rows[h]", "y+t[n,k]+rows[h]"),
        ("clamp(y, -1e-3, 1e6)", "clamp(y,-0.001,1000000)"),
    ],
)
def test_what_is_read_is_printed_in_one_form(text, printed):
    epilogue = parse(CONV, text)
    assert str(epilogue) == printed
    assert parse(CONV, printed) == epilogue


def test_names_stand_for_shapes():
    def shapes(problem, text):
        return {tensor.name: tensor.shape for tensor in fused(problem, text).epilogue_arrays}

    assert shapes(CONV, "z + y*scale + b + t[n,k]") == {"z": (2, 5, 6, 7), "scale": (7,), "b": (7,), "t": (2, 7)}
    assert list(shapes(CONV, "z + y*scale + b + z")) == ["z", "scale", "b"]
    assert shapes(PRODUCT, "y + b + z + rows[m]") == {"b": (50,), "z": (23, 50), "rows": (23,)}


ARRAYS = st.sampled_from([B, Z, Array("scale", ("k",)), Array("t", ("n", "k")), Array("column", ("w",))])
NUMBERS = st.floats(0, 1e30).map(Number) | st.integers(0, 9).map(lambda n: Number(float(n)))


def trees(operations):
    def grown(inside):
        return st.sampled_from(operations).flatmap(
            lambda o: st.tuples(*[inside] * o[1]).map(lambda arguments: Apply(o[0], arguments))
        )

    return st.recursive(st.just(Y) | NUMBERS | ARRAYS, grown, max_leaves=8)


INFIX = [("add", 2), ("sub", 2), ("mul", 2), ("div", 2), ("neg", 1)]


@settings(max_examples=300)
@given(trees([*INFIX, *FUNCTIONS.items()]))
def test_any_expression_parses_back(tree):
    epilogue = Epilogue(Apply("add", (tree, Y)))
    if len(str(epilogue)) <= 300 and len(epilogue.arrays) <= 4:
        assert parse(CONV, str(epilogue)) == epilogue


@pytest.mark.parametrize(
    "text, message",
    [
        ("relu(y + q)", "'q' at character 10 does not say its shape: write q[k] for one value a channel, q[n,h,w,k]"),
        ("relu(y", "the end stands where ')' is expected, which closes relu"),
        ("y)", "')' at character 2 follows a complete expression"),
        ("2 y", "'y' at character 3 follows a complete expression"),
        ("y +", "the end stands where a value is expected"),
        ("y ** 2", "'*' at character 4 stands where a value is expected"),
        ("", "the end stands where a value is expected"),
        ("y; z", "';' at character 2 cannot be read"),
        ("Relu(y)", "'Relu' at character 1 is no function; there are relu relu6"),
        ("relu y", "'y' at character 6 stands where '(' is expected, after relu"),
        ("max(y)", "ends max after 1: it takes 2 arguments"),
        ("relu(y, 1)", "ends relu after 2: it takes 1 argument"),
        ("y + b[j]", "'j' at character 7 is no dim of the output; its dims are n h w k"),
        ("y + z[k,n]", "z[k,n] at character 5 must name dims once each, in the output's order n,h,w,k"),
        ("y + z[k,k]", "must name dims once each"),
        ("y + z[k", "the end stands where ']' is expected, after the dims of z"),
        ("y + b[k] + b[n]", "has both b[k] and b[n]: use two names"),
        ("y + w", "'w' at character 5 is an argument of the kernel already"),
        ("relu(b)", "does not use y"),
        ("y + 1e39", "'1e39' at character 5 is larger than any f32"),
        ("y+b+scale+shift+bias+z", "names 5 arrays, 4 are the most supported"),
        ("(" * 100 + "y" + ")" * 100, "is inside more than 40 parentheses"),
        ("y" + " + 1" * 100, "has 401 characters, 300 are the most supported"),
        (3, "epilogue=3 must be a text such as"),
    ],
)
def test_an_epilogue_that_cannot_be_read(text, message):
    with pytest.raises(EpilogueError) as raised:
        fused(CONV, text)
    assert message in str(raised.value)
    assert "\n" not in str(raised.value) and len(str(raised.value)) < 300


def test_shapes_carry_the_epilogue():
    problem = parse_shape("resnet18:R2, epilogue = relu(y*scale + b)")
    assert canonical(problem) == "c=64,h=56,w=56,k=64,r=3,s=3,pad=1,epilogue=relu(y*scale[k]+b[k])"
    assert parse_shape(canonical(problem)) == problem != parse_shape("resnet18:R2")
    product = parse_matmul_shape("m=4 n=5 k=6 epilogue=max(y, z) + b")
    assert parse_matmul_shape(canonical(product)) == product == fused(matmul(m=4, n=5, k=6), "max(y,z) + b")
    assert fused(CONV, None) == CONV
    with pytest.raises(EpilogueError, match=r"has an epilogue already, relu\(y\)"):
        fused(fused(CONV, "relu(y)"), "y + b")


def test_symbols_are_names_and_differ():
    texts = ("relu(y + b)", "relu(y - b)", "y*0.5", "y*5", "Y[k] + y", "gelu(y)", "relu(y)" + " + y" * 60)
    symbols = [symbol_of(fused(CONV, text), ISAS["portable"], 2) for text in texts]
    assert len({*symbols, symbol_of(CONV, ISAS["portable"], 2)}) == len(texts) + 1
    assert all(re.fullmatch("[a-z][a-z0-9_]{,160}", symbol) for symbol in symbols)


# ---- the kernels

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


@pytest.mark.parametrize("isa", ON_EVERY_ISA)
@pytest.mark.parametrize("number", range(len(PLACES)))
def test_exact_on_integers_and_bounded_on_reals(number, isa):
    """Split sums, masks, λ, cores and products, each with one epilogue that is exact and one that rounds."""
    problem, scheme = CASES[PLACES[number]]
    for text in (EXACT[number % len(EXACT)], ROUNDED[number % len(ROUNDED)]):
        kernel = kernel_of(fused(problem, fitting(problem, text)), scheme, isa)
        check_exact(kernel)
        assert (np.max(exact_bound(kernel.problem, *integers(kernel.problem))) == 0) == (text in EXACT)
        assert kernel.problem.epilogue.keeps_integers == (text in EXACT)
        inputs = reals(kernel.problem, seed=1)
        wrong = beyond(kernel(*inputs), reference(kernel.problem, *inputs), error_bound(kernel.problem, *inputs))
        assert not wrong.any()


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
    lambda v: Number(v) if v >= 0 else Apply("neg", (Number(-v),))
)


@settings(max_examples=20)
@given(st.data())
def test_random_expressions_are_within_their_bound(data):
    problem = conv2d(n=2, c=3, h=3, w=4, k=6, r=1, s=1)
    operations = [*INFIX, *FUNCTIONS.items()]
    tree = data.draw(
        st.recursive(
            st.just(Y) | SMALL_VALUES | ARRAYS,
            lambda inside: st.sampled_from(operations).flatmap(
                lambda o: st.tuples(*[inside] * o[1]).map(lambda arguments: Apply(o[0], arguments))
            ),
            max_leaves=6,
        )
    )
    problem = fused(problem, str(Epilogue(Apply("add", (tree, Y)))))
    kernel = kernel_of(problem, "R(n) R(k) R(h) S(y) T(c,3) U(w,4) V(k,{v})", "portable")
    check_exact(kernel)
    inputs = reals(problem, seed=data.draw(st.integers(0, 99)))
    assert not beyond(kernel(*inputs), reference(problem, *inputs), error_bound(problem, *inputs)).any()


def through(text, isa, values):
    """The epilogue `text` of every value: the sum of a product of 1 x 1 matrices side by side is the value itself."""
    problem = fused(matmul(m=1, n=len(values), k=1), text)
    kernel = kernel_of(problem, "R(n) S(c) V(n,{v})", isa)
    return kernel(np.ones((1, 1), np.float32), values.reshape(1, -1))[0]


# Units in the last place, as epilogue.c.j2 states them, and the functions by another road than the oracle's.
ERF = np.vectorize(math.erfc, otypes=[float])
ACCURACY = {
    "exp": (1.1, np.exp),
    "tanh": (3, np.tanh),
    "sigmoid": (3, lambda v: np.exp(-np.logaddexp(0, -v))),
    "silu": (4, lambda v: v * np.exp(-np.logaddexp(0, -v))),
    "gelu": (8, lambda v: v * ERF(-v / math.sqrt(2)) / 2),
}


@pytest.mark.parametrize("isa", ON_EVERY_ISA)
@pytest.mark.parametrize("function", ACCURACY)
def test_functions_are_a_few_units_from_exact(function, isa):
    """Over the whole range of f32: a sample of all bit patterns, and the patterns around every edge there is."""
    units, exact = ACCURACY[function]
    edges = np.array([0, 1, 1e-45, 2**-126, 1e-3, 5.5, 13.2, 15, 88.73, 104, 3.4e38, np.inf], np.float32)
    around = (edges.view(np.uint32)[:, None] + np.arange(-64, 65)).ravel()
    patterns = np.concatenate([np.arange(0, 2**31, 9973), around[around >= 0]]).astype(np.uint32)
    values = np.concatenate([patterns, patterns | 1 << 31]).astype(np.uint32).view(np.float32)
    got = through(f"{function}(y)", isa, values)
    with np.errstate(all="ignore"):
        expected = exact(values.astype(np.float64))
        rounded = expected.astype(np.float32)
        unit = np.spacing(np.abs(np.where(np.isfinite(rounded), rounded, 1))).astype(np.float64)
        off = np.abs(got - expected)
        same = (got == rounded) | (np.isnan(got) & np.isnan(expected))
        wrong = ~same & ~(off <= units * unit + 2.0**-119)
    assert not wrong.any(), values[wrong][:9]


@pytest.mark.parametrize("isa", ON_EVERY_ISA)
def test_what_is_no_number_stays_none(isa):
    values = np.array([np.nan, np.inf, -np.inf, 2], np.float32)
    nowhere = [True, False, False, False]
    for text in ("relu(y)", "relu6(y)", "leaky_relu(y, 0.1)", "max(y, -y)"):
        assert np.isnan(through(text, isa, values)).tolist() == nowhere, text
    assert through("relu(y)", isa, values)[1:].tolist() == [np.inf, 0, 2]


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
def test_the_inner_loop_keeps_its_registers(rows, vectors, text, spills, tmp_path):
    """Arithmetic costs no spill at all; a function needs registers, and takes them outside the inner loops."""
    problem, scheme = nearly_full(rows, vectors, taps=1)
    source = emit(parse_scheme(fused(problem, text), scheme), ISAS["avx512f"])
    (tmp_path / "k.c").write_text(source.text)
    command = [*find_compiler().command, *BASE_FLAGS, *source.compiler_flags, "-S", "k.c", "-o", "k.s"]
    subprocess.run([c for c in command if c != "-shared"], cwd=tmp_path, check=True)
    assembly = (tmp_path / "k.s").read_text()
    assert not innermost_spills(assembly)
    assert spills or not spills_of(assembly)


# ---- the arguments


def test_arrays_follow_by_place_or_by_name():
    problem = fused(POINTWISE, "relu(y*scale + z)")
    kernel = kernel_of(problem, CASES["strided pointwise"][1], "portable")
    x, w, scale, z = integers(problem)
    expected = reference(problem, x, w, scale, z)
    packed = kernel.pack(w)
    for y in (kernel(x, packed, scale, z), kernel(x, w, z=z, scale=scale), kernel(x, packed, scale, z=z)):
        assert np.array_equal(y, expected)
    assert kernel.timing.seconds > 0
    for call, message in [
        (lambda: kernel(x, packed), r"needs scale and z: pass scale=…"),
        (lambda: kernel(x, packed, scale), r"needs z: pass z=…"),
        (lambda: kernel(x, packed, scale, z, z), "3 arrays follow x and w, but this kernel's epilogue takes scale and z"),
        (lambda: kernel(x, packed, scale, scale=scale, z=z), "scale is given twice"),
        (lambda: kernel(x, packed, scale, z, q=z), "this kernel has no argument 'q'"),
        (lambda: kernel(x, packed, z, scale), r"scale has shape \(1, 5, 5, 32\), but this kernel was made for \(32,\)"),
        (lambda: kernel(x, packed, scale.astype(np.float64), z), "scale is float64"),
        (lambda: kernel(x, packed, scale, z, out=np.broadcast_to(scale, z.shape)), "out"),
    ]:
        with pytest.raises(ArgumentError, match=message):
            call()
    bare = kernel_of(POINTWISE, CASES["strided pointwise"][1], "portable")
    with pytest.raises(ArgumentError, match="1 array follows x and w, but this kernel's epilogue takes no array"):
        bare(x, w, scale)


def test_as_many_arrays_as_there_may_be():
    problem, scheme = CASES["strided pointwise"]
    kernel = kernel_of(fused(problem, "y*scale + b - z*t[h] + t[h]"), scheme, "portable")
    check_exact(kernel)
    assert kernel.timing.seconds > 0
    with pytest.raises(ValueError, match="5 arrays beside x, w and y are more than 4"):
        time_calls(kernel.address, *integers(problem), *[np.zeros(1, np.float32)] * 6)


@pytest.mark.parametrize("place", ["one window looped, one clipped", "channels split around the tile"])
def test_a_residual_may_be_the_output_itself(place):
    """In one pass each element is read by the store that replaces it; sums of several passes need a copy."""
    problem, scheme = CASES[place]
    problem = fused(problem, "relu(y + b + z)")
    kernel = kernel_of(problem, scheme, "portable")
    assert single_pass(kernel.scheme) == (place == "one window looped, one clipped")
    x, w, b, z = integers(problem)
    expected = reference(problem, x, w, b, z)
    assert kernel(x, w, b, z, out=z) is z
    assert np.array_equal(z, expected)
    memory = aligned_empty((z.size + 16,))
    shifted, out = memory[16:].reshape(z.shape), memory[:-16].reshape(z.shape)
    shifted[...] = z
    with pytest.raises(ArgumentError, match="out overlaps z: pass memory of its own, or for a residual the very same"):
        kernel(x, w, b, shifted, out=out)
    with pytest.raises(ArgumentError, match="out overlaps b"):
        kernel(x, w, out.ravel()[: b.size], z, out=out)


def test_a_saved_kernel_names_its_arrays(tmp_path):
    problem, scheme = CASES["masked last vector"]
    problem = fused(problem, "relu(y + b) - new[h,w]")
    kernel = kernel_of(problem, scheme, "portable")
    written = {path.suffix: path for path in kernel.save(tmp_path)}
    inputs = integers(problem)
    assert np.array_equal(load_kernel(tmp_path)(*inputs), kernel(*inputs))
    header = written[".h"].read_text()
    assert "float *output, const float *e_b, const float *e_new);" in header
    assert "e_new: 7 x 7, 49 floats, new of the epilogue" in header and str(problem.epilogue) in header
    command = [*find_compiler().command, "-O1", "example.c", written[".so"].name, "-Wl,-rpath,$ORIGIN", "-o", "example"]
    subprocess.run(command, cwd=tmp_path, check=True)
    printed = subprocess.run([tmp_path / "example"], check=True, capture_output=True, text=True).stdout

    def ramp(shape, period, least):
        return (np.arange(math.prod(shape)) % period + least).astype(np.float32).reshape(shape)

    x, w = ramp(problem.broadcast.shape, 5, -2), ramp(problem.vector.shape, 7, -3)
    y = reference(problem, x, w, *(ramp(array.shape, 3, -1) for array in problem.epilogue_arrays)).ravel()
    assert f"checksum {np.sum(y * (np.arange(y.size) % 3 + 1)):.0f}" in printed


# ---- the search


def test_the_model_counts_the_bytes_of_a_residual():
    scheme = "R(k) T(h,12) T(w,3) S(y) T(r,3) T(s,3) T(c,8) U(w,4) V(k,4)"
    problem = conv2d(c=8, h=12, w=12, k=16, r=3, s=3, padding=1)
    level = CacheLevel("L1", 48 << 10, 64, 12, 500e9)
    machine = Machine("test", "portable", 4, 16, 70e9, 2, (level,), 25e9, 12e9, 20e9)

    def moved(text):
        (level,) = traffic(parse_scheme(fused(problem, text), scheme), machine, resident=False)
        return dict(level.moved)

    bare, with_residual = moved(None), moved("y + b + z")
    assert with_residual == {**bare, "epilogue": 4 * (12 * 12 * 16 + 16)}
    assert "epilogue" not in moved("relu(y)")


def test_generate_conv_fuses_and_remembers():
    arguments = dict(c=8, h=12, w=12, k=16, r=3, s=3, padding=1, isa="portable")
    kernel = generate_conv(**arguments, epilogue="relu(y + b + z)")
    x, w, b, z = integers(kernel.problem)
    assert np.array_equal(kernel(x, kernel.pack(w), b=b, z=z), reference(kernel.problem, x, w, b, z))
    texts = (None, "relu(y + b + z)", "relu(y + b)")
    keys = {workshop("portable").key(fused(parse_shape(SHAPE), text)) for text in texts}
    assert len(keys) == 3
    kinds = [store.choice(key, workshop("portable").kind("model", "conv2d")) for key in sorted(keys, key=str)]
    assert any(kinds) and not all(kinds)
    assert kernel.scheme.text == generate_conv(**arguments).scheme.text  # the same nest, whatever follows
    with pytest.raises(EpilogueError, match="is no function"):
        generate_conv(**arguments, epilogue="softmax(y)")


@pytest.mark.parametrize(
    "generated",
    [
        lambda: generate_matmul(m=7, n=37, k=5, isa="portable", epilogue="relu(y + b) - z"),
        lambda: generate_conv(c=10, k=10, groups=10, h=6, w=6, r=3, s=3, isa="portable", epilogue="relu6(y*scale + b)"),
        lambda: generate_conv(c=6, k=9, groups=3, w=20, s=3, isa="portable", epilogue="max(y, b) * t[n,w]"),
    ],
)
def test_every_operator_takes_one(generated):
    kernel = generated()
    inputs = integers(kernel.problem)
    assert np.array_equal(kernel(*inputs), reference(kernel.problem, *inputs))


def test_the_command_line_takes_an_epilogue(capsys):
    assert conv("--shape", SHAPE, "--epilogue", "silu(y + b)", "--scheme", SCHEME, "--isa", "portable") == 0
    text = capsys.readouterr().out
    assert f"{SHAPE},epilogue=silu(y+b[k])" in text and f"--shape '{SHAPE},epilogue=silu(y+b[k])'" in text
    assert "exact on small integers, but for what the epilogue rounds" in text
    assert conv("--shape", SHAPE, "--epilogue", "silu(y + q)") == 2
    assert "'q' at character 10 does not say its shape" in capsys.readouterr().err


# ---- batch normalisation


def test_batch_normalisation_folds_into_weights_and_bias():
    problem = conv2d(c=5, h=6, w=6, k=9, r=3, s=3, padding=1)
    rng = np.random.default_rng(0)
    x, w = reals(problem)
    gamma, beta, mean, bias = rng.normal(size=(4, 9)).astype(np.float32)
    var = rng.random(9, np.float32)
    for given_bias in (None, bias):
        folded, shift = fold_batch_norm(w, gamma, beta, mean, var, 1e-3, given_bias)
        assert folded.dtype == shift.dtype == np.float32 and folded.shape == w.shape
        sums = reference(problem, x, w) + (0 if given_bias is None else given_bias)
        expected = gamma * (sums - mean) / np.sqrt(var + 1e-3) + beta
        assert np.allclose(reference(problem, x, folded) + shift, expected, atol=1e-5)
    with pytest.raises(ArgumentError, match=r"beta has shape \(3,\), but w has 9 output channels"):
        fold_batch_norm(w, gamma, beta[:3], mean, var)
    with pytest.raises(ArgumentError, match="var \\+ eps is not above 0 for channel 2"):
        fold_batch_norm(w, gamma, beta, mean, np.where(np.arange(9) == 2, -1, var))
    with pytest.raises(ArgumentError, match="the weights of a convolution are"):
        fold_batch_norm(w[0], gamma, beta, mean, var)
