"""`--suite … --composition`: the microkernels of schemes, and what the command prints."""

import json
from dataclasses import replace

import pytest

from microkernels.tile.microkernel import parse as microkernel
from search.commands import composition
from search.commands.composition import Composed, as_text, shares_of, users
from search.conv import main as conv
from search.evaluator.cpu.backend import cpu_backend
from search.flow.find import find
from search.matmul import main as matmul_command
from tiling.operators import conv2d, matmul
from tiling.text.notation import parse
from tiling.text.suite import Layer

pytestmark = pytest.mark.usefixtures("data_folder")

SMALL = conv2d(c=4, h=1, w=34, k=8, r=1, s=1)


def kernels(names):
    return {microkernel(f"f32_conv2d_ukernel_{name}_s1__portable"): share for name, share in names.items()}


def test_a_microkernel_s_share_is_that_of_the_points_it_computes():
    one = parse(SMALL, "R(n) R(h) R(k) T(w,17) S(y) T(r,1) T(s,1) T(c,4) U(w,2) V(k,4)")
    assert shares_of(one, "portable") == kernels({"2wx4k": 1.0})
    # 34 = 2·11 + 1·12
    two = parse(SMALL, "R(n) R(h) R(k) L(w, 2x11 + 1x12) S(y) T(r,1) T(s,1) T(c,4) U(w,λ) V(k,4)")
    found = shares_of(two, "portable")
    assert found == pytest.approx(kernels({"11wx4k": 22 / 34, "12wx4k": 12 / 34}))
    assert list(found.values()) == sorted(found.values(), reverse=True)


def test_shares_of_two_composed_dims_are_products():
    problem = matmul(m=5, n=28, k=3)
    scheme = parse(problem, "L(m, 1x2 + 1x3) L(n, 2x2 + 1x3) S(c) T(k,3) U(m,λ) U(n,λ) V(n,4)")
    shares = {kernel.name.split("_")[3]: share for kernel, share in shares_of(scheme, "portable").items()}
    assert shares == pytest.approx(
        {"2mx8n": 2 * 4 / 35, "2mx12n": 2 * 3 / 35, "3mx8n": 3 * 4 / 35, "3mx12n": 3 * 3 / 35}
    )
    assert sum(shares.values()) == pytest.approx(1)


def test_the_text_counts_microkernels_and_their_layers():
    first, second = kernels({"11wx4k": 0.6, "12wx4k": 0.4}), kernels({"12wx4k": 1.0})
    said = as_text([Composed("net:A", "…", first, True), Composed("net:B1", "…", second, False)])
    assert said.splitlines() == [
        "net:A   60 % f32_conv2d_ukernel_11wx4k_s1__portable, 40 % f32_conv2d_ukernel_12wx4k_s1__portable",
        "net:B1  100 % f32_conv2d_ukernel_12wx4k_s1__portable",
        "",
        "2 microkernels in all; 1 of 2 layers are composed of several; 1 scheme chosen by measurement, "
        "all others by the model",
        "  2 of 2  f32_conv2d_ukernel_12wx4k_s1__portable: net:A net:B1",
        "  1 of 2  f32_conv2d_ukernel_11wx4k_s1__portable: net:A",
    ]


@pytest.fixture
def small_suite(monkeypatch):
    """A suite of one small convolution, and one that cannot be computed."""
    layers = (Layer("A", "…", 1, SMALL), Layer("B", "…", 1, None, "it is not covered"))
    monkeypatch.setattr(composition, "chosen", lambda names: {name: layers for name in names})
    monkeypatch.setattr("search.flow.ranked.rank_first", lambda *_: None)


@pytest.mark.slow
@pytest.mark.exhaustive(command=None)
@pytest.mark.parametrize("command", [conv, matmul_command])
def test_the_command_prints_the_choice_that_a_search_made(command, small_suite, capsys):
    arguments = ["--suite", "small", "--composition", "--isa", "portable", "--json"]
    assert command(arguments) == 0
    printed = capsys.readouterr()
    found = json.loads(printed.out)
    assert printed.err == "small:B is left out: it is not covered\n"
    (layer,) = found["layers"]
    assert layer["layer"] == "small:A" and layer["measured"] is False
    assert sum(layer["microkernels"].values()) == pytest.approx(1)
    assert found["microkernels"] == {name: ["small:A"] for name in layer["microkernels"]}

    searched = find(SMALL, cpu_backend("portable").target, budget=2, trials=3)
    searched.keep("measure")
    assert command(arguments) == 0
    (layer,) = json.loads(capsys.readouterr().out)["layers"]
    assert (layer["scheme"], layer["measured"]) == (searched.scheme.text, True)


@pytest.mark.slow
def test_with_a_budget_layers_are_measured_once(small_suite, capsys, monkeypatch):
    arguments = ["--suite", "small", "--composition", "--isa", "portable", "--budget", "2"]
    assert conv(arguments) == 0
    assert "1 scheme chosen by measurement, all others by the model" in capsys.readouterr().out
    asked = []
    real = composition.find
    monkeypatch.setattr(composition, "find", lambda *a, **k: asked.append(real(*a, **k)) or asked[-1])
    assert conv(arguments) == 0
    assert [each.recalled for each in asked] == [True]


def test_what_cannot_be_composed_is_a_sentence(capsys):
    assert conv(["--suite", "no_such", "--composition"]) == 2
    assert "there is no suite 'no_such'" in capsys.readouterr().err
    assert conv(["--suite", "resnet18", "--composition", "--isa", "avx9"]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    with pytest.raises(SystemExit):
        conv(["--suite", "resnet18"])
    assert "--composition" in capsys.readouterr().err


def test_layers_that_share_microkernels_are_named_together():
    shares = kernels({"12wx4k": 1.0})
    found = [Composed(name, "…", shares, False) for name in ("A", "B")]
    assert users([*found, replace(found[0], layer="C")]) == {next(iter(shares)): ["A", "B", "C"]}


@pytest.mark.parametrize("command, name", [(conv, "search.conv"), (matmul_command, "search.matmul")])
def test_a_message_names_the_command_that_was_typed(command, name, capsys):
    with pytest.raises(SystemExit):
        command(["--suite=resnet18"])
    assert f"python -m {name}: error: the following arguments are required: --composition" in capsys.readouterr().err
