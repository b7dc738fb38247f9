"""The results as one HTML page that needs no other file and no network, in light and in dark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import jinja2

from bench.report.plots import Picture
from bench.report.results import MODEL, OURS, Conditions, ContenderResult, LayerResult
from bench.report.sections import Section, layer_name
from bench.report.summary import Total, facts, incomplete, summary, totals
from tiling.durations import milliseconds

TEMPLATES = jinja2.Environment(
    loader=jinja2.FileSystemLoader(Path(__file__).with_name("templates")),
    autoescape=True,
    undefined=jinja2.StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


def page(
    sections: Sequence[Section],
    conditions: Conditions,
    missing: Sequence[tuple[str, str]] = (),
    pictures: Mapping[str, Sequence[Picture]] | None = None,
    without: str = "",
) -> str:
    """The whole page. pictures: SVG texts by the names of their sections. without: why there are none. missing: as for
    `incomplete`.
    """
    results = [r for section in sections for r in section.results]
    return TEMPLATES.get_template("report.html.j2").render(
        conditions=conditions,
        incomplete=incomplete(missing) if missing else "",
        facts=facts(conditions, results),
        without=without,
        sections=[_section(section, (pictures or {}).get(section.name, ())) for section in sections],
    )


def _section(section: Section, pictures: Sequence[Picture]) -> dict[str, object]:
    names = (OURS, *section.peers)
    return {
        "title": section.title,
        "name": section.name,
        "sentences": summary(section),
        "pictures": pictures,
        "contenders": names,
        "totals": _totals(section, names),
        "layers": [_layer(r, names) for r in section.results],
    }


def _totals(section: Section, names: Sequence[str]) -> list[tuple[str, list[str]]]:
    """(network, a cell for each contender)."""
    found = {(total.suite, total.contender): total for total in totals(section)}
    suites = dict.fromkeys(suite for suite, _ in found)
    return [(suite, [_total(found.get((suite, name)), found[suite, OURS]) for name in names]) for suite in suites]


def _total(total: Total | None, ours: Total) -> str:
    if total is None:
        return "–"
    if total.contender == OURS:
        return f"{milliseconds(total.seconds)} ms"
    part = "" if total.layers == ours.layers else f" on {total.layers} of {ours.layers} layers"
    return f"{milliseconds(total.seconds)} ms, {total.seconds / total.ours:.2f}×{part}"


def _layer(r: LayerResult, names: Sequence[str]) -> dict[str, object]:
    model, kernel = r.contender(MODEL), r.kernel_percent(r.ours)
    ran = [r.contender(name) for name in names[1:]]
    return {
        "name": layer_name(r),
        "shape": r.shown_shape,
        "count": r.count,
        "milliseconds": milliseconds(r.ours.call.seconds),
        "percent": f"{r.percent(r.ours):.1f}",
        "kernel": f"{kernel:.1f}" if kernel else "–",
        "spread": f"{100 * r.ours.call.spread:.1f}",
        "model": f"{r.percent(model):.1f}" if model else "–",
        "limit": f"{r.limit_percent:.0f}",
        "error": f"{max(c.max_error for c in r.contenders if c.name in (OURS, MODEL)):.1g}",
        "peers": [_peer(r, c) for c in ran],
        "scheme": r.scheme,
    }


def _peer(r: LayerResult, peer: ContenderResult | None) -> tuple[str, str, bool]:
    """(percent of peak, ratio, whether it is faster than ours)."""
    return (f"{r.percent(peer):.1f}", f"{r.ratio(peer):.2f}×", r.ratio(peer) < 1) if peer else ("–", "", False)
