"""Results for programs: JSON lines that read back to the same records, and CSV."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, asdict, dataclass, fields, is_dataclass
from functools import cache
from math import isfinite
from types import NoneType
from typing import Any, get_args, get_origin, get_type_hints

from bench.report.results import MODEL, OURS, Conditions, ContenderResult, LayerResult

COLUMNS = (
    *("suite", "layer", "count", "op", "shape", "flops", "flops_on_image", "compulsory_bytes"),
    *("target", "threads", "dtype", "cache", "algorithm", "limit_percent", "memory_bandwidth", "contender", "layout"),
    *("call_seconds", "call_quartile_1", "call_quartile_3", "call_spread", "call_peak_gflops", "percent"),
    *("kernel_seconds", "kernel_spread", "kernel_peak_gflops", "kernel_percent"),
    *("ratio_to_ours", "max_error", "scheme", "search_seconds", "total_seconds", "skipped"),
)


class FormatError(ValueError):
    """A text that is no result of a run: which part of it, and why."""


@dataclass(frozen=True)
class BenchRun:
    """All that a report is made from. `missing` are (layer, why) for each layer without a result."""

    conditions: Conditions
    results: tuple[LayerResult, ...]
    missing: tuple[tuple[str, str], ...] = ()


def to_json(result: LayerResult) -> str:
    """One line."""
    return json.dumps(asdict(result))


def from_json(line: str) -> LayerResult:
    """The way back from `to_json`, exactly. Raises FormatError."""
    return _layer(_parsed(line))


def conditions_line(conditions: Conditions) -> str:
    """The first line of a file of results."""
    return json.dumps({"conditions": asdict(conditions)})


def to_json_lines(run: BenchRun) -> str:
    """The conditions, then a line a layer, then a line for each layer that is missing."""
    lines = [
        conditions_line(run.conditions),
        *map(to_json, run.results),
        *(json.dumps({"missing": layer, "why": why}) for layer, why in run.missing),
    ]
    return "".join(f"{line}\n" for line in lines)


def from_json_lines(text: str) -> BenchRun:
    """Reads what `to_json_lines` wrote. Raises FormatError, naming the line."""
    conditions, results, missing = None, [], []
    for number, line in enumerate(text.splitlines(), 1):
        try:
            value = _parsed(line)
            if number == 1 and "conditions" in value:
                conditions = _record(Conditions, value["conditions"], "conditions")
            elif "missing" in value:
                missing.append((_value(str, value["missing"], "missing"), _value(str, value.get("why"), "why")))
            else:
                results.append(_layer(value))
        except FormatError as error:
            raise FormatError(f"line {number}: {error}") from None
    if conditions is None:
        raise FormatError("the first line does not state the conditions of a run, as a report's .jsonl does")
    if not results:
        raise FormatError("there is no layer in it")
    return BenchRun(conditions, tuple(results), tuple(missing))


def to_csv(results: Iterable[LayerResult]) -> str:
    """One row a layer and contender, and one for each peer that skipped the layer; seconds, bytes, bytes/s, GFLOP/s."""
    file = io.StringIO()
    writer = csv.DictWriter(file, COLUMNS, restval="", lineterminator="\n")
    writer.writeheader()
    for r in results:
        shared = {name: getattr(r, name) for name in COLUMNS if hasattr(r, name) and name not in _OF_A_CONTENDER}
        writer.writerows({**shared, **_row(r, contender)} for contender in r.contenders)
        writer.writerows({**shared, "contender": peer, "skipped": reason} for peer, reason in r.skipped)
    return file.getvalue()


# Also the names of a result's fields and methods, with another meaning there.
_OF_A_CONTENDER = {"contender", "percent", "kernel_percent", "scheme", "skipped"}


def _row(result: LayerResult, contender: ContenderResult) -> dict[str, object]:
    call, kernel = contender.call, contender.kernel
    row: dict[str, object] = {
        "contender": contender.name,
        "layout": contender.layout,
        "call_seconds": call.seconds,
        "call_quartile_1": call.quartiles[0],
        "call_quartile_3": call.quartiles[1],
        "call_spread": call.spread,
        "call_peak_gflops": call.peak_gflops,
        "percent": result.percent(contender),
        "ratio_to_ours": result.ratio(contender),
        "max_error": contender.max_error,
        "scheme": {OURS: result.scheme, MODEL: result.model_scheme}.get(contender.name, ""),
    }
    if kernel:
        row |= {
            "kernel_seconds": kernel.seconds,
            "kernel_spread": kernel.spread,
            "kernel_peak_gflops": kernel.peak_gflops,
            "kernel_percent": result.kernel_percent(contender),
        }
    return row


def _parsed(line: str) -> dict[str, object]:
    try:
        value = json.loads(line)
    except ValueError:
        raise FormatError(f"{line[:40]!r} is not JSON") from None
    if not isinstance(value, dict):
        raise FormatError(f"{line[:40]!r} is not a JSON object")
    return value


def _layer(value: Mapping[str, object]) -> LayerResult:
    """A layer's result. Raises FormatError where it breaks a rule on which a report's figures rely."""
    result: LayerResult = _record(LayerResult, value, "result")
    rules = {
        "its first contender is ours": [c.name for c in result.contenders[:1]] == [OURS],
        "it has one thread or more, and is in its network": result.threads >= 1 and result.count >= 1,
        "its FLOPs, bytes and memory bandwidth are positive": all(
            number > 0 for number in (result.flops, result.compulsory_bytes, result.memory_bandwidth)
        ),
        "predicted and measured seconds are positive": all(seconds > 0 for pair in result.tried for seconds in pair),
    }
    for rule, holds in rules.items():
        if not holds:
            raise FormatError(f"the result of {result.suite}:{result.layer} breaks the rule that {rule}")
    return result


def _record(form: Any, value: object, where: str) -> Any:
    """A dataclass from a JSON object with its fields; one that has a default may be missing, of an earlier version."""
    if not isinstance(value, dict):
        raise FormatError(f"{where} is not a JSON object")
    names = {field.name for field in fields(form)}
    value = {**{field.name: field.default for field in fields(form) if field.default is not MISSING}, **value}
    if names != set(value):
        odd = ", ".join(sorted(names ^ set(value)))
        raise FormatError(f"{where} is not as this version writes it: missing or unknown are {odd}")
    found = {name: _value(hint, value[name], f"{where}.{name}") for name, hint in _hints(form).items()}
    try:
        return form(**found)
    except ValueError as error:
        raise FormatError(f"{where}: {error}") from None


def _value(form: Any, value: object, where: str) -> Any:
    arguments = get_args(form)
    if is_dataclass(form):
        return _record(form, value, where)
    if get_origin(form) is tuple:
        if not isinstance(value, list):
            raise FormatError(f"{where} is not a list")
        forms = arguments[:1] * len(value) if arguments[-1] is Ellipsis else arguments
        if len(forms) != len(value):
            raise FormatError(f"{where} has {len(value)} entries in the place of {len(forms)}")
        return tuple(_value(f, v, f"{where}[{i}]") for i, (f, v) in enumerate(zip(forms, value)))
    if NoneType in arguments:
        return None if value is None else _value(arguments[0], value, where)
    accepted = (int, float) if form is float else form
    if not isinstance(value, accepted) or isinstance(value, bool):
        raise FormatError(f"{where} is not {_CALLED[form]}")
    try:
        if form is float and not isfinite(value):
            raise FormatError(f"{where} is not a finite number")
        return form(value)
    except OverflowError:
        raise FormatError(f"{where} is too large a number") from None


_CALLED = {str: "a text", int: "a whole number", float: "a number"}


@cache
def _hints(form: Any) -> dict[str, Any]:
    return get_type_hints(form)
