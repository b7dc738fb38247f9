"""The results as Markdown: the page of a report, and the table in the README."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from bench.report.files import ReportError, reported, write
from bench.report.results import MODEL, Conditions, LayerResult
from bench.report.sections import Section, layer_name
from bench.report.summary import facts, geometric_mean, incomplete, padding, ratios, summary
from bench.report.words import WORDS
from tiling.durations import milliseconds

BEGIN, END = "<!-- bench:begin -->", "<!-- bench:end -->"

_COLUMNS = (
    *("layer", "shape", "ours ms", "best peer", "peer ms", "ratio", "% of peak", "kernel alone %", "spread %"),
    *("model only %", "limit %", "max error", "scheme"),
)


def page(
    sections: Sequence[Section],
    conditions: Conditions,
    missing: Sequence[tuple[str, str]] = (),
    pictures: Mapping[str, Sequence[tuple[str, str]]] | None = None,
) -> str:
    """The whole page: the conditions, then for each section the summary, its pictures and one row a layer.

    missing: layers without a result, as for `incomplete`; the page names them first. pictures: (file, caption) by the
    section's name, with files relative to the page.
    """
    results = [r for section in sections for r in section.results]
    lines = [
        "# Performance",
        "",
        *([f"**{_text(incomplete(missing))}**", ""] if missing else []),
        f"Written by `{conditions.command}`; run it again to see your machine's figures.",
        "",
        *(f"- **{_text(term)}**: {_text(sentence)}" for term, sentence in facts(conditions, results)),
    ]
    for section in sections:
        lines += ["", f"## {_text(section.title)}", "", *(f"- {_text(sentence)}" for sentence in summary(section))]
        for file, caption in (pictures or {}).get(section.name, ()):
            lines += ["", f"![{_text(caption)}]({file})"]
        lines += ["", *_table(_COLUMNS, map(_layer, section.results))]
    return "\n".join(lines) + "\n"


def readme_table(sections: Sequence[Section], conditions: Conditions, missing: Sequence[tuple[str, str]] = ()) -> str:
    """One row a section, with geometric means over its layers; then the conditions and the command.

    The layers that are missing come first, so that a part does not pass for the whole run.
    """
    peers = list(dict.fromkeys(name for section in sections for name in section.peers))
    against = [f"{_text(name)} / ours" for name in peers]
    columns = ("", "% of peak", "kernel alone %", "model only %", "slowest layer", *against)
    versions = "; ".join(f"{name} is {title}, {version}" for name, title, version in conditions.peers)
    lines = [
        *([f"**{_text(incomplete(missing))}**", ""] if missing else []),
        *_table(columns, (_section(section, peers) for section in sections)),
        "",
        f"Geometric means on `{conditions.machine.fingerprint}` ({conditions.machine.isa}, {conditions.compiler}), "
        f"{WORDS[conditions.target].call}; a peer's column says how many times as long as ours its call takes, and on "
        f"how many layers it is faster.{padding(r for section in sections for r in section.results)} "
        f"{_text(versions + '. ') if versions else ''}Written by `{conditions.command}`.",
    ]
    return "\n".join(lines) + "\n"


def rewrite_between_markers(path: Path, text: str) -> None:
    """Puts `text` between the markers of the file at `path`. Raises ReportError, also where a marker is missing."""
    head, _, tail = around_markers(path)
    write(path, f"{head}{BEGIN}\n{text.strip()}\n{END}{tail}")


def compares(path: Path) -> bool:
    """Whether the table between the markers of a file has a column of a peer. Raises ReportError."""
    return " / ours |" in around_markers(path)[1]


def around_markers(path: Path) -> tuple[str, str, str]:
    """The text before the markers of a file, between them, and after them. Raises ReportError."""
    with reported(path):
        try:
            whole = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            raise ReportError(f"cannot write {path}: it is no UTF-8 text") from None
    head, begin, rest = whole.partition(BEGIN)
    inside, end, tail = rest.partition(END)
    if not begin or not end:
        raise ReportError(f"cannot write {path}: it needs a line {BEGIN} and after it a line {END}")
    return head, inside, tail


def _layer(r: LayerResult) -> tuple[str, ...]:
    best, model, kernel = r.best_peer, r.contender(MODEL), r.kernel_percent(r.ours)
    return (
        _text(layer_name(r)),
        _text(r.shown_shape),
        milliseconds(r.ours.call.seconds),
        _text(best.name) if best else "–",
        milliseconds(best.call.seconds) if best else "–",
        f"{r.ratio(best):.2f}" if best else "–",
        f"{r.percent(r.ours):.1f}",
        f"{kernel:.1f}" if kernel else "–",
        f"{100 * r.ours.call.spread:.1f}",
        f"{r.percent(model):.1f}" if model else "–",
        f"{r.limit_percent:.0f}",
        f"{r.ours.max_error:.1g}",
        f"`{r.scheme}`",
    )


def _section(section: Section, peers: Sequence[str]) -> tuple[str, ...]:
    results = section.results
    worst = min(results, key=lambda r: r.percent(r.ours))
    return (
        _text(section.title),
        f"{geometric_mean([r.percent(r.ours) for r in results]):.1f}",
        _mean([r.kernel_percent(r.ours) for r in results]),
        _mean([r.percent(model) if (model := r.contender(MODEL)) else None for r in results]),
        f"{worst.percent(worst.ours):.1f} ({_text(worst.layer)})",
        *(_against(section, name) for name in peers),
    )


def _against(section: Section, peer: str) -> str:
    found = [ratio for _, ratio in ratios(section.results, peer)]
    if not found:
        return "–"
    return f"{geometric_mean(found):.2f}, faster on {sum(ratio < 1 for ratio in found)} of {len(found)}"


def _mean(percents: Sequence[float | None]) -> str:
    """The geometric mean; a dash where a layer lacks the figure, since means over different layers do not compare."""
    known = [percent for percent in percents if percent is not None]
    return f"{geometric_mean(known):.1f}" if len(known) == len(percents) else "–"


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    return [f"| {' | '.join(cells)} |" for cells in (columns, ["---"] * len(columns), *rows)]


def _text(text: str) -> str:
    """The text with Markdown's special characters escaped, also for a cell of a table."""
    for character, shown in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("|", "\\|"), ("\n", " ")):
        text = text.replace(character, shown)
    return text
