"""Arrays of more elements than 32 bits count: where a kernel's text finds its elements, computed in C as the GPU would.

No twin can hold such arrays: the expressions are taken out of the text, and compared with those of Python's integers.
"""

import ctypes
import re

import pytest

from cpu.runtime.compiler.library import load
from gpu.codegen.loops.scheme import emit_scheme
from gpu.codegen.pipeline.reading import pipeline_of
from tests.support.gpu.cases import product_scheme, tma_scheme, wgmma_scheme
from tiling.epilogue import fused
from tiling.operators import conv2d, matmul
from tiling.scheme.specifiers import SchemeError
from tiling.text.notation import parse

BATCHED = fused(matmul(m=2048, n=2048, k=2048, batch=1100, dtype="f16", transpose_b=True), "relu(y + z)")
GATHERED = fused(matmul(m=2048, n=2048, k=2047, batch=1100, dtype="f16", transpose_b=True), "relu(y + z)")
ODD_ROWS = fused(matmul(m=2048, n=2047, k=2048, batch=1100, dtype="bf16", transpose_b=True), "y + z")  # by threads


def value(expression: str, variables: str, *values: int) -> int:
    """What C makes of an expression of variables that a kernel declares so: `int` and `unsigned` have 32 bits."""
    library = load(f"long value({variables}) {{ return {expression}; }}\n", ("-fwrapv",), ctypes.CDLL)
    library.value.restype = ctypes.c_long
    return library.value(*values)


@pytest.mark.parametrize(
    ("scheme", "tiles"),
    [
        (product_scheme(BATCHED), 32 * 64),
        (product_scheme(GATHERED, unrolled=(2, 2, 1)), 32 * 64),
        (wgmma_scheme(GATHERED), 16 * 32),
        (tma_scheme(BATCHED), 32 * 32),
        (tma_scheme(ODD_ROWS), 32 * 32),
    ],
    ids=["copied", "gathered", "gathered for warpgroups", "tma", "tma with odd rows"],
)
def test_a_batch_may_have_more_elements_than_32_bits_count(scheme, tiles):
    problem, text = scheme.problem, emit_scheme(scheme).text
    ((type_of, number),) = set(re.findall(r"const ([\w ]+) l = (.*);", text))
    threads = type_of_workers(text)
    last = problem.extents["l"] - 1
    place = "tile" if "@cluster" in scheme.text else "block"
    assert value(f"({type_of})({number})", f"{threads} {place}", last * tiles) == last  # the first of the last product
    arrays = {"X": problem.broadcast, "W": problem.vector, "Y": problem.output, "E_z": problem.epilogue_arrays[0]}
    arrays = {name: tensor for name, tensor in arrays.items() if f"{name}_map" not in text}
    found = set(re.findall(r"[ (](X|W|Y|E_z) \+ (.*? \* l)\b", text))
    assert {name for name, _ in found} == set(arrays)
    for name, place in found:
        assert arrays[name].elements > 1 << 32
        assert value(place, f"{type_of} l", last) == last * arrays[name].stride("l")


def type_of_workers(text: str) -> str:
    return re.search(r"const ([\w ]+) block = .*, thread = thread_number\(\)", text)[1]


def test_blocks_may_leave_more_partial_sums_than_32_bits_count():
    scheme = product_scheme(BATCHED)
    shared = parse(scheme.problem, "T(k,2)@block " + scheme.text.replace("T(k,64)", "T(k,32)"))
    text = emit_scheme(shared).text
    places = set(re.findall(r"parts \+ (4096 \* \(block % 2252800\))", text))
    assert len(places) == 1
    assert value(places.pop(), f"{type_of_workers(text)} block", 2252799) == 2252799 * 4096


@pytest.mark.parametrize(
    ("n", "h", "w", "c"),
    [(3, 20000, 20000, 5), (1, 30000, 30000, 3), (1, 1, 1 << 24, 153)],
    ids=["images", "an image", "a row"],
)
def test_gathered_images_may_have_more_elements_than_32_bits_count(n, h, w, c):
    problem = conv2d(n=n, c=c, h=h, w=w, k=1, r=1, s=1, dtype="f16", filters="krsc")
    text = emit_scheme(product_scheme(problem)).text
    assert problem.broadcast.elements > 1 << 31
    (type_of,) = re.findall(r"const ([\w ]+) nhw_1 = ", text)
    place = re.search(r"gather_16\(X_chunk(?:\[chunk\])?, X \+ (.*?), \(long long\)", text)[1]
    others = sorted({*re.findall(r"[a-z]\w*", place)} - {"nhw_1"})
    last = n * h * w - 1
    found = value(
        place, ", ".join([f"{type_of} nhw_1", *(f"int {name}" for name in others)]), last, *[0 for _ in others]
    )
    assert found == last * c


def test_an_axis_of_more_points_than_32_bits_count_is_refused():
    rows = conv2d(n=1 << 10, c=1, h=1 << 11, w=1 << 10, k=1, r=1, s=1, dtype="f16", filters="krsc")
    with pytest.raises(SchemeError, match="nhw counts 2147483648, a GPU kernel up to 2147483647"):
        pipeline_of(product_scheme(rows))
