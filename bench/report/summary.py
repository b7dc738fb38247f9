"""The main figures of a run and its conditions, as sentences for every kind of report."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bench.report.results import MODEL, OURS, Conditions, LayerResult
from bench.report.sections import Section, layer_name
from bench.report.words import WORDS
from tiling.durations import milliseconds


@dataclass(frozen=True)
class Total:
    """Seconds of a network by one contender: the sum over layers of seconds a call × the layer's count in the network.

    layers: how many layers the contender ran. ours: our seconds for the same layers.
    """

    suite: str
    contender: str
    layers: int
    seconds: float
    ours: float


def geometric_mean(values: Sequence[float]) -> float:
    """The n-th root of the product; values are positive."""
    product = 1.0
    for value in values:
        product *= value ** (1 / len(values))
    return product


def ratios(results: Sequence[LayerResult], peer: str) -> list[tuple[LayerResult, float]]:
    """How many times as long as ours `peer` takes, for each layer that it ran."""
    return [(r, r.ratio(found)) for r in results if (found := r.contender(peer))]


def totals(section: Section) -> list[Total]:
    """The totals of each network and contender, ours first. A peer that ran no layer has none."""
    found = []
    for suite in dict.fromkeys(r.suite for r in section.results):
        layers = [r for r in section.results if r.suite == suite]
        for name in (OURS, *section.peers):
            run = [(r, c) for r in layers if (c := r.contender(name))]
            seconds = sum(r.count * c.call.seconds for r, c in run)
            ours = sum(r.count * r.ours.call.seconds for r, _ in run)
            found += [Total(suite, name, len(run), seconds, ours)] if run else []
    return found


def summary(section: Section) -> list[str]:
    """Sentences on ours, each peer, the slowest layer, the model alone, the networks, the search and skipped layers."""
    results = section.results
    worst = min(results, key=lambda r: r.percent(r.ours))
    calls = geometric_mean([r.percent(r.ours) for r in results])
    kernels = [percent for r in results if (percent := r.kernel_percent(r.ours))]
    alone = f", {geometric_mean(kernels):.1f} % the kernel alone" if len(kernels) == len(results) else ""
    return [
        f"Geometric mean over {_layers(results)}: {calls:.1f} % of peak {section.words.timed}{alone}.",
        *(_peer(results, name) for name in section.peers),
        f"Slowest layer: {layer_name(worst)} with {worst.percent(worst.ours):.1f} %.",
        *_model(results),
        *_networks(section),
        f"Longest search of a layer: {max(r.search_seconds for r in results):.0f} s; until everything was checked and "
        f"timed, {max(r.total_seconds for r in results):.0f} s at most.",
        *_skipped(results),
    ]


def padding(results: Iterable[LayerResult]) -> str:
    """Why a layer may pass the peak, as a sentence with a space before it; "" where no kernel leaves padding out."""
    if all(r.flops_on_image == r.flops or r.target == "cuda" for r in results):
        return ""
    return " Taps on padding count as operations, but our kernels leave them out: a layer that has some may pass 100 %."


def incomplete(missing: Iterable[tuple[str, str]]) -> str:
    """The line that names the `missing` layers, (layer, why), so that a part does not pass for the whole run."""
    parts = [f"without {', '.join(names)} ({why})" for why, names in _by_reason(missing).items()]
    return f"Incomplete: {'; '.join(parts)}."


def facts(conditions: Conditions, results: Sequence[LayerResult]) -> list[tuple[str, str]]:
    """(term, sentence) for each condition except the command. Measured conditions come from `results`."""
    machine, words = conditions.machine, WORDS[conditions.target]
    caches = ", ".join(f"{c.name} {c.bytes // 1024} KiB at {c.bandwidth / 1e9:.0f} GB/s" for c in machine.caches)
    peaks = [r.ours.call.peak_gflops for r in results]
    bandwidths = [r.memory_bandwidth / 1e9 for r in results]
    said = [
        ("Machine", words.machine.format(**vars(machine) | {"caches": caches})),
        ("Measured in the run", words.measured.format(peaks=_range(peaks), bandwidths=_range(bandwidths))),
        ("Versions", f"Tilewright {conditions.tilewright}, {conditions.compiler}, Python {conditions.python}."),
        *((name, f"{title}; {version}") for name, title, version in conditions.peers),
        *((name, f"Did not run: {why}") for name, why in conditions.missing),
        ("Caches", conditions.cache),
        (words.process, conditions.pinned),
        ("Memory", conditions.allocator),
        ("Turns", conditions.turns),
        ("Search", f"{conditions.budget:g} s a layer."),
        ("Times", words.times),
        (
            "FLOPs",
            (
                "Padding counts, and is multiplied as zeros."
                if conditions.target == "cuda"
                else "Padding counts, though our kernels never compute it."
            )
            + " The limit is what a kernel at the peak reaches "
            "if it leaves padding out: 100 %, and more on small images."
            + (
                " Winograd's algorithm needs fewer and may pass it."
                if any(r.algorithm != "direct" for r in results)
                else ""
            ),
        ),
        (
            "Check",
            "Before it was timed, every contender's result was compared with float64 on random reals; ours were also "
            "exact on small integers.",
        ),
    ]
    return [(term, f"{sentence.rstrip('.')}.") for term, sentence in said if sentence]


def _peer(results: Sequence[LayerResult], name: str) -> str:
    found = ratios(results, name)
    if not found:
        return f"{name} ran no layer."
    faster = [f"{layer_name(r)} ({ratio:.2f})" for r, ratio in found if ratio < 1]
    return (
        f"{name} takes {geometric_mean([ratio for _, ratio in found]):.2f} times as long as ours in the geometric mean "
        f"over {_layers(found)}; it is faster on {f'{len(faster)}: ' if faster else ''}{', '.join(faster) or 'none'}."
    )


def _model(results: Sequence[LayerResult]) -> list[str]:
    found = [(r, c) for r in results if (c := r.contender(MODEL))]
    if not found:
        return []
    percent = geometric_mean([r.percent(c) for r, c in found])
    share = geometric_mean([r.ours.call.seconds / c.call.seconds for r, c in found])
    return [
        f"The model alone, with no candidate measured, reaches {percent:.1f} % of peak, {100 * share:.1f} % of "
        "what tuning reaches."
    ]


def _networks(section: Section) -> list[str]:
    sentences = []
    found = totals(section)
    for suite in dict.fromkeys(total.suite for total in found):
        layers = [r for r in section.results if r.suite == suite]
        often = "each once" if all(r.count == 1 for r in layers) else "each as often as the network has it"
        sums = [_sum(total, len(layers)) for total in found if total.suite == suite]
        sentences.append(f"{suite}, {_layers(layers)}, {often}: {'; '.join(sums)}.")
    return sentences


def _sum(total: Total, layers: int) -> str:
    if total.contender == OURS:
        return f"ours {milliseconds(total.seconds)} ms"
    part = "" if total.layers == layers else f", without the {layers - total.layers} that it skipped"
    return f"{total.contender} {milliseconds(total.seconds)} ms ({total.seconds / total.ours:.2f} times ours{part})"


def _skipped(results: Sequence[LayerResult]) -> list[str]:
    found = [((peer, reason), layer_name(r)) for r in results for peer, reason in r.skipped]
    layers: dict[tuple[str, str], list[str]] = {}
    for why, layer in found:
        layers.setdefault(why, []).append(layer)
    return [f"{peer} skipped {', '.join(names)}: {why.rstrip('.')}." for (peer, why), names in layers.items()]


def _by_reason(missing: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    names: dict[str, list[str]] = {}
    for name, why in missing:
        names.setdefault(why, []).append(name)
    return names


def _layers(found: Sequence[object]) -> str:
    return f"{len(found)} layer{'' if len(found) == 1 else 's'}"


def _range(values: Sequence[float]) -> str:
    low, high = f"{min(values):.0f}", f"{max(values):.0f}"
    return low if low == high else f"{low} to {high}"
