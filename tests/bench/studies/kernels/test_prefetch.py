"""`python -m bench.prefetch`: the three kernels it compares differ in what they prefetch, and it says what each
reaches.
"""

from __future__ import annotations

import re
import subprocess

import pytest

from bench.studies.kernels import prefetch
from cpu.codegen.emit import emit
from cpu.runtime.compiler.toolchain import find_compiler
from microkernels.tile.isa import isa_named
from tiling.operators import conv2d
from tiling.text.notation import parse

STREAMS = "T(k,65) T(h,4) S(y) T(c,1024) U(w,4) V(k,16)"  # panels of 64 KiB, more than L1 holds, in weights of 4 MB


@pytest.mark.parametrize(
    "before, requests",
    [("none", set()), ("to L2", {"prefetcht1"}), ("all", {"prefetcht0", "prefetcht1"})],
)
def test_each_kernel_asks_for_what_its_name_says(before, requests, tmp_path):
    source = emit(parse(conv2d(c=1024, h=4, w=4, k=1040, r=1, s=1), STREAMS), isa_named("avx512f"))
    file = tmp_path / "kernel.c"
    file.write_text(prefetch.BEFORE[before] + source.text)
    command = [*find_compiler().command, *source.compiler_flags, "-Werror", "-S", "-o", "-", str(file)]
    assembly = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert set(re.findall(r"\bprefetch\w+", assembly)) == requests


def test_a_line_a_layer_with_the_share_of_the_peak_of_each(monkeypatch, capsys):
    monkeypatch.setattr(prefetch, "ROUNDS", 1)
    monkeypatch.setattr(prefetch, "TURN_SECONDS", 0.001)
    scheme = "T(k,64) T(h,7) S(y) T(c,256) U(w,7) U(k,2) V(k,4)"
    assert prefetch.main(["--suite", "resnet18:R11", "--isa", "portable", "--scheme", scheme]) == 0
    _, line = capsys.readouterr().out.splitlines()
    reached = re.match(r"resnet18:R11 +none (\S+) %, to L2 (\S+) %, all (\S+) %   (.*)$", line)
    assert reached and reached[4] == scheme
    assert all(float(share) > 0 for share in reached.groups()[:3])


def test_a_layer_may_lie_channels_first(monkeypatch, capsys):
    monkeypatch.setattr(prefetch, "ROUNDS", 1)
    monkeypatch.setattr(prefetch, "TURN_SECONDS", 0.001)
    scheme = "T(k,64) T(w,98) S(y) T(c,64) U(w,8) V(w,4)"
    asked = ["--suite", "resnet18:R3", "--isa", "portable", "--layout", "nchw", "--scheme", scheme]
    assert prefetch.main(asked) == 0
    assert re.search(r"resnet18:R3 +none \S+ %, to L2 \S+ %, all \S+ % ", capsys.readouterr().out)


def test_a_kernel_that_asks_for_nothing_is_not_timed(monkeypatch, capsys):
    monkeypatch.setattr(prefetch, "Timing", lambda *_: pytest.fail("timed"))
    scheme = "T(k,8) T(h,56) T(w,8) S(y) T(c,64) U(w,7) U(k,2) V(k,4)"
    assert prefetch.main(["--suite", "resnet18:R3", "--isa", "portable", "--scheme", scheme]) == 0
    assert "no prefetches" in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments, sentence",
    [
        (["--suite", "resnet18:R3", "--scheme", "T(k,64)"], "no specifier is on dim c"),
        (["--suite", "resnet18", "--scheme", "T(k,64)"], "a single layer"),
        (["--suite", "resnet99"], "resnet99"),
        (["--suite", "resnet18:R3", "--dtype", "f16"], "dtype 'f16' is not covered"),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(arguments, sentence, capsys):
    assert prefetch.main(arguments) == 2
    printed = capsys.readouterr()
    assert not printed.out and "Traceback" not in printed.err and sentence in printed.err
