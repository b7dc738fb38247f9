"""Programs around an anchor, compared with their definition, exactly on integers."""

import os
import pickle
import subprocess

import cffi
import ml_dtypes
import numpy as np
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

import search
from cpu.kernel.anchored import AnchoredKernel
from cpu.kernel.export import ExportError
from cpu.reference.programs import evaluate
from cpu.runtime.compiler.toolchain import find_compiler
from cpu.runtime.machine.host import host
from microkernels.tile.isa import best_isa
from tests.support.sampled import examples
from tiling.arguments import ArgumentError

MAPS = ("relu({0})", "{0} + v[{c}]", "{0} * 2 - r[{d}]", "max({0}, v[{c}])", "{0} - abs({0})", "where({0} > 0, {0}, 1)")
ANCHORS = {
    "matmul": ("y[i,j] = sum[k] a[i,k] * b[k,j]", "i,j", {"i": 96, "j": 72, "k": 320}),
    "transposed": ("y[i,j] = sum[k] a[k,i] * b[j,k]", "i,j", {"i": 96, "j": 72, "k": 320}),
    "batch": ("y[l,i,j] = sum[k] a[l,i,k] * b[l,k,j]", "l,i,j", {"l": 2, "i": 64, "j": 48, "k": 352}),
    "last": ("y[h,w,k] = sum[c,r,s] a[h+r-1,2*w+s-1,c] * b[r,s,c,k]", "h,w,k",
             {"h": 14, "w": 10, "k": 24, "c": 72, "r": 3, "s": 3}),
    "first": ("y[k,h,w] = sum[c,r,s] a[c,h+r-1,w+s] * b[k,c,r,s]", "k,h,w",
              {"h": 14, "w": 13, "k": 24, "c": 56, "r": 3, "s": 3}),
    "groups": ("y[h,w,k] = sum[c,r,s] a[h+r-1,w+s-1,16*(k//16)+c] * b[k,c,r,s]", "h,w,k",
               {"h": 22, "w": 22, "k": 32, "c": 16, "r": 3, "s": 3}),
    "reversed": ("y[i,j] = sum[k] a[95-i,k] * b[k,j]", "i,j", {"i": 96, "j": 72, "k": 320}),
    "sliced": ("y[i,j] = sum[k] a[i+3,2*k] * relu(b[319-k,j])", "i,j", {"i": 96, "j": 72, "k": 320}),
    "depthwise": ("y[h,w,c] = sum[r,s] a[h+r-1,w+s-1,c] * b[c,r,s]", "h,w,c",
                  {"h": 30, "w": 31, "c": 256, "r": 3, "s": 3}),
}  # fmt: skip


def inputs_of(kernel, seed=0):
    random = np.random.default_rng(seed)
    return [random.integers(-3, 4, array.shape).astype(np.float32) for array in kernel.inputs]


def same(kernel, arrays):
    names = [array.name for array in kernel.inputs]
    wanted, found = evaluate(kernel.program, dict(zip(names, arrays))), kernel(*arrays)
    named = found if isinstance(found, dict) else {kernel.outputs[0].name: found}
    return all(np.array_equal(y, wanted[name]) for name, y in named.items())


@st.composite
def programs(draw):
    """An anchor, perhaps a map before it, maps after it, perhaps a transposition and a reduction at the end."""
    text, dims, extents = ANCHORS[draw(st.sampled_from(sorted(ANCHORS)))]
    statements, last = [text], "y"
    for number in range(draw(st.integers(0, 3))):
        value = draw(st.sampled_from(MAPS)).format(f"{last}[{dims}]", c=dims.rpartition(",")[2], d=dims)
        statements.append(f"z{number}[{dims}] = {value}")
        last = f"z{number}"
    if draw(st.booleans()):
        order = draw(st.permutations(dims.split(",")))
        statements.append(f"t[{','.join(order)}] = {last}[{dims}] + 1")
        last, dims = "t", ",".join(order)
    if draw(st.booleans()):
        first, _, rest = dims.partition(",")
        statements.append(f"m[{first}] = max[{rest}] {last}[{dims}]")
    wanted = draw(st.lists(st.sampled_from([s.partition("[")[0] for s in statements]), unique=True))
    return "; ".join(statements), tuple(wanted), extents, draw(st.sampled_from((1, 2)))


@pytest.mark.slow
@examples(15, deadline=None, suppress_health_check=list(HealthCheck))
@given(programs())
def test_random_programs_around_an_anchor(drawn):
    text, outputs, extents, threads = drawn
    kernel = search.generate_program(text, outputs=outputs, threads=threads, isa="portable", **extents)
    assert isinstance(kernel, AnchoredKernel)
    assert same(kernel, inputs_of(kernel))


@pytest.mark.slow
@pytest.mark.isa("avx512bf16")
@pytest.mark.parametrize("output", ["f32", "bf16"])
def test_a_product_of_bf16(output):
    text = f"y: {output}; y[i,j] = sum[k] a[99-i,k] * b[k,j]; z: f32; z[i,j] = relu(y[i,j]) + 1"
    kernel = search.generate_program(text, i=100, j=96, k=512, dtype="bf16", outputs=("y", "z"))
    assert isinstance(kernel, AnchoredKernel) and "dtype=bf16" in str(kernel.found.anchor.problem)
    random = np.random.default_rng(0)
    a, b = (random.integers(-3, 4, array.shape).astype(ml_dtypes.bfloat16) for array in kernel.inputs)
    found = kernel(a, b)
    wanted = a[::-1].astype(np.float32) @ b.astype(np.float32)
    if output == "bf16":
        wanted = wanted.astype(ml_dtypes.bfloat16).astype(np.float32)
    y = found["y"] if output == "f32" else np.asarray(found["y"]).view(ml_dtypes.bfloat16).astype(np.float32)
    np.testing.assert_array_equal(y, wanted)
    np.testing.assert_array_equal(found["z"], np.maximum(wanted, 0) + 1)


@pytest.mark.slow
@pytest.mark.isa("avx512vnni")
def test_a_product_of_bytes():
    text = (
        "a: u8; b: s8; y: s32; y[i,j] = sum[k] a[i,k] * b[j,k]; z: u8; z[i,j] = u8(clamp(round(y[i,j] * g[j]), 0, 255))"
    )
    kernel = search.generate_program(text, i=100, j=96, k=512, outputs=("y", "z"))
    assert isinstance(kernel, AnchoredKernel) and "dtype=int8" in str(kernel.found.anchor.problem)
    random = np.random.default_rng(0)
    a, b = random.integers(0, 256, (100, 512), np.uint8), random.integers(-128, 128, (96, 512)).astype(np.int8)
    g = np.full(96, 2.0**-8, np.float32)
    found, wanted = kernel(a, b, g), a.astype(np.int32) @ b.astype(np.int32).T
    np.testing.assert_array_equal(found["y"], wanted)
    np.testing.assert_array_equal(found["z"], np.clip(np.rint(wanted * np.float32(2.0**-8)), 0, 255).astype(np.uint8))


def test_a_narrower_instruction_set_goes_by_rules():
    text = "y: f32; y[i,j] = sum[k] a[i,k] * b[k,j]"
    kernel = search.generate_program(text, i=100, j=96, k=512, dtype="bf16", isa="portable")
    assert not isinstance(kernel, AnchoredKernel)


@pytest.mark.slow
def test_an_index_of_an_operand_that_lies_outside_is_an_error(tmp_path):
    text = "t: s32; y[i,j] = sum[k] a[t[i],k] * b[k,j]"
    shapes = {"a": (40, 512), "t": (100,), "b": (512, 96)}
    kernel = search.generate_program(text, shapes=shapes, isa="portable")
    assert isinstance(kernel, AnchoredKernel)
    arrays = {"a": np.ones((40, 512), np.float32), "b": np.ones((512, 96), np.float32)}
    assert (kernel(t=np.full(100, 39, np.int32), **arrays) == 512).all()
    with pytest.raises(ArgumentError, match="lies outside"):
        kernel(t=np.full(100, 40, np.int32), **arrays)
    kernel.save(tmp_path, "whole")
    assert "Returns 0, or 1 where an index" in (tmp_path / "whole.h").read_text()


TEXT = "e[i,k] = relu(a[i,k]); y[i,j] = sum[k] e[i,k] * b[k,j]; z[i,j] = relu(y[i,j] + v[j]); s[i] = sum[j] z[i,j]"


@pytest.fixture(scope="module")
def kernel():
    return search.generate_program(TEXT, outputs=("z", "s"), i=64, j=96, k=384)


def test_before_and_after(kernel):
    assert kernel.before and kernel.after and kernel.found.stores.output == "z"
    arrays = inputs_of(kernel)
    assert same(kernel, arrays) and same(pickle.loads(pickle.dumps(kernel)), arrays)


def test_packed_weights(kernel):
    a, b, v = inputs_of(kernel)
    assert np.array_equal(kernel(a, kernel.pack(b), v)["z"], kernel(a, b, v)["z"])
    with pytest.raises(ArgumentError, match="v is packed, but the weights of this program are b"):
        kernel(a, b, kernel.pack(b))


def test_out(kernel):
    a, b, v = inputs_of(kernel)
    out = {"z": np.empty((64, 96), np.float32), "s": np.empty(64, np.float32)}
    assert kernel(a, b, v, out=out) is out
    assert np.array_equal(out["z"], kernel(a, b, v)["z"]) and np.array_equal(out["s"], out["z"].sum(1))
    with pytest.raises(ArgumentError, match="out overlaps"):
        kernel(a, b, v, out=out | {"z": b.reshape(-1)[: 64 * 96].reshape(64, 96)})


@pytest.mark.slow
def test_time(kernel):
    assert kernel.timing.seconds > 0 and kernel.scheme


SAVED = {
    "alone": ("y[i,j] = sum[k] a[i,k] * b[k,j]", {"i": 96, "j": 72, "k": 320}),
    "weights in another order": ("y[h,w,k] = sum[c,r,s] a[h+r-1,w+s-1,c] * b[r,s,c,k]",
                                 {"h": 14, "w": 10, "k": 24, "c": 72, "r": 3, "s": 3}),
    "all parts": (
        "e[i,k] = exp(a[95-i,k]) + a[i,k]; d[k,j] = abs(b[k,j]); y[i,j] = sum[k] e[i,k] * d[k,j];"
        "z[i,j] = relu(y[i,j] + v[j]); m[i] = max[j] z[i,j] * r[i,j]",
        {"i": 96, "j": 72, "k": 320},
    ),
}  # fmt: skip


@pytest.mark.exhaustive
@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("name", SAVED)
def test_a_saved_program_is_one_function(name, threads, tmp_path):
    """A C program calls it with raw weights; it gives the same bits."""
    text, extents = SAVED[name]
    outputs = ("z", "m") if name == "all parts" else ()
    kernel = search.generate_program(text, outputs=outputs, threads=threads, isa="portable", **extents)
    paths = kernel.save(tmp_path, "whole")
    assert "Returns 0. */" in (tmp_path / "whole.h").read_text(), "nothing of it is an index"
    assert {"whole.c", "whole.h", "whole.so", "whole_product.c"} <= {path.name for path in paths}
    ffi = cffi.FFI()
    arrays = ["const void *"] * len(kernel.inputs) + ["void *"] * len(kernel.outputs)
    ffi.cdef(f"int whole({', '.join(arrays)}); int whole_supported(void);")
    library = ffi.dlopen(str(tmp_path / "whole.so"), os.RTLD_NODELETE)
    inputs = [array.astype(np.float32) for array in inputs_of(kernel, 3)]
    found = kernel.empty()
    assert library.whole_supported()
    assert library.whole(*(ffi.from_buffer(array) for array in (*inputs, *found))) == 0
    wanted = kernel(*inputs)
    for array, y in zip(kernel.outputs, found):
        np.testing.assert_array_equal(y, wanted[array.name] if outputs else wanted)


@pytest.mark.slow
def test_the_parts_of_a_saved_program_compile_without_warnings(tmp_path):
    text, extents = SAVED["all parts"]
    search.generate_program(text, threads=2, **extents).save(tmp_path, "whole")
    for path in tmp_path.glob("whole*.c"):
        isa = best_isa(host().flags)
        flags = [*isa.compiler_flags, "-Wall", "-Wextra", "-Werror", "-Wno-psabi", "-Wno-unused-function", "-fopenmp"]
        subprocess.run([find_compiler().path, *flags, "-c", path, "-o", tmp_path / "part.o"], check=True)
    before = (tmp_path / "whole.so").read_bytes()
    told = subprocess.run(["make"], cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    assert [told.count("compile"), told.count("link whole.so")] == [4, 1]
    assert (tmp_path / "whole.so").read_bytes() != before


def test_a_saved_name_is_no_word_of_c(kernel, tmp_path):
    with pytest.raises(ExportError, match="cannot be the name of a C function"):
        kernel.save(tmp_path, "int")


def test_computed_weights_are_not_packed_ahead():
    text = "e[k,j] = relu(b[k,j]); d[i,k] = relu(a[i,k]); y[i,j] = sum[k] d[i,k] * e[k,j]"
    kernel = search.generate_program(text, i=128, j=64, k=288, isa="portable")
    with pytest.raises(ArgumentError, match="e, which is packed, is no input"):
        kernel.pack(np.ones((288, 64), np.float32))
    assert same(kernel, inputs_of(kernel))


def test_weights_that_are_read_elsewhere_are_not_packed_ahead(kernel):
    twice = search.generate_program("y[i,j] = sum[k] a[i,k] * a[j,k]", i=160, j=160, k=160, isa="portable")
    for call in (twice.pack, lambda _: twice(kernel.pack(inputs_of(kernel)[1]))):
        with pytest.raises(ArgumentError, match="a is read elsewhere in the program too"):
            call(np.ones((160, 160), np.float32))
    assert same(twice, inputs_of(twice))


def test_a_product_with_a_runtime_extent_goes_by_rules():
    """A scheme is for one extent."""
    text = "y[i,j] = sum[c] x[i,c] * w[j,c]; z[i,j] = relu(y[i,j] + b[j])"
    kernel = search.generate_program(text, i="<=128", j=256, c=512)
    assert not isinstance(kernel, AnchoredKernel)
    rng = np.random.default_rng(0)
    for rows in (1, 77, 128):
        x, w, b = (rng.integers(-3, 4, shape).astype(np.float32) for shape in ((rows, 512), (256, 512), (256,)))
        assert kernel(x, w, b).tolist() == np.maximum(x @ w.T + b, 0).tolist()
