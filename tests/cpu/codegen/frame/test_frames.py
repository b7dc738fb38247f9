"""The frames of C files lay out names and lines; what stands there is decided in Python."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import cpu.codegen.frame

TEMPLATES = sorted((Path(cpu.codegen.frame.__file__).parent / "templates").iterdir())


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_a_template_decides_nothing(path):
    text = path.read_text("utf-8")
    blocks = re.findall(r"/\*%-? *(\w+)(.*?)%\*/", text, re.S)
    assert {word for word, _ in blocks} <= {"for", "endfor"}
    assert not [rest for _, rest in blocks if " if " in rest]
    values = re.findall(r"\{\{(.*?)\}\}", text, re.S)
    assert values and not [value for value in values if re.search(r"\b(if|or|and|not)\b|[+~*=<>]", value.split("|")[0])]
