"""Suites: the layers of real networks as text files, `tiling/suites/*.txt`, one distinct layer a line:

    NAME [xCOUNT] key=value …      # whatever the network calls it

COUNT is how often the network has the layer; it is 1 where it is left out. A layer that the toolkit cannot compute yet
stays in the list with the reason, so that a report shows the whole network.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib.resources import files

from tiling.choices import meant
from tiling.problem import Problem, ShapeError

MOST_NAMED = 20  # layers in a message. Suites are few, and all are named.
_LINE = re.compile(r"(?P<name>\S+)(?:\s+x(?P<count>[0-9]{1,9}))?\s+(?P<shape>\S+=.*)")


@dataclass(frozen=True)
class Layer:
    """A distinct layer of a network and how often the network has it.

    `shape` is the text in the file. `problem` is None for a layer that is not supported; then `unsupported` says why.
    """

    name: str
    shape: str
    count: int
    problem: Problem | None
    unsupported: str = ""


def suites() -> tuple[str, ...]:
    """The names of all suites."""
    found = (file.name for file in files("tiling.suites").iterdir())
    return tuple(sorted(name.removesuffix(".txt") for name in found if name.endswith(".txt")))


def read(suite: str, problem_of: Callable[[str], Problem]) -> tuple[Layer, ...]:
    """The layers of one suite, in the file's order. `problem_of` reads a shape or raises ShapeError.

    Raises ShapeError where there is no such suite.
    """
    # Only names that the folder lists are opened, so a name can never be a path.
    if not re.fullmatch("[a-z0-9_]+", suite) or suite not in suites():
        raise ShapeError(f"there is no suite {suite[:40]!r}{meant(suite, suites())}; there are {' '.join(suites())}")
    text = files("tiling.suites").joinpath(f"{suite}.txt").read_bytes().decode(errors="replace")
    return layers(suite, text, problem_of)


def find(suite: str, name: str, problem_of: Callable[[str], Problem]) -> Layer:
    """One layer of one suite. Raises ShapeError where either is unknown."""
    named = {layer.name: layer for layer in read(suite, problem_of)}
    if name not in named:
        raise ShapeError(f"suite {suite} has no layer {name[:40]!r}{_there_is(name, named)}")
    return named[name]


def layers(suite: str, text: str, problem_of: Callable[[str], Problem]) -> tuple[Layer, ...]:
    """The layers that a suite's text lists. Raises ShapeError for a line that is no layer, and for a repeated name."""
    found: dict[str, Layer] = {}
    for line in text.splitlines():
        content = line.partition("#")[0].strip()
        if not content:
            continue
        match = _LINE.fullmatch(content)
        if not match or int(match["count"] or 1) < 1:
            raise ShapeError(f"suite {suite}: expected NAME [xCOUNT] key=value …, found {content[:60]!r}")
        name, count, shape = match["name"], int(match["count"] or 1), match["shape"]
        if name in found:
            raise ShapeError(f"suite {suite} lists {repr(name[:40])[1:-1]} twice")
        try:
            found[name] = Layer(name, shape, count, problem_of(shape))
        except ShapeError as error:
            found[name] = Layer(name, shape, count, None, unsupported=str(error))
    return tuple(found.values())


def _there_is(wanted: str, layers: Iterable[str]) -> str:
    """The end of a message about an unknown layer: close matches, then the layers, at most MOST_NAMED of them."""
    every = list(layers)
    shown = [*every[: MOST_NAMED - 1], "…", every[-1]] if len(every) > MOST_NAMED else every
    return f"{meant(wanted, every)}; there are {' '.join(shown)}"
