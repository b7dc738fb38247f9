"""A ranking as a heat map: how close each register tile comes to the FMA peak."""

from __future__ import annotations

from collections.abc import Iterable
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING

from microkernels.scores.catalog import Entry

if TYPE_CHECKING:  # matplotlib may not be installed
    from matplotlib.axes import Axes

CELL_WIDTH, CELL_HEIGHT = 0.27, 0.21  # inches: three digits of FONT_POINTS fit
FONT_POINTS = 7
NARROWEST = 3.2  # inches of a whole figure: its title fits

_Panel = tuple[int, tuple[tuple[str, int], ...]]  # the stride, and the unrolled taps


class PlotError(RuntimeError):
    """No heat map can be drawn. The message says what is missing."""


def heat_map(entries: Iterable[Entry], path: str | Path) -> None:
    """Writes a heat map of the scores to `path`. Its suffix chooses the format (png, svg, pdf).

    There is a line of panels for each stride, with one panel for each choice of unrolled taps. A panel has a row for
    every count of output rows and a column for every count of vectors. The cell has the percentage of the FMA peak that
    the best h×w tile of this size reaches; an empty cell was not measured. All entries should be of one operator and
    instruction set. Raises PlotError without matplotlib, without entries, or where the file cannot be written.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise PlotError("a heat map needs matplotlib: pip install 'tilewright[plot]'") from error
    panels = _panels(entries)
    if not panels:
        raise PlotError("there is nothing to draw: no microkernel was ranked")
    kernel = next(iter(next(iter(panels.values())).values())).kernel
    most_rows = max(rows for cells in panels.values() for rows, _ in cells)
    most_vectors = max(vectors for cells in panels.values() for _, vectors in cells)
    strides = sorted({stride for stride, _ in panels})
    variants = sorted({variant for _, variant in panels}, key=lambda unrolled: (prod(n for _, n in unrolled), unrolled))
    width = len(variants) * (most_vectors * CELL_WIDTH + 0.7)
    height = len(strides) * (most_rows * CELL_HEIGHT + 0.8)
    figure = Figure((max(width, NARROWEST), height + 0.6), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(len(strides), len(variants), squeeze=False)
    for line, stride in zip(axes, strides):
        for axis, variant in zip(line, variants):
            if (stride, variant) not in panels:
                axis.set_axis_off()
                continue
            _panel(axis, panels[stride, variant], most_rows, most_vectors)
            taps = " ".join(f"{dim}×{extent}" for dim, extent in variant)
            title = f"{taps} unrolled" if taps else "reduction looped"
            axis.set_title(f"stride {stride}, {title}" if kernel.has_stride else title, fontsize=FONT_POINTS + 2)
    figure.suptitle(f"{kernel.op} on {kernel.isa}\n% of one core's FMA peak", fontsize=FONT_POINTS + 4)
    try:
        figure.savefig(path, dpi=100)
    except (OSError, ValueError) as error:
        raise PlotError(
            f"the heat map cannot be written to {path}: {getattr(error, 'strerror', None) or error}"
        ) from error


def _panels(entries: Iterable[Entry]) -> dict[_Panel, dict[tuple[int, int], Entry]]:
    """The cells of each panel (stride, unrolled taps): the best entry for each (output points, vectors)."""
    panels: dict[_Panel, dict[tuple[int, int], Entry]] = {}
    for entry in entries:
        kernel = entry.kernel
        cells = panels.setdefault((kernel.stride, kernel.unrolled), {})
        place = (kernel.row_count, kernel.vectors)
        if place not in cells or entry.score > cells[place].score:
            cells[place] = entry
    return panels


def _panel(axis: Axes, cells: dict[tuple[int, int], Entry], most_rows: int, most_vectors: int) -> None:
    grid = [[float("nan")] * most_vectors for _ in range(most_rows)]
    for (rows, vectors), entry in cells.items():
        grid[rows - 1][vectors - 1] = entry.score
        axis.text(
            vectors,
            rows,
            f"{100 * entry.score:.0f}",
            ha="center",
            va="center",
            fontsize=FONT_POINTS,
            color="black" if entry.score > 0.6 else "white",  # the colour map grows light from there on
        )
    edges = (0.5, most_vectors + 0.5, most_rows + 0.5, 0.5)
    axis.imshow(grid, extent=edges, vmin=0, vmax=1, cmap="viridis", aspect="auto")
    axis.set_xticks(range(1, most_vectors + 1))
    axis.set_yticks(range(1, most_rows + 1))
    axis.tick_params(labelsize=FONT_POINTS, length=2)
    axis.set_xlabel("vectors")
    # The rows of a tile are pixels of an image, along w and, in some tiles, along h.
    dims = dict.fromkeys(dim for entry in cells.values() for dim, extent in entry.kernel.rows if extent > 1)
    axis.set_ylabel(f"output points along {' × '.join(dims)}" if dims else "output points")
