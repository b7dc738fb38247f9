"""Functions of numbers in kernels of programs: near to the last place, and exact where numbers are whole."""

from __future__ import annotations

from math import erf

import numpy as np
import pytest

from cpu.kernel.program import build_program
from cpu.reference.programs import evaluate
from cpu.runtime.numbers import ELEMENTS
from microkernels.tile.isa import isa_named
from tests.support.kernels.cases import ON_EVERY_ISA
from tests.support.programs.computed import outputs
from tests.support.programs.programs import stored
from tiling.program.infer import sized
from tiling.program.read import read

# Every function that has real numbers as its value, and what it is tried on. The error is counted in units of the last
# place of the largest value of the function there, as sums of a polynomial are.
REAL = {
    **dict.fromkeys(("exp", "tanh", "sigmoid", "silu", "gelu", "gelu_tanh", "erf"), (-20, 20)),
    **dict.fromkeys(("hardsigmoid", "hardswish", "relu", "relu6", "sin", "cos", "floor", "ceil", "round"), (-9, 9)),
    **dict.fromkeys(("log", "sqrt", "rsqrt", "log1p"), (0.01, 1e6)),
    **dict.fromkeys(("asin", "acos", "atan", "atanh"), (-0.99, 0.99)),
    **dict.fromkeys(("tan", "sinh", "cosh", "asinh", "expm1"), (-1.5, 1.5)),
    "acosh": (1, 100),
    **dict.fromkeys(("abs", "sign", "neg"), (-3, 3)),
}


@pytest.mark.exhaustive
@pytest.mark.parametrize("dtype, bits", [("f32", 24), ("f64", 53)])
@pytest.mark.parametrize("isa", ON_EVERY_ISA)
def test_functions_of_real_numbers(isa, dtype, bits):
    text = [f"y_{f}[i] = {'-' if f == 'neg' else f}(x_{f}[i])" for f in REAL]
    text += [f"y_{f}[i] = {f}(x_exp[i], x_cos[i])" for f in ("leaky_relu", "min", "max")]
    text += ["y_pow[i] = pow(x_sqrt[i], x_abs[i])", "y_clamp[i] = clamp(x_exp[i], x_abs[i], 4)"]
    text += ["y_floordiv[i] = x_exp[i] // x_abs[i]", "y_mod[i] = x_exp[i] % x_abs[i]"]
    program = read("; ".join(text))
    kernel = sized(program, {}, {f"x_{f}": (1000,) for f in REAL}, dtype, tuple(s.array for s in program.statements))
    random = np.random.default_rng(1)
    given = {f"x_{f}": random.uniform(*ends, 1000).astype(dtype.replace("f", "float")) for f, ends in REAL.items()}
    wanted = evaluate(kernel, given)
    for name, found in outputs(kernel, isa, given).items():
        if name == "y_pow":  # the C library's own, whose error grows with the result
            np.testing.assert_allclose(found, wanted[name], rtol=16 * 2.0**-bits)
            continue
        # 2 + 5 |u| ulp of `gelu_tanh`, |u| < 20 where its value is not lost below 1, is the largest bound.
        np.testing.assert_allclose(found, wanted[name], rtol=100 * 2.0**-bits, atol=8 * 2.0**-bits, err_msg=name)


@pytest.mark.exhaustive
@pytest.mark.parametrize("isa", ON_EVERY_ISA)
@pytest.mark.parametrize("function, most", [("erf", 2.0), ("log", 1.0), ("log1p", 3.0), ("expm1", 3.0)])
def test_vectors_of_functions_are_near_to_the_last_place(isa, function, most):
    """Over the whole range, near 0 and near 1, and where there is no number. Errors are those that the text states."""
    random = np.random.default_rng(0)
    bits = random.integers(1, 0x7F800000, 200_000).astype(np.uint32)  # every positive float as likely
    x = np.concatenate([bits.view(np.float32), random.uniform(0, 5, 200_000), random.uniform(0.5, 2, 100_000)])
    x = np.concatenate([x, -x, [0, -0.0, 1e-45, 1e-38, 3e38]]).astype(np.float32)
    x = np.abs(x) if function.startswith("log") else x
    ends = np.array([np.inf, -np.inf, np.nan, -1.0], np.float32)
    program = sized(read(f"y[i] = {function}(x[i])"), {}, {"x": (len(x) + len(ends),)})
    found = outputs(program, isa, {"x": np.concatenate([x, ends])})["y"]
    with np.errstate(divide="ignore", over="ignore"):
        wanted = np.vectorize(erf)(x.astype(float)) if function == "erf" else getattr(np, function)(x.astype(float))
        wanted = np.where(np.abs(wanted) > np.finfo(np.float32).max, np.copysign(np.inf, wanted), wanted)
    known = np.isfinite(wanted)
    places = np.spacing(np.maximum(np.abs(wanted[known]), np.finfo(np.float32).tiny).astype(np.float32))
    assert (np.abs(found[: len(x)][known] - wanted[known]) / places).max() < most
    assert (found[: len(x)][~known] == wanted[~known]).all()
    special = {
        "erf": [1, -1, np.nan, -0.84270079],
        "log": [np.inf, np.nan, np.nan, np.nan],
        "log1p": [np.inf, np.nan, np.nan, -np.inf],
        "expm1": [np.inf, -1, np.nan, np.expm1(-1)],
    }[function]
    np.testing.assert_allclose(found[len(x) :], special, rtol=1e-6)
    assert f"{function}f(" not in build_program(program, isa_named(isa)).source


@pytest.mark.parametrize("isa", ON_EVERY_ISA)
def test_zeros_keep_their_signs(isa):
    functions = ("tanh", "expm1", "erf", "log1p", "silu", "gelu", "sin", "asinh", "sqrt")
    program = read("; ".join(f"{f}_of[i] = {f}(x[i])" for f in functions))
    x = np.array([0.0, -0.0] * 10, np.float32)
    found = outputs(sized(program, {}, {"x": x.shape}, outputs=tuple(f"{f}_of" for f in functions)), isa, {"x": x})
    for name, values in found.items():
        assert not values.any() and (np.signbit(values) == np.signbit(x)).all(), name


@pytest.mark.parametrize("dtype", ["f32", "f64"])
@pytest.mark.parametrize("isa", ON_EVERY_ISA)
def test_a_product_is_rounded_to_a_whole_number_as_defined(isa, dtype):
    """To the edge of the range that f32 has. A zero is +0."""
    program = sized(read(f"x: {dtype}; y[i] = round_mul(x[i], 1)"), {}, {"x": (20,)})
    ends = np.array([2**22 - 0.5, 2**22 - 1.5, 2**22 - 0.25, 2**21 + 0.5, 1.5, 0.5, 0.3, 0.25, 2**-20, 0])
    arrays = {"x": stored(np.concatenate([ends, -ends]), dtype)}
    (found,), wanted = outputs(program, isa, arrays).values(), evaluate(program, arrays)["y"]
    assert found.tolist() == wanted.tolist() == np.rint(arrays["x"]).tolist()
    assert not np.signbit(found[found == 0]).any() and not np.signbit(wanted[wanted == 0]).any()


@pytest.mark.exhaustive
@pytest.mark.parametrize("isa", ON_EVERY_ISA)
@pytest.mark.parametrize("dtype", ["s64", "u64", "s32", "u32", "s16", "u16", "s8", "u8"])
def test_whole_numbers_of_any_width_are_numpys(isa, dtype):
    """Over the whole range of a dtype, whose results wrap around; of division and shifts too."""
    kind, random = ELEMENTS[dtype].numpy, np.random.default_rng(1)
    ends = np.iinfo(kind)
    a, b = (random.integers(ends.min, ends.max, 500, kind, endpoint=True) for _ in range(2))
    a[:4], b[:4] = (ends.min, ends.max, 0, 1), (ends.max, ends.min or 1, 1, ends.max)
    b[b == 0] = 1
    n = random.integers(-70 if ends.min else 0, 70, 500).astype(kind)
    bits = 8 * kind.itemsize
    some_left = (n >= 0) & (n < bits)
    with np.errstate(over="ignore"):
        wanted = {
            **{"add": a + b, "sub": a - b, "mul": a * b, "quotient": a // b, "rest": a % b, "max": np.maximum(a, b)},
            **{"less": a < b, "and": a & b, "or": a | b, "xor": a ^ b, "not": ~a},
            "up": np.where(some_left, a << (n % bits), 0),
            "down": np.where(some_left, a >> (n % bits), a >> (bits - 1) >> 1),
        }
    texts = [
        "a[i] + b[i]",
        "a[i] - b[i]",
        "a[i] * b[i]",
        "a[i] // b[i]",
        "a[i] % b[i]",
        "max(a[i], b[i])",
        "a[i] < b[i]",
    ]
    texts += ["bitand(a[i], b[i])", "bitor(a[i], b[i])", "bitxor(a[i], b[i])", "bitnot(a[i])"]
    texts += ["shl(a[i], n[i])", "shr(a[i], n[i])"]
    text = "; ".join(f"y_{name}: {'bool' if name == 'less' else dtype}" for name in wanted)
    text += "; " + "; ".join(f"{name}: {dtype}" for name in "abn") + "; total: " + dtype + "; total = sum[i] a[i]"
    text += "".join(f"; y_{name}[i] = {value}" for name, value in zip(wanted, texts))
    given = {"a": a, "b": b, "n": n}
    outputs = ("total", *(f"y_{name}" for name in wanted))
    kernel = build_program(sized(read(text), {}, {name: (500,) for name in given}, outputs=outputs), isa_named(isa), 1)
    found = kernel(*(given[array.name] for array in kernel.inputs))
    assert found["total"] == a.sum(dtype=kind)
    for name, numbers_ in wanted.items():
        np.testing.assert_array_equal(found[f"y_{name}"], numbers_.astype(found[f"y_{name}"].dtype), err_msg=name)


@pytest.mark.parametrize("isa", ON_EVERY_ISA)
def test_what_is_no_number_stays_none(isa):
    text = "y[i] = max(x[i], 0) + min(x[i], 2); m[] = max[i] x[i]; s[] = sum[i] relu6(x[i]); t[i] = x[i] != x[i]"
    program = sized(read(text), {}, {"x": (20,)}, outputs=("y", "m", "s", "t"))
    x = np.ones(20, np.float32)
    x[17] = np.nan
    found = outputs(program, isa, {"x": x})
    assert np.isnan(found["m"]) and np.isnan(found["s"]) and np.isnan(found["y"]).nonzero()[0].tolist() == [17]
    assert found["t"].nonzero()[0].tolist() == [17]


def test_numbers_are_computed_in_the_dtype_of_what_they_meet():
    program = sized(
        read("x: f64; u: f64; u[i] = i*0.1; y[i] = x[i] * (0.1*3.3) + x[i] * (1/3) + sqrt(2) + u[i]"), {"i": 30}
    )
    given = {"x": np.linspace(1, 2, 30)}
    np.testing.assert_allclose(outputs(program, "portable", given)["y"], evaluate(program, given)["y"], rtol=1e-15)


def test_the_first_that_is_no_number_is_the_largest_and_the_smallest():
    program = sized(read("y[] = argmax[i] x[i]; z[] = argmin[i] x[i]"), {}, {"x": (30,)}, outputs=("y", "z"))
    x = np.arange(30, dtype=np.float32)
    x[[11, 20]] = np.nan
    assert outputs(program, "portable", {"x": x}) == {"y": 11, "z": 11}
