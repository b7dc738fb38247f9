"""Runs onnx's own tests, those of `graph.official`: `python -m graph.conformance [NAME …]`.

Prints how many pass, how many are refused for which reason, and every wrong answer.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from cpu.runtime.machine.host import host
from cpu.runtime.numbers import ELEMENTS, in_memory
from cpu.runtime.options import Parser
from cpu.runtime.output import readers_may_leave, terminal, write
from cpu.runtime.plural import plural
from graph.calls.compiled import CompiledModel
from graph.model.dtypes import OF_NUMPY
from graph.model.language import ModelError
from graph.model.node import BEGIN_BEHIND, END_BEFORE
from graph.official import cases, given_names
from graph.onnx.inputs import bound_by, flattened
from graph.onnx.reading import BINDABLE
from graph.plan import Plan
from search.commands.ending import ending
from search.commands.options import whole
from search.commands.progress import SearchState, counted
from tilewright_entry import run

PASSED, REFUSED, WRONG = "passed", "refused", "wrong"
BOUND = "every input decides a shape, so that with them the outputs are known"
# An input that decides shapes or loops is a small array of whole numbers. The tests give it when the model runs.
_DECIDES = 64  # the most elements of such an array


# onnx's own runner allows bf16 two units in the last place.
_BF16 = 2.0**-6

# Tests whose expected numbers are less exact than ours. `tests/graph/test_less_exact.py` proves it.
_CAUSES = (
    (r"test_dft_inverse\w*", "0, of which onnx expects the errors of an f32 transform; ours is nowhere farther off"),
)


@dataclass(frozen=True)
class Outcome:
    """How a test ended. why: the unsupported reason, or what is wrong."""

    name: str
    ended: str
    why: str = ""


class FileError(RuntimeError):
    """A file that cannot be written, or is no journal."""


def checked(case: Any) -> Outcome:
    """Compiles a test's model and compares its outputs."""
    try:
        return _checked(case)
    except ModelError as error:
        return Outcome(case.name, REFUSED, str(error))
    except Exception as error:
        return Outcome(case.name, WRONG, f"{type(error).__name__}: {error}"[:300])


def _checked(case: Any) -> Outcome:
    for inputs, expected in case.data_sets:
        given = {name: _array(value) for name, value in zip(given_names(case.model.graph), inputs)}
        model = _compiled(case.model, given)
        arrays = {leaf: array for name, value in given.items() for leaf, array in flattened(name, value).items()}
        found = model.run({array.name: arrays[array.name] for array in model.inputs})
        wanted: dict[str, np.ndarray] = {}
        for output, value in zip(case.model.graph.output, expected, strict=True):
            wanted |= flattened(output.name, _array(value))
        if list(found) != list(wanted):
            return Outcome(case.name, WRONG, f"it gives {', '.join(found)} for {', '.join(wanted)}")
        for number, (name, y) in enumerate(found.items()):
            wrong = difference(y, wanted[name], case.rtol, case.atol)
            if wrong:
                return Outcome(case.name, WRONG, f"output {number}: {wrong}")
    return Outcome(case.name, PASSED, "" if model.inputs or not given else BOUND)


def _compiled(model: onnx.ModelProto, given: dict[str, Any]) -> CompiledModel:
    """The model as it is; if refused, with known inputs that may decide shapes; else with the first input known too."""
    whole = {
        n: v for n, v in given.items() if isinstance(v, np.ndarray) and v.size <= _DECIDES and v.dtype.kind in "iub"
    }
    small = given and all(_is_small(each) for name, value in given.items() for each in flattened(name, value).values())
    absent = {name: None for name, value in given.items() if value is None}
    dims: dict[str, Any] = {}
    for name, value in given.items():
        dims |= bound_by(name, value) if isinstance(value, list) else {}
    sizes = absent | whole if len(whole) < len(given) else None
    for known in (absent, absent | decisive(given), sizes, given if small else None):
        try:
            if known is not None:
                open_ = {name: bound for name, bound in dims.items() if name.partition("[")[0] not in known}
                return Plan(model, known).compiled(open_)
        except ModelError as error:
            if known is not sizes:  # the error of the attempt before is more helpful
                refused = error
    raise refused


def _array(value: Any) -> Any:
    """A number as an array without axes, a tensor of a file as an array, a sequence as a sequence of arrays."""
    if isinstance(value, (list, tuple)):
        return [_array(each) for each in value]
    if isinstance(value, onnx.TensorProto):
        return onnx.numpy_helper.to_array(value)
    return np.asarray(value) if isinstance(value, np.generic) else value


def decisive(given: dict[str, Any]) -> dict[str, np.ndarray]:
    """The inputs that may decide shapes or loops: not the first, which a node computes with."""
    rest = [(name, value) for name, value in list(given.items())[1:] if isinstance(value, np.ndarray)]
    return {n: v for n, v in rest if v.size <= _DECIDES and (v.dtype.kind in "iub" or v.ndim <= 1)}


def _is_small(array: np.ndarray) -> bool:
    """Whether an array may be nothing but a size or a shape."""
    return array.ndim <= 1 and array.size <= 8 and (array.ndim == 0 or array.dtype.kind in "iu")


def difference(y: np.ndarray, wanted: np.ndarray, rtol: float, atol: float) -> str:
    """Why two arrays are not equal by onnx's tolerances; "" where they are."""
    dtype = OF_NUMPY.get(wanted.dtype.name, "")
    if not dtype or y.dtype != ELEMENTS[dtype].numpy or y.shape != wanted.shape:
        return f"{y.dtype}{list(y.shape)} for {wanted.dtype}{list(wanted.shape)}"
    if dtype == "bf16":
        y, rtol = y.view(wanted.dtype), max(rtol, _BF16)
    elif dtype not in ("f16", "f32", "f64"):
        wanted = in_memory(wanted, dtype)
        return "" if np.array_equal(y, wanted) else f"{np.count_nonzero(y != wanted)} of {y.size} differ"
    near = np.isclose(y.astype(np.float64), wanted.astype(np.float64), rtol, atol, equal_nan=True)
    if near.all():
        return ""
    place = tuple(int(i) for i in np.argwhere(~near)[0])
    return f"{np.count_nonzero(~near)} of {y.size} differ, at {place} {y[place]} for {wanted[place]}"


def outcomes(tests: Iterable[Any]) -> Iterator[Outcome]:
    """The outcome of each test. They run in other processes, so that a crash costs one test."""
    context = get_context("fork")  # the tests themselves cannot be pickled
    waiting = list(tests)
    while waiting:
        with ProcessPoolExecutor(host().cores, mp_context=context, initializer=_keep, initargs=(waiting,)) as pool:
            futures = [pool.submit(_numbered, number) for number in range(len(waiting))]
            for number, future in enumerate(futures):
                try:
                    yield future.result()
                except BrokenProcessPool:
                    yield Outcome(waiting[number].name, WRONG, "a process crashed")
                    waiting = waiting[number + 1 :]
                    break
            else:
                return


_TESTS: list[Any] = []


def _keep(tests: list[Any]) -> None:
    _TESTS[:] = tests


def _numbered(number: int) -> Outcome:
    return checked(_TESTS[number])


def report(found: list[Outcome]) -> str:
    """The counts, the reasons by how often they occur, and all wrong answers, each where there are any."""
    counts = Counter(outcome.ended for outcome in found)
    lines = [
        f"{plural(len(found), 'tests')}: " + ", ".join(f"{counts[kind]} {kind}" for kind in (PASSED, REFUSED, WRONG))
    ]
    if bound := sum(outcome.why == BOUND for outcome in found):
        lines += [
            f"Of those that passed, {bound} have no input but what decides shapes: bound, their outputs are constants."
        ]
    refused = [f"{len(names):5d}  {why}" for why, names in unsupported(found)]
    wrong = [f"  {outcome.name}: {outcome.why}" for outcome in found if outcome.ended == WRONG]
    for heading, rows in (("Refused:", refused), ("Wrong:", wrong)):
        lines += ["", heading, *rows] if rows else []
    return "\n".join(lines)


def unsupported(found: list[Outcome]) -> list[tuple[str, list[str]]]:
    """The reasons with the tests that they refuse, the most frequent first."""
    reasons: dict[str, list[str]] = {}
    for outcome in found:
        if outcome.ended == REFUSED:
            reasons.setdefault(reason(outcome.why), []).append(outcome.name)
    return sorted(reasons.items(), key=lambda each: (-len(each[1]), each[0]))


def page(found: list[Outcome], kinds: Mapping[str, int]) -> str:
    """The report as a page of the documentation. kinds: the number of tests of each kind."""
    counts = Counter(outcome.ended for outcome in found)
    bound = sum(outcome.why == BOUND for outcome in found)
    share = 100 * counts[PASSED] / max(len(found), 1)
    lines = [
        "# Conformance",
        "",
        "Written by `python -m graph.conformance --page docs/conformance.md`, by onnx's own tests.",
        "",
        f"onnx {onnx.__version__} has {len(found)} tests ({', '.join(f'{n} {kind}' for kind, n in kinds.items())}): "
        f"{counts[PASSED]} pass ({share:.1f} %), "
        f"{counts[REFUSED]} are refused and {counts[WRONG]} differ.",
        f"Of those that pass, {bound} have no input but what decides shapes: bound, their outputs are constants.",
        "",
        "| refused | because | such as |",
        "| ---: | --- | --- |",
        *(f"| {len(names)} | {why.replace('|', '/')} | `{sorted(names)[0]}` |" for why, names in unsupported(found)),
        "",
    ]
    wrong = sorted((outcome for outcome in found if outcome.ended == WRONG), key=lambda outcome: outcome.name)
    if wrong:
        rows = [f"| `{each.name}` | {each.why.replace('|', '/')} | {known_cause(each.name)} |" for each in wrong]
        lines += ["| differs | how | because |", "| --- | --- | --- |", *rows, ""]
        if all(known_cause(each.name) for each in wrong):
            lines += ["`tests/graph/test_less_exact.py` proves that ours are the nearer numbers in each of these.", ""]
    return "\n".join(lines)


def known_cause(name: str) -> str:
    """Why a test differs, where that is known; "" where it is not."""
    return next((cause for pattern, cause in _CAUSES if re.fullmatch(pattern, name)), "")


def reason(why: str) -> str:
    """An unsupported reason without the names of nodes and inputs, and without the advice."""
    for advice in (BINDABLE, END_BEFORE, BEGIN_BEHIND):
        why = why.partition(advice)[0]
    head, colon, rest = why.partition(": ")
    if head.startswith("node ") and colon:
        operator = head.partition("(")[2].rstrip(")")
        return f"{operator}: {rest}"[:100]
    return why.replace(why.split()[1], "…", 1)[:100] if why.startswith("input ") else why[:100]


@ending("interrupted, and nothing is kept without --journal", FileError)
def main(arguments: list[str] | None = None) -> int:
    """Runs the command line and returns the exit code. 1: wrong answers, or it failed; 2: no such test; 130: Ctrl-C."""
    parser = Parser(
        "python -m graph.conformance",
        description="Runs onnx's own tests.",
        epilog="It needs onnx: pip install 'tilewright[models]'.",
    )
    parser.add_argument("names", metavar="NAME", nargs="*", help="run only tests whose name contains one of these")
    parser.add_argument("--every", type=whole, default=1, metavar="N", help="run every Nth test; default 1: all")
    parser.add_argument("--page", type=Path, metavar="FILE", help="write the report as a page of the documentation")
    parser.add_argument(
        "--journal", type=Path, metavar="FILE", help="note each outcome there, and run only the tests that have none"
    )
    options = parser.parse_args(arguments)
    tests = [case for case in cases() if not options.names or any(name in case.name for name in options.names)]
    if not tests:
        print(f"no test of onnx {onnx.__version__} has {' or '.join(options.names)} in its name", file=sys.stderr)
        return 2
    try:
        for path in filter(None, (options.page, options.journal)):
            with _written(path):
                path.open("a", encoding="utf-8").close()  # before tests run for minutes
        tests = tests[:: options.every]
        found: list[Outcome] = []
        counts: Counter[str] = Counter()
        with counted(terminal()) as progress:
            for outcome in _noted(tests, options.journal):
                found.append(outcome)
                counts[outcome.ended] += 1
                progress(SearchState(f"{counts[REFUSED]} refused, {counts[WRONG]} wrong", len(found), len(tests)))
        with readers_may_leave():
            write(report(found))
        if options.page:
            with _written(options.page):
                options.page.write_text(page(found, Counter(case.kind for case in tests)), encoding="utf-8")
    except KeyboardInterrupt:
        if not options.journal:
            raise
        raise KeyboardInterrupt(f"interrupted: {options.journal} has what was run") from None
    except OSError as error:
        raise FileError(f"the tests cannot go on: {error.strerror or error}") from None
    return int(any(outcome.ended == WRONG for outcome in found))


@contextmanager
def _written(path: Path) -> Iterator[None]:
    """Makes an error of a file a FileError."""
    try:
        yield
    except OSError as error:
        raise FileError(f"{path} cannot be written: {error.strerror or error}") from None


def _noted(tests: list[Any], journal: Path | None) -> Iterator[Outcome]:
    """The outcomes, those in the journal first."""
    known: dict[str, Outcome] = {}
    if journal and journal.exists():
        try:
            entries = [Outcome(**json.loads(line)) for line in journal.read_text(encoding="utf-8").splitlines()]
        except (ValueError, TypeError):
            raise FileError(f"{journal} is no journal of outcomes: name another file, or remove it") from None
        known = {entry.name: entry for entry in entries}
    yield from (known[case.name] for case in tests if case.name in known)
    for outcome in outcomes([case for case in tests if case.name not in known]):
        if journal:
            with _written(journal), journal.open("a", encoding="utf-8") as file:
                print(json.dumps(asdict(outcome)), file=file)
        yield outcome


if __name__ == "__main__":
    run("graph.conformance:main")
