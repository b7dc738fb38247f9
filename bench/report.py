"""Results as a table for a terminal and as a page that states under which conditions they hold, and what is missing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rich.table import Table

from bench.layers import ROUNDS, TURN_SECONDS, LayerResult
from tiling.machine import Machine


class ReportError(RuntimeError):
    """A file of results that cannot be written: which one and why."""


def geometric_mean(values: Sequence[float]) -> float:
    """The n-th root of the product; values are positive."""
    product = 1.0
    for value in values:
        product *= value ** (1 / len(values))
    return product


def on_threads(threads: int) -> str:
    """`on 1 thread`, `on 4 threads`."""
    return f"on {threads} thread{'s' if threads > 1 else ''}"


def table(results: Sequence[LayerResult]) -> Table:
    """One row a layer, for a terminal; the schemes are in the page and in the JSON lines."""
    shown = Table(title=f"f32, NHWC, {on_threads(results[0].threads)}, warm, % of the FMA peak measured beside")
    for column in ("layer", "GFLOP/s", "% of peak", "model only %", "search s"):
        shown.add_column(column, justify="left" if column == "layer" else "right", no_wrap=True)
    for r in results:
        shown.add_row(
            f"{r.suite}:{r.layer}", f"{r.flops / r.tuned.seconds / 1e9:.1f}", f"{r.percent:.1f}",
            f"{r.model_percent:.1f}", f"{r.search_seconds:.0f}",
        )  # fmt: skip
    return shown


def summary(results: Sequence[LayerResult]) -> list[str]:
    """The figures that the issue of speed is judged by, one sentence each."""
    worst = min(results, key=lambda r: r.percent)
    ratio = geometric_mean([r.tuned.seconds / r.model.seconds for r in results])
    return [
        f"Geometric mean over {len(results)} layers: {geometric_mean([r.percent for r in results]):.1f} % of peak.",
        f"Slowest layer: {worst.suite}:{worst.layer} with {worst.percent:.1f} %.",
        f"The model alone, with no candidate measured, reaches {geometric_mean([r.model_percent for r in results]):.1f} % "
        f"of peak, {100 * ratio:.1f} % of what tuning reaches.",
        f"Longest search of a layer: {max(r.search_seconds for r in results):.0f} s; with the check of what it found, "
        f"{max(r.total_seconds for r in results):.0f} s at most.",
    ]


def incomplete(missing: Sequence[tuple[str, str]]) -> str:
    """The line that keeps a part of a run from passing for all of it: (layer, why) for each layer without a result."""
    layers: dict[str, list[str]] = {}
    for layer, why in missing:
        layers.setdefault(why, []).append(layer)
    parts = [f"without {', '.join(names)} ({why})" for why, names in layers.items()]
    return f"Incomplete: {'; '.join(parts)}."


def page(
    sections: Sequence[tuple[str, Sequence[LayerResult]]],
    machine: Machine,
    command: str,
    facts: Sequence[str],
    missing: Sequence[tuple[str, str]] = (),
) -> str:
    """docs/performance.md: conditions, then for each (title, results) the summary and one row a layer.

    Where layers are `missing`, as `incomplete` has them, the page says so before anything else.
    """
    caches = ", ".join(f"{c.name} {c.bytes // 1024} KiB at {c.bandwidth / 1e9:.0f} GB/s" for c in machine.caches)
    lines = [
        "# Performance",
        "",
        *([f"**{incomplete(missing)}**", ""] if missing else []),
        f"Written by `{command}`; run it again to see your machine's figures.",
        "",
        f"- Machine `{machine.fingerprint}`, {machine.cores} cores, {machine.isa}; per core: FMA peak "
        f"{machine.peak / 1e9:.0f} GFLOP/s, {caches}, memory {machine.memory_bandwidth / 1e9:.0f} GB/s.",
        *(f"- {fact}" for fact in facts),
        "- f32, NHWC, batch 1 unless the shape has an n, unpadded input, warm caches, the kernel alone timed in C, "
        f"weights packed before, output memory re-used; medians over {ROUNDS} turns of {TURN_SECONDS:g} s, tuned and model-only "
        "in alternation, the FMA peak measured around every turn.",
        "- FLOPs are 2·N·K·C·R·S·OH·OW: padding counts though it is never computed, so small images may pass 100 %.",
        "- The tuned and the model-only kernel of every layer were first exact on small integers and within K·eps of "
        "float64 on random reals; the larger of their two errors is shown.",
    ]
    for title, results in sections:
        lines += ["", f"## {title}", "", *(f"- {sentence}" for sentence in summary(results)), ""]
        lines += [
            "| layer | shape | GFLOP/s | % of peak | spread % | model only % | max error | measured | search s | scheme |",
            "|---|---|---|---|---|---|---|---|---|---|",
        ]
        for r in results:
            lines.append(
                f"| {r.suite}:{r.layer} | {r.shape.replace(',', ' ')} | {r.flops / r.tuned.seconds / 1e9:.1f} "
                f"| {r.percent:.1f} | {100 * r.tuned.spread:.1f} | {r.model_percent:.1f} "
                f"| {max(r.max_error, r.model_max_error):.1g} | {r.trials} | {r.search_seconds:.0f} | `{r.tuned_scheme}` |"
            )
    return "\n".join(lines) + "\n"


def check_writable(path: Path) -> None:
    """Asks before a long run whether its results can be kept; makes the folder, no file. Raises ReportError."""
    with _reported(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        existed = path.exists()
        path.open("ab").close()
        if not existed:
            path.unlink()


def append(path: Path, line: str) -> None:
    """Adds a line to a file of results. Raises ReportError."""
    with _reported(path), path.open("a", encoding="utf-8") as file:
        file.write(f"{line}\n")


def write(path: Path, text: str) -> None:
    """Writes a page, making its folder. Raises ReportError."""
    with _reported(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


@contextmanager
def _reported(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise ReportError(f"cannot write {path}: {error.strerror or error}") from None
