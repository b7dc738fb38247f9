"""The files of a report, and making them again."""

from __future__ import annotations

import re
import sys

import pytest

from bench.report import render
from bench.report.files import append, check_writable, write
from bench.report.formats import BenchRun, to_json_lines
from bench.report.markdown import BEGIN, END, readme_table
from bench.report.summary import incomplete
from bench.report.written import publish, write_report
from tests.support.search.made_up_results import CONDITIONS, MISSING, ONE, RESULTS, TWO, layer
from tests.support.search.pages import Page, needs_matplotlib


@pytest.fixture
def no_matplotlib(monkeypatch):
    for name in ("matplotlib", "matplotlib.figure"):
        monkeypatch.setitem(sys.modules, name, None)


def test_a_run_without_peers_takes_no_comparison_s_place(tmp_path):
    readme = tmp_path / "README.md"
    readme.write_text(f"{BEGIN}\n{END}\n", encoding="utf-8")
    alone, compared = BenchRun(CONDITIONS, (layer("A", 50, {}),), ()), BenchRun(CONDITIONS, RESULTS, ())
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
    path.write_text(to_json_lines(BenchRun(CONDITIONS, RESULTS, MISSING)), encoding="utf-8")
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
    path.write_text(to_json_lines(BenchRun(CONDITIONS, RESULTS)), encoding="utf-8")
    assert render.main([str(path), "--report", str(path)]) == 1
    assert capsys.readouterr().err.startswith(f"cannot write {path}")


def test_asking_whether_a_file_is_writable_leaves_no_trace(tmp_path):
    check_writable(tmp_path / "folder" / "new.md")
    assert not (tmp_path / "folder" / "new.md").exists()
    write(tmp_path / "old.md", "K·eps")
    check_writable(tmp_path / "old.md")
    append(tmp_path / "old.md", "!")
    assert (tmp_path / "old.md").read_bytes() == "K·eps!\n".encode()
