"""The page of a run for a browser, and its pictures."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from bench.report import html, plots
from bench.report.sections import sections
from bench.report.summary import incomplete
from tests.support.search.made_up_results import CONDITIONS, GFLOP, MISSING, ONE, TWO, WHY, layer
from tests.support.search.pages import Page, needs_matplotlib


@pytest.mark.slow
@needs_matplotlib
def test_the_html_page_stands_alone(tmp_path):
    drawn = {section.name: plots.pictures(section) for section in (ONE, TWO)}
    text = html.page((ONE, TWO), CONDITIONS, MISSING, drawn)
    page = Page(text)
    assert all(link.startswith("#") and link[1:] in page.ids for link in page.links)
    assert not re.search(r"https?:|url\((?!#)|@import|<script", text)
    assert len(page.ids) == len(set(page.ids))
    assert text.count("<svg") == 6 and "prefers-color-scheme: dark" in text
    for said in (
        incomplete(MISSING),
        "net:A<&>",
        "Fast & <Furious>",
        WHY,
        "T(A<&>) λ",
        "pip install 'tilewright[peers]'",
    ):
        assert said in page.said
    assert "125 ms, 1.25× on 2 of 3 layers" in page.said


def test_the_html_page_says_why_it_has_no_pictures():
    page = Page(html.page((ONE,), CONDITIONS, without="there are no pictures"))
    assert "there are no pictures" in page.said and "Incomplete" not in page.said


@pytest.mark.slow
@needs_matplotlib
def test_a_section_has_three_pictures_of_every_layer():
    found = plots.pictures(ONE)
    assert [picture.kind for picture in found] == ["bars", "roofline", "model"]
    for picture in found:
        root = ElementTree.fromstring(picture.file)  # well-formed, with its namespaces: a file stands alone
        assert root.tag == "{http://www.w3.org/2000/svg}svg" and len(picture.file) > 5000
        assert "#ffffff" in picture.file and plots.INK in picture.file  # legible on a dark page too
        assert "matplotlib.org" not in picture.file  # another version of it writes the same file
        assert picture.svg.startswith("<svg ") and picture.svg.endswith("</svg>")
        assert "net, on 1 thread" in picture.caption
        assert "currentColor" in picture.svg and plots.INK not in picture.svg and "fill: #fff" not in picture.svg
    for label in ("A&lt;&amp;&gt;", ">B<", ">C<", "slow|er"):
        assert label in found[0].svg and label in found[0].file
    assert plots.pictures(ONE) == found  # the same results make the same files


@pytest.mark.slow
@needs_matplotlib
@pytest.mark.filterwarnings("error:constrained_layout")  # what does not fit its picture
def test_pictures_of_sections_at_the_edge():
    (plain,) = sections([layer("$x$_y", 50, {}, tried=())])
    assert [picture.kind for picture in plots.pictures(plain)] == ["bars", "roofline"]
    (padding,) = sections([layer("A", 50, {"_odd": 70}, flops_on_image=1)])
    assert [picture.kind for picture in plots.pictures(padding)] == ["bars", "roofline", "model"]
    (slow,) = sections([layer("A", 50, {}, compulsory_bytes=GFLOP * n) for n in (1, 10)])  # all bound by memory
    assert len(plots.pictures(slow)) == 3
    (many,) = sections([layer(f"a-long-name-{i}", 50, {f"peer{p}": 40 for p in range(9)}) for i in range(60)])
    assert "a-long-name-59" in plots.pictures(many)[0].svg
