"""The pages say where things are and which options there are: what they name exists."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
OURS = "bench|cpu|docs|examples|gpu|microkernels|search|tests|tiling"
NAMES = [page.relative_to(ROOT).as_posix() for page in PAGES]


def anchors(page: Path) -> set[str]:
    """What `#…` may follow a link to a page, as GitHub makes it of the headings."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_links_lead_somewhere(page):
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    broken = []
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        if not re.match("https?:", link) and (
            not target.exists() or (anchor and target.suffix == ".md" and anchor not in anchors(target))
        ):
            broken.append(link)
    assert not broken


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_files_that_are_named_exist(page):
    """`cpu/codegen/site.py`, a file of tests in a command, `gpu/twin/*.h`. A benchmark's command is as it was typed."""
    text = re.sub(r"^Written by `.*", "", page.read_text(encoding="utf-8"), flags=re.M)
    named = set(re.findall(rf"(?<![\w/.])((?:{OURS})/[a-z0-9_/*]+(?:\.[a-z][a-z0-9]*)+)\b", text))
    assert not [name for name in sorted(named) if not any(ROOT.glob(name))]


@pytest.mark.parametrize("command", ["search.conv", "search.matmul"])
def test_the_guide_has_every_option(command):
    said = subprocess.check_output([sys.executable, "-m", command, "--help"], cwd=ROOT, text=True)
    options = set(re.findall(r"^  (--[a-z-]+)", said, re.M))
    guide = (ROOT / "docs" / "guide.md").read_text(encoding="utf-8")
    assert len(options) > 15 and not [option for option in sorted(options) if f"`{option}" not in guide]


def test_every_decision_is_in_the_list():
    folder = ROOT / "docs" / "decisions"
    pages = {page.name for page in folder.glob("[0-9]*.md")}
    listed = re.findall(r"\]\(([0-9][^)]*)\)", (folder / "README.md").read_text(encoding="utf-8"))
    assert pages == set(listed) and [name[:3] for name in listed] == [f"{n:03}" for n in range(1, len(listed) + 1)]
