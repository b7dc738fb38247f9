"""Programs from the command line and from Python: results, messages, and the examples of docs/programs.md."""

from __future__ import annotations

import ctypes
import json
import re
import shlex
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import search
from cpu.kernel.export import ExportError
from cpu.reference.programs import evaluate
from cpu.runtime.machine.host import host
from search.commands.searching import searched
from search.evaluator.cpu.programs import PASS_NAMES
from search.program import main
from tests.support.programs.programs import SOFTMAX
from tiling.machine import Timing
from tiling.problem import ProblemError
from tiling.program.infer import sized
from tiling.program.operators import program_of
from tiling.program.read import read

PAGE = (Path(__file__).parents[3] / "docs" / "programs.md").read_text(encoding="utf-8")
EXAMPLES = dict(re.split("  +", line, maxsplit=1) for line in PAGE.split("```\n")[3].splitlines() if line)
SHAPES = {
    "x": (7, 40),
    "z": (7, 20),
    "g": (40,),
    "b": (40,),
    "t": (7,),
    "scale": (40,),
    "a": (100,),
    "w_": (5, 20, 3, 3),
    **{"q": (2, 5, 8), "k": (2, 6, 8), "v": (2, 6, 8)},
}
IMAGE = {"x": (8, 9, 20)}  # of the examples over h and w
EXTENTS = {
    **{"max pooling": {"h": 4, "w": 5, "r": 3, "s": 3, "c": 20}, "concatenation": {"i": 7, "j": 60}},
    **{"nearest resize": {"h": 16, "w": 18, "c": 20}, "reversal": {"i": 2, "j": 50}, "one-hot": {"j": 11}},
    **{"convolution": {"h": 8, "w": 9}},
}


def test_the_page_has_a_dozen_examples():
    assert len(EXAMPLES) >= 12


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_examples_of_the_page(name):
    text, extents = EXAMPLES[name], EXTENTS.get(name, {})
    shapes = SHAPES | (IMAGE if "h," in text else {})
    shapes = {array: shape for array, shape in shapes.items() if array in read(text).inputs}
    kernel = search.generate_program(text, shapes=shapes, isa="portable", **extents)
    random = np.random.default_rng(0)
    given = {}
    for array in kernel.inputs:
        whole = random.integers(0, 7, array.shape).astype(np.int32)
        given[array.name] = whole if array.dtype == "s32" else random.standard_normal(array.shape).astype(np.float32)
    y = kernel(**given)
    wanted = evaluate(sized(read(text), extents, shapes), given)[kernel.outputs[0].name]
    np.testing.assert_allclose(y, wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.slow
def test_the_command_reports(capsys):
    assert main([f"x: f32[64,1000]; {SOFTMAX}", "--explain", "--isa", "portable"]) == 0
    printed = capsys.readouterr()
    assert printed.err == "" and printed.out.startswith("x: f32[64,1000]\nm[i] = max[j] x[i, j]\n")
    lines = dict(re.split("  +", line, maxsplit=1) for line in printed.out.splitlines()[5:])
    assert lines["outputs"] == "y: f32[64, 1000]" and lines["machine"].endswith(", portable, 1 thread")
    assert float(lines["check"].split()[-1]) < 1e-6 and lines["time"].endswith("of the 512,000 bytes of its arrays")
    assert "m e d d_inverse y share the loops over i, and one row of m e d d_inverse is kept, 4012 bytes" in printed.out


def test_json_and_files(capsys, tmp_path):
    command = ["y[i] = x[i] + 1", "--shape", "i=10", "--json", "--emit", str(tmp_path), "--name", "add_one", "--isa"]
    assert main([*command, "portable"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["outputs"] == {"y": ["f32", 10]} and found["error"]["y"] < 1e-7 and found["bytes"] == 80
    assert [Path(path).name for path in found["emitted"]] == [
        *(f"add_one.{end}" for end in ("c", "h", "so", "mk")),
        "Makefile",
    ]
    x, y = np.arange(10, dtype=np.float32), np.zeros(10, np.float32)
    library = ctypes.CDLL(str(tmp_path / "add_one.so"))
    assert library.add_one(ctypes.c_void_p(x.ctypes.data), ctypes.c_void_p(y.ctypes.data)) == 0
    assert y.tolist() == (x + 1).tolist() and "int add_one(" in (tmp_path / "add_one.h").read_text()


@pytest.mark.slow
def test_the_report_is_printed_where_saving_fails(capsys, monkeypatch, tmp_path):
    def save(*_):
        raise ExportError("full")

    monkeypatch.setattr("cpu.kernel.program.ProgramKernel.save", save)
    assert main(["y[i] = x[i] + 1", "--shape", "i=10", "--isa", "portable", "--json", "--emit", str(tmp_path)]) == 1
    printed = capsys.readouterr()
    assert json.loads(printed.out)["emitted"] == [] and printed.err == "full\n"


def test_passes_are_shown(capsys, tmp_path):
    (tmp_path / "text").write_text("y[i] = x[i] * 2\n")
    assert main([f"@{tmp_path / 'text'}", "--shape", "i=100", "--show-passes"]) == 0
    printed = capsys.readouterr().out
    names = [line.strip("- ") for line in printed.splitlines() if line.startswith("--- ")]
    assert names == list(PASS_NAMES)
    assert main(["y[i] = x[i] * 2", "--shape", "i=100", "--show-passes", "lower"]) == 0
    assert capsys.readouterr().out.endswith("for i in 0..100:\n  y[i] = x[i] * 2\n")


def test_loops_are_shown_of_an_instruction_set_that_this_cpu_does_not_run(capsys, monkeypatch):
    lacking = replace(host(), flags=frozenset())
    monkeypatch.setattr("search.evaluator.cpu.target.host", lambda: lacking)
    given = ["y[i] = x[i] * 2", "--shape", "i=100", "--isa", "avx512f"]
    assert main([*given, "--show-passes", "vectors"]) == 0
    assert "load(x + [i])" in capsys.readouterr().out
    assert main(given) == 2
    assert "this CPU does not run avx512f: it lacks " in capsys.readouterr().err


def test_a_time_in_doubt_is_told(capsys, monkeypatch):
    busy = Timing((1.0,), 1.0, "busy")
    monkeypatch.setattr("search.commands.program.measured", lambda *_: busy)
    assert main(["y[i] = x[i] + 1", "--shape", "i=10", "--isa", "portable"]) == 0
    assert "\nremark       busy: the time is in doubt" in capsys.readouterr().out


@pytest.mark.slow
def test_a_runtime_extent(capsys):
    assert main([SOFTMAX, "--shape", "i<=64,j=100", "--isa", "portable"]) == 0
    printed = capsys.readouterr().out
    assert "runtime      i from 1 to 64; checked and timed with all\n" in printed
    assert float(re.search(r"float64, .*: y (\S+)", printed)[1]) < 1e-6
    kernel = search.generate_program("y[i] = x[i] * 2", i="<=9", isa="portable")
    for points in (1, 4, 9):
        assert kernel(np.arange(points, dtype=np.float32)).tolist() == [2 * i for i in range(points)]
    assert kernel.timing.seconds > 0 and len(kernel.empty()[0]) == 9


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["y[i] = x[i]", "--shape", "i<=0"], "i=0: an extent is a whole number from 1 to"),
        (["y[i] = x[i]", "--shape", "i<2"], "--shape 'i<2': write DIM=EXTENT"),
        (["y[i] = x[i+1] + z[2*i]", "--shape", "k<=3,i=2"], "k=3: the program has no dim k"),
        (["y[i,j] = x[i] + x[j]", "--shape", "i<=3,j<=4"], "how long axis 0 of x is depends on which runtime extent"),
        (
            ["t: s32; y[i,j] = x[t[i],j]", "--shape", "i=3,j=4"],
            "depends on numbers that are known later: declare its shape, as in x: [100, 100]",
        ),
        (
            ["x: [j]; y[i,j] = x[i]", "--shape", "i<=3,j<=4"],
            "statement 1, x[i]: axis 0 of x has j_extent elements, and i is i_extent - 1 for some point",
        ),
        (["y[i"], "program: "),
        (["y[i] = x[i"], "program: the end stands where"),
        (["y[i] = x[i]"], "statement 1, y: dim i has no extent: give i=…"),
        (["y[i] = x[i]", "--shape", "i=0"], "i=0: an extent is a whole number from 1 to"),
        (["y[i] = x[i]", "--shape", "i=-4"], "i=-4: an extent is a whole number from 1 to"),
        (["y[i] = x[i]", "--shape", "i<=-4"], "i='<=-4': an extent is a whole number from 1 to"),
        (["y[i] = x[i]", "--shape", "i=2,i=3"], "--shape gives i twice"),
        (["y[i] = x[i]", "--shape", "i"], "--shape 'i': write DIM=EXTENT, such as i=2,j=50"),
        (["y[i] = x[i]", "--shape", "k=2"], "k=2: the program has no dim k; its dims are i"),
        (["y[i] = x[i]", "--shape", "i=2", "--outputs", "y, z"], "no statement assigns z, which"),
        (["y[i] = x[0-1-i]", "--shape", "i=3"], "axis 0 of x has 1 element, and 0 - 1 - i is -3 for some point"),
        (["y[i] = x[i]", "--shape", "i=2", "--dtype", "f8"], "f8"),
        (["y[i] = x[i]", "--shape", "i=2", "--isa", "mmx"], "mmx"),
        (["y[i] = x[i]", "--shape", "i=2", "--outputs", ","], "--outputs ',' names no array: write one, or several"),
        (
            ["y[i] = x[i]", "--shape", "i=2", "--scheme", "V(k,8)"],
            "--scheme is for a product, and here all loops follow",
        ),
        (["y[i] = x[i]", "--shape", "i=2", "--algorithm", "winograd"], "--algorithm winograd is for a product, and"),
        (["y[i] = x[i]", "--shape", "i=2", "--cache", "cold"], "--cache cold is for a product, and"),
        (["y[i] = x[i]", "--shape", "i=2", "--cluster", "a:1"], "--cluster is for a product, and"),
        (["y[i] = x[i]", "--shape", "i=2", "--budget", "2"], "all loops follow from rules (no statement is a sum"),
        (["y[i] = x[i]", "--shape", "i=2", "--trials", "2"], "--trials is for a product, and"),
        (["y[i] = x[i]", "--shape", "i=2", "--forget"], "--forget is for a product, and"),
        (["y[i] = x[i]", "--shape", "i=2", "--cluster", "a:1", "--model-only"], "--cluster has other computers try"),
        (
            ["y[i] = x[i]", "--shape", "i=2", "--target", "cuda-twin", "--threads", "2"],
            "--threads means nothing to --tar",
        ),
        (["y[i] = x[i]", "--shape", "i=2", "--target", "cuda-twin", "--explain"], "--explain means nothing to a GPU's"),
        (["y[i] = x[i]", "--shape", "i=2", "--name", "f"], "--name is the name of what --emit writes"),
        (
            ["y[i] = x[i]", "--shape", "i=2", "--show-passes", "--json"],
            "--show-passes prints the loops and nothing else",
        ),
        (["y[i] = x[i]", "--shape", "i=2", "--show-passes", "all"], "--show-passes all: there is no such pass"),
        (["y[i] = 99999999999999999999 + i", "--shape", "i=5"], "is a whole number of more than 64 bits"),
        (["y[i] = " + "x[i]+" * 3000 + "x[i]", "--shape", "i=5"], "comes after 100 terms in a row"),
        (["@nowhere"], "nowhere cannot be read: No such file"),
        (["@"], "@ lacks the name of a file: write @FILE"),
        (["y[i] = sum[j] x[i+j]; z[i] = y[i+1]", "--shape", "i=3,j=2"], "statement 2, y[i + 1]: axis 0 of y has 3"),
        (
            ["y[i] = bitand(x[i], 3)", "--shape", "i=3"],
            "statement 1, bitand(x[i], 3): x[i] is f32, and bitand takes whole",
        ),
    ],
)
def test_what_cannot_be_computed_is_one_sentence_and_nothing_is_compiled(arguments, message, monkeypatch, capsys):
    def compiling(*command, **options):
        raise AssertionError(f"{command} was run")

    monkeypatch.setattr(subprocess, "Popen", compiling)
    assert main(arguments) == 2
    printed = capsys.readouterr()
    assert printed.out == "" and message in printed.err and printed.err.count("\n") == 1


@pytest.mark.parametrize(
    "given, message",
    [
        ({"shapes": {"x": (-5,)}}, "the shape of x is (-5,): give a tuple of whole numbers"),
        ({"shapes": {"x": 5}}, "the shape of x is 5: give a tuple"),
        ({"shapes": [5]}, "shapes=[5] must be a dict"),
        ({"i": True}, "i=True: an extent is a whole number"),
        ({"i": 3, "outputs": 5}, "outputs=5 must be the names of arrays"),
    ],
)
def test_arguments_of_generate_program(given, message):
    with pytest.raises(ProblemError) as caught:
        search.generate_program("y[i] = x[i]", **given)
    assert str(caught.value).startswith(message)


@pytest.mark.slow
def test_what_cannot_be_checked_is_said(capsys):
    assert main(["t: s32; x: f32[20]; y[i] = x[t[i]+5]", "--shape", "i=50"]) == 0
    assert "not checked: random indices lie outside" in capsys.readouterr().out
    assert main(["x: bf16; y[i] = x[]*i", "--shape", "i=5"]) == 0


@pytest.mark.slow
def test_a_chain_of_hundreds_of_maps_is_no_problem():
    text = "; ".join(["y0[i] = x[i]", *(f"y{n}[i] = y{n - 1}[i] + 1" for n in range(1, 700))])
    kernel = search.generate_program(text, i=5, isa="portable")
    assert kernel(np.zeros(5, np.float32)).tolist() == [699] * 5


def test_several_outputs_and_a_dtype():
    text = "m[i] = max[j] x[i,j]; y[i,j] = x[i,j] == m[i]"
    kernel = search.generate_program(text, shapes={"x": (3, 4)}, outputs=["m", "y"], dtype="s32", isa="portable")
    x = np.arange(12, dtype=np.int32).reshape(3, 4)
    found = kernel(x)
    assert found["m"].tolist() == [3, 7, 11] and found["y"].tolist() == [[False] * 3 + [True]] * 3


def test_an_operator_is_a_program():
    kernel = search.generate_program(program_of("max_pool", (1, 4, 4, 3), window=2), isa="portable")
    x = np.arange(48, dtype=np.float32).reshape(1, 4, 4, 3)
    np.testing.assert_array_equal(kernel(x), x[:, 1::2, 1::2])
    with pytest.raises(ProblemError, match="has its sizes and dtypes already"):
        search.generate_program(program_of("max_pool", (1, 4, 4, 3), window=2), h=3)


@pytest.mark.slow
def test_the_python_of_the_page(monkeypatch):
    """Every block of the page that is Python, in order."""
    names: dict[str, object] = {}
    for block in re.findall(r"```python\n(.*?)```", PAGE, re.S):
        exec(block, names)


@pytest.mark.parametrize("text", [3, None, ["y[i] = x[i]"]])
def test_a_program_is_a_text(text):
    with pytest.raises(ProblemError, match="a program is a text"):
        search.generate_program(text)


@pytest.mark.slow
def test_an_anchor_from_the_command_line(capsys, monkeypatch):
    text = "y[i,j] = sum[k] a[i,k] * b[k,j]; z[i,j] = relu(y[i,j] + v[j]); s[i] = max[j] z[i,j]"
    shape = ["--shape", "i=128,j=96,k=192", "--isa", "portable"]
    monkeypatch.setattr("search.flow.ranked.rank_first", lambda *_: None)
    assert main([text, *shape, "--model-only", "--cache", "cold", "--explain", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["scheme"] and facts["error"]["s"] < 1e-5
    assert facts["ranked"] > 1 and facts["trials"] == 0 and "predicted" in facts["choice"]
    assert facts["chosen_for"] == "cold" and "the time is of warm ones" in facts["remarks"][0]
    assert facts["explanation"][:4] == [
        "y is the anchor: matmul m=128,n=96,k=192",
        "the stores of y compute z: relu(y+v[n])",
        "s is no part of the stores of z: it is a reduction",
        "s by rules, after the anchor",
    ]
    assert main([text, *shape, "--show-passes"]) == 2
    told = capsys.readouterr().err
    assert "the loops of the anchor are those of matmul m=128,n=96,k=192" in told
    assert "python -m search.matmul --shape 'm=128,n=96,k=192,epilogue=relu(y+v[n])' --show-passes shows them" in told


@pytest.mark.slow
def test_a_search_for_an_anchor_is_kept_and_repeated(capsys):
    text = "y[i,j] = sum[k] a[i,k] * b[k,j]; z[i,j] = relu(y[i,j])"
    shape = ["--shape", "i=128,j=96,k=192", "--isa", "portable"]
    assert main([text, *shape, "--budget", "1", "--trials", "2", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["trials"] + facts["known"] >= 1 and facts["microkernels"]
    words = shlex.split(facts["repeat"])
    assert words[1:3] == ["-m", "search.program"]
    assert main([*words[3:], "--json"]) == 0
    again = json.loads(capsys.readouterr().out)
    assert again["scheme"] == facts["scheme"] and again["trials"] == 0 and again["max_error"] == facts["max_error"]
    kernel = search.generate_program(text, i=128, j=96, k=192, isa="portable", tune="measure")
    assert kernel.scheme == facts["scheme"]  # the choice that the search kept


@pytest.mark.slow
def test_a_search_that_a_ctrl_c_ended_is_reported(capsys, monkeypatch):
    monkeypatch.setattr("search.flow.ranked.rank_first", lambda *_: None)
    monkeypatch.setattr("search.commands.program.searched", lambda *asked: replace(searched(*asked), interrupted=True))
    text, shape = "y[i,j] = sum[k] a[i,k] * b[k,j]", ["--shape", "i=128,j=96,k=192", "--isa", "portable"]
    assert main([text, *shape, "--model-only"]) == 130
    assert "ended by Ctrl-C" in capsys.readouterr().out


def test_standard_input_that_is_closed_is_told(monkeypatch, capsys):
    monkeypatch.setattr("sys.stdin", None)
    assert main(["-", "--shape", "i=4"]) == 2
    assert capsys.readouterr().err == "- reads the program from standard input, which is closed\n"
