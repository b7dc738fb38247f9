"""Programs of every kind that passes know, on a device: exact on small whole numbers, else near the definition."""

from __future__ import annotations

import gc
from concurrent.futures import ThreadPoolExecutor
from random import Random

import numpy as np
import pytest

from cpu.reference.programs import evaluate
from gpu.codegen.loops.emit import emit_program
from gpu.runtime.compiler.program import compile_program
from gpu.runtime.machine.device import current_device
from search.evaluator.gpu.cuda_programs import CudaProgramKernel, FromHost
from tests.support.gpu.programs import PROGRAMS, expected, program_of
from tests.support.programs.programs import (
    ATTENTION,
    PRODUCTS,
    SOFTMAX,
    inputs_of,
    numbers,
    random_long_program,
    random_program,
    stored,
)
from tiling.arguments import ArgumentError
from tiling.program.infer import sized
from tiling.program.read import read

pytestmark = pytest.mark.gpu

BIG = (512, 520)  # so many points that a thread takes four neighbours
LAYER_NORM = (
    "m[i] = mean[j] x[i,j]; v[i] = mean[j] (x[i,j] - m[i]) * (x[i,j] - m[i]); "
    "y[i,j] = (x[i,j] - m[i]) * rsqrt(v[i] + 0.00001) * g[j] + b[j]"
)

# Of small whole numbers every one of these is exact. Sizes are for several blocks, with a rest.
WHOLE = {
    "four neighbours of f32": ("y[i,j] = 2 * x[i,j] + b[j]", {"x": BIG, "b": BIG[1:]}),
    "four neighbours of f16": ("x: f16; z: f16; y: f16; y[i,j] = max(x[i,j] + z[i,j], 0)", {"x": BIG, "z": BIG}),
    "four neighbours of bf16": ("x: bf16; z: bf16; y: bf16; y[i,j] = max(x[i,j] + z[i,j], 0)", {"x": BIG, "z": BIG}),
    "four neighbours of s8": ("x: s8; y: s8; y[i,j] = s8(2 * x[i,j] - 1)", {"x": BIG}),
    "four neighbours of f64": ("x: f64; y[i,j] = 0.5 * x[i,j]", {"x": BIG}),
    "stored truths": ("y: bool; y[i,j] = x[i,j] > z[i,j] or x[i,j] == 2", {"x": BIG, "z": BIG}),
    "read truths": ("x: bool; y[i,j] = where(x[i,j], a[j], 7)", {"x": (37, 41), "a": (41,)}),
    "broadcasting": ("y[i,j,k] = x[i,j] * a[k] + b[i]", {"x": (33, 9), "a": (21,), "b": (33,)}),
    "a transposition with a rest": ("y[i,j] = 2 * x[j,i]", {"x": (100, 76)}),
    "transpositions of f16": ("x: f16; y: f16; y[b,j,i] = x[b,i,j]", {"x": (3, 65, 40)}),
    "channels last": ("y[h,w,c] = x[c,h,w]", {"x": (3, 40, 33)}),
    "padding": ("y[i,j] = x[i-1,j-2] else 7", {"x": (30, 61), "i": 33, "j": 67}),
    "a gather with a value outside": ("t: s32; y[i,j] = x[t[i],j] else -1", {"x": (2, 70), "t": (99,), "j": 70}),
    "a gather of s64": ("t: s64; y[i,j] = x[i,t[j]]", {"x": (50, 3), "t": (99,)}),
    "one-hot": ("t: s32; y[i,j] = t[i] == j", {"t": (300,), "j": 5}),
    "sums of a warp": ("s[i] = sum[j] x[i,j]", {"x": (37, 500)}),
    "sums of a block": ("s[i] = sum[j] x[i,j]", {"x": (7, 5003)}),
    "a maximum in two launches": ("m[] = max[i] x[i]", {"x": (300001,)}),
    "sums of columns": ("s[j] = sum[i] x[i,j]", {"x": (601, 40)}),
    "sums of whole numbers": ("x: s32; s[i] = sum[j] x[i,j] * 1000003", {"x": (9, 1500)}),
    "sums over three dims": ("s[c] = sum[h,w] x[h,w,c]", {"x": (30, 40, 19)}),
    "positions in long rows": (
        "p[i] = argmax[j] x[i,j]; q[i] = argmin[j] x[i,j]; y[i] = p[i] - q[i]",
        {"x": (7, 3001)},
    ),
    "max pooling": (
        "y[h,w,c] = max[r,s] x[2*h+r-1,2*w+s-1,c] else -inf",
        {"x": (33, 35, 17), "h": 17, "w": 18, "c": 17, "r": 3, "s": 3},
    ),
    "sum pooling": ("y[h,w,c] = sum[r,s] x[2*h+r,2*w+s,c]", {"x": (34, 36, 9), "h": 16, "w": 17, "r": 3, "s": 3}),
    "cumulative sums": ("y[i,j] = sum[k] where(k <= j, x[i,k], 0)", {"x": (9, 130), "j": 130}),
    "concatenation": (
        "y[i,j] = where(j < 40, x[i,j] else 0, z[i,j-40] else 0)",
        {"x": (19, 40), "z": (19, 33), "i": 19, "j": 73},
    ),
    "quotients": ("x: s32; y[i,j] = x[i,j] // 3 + 10 * (x[i,j] % 3)", {"x": (40, 41)}),
    "quotients of floats": ("y[i,j] = x[i,j] // 3 + 10 * (x[i,j] % 3)", {"x": (40, 41)}),
    "quotients of positions": ("y[i,j] = x[i // 3, j % 5]", {"x": (20, 5), "i": 60, "j": 77}),
    "requantisation": ("x: s32; y: u8; y[i,j] = u8(clamp(round(x[i,j] * a[j]), 0, 255))", {"x": (70, 33), "a": (33,)}),
    "bits": ("x: s32; y[i] = bitxor(shl(x[i], 3), bitand(x[i], 5)) + shr(x[i], 1)", {"x": (999,)}),
    "an array read backwards": (
        "c[p] = a[p] + 1; e[p] = c[999-p] * 2; y[i,j] = e[50*i+j] * 3",
        {"a": (1000,), "i": 20, "j": 50},
    ),
    "rows beyond shared memory": (  # more than there are blocks, which have memory of their own for one
        "e[i,j] = exp(0 * x[i,j]) + x[i,j]; s[i] = sum[j] e[i,j]; y[i,j] = e[i,12999-j] * s[i]",
        {"x": (280, 13000)},
    ),
    "rows that wait": ("m[i] = max[j] x[i,j]; v[i] = sum[j] x[i,j] - m[i]; y[i,j] = x[i,j] - v[i]", {"x": (41, 700)}),
    "a larger product": ("y[i,j] = sum[k] x[i,k] * w[k,j]", {"x": (70, 129), "w": (129, 90)}),
    **{name: each for name, each in PRODUCTS.items() if name != "convolution"},
    "convolution": (
        PRODUCTS["convolution"][0],
        {**PRODUCTS["convolution"][1], "h": 5, "w": 9},
    ),
}
REAL = {
    "softmax of short rows": (SOFTMAX, {"x": (37, 77)}),
    "softmax of long rows": (SOFTMAX, {"x": (9, 2000)}),
    "softmax of rows beyond shared memory": (SOFTMAX, {"x": (5, 20001)}),
    "LayerNorm": (LAYER_NORM, {"x": (37, 768), "g": (768,), "b": (768,)}),
    "RMSNorm": (
        "s[i] = mean[j] x[i,j] * x[i,j]; y[i,j] = x[i,j] * rsqrt(s[i] + 0.00001) * g[j]",
        {"x": (5, 96), "g": (96,)},
    ),
    "attention": (ATTENTION, {"q": (2, 34, 5), "k": (2, 300, 5), "v": (2, 300, 5)}),
    "attention of 64": (ATTENTION, {"q": (3, 128, 64), "k": (3, 128, 64), "v": (3, 128, 64)}),
    "activations": ("y[i] = gelu(x[i]) + silu(x[i]) + tanh(x[i]) + erf(x[i]) + exp(x[i])", {"x": (5000,)}),
    "roots": ("y[i] = log(1 + abs(x[i])) + sqrt(abs(x[i])) + sin(x[i]) / (2 + cos(x[i]))", {"x": (5000,)}),
    "global average": ("y[c] = mean[h,w] x[h,w,c]", {"x": (30, 40, 19)}),
}
DRAWN = [(draw, seed) for draw in (random_program, random_long_program) for seed in range(12)]


def of(text: str, sizes: dict):
    """A program with the extents and the shapes in `sizes`."""
    extents = {name: size for name, size in sizes.items() if isinstance(size, int)}
    return sized(read(text), extents, {name: size for name, size in sizes.items() if isinstance(size, tuple)})


ROWS_OF_ANY_LENGTH = "s[i] = sum[j] x[i,j]; y[i,j] = x[i,j] * s[i]"
RUNTIME = {
    "rows": (ROWS_OF_ANY_LENGTH, {"i": "<=40", "j": "<=3000"}),
    "map": ("y[i,j] = 2 * x[i,j] + j", {"i": "<=700", "j": 512}),
}


def with_runtime(name: str):
    text, extents = RUNTIME[name]
    return sized(read(text), extents)


@pytest.fixture(scope="module", autouse=True)
def all_compiled():
    """NVRTC compiles on all cores, as one file after the other would take a minute."""
    programs = [*map(program_of, PROGRAMS), *(of(*each) for each in (*WHOLE.values(), *REAL.values()))]
    programs += [*map(with_runtime, RUNTIME), *(draw(Random(seed)) for draw, seed in DRAWN)]
    architecture = current_device().architecture
    with ThreadPoolExecutor() as pool:
        list(pool.map(lambda program: compile_program(emit_program(program), architecture), programs))


def on_device(program, arrays):
    """The outputs by the device. What no launch writes has all bits set."""
    found = FromHost(CudaProgramKernel(program))(*(stored(arrays[a.name], a.dtype) for a in program.inputs))
    return {name: numbers(y, program.array(name).dtype) for name, y in found.items()}


def check_exact(program, random):
    arrays = inputs_of(program, random)
    wanted = expected(program, arrays)
    if wanted is None:
        pytest.skip("its sums are too large to be exact")
    for name, found in on_device(program, arrays).items():
        np.testing.assert_array_equal(found, wanted[name], err_msg=str(program.program))


@pytest.mark.parametrize("name", [*PROGRAMS, *WHOLE])
def test_whole_numbers_are_exact(name):
    check_exact(of(*WHOLE[name]) if name in WHOLE else program_of(name), Random(1))


@pytest.mark.parametrize("draw, seed", DRAWN, ids=lambda each: getattr(each, "__name__", str(each)))
def test_random_programs_are_exact(draw, seed):
    random = Random(seed)
    check_exact(draw(random), random)


@pytest.mark.parametrize("name", REAL)
def test_real_numbers_are_near_the_definition(name):
    program, random = of(*REAL[name]), np.random.default_rng(0)
    arrays = {array.name: random.standard_normal(array.shape).astype(np.float32) for array in program.inputs}
    wanted = evaluate(program, arrays)["y"]
    np.testing.assert_allclose(on_device(program, arrays)["y"], wanted, rtol=2e-5, atol=2e-6)


def test_random_programs_of_reals_are_within_the_derived_bound():
    pytest.importorskip("torch", reason="PyTorch, an independent reference, is not installed")
    from tests.support.programs.beside_torch import check_bounded

    sure = [check_bounded(seed, lambda program, arrays, _: on_device(program, arrays)) for seed in range(8)]
    assert sum(sure) > len(sure) / 2  # points of whose values there is a bound


@pytest.mark.parametrize("name, calls", [("rows", [(1, 1), (40, 3000), (33, 70)]), ("map", [(700, 512), (3, 512)])])
def test_extents_of_a_call(name, calls):
    import cupy

    kernel = CudaProgramKernel(with_runtime(name))
    for i, j in calls:
        x = np.random.default_rng(0).integers(-2, 3, (i, j)).astype(np.float32)
        wanted = x * x.sum(1, keepdims=True) if name == "rows" else 2 * x + np.arange(j)
        np.testing.assert_array_equal(cupy.asnumpy(kernel(cupy.asarray(x))), wanted)


def test_an_index_that_lies_outside_is_an_error_of_its_own_call_alone():
    import cupy

    kernel, x = CudaProgramKernel(program_of("gather")), np.arange(99, dtype=np.float32).reshape(3, 33)
    right, wrong = np.zeros(9, np.int32), np.array([0, 1, 2, 3, 0, 0, 0, 0, 0], np.int32)
    for t in (right, wrong, right):
        arrays = {"x": cupy.asarray(x), "t": cupy.asarray(t)}
        if t is wrong:
            with pytest.raises(ArgumentError, match="lies outside of the array"):
                kernel(**arrays)
        else:
            np.testing.assert_array_equal(cupy.asnumpy(kernel(**arrays)), x[t])


def test_calls_on_two_streams_have_room_of_their_own():
    """Each sum leaves parts for its second launch, while the other stream's launches run."""
    import cupy

    kernel = CudaProgramKernel(program_of("one long sum"))
    ones, twos = (cupy.asarray(np.full(1 << 18, value, np.float32)) for value in (1, 2))
    cupy.cuda.Device().synchronize()
    streams, found = [cupy.cuda.Stream(non_blocking=True) for _ in range(2)], []
    for _ in range(20):
        for stream, given in zip(streams, (ones, twos)):
            with stream:
                found.append((kernel(given), 1 + (given is twos)))
    cupy.cuda.Device().synchronize()
    assert all(float(cupy.asnumpy(y)) == each * (1 << 18) for y, each in found)


def test_a_graph_runs_beside_calls_and_after_its_kernel_is_gone():
    import cupy

    given = cupy.asarray(np.ones(1 << 18, np.float32))
    outputs = [cupy.asarray(np.zeros((), np.float32)) for _ in range(2)]
    kernel = CudaProgramKernel(program_of("one long sum"))
    stream, other = (cupy.cuda.Stream(non_blocking=True) for _ in range(2))
    cupy.cuda.Device().synchronize()
    with stream:
        stream.begin_capture()
        kernel(given, out=outputs[0])
        graph = stream.end_capture()
        for _ in range(20):
            graph.launch(other)
            kernel(given, out=outputs[1])
    cupy.cuda.Device().synchronize()
    assert [float(cupy.asnumpy(y)) for y in outputs] == [1 << 18] * 2
    del kernel
    gc.collect()
    outputs[0].data.memset_async(0xFF, 4)
    cupy.cuda.Device().synchronize()
    graph.launch(other)
    other.synchronize()
    assert float(cupy.asnumpy(outputs[0])) == 1 << 18
