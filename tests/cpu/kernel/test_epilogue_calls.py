"""Kernels with an epilogue as their user meets them: arguments, saved files, search, batch normalisation."""

from __future__ import annotations

import math
import subprocess

import numpy as np
import pytest

from cpu.kernel.arguments import aligned_empty
from cpu.kernel.batch_norm import fold_batch_norm
from cpu.kernel.measure import check_exact
from cpu.reference.oracle import integers, reals, reference
from cpu.runtime.compiler.toolchain import find_compiler
from cpu.runtime.machine.timer import time_calls
from search import generate_conv, generate_matmul, load_kernel
from search.cost.volume import EVERYTHING, traffic
from search.evaluator.cpu.backend import cpu_backend
from search.tuner import store
from tests.support.kernels.cases import CASES, POINTWISE, kernel_of
from tests.support.search.searching import SCHEME, SHAPE, conv
from tiling.arguments import ArgumentError
from tiling.epilogue import EpilogueError, fused
from tiling.machine import CacheLevel, Machine
from tiling.operators import conv2d
from tiling.text.notation import parse as parse_scheme
from tiling.text.shapes import parse_shape


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
        (
            lambda: kernel(x, packed, scale, z, z),
            "3 arrays follow x and w, but this kernel's epilogue takes scale and z",
        ),
        (lambda: kernel(x, packed, scale, scale=scale, z=z), "scale is given twice"),
        (lambda: kernel(x, packed, scale, z, q=z), "this kernel has no argument 'q'"),
        (lambda: kernel(x, packed, scale, zed=z), "no argument 'zed'; the arrays of its epilogue: scale z"),
        (lambda: kernel(x, packed, z, scale), r"scale has shape \(1, 5, 5, 32\), but this kernel was made for \(32,\)"),
        (lambda: kernel(x, packed, scale.astype(np.float64), z), "scale is float64"),
        (lambda: kernel(x, packed, scale, z, out=np.broadcast_to(scale, z.shape)), "out"),
    ]:
        with pytest.raises(ArgumentError, match=message):
            call()
    bare = kernel_of(POINTWISE, CASES["strided pointwise"][1], "portable")
    with pytest.raises(ArgumentError, match="1 array follows x and w, but this kernel's epilogue takes no array"):
        bare(x, w, scale)


@pytest.mark.parametrize(
    "text", ["y + b[k] + b_k[k]", "y*e_b[k] + E_b[k] - b", "y + self[k] + first[k] + stream[k] + X_w[h]"]
)
def test_no_name_of_an_array_clashes(text):
    """With another array's pointer or stride, the file's own variables, or Python's self."""
    problem, scheme = CASES["one window looped, one clipped"]
    kernel = kernel_of(fused(problem, text), scheme, "portable")
    x, w, *arrays = integers(kernel.problem)
    named = {tensor.name: array for tensor, array in zip(kernel.problem.epilogue_arrays, arrays)}
    assert np.array_equal(kernel(x=x, w=w, **named), reference(kernel.problem, x, w, *arrays))


def test_as_many_arrays_as_there_may_be():
    problem, scheme = CASES["strided pointwise"]
    kernel = kernel_of(fused(problem, "y*scale + b - z*t[h] + t[h]"), scheme, "portable")
    check_exact(kernel)
    assert kernel.timing.seconds > 0
    with pytest.raises(ValueError, match="5 arrays beside x, w and y are more than 4"):
        time_calls(kernel.address, *integers(problem), *[np.zeros(1, np.float32)] * 6)


@pytest.mark.parametrize(
    "place",
    [
        *("one window looped, one clipped", "channels split around the tile"),
        *("both windows clipped, channels first", "masked and accumulated, channels first"),
    ],
)
def test_a_residual_may_be_the_output_itself(place):
    """In one pass each element is read by the store that replaces it; sums of several passes need a copy."""
    problem, scheme = CASES[place]
    problem = fused(problem, "relu(y + b + z)")
    kernel = kernel_of(problem, scheme, "portable")
    assert kernel.scheme.single_pass == ("split" not in place and "accumulated" not in place)
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


def test_a_products_own_b_and_its_bias_are_told_apart():
    kernel = generate_matmul(m=8, n=8, k=16, epilogue="relu(y + b)", isa="portable")
    a, b, bias = integers(kernel.problem)
    with pytest.raises(ArgumentError, match=r"^b has shape \(8, 8\)"):
        kernel(a, b[:8], bias)
    with pytest.raises(ArgumentError, match=r"^the epilogue's b has shape \(4,\)"):
        kernel(a, b, bias[:4])


def test_a_saved_kernel_names_its_arrays(tmp_path):
    problem, scheme = CASES["masked last vector"]
    problem = fused(problem, "relu(y + b) - new[h,w]")
    kernel = kernel_of(problem, scheme, "portable")
    written = {path.suffix: path for path in kernel.save(tmp_path)}
    inputs = integers(problem)
    assert np.array_equal(load_kernel(tmp_path)(*inputs), kernel(*inputs))
    header = written[".h"].read_text()
    assert "float *y, const float *e_b, const float *e_new);" in header
    assert "e_new: 7 x 7, 49 of f32, new of the epilogue" in header and str(problem.epilogue) in header
    source, library = f"{written['.so'].stem}_example.c", written[".so"].name
    command = [*find_compiler().command, "-O1", source, library, "-Wl,-rpath,$ORIGIN", "-o", "example"]
    subprocess.run(command, cwd=tmp_path, check=True)
    printed = subprocess.run([tmp_path / "example"], check=True, capture_output=True, text=True).stdout

    def ramp(shape, period, least):
        return (np.arange(math.prod(shape)) % period + least).astype(np.float32).reshape(shape)

    x, w = ramp(problem.broadcast.shape, 5, -2), ramp(problem.vector.shape, 7, -3)
    y = reference(problem, x, w, *(ramp(array.shape, 3, -1) for array in problem.epilogue_arrays)).ravel()
    assert f"checksum {np.sum(y * (np.arange(y.size) % 3 + 1)):.0f}" in printed


@pytest.mark.parametrize(
    "place, text, said",
    [
        ("one window looped, one clipped", "y + b", "The output overlaps no other of them:"),
        ("one window looped, one clipped", "y + z + b + old[n,h,w,k]", "but may be e_z or e_old itself:"),
        ("channels split around the tile", "y + z", "The output overlaps no other of them:"),  # it waits in y
    ],
)
def test_a_saved_header_says_what_may_overlap(tmp_path, place, text, said):
    problem, scheme = CASES[place]
    written = kernel_of(fused(problem, text), scheme, "portable").save(tmp_path)
    header = next(path for path in written if path.suffix == ".h").read_text()
    assert said in header and header.count("overlap") == 1


# ---- the search


def test_the_model_counts_the_bytes_of_a_residual():
    scheme = "R(k) T(h,12) T(w,3) S(y) T(r,3) T(s,3) T(c,8) U(w,4) V(k,4)"
    problem = conv2d(c=8, h=12, w=12, k=16, r=3, s=3, padding=1)
    level = CacheLevel("L1", 48 << 10, 64, 12, 500e9)
    machine = Machine("test", "portable", 4, 16, 70e9, 2, (level,), 25e9, 12e9, 20e9)

    def moved(text):
        (level,) = traffic(parse_scheme(fused(problem, text), scheme), machine, cold=EVERYTHING)
        return dict(level.moved)

    bare, with_residual = moved(None), moved("y + b + z")
    assert with_residual == {**bare, "epilogue": 4 * (12 * 12 * 16 + 16)}
    assert "epilogue" not in moved("relu(y)")


@pytest.mark.slow
def test_generate_conv_fuses_and_remembers():
    arguments = dict(c=8, h=12, w=12, k=16, r=3, s=3, padding=1, isa="portable")
    kernel = generate_conv(**arguments, epilogue="relu(y + b + z)")
    x, w, b, z = integers(kernel.problem)
    assert np.array_equal(kernel(x, kernel.pack(w), b=b, z=z), reference(kernel.problem, x, w, b, z))
    texts = (None, "relu(y + b + z)", "relu(y + b)")
    keys = {cpu_backend("portable").key(fused(parse_shape(SHAPE), text)) for text in texts}
    assert len(keys) == 3
    kinds = [store.choice(key, cpu_backend("portable").kind("model", kernel.problem)) for key in sorted(keys, key=str)]
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


@pytest.mark.slow
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


@pytest.mark.parametrize(
    "wrong, message",
    [
        ({"w": "weights"}, "w cannot be read as real numbers: it is <U7"),
        ({"gamma": None}, "gamma cannot be read as real numbers: it is object"),
        ({"beta": np.ones(4) * 1j}, "beta cannot be read as real numbers: it is complex128"),
        ({"mean": [[1], [2, 3]]}, "mean cannot be read as real numbers: "),
        ({"eps": "small"}, "eps cannot be read as real numbers: it is <U5"),
        ({"eps": np.ones(4)}, r"eps has shape \(4,\), but it is one number"),
        ({"eps": math.nan}, "var \\+ eps is not above 0 for channel 0"),
        (
            {"gamma": np.float32([1, 1, 1e38, 1]), "w": np.full((4, 2, 1, 1), 1e3)},
            "channel 2 folds into weights or a bias",
        ),
        ({"mean": np.float32([1, math.nan, 1, 1])}, "channel 1 folds into weights or a bias"),
    ],
)
def test_a_batch_normalisation_that_cannot_be_folded_is_one_sentence(wrong, message):
    ones = {name: np.ones(4, np.float32) for name in ("gamma", "beta", "mean", "var")}
    with pytest.raises(ArgumentError, match=f"^{message}"):
        fold_batch_norm(**{"w": np.ones((4, 2, 1, 1), np.float32), **ones, **wrong})
