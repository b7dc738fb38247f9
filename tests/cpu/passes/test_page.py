"""docs/passes.md and docs/program-passes.md: what they show is what passes make of their kernels now."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from textwrap import dedent

import pytest

from cpu.passes.order import PRODUCT, PROGRAM
from search.conv import main as conv
from search.program import main as program
from tiling.loops.passes import LOWER, names

DOCS = Path(__file__).parents[3] / "docs"
COMMANDS = {"search.conv": conv, "search.program": program}


@dataclass(frozen=True)
class Page:
    """A page that walks a kernel through all passes, a heading for those between two excerpts."""

    name: str
    passes: tuple[str, ...]

    @cached_property
    def text(self) -> str:
        return (DOCS / self.name).read_text(encoding="utf-8")

    @cached_property
    def sections(self) -> dict[str, str]:
        return {section.partition("\n")[0]: section for section in self.text.split("\n## ")[1:]}

    def listing(self, name: str, capsys) -> str:
        """What the page's own command prints of a pass."""
        (command,) = re.findall(r"```sh\n(.*?)```", self.text, re.S)
        python, _, module, *words = shlex.split(command.replace("\\\n", ""))
        assert python == "python"
        words.remove("--show-passes")
        assert COMMANDS[module]([*words, f"--show-passes={name}"]) == 0
        return capsys.readouterr().out


PAGES = {"passes.md": Page("passes.md", names(PRODUCT)), "program-passes.md": Page("program-passes.md", names(PROGRAM))}
IDLE = ("prefetch pixels", "stream stores", "store lines")  # what the kernel of passes.md does not need


def shown(section: str) -> list[str]:
    """The excerpts of a section: runs of lines between dots."""
    blocks = re.findall(r"```text\n(.*?)```", section, re.S)
    runs = [dedent(run).strip("\n") for block in blocks for run in re.split(r"^ *…\n", block, flags=re.M)]
    return [run for run in runs if run]


@pytest.mark.parametrize("page", PAGES)
def test_a_page_walks_through_all_passes_in_order(page):
    headings = [name for heading in PAGES[page].sections for name in heading.split(", ")]
    assert headings == list(PAGES[page].passes) and headings[0] == LOWER
    assert len(PAGES[page].text.splitlines()) <= 160


@pytest.mark.parametrize("page, heading", [(page, heading) for page in PAGES for heading in PAGES[page].sections])
def test_an_excerpt_is_what_the_last_pass_of_its_heading_makes(page, heading, capsys):
    name = [name for name in heading.split(", ") if name not in IDLE][-1]
    lines = PAGES[page].listing(name, capsys).splitlines()
    excerpts, at = shown(PAGES[page].sections[heading]), 0
    assert excerpts
    for excerpt in excerpts:
        wanted = excerpt.splitlines()
        starts = (n for n in range(at, len(lines)) if dedent("\n".join(lines[n : n + len(wanted)])) == excerpt)
        found = next(starts, None)
        assert found is not None, f"after {name!r} there is no\n{excerpt}"
        at = found
