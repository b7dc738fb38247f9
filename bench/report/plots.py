"""The pictures of a section: percent of peak by layer, the roofline, and the model's predictions beside what came."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from statistics import median
from typing import Any

from bench.report.results import OURS, LayerResult
from bench.report.sections import Section
from bench.report.summary import geometric_mean
from bench.report.svg import INK, STYLE, inline, standing_alone

# Okabe and Ito's colours, told apart by colour-blind readers and legible on white and on black; ours is the first.
COLOURS = ("#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#56b4e9", "#8c8c8c")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
PALE = 0.35  # opacity of the part that the kernel alone reaches
WIDTH = 11.5  # inches: a page's width on a screen, at a size where 9 points can be read
FAR = 200.0  # percent of peak: images of a few pixels, all padding, have limits that would dwarf the bars
CHARACTER = 0.09  # inches, of the widest letters
NARROWEST = 8.0  # where LEGEND entries stand side by side
LEGEND = 6
FEWEST_LAYERS, MOST_LAYERS = 8, 26  # side by side in one panel of bars


class PlotError(RuntimeError):
    """No picture can be drawn: says what to install."""


@dataclass(frozen=True)
class Picture:
    """One figure. `file` stands alone, on white; `svg` is for the inside of an HTML page, in the page's ink.

    `kind`: bars, roofline or model.
    """

    kind: str
    caption: str
    file: str
    svg: str


def pictures(section: Section) -> tuple[Picture, ...]:
    """Bars, roofline, and the model's scatter where there is something to draw. Raises PlotError without matplotlib."""
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError:
        raise PlotError("there are no pictures, which need matplotlib: pip install 'tilewright[plot]'") from None
    drawn = [("bars", bars)]
    if any(r.flops_on_image for r in section.results):
        drawn.append(("roofline", roofline))
    if any(r.tried for r in section.results):
        drawn.append(("model", scatter))
    found = []
    for kind, draw in drawn:
        with matplotlib.rc_context({**STYLE, "svg.hashsalt": f"{section.name}-{kind}"}):
            figure = Figure(layout="constrained")
            caption = draw(figure, section)
            file = standing_alone(figure)  # drawing takes all the time
            found.append(Picture(kind, caption, file, inline(file, caption)))
    return tuple(found)


def bars(figure: Any, section: Section) -> str:
    """Percent of peak by layer and contender, the limit drawn; returns the caption.

    The top edge is the theoretical peak, or the highest limit where that passes it; one beyond FAR is off the picture.
    """
    from matplotlib.patches import Patch
    from matplotlib.ticker import MaxNLocator, MultipleLocator

    results, names = section.results, (OURS, *section.peers)
    rows = ceil(len(results) / MOST_LAYERS)
    most = ceil(len(results) / rows)
    margin = min(0, most - FEWEST_LAYERS) / 2  # a lone layer's bars are no wider than they are among others
    width = max(NARROWEST, min(WIDTH, 1 + most * (0.2 + 0.12 * len(names))))
    figure.set_size_inches(width, 0.7 + rows * (2.7 + CHARACTER * max(map(len, section.labels))))
    shown = [max(r.percent(c), r.kernel_percent(c) or 0) for r in results for c in r.contenders if c.name in names]
    top = max(100.0, *(r.limit_percent for r in results if r.limit_percent <= FAR), *shown)
    panels = figure.subplots(rows, 1, squeeze=False)[:, 0]
    for row, axes in enumerate(panels):
        part = slice(row * most, (row + 1) * most)
        _bars_of(axes, results[part], names)
        _name_layers(axes, section.labels[part], 0.93 * width * len(results[part]) / (most - 2 * margin))
        axes.set(xlim=(margin - 0.6, most - margin - 0.4), ylim=(0, top), ylabel=f"% of the {section.words.peak}")
        axes.yaxis.set_major_locator(MultipleLocator(20) if top <= FAR else MaxNLocator())
        axes.grid(axis="y")
        axes.axhline(100, color=INK, linewidth=0.8, clip_on=False, zorder=1)
    (limit, *ran), (of_limit, *labels) = panels[0].get_legend_handles_labels()  # lines come before bars
    handles = [*ran, Patch(color=COLOURS[0], alpha=PALE, linewidth=0), limit]
    labels = [*labels, "the kernel alone", of_limit]
    figure.legend(handles, labels, loc="outside upper left", ncols=min(LEGEND, len(handles)))
    return (
        f"{section.title}: percent of the {section.words.peak} by layer, {section.words.timed}; paler where the "
        "kernel alone is faster, a line at each layer's limit, × where a peer skipped it."
    )


def roofline(figure: Any, section: Section) -> str:
    """Speed over operational intensity under the ceilings of FMA units and memory; returns the caption."""
    figure.set_size_inches(NARROWEST, 4.6)
    axes = figure.subplots()
    results = [r for r in section.results if r.flops_on_image]
    threads = results[0].threads
    peak = threads * median(r.ours.call.peak_gflops for r in results)
    bandwidth = threads * median(r.memory_bandwidth for r in results) / 1e9
    points = {name: [p for r in results if (p := _point(r, name))] for name in (OURS, *section.peers)}
    intensities = [x for x, _ in points[OURS]]
    ridge = peak / bandwidth
    left, right = min(*intensities, ridge) / 1.6, max(*intensities, ridge) * 1.3
    bottom = min(y for found in points.values() for _, y in found) / 1.3
    axes.set(xscale="log", yscale="log", xlim=(left, right), ylim=(min(bottom, left * bandwidth), peak))
    axes.plot([left, ridge, right], [left * bandwidth, peak, peak], color=INK, linewidth=1.2, clip_on=False)
    for index, (name, found) in reversed([*enumerate(points.items())]):
        if found:
            style = {"color": _of(COLOURS, index), "marker": _of(MARKERS, index), "label": _shown(name)}
            axes.scatter(*zip(*found), s=30, linewidths=0.4, edgecolors="white", clip_on=False, zorder=3, **style)
    _plain_ticks(axes)
    axes.set(xlabel="FLOP per byte, every tensor moved once", ylabel="GFLOP/s")
    ceilings = f"{section.words.peak} {peak:.0f} GFLOP/s, memory {bandwidth:.0f} GB/s"
    axes.set_title(ceilings + (f" ({threads} × one core's)" if threads > 1 else ""), fontsize=9, loc="right")
    axes.grid()
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles[::-1], labels[::-1], loc="outside upper left", ncols=min(LEGEND, len(points)))
    return (
        f"{section.title}: roofline. FLOPs on the image only, {section.words.timed}; the ceilings are the "
        f"{section.words.peak} and the memory bandwidth measured in the run. What fits the caches may pass the "
        "memory's."
    )


def scatter(figure: Any, section: Section) -> str:
    """Every candidate the search measured: measured over predicted seconds, and their ratio by layer; the caption."""
    figure.set_size_inches(WIDTH, 4.2)
    left, right = figure.subplots(1, 2, width_ratios=(1, 2))
    tried = [(place, r) for place, r in enumerate(section.results) if r.tried]
    for place, r in tried:
        marker = _of(MARKERS, place // len(COLOURS))
        predicted, measured = ([1e3 * seconds for seconds in side] for side in zip(*r.tried))
        quotients = [m / p for m, p in zip(measured, predicted)]
        best = measured.index(min(measured))
        style = {"color": _of(COLOURS, place), "s": 14, "linewidths": 0, "alpha": 0.6, "marker": marker}
        left.scatter(predicted, measured, **style)
        right.scatter([place] * len(quotients), quotients, **style)
        right.plot([place - 0.4, place + 0.4], [geometric_mean(quotients)] * 2, color=INK, linewidth=1, alpha=0.6)
        right.scatter([place], [quotients[best]], marker="o", s=46, facecolors="none", edgecolors=INK, linewidths=1)
    seconds = [1e3 * s for _, r in tried for pair in r.tried for s in pair]
    ends = (min(seconds) / 1.3, max(seconds) * 1.3)
    left.plot(ends, ends, color=INK, linewidth=0.8, zorder=1)
    left.set(xscale="log", yscale="log", xlim=ends, ylim=ends, aspect="equal")
    left.set(xlabel="predicted ms", ylabel="measured ms")
    right.axhline(1, color=INK, linewidth=0.8, zorder=1)
    right.set(yscale="log", ylabel="measured / predicted", xlim=(-0.6, len(section.results) - 0.4))
    _name_layers(right, section.labels, WIDTH * 0.6)
    for axes in (left, right):
        _plain_ticks(axes)
        axes.grid()
    right.grid(visible=False, axis="x")
    return (
        f"{section.title}: predicted and measured seconds of every candidate that the search measured, and their ratio "
        "by layer; a circle around the fastest, a line at the geometric mean."
    )


def _bars_of(axes: Any, results: Sequence[LayerResult], names: Sequence[str]) -> None:
    width = 0.84 / len(names)
    for index, name in enumerate(names):
        colour = _of(COLOURS, index)
        places = [layer - 0.42 + (index + 0.5) * width for layer in range(len(results))]
        ran = [(x, r, c) for x, r in zip(places, results) if (c := r.contender(name))]
        skipped = [x for x, r in zip(places, results) if not r.contender(name)]
        at = [x for x, _, _ in ran]
        axes.bar(at, [r.kernel_percent(c) or 0 for _, r, c in ran], width, color=colour, alpha=PALE, linewidth=0)
        axes.bar(at, [r.percent(c) for _, r, c in ran], width, color=colour, linewidth=0, label=_shown(name))
        axes.plot(skipped, [2] * len(skipped), "x", color=colour, markersize=4)
    near = [layer for layer, r in enumerate(results) if r.limit_percent <= FAR]
    limits = [results[layer].limit_percent for layer in near]
    starts, ends = [layer - 0.46 for layer in near], [layer + 0.46 for layer in near]
    axes.hlines(limits, starts, ends, color=INK, linewidth=1.6, clip_on=False, zorder=4, label="limit without padding")


def _name_layers(axes: Any, labels: Sequence[str], inches: float) -> None:
    """Below a panel of so many inches; upright where the names would run into each other."""
    crowded = max(map(len, labels)) * CHARACTER > inches / len(labels)
    axes.set_xticks(range(len(labels)), labels, rotation=90 if crowded else 0)
    axes.tick_params(axis="x", length=0)


def _point(result: LayerResult, name: str) -> tuple[float, float] | None:
    """(FLOP/byte, GFLOP/s), of the FLOPs that are on the image: the ceilings hold for those."""
    found = result.contender(name)
    if not found:
        return None
    return result.flops_on_image / result.compulsory_bytes, result.flops_on_image / found.call.seconds / 1e9


def _plain_ticks(axes: Any) -> None:
    """1, 2, 5, 10, … in the place of powers, and even steps where an axis spans less than a decade."""
    from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator, StrMethodFormatter

    for axis, scale in ((axes.xaxis, axes.get_xscale()), (axes.yaxis, axes.get_yscale())):
        if scale == "log":
            low, high = axis.get_view_interval()
            even = MaxNLocator(8, steps=(1, 2, 5, 10))
            subs = (1, 2, 5) if high / low < 1e4 else (1,)
            axis.set_major_locator(even if high / low < 10 else LogLocator(subs=subs, numticks=9))
            axis.set_major_formatter(StrMethodFormatter("{x:g}"))
            axis.set_minor_locator(NullLocator())


def _shown(name: str) -> str:
    # A legend leaves out what begins with an underscore.
    return f" {name}" if name.startswith("_") else name


def _of(cycle: Sequence[str], index: int) -> str:
    return cycle[index % len(cycle)]
