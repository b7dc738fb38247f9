"""What docs/scheme.md shows of one scheme on both machines is what is emitted."""

import re
from pathlib import Path

from cpu.codegen.emit import emit
from gpu.codegen.loops.scheme import emit_scheme
from microkernels.tile.isa import isa_named
from tiling.operators import matmul
from tiling.rewrite.unvectorised import vectorised
from tiling.text.notation import parse

PAGE = Path(__file__).parents[3] / "docs" / "scheme.md"


def test_the_page_shows_both_kernels():
    section = PAGE.read_text(encoding="utf-8").split("## One text on both machines")[1].split("\n## ")[0]
    text, on_gpu, on_cpu = re.findall(r"```c?\n(.*?)```", section, re.S)
    scheme = parse(matmul(m=128, n=128, k=64), text)
    of_cpu = vectorised(scheme, 16)
    assert of_cpu.text in " ".join(section.split())
    for shown, emitted in ((on_gpu, emit_scheme(scheme).text), (on_cpu, emit(of_cpu, isa_named("avx512f")).text)):
        found = {line.strip() for line in emitted.splitlines()}
        for line in shown.splitlines():
            begin = line.split("…")[0].strip()
            assert begin in found or (begin != line.strip() and any(each.startswith(begin) for each in found)), line
