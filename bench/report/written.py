"""The output of a run: a table in the terminal, and a folder with a page, its pictures, and results for programs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from bench.report import html, markdown, plots
from bench.report.files import write
from bench.report.formats import BenchRun, to_csv, to_json_lines
from bench.report.results import MODEL, OURS, Conditions, LayerResult
from bench.report.sections import Section, sections
from bench.report.summary import incomplete, padding, summary

SUFFIXES = (".md", ".html", ".csv", ".jsonl")


def table(section: Section) -> Table:
    """One row a layer, for a terminal: percents of peak, and how many times as long as ours each peer takes."""
    against = ", and how many times as long as ours" if section.peers else ""
    shown = Table(
        title=f"{section.title}: % of the {section.words.peak}{against}",
        title_justify="left",
        box=SIMPLE_HEAD,
        pad_edge=False,
    )
    model = any(r.contender(MODEL) for r in section.results)
    columns = ("layer", "call", "kernel", *(["model"] if model else []), "limit", *section.peers)
    for column in columns:
        shown.add_column(column, justify="left" if column == "layer" else "right", overflow="fold")
    for label, r in zip(section.labels, section.results):
        alone = [_percent(r, MODEL)] if model else []
        peers = [_percent(r, name) + _ratio(r, name) for name in section.peers]
        shown.add_row(label, _percent(r, OURS), _kernel(r), *alone, f"{r.limit_percent:.0f}", *peers)
    return shown


def show(found: Sequence[Section], missing: Sequence[tuple[str, str]]) -> None:
    """Prints the table and the figures of each section, and what is missing."""
    for section in found:
        Console().print(table(section))
        print("\n".join(summary(section)) + padding(section.results), flush=True)
    if missing:
        print(incomplete(missing), flush=True)


def publish(run: BenchRun, folder: Path | None, name: str, readme: Path | None) -> list[str]:
    """Writes the report into `folder` and the table into `readme`, where given, and says so. Raises ReportError.

    A table that compares with peers stays where this run has none.
    """
    found = sections(run.results)
    said = write_report(folder, name, found, run.conditions, run.missing) if folder else []
    if readme and markdown.compares(readme) and not any(r.peers for r in run.results):
        said.append(
            f"{readme} stays as it was: its table has peers and this run none (pip install 'tilewright[peers]')"
        )
    elif readme:
        markdown.rewrite_between_markers(readme, markdown.readme_table(found, run.conditions, run.missing))
        said.append(f"wrote the table in {readme}")
    return said


def write_report(
    folder: Path,
    name: str,
    found: Sequence[Section],
    conditions: Conditions,
    missing: Sequence[tuple[str, str]] = (),
) -> list[str]:
    """Writes `name`.md with its pictures, `name`.html, .csv and .jsonl into `folder`; says in sentences what it wrote.

    Without matplotlib the pages have no pictures, and a sentence says so. Raises ReportError.
    """
    results = tuple(r for section in found for r in section.results)
    said = []
    try:
        drawn = {section.name: plots.pictures(section) for section in found}
        without = ""
    except plots.PlotError as error:
        drawn, without = {}, f"{error}"
        said.append(without)
    files = {
        section: [(f"{name}-{section}-{picture.kind}.svg", picture) for picture in pictures]
        for section, pictures in drawn.items()
    }
    for file, picture in (pair for pairs in files.values() for pair in pairs):
        write(folder / file, picture.file)
    linked = {section: [(file, picture.caption) for file, picture in pairs] for section, pairs in files.items()}
    texts = (
        markdown.page(found, conditions, missing, linked),
        html.page(found, conditions, missing, drawn, without),
        to_csv(results),
        to_json_lines(BenchRun(conditions, results, tuple(missing))),
    )
    for suffix, text in zip(SUFFIXES, texts):
        write(folder / f"{name}{suffix}", text)
    count = sum(map(len, files.values()))
    kept = ", ".join(f"{name}{suffix}" for suffix in SUFFIXES)
    return [*said, f"wrote {kept}{f' and {count} pictures' if count else ''} into {folder}"]


def _percent(result: LayerResult, name: str) -> str:
    found = result.contender(name)
    return f"{result.percent(found):.1f}" if found else "–"


def _kernel(result: LayerResult) -> str:
    percent = result.kernel_percent(result.ours)
    return f"{percent:.1f}" if percent else "–"


def _ratio(result: LayerResult, name: str) -> str:
    found = result.contender(name)
    return f" {result.ratio(found):.2f}×" if found else ""
