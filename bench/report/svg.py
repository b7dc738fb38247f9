"""A figure of matplotlib as SVG: as a file of its own, and as a part of an HTML page."""

from __future__ import annotations

import io
import re
from typing import Any
from xml.sax.saxutils import quoteattr

# The colour of text and axes; inside a page it becomes the page's own.
INK = "#1b1f24"
_GROUND = 'style="fill: #ffffff"'  # of the figure and of its panels
STYLE = {
    "font.size": 9,
    "text.parse_math": False,  # names are shown as they are
    "text.color": INK,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.color": INK,
    "ytick.color": INK,
    "grid.color": INK,
    "grid.alpha": 0.15,
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "legend.borderaxespad": 0,
    "svg.fonttype": "none",
}


def standing_alone(figure: Any) -> str:
    """A file of its own, on white."""
    file = io.BytesIO()
    figure.savefig(file, format="svg", metadata={"Date": None}, facecolor="white")
    return _slim(file.getvalue().decode())


def inline(file: str, caption: str) -> str:
    """A file's figure for the inside of an HTML page: no prologue, any width, on the page's ground, in its ink."""
    svg = file[file.index("<svg") :].replace(_GROUND, 'style="fill: none"')
    viewed = re.search(r'viewBox="0 0 (\S+) [^"]*"', svg)
    assert viewed is not None  # matplotlib always writes one
    box, width = viewed.group(0, 1)
    style = f'style="--width: {width}pt"'  # for the page to show it no larger than it was drawn
    svg = f'<svg {box} {style} role="img" aria-label={quoteattr(caption)}>' + svg[svg.index(">") + 1 :]
    return svg.replace("xlink:href", "href").replace(INK, "currentColor").strip()


def _slim(svg: str) -> str:
    """Without metadata, comments and addresses of other sites, which name matplotlib's version; short numbers."""
    for pattern, shown in (
        (r"<!DOCTYPE.*?>\s*", ""),
        (r"<metadata>.*?</metadata>", ""),
        (r"<!--.*?-->\s*", ""),
        (r'(<g) id="[^"]*"', r"\1"),  # another picture of the page has the same
        (r"(\d\.\d\d)\d{3,}", r"\1"),  # of coordinates: a point has 72 to the inch
    ):
        svg = re.sub(pattern, shown, svg, flags=re.S)
    return svg
