"""Sequences and optionals, exactly: small whole numbers in f32, beside what Python's lists and NumPy give."""

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from graph import ModelError, compile_model
from tests.support.models.onnx_models import model, whole

node = helper.make_node
F32, S64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL


def sequence(name, shape=None):
    """A value that is a sequence of f32."""
    return helper.make_value_info(name, helper.make_sequence_type_proto(helper.make_tensor_type_proto(F32, shape)))


def optional(name, kind):
    return helper.make_value_info(name, helper.make_optional_type_proto(kind))


def graph(nodes, inputs, outputs, constants=None):
    """A graph inside a node. inputs: values."""
    known = [numpy_helper.from_array(numbers, name) for name, numbers in (constants or {}).items()]
    return helper.make_graph(
        nodes, "inside", inputs, [helper.make_tensor_value_info(o, F32, None) for o in outputs], known
    )


def known(**numbers):
    return {name: np.array(number, np.int64) for name, number in numbers.items()}


def test_elements_are_computed_in_the_call_and_places_are_known():
    """What is inserted, taken and erased, as Python's list has it."""
    nodes = [
        node("Neg", ["x"], ["a"]),
        node("Relu", ["x"], ["b"]),
        node("SequenceConstruct", ["a", "b"], ["s"]),
        node("SequenceInsert", ["s", "x", "one"], ["t"]),
        node("SequenceInsert", ["t", "b", "before_last"], ["u"]),
        node("SequenceErase", ["u", "zero"], ["v"]),
        node("SequenceErase", ["v"], ["w"]),
        node("SequenceLength", ["w"], ["n"]),
        node("SequenceAt", ["w", "last"], ["e"]),
        node("ConcatFromSequence", ["u"], ["y"], axis=1),
        node("ConcatFromSequence", ["w"], ["z"], axis=-1, new_axis=1),
    ]
    made = model(nodes, {"x": [3, 4]}, ["y", "z", "e", "n"], known(one=1, before_last=-1, zero=0, last=-1))
    x = whole(0, 3, 4)
    a, b = -x, np.maximum(x, 0)
    u = [a, x, b]
    u.insert(-1, b)
    w = u[1:-1]
    y, z, e, n = compile_model(made)(x)
    assert y.tolist() == np.concatenate(u, 1).tolist() and z.tolist() == np.stack(w, -1).tolist()
    assert e.tolist() == w[-1].tolist() and n == len(w)


@pytest.mark.parametrize(
    ("axis", "split", "keep", "wanted"),
    [
        (0, None, 0, lambda x: list(x)),
        (1, None, 1, lambda x: np.split(x, 5, 1)),
        (1, 2, 1, lambda x: np.split(x, [2, 4], 1)),
        (-1, [1, 4], 0, lambda x: np.split(x, [1], 1)),
    ],
)
def test_a_tensor_is_split_and_a_sequence_is_an_output(axis, split, keep, wanted):
    inputs = ["a"] + ([] if split is None else ["split"])
    nodes = [node("Neg", ["x"], ["a"]), node("SplitToSequence", inputs, ["y"], axis=axis, keepdims=keep)]
    made = model(nodes, {"x": [3, 5]}, ["y"], {} if split is None else known(split=split))
    made.graph.output[0].CopyFrom(sequence("y"))
    x = whole(1, 3, 5)
    compiled = compile_model(made)
    expected = wanted(-x)
    assert [array.name for array in compiled.outputs] == [f"y[{place}]" for place in range(len(expected))]
    for one, two in zip(compiled(x), expected, strict=True):
        assert one.tolist() == two.tolist()


def test_a_sequence_is_as_many_inputs_as_it_has_elements():
    nodes = [node("SequenceAt", ["s", "last"], ["a"]), node("Add", ["a", "x"], ["y"])]
    made = model(nodes, {"x": [2, 3]}, ["y"], known(last=-1))
    made.graph.input.append(sequence("s"))
    x, parts = whole(0, 2, 3), [whole(1, 5), whole(2, 2, 3)]
    with pytest.raises(ModelError, match=r"input s is a sequence: say how many elements it has, dims=\{'s': 2\}"):
        compile_model(made)
    compiled = compile_model(made, dims={"s": 2, "s[0]": (5,), "s[1]": (2, 3)})
    (y,) = compiled({"x": x, "s[0]": parts[0], "s[1]": parts[1]})
    assert y.tolist() == (x + parts[1]).tolist()
    (y,) = compile_model(made, known={"s": parts})(x)
    assert y.tolist() == (x + parts[1]).tolist()
    with pytest.raises(ModelError, match="known: s is a sequence: give a list of arrays"):
        compile_model(made, known={"s": parts[0]})


def test_a_graph_is_mapped_over_sequences():
    body = graph(
        [node("Mul", ["a", "b"], ["p"]), node("Add", ["p", "c"], ["q"])],
        [helper.make_tensor_value_info(name, F32, None) for name in "abc"],
        ["q", "p"],
    )
    nodes = [
        node("SplitToSequence", ["x"], ["s"], axis=0),
        node("SplitToSequence", ["z"], ["t"], axis=0),
        node("SequenceMap", ["s", "t", "w"], ["u", "v"], body=body),
        node("ConcatFromSequence", ["u"], ["y"], axis=0),
        node("SequenceAt", ["v", "one"], ["e"]),
    ]
    made = model(nodes, {"x": [3, 4], "z": [3, 4]}, ["y", "e"], {"w": whole(2, 4), **known(one=1)})
    x, z = whole(0, 3, 4), whole(1, 3, 4)
    y, e = compile_model(made)(x, z)
    assert y.tolist() == (x * z + whole(2, 4)).tolist() and e.tolist() == (x * z)[1:2].tolist()


def growing(turns):
    """A loop whose state is a sequence: every turn adds a multiple of x."""
    body = graph(
        [
            node("Cast", ["i"], ["f"], to=F32),
            node("Mul", ["x", "f"], ["m"]),
            node("SequenceInsert", ["s", "m"], ["t"]),
            node("Identity", ["c"], ["d"]),
        ],
        [
            helper.make_tensor_value_info("i", S64, []),
            helper.make_tensor_value_info("c", BOOL, []),
            sequence("s"),
        ],
        ["d", "t"],
    )
    nodes = [
        node("SequenceEmpty", [], ["none"]),
        node("Loop", ["n", "", "none"], ["all"], "loop", body=body),
        node("ConcatFromSequence", ["all"], ["y"], axis=0),
    ]
    made = model(nodes, {"x": [2, 3]}, ["y"], known(n=turns) if turns else {})
    if not turns:
        made.graph.input.append(helper.make_tensor_value_info("n", S64, []))
    return made


def test_a_loop_over_a_sequence_is_written_out():
    x = whole(0, 2, 3)
    assert compile_model(growing(4))(x)[0].tolist() == np.concatenate([x * turn for turn in range(4)]).tolist()
    with pytest.raises(ModelError, match=r"node loop \(Loop\): its state s is a sequence of \[\]: .* at most 64"):
        compile_model(growing(0))


@pytest.mark.parametrize("condition", [True, False])
def test_branches_give_sequences_of_the_same_structure(condition):
    sides = [
        graph([node(kind, ["x"], ["a"]), node("SequenceConstruct", order, ["s"])], [], ["s"])
        for kind, order in (("Neg", ["a", "x"]), ("Relu", ["x", "a"]))
    ]
    nodes = [
        node("If", ["c"], ["s"], "choose", then_branch=sides[0], else_branch=sides[1]),
        node("ConcatFromSequence", ["s"], ["y"], axis=1),
    ]
    made = model(nodes, {"x": [2, 3]}, ["y"])
    made.graph.input.append(helper.make_tensor_value_info("c", BOOL, []))
    x = whole(0, 2, 3)
    compiled = compile_model(made)
    expected = [-x, x] if condition else [x, np.maximum(x, 0)]
    assert compiled(x, np.array(condition))[0].tolist() == np.concatenate(expected, 1).tolist()
    assert "if (*(const" in compiled.source


@pytest.mark.parametrize("given", [True, False])
def test_an_optional_has_an_element_or_none(given):
    tensor = helper.make_tensor_type_proto(F32, [2, 3])
    there = graph([node("OptionalGetElement", ["o"], ["e"]), node("Neg", ["e"], ["r"])], [], ["r"])
    none = graph([node("Identity", ["x"], ["r"])], [], ["r"])
    nodes = [
        node("OptionalHasElement", ["o"], ["c"]),
        node("If", ["c"], ["y"], "choose", then_branch=there, else_branch=none),
    ]
    made = model(nodes, {"x": [2, 3]}, ["y"], opset=18)
    made.graph.input.append(optional("o", tensor))
    x, element = whole(0, 2, 3), whole(1, 2, 3)
    compiled = compile_model(made, known=None if given else {"o": None})
    (y,) = compiled(x, element) if given else compiled(x)
    assert y.tolist() == (-element if given else x).tolist()
    assert "if (*(const" not in compiled.source


@pytest.mark.parametrize(
    ("nodes", "why"),
    [
        (
            [node("SequenceConstruct", ["x"], ["s"]), node("Add", ["s", "x"], ["y"], "n")],
            "input 0 is a sequence, and it",
        ),
        (
            [node("SequenceConstruct", ["x"], ["s"]), node("SequenceAt", ["s", "two"], ["y"], "n")],
            "there is no place 2",
        ),
        ([node("SequenceConstruct", ["x"], ["s"]), node("SequenceAt", ["s", "p"], ["y"], "n")], "must be constant"),
        ([node("SequenceAt", ["x", "two"], ["y"], "n")], r"input 0 is f32\[2, 3\], and must be a sequence"),
        ([node("SequenceEmpty", [], ["s"]), node("ConcatFromSequence", ["s"], ["y"], "n", axis=0)], "without elements"),
        ([node("SequenceEmpty", [], ["s"]), node("SequenceErase", ["s"], ["y"], "n")], "has none to erase"),
        ([node("SplitToSequence", ["x", "sizes"], ["y"], "n", axis=1)], r"parts of \[1, 1\] elements are not the 3"),
        (
            [
                node("Optional", [], ["o"], type=helper.make_tensor_type_proto(F32, [1])),
                node("OptionalGetElement", ["o"], ["y"], "n"),
            ],
            "the optional has no element",
        ),
    ],
)
def test_what_is_no_sequence_or_has_no_such_place_is_refused(nodes, why):
    made = model(nodes, {"x": [2, 3]}, ["y"], known(two=2, sizes=[1, 1]), opset=18)
    made.graph.input.append(helper.make_tensor_value_info("p", S64, []))
    with pytest.raises(ModelError, match=rf"node n \(\w+\): .*{why}"):
        compile_model(made)
