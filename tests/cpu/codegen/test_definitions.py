"""What kernels call beside their functions: each text is there where it is called, before that, and once."""

from __future__ import annotations

import re
from pathlib import Path
from random import Random

import pytest

from cpu.codegen.emit import emit
from cpu.codegen.frame import frames
from cpu.codegen.vector_functions import NAMES, definitions
from cpu.runtime.compiler.library import compiled_object
from microkernels.tile.isa import EVERY_ISA, ISAS
from tests.support.kernels.random_cases import case
from tiling.epilogue import fused
from tiling.operators import conv2d, matmul
from tiling.text.notation import parse

TEMPLATES = Path(frames.__file__).parent / "templates"
DEFINED = re.compile(r"^static (?:inline|const volatile) \w+ (\w+)", re.M)


def without_comments(text: str) -> str:
    return re.sub(r"/\*.*?\*/", "", text, flags=re.S)


@pytest.mark.parametrize("name", sorted(NAMES))
def test_a_function_of_vectors_comes_behind_those_that_it_calls_and_no_others(name):
    for isa in EVERY_ISA.values():
        text = without_comments(definitions({name}, isa))
        found = DEFINED.findall(text)
        assert found[-1] == name and len(set(found)) == len(found)
        bodies = re.split(r"^static ", text, flags=re.M)[1:]
        words = [set(re.findall(r"\w+", body)) for body in bodies]
        for place, defined in enumerate(found):
            assert not words[place] & set(found[place + 1 :]), (isa.name, defined)
            used = any(defined in later for later in words[place + 1 :])
            assert used or defined == name, (isa.name, defined)
        assert "$" not in text and not re.search(r"\b(larger|smaller|scale|fma|constant)\[", text)


def test_all_functions_of_vectors_compile():
    isa = ISAS["portable"]
    text = f"{isa.prologue}\n#include <math.h>\n{definitions(NAMES, isa)}\n"
    calls = [n for n in DEFINED.findall(text) if n.endswith("_of") and f" {n}({isa.vector_type} v)" in text]
    lines = (f"{isa.vector_type} call_{name}({isa.vector_type} v) {{ return {name}(v); }}" for name in calls)
    assert {"exp_of", "gelu_of", "log1p_of"} <= set(calls)
    assert compiled_object("\n".join([text, *lines]), (*isa.compiler_flags, "-Wno-psabi"))


@pytest.mark.parametrize("steps", ["S(y) T(c,4) U(h,λ)", "S(y) U(c,4) U(h,λ)"])
def test_a_tile_whose_taps_all_lie_on_padding_has_no_pointers_that_nothing_reads(steps):
    problem = conv2d(c=4, h=12, w=12, k=32, r=1, s=1, stride=2, padding=1)
    isa = ISAS["portable"]
    text = emit(parse(problem, f"L(h, 1x1 + 3x2) T(k,8) {steps} U(w,7) V(k,4)"), isa).text
    assert re.search(r"^static void tile0_\w+\(float \*y\)$", text, re.M)
    warned = ("-Wall", "-Wextra", "-Werror", "-Wno-psabi", "-Wno-unknown-pragmas", "-Wno-unused-function")
    assert compiled_object(text, (*isa.compiler_flags, *warned))


def test_a_kernel_defines_what_its_statements_need_and_nothing_else():
    biased = fused(matmul(m=6, n=32, k=8), "relu(y + b)")
    scheme = "R(n) T(m,1) S(c) T(k,8) U(m,6) V(n,4)"
    plain, other = (emit(parse(p, scheme), ISAS["portable"]).text for p in (matmul(m=6, n=32, k=8), biased))
    assert "OWN(" not in plain and "KEEP_APART" not in plain and "zeros" not in plain
    assert other.count("#define OWN(acc) ((void)0)") == 1 and other.count("static const volatile ") == 1
    assert "#define OWN(acc) __asm__ volatile" in emit(parse(biased, scheme.replace("4", "8")), ISAS["avx2"]).text
    stem = conv2d(c=3, h=20, w=20, k=16, r=7, s=7, stride=2, padding=3)
    apart = emit(parse(stem, "R(k) T(h,10) T(w,2) S(y) T(r,7) U(s,7) U(c,3) U(w,5) V(k,8)"), ISAS["avx2"]).text
    assert "    KEEP_APART;" in apart and apart.count("#define KEEP_APART") == 1


def test_the_frame_of_a_kernel_decides_nothing():
    text = (TEMPLATES / "kernel.c.j2").read_text(encoding="utf-8")
    statements = set(re.findall(r"/\*% (\w+)", text))
    assert statements == {"for", "endfor"}
    assert not re.search(r"\{\{[^}]*\bif\b", text)


@pytest.mark.parametrize("seed", range(40))
def test_what_a_text_defines_for_lanes_it_uses(seed):
    drawn = case(Random(f"masks {seed}"), tuple(EVERY_ISA), (1, 2))
    text = emit(drawn.scheme, EVERY_ISA[drawn.isa], drawn.threads, drawn.stream).text
    words = re.findall(r"\b(?:FIRST|transpose)_\d+\b", re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL))
    assert all(words.count(word) > 1 for word in words)
