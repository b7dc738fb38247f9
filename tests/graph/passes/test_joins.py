"""Joined arrays are written where they belong, and hold what onnx's reference gives, exactly."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import helper
from onnx.reference import ReferenceEvaluator

from graph import compile_model, plan
from graph.library.build import fused
from graph.model.language import Copy
from graph.onnx.read import read
from graph.passes.in_place import joined_in_place
from graph.passes.joins import joins_of
from graph.passes.waits import Touch
from tests.support.models.choices import choices_with, laid_out
from tests.support.models.onnx_models import model, whole
from tiling.program.infer import sized
from tiling.program.read import read as read_program

node = helper.make_node
# Convolutions of 16 and 32 channels on 4 x 4 pixels: parts begin on cache lines.
WEIGHTS = {"v": whole(1, 16, 8, 1, 1), "w": whole(2, 32, 8, 1, 1)}
WEIGHTS |= {f"v{number}": whole(3 + number, 16, 8, 1, 1) for number in range(7)}
BRANCHES = [node("Conv", ["x", "v"], ["a"], "a"), node("Conv", ["x", "w"], ["b"], "b")]


def join(inputs, output, axis=1):
    return node("Concat", inputs, [output], output, axis=axis)


# name: nodes after the branches, outputs, shape of x, how many joins are left as programs, how many copies.
CASES = {
    "an output": ([join("ab", "y")], ["y"], (1, 8, 4, 4), 0, 0),
    "read by a product": ([join("ab", "c"), node("Conv", ["c", "u"], ["y"], "y")], ["y"], (1, 8, 4, 4), 0, 0),
    "a part that is read elsewhere too": (
        [
            join("ab", "c"),
            node("MaxPool", ["c"], ["d"], "d", kernel_shape=[2, 2]),
            node("Conv", ["c", "u"], ["f"], "f"),
            node("Neg", ["b"], ["e"], "e"),
        ],
        ["d", "e", "f"],
        (1, 8, 4, 4),
        0,
        0,
    ),
    "a join in a join": (
        [join("ab", "c"), node("Conv", ["c", "u"], ["f"], "f"), join("cx", "y")],
        ["y", "f"],
        (1, 8, 4, 4),
        0,
        1,
    ),
    "a part of a part": ([join("ab", "c"), join(["b", "x"], "d")], ["c", "d"], (1, 8, 4, 4), 1, 0),
    "the same twice": ([join("aba", "y")], ["y"], (1, 8, 4, 4), 0, 1),
    "five parts": ([join("ababa", "y")], ["y"], (1, 8, 4, 4), 0, 3),
    "seven of their own": (
        [
            *(node("Conv", ["x", f"v{part}"], [f"n{part}"], f"n{part}") for part in range(7)),
            join([f"n{n}" for n in range(7)], "y"),
        ],
        ["y"],
        (1, 8, 4, 4),
        0,
        0,
    ),
    "an output that is a part": ([join("ab", "y")], ["y", "a"], (1, 8, 4, 4), 0, 1),
    "an output in two joins": ([join("ab", "y"), join("ba", "z")], ["y", "z"], (1, 8, 4, 4), 1, 0),
    "images of a batch": ([join("ab", "y")], ["y"], (2, 8, 4, 4), 1, 0),
    "beside each other": ([join("aa", "y", axis=3)], ["y"], (1, 8, 4, 4), 1, 0),
    "not on a line": ([node("Conv", ["x", "t"], ["c"], "c"), join("ca", "y")], ["y"], (1, 8, 3, 3), 0, 1),
}


def network(name):
    nodes, outputs, shape, *_ = CASES[name]
    read = {name for each in nodes for name in each.input}
    more = {"u": whole(3, 8, 48, 1, 1), "t": whole(4, 5, 8, 1, 1)}
    constants = WEIGHTS | {name: numbers for name, numbers in more.items() if name in read}
    return model([*BRANCHES, *nodes], {"x": list(shape)}, outputs, constants), shape


@pytest.mark.slow
@pytest.mark.exhaustive
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", CASES)
def test_the_numbers_are_right(name, threads):
    proto, shape = network(name)
    x = whole(0, *shape)
    wanted = ReferenceEvaluator(proto).run(None, {"x": x})
    compiled = compile_model(proto, threads=threads)
    for _ in range(2):
        for found, expected in zip(compiled(x), wanted, strict=True):
            assert found.tolist() == expected.tolist()
    assert compiled.arena_bytes <= 1.1 * compiled.arena_least


@pytest.mark.parametrize("name", CASES)
def test_what_lies_whole_in_an_output_is_not_copied(name):
    *_, programs, copies = CASES[name]
    made = joined_in_place(fused(read(network(name)[0])))
    joins = [step for step in made.steps if "where" in step.text]
    assert (len(joins), sum(isinstance(step.work, Copy) for step in made.steps)) == (programs, copies)


def parts_of(work):
    """Where the parts of the only join of a program begin; None where it has none."""
    found = [[begin for _, begin in join.parts] for join in joins_of(work)]
    return found[0] if found else None


def test_only_whole_parts_in_order_are_a_join():
    shapes = {"a": (1, 2, 5), "b": (1, 3, 5)}

    def parts(text: str) -> list[int] | None:
        return parts_of(sized(read_program(text), {"i": 1, "j": 5, "k": 5}, shapes))

    three = "where(j < 2, a[i,j,k] else 0, where(j < 3, b[i,j - 2,k] else 0, c[i,j - 3,k] else 0))"
    halves = "where(j < 3, where(j < 2, a[i,j,k] else 0, b[i,j - 2,k] else 0), c[i,j - 3,k] else 0)"
    wide = {"a": (1, 2, 5), "b": (1, 1, 5), "c": (1, 4, 5)}
    for text in (three, halves):
        assert parts_of(sized(read_program(f"y[i,j,k] = {text}"), {"i": 1, "j": 7, "k": 5}, wide)) == [0, 10, 15]
    crossed = "where(j < 1, where(j < 2, a[i,j,k] else 0, b[i,j - 2,k] else 0), c[i,j - 3,k] else 0)"
    assert parts_of(sized(read_program(f"y[i,j,k] = {crossed}"), {"i": 1, "j": 7, "k": 5}, wide)) is None
    right = "y[i,j,k] = where(j < 2, a[i,j,k] else 0, b[i,j - 2,k] else 0)"
    assert parts(right) == [0, 10]
    for old, new in (("j < 2", "j < 1"), ("j < 2", "j > 2"), ("j - 2", "j - 1"), ("a[i,j,k]", "a[i,j,4 - k]")):
        assert parts(right.replace(old, new)) is None
    assert parts("y[i,k,j] = where(j < 2, a[i,j,k] else 0, b[i,j - 2,k] else 0)") is None
    assert parts("y[i,j,k] = where(j < 2, a[i,j,k] else 0, 2 * b[i,j - 2,k] else 0)") is None
    assert parts(f"{right}; z[i,j,k] = y[i,j,k] + 1") == [0, 10]


@pytest.mark.parametrize("dtype", [onnx.TensorProto.FLOAT8E4M3FN, onnx.TensorProto.INT4, onnx.TensorProto.BFLOAT16])
def test_numbers_that_lie_in_other_dtypes_are_joined(dtype):
    casts = [node("Cast", [name], [f"{name}_narrow"], f"cast {name}", to=dtype) for name in "xz"]
    joined = [join(["x_narrow", "z_narrow"], "c", axis=0), node("Cast", ["c"], ["y"], "y", to=onnx.TensorProto.FLOAT)]
    x, z = whole(1, 2, 64), whole(2, 3, 64)
    compiled = compile_model(model([*casts, *joined], {"x": [2, 64], "z": [3, 64]}, ["y"]))
    assert compiled(x, z)[0].tolist() == np.concatenate([x, z]).tolist()


# ---- channels last: parts are columns


def last_is_faster(problem):
    return 1.0 if problem.layout == "nhwc" else 2.0


# From x of 8 channels: a and b of 16 and 32.
COLUMNS = {
    # nodes after the branches, outputs, how many joins and copies are left
    "read by a convolution": ([join("ab", "c"), node("Conv", ["c", "u"], ["y"], "y")], ["y"], 0),
    "parts that are read too": (
        [
            join("ab", "c"),
            node("Conv", ["c", "u"], ["d"], "d"),
            node("Conv", ["b", "t"], ["e"], "e"),
            node("MaxPool", ["a"], ["f"], "f", kernel_shape=[2, 2]),
        ],
        ["d", "e", "f"],
        0,
    ),
    "a join in a join": (
        [
            join("ab", "c"),
            node("Conv", ["x", "v"], ["a2"], "a2"),
            join(["a2", "c"], "d"),
            node("Conv", ["d", "s"], ["y"], "y"),
        ],
        ["y"],
        0,
    ),
    "longer and longer": (
        [
            join("ab", "c"),
            node("Relu", ["c"], ["c2"], "c2"),
            node("Conv", ["c2", "u"], ["d"], "d"),
            join("abd", "e"),
            node("Relu", ["e"], ["e2"], "e2"),
            node("Conv", ["e2", "s"], ["f"], "f"),
            join("abdf", "g"),
            node("MaxPool", ["g"], ["y"], "y", kernel_shape=[3, 3]),
        ],
        ["y"],
        0,
    ),
    "pooled": (
        [
            node("MaxPool", ["a"], ["p"], "p", kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
            join("pb", "c"),
            node("Conv", ["c", "u"], ["y"], "y"),
        ],
        ["y"],
        0,
    ),
    "added to": (
        [
            join("ab", "c"),
            node("Conv", ["c", "u"], ["d"], "d"),
            node("Conv", ["x", "v0"], ["e0"], "e0"),
            node("Add", ["e0", "a"], ["e"], "e"),
        ],
        ["d", "e"],
        1,  # a is an array of an epilogue, which is read as it lies
    ),
    "an input, whose channels lie first": ([join("axb", "c"), node("Conv", ["c", "r"], ["y"], "y")], ["y"], 1),
    "the same twice": ([join("aba", "c"), node("Conv", ["c", "s"], ["y"], "y")], ["y"], 1),
}
WIDE = {"u": (16, 48), "t": (16, 32), "s": (16, 64), "r": (16, 56)}


def columns(name, images):
    nodes, outputs, _ = COLUMNS[name]
    used = {each for one in nodes for each in one.input}
    more = {name: whole(n, *shape, 1, 1) for n, (name, shape) in enumerate(WIDE.items()) if name in used}
    return model([*BRANCHES, *nodes], {"x": [images, 8, 6, 5]}, outputs, WEIGHTS | more)


@pytest.mark.slow
@pytest.mark.exhaustive
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("images", [1, 2])
@pytest.mark.parametrize("name", COLUMNS)
def test_columns_hold_the_right_numbers(monkeypatch, name, images, threads):
    monkeypatch.setattr(plan, "choices", choices_with(last_is_faster))
    proto, x = columns(name, images), whole(0, images, 8, 6, 5)
    wanted = ReferenceEvaluator(proto).run(None, {"x": x})
    compiled = compile_model(proto, threads=threads)
    for _ in range(2):
        for found, expected in zip(compiled(x), wanted, strict=True):
            assert found.tolist() == expected.tolist()


@pytest.mark.parametrize("name", COLUMNS)
def test_columns_are_not_copied(name):
    steps = joined_in_place(laid_out(fused(read(columns(name, 1))), last_is_faster)).steps
    assert sum(step.node in "cdeg" and "conv" not in step.text for step in steps) == COLUMNS[name][-1]


def test_columns_of_other_rows_need_no_wait():
    whole_ = {"memory": "arena", "pitch": 256, "width": 64}
    first = Touch(begin=0, end=10 * 256 + 64, writes=True, **whole_)
    second = Touch(begin=64, end=10 * 256 + 128, writes=True, **whole_)
    rest = Touch(begin=64, end=11 * 256, writes=False, memory="arena", pitch=256, width=192)
    assert not first.meets(second) and not second.meets(first)
    assert not first.meets(rest) and second.meets(rest)
    assert first.meets(Touch("arena", 100, 300, False)) and not first.meets(Touch("output_0", 0, 64, True))
