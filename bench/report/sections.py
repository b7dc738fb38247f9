"""Sections: the results that share a picture and a geometric mean, such as a suite on one number of threads."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from bench.report.results import LayerResult
from bench.report.words import WORDS, Words
from cpu.runtime.plural import plural

# The two networks of TTile's paper are judged together, as there.
PAPER = ("yolo9000", "resnet18")
PAPER_TITLE = "The layers of TTile's paper"
# What a title calls the algorithms other than the definition.
ALGORITHM_WORDS = {"winograd": "winograd", "auto": "winograd where faster"}


@dataclass(frozen=True)
class Section:
    """Results under one title. name: the part of file names that is different for each section."""

    title: str
    name: str
    results: tuple[LayerResult, ...]

    @property
    def peers(self) -> tuple[str, ...]:
        """The names of all peers that ran on some layer or were skipped on it, in the order in which they are shown."""
        named = [p.name for r in self.results for p in r.peers] + [name for r in self.results for name, _ in r.skipped]
        return tuple(dict.fromkeys(named))

    @property
    def words(self) -> Words:
        """The words for its peak and its times."""
        return WORDS[self.results[0].target]

    @property
    def labels(self) -> tuple[str, ...]:
        """A short name for each layer, without its suite where names stay different."""
        layers = tuple(r.layer for r in self.results)
        return layers if len(set(layers)) == len(layers) else tuple(map(layer_name, self.results))


def sections(results: Iterable[LayerResult]) -> tuple[Section, ...]:
    """The results by target, number of threads, dtype, cache, layout, algorithm, epilogue and suite, in order of
    first appearance.
    """
    results = tuple(results)
    groups: dict[tuple[Any, ...], list[LayerResult]] = {}
    for r in results:
        measured = _measured(r)
        present = {other.suite for other in results if _measured(other) == measured}
        suites = PAPER if r.suite in PAPER and present.issuperset(PAPER) else (r.suite,)
        groups.setdefault((suites, *measured), []).append(r)
    return tuple(_section(suites, tuple(found)) for (suites, *_), found in groups.items())


def layer_name(result: LayerResult) -> str:
    """`resnet18:R2`."""
    return f"{result.suite}:{result.layer}"


def on_threads(threads: int) -> str:
    """`on 1 thread`, `on 4 threads`."""
    return f"on {plural(threads, 'threads')}"


def placed(target: str, threads: int) -> str:
    """`on the GPU`, or `on 4 threads`."""
    return "on the GPU" if target == "cuda" else on_threads(threads)


def _measured(result: LayerResult) -> tuple[str, int, str, str, str, str, str]:
    return result.target, result.threads, result.dtype, result.cache, result.layout, result.algorithm, result.epilogue


def _section(suites: tuple[str, ...], results: tuple[LayerResult, ...]) -> Section:
    target, threads, dtype, cache, layout, algorithm, epilogue = _measured(results[0])
    place = "gpu" if target == "cuda" else f"{threads}t"
    what = PAPER_TITLE if suites == PAPER else suites[0]
    said = ((layout.upper(), layout != "nhwc"), (dtype, dtype != "f32"), (f"{cache} caches", cache != "warm"))
    special = [words for words, is_special in said if is_special]
    special += [ALGORITHM_WORDS[algorithm]] if algorithm in ALGORITHM_WORDS else []
    special += [epilogue] if epilogue else []
    name = "-".join(["ttile" if suites == PAPER else suites[0], place, *special])
    title = ", ".join([what, placed(target, threads), *special])
    return Section(title, "".join(c if c.isalnum() or c == "_" else "-" for c in name).rstrip("-"), results)
