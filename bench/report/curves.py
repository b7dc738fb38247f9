"""The speeds that searches reach over time, as one picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bench.report.plots import COLOURS, MARKERS, NARROWEST, PlotError
from bench.report.svg import INK, STYLE, standing_alone

HIGH = 4.4  # inches
# Points from a marker to its label: above the first curve, which is ours, and below the others.
_ABOVE, _BELOW = (-3, 7), (5, -11)


@dataclass(frozen=True)
class Curve:
    """One search: (seconds, percent of peak, label or "") in the order in which it got there."""

    name: str
    points: tuple[tuple[float, float, str], ...]


def curves(found: Sequence[Curve], peak: str) -> str:
    """Percent of `peak` over seconds, on a logarithmic axis, as an SVG file. Raises PlotError without matplotlib."""
    try:
        import matplotlib
        from matplotlib.figure import Figure
        from matplotlib.ticker import LogLocator, StrMethodFormatter
    except ImportError:
        raise PlotError("there is no picture, which needs matplotlib: pip install 'tilewright[plot]'") from None
    with matplotlib.rc_context({**STYLE, "svg.hashsalt": "curves"}):
        figure = Figure(figsize=(NARROWEST, HIGH), layout="constrained")
        axes = figure.subplots()
        for index, curve in enumerate(found):
            seconds, percents, labels = zip(*curve.points)
            colour, marker = COLOURS[index % len(COLOURS)], MARKERS[index % len(MARKERS)]
            axes.plot(seconds, percents, color=colour, marker=marker, markersize=4, linewidth=1.4, label=curve.name)
            beside = _BELOW if index else _ABOVE
            for x, y, label in zip(seconds, percents, labels):
                axes.annotate(label, (x, y), xytext=beside, textcoords="offset points", fontsize=8, color=INK)
        # Room for a label above the highest marker.
        top = max(100.0, *(percent + 6 for curve in found for _, percent, _ in curve.points))
        axes.set(xscale="log", ylim=(0, top), xlabel="seconds of search a layer", ylabel=f"% of the {peak}")
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        axes.xaxis.set_minor_formatter("")
        axes.grid()
        figure.legend(loc="outside upper left", ncols=1)
        return standing_alone(figure)
