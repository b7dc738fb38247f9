"""The masks of a kernel: its text defines those that it uses, and transposes no other blocks than it has."""

import re
from random import Random

import pytest

from cpu.codegen.emit import emit
from microkernels.tile.isa import EVERY_ISA
from tests.support.kernels.random_cases import case


@pytest.mark.parametrize("seed", range(40))
def test_what_a_text_defines_for_lanes_it_uses(seed):
    drawn = case(Random(f"masks {seed}"), tuple(EVERY_ISA), (1, 2))
    text = emit(drawn.scheme, EVERY_ISA[drawn.isa], drawn.threads, drawn.stream).text
    words = re.findall(r"\b(?:FIRST|transpose)_\d+\b", re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL))
    assert all(words.count(word) > 1 for word in words)
