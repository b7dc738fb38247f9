"""The reference of programs, beside formulas that NumPy and SciPy, and the oracle of convolutions, know."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special

from cpu.reference.oracle import integers, reference
from cpu.reference.programs import evaluate
from tiling.program.functions import FUNCTIONS, NAMED
from tiling.program.infer import sized
from tiling.program.language import DTYPES, REDUCTIONS
from tiling.program.read import read
from tiling.text.shapes import problem_of

X = np.random.default_rng(7).integers(-4, 5, (3, 4)) / 2
Z = np.abs(X) + 0.5


def run(text, extents=None, dtype="f64", **arrays):
    given = {name: np.asarray(array) for name, array in arrays.items() if name in read(text).inputs}
    program = sized(read(text), extents or {}, {name: array.shape for name, array in given.items()}, dtype)
    return list(evaluate(program, given).values())[-1]


@pytest.mark.parametrize(
    "text, wanted",
    [
        ("max(x[i,j], z[i,j])", np.maximum(X, Z)),
        ("min(x[i,j], 0)", np.minimum(X, 0)),
        ("abs(x[i,j])", np.abs(X)),
        ("sign(x[i,j])", np.sign(X)),
        ("floor(x[i,j])", np.floor(X)),
        ("ceil(x[i,j])", np.ceil(X)),
        ("round(x[i,j])", np.rint(X)),  # halves to even
        ("relu(x[i,j])", X.clip(0)),
        ("relu6(4 * x[i,j])", (4 * X).clip(0, 6)),
        ("leaky_relu(x[i,j], 0.5)", np.where(X > 0, X, X / 2)),
        ("clamp(x[i,j], -1, 1)", X.clip(-1, 1)),
        ("where(x[i,j] > 0, x[i,j], z[i,j])", np.where(X > 0, X, Z)),
        ("exp(x[i,j])", np.exp(X)),
        ("log(z[i,j])", np.log(Z)),
        ("sqrt(z[i,j])", np.sqrt(Z)),
        ("rsqrt(z[i,j])", Z**-0.5),
        ("pow(z[i,j], x[i,j])", Z**X),
        ("sin(x[i,j])", np.sin(X)),
        *((f"{name}(x[i,j])", getattr(np, name)(X)) for name in ("tan", "sinh", "cosh", "expm1")),
        ("log1p(z[i,j])", np.log1p(Z)),
        *((f"a{name}(x[i,j] / 8)", getattr(np, f"arc{name}")(X / 8)) for name in ("sin", "cos", "tan", "sinh", "tanh")),
        ("acosh(1 + z[i,j])", np.arccosh(1 + Z)),
        ("bitand(s32(x[i,j]), 3)", X.astype(int) & 3),
        ("bitor(s32(x[i,j]), 4)", X.astype(int) | 4),
        ("bitxor(s32(x[i,j]), 5)", X.astype(int) ^ 5),
        ("bitnot(s32(x[i,j]))", ~X.astype(int)),
        ("shl(s32(x[i,j]), 2)", X.astype(int) * 4),
        ("shr(s32(x[i,j]), 1)", X.astype(int) >> 1),
        *((f"shl(s32(x[i,j]), {count})", X * 0) for count in (-1, 64)),
        *((f"shr(s32(x[i,j]), {count})", np.where(X.astype(int) < 0, -1, 0)) for count in (-1, 64)),
        ("cos(x[i,j])", np.cos(X)),
        ("tanh(x[i,j])", np.tanh(X)),
        ("erf(x[i,j])", special.erf(X)),
        ("sigmoid(x[i,j])", special.expit(X)),
        ("silu(x[i,j])", X * special.expit(X)),
        ("gelu(x[i,j])", X * special.ndtr(X)),
        ("gelu_tanh(x[i,j])", X / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (X + 0.044715 * X**3)))),
        ("hardsigmoid(x[i,j])", (X / 6 + 0.5).clip(0, 1)),
        ("hardswish(x[i,j])", X * (X / 6 + 0.5).clip(0, 1)),
        ("round_mul(x[i,j], 0.375)", np.rint(X * 0.375)),
        ("f32(x[i,j] / 3)", (X / 3).astype(np.float32)),
        ("f16(x[i,j] / 3)", (X / 3).astype(np.float16)),
        ("f64(x[i,j])", X),
        ("s32(x[i,j])", np.trunc(X)),
        ("s64(x[i,j])", np.trunc(X)),
        ("s8(x[i,j])", np.trunc(X)),
        ("s16(x[i,j])", np.trunc(X)),
        *((f"{dtype}(z[i,j])", np.trunc(Z)) for dtype in ("u8", "u16", "u32", "u64")),
        ("bool(x[i,j])", X != 0),
    ],
)
def test_functions(text, wanted):
    np.testing.assert_allclose(run(f"y[i,j] = {text}", x=X, z=Z), wanted, rtol=1e-14)


def test_every_function_has_a_meaning():
    cases = [text for text, _ in test_functions.pytestmark[0].args[1]]
    assert {"bf16", *(text.partition("(")[0] for text in cases)} == set(NAMED) <= set(FUNCTIONS)


def test_a_bf16_has_eight_bits():
    assert run("y[i] = bf16(x[i])", x=[1 + 2**-7, 1 + 2**-9, 1 + 3 * 2**-8]).tolist() == [1 + 2**-7, 1, 1 + 2**-6]
    assert run("y[i] = x[i] * 1", x=[1 + 2**-9], dtype="bf16").tolist() == [1]  # as the input is stored


@pytest.mark.parametrize(
    "text, wanted",
    [
        ("-x[i,j] * 2 + z[i,j] / 4 - 1", -X * 2 + Z / 4 - 1),
        ("x[i,j] < 0 or not x[i,j] <= 1 and z[i,j] >= 1", (X < 0) | ~(X <= 1) & (Z >= 1)),
        ("x[i,j] == z[i,j]", X == Z),
        ("x[i,j] != z[i,j]", X != Z),
        ("x[i,j] > z[i,j]", X > Z),
        ("(i - 2) // 2 * 10 + (i - 2) % 3", np.array([[-9], [-8], [0]]) + np.zeros((1, 4))),
        ("x[2 - i, j]", X[::-1]),
        ("x[i, j-1] else 9", np.concatenate([np.full((3, 1), 9.0), X[:, :3]], axis=1)),
    ],
)
def test_operators_and_indices(text, wanted):
    np.testing.assert_array_equal(run(f"y[i,j] = {text}", {"i": 3, "j": 4}, x=X, z=Z), wanted)


@pytest.mark.parametrize("dtype", ["s32", "u8", "s64", "u64"])
@pytest.mark.parametrize("symbol, wanted", [("//", [0, 3, 0]), ("%", [0, 1, 0])])
def test_whole_numbers_divided_by_0_are_0(symbol, wanted, dtype):
    text = f"x: {dtype}; z: {dtype}; y[i] = x[i] {symbol} z[i]"
    assert run(text, x=np.array([7, 7, 0]), z=np.array([0, 2, 0])).tolist() == wanted


@pytest.mark.filterwarnings("error")
def test_numpy_warns_of_no_cast():
    assert run("x: f64; y: s64; y[i] = u64(x[i]) + s64(x[i])", x=np.array([-1.5, np.nan, 1e300])).shape == (3,)
    assert run("x: f64; y: s8; y[i] = x[i] * 2", x=np.array([np.nan, 1e300])).shape == (2,)


@pytest.mark.parametrize("kind", REDUCTIONS)
def test_reductions(kind):
    truths = kind in ("any", "all")
    found = run(f"y[i] = {kind}[j] {'x[i,j] > 0' if truths else 'x[i,j]'}", x=X)
    np.testing.assert_array_equal(found, getattr(np, kind)(X > 0 if truths else X, 1))


def test_a_reduction_counts_every_point():
    assert run("y = sum[i,j] 1", {"i": 3, "j": 4}) == 12
    assert run("y[i] = mean[j] i", {"i": 3, "j": 4}).tolist() == [0, 1, 2]


def test_a_gather_reads_what_another_array_says():
    np.testing.assert_array_equal(run("t: s64; y[i,j] = x[t[i], j]", x=X, t=[2, 2, 0]), X[[2, 2, 0]])
    np.testing.assert_array_equal(run("t: s64; y[i] = x[t[i] - 1, 0] else 5", x=X, t=[0, 1, 9]), [5, X[0, 0], 5])
    with pytest.raises(IndexError, match=r"x\[t\[i\], 0\] lies outside of x"):
        run("t: s64; y[i] = x[t[i], 0]", x=X, t=[3])


def test_whole_numbers_of_a_dtype_wrap():
    assert run("x: u8; y[i] = x[i] + 1", x=[255, 3]).tolist() == [0, 4]


@pytest.mark.parametrize("shape, stride", [("h=5,w=7", 1), ("h=9,w=9,stride=2", 2)])
def test_a_convolution_is_that_of_the_oracle(shape, stride):
    problem = problem_of("conv2d", f"c=4,k=6,r=3,s=3,pad=1,{shape}")
    x, w = integers(problem)
    _, h, v, _ = problem.output.shape
    text = f"y[n,h,w,k] = sum[c,r,s] x[n,{stride}*h+r-1,{stride}*w+s-1,c] * w[k,c,r,s]"
    np.testing.assert_array_equal(run(text, {"h": h, "w": v}, x=x, w=w), reference(problem, x, w))


def test_dtypes_are_numpys():
    found = [run(f"x: {dtype}; y[i] = x[i]", x=[1, 0]).dtype for dtype in DTYPES]
    whole = [f"{sign}int{bits}" for bits in (64, 32, 16, 8) for sign in ("", "u")]
    assert found == [np.float64] * 4 + [np.dtype(name) for name in whole] + [np.bool_]
