"""Peers: the interface holds with none of their libraries installed, and those that are installed compute exactly."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from bench.peers import PEERS, Peer, Prepared
from bench.peers.compilers import tvm_library
from bench.peers.compilers.tvm import Tvm
from bench.peers.compilers.tvm_library import SearchFailed, found, search
from bench.peers.compilers.xtc import Xtc
from bench.peers.cpu.verbose import parse
from bench.peers.interface.convolution import convolution
from cpu.reference.oracle import integers, reals, reference
from cpu.runtime.compiler.cache_folder import clear
from cpu.runtime.numbers import from_bits, to_bits
from tiling.epilogue import fused
from tiling.operators import conv2d, matmul
from tiling.rewrite.grouped import grouped2d

# These search for up to 75 s before they compute, so they get few layers.
SEARCHING = {"xtc": Xtc(trials=1), "tvm": Tvm(trials=1)}
LIBRARIES = ("torch", "onnx", "onnxruntime", "openvino", "xtc", "tvm", "xgboost", "psutil", "threadpoolctl")

PROBLEMS = {
    "same": conv2d(c=8, h=9, w=7, k=16, r=3, s=3, padding=1),
    "strided": conv2d(c=16, h=12, w=11, k=8, r=3, s=3, stride=2, padding=1),
    "stride per axis": conv2d(c=4, h=9, w=10, k=5, r=3, s=2, stride=(1, 3), padding=(2, 0)),
    "dilated": conv2d(c=4, h=11, w=12, k=6, r=3, s=3, padding=(2, 3), dilation=(2, 3)),
    "padded more after": conv2d(c=4, h=8, w=8, k=8, r=4, s=4, padding=((1, 2), (0, 3))),
    "padded more before": conv2d(c=4, h=8, w=8, k=8, r=3, s=3, padding=((2, 0), (1, 0))),
    "batch": conv2d(n=3, c=5, h=6, w=6, k=7, r=3, s=3, padding=1),
    "1x1": conv2d(c=32, h=5, w=6, k=24, r=1, s=1),
    "1x1 padded": conv2d(c=8, h=5, w=6, k=8, r=1, s=1, padding=1),
    "1x1 strided": conv2d(n=2, c=32, h=6, w=6, k=16, r=1, s=1, stride=2),
    "three channels": conv2d(c=3, h=16, w=16, k=16, r=7, s=7, stride=2, padding=3),
    "all at once": conv2d(
        n=2, c=4, h=11, w=12, k=6, r=3, s=2, stride=(2, 1), padding=((2, 1), (0, 1)), dilation=(1, 2)
    ),
    "groups": conv2d(c=12, h=7, w=8, k=6, r=3, s=3, padding=1, stride=2, groups=3),
    "depthwise": conv2d(n=2, c=20, h=9, w=8, k=20, r=3, s=3, padding=((1, 0), (1, 1)), groups=20),
    "depthwise, strided": conv2d(c=20, h=9, w=8, k=20, r=3, s=3, stride=2, padding=1, groups=20),
    "groups side by side": grouped2d(conv2d(n=2, c=12, h=9, w=8, k=12, r=3, s=3, padding=1, stride=2, groups=3)),
    "channels first": conv2d(n=2, c=12, h=8, w=9, k=20, r=3, s=3, padding=1, layout="nchw"),
    "channels first, padded more after, groups": conv2d(
        c=12, h=8, w=9, k=8, r=4, s=3, padding=((1, 2), (0, 2)), groups=4, stride=2, layout="nchw"
    ),
    "matrix product": matmul(m=13, n=33, k=21),
}
SEARCHED = {
    "xtc": ("stride per axis", "padded more before", "matrix product"),
    "tvm": ("all at once", "matrix product"),
}


@pytest.fixture
def nothing_installed(monkeypatch):
    """No library of a peer can be found."""
    monkeypatch.setattr("bench.peers.interface.peer.find_spec", lambda module: None)


class Echo(Peer):
    """A made-up peer: the oracle."""

    name, title, packages = "echo", "Echo", {"json": "json"}

    def version(self):
        return "Echo 1"

    def environment(self, threads):
        return {}

    def prepare(self, problem, x, w, threads):
        y = np.empty(problem.output.shape, np.float32)

        def run():
            y[...] = reference(problem, x, w)

        return Prepared(run, lambda: y, "NHWC")


def computed(peer: Peer, problem, threads: int = 1) -> tuple[Prepared, np.ndarray, np.ndarray]:
    """A peer's prepared call, run twice, its result and the right one."""
    x, w = integers(problem, seed=3)
    prepared = peer.prepare(problem, x, w, threads)
    prepared.run()
    prepared.run()
    return prepared, prepared.result(), reference(problem, x, w)


def installed(name: str) -> Peer:
    peer = SEARCHING.get(name, PEERS[name])
    if reason := peer.missing():
        pytest.skip(reason)
    return peer


def test_importing_peers_imports_no_library():
    script = f"import sys, bench.peers; print(sorted({set(LIBRARIES)!r} & set(sys.modules)))"
    told = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "[]"


def test_peers_are_named_and_titled():
    assert all(name == peer.name and peer.title for name, peer in PEERS.items())


@pytest.mark.parametrize("name", PEERS)
def test_a_missing_peer_says_how_to_get_it(name, nothing_installed):
    assert "pip install 'tilewright[peers]'" in PEERS[name].missing()


def test_a_peer_with_its_packages_is_not_missing():
    assert Echo().missing() is None


def test_every_missing_package_is_named(nothing_installed):
    assert PEERS["ort"].missing() == "onnxruntime and onnx are not installed: pip install 'tilewright[peers]'"


def test_the_interface_with_a_made_up_peer():
    prepared, y, expected = computed(Echo(), PROBLEMS["same"])
    assert np.array_equal(y, expected)
    assert prepared.kernel_seconds is None


def test_environments_agree_with_each_other():
    together: dict[str, str] = {}
    for peer in PEERS.values():
        for variable, value in peer.environment(2).items():
            assert together.setdefault(variable, value) == value, variable


@pytest.mark.parametrize("name", PROBLEMS)
def test_a_convolution_read_from_a_problem_gives_the_problem_back(name):
    problem = PROBLEMS[name]
    if problem.op == "matmul":
        pytest.skip("no convolution")
    conv = convolution(problem)
    (top, left), (bottom, right) = conv.before, conv.after
    again = conv2d(
        **{key: getattr(conv, key) for key in ("n", "c", "h", "w", "k", "r", "s", "stride", "dilation", "groups")},
        padding=((top, bottom), (left, right)),
        layout=problem.layout,
    )
    assert again == problem or grouped2d(again) == problem


def test_padding_is_symmetric_wherever_it_can_be():
    # The last row of this padding is read by no output, but one number then describes it.
    assert convolution(conv2d(c=1, h=56, w=56, k=1, r=3, s=3, stride=2, padding=1)).symmetric
    assert not convolution(conv2d(c=1, h=8, w=8, k=1, r=4, s=4, padding=((1, 2), (1, 2)))).symmetric


def test_onednn_lines_are_read():
    text = (
        "onednn_verbose,v1,info,oneDNN v3.12.0\n"
        "onednn_verbose,v1,primitive,exec,cpu,reorder,jit:uni,undef,src:f32 dst:f32,,,64x64x3x3,0.5\n"
        "onednn_verbose,v1,primitive,exec,cpu,convolution,brgconv:avx512_core,forward_inference,,,,mb1_ic64,0.875\n"
        "onednn_verbose,v1,primitive,create:cache_hit,cpu,convolution,brgconv:avx512_core,,,,,mb1_ic64,0.1\n"
        "anything,exec,convolution,1\n"
    )
    assert parse(text) == [0.875e-3]


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "name, problem",
    [(name, problem) for name in PEERS for problem in SEARCHED.get(name, PROBLEMS)],
)
def test_results_are_exact(name, problem):
    peer = installed(name)
    if reason := peer.unsupported_reason(PROBLEMS[problem]):
        pytest.skip(reason)
    prepared, y, expected = computed(peer, PROBLEMS[problem])
    assert y.dtype == np.float32 and y.shape == expected.shape
    assert np.array_equal(y, expected)
    assert prepared.layout


@pytest.mark.parametrize(
    "dtype, output",
    [
        pytest.param("bf16", "bf16", marks=pytest.mark.isa("avx512bf16")),
        # Without these instructions oneDNN adds two products in 16 bits, which saturate; and we have no kernel there.
        pytest.param("int8", "s32", marks=pytest.mark.isa("avx512vnni")),
    ],
)
@pytest.mark.parametrize("name", ["same", "groups side by side", "depthwise, strided"])
def test_onednn_multiplies_narrow_numbers(name, dtype, output):
    problem = replace(PROBLEMS[name], dtype=dtype, output_dtype=output)
    _, y, expected = computed(installed("onednn"), problem)
    assert np.array_equal(y, from_bits(to_bits(expected, output), output))


@pytest.mark.parametrize("name", [name for name in PEERS if name not in SEARCHING])
def test_two_threads_compute_the_same(name):
    peer = installed(name)
    _, y, expected = computed(peer, PROBLEMS["same"], threads=2)
    assert np.array_equal(y, expected)


@pytest.mark.parametrize("name", PEERS)
def test_a_version_has_a_number(name):
    assert re.search(r"\d+\.\d+", installed(name).version().partition("(")[0])


def test_what_a_peer_cannot_take_is_said_in_a_sentence():
    assert PEERS["xtc"].unsupported_reason(PROBLEMS["dilated"]) == "XTC's convolution has neither dilation nor groups"
    assert PEERS["tvm"].unsupported_reason(PROBLEMS["depthwise"]) == "TVM's NHWC convolution has no groups"
    assert PEERS["xtc"].unsupported_reason(PROBLEMS["depthwise"]) == "XTC's convolution has neither dilation nor groups"
    assert (
        PEERS["numpy"].unsupported_reason(PROBLEMS["channels first"])
        == "numpy is called in layout nhwc only, not in nchw"
    )
    with_bias = fused(PROBLEMS["same"], "relu(y + b)")
    for name, peer in PEERS.items():
        if peer.target == "cpu":
            fuses = name in ("onednn", "ort", "openvino")
            assert peer.unsupported_reason(with_bias) == (
                None if fuses else f"{name} is compared without an epilogue only"
            )
    odd = fused(PROBLEMS["same"], "relu(2*y + b)")
    assert PEERS["ort"].unsupported_reason(odd).startswith("ort fuses a bias b, an array z and then one of relu, ")
    assert PEERS["ort"].unsupported_reason(odd).endswith(", not relu(2*y+b[k])")
    both = fused(PROBLEMS["matrix product"], "relu(y + z)")
    assert PEERS["onednn"].unsupported_reason(both) == (
        "PyTorch's call of oneDNN has no relu of a sum with z, as in relu(y+z[m,n])"
    )
    assert PEERS["openvino"].unsupported_reason(both) is None
    narrow = replace(with_bias, dtype="bf16", output_dtype="bf16")
    assert PEERS["onednn"].unsupported_reason(narrow) == "onednn is compared with an epilogue in f32 only"
    pooling = replace(PROBLEMS["same"], op="pooling")
    assert all("pooling" in peer.unsupported_reason(pooling) for peer in PEERS.values())
    assert all(peer.unsupported_reason(PROBLEMS["same"]) is None for peer in PEERS.values() if peer.target == "cpu")


FUSED = [
    *[(name, "relu(y + b)") for name in ("same", "channels first", "1x1 strided", "depthwise", "matrix product")],
    *[(name, "relu(z + y + b)") for name in ("same", "channels first", "all at once", "groups", "matrix product")],
    *[("batch", text) for text in ("y + b", "y + z", "relu(y)", "relu6(y + b)")],
]


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", ["onednn", "ort", "openvino"])
@pytest.mark.parametrize("problem, epilogue", FUSED)
def test_fused_results_are_exact(name, problem, epilogue):
    peer, layer = installed(name), fused(PROBLEMS[problem], epilogue)
    if peer.unsupported_reason(layer):
        pytest.skip(peer.unsupported_reason(layer))
    x, w, *arrays = integers(layer, seed=3)
    prepared = peer.prepare(layer, x, w, 1, *arrays)
    prepared.run()
    prepared.run()
    assert np.array_equal(prepared.result(), reference(layer, x, w, *arrays))


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", ["onednn", "ort", "openvino"])
@pytest.mark.parametrize("added", ["b", "b + z"])
@pytest.mark.parametrize("activation", ["sigmoid", "tanh", "silu", "hardswish", "gelu", "gelu_tanh"])
def test_fused_activations_are_those_of_the_language(name, activation, added):
    peer, layer = installed(name), fused(PROBLEMS["same"], f"{activation}(y + {added})")
    if peer.unsupported_reason(layer):
        pytest.skip(peer.unsupported_reason(layer))
    x, w, *arrays = reals(layer, seed=4)
    prepared = peer.prepare(layer, x, w, 1, *arrays)
    prepared.run()
    # A form of another definition, such as gelu by tanh, differs by more.
    assert np.abs(prepared.result() - reference(layer, x, w, *arrays)).max() < 2e-5


def test_a_search_that_fails_says_why(tmp_path):
    with pytest.raises(SearchFailed, match=r"no_such_search failed: .*No module named"):
        search("bench.peers.no_such_search", {"folder": str(tmp_path)}, threads=1, trials=1)


@pytest.mark.skipif(find_spec("torch") is None, reason="needs PyTorch")
def test_onednn_tells_the_time_of_its_kernel(capfd):
    prepared, _, _ = computed(PEERS["onednn"], PROBLEMS["same"])
    print("before", flush=True)
    samples = prepared.kernel_seconds(5)
    print("after", flush=True)
    assert len(samples) == 5 and min(samples) > 0
    assert capfd.readouterr().out.splitlines()[-2:] == ["before", "after"]


def test_what_a_search_found_is_searched_for_once(data_folder, monkeypatch, tmp_path):
    """For the same layer, threads, trials and version on this machine; a later run finds it whole."""
    monkeypatch.setenv("TILEWRIGHT_CACHE", str(tmp_path / "cache"))
    searches = []

    def searching(module, request, threads, trials):
        searches.append((module, request["x"], threads, trials))
        library = Path(request["folder"]) / "schedule3.so"
        library.write_bytes(b"\x7fELF\nof a schedule\n")
        return {
            "library": str(library),
            "symbol": "layer",
            "tried": trials,
            "history": [[1, 2.5, 1e-3], [4, 4.0, 8e-4]],
        }

    monkeypatch.setattr(tvm_library, "search", searching)
    asked = {"module": "some_search", "request": {"x": (1, 5)}, "threads": 1, "trials": 4, "version": "1.0"}
    for _ in range(2):
        assert found(**asked) == (b"\x7fELF\nof a schedule\n", "layer", ((1, 2.5, 1e-3), (4, 4.0, 8e-4)))
    assert len(searches) == 1
    for other in ({"request": {"x": (1, 6)}}, {"threads": 2}, {"trials": 5}, {"version": "1.1"}):
        found(**{**asked, **other})
    assert len(searches) == 5
    clear()
    found(**asked)
    assert len(searches) == 6
