"""Whole models against onnx's own reference, exactly: small whole numbers in f32."""

import subprocess
import sys
import threading

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from cpu.runtime.compiler.toolchain import compile_shared
from graph import ModelError, compile_model, load_model
from graph.onnx.read import read
from graph.passes.fuse import fused_maps
from graph.plan import Plan
from tests.support.models.onnx_models import model, residual_network, whole
from tests.support.models.saved import UNUSED

node = helper.make_node
# Before each C text: a program that keeps memory or a map until its end fails.
LENT = """
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
static int lent;
static void *lending(void *memory) { lent += memory && memory != MAP_FAILED; return memory; }
#define aligned_alloc(line, bytes) lending(aligned_alloc(line, bytes))
#define mmap(...) lending(mmap(__VA_ARGS__))
#define free(memory) (--lent, free(memory))
#define munmap(memory, bytes) (--lent, munmap(memory, bytes))
__attribute__((destructor)) static void ended(void) { if (lent) _exit(9); }
"""


@pytest.fixture(scope="module")
def network():
    return compile_model(residual_network(), dims={"batch": 2}, name="net")


@pytest.mark.slow
def test_a_residual_network_is_exact(network):
    x = whole(0, 2, 3, 16, 16)
    (wanted,) = ReferenceEvaluator(residual_network()).run(None, {"x": x})
    (y,) = network(x)
    assert y.tolist() == wanted.tolist()
    assert network.run({"x": x})["y"].tolist() == wanted.tolist()


def test_maps_after_products_are_their_epilogues():
    steps = fused_maps(read(residual_network(), {"batch": 2})).steps
    assert [step.node for step in steps] == [
        "first, second",
        "third, norm, residual, fourth",
        "fifth",
        "pool",
        "average",
        "last",
    ]
    assert "".join(str(steps[1].work.epilogue).split()) == "relu(y*e0[k]+e1[k]+e2[n,k,h,w])"
    assert [step.unfused for step in steps] == [
        "2 steps read its output",
        "a product reads its output",
        "node pool (MaxPool) is no map",
        "",
        "",
        "its output is one of the model's",
    ]


def test_what_another_model_has_compiled_is_not_compiled_again(network, monkeypatch):
    monkeypatch.setattr("cpu.runtime.compiler.library.compile_shared", None)
    linked = []
    monkeypatch.setattr(
        "graph.library.build.compile_shared", lambda *given: linked.append(given) or compile_shared(*given)
    )
    again = compile_model(residual_network(), dims={"batch": 2}, name="again")
    x = whole(2, 2, 3, 16, 16)
    assert again(x)[0].tolist() == network(x)[0].tolist() and len(linked) == 1


def test_arrays_whose_times_do_not_meet_share_memory(network):
    assert network.arena_least <= network.arena_bytes <= 1.1 * network.arena_least
    together = sum(np.prod(s) * 4 for s in ((2, 16, 8, 8), (2, 16, 8, 8), (2, 16, 8, 8), (2, 16, 4, 4), (2, 16)))
    assert network.arena_bytes < together


def test_a_timed_call_gives_the_same_numbers_and_the_time_of_each_step(network):
    x = whole(1, 2, 3, 16, 16)
    out = network.empty()
    seconds = network.times(x, out=out)
    assert seconds.shape == (len(network.explained),) and (seconds > 0).all()
    assert out[0].tolist() == network(x)[0].tolist()


@pytest.mark.slow
def test_the_folder_builds_without_python_and_loads_again(network, tmp_path):
    paths = network.save(tmp_path)
    assert {path.name for path in paths} >= {"net.c", "net.h", "net.so", "net.bin", "example.c", "Makefile"}
    x = whole(1, 2, 3, 16, 16)
    assert load_model(tmp_path)(x)[0].tolist() == network(x)[0].tolist()
    subprocess.run(["make", "-s"], cwd=tmp_path, check=True, capture_output=True)
    given = (np.arange(2 * 3 * 16 * 16) % 5 - 2).astype(np.float32).reshape(2, 3, 16, 16)
    wanted = network(given)[0].ravel().astype(np.float64)
    shown = subprocess.run(["./example"], cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    first, _, checksum = shown.removeprefix("output_0 = ").partition(" ..., checksum ")
    assert [float(each) for each in first.split()] == pytest.approx(wanted[:4].tolist(), rel=1e-5)
    assert float(checksum) == pytest.approx(float(wanted @ (np.arange(wanted.size) % 3 + 1)), rel=1e-5)
    assert float(checksum) != 0 and np.ptp(wanted) > 0
    (tmp_path / "lent.h").write_text(LENT)
    flags = " ".join(("-O2", "-Wall", "-Wextra", "-Werror", *UNUSED, "-include lent.h"))
    made = ["make", "clean", "all", f"CFLAGS={flags}"]
    told = subprocess.run(made, cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    assert subprocess.run(["./example"], cwd=tmp_path, check=True, capture_output=True, text=True).stdout == shown
    assert "compile net.c" in told and "link net.so" in told
    compiling = [line for line in told.splitlines() if not line.startswith("rm ")]
    assert max(map(len, compiling)) < 120 and len(compiling) == len(set(compiling))
    (tmp_path / "net.bin").write_bytes(b"short")
    with pytest.raises(ModelError, match=r"net.bin has 5 bytes, and the model has \d+"):
        load_model(tmp_path)


def test_a_saved_model_loads_without_what_compiles(network, tmp_path):
    """So its first inference does not wait for packages that it does not need."""
    network.save(tmp_path)
    code = (
        "import sys, numpy; before = {*sys.modules}; from graph import load_model\n"
        f"load_model({str(tmp_path)!r})(numpy.zeros((2, 3, 16, 16), numpy.float32))\n"
        "print(*sorted({*sys.modules} - before))"
    )
    loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split()
    assert "graph" in loaded
    heavy = {"cffi", "jinja2", "microkernels", "onnx", "pycparser", "rich", "scipy", "search", "sqlite3"}
    assert heavy.isdisjoint(name.partition(".")[0] for name in loaded)
    # It needs to know what an array's elements are, and nothing else of the language.
    of_language = {name for name in loaded if name.partition(".")[0] == "tiling"}
    assert of_language <= {"tiling", "tiling.dtypes", "tiling.dtypes.formats"}


def test_calls_of_several_threads_have_arenas_of_their_own(network):
    inputs = [whole(seed, 2, 3, 16, 16) for seed in range(4)]
    wanted = [network(x)[0].tolist() for x in inputs]
    found = [[] for _ in inputs]

    def call(place):
        for _ in range(20):
            found[place].append(network(inputs[place])[0].tolist())

    threads = [threading.Thread(target=call, args=(place,)) for place in range(len(inputs))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(each == wanted[place] for place, calls in enumerate(found) for each in calls)


def test_maps_join_the_program_that_reads_them():
    """GELU as exporters write it, before a sum of rows; the one that two steps read stays by itself."""
    half, root = np.float32(0.5), np.float32(2)
    nodes = [
        node("Div", ["x", "root"], ["a"], "div"),
        node("Abs", ["a"], ["b"], "abs"),
        node("Mul", ["x", "b"], ["c"], "mul"),
        node("Mul", ["c", "half"], ["d"], "halve"),
        node("ReduceSum", ["d", "axis"], ["e"], "sum", keepdims=1),
        node("Sub", ["d", "e"], ["y"], "sub"),
    ]
    constants = {"half": half, "root": root, "axis": np.array([1])}
    proto = model(nodes, {"x": [6, 8]}, ["y"], constants)
    compiled = compile_model(proto)
    assert [each.node for each in compiled.explained] == ["div, abs, mul, halve", "sum", "sub"]
    x = whole(0, 6, 8)
    (wanted,) = ReferenceEvaluator(proto).run(None, {"x": x})
    assert compiled(x)[0].tolist() == wanted.tolist()


@pytest.mark.parametrize("threads", [1, 2])
def test_products_of_two_computed_factors_are_packed_in_the_call(threads):
    nodes = [
        node("Transpose", ["a"], ["t"], "turn", perm=[0, 2, 1]),
        node("MatMul", ["a", "t"], ["p"], "scores"),
        node("Add", ["p", "p"], ["y"], "twice"),
    ]
    proto = model(nodes, {"a": [3, 8, 5]}, ["y"])
    a = whole(0, 3, 8, 5)
    assert compile_model(proto, threads=threads)(a)[0].tolist() == (2 * a @ a.transpose(0, 2, 1)).tolist()


def test_outputs_may_be_inputs_constants_and_each_other():
    constants = {"k": whole(3, 4)}
    nodes = [
        node("Neg", ["x"], ["y"], "negative"),
        node("Identity", ["y"], ["z"], "same"),
        node("Abs", ["k"], ["c"], "known"),
    ]
    compiled = compile_model(model(nodes, {"x": [4]}, ["y", "z", "x", "c"], constants))
    x = whole(0, 4)
    assert [y.tolist() for y in compiled(x)] == [
        (-x).tolist(),
        (-x).tolist(),
        x.tolist(),
        np.abs(constants["k"]).tolist(),
    ]


def test_shapes_that_the_model_computes_itself_are_known_now():
    nodes = [
        node("Shape", ["x"], ["s"], "shape"),
        node("Slice", ["s", "zero", "one"], ["n"], "batch"),
        node("Concat", ["n", "minus"], ["wanted"], "join", axis=0),
        node("Reshape", ["x", "wanted"], ["flat"], "flat"),
        node("Relu", ["flat"], ["y"], "relu"),
    ]
    constants = {name: np.array([value]) for name, value in (("zero", 0), ("one", 1), ("minus", -1))}
    compiled = compile_model(model(nodes, {"x": ["n", 2, 3]}, ["y"], constants), dims={"n": 4})
    x = whole(0, 4, 2, 3)
    assert compiled(x)[0].tolist() == np.maximum(x, 0).reshape(4, 6).tolist()
    assert len(compiled.explained) == 1


def test_known_inputs_decide_shapes():
    proto = model([node("ReduceSum", ["x", "axes"], ["y"], "sum", keepdims=0)], {"x": [3, 4]}, ["y"])
    proto.graph.input.append(helper.make_tensor_value_info("axes", TensorProto.INT64, [1]))
    why = (
        r"node sum \(ReduceSum\): the axes \(input 1\) are computed when the model runs, and must be constant; where "
        r"axes is the same at every call, bind it: known=\{'axes': …\}, or --known axes=…"
    )
    with pytest.raises(ModelError, match=why):
        compile_model(proto)
    x = whole(0, 3, 4)
    for axes in (1, [1], (1,)):  # numbers of Python take the input's dtype and axes
        assert compile_model(proto, known={"axes": axes})(x)[0].tolist() == x.sum(1).tolist()
    for axes in (1.5, [[1]], "1", [1, None], 2**70, float("nan"), float("inf")):
        with pytest.raises(ModelError, match=r"known: axes|input axes has 1 axes by the file"):
            compile_model(proto, known={"axes": axes})
    assert compile_model(proto, known={"axes": np.array([1])})(x)[0].tolist() == x.sum(1).tolist()


def test_an_error_names_the_inputs_that_decide_what_must_be_known():
    nodes = [node("Cast", ["count"], ["c"], "cast", to=TensorProto.INT64), node("Range", ["z", "c", "one"], ["r"], "r")]
    nodes += [node("Cast", ["r"], ["f"], to=TensorProto.FLOAT), node("Add", ["x", "f"], ["y"])]
    proto = model(nodes, {"x": [3], "count": []}, ["y"], {"z": np.array(0), "one": np.array(1)})
    with pytest.raises(ModelError, match=r"node r \(Range\): how many .*; where count is the same at every call, bind"):
        compile_model(proto)
    x = whole(0, 3)
    assert compile_model(proto, known={"count": 3})(x)[0].tolist() == (x + np.arange(3)).tolist()


@pytest.mark.parametrize(
    ("nodes", "why"),
    [
        ([node("NonZero", ["x"], ["y"], "which")], r"node which \(NonZero\): how many elements it gives depends on"),
        (
            [node("Frob", ["x"], ["y"], "odd", domain="mine")],
            r"node odd \(mine\.Frob\): no operator of mine",
        ),
        ([node("Relu", ["nothing"], ["y"], "r")], r"node r \(Relu\) reads nothing, which nothing computes"),
        ([node("Relu", ["x"], ["other"], "r")], "output y is computed by no node"),
        ([node("Concat", ["x"], ["y"], "c", axis=7)], r"node c \(Concat\): there is no axis 7 of 2"),
        ([node("MatMul", ["x", "x"], ["y"], "m")], r"node m \(MatMul\): shapes \(2, 3\) and \(2, 3\) are no factors"),
    ],
)
def test_what_is_not_covered_is_one_sentence(nodes, why):
    proto = model(nodes, {"x": [2, 3]}, ["y"], {"k": np.array([1])})
    with pytest.raises(ModelError, match=why):
        compile_model(proto)


@pytest.mark.parametrize("file", ["net.so", "net.bin", "model.json"])
def test_a_damaged_folder_is_one_sentence(network, tmp_path, file):
    network.save(tmp_path)
    path = tmp_path / file
    path.write_bytes(b"{}" if file == "model.json" else path.read_bytes()[: path.stat().st_size // 2])
    with pytest.raises(ModelError, match=r"holds no saved model|holds a damaged model|net\.bin has"):
        load_model(tmp_path)


def test_a_number_that_is_handed_over_for_an_output_stays_a_number():
    given = model([node("ReduceSum", ["x"], ["y"], "sum", keepdims=0)], {"x": [3, 4]}, ["y"])
    out = [np.empty((), np.float32)]
    x = whole(0, 3, 4)
    (y,) = compile_model(given)(x, out=out)
    assert y is out[0] and y.shape == () and y == x.sum()


def test_open_dims_and_wrong_arrays_are_one_sentence(network):
    with pytest.raises(ModelError, match=r"input x: axis 0 is open; give its extent, dims=\{'batch': 1\}"):
        Plan(residual_network()).compiled({})
    with pytest.raises(ModelError, match="no open dim 'rows': it has batch"):
        compile_model(residual_network(), dims={"rows": 1})
    with pytest.raises(ModelError, match=r"x has shape \(1, .*, and the model was compiled for \(2, 3, 16, 16\)"):
        network(np.zeros((1, 3, 16, 16), np.float32))
    with pytest.raises(ModelError, match="x is float64, and the model takes float32"):
        network(np.zeros((2, 3, 16, 16)))
    with pytest.raises(ModelError, match="2 arrays are given for 1 input: x"):
        network(1, 2)
    with pytest.raises(ModelError, match="there is no input 'z'"):
        network({"z": 1})


def test_a_folder_in_place_of_a_file_is_told_what_calls_it(network, tmp_path, capsys):
    from graph.compile import main as compile_main

    network.save(tmp_path)
    assert compile_main([str(tmp_path)]) == 2
    assert (
        "is a compiled model already: python -m graph.run calls it, and load_model loads it" in capsys.readouterr().err
    )
    (tmp_path / "empty").mkdir()
    assert compile_main([str(tmp_path / "empty")]) == 2
    assert "empty is a folder: give the path of an ONNX file" in capsys.readouterr().err


def test_arrays_that_a_product_would_read_beyond_are_refused():
    proto = model([node("Conv", ["x", "k", "b"], ["y"], "c")], {"x": [1, 1, 3, 3]}, ["y"])
    proto.graph.initializer.extend(
        [numpy_helper.from_array(whole(0, 64, 1, 3, 3), "k"), numpy_helper.from_array(whole(1, 2), "b")]
    )
    with pytest.raises(ModelError, match=r"node c \(Conv\): input 2 has shape \(2,\), and 64 are needed"):
        compile_model(proto)


def test_numbers_between_maps_are_rounded_to_their_dtype():
    nodes = [node("Add", ["x", "x"], ["a"], "add"), node("Cast", ["a"], ["y"], "cast", to=TensorProto.INT32)]
    proto = model(nodes, {"x": [3]}, ["y"])
    proto.graph.input[0].type.tensor_type.elem_type = TensorProto.UINT8
    assert compile_model(proto)(np.array([200, 100, 255], np.uint8))[0].tolist() == [144, 200, 254]


def test_names_of_a_model_do_not_meet_ours():
    constants = {name: np.ones(4, np.float32) for name in ("s", "v")} | {"o": whole(5, 4), "n.g": whole(6, 4)}
    nodes = [
        node("BatchNormalization", ["x", "s", "o", "o", "v"], ["n"], "norm", epsilon=0.0),
        node("Mul", ["n", "n.g"], ["y"], "mul"),
    ]
    proto = model(nodes, {"x": [3, 4]}, ["y"], constants)
    x = whole(0, 3, 4)
    assert compile_model(proto)(x)[0].tolist() == (x * constants["n.g"]).tolist()


def test_powers_of_whole_numbers_are_exact():
    proto = model([node("Pow", ["x", "e"], ["y"], "power")], {"x": [2]}, ["y"], {"e": np.array([16, 17], np.int32)})
    proto.graph.input[0].type.tensor_type.elem_type = TensorProto.INT32
    assert compile_model(proto)(np.array([3, 3], np.int32))[0].tolist() == [3**16, 3**17]


def test_a_known_number_that_is_too_large_for_its_dtype_is_refused():
    proto = model([node("Add", ["x", "c"], ["y"], "add")], {"x": [3], "c": [1]}, ["y"])
    with pytest.raises(ModelError, match=r"known: c=1e\+40 is not made of f32"):
        compile_model(proto, known={"c": 1e40})
    assert compile_model(proto, known={"c": float("inf")})(whole(0, 3))[0].tolist() == [np.inf] * 3
