"""docs/passes.md: what it shows is what passes make of its kernel now."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from textwrap import dedent

import pytest

from cpu.passes.order import PRODUCT
from search.conv import main as conv
from tiling.loops.passes import LOWER, names

PAGE = (Path(__file__).parents[3] / "docs" / "passes.md").read_text(encoding="utf-8")
SECTIONS = {section.partition("\n")[0]: section for section in PAGE.split("\n## ")[1:]}
(COMMAND,) = re.findall(r"```sh\n(.*?)```", PAGE, re.S)


def shown(section: str) -> list[str]:
    """The excerpts of a section: runs of lines between dots."""
    blocks = re.findall(r"```text\n(.*?)```", section, re.S)
    return [dedent(run).strip("\n") for block in blocks for run in re.split(r"^ *…\n", block, flags=re.M)]


def listing(name: str, capsys) -> str:
    """What the page's own command prints of a pass."""
    words = shlex.split(COMMAND.replace("\\\n", ""))
    assert words[:3] == ["python", "-m", "search.conv"] and conv([*words[3:], f"--show-passes={name}"]) == 0
    return capsys.readouterr().out


def test_the_page_walks_through_all_passes_in_order():
    headings = [name for heading in SECTIONS for name in heading.split(", ")]
    assert headings == list(names(PRODUCT)) and headings[0] == LOWER
    assert len(PAGE.splitlines()) <= 160


@pytest.mark.parametrize("heading", SECTIONS)
def test_an_excerpt_is_what_the_last_pass_of_its_heading_makes(heading, capsys):
    name = [name for name in heading.split(", ") if name not in ("stream stores", "store lines")][
        -1
    ]  # not of this kernel
    lines = listing(name, capsys).splitlines()
    excerpts, at = shown(SECTIONS[heading]), 0
    assert excerpts
    for excerpt in excerpts:
        wanted = excerpt.splitlines()
        starts = (n for n in range(at, len(lines)) if dedent("\n".join(lines[n : n + len(wanted)])) == excerpt)
        found = next(starts, None)
        assert found is not None, f"after {name!r} there is no\n{excerpt}"
        at = found
