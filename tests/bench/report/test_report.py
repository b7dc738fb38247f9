"""What a run leaves, on made-up results: sentences, table, Markdown, HTML, pictures, and data to make them again."""

from __future__ import annotations

import csv
import importlib.util
import json
import re
import sys
from dataclasses import replace
from html.parser import HTMLParser
from io import StringIO
from xml.etree import ElementTree

import pytest
from rich.console import Console

from bench.report import html, markdown, plots, render
from bench.report.files import ReportError, append, check_writable, write
from bench.report.formats import FormatError, Run, from_json, from_json_lines, to_csv, to_json, to_json_lines
from bench.report.markdown import BEGIN, END, readme_table, rewrite_between_markers
from bench.report.results import MODEL, OURS
from bench.report.sections import sections
from bench.report.summary import facts, geometric_mean, incomplete, summary, totals
from bench.report.written import publish, table, write_report
from tests.support.search.made_up_results import CONDITIONS, GFLOP, RESULTS, WHY, layer
from tiling.machine import Timing

needs_matplotlib = pytest.mark.skipif(
    not importlib.util.find_spec("matplotlib"), reason="needs matplotlib, the extra [plot]"
)


ONE, TWO = sections(RESULTS)
MISSING = (("net:D on 1 thread", "failed: it crashed"), ("net:E", "late"), ("net:F", "late"))


class Page(HTMLParser):
    """Fails at a tag that closes another one; gathers what the page refers to and says."""

    VOID = frozenset({"meta", "br", "img", "link", "input"})

    def __init__(self, text: str):
        super().__init__()
        self.open: list[str] = []
        self.links: list[str] = []
        self.ids: list[str] = []
        self.said = ""
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attributes):
        if tag not in self.VOID:
            self.open.append(tag)
        self.handle_startendtag(tag, attributes)

    def handle_startendtag(self, tag, attributes):
        self.links += [value for name, value in attributes if name in ("href", "src", "xlink:href", "action")]
        self.ids += [value for name, value in attributes if name == "id"]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.said += data


@pytest.fixture
def no_matplotlib(monkeypatch):
    for name in ("matplotlib", "matplotlib.figure"):
        monkeypatch.setitem(sys.modules, name, None)


def rows(text: str) -> list[list[str]]:
    """The cells of a page's tables, headings and rules left out."""
    found = [re.split(r"(?<!\\)\|", line)[1:-1] for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in cells] for cells in found if cells[0].strip() not in ("layer", "---", "")]


# Sections


def test_sections_are_by_threads_and_suite_and_the_papers_networks_are_one():
    results = [layer("Y", 50, {}, "yolo9000"), layer("M", 50, {}, "mobilenet"), layer("R", 50, {}, "resnet18")]
    found = sections([*results, layer("R", 50, {}, "resnet18", 2), layer("R", 50, {}, "resnet18", cache="cold")])
    assert [(s.title, s.name, len(s.results)) for s in found] == [
        ("The layers of TTile's paper, on 1 thread", "ttile-1t", 2),
        ("mobilenet, on 1 thread", "mobilenet-1t", 1),
        ("resnet18, on 2 threads", "resnet18-2t", 1),
        ("resnet18, on 1 thread, cold caches", "resnet18-1t-cold-caches", 1),
    ]
    channels_first = replace(results[1], shape=results[1].shape + ",layout=nchw")
    assert [s.title for s in sections([results[1], channels_first])] == [
        "mobilenet, on 1 thread",
        "mobilenet, on 1 thread, NCHW",
    ]
    transformed = [replace(results[1], algorithm=name) for name in ("direct", "winograd", "auto")]
    assert [(s.title, s.name) for s in sections(transformed)] == [
        ("mobilenet, on 1 thread", "mobilenet-1t"),
        ("mobilenet, on 1 thread, winograd", "mobilenet-1t-winograd"),
        ("mobilenet, on 1 thread, winograd where faster", "mobilenet-1t-winograd-where-faster"),
    ]
    passing = [dict(facts(CONDITIONS, [r]))["FLOPs"].endswith("needs fewer and may pass it.") for r in transformed]
    assert passing == [False, True, True]


def test_a_section_names_all_peers_and_its_layers_as_short_as_they_can_be_told_apart():
    assert ONE.peers == ("fast", "slow|er")
    assert ONE.labels == ("A<&>", "B", "C")
    (both,) = sections([layer("1", 50, {}, "yolo9000"), layer("1", 50, {}, "resnet18")])
    assert both.labels == ("yolo9000:1", "resnet18:1")


# Figures and sentences


def test_geometric_mean():
    assert geometric_mean([7.0]) == pytest.approx(7)
    assert geometric_mean([1, 10, 100]) == pytest.approx(10)


def test_summary_has_every_figure_and_names_the_layers_where_a_peer_is_faster():
    mean, fast, slow, slowest, alone, network, longest, skipped = summary(ONE)
    assert mean == "Geometric mean over 3 layers: 40.0 % of peak called from Python, 41.2 % the kernel alone."
    assert "fast takes 1.00 times as long as ours in the geometric mean over 2 layers" in fast
    assert fast.endswith("it is faster on 1: net:B (0.50).")
    assert slow.startswith("slow|er takes 4.00 times") and slow.endswith("over 1 layer; it is faster on none.")
    assert slowest == "Slowest layer: net:B with 20.0 %."
    assert "reaches 20.0 % of peak, 50.0 % of what tuning reaches" in alone
    assert network == (
        "net, 3 layers, each as often as the network has it: ours 125 ms; fast 125 ms (1.25 times ours, without the 1 "
        "that it skipped); slow|er 200 ms (4.00 times ours, without the 2 that it skipped)."
    )
    assert longest == "Longest search of a layer: 31 s; until everything was checked and timed, 33 s at most."
    assert skipped == f"slow|er skipped net:B: {WHY}."


def test_summary_without_peers_and_without_the_models_choice():
    bare = layer("A", 50, {})
    (section,) = sections([replace(bare, contenders=bare.contenders[:1])])
    text = " ".join(summary(section))
    assert "times as long" not in text and "model" not in text and "each once: ours 20.0 ms." in text


def test_totals_compare_a_peer_on_the_layers_that_it_ran():
    ours, fast, slow = totals(ONE)
    assert (ours.layers, ours.seconds) == (3, pytest.approx(4 / 80 + 1 / 20 + 1 / 40))
    assert (fast.layers, fast.seconds) == (2, pytest.approx(5 / 40))
    assert (fast.ours, slow.layers) == (pytest.approx(4 / 80 + 1 / 20), 1)


def test_incomplete_gathers_the_layers_by_reason():
    line = "Incomplete: without net:D on 1 thread (failed: it crashed); without net:E, net:F (late)."
    assert incomplete(MISSING) == line


def test_facts_state_what_ran_what_did_not_and_how_to_get_it():
    said = dict(facts(CONDITIONS, RESULTS))
    assert said["fast"] == "Fast & <Furious>; 1.0."
    assert said["ort"] == "Did not run: onnxruntime is not installed: pip install 'tilewright[peers]'."
    assert "FMA peak of one core 100 GFLOP/s; memory read by one core 10 GB/s" in said["Measured in the run"]
    assert {"Machine", "Versions", "Caches", "Threads", "Memory", "Turns", "Search", "Times", "Check"} <= set(said)


def test_the_terminal_table_has_a_row_a_layer():
    console = Console(width=80, file=StringIO())
    console.print(table(TWO))
    text = console.file.getvalue()
    assert "on 2 threads" in text
    found = [line.split() for line in text.splitlines() if line.split()[:1] and line.split()[0] in TWO.labels]
    assert found[0] == ["A<&>", "80.0", "81.0", "40.0", "125", "40.0", "2.00×", "20.0", "4.00×"]
    assert found[1][-1] == "–" and found[2][-2:] == ["–", "–"]


# Formats


def test_json_reads_back_to_the_same_results():
    for result in RESULTS:
        assert from_json(to_json(result)) == result
    run = Run(CONDITIONS, RESULTS, MISSING)
    assert from_json_lines(to_json_lines(run)) == run


@pytest.mark.parametrize(
    "change, why",
    [
        (lambda r: r.pop("scheme"), "result is not as this version writes it: missing or unknown are scheme"),
        (lambda r: r.update(colour=1), "missing or unknown are colour"),
        (lambda r: r.update(flops="many"), "result.flops is not a whole number"),
        (lambda r: r.update(flops=True), "result.flops is not a whole number"),
        (lambda r: r.update(threads=0), "the result of net:A<&> breaks the rule that it has one thread"),
        (lambda r: r.update(tried=[[1.0]]), r"result.tried[0] has 1 entries in the place of 2"),
        (lambda r: r.update(contenders=[]), "its first contender is ours"),
        (lambda r: r["contenders"][2]["call"].update(samples=[]), "contenders[2].call: no samples"),
        (lambda r: r["contenders"][2].update(call=None), "result.contenders[2].call is not a JSON object"),
        (lambda r: r["contenders"][1].update(max_error=float("nan")), "contenders[1].max_error is not a finite number"),
    ],
)
def test_what_is_no_result_is_refused_with_a_sentence(change, why):
    value = json.loads(to_json(RESULTS[0]))
    change(value)
    with pytest.raises(FormatError, match=re.escape(why)):
        from_json(json.dumps(value))


@pytest.mark.parametrize(
    "text, why",
    [
        ("", "the first line does not state the conditions"),
        ("{torn", "line 1: '{torn' is not JSON"),
        ("[1]", "line 1: '[1]' is not a JSON object"),
        (to_json(RESULTS[0]), "the first line does not state the conditions"),
        (to_json_lines(Run(CONDITIONS, ())), "there is no layer in it"),
        (to_json_lines(Run(CONDITIONS, RESULTS[:1])) + '{"missing": "x"}', "line 3: why is not a text"),
    ],
)
def test_a_file_that_is_no_run_is_refused_with_a_sentence(text, why):
    with pytest.raises(FormatError, match=re.escape(why)):
        from_json_lines(text)


def test_csv_has_a_row_a_layer_and_contender_and_one_for_what_was_skipped():
    found = list(csv.DictReader(StringIO(to_csv(RESULTS))))
    assert [row["contender"] for row in found[:8]] == [OURS, MODEL, "fast", "slow|er", OURS, MODEL, "fast", "slow|er"]
    ours, model, fast = found[:3]
    assert (ours["layer"], ours["count"], ours["scheme"], model["scheme"]) == ("A<&>", "4", "T(A<&>) λ", "M")
    assert float(fast["percent"]) == pytest.approx(40) and float(fast["ratio_to_ours"]) == pytest.approx(2)
    assert float(ours["kernel_percent"]) == pytest.approx(81) and fast["kernel_seconds"] == fast["scheme"] == ""
    assert float(ours["call_seconds"]) == RESULTS[0].ours.call.seconds
    assert found[7]["skipped"] == WHY and found[7]["call_seconds"] == "" and found[7]["layer"] == "B"


def test_csv_states_the_quartiles_of_a_call():
    varied = replace(RESULTS[0].ours, call=Timing((8.0, 1.0, 5.0, 3.0, 2.0, 7.0, 4.0, 6.0), 1.0))
    row = next(csv.DictReader(StringIO(to_csv([replace(RESULTS[0], contenders=(varied,))]))))
    assert [float(row[f"call_{name}"]) for name in ("quartile_1", "seconds", "quartile_3")] == [3.0, 4.5, 6.0]


# Markdown


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


# HTML and pictures


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
        assert "currentColor" in picture.svg and plots.INK not in picture.svg
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


# Files


def test_a_run_without_peers_takes_no_comparison_s_place(tmp_path):
    readme = tmp_path / "README.md"
    readme.write_text(f"{BEGIN}\n{END}\n", encoding="utf-8")
    alone, compared = Run(CONDITIONS, (layer("A", 50, {}),), ()), Run(CONDITIONS, RESULTS, ())
    for run, stays in ((alone, False), (alone, False), (compared, False), (alone, True), (compared, False)):
        before = readme.read_text(encoding="utf-8")
        (said,) = publish(run, None, "performance", readme)
        assert (readme.read_text(encoding="utf-8") == before and "stays as it was" in said) is stays, said


@pytest.mark.slow
@needs_matplotlib
def test_a_report_is_a_folder_that_can_be_made_again_from_its_json_lines(tmp_path, capsys):
    first, again = tmp_path / "new" / "docs", tmp_path / "again"
    (said,) = write_report(first, "performance", (ONE, TWO), CONDITIONS, MISSING)
    names = sorted(path.name for path in first.iterdir())
    pictures = [f"performance-net-{t}t-{kind}.svg" for t in (1, 2) for kind in ("bars", "model", "roofline")]
    assert names == sorted([*pictures, *(f"performance{suffix}" for suffix in (".md", ".html", ".csv", ".jsonl"))])
    assert "performance.md" in said and "6 pictures" in said
    text = (first / "performance.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"\]\((.*?)\)", text)) == pictures

    readme = tmp_path / "README.md"
    readme.write_text(f"{BEGIN}\n{END}\n", encoding="utf-8")
    assert render.main([str(first / "performance.jsonl"), "--report", str(again), "--readme", str(readme)]) == 0
    assert all((again / name).read_bytes() == (first / name).read_bytes() for name in names)
    assert readme_table((ONE, TWO), CONDITIONS) in readme.read_text(encoding="utf-8")


def test_without_matplotlib_the_report_has_no_pictures_and_says_what_to_install(no_matplotlib, tmp_path):
    why, wrote = write_report(tmp_path, "performance", (ONE,), CONDITIONS)
    assert why == "there are no pictures, which need matplotlib: pip install 'tilewright[plot]'"
    assert "pictures" not in wrote and not list(tmp_path.glob("*.svg"))
    assert "![" not in (tmp_path / "performance.md").read_text(encoding="utf-8")
    assert why in Page((tmp_path / "performance.html").read_text(encoding="utf-8")).said


def test_rendering_without_options_prints_the_tables(tmp_path, capsys):
    path = tmp_path / "run.jsonl"
    path.write_text(to_json_lines(Run(CONDITIONS, RESULTS, MISSING)), encoding="utf-8")
    assert render.main([str(path)]) == 0
    said = capsys.readouterr().out
    assert said.count("Slowest layer: net:B") == 2 and incomplete(MISSING) in said


@pytest.mark.slow
def test_what_cannot_be_rendered_is_one_sentence(tmp_path, capsys):
    (tmp_path / "odd.jsonl").write_text("no\n", encoding="utf-8")
    (tmp_path / "binary.jsonl").write_bytes(b"\xff\xfe")
    for name, why in (("odd", "is no file of results"), ("binary", "is no file of results"), ("none", "cannot read")):
        assert render.main([str(tmp_path / f"{name}.jsonl")]) == 2
        said = capsys.readouterr().err
        assert why in said and said.count("\n") == 1
    path = tmp_path / "run.jsonl"
    path.write_text(to_json_lines(Run(CONDITIONS, RESULTS)), encoding="utf-8")
    assert render.main([str(path), "--report", str(path)]) == 1
    assert capsys.readouterr().err.startswith(f"cannot write {path}")


def test_asking_whether_a_file_is_writable_leaves_no_trace(tmp_path):
    check_writable(tmp_path / "folder" / "new.md")
    assert not (tmp_path / "folder" / "new.md").exists()
    write(tmp_path / "old.md", "K·eps")
    check_writable(tmp_path / "old.md")
    append(tmp_path / "old.md", "!")
    assert (tmp_path / "old.md").read_bytes() == "K·eps!\n".encode()
