"""Branches and loops, exactly: small whole numbers in f32. onnx's reference computes no rows of a Loop, NumPy does."""

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from graph import ModelError, compile_model
from tests.support.models.onnx_models import model, whole

node = helper.make_node
F32, S64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL


def value(name, kind=F32, shape=None):
    return helper.make_tensor_value_info(name, kind, shape)


def body(nodes, inputs, outputs, constants=None):
    """A graph of a branch or a loop. inputs: (name, kind, shape). outputs: names."""
    known = [numpy_helper.from_array(numbers, name) for name, numbers in (constants or {}).items()]
    return helper.make_graph(nodes, "body", [value(*each) for each in inputs], [value(name) for name in outputs], known)


def with_inputs(proto, *more):
    """The model with further inputs."""
    proto.graph.input.extend(value(*each) for each in more)
    return proto


def same(proto, inputs, wanted=None, **how):
    """The compiled model, which gives what is wanted, twice; by default what onnx's reference gives."""
    compiled = compile_model(proto, **how)
    wanted = ReferenceEvaluator(proto).run(None, inputs) if wanted is None else wanted
    given = [inputs[array.name] for array in compiled.inputs]
    found = compiled(*given)
    again = compiled(*given)
    for one, two, expected in zip(found, again, wanted, strict=True):
        assert one.tolist() == np.asarray(expected).tolist() == two.tolist()
        assert one.shape == np.asarray(expected).shape
    return compiled


def branches():
    """Both branches have weights, arrays in between, and read what stands around them."""
    constants = {"w": whole(1, 6, 6)}
    then = body(
        [node("MatMul", ["a", "w"], ["p"], "p"), node("Add", ["p", "x"], ["q"], "q"), node("Relu", ["q"], ["r"], "r")],
        [],
        ["r", "p"],
    )
    otherwise = body(
        [node("MatMul", ["a", "v"], ["p"], "p"), node("Abs", ["p"], ["q"], "q")], [], ["q", "x"], {"v": whole(2, 6, 6)}
    )
    nodes = [
        node("Add", ["x", "x"], ["a"], "twice"),
        node("If", ["c"], ["b", "d"], "choose", then_branch=then, else_branch=otherwise),
        node("Sub", ["b", "a"], ["y"], "sub"),
    ]
    return with_inputs(model(nodes, {"x": [5, 6]}, ["y", "d"], constants), ("c", BOOL, []))


@pytest.mark.slow
@pytest.mark.exhaustive
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("condition", [True, False])
def test_a_branch_is_taken_in_c(condition, threads):
    compiled = same(branches(), {"x": whole(0, 5, 6), "c": np.array(condition)}, threads=threads)
    assert compiled.source.count("if (*(const") == 1


@pytest.mark.parametrize("condition", [True, False])
def test_a_branch_whose_condition_is_known_is_its_nodes_alone(condition):
    compiled = same(branches(), {"x": whole(0, 5, 6), "c": np.array(condition)}, known={"c": np.array(condition)})
    assert "if (*(const" not in compiled.source and len(compiled.explained) == (3 if condition else 2)


def test_branches_of_different_shapes_are_refused():
    then = body([node("Relu", ["x"], ["t"], "t")], [], ["t"])
    otherwise = body([node("ReduceMax", ["x"], ["t"], "m")], [], ["t"])
    nodes = [node("If", ["c"], ["y"], "choose", then_branch=then, else_branch=otherwise)]
    proto = with_inputs(model(nodes, {"x": [5, 6]}, ["y"]), ("c", BOOL, []))
    with pytest.raises(ModelError, match=r"node choose \(If\): its output 0 is f32\[5, 6\] or f32\[1, 1\]"):
        compile_model(proto)


def looped(ended=None, **more):
    """s = relu(s @ w + x), and its sums, for each turn; i counts."""
    nodes = [
        node("MatMul", ["s", "w"], ["p"], "p"),
        node("Add", ["p", "x"], ["q"], "q"),
        node("Clip", ["q", "low", "high"], ["t"], "t"),
        node("Cast", ["i"], ["f"], "f", to=F32),
        node("Mul", ["t", "f"], ["u"], "u"),
        node("Add", ["k", "one"], ["m"], "m"),
        *(ended or [node("Identity", ["c"], ["d"], "d")]),
    ]
    inside = [("i", S64, []), ("c", BOOL, []), ("s", F32, [4, 6]), ("k", S64, [])]
    constants = {"low": np.float32(-9), "high": np.float32(9), "one": np.array(1, np.int64)}
    outputs = ["d", "t", "m", *(["u"] if more.get("stacked", True) else [])]
    loop = body(nodes, inside, outputs, constants)
    results = ["last", "count", *(["y"] if more.get("stacked", True) else [])]
    whole_ = [
        node("Neg", ["x"], ["first"], "neg"),
        node("Loop", [more.get("limit", "n"), more.get("start", "go"), "first", "zero"], results, "loop", body=loop),
        node("Add", ["last", "first"], ["z"], "z"),
    ]
    known = {"w": whole(1, 6, 6), "zero": np.array(0, np.int64), "go": np.array(True), "n": np.array(5, np.int64)}
    known = {name: numbers for name, numbers in known.items() if name not in more.get("open", ())}
    proto = model(whole_, {"x": [4, 6]}, ["z", "count", *results[2:]], known)
    proto.graph.output[1].type.tensor_type.elem_type = S64
    return proto


@pytest.mark.slow
@pytest.mark.parametrize("threads", [1, 2])
def test_a_loop_of_known_turns(threads):
    x, w = whole(0, 4, 6), whole(1, 6, 6)
    s, rows = -x, []
    for turn in range(5):
        s = np.clip(s @ w + x, -9, 9)
        rows.append(s * turn)
    compiled = same(looped(), {"x": x}, [s - x, np.array(5), np.stack(rows)], threads=threads)
    assert compiled.source.count("for (int64_t iteration_") == 1 and "< 5;" in compiled.source


def test_the_number_of_turns_may_be_an_input():
    proto = with_inputs(looped(open=("n",), stacked=False), ("n", S64, []))
    compiled = compile_model(proto)
    x = whole(0, 4, 6)
    for turns in (0, 1, 7):
        inputs = {"x": x, "n": np.array(turns, np.int64)}
        wanted = ReferenceEvaluator(proto).run(None, inputs)
        assert [y.tolist() for y in compiled(inputs)] == [y.tolist() for y in wanted]


def test_a_condition_ends_a_loop():
    ended = [
        node("ReduceMax", ["t"], ["most"], "most", keepdims=0),
        node("Less", ["most", "nine"], ["d0"], "less"),
        node("Less", ["k", "three"], ["d1"], "fewer"),
        node("And", ["d0", "d1"], ["d"], "and"),
    ]
    proto = looped(ended, stacked=False, limit="", start="go", open=("n", "go"))
    for name, numbers in (("nine", np.float32(9)), ("three", np.array(3, np.int64))):
        proto.graph.initializer.append(numpy_helper.from_array(numbers, name))
    proto = with_inputs(proto, ("go", BOOL, []))
    compiled = compile_model(proto)
    for seed in range(3):
        for go in (True, False):
            x = whole(seed, 4, 6, most=1)
            (loop,) = (each for each in proto.graph.node if each.op_type == "Loop")
            assert loop.input[0] == ""
            s, k, going = -x, 0, go
            while going:
                s = np.clip(s @ numpy_helper.to_array(proto.graph.initializer[0]) + x, -9, 9)
                going, k = s.max() < 9 and k < 3, k + 1
            z, count = compiled({"x": x, "go": np.array(go)})
            assert z.tolist() == (s - x).tolist() and count.item() == k


def test_a_row_for_each_of_an_unknown_number_of_turns_is_refused():
    proto = with_inputs(looped(open=("n",)), ("n", S64, []))
    with pytest.raises(ModelError, match=r"node loop \(Loop\): how many iterations it makes is computed in the call"):
        compile_model(proto)


def test_states_may_change_places():
    x, v = whole(0, 3), whole(1, 3)
    nodes = [node("Add", ["a", "b"], ["e"], "e")]
    loop = body(nodes, [("i", S64, []), ("c", BOOL, []), ("a", F32, [3]), ("b", F32, [3])], ["c", "b", "e", "a"])
    proto = model(
        [node("Loop", ["n", "", "x", "v"], ["p", "q", "all"], "l", body=loop)],
        {"x": [3], "v": [3]},
        ["p", "q", "all"],
        {"n": np.array(9, np.int64)},
    )
    a, b, rows = x, v, []
    for _ in range(9):
        a, b, rows = b, a + b, [*rows, a]
    same(proto, {"x": x, "v": v}, [a, b, np.stack(rows)])


def test_a_loop_whose_shapes_grow_is_written_out():
    nodes = [node("Concat", ["s", "x"], ["t"], "t", axis=0)]
    loop = body(nodes, [("i", S64, []), ("c", BOOL, []), ("s", F32, None)], ["c", "t"])
    proto = model(
        [node("Loop", ["n", "", "x"], ["y"], "l", body=loop)], {"x": [2, 3]}, ["y"], {"n": np.array(4, np.int64)}
    )
    x = whole(0, 2, 3)
    compiled = same(proto, {"x": x}, [np.concatenate([x] * 5)])
    assert "for (int64_t iteration_" not in compiled.source


@pytest.mark.slow
def test_the_number_of_the_turn_may_decide_a_shape():
    nodes = [
        node("Add", ["i", "one"], ["e"], "e"),
        node("Unsqueeze", ["e", "zero"], ["end"], "u"),
        node("Slice", ["x", "zero", "end"], ["part"], "s"),
        node("ReduceSum", ["part", "zero"], ["r"], "r", keepdims=0),
    ]
    loop = body(nodes, [("i", S64, []), ("c", BOOL, [])], ["c", "r"], {"one": np.array(1), "zero": np.array([0])})
    proto = model([node("Loop", ["n", ""], ["y"], "l", body=loop)], {"x": [5, 3]}, ["y"], {"n": np.array(5, np.int64)})
    x = whole(0, 5, 3)
    same(proto, {"x": x}, [x.cumsum(0)])


@pytest.mark.slow
def test_loops_stand_in_loops_and_branches():
    inner = body(
        [
            node("Mul", ["b", "a"], ["d"], "d"),
            node("Sub", ["d", "x"], ["e"], "e"),
            node("Clip", ["e", "low", "high"], ["g"], "g"),
        ],
        [("j", S64, []), ("c2", BOOL, []), ("b", F32, [3])],
        ["c2", "g", "d"],
    )
    then = body(
        [
            node("Loop", ["n", "", "a"], ["last", "rows"], "inner", body=inner),
            node("ReduceSum", ["rows"], ["sum"], "sum", keepdims=0),
        ],
        [],
        ["last", "sum"],
    )
    otherwise = body(
        [node("Neg", ["a"], ["last"], "neg"), node("ReduceMin", ["a"], ["least"], "least", keepdims=0)],
        [],
        ["last", "least"],
    )
    nodes = [
        node("ReduceSum", ["a"], ["total"], "total", keepdims=0),
        node("Greater", ["total", "limit"], ["many"], "many"),
        node("If", ["many"], ["f", "h"], "choose", then_branch=then, else_branch=otherwise),
    ]
    outer = body(nodes, [("i", S64, []), ("c", BOOL, []), ("a", F32, [3])], ["c", "f", "h"])
    known = {"n": np.array(3, np.int64), "limit": np.float32(0), "low": np.float32(-3), "high": np.float32(3)}
    proto = model([node("Loop", ["n", "", "x"], ["p", "q"], "outer", body=outer)], {"x": [3]}, ["p", "q"], known)
    for seed in range(4):
        x = a = whole(seed, 3)
        rows = []
        for _ in range(3):
            if a.sum() > 0:
                b, products = a, []
                for _ in range(3):
                    products.append(b * a)
                    b = np.clip(products[-1] - x, -3, 3)
                a, row = b, np.sum(products)
            else:
                a, row = -a, a.min()
            rows.append(row)
        same(proto, {"x": x}, [a, np.array(rows)])


def scanned(axis=0, direction=0, out_axis=0, turns=4, known=False):
    nodes = [
        node("Add", ["s", "a"], ["t"], "t"),
        node("MatMul", ["t", "w"], ["p"], "p"),
        node("Clip", ["p", "low", "high"], ["u"], "u"),
        node("Sub", ["u", "a"], ["o"], "o"),
    ]
    shape = [2, 3]
    inside = body(nodes, [("s", F32, shape), ("a", F32, shape)], ["u", "o"])
    scan = node(
        "Scan",
        ["h", "xs"],
        ["last", "ys"],
        "scan",
        body=inside,
        num_scan_inputs=1,
        scan_input_axes=[axis],
        scan_input_directions=[direction],
        scan_output_directions=[1 - direction],
        scan_output_axes=[out_axis],
    )
    whole_shape = shape[:]
    whole_shape.insert(axis % 3, turns)
    constants = {"w": whole(1, 3, 3), "low": np.float32(-5), "high": np.float32(5)}
    if known:
        constants["xs"] = whole(3, *whole_shape)
    proto = model([scan], {"h": shape} | ({} if known else {"xs": whole_shape}), ["last", "ys"], constants)
    return proto, {"h": whole(0, *shape)} | ({} if known else {"xs": whole(2, *whole_shape)})


@pytest.mark.exhaustive
@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize(("axis", "direction", "out_axis"), [(0, 0, 0), (1, 1, 2), (-1, 1, -1), (0, 1, 1)])
def test_a_scan(axis, direction, out_axis, known):
    proto, inputs = scanned(axis, direction, out_axis, known=known)
    compiled = same(proto, inputs, scan_of(proto, inputs, axis, direction, out_axis))
    assert compiled.source.count("for (int64_t iteration_") == 1


def scan_of(proto, inputs, axis, direction, out_axis):
    constants = {each.name: numpy_helper.to_array(each) for each in proto.graph.initializer}
    h = inputs["h"]
    xs = np.moveaxis((inputs | constants)["xs"], axis, 0)
    rows = []
    for x in xs[::-1] if direction else xs:
        u = np.clip((h + x) @ constants["w"], -5, 5)
        rows.append(u - x)
        h = u
    return [h, np.moveaxis(np.stack(rows if direction else rows[::-1]), 0, out_axis)]


def test_a_scan_of_one_turn_is_its_nodes_alone():
    proto, inputs = scanned(turns=1)
    assert "for (int64_t iteration_" not in same(proto, inputs, scan_of(proto, inputs, 0, 0, 0)).source


@pytest.mark.slow
@pytest.mark.parametrize("directions", [[0, 0], [0, 1]])
def test_a_scan_of_version_8_is_one_for_each_image(directions):
    """s = s + x * z of each row; its rows are outputs."""
    nodes = [node("Mul", ["a", "b"], ["p"], "p"), node("Add", ["s", "p"], ["t"], "t"), node("Neg", ["t"], ["r"], "r")]
    turn = body(nodes, [("s", F32, [4]), ("a", F32, [4]), ("b", F32, [4])], ["t", "r"])
    scan = node(
        "Scan", ["", "s0", "x", "z"], ["last", "y"], "scan", body=turn, num_scan_inputs=2, directions=directions
    )
    proto = model([scan], {"s0": [2, 4], "x": [2, 3, 4], "z": [2, 3, 4]}, ["last", "y"], opset=8)
    s0, x, z = whole(0, 2, 4), whole(1, 2, 3, 4), whole(2, 2, 3, 4)
    sums = s0[:, None] + np.cumsum(x * (z[:, ::-1] if directions[1] else z), 1)
    same(proto, {"s0": s0, "x": x, "z": z}, [sums[:, -1], -sums])
    proto.graph.node[0].input[0] = "n"
    with pytest.raises(ModelError, match=r"node scan \(Scan\): a Scan of version 8 with lengths of sequences"):
        compile_model(with_inputs(proto, ("n", S64, [2])))


def test_a_loop_that_will_not_do_leaves_nothing_behind():
    """The second state grows, which is found out when the first has its memory already."""
    nodes = [
        node("Add", ["s", "x"], ["t"], "t"),
        node("Concat", ["g", "x"], ["h"], "h", axis=0),
        node("Identity", ["c"], ["d"], "d"),
    ]
    inside = [("i", S64, []), ("c", BOOL, []), ("s", F32, [2, 3]), ("g", F32, None)]
    loop = node("Loop", ["n", "", "x", "x"], ["y", "z"], "loop", body=body(nodes, inside, ["d", "t", "h"]))
    proto = model([loop], {"x": [2, 3]}, ["y", "z"], {"n": np.array(3, np.int64)})
    x = whole(0, 2, 3)
    compiled = same(proto, {"x": x}, [4 * x, np.tile(x, (4, 1))])
    assert "for (int64_t iteration" not in compiled.source
