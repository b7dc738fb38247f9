"""The page of a run, and the table in the README."""

from __future__ import annotations

import re

import pytest

from bench.report import markdown
from bench.report.files import ReportError
from bench.report.markdown import BEGIN, END, readme_table, rewrite_between_markers
from bench.report.sections import sections
from bench.report.summary import incomplete
from tests.support.search.made_up_results import CONDITIONS, MISSING, ONE, TWO, layer


def rows(text: str) -> list[list[str]]:
    """The cells of a page's tables, headings and rules left out."""
    found = [re.split(r"(?<!\\)\|", line)[1:-1] for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in cells] for cells in found if cells[0].strip() not in ("layer", "---", "")]


def test_the_page_has_conditions_first_and_a_row_a_layer():
    text = markdown.page((ONE, TWO), CONDITIONS, (), {"net-1t": [("p-net-1t-bars.svg", "bars <of> it")]})
    parts = ("`python -m bench --suite a 'b & c'`", "warm caches", "## net, on 1 thread")
    places = [text.index(part) for part in parts]
    assert places == sorted(places)
    assert "![bars &lt;of&gt; it](p-net-1t-bars.svg)" in text and "Incomplete" not in text
    found = rows(text)
    assert len(found) == 6 and {len(cells) for cells in found} == {13}
    assert found[0] == [
        *("net:A&lt;&amp;&gt;", "c=4 h=6 w=8 k=8 r=1 s=1", "12.5", "fast", "25.0", "2.00", "80.0", "81.0", "0.0"),
        *("40.0", "125", "1e-07", "`T(A<&>) λ`"),
    ]
    assert found[2][3:6] == ["–", "–", "–"]
    assert "**slow\\|er**: Slow; 2.0." in text


def test_the_page_says_at_its_top_what_is_missing():
    assert markdown.page((ONE,), CONDITIONS, MISSING).splitlines()[2] == f"**{incomplete(MISSING)}**"


def test_the_readme_table_has_a_row_a_section():
    one, two = rows(readme_table((ONE, TWO), CONDITIONS))
    assert one[:5] == ["net, on 1 thread", "40.0", "41.2", "20.0", "20.0 (B)"]
    assert one[5:] == ["1.00, faster on 1 of 2", "4.00, faster on 0 of 1"]
    assert two[0] == "net, on 2 threads"
    (alone,) = rows(readme_table(sections([layer("A", 50, {}), layer("B", 50, {"fast": 25})]), CONDITIONS))
    assert alone[-1] == "2.00, faster on 0 of 1"


def test_the_readme_is_rewritten_between_its_markers_only(tmp_path):
    path = tmp_path / "README.md"
    path.write_text(f"before\n{BEGIN}\nold\n{END}\nafter λ\n", encoding="utf-8")
    for _ in range(2):
        rewrite_between_markers(path, "| new |\n")
        assert path.read_text(encoding="utf-8") == f"before\n{BEGIN}\n| new |\n{END}\nafter λ\n"


@pytest.mark.parametrize("text", ["", BEGIN, END, f"{END}\n{BEGIN}\n"])
def test_a_readme_without_markers_is_left_alone(tmp_path, text):
    path = tmp_path / "README.md"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ReportError, match=f"README.md: it needs a line {BEGIN} and after it a line {END}"):
        rewrite_between_markers(path, "new")
    assert path.read_text(encoding="utf-8") == text
    with pytest.raises(ReportError, match=r"cannot write .*NONE.md"):
        rewrite_between_markers(tmp_path / "NONE.md", "new")
