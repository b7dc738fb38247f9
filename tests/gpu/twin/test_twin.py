"""Emitted kernels on the CPU twin: exact results, no bank conflicts, and a failure wherever a barrier or wait is
missing.
"""

import ctypes
import re
import shutil
from dataclasses import replace
from importlib.resources import files

import numpy as np
import pytest

from cpu.runtime.numbers import from_bits, to_bits
from gpu.codegen.loops.scheme import emit_scheme
from gpu.twin.launch import TwinError, run_on_twin
from tests.support.gpu.cases import check_on_twin, expected, integers, left_out, product_scheme, survives
from tests.support.running.own_cache import shared_object
from tiling.operators import conv2d, matmul
from tiling.text.notation import parse

pytestmark = pytest.mark.skipif(not any(map(shutil.which, ("cc", "gcc", "clang"))), reason="needs a C compiler")


@pytest.mark.exhaustive
@pytest.mark.parametrize("dtype", ["f16", "bf16", "tf32"])
@pytest.mark.parametrize("transpose_a", [False, True])
@pytest.mark.parametrize("transpose_b", [False, True])
def test_products_in_every_orientation(dtype, transpose_a, transpose_b):
    problem = matmul(m=100, n=72, k=88, dtype=dtype, transpose_a=transpose_a, transpose_b=transpose_b)
    assert check_on_twin(product_scheme(problem, unrolled=(2, 4, 2)), seeds=(1, 2, 3)) == 0


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("m", "n", "k"),
    [(1, 1, 1), (5, 3, 7), (33, 65, 129), (2, 100, 3), (66, 34, 30), (64, 32, 64)],
    ids=lambda extent: str(extent),
)
@pytest.mark.parametrize("dtype", ["f16", "tf32"])
def test_products_of_any_size(m, n, k, dtype):
    check_on_twin(product_scheme(matmul(m=m, n=n, k=k, dtype=dtype), depth=2))


def test_odd_rows_are_gathered_and_even_ones_copied_by_what_divides_them():
    for k, copy in ((31, "gather_16"), (30, "copy_async_4"), (28, "copy_async_8"), (24, "copy_async_16")):
        source = emit_scheme(product_scheme(matmul(m=16, n=64, k=k, dtype="f16")))
        assert set(re.findall(r"(\w+)\(X_(?:tile|chunk)", source.text)) - {"get_matrices", "shared_address"} == {copy}


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "problem",
    [
        matmul(m=67, n=41, k=139, dtype="f16"),
        matmul(m=67, n=41, k=139, dtype="bf16", transpose_a=True, transpose_b=True, batch=3),
        conv2d(n=2, c=3, h=19, w=17, k=9, r=7, s=7, stride=2, padding=3, dtype="bf16", filters="krsc"),
        conv2d(c=3, h=19, w=17, k=9, r=3, s=3, padding=(0, 2), dilation=(3, 2), dtype="f16", filters="krsc"),
        conv2d(c=1, h=30, w=31, k=9, r=2, s=5, padding=(1, 4), dtype="f16", filters="krsc"),
        conv2d(c=1, h=12, w=11, k=9, r=5, s=3, padding=2, stride=(1, 3), dilation=2, dtype="f16", filters="krsc"),
        conv2d(n=3, c=33, h=5, w=6, k=9, r=1, s=1, stride=2, dtype="f16", filters="krsc"),
        conv2d(c=13, h=6, w=2, k=9, r=1, s=3, padding=(0, 3), dtype="f16", filters="krsc"),
    ],
    ids=str,
)
@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize(
    "options",
    [{}, {"warps": (1, 2), "unrolled": (2, 4, 4), "depth": 2}, {"warps": (4, 1), "unrolled": (1, 2, 1)}],
    ids=str,
)
def test_rows_that_no_copy_is_aligned_for_are_gathered(problem, options, seed):
    scheme = product_scheme(problem, **options)
    assert "gather_16(" in emit_scheme(scheme).text
    assert check_on_twin(scheme, seeds=[seed]) == 0


def test_taps_in_another_order_are_gathered_in_runs_of_channels():
    problem = conv2d(c=3, h=9, w=9, k=16, r=3, s=3, dtype="f16", filters="krsc")
    scheme = parse(problem, product_scheme(problem).text.replace("rsc", "src"))
    assert "% 3 - 3 * turn" in emit_scheme(scheme).text and check_on_twin(scheme) == 0


@pytest.mark.parametrize(("transpose_a", "transpose_b"), [(False, False), (True, True)])
def test_batched_products(transpose_a, transpose_b):
    problem = matmul(m=40, n=24, k=50, batch=3, dtype="bf16", transpose_a=transpose_a, transpose_b=transpose_b)
    check_on_twin(product_scheme(problem))


def test_a_product_in_f16_with_an_output_in_f32():
    problem = matmul(m=40, n=23, k=50, dtype="f16", output_dtype="f32")
    check_on_twin(product_scheme(problem))


def test_blocks_in_groups_and_whole_blocks_past_the_edge():
    scheme = product_scheme(matmul(m=64 * 5 + 1, n=40, k=50, dtype="f16"), group=4)
    assert "if (m_1 < 321) {" in emit_scheme(scheme).text
    check_on_twin(scheme)


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "shape",
    [
        {"c": 64, "r": 3, "s": 3, "padding": 1},
        {"c": 3, "r": 7, "s": 7, "stride": 2, "padding": 3},
        {"c": 20, "r": 3, "s": 3, "padding": 2, "dilation": 2},
        {"c": 4, "r": 3, "s": 2, "stride": (2, 1)},
        {"c": 8, "r": 3, "s": 3, "padding": ((0, 1), (2, 0))},
        {"c": 40, "r": 1, "s": 1, "stride": 2},
        {"c": 7, "r": 1, "s": 5, "padding": (0, 2), "n": 3},
    ],
    ids=lambda shape: " ".join(f"{k}={v}" for k, v in shape.items()),
)
@pytest.mark.parametrize("dtype", ["f16", "tf32"])
def test_convolutions(shape, dtype):
    problem = conv2d(**{"n": 2, "h": 15, "w": 14, "k": 24, **shape}, dtype=dtype, filters="krsc")
    assert check_on_twin(product_scheme(problem)) == 0


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "shape",
    [
        {"warps": (1, 1)},
        {"warps": (1, 4), "unrolled": (4, 2, 1)},
        {"warps": (3, 1), "unrolled": (1, 6, 4)},
        {"unrolled": (2, 2, 3)},
        {"unrolled": (2, 2, 10)},
    ],
)
@pytest.mark.parametrize("depth", [2, 5])
def test_other_tiles_and_rings(shape, depth):
    """96 columns have rows of 192 bytes, which are no power of two. Ten parts are one step, fewer than stages."""
    check_on_twin(product_scheme(matmul(m=112, n=104, k=150, dtype="f16"), depth=depth, **shape))


def test_reals_are_within_the_bound():
    problem = matmul(m=70, n=50, k=300, dtype="bf16", output_dtype="f32")
    rng = np.random.default_rng(5)
    inputs = [
        from_bits(to_bits(rng.uniform(-1, 1, t.shape), "bf16"), "bf16") for t in (problem.broadcast, problem.vector)
    ]
    output = run_on_twin(emit_scheme(product_scheme(problem)), *inputs).output
    bound = 300 * np.finfo(np.float32).eps / 2 * expected(problem, *(np.abs(i) for i in inputs))
    assert (np.abs(output - inputs[0].astype(np.float64) @ inputs[1]) <= bound).all()


# Everything that orders the threads or their copies, wherever it stands in the text.
SYNCHRONISATION = re.compile(r"(?<!\w)(?:cp_async_wait\([^)]*\)|cp_async_commit\(\)|__syncthreads\(\));")


@pytest.mark.slow
@pytest.mark.exhaustive
@pytest.mark.parametrize("depth", [2, 4])
@pytest.mark.parametrize(
    ("problem", "statements"),
    [
        # The first step has a wait and a barrier of its own, before its first fragments are loaded.
        (matmul(m=64, n=32, k=200, dtype="f16"), 6),
        (conv2d(c=8, h=8, w=8, k=16, r=5, s=5, padding=2, dtype="bf16", filters="krsc"), 6),
        pytest.param(matmul(m=64, n=32, k=201, dtype="f16"), 4, id="one input gathered"),
        # What threads gather they need not wait for: barriers are all there is. With more than two stages that of a
        # step stands behind its first loads, so the first step needs one of its own.
        pytest.param(matmul(m=64, n=31, k=201, dtype="f16"), (1, 2), id="both inputs gathered"),
        pytest.param(conv2d(c=3, h=9, w=9, k=16, r=5, s=5, dtype="f16", filters="krsc"), 1, id="a stem"),
    ],
    ids=str,
)
def test_no_barrier_commit_or_wait_can_be_left_out(problem, statements, depth):
    source = emit_scheme(product_scheme(problem, depth=depth))
    found, needless = left_out(source, SYNCHRONISATION, range(4))
    assert len(found) == (statements if isinstance(statements, int) else statements[depth > 2]) and not needless


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("thread / 16 < 70 ? ", "thread / 16 < 71 ? "),
        ("- 8 * thread % 16 + 169)", "- 8 * thread % 16 + 168)"),
        ("- 8 * thread % 16 + 169)", "- 8 * thread % 16 + 170)"),
        ("X_chunk[word] = 0;", "if (k == 0) X_chunk[word] = 0;"),
        ("8 * thread % 16 + 32, 0,", "8 * thread % 16 + 32, 1,"),
        ("store_shared_16(shared_address(X_tile + ", "store_shared_16(shared_address(X_tile + 8 + "),
        ("k + 32 < 208", "k + 32 < 192"),
        ("get_matrices_across(", "get_matrices("),
    ],
)
def test_mistakes_of_a_gather_are_found(old, new):
    """Threads gather rows of a, and copy those of b."""
    source = emit_scheme(product_scheme(matmul(m=70, n=40, k=201, dtype="f16"), unrolled=(2, 2, 1)))
    assert old in source.text
    if "k == 0" in new:  # of the loop over steps
        head, loop, rest = source.text.partition("for (int k = 0;")
        assert not survives(replace(source, text=head + loop + rest.replace(old, new)))
    else:
        assert not survives(replace(source, text=source.text.replace(old, new)))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("cp_async_wait(1)", "cp_async_wait(2)"),
        ("(k / 32 + 2) % 3", "(k / 32 + 1) % 3"),
        ("k + 64 < 224", "k + 64 < 192"),
        ("ahead < 64", "ahead < 32"),
        ("X_tile + 2048 * (((k + 32) / 32) % 3)", "X_tile + 2048 * (k / 32 % 3)"),
        ("X_part[1][m_u / 16], W_part[1]", "X_part[0][m_u / 16], W_part[1]"),
        ("const int m = 32 * (warp / 2)", "const int m = 16 * (warp / 2)"),
        ("round / 32 < 70", "round / 32 < 71"),
        ("round / 32 + 64 < 200", "round / 32 + 64 < 201"),
        ("8 * half < 70", "8 * half < 69"),
        ("8 * half < 70 && ", ""),
        ("copy_async_16(X_tile + ", "copy_async_16(X_tile + 8 + "),
        ("get_matrices_across(", "get_matrices("),
    ],
)
def test_other_mistakes_are_found(old, new):
    source = emit_scheme(product_scheme(matmul(m=70, n=40, k=200, dtype="f16")))
    assert old in source.text
    assert not survives(replace(source, text=source.text.replace(old, new)))


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("if (threadIdx.x < 7) __syncthreads();", None),
        (
            "if (threadIdx.x % 2) load_shared(shared_base()); else ldmatrix_x4(v, shared_base());",
            "the lanes of a warp part",
        ),
        ("if (threadIdx.x) load_shared(shared_base());", "no thread can go on"),
        ("load_shared(shared_base() + 2);", "a multiple of 4, not byte 2"),
        ("load_shared(shared_base() + SIZE);", "touches bytes"),
        ("store_shared_16(shared_base() + threadIdx.x % 2 * 16, v);", "thread"),
        ("gather_16(v, c, -1, 257);  gather_16(v, c + 256, -1, 1);", "gather_16 touches memory outside every array"),
        ("cp_async_16(shared_base() + 16 * threadIdx.x, a + 1, 1);", "multiple of 16"),
        ("store_f32((void *)a, 0.0f);", "writes to an input"),
        ("store_f32(c, 0.0f);", "a second time"),
        ("", "never written"),
    ],
)
def test_the_twin_says_what_is_wrong(statement, message):
    source = emit_scheme(product_scheme(matmul(m=16, n=16, k=15, dtype="f16")))
    head, _, _ = source.text.partition("KERNEL(")
    given = "const unsigned short *a, const unsigned short *b, unsigned short *c"
    body = f"KERNEL({source.threads}, 1) {source.symbol}({given})\n{{\n"
    text = (
        head.replace("DEVICE", "DEVICE __attribute__((unused))")
        + body
        + f"    unsigned v[4]; (void)v; {statement}\n}}\n"
    )
    kernel = replace(source, text=text.replace("SIZE", str(source.shared_bytes)), elements=False)
    with pytest.raises(TwinError, match=message or "never written"):
        run_on_twin(kernel, *integers(source.scheme.problem))


def test_the_twin_rounds_as_the_hardware_does():
    """To nearest, ties to even: every f16 is its own rounding, and halfway between two of them NumPy and the twin
    agree.
    """
    layer = files("gpu").joinpath("twin", "twin.h").read_text(encoding="utf-8")
    export = (
        "void f16_of(const float *v, uint16_t *to, long n)\n"
        "{ for (long i = 0; i < n; ++i) to[i] = twin_to_half(v[i]); }\n"
    )
    library = ctypes.CDLL(
        str(shared_object(layer + export + export.replace("f16", "bf16").replace("half", "bf16"), ()))
    )
    halves = np.arange(0, 0x7C00, dtype=np.uint16).view(np.float16).astype(np.float32)
    values = np.concatenate([halves, (halves[1:] + halves[:-1]) / 2, -halves, [65519, 65520, 1e-9, 6e-8]]).astype(
        np.float32
    )
    for dtype, convert in (("f16", library.f16_of), ("bf16", library.bf16_of)):
        found = np.empty(values.shape, np.uint16)
        convert(
            values.ctypes.data_as(ctypes.c_void_p), found.ctypes.data_as(ctypes.c_void_p), ctypes.c_long(values.size)
        )
        with np.errstate(over="ignore"):
            np.testing.assert_array_equal(found, to_bits(values, dtype).view(np.uint16))
