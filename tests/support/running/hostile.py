"""Hostile texts and records, and what must become of them: read, or refused in a sentence."""

from __future__ import annotations

import re
import sqlite3
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pytest
from hypothesis import strategies as st

from cpu.codegen.emit import emit, symbol_of
from microkernels.scores import records
from microkernels.scores.catalog import Entry
from microkernels.scores.database import FILE_NAME, data_folder
from microkernels.tile.isa import ISAS, PORTABLE
from microkernels.tile.microkernel import Microkernel
from microkernels.tile.microkernel import parse as parse_microkernel
from microkernels.tile.space import quick
from search.tuner import store
from tiling.machine import Timing
from tiling.scheme.specifiers import SchemeError
from tiling.text.notation import parse
from tiling.text.shapes import ShapeError, canonical, parse_matmul_shape, parse_shape, suite

HOSTILE = (
    *(";touch owned", "$(touch owned)", "`touch owned`", "| touch owned", "%s%n%x", "{}", "{0.__class__}", "{{7*7}}"),
    *("../../etc", "*/ int owned; /*", '"', "'", "\\", "\0", "\n#include <owned>\n", "\x1b[31m", "/*% set x = 1 %*/"),
    *(
        "-o owned",
        "@owned",
        "٣",
        "1e9",
        "-1",
        "0x10",
        "9" * 5000,
        "λ",
        "\ud800",
        "'; DROP TABLE microkernels; --",
        "NaN",
        "Infinity",
        "",
    ),
)
SHAPE = "c=8,h=10,w=10,k=16,r=3,s=3,pad=1"
DESCRIPTOR = "mb1ic64ih56oc64oh56kh3ph1"
PROBLEM = parse_shape(SHAPE)
SCHEME = "R(k) T(h,10) T(w,2) S(y) T(r,3) T(s,3) T(c,8) U(w,5) V(k,4)"
NAME = "f32_conv2d_ukernel_2hx7wx32kx3s_s2__avx512f"


def spoiled(valid: str):
    """Texts beside a valid one: a part of it replaced by something hostile, or anything at all."""
    place = st.integers(0, len(valid))
    parts = st.tuples(place, place, st.sampled_from(HOSTILE) | st.text(max_size=8))
    return parts.map(lambda cut: valid[: min(cut[:2])] + cut[2] + valid[max(cut[:2]) :]) | st.text(max_size=60)


def one_sentence(error: Exception) -> bool:
    return 0 < len(str(error)) < 500 and str(error).isprintable()


def check_shape(text: str) -> None:
    try:
        problem = parse_shape(text)
    except ShapeError as error:
        assert one_sentence(error)
    else:
        assert re.fullmatch("[a-z0-9_=,]+", canonical(problem)) and parse_shape(canonical(problem)) == problem
        for isa in ISAS.values():
            assert re.fullmatch("[A-Za-z0-9_]+", symbol_of(problem, isa, 2))


def check_product(text: str) -> None:
    try:
        problem = parse_matmul_shape(text)
    except ShapeError as error:
        assert one_sentence(error)
    else:
        assert re.fullmatch("[A-Za-z0-9_]+", symbol_of(problem, PORTABLE, 1))


def check_scheme(text: str) -> None:
    try:
        scheme = parse(PROBLEM, text)
        assert parse(PROBLEM, scheme.text) == scheme
        assert re.fullmatch("[A-Za-z0-9_(),@+ λ]+", scheme.text)
        assert re.fullmatch("[A-Za-z0-9_]+", emit(scheme, PORTABLE).symbol)
    except SchemeError as error:
        assert one_sentence(error)


def check_name(text: str) -> None:
    try:
        kernel = parse_microkernel(text)
    except ValueError as error:
        assert one_sentence(error)
    else:
        assert isinstance(kernel, Microkernel) and kernel.name == text and re.fullmatch("[a-z0-9_]+", text)


def check_suite(text: str) -> None:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        (Path(folder) / "mine.txt").write_bytes(text.encode(errors="surrogatepass"))
        patch.setattr("tiling.text.suite.files", lambda _: Path(folder))
        try:
            layers = suite("mine")
        except ShapeError as error:
            assert one_sentence(error)
        else:
            assert all(layer.unsupported if layer.problem is None else canonical(layer.problem) for layer in layers)


COMPOSED = "L(h, 1x4 + 2x3) R(k) T(w,10) S(y) T(c,8) T(r,3) T(s,3) U(h,λ) V(k,4)"
SUITE = "R1 c=3,h=224,w=224,k=64,r=7,s=7,stride=2,pad=3  # the stem\nR2 c=64,h=56,w=56,k=64,r=3,s=3,pad=1\n"
TEXTS = {
    "shape": (spoiled(SHAPE) | spoiled(DESCRIPTOR) | spoiled("resnet18:R2"), check_shape),
    "product": (spoiled("m=12,n=32,k=64"), check_product),
    "scheme": (spoiled(SCHEME) | spoiled(COMPOSED), check_scheme),
    "name": (spoiled(NAME), check_name),
    "suite": (spoiled(SUITE), check_suite),
}
VALUES = st.one_of(
    st.none(), st.integers(-(2**63), 2**63 - 1), st.floats(), st.binary(max_size=20), st.sampled_from(HOSTILE),
    st.sampled_from(["[]", "[1]", "[NaN]", "[-1.0]", '["a"]', "[1e999]", "[0.0]", "[[1]]", "[true]", "{}", "null",
                     "[" * 50_000, '{"read": 3}', '{"read": {"memory": 1}}', NAME, SCHEME, "[1.0, 2.0]", "1" * 5000,
                     "[" + "9" * 400 + "]"]),
)  # fmt: skip


@contextmanager
def doctored_store(folder: Path) -> Iterator[Callable[[dict[tuple[str, str], object]], store.Key]]:
    """A store with one record of each kind, and what writes any values into them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TILEWRIGHT_DATA", str(folder))
        key = store.Key("here", "portable", "gcc 1", "conv2d", SHAPE, 1)
        kernel = quick(PORTABLE)[0]
        records.record("here", Entry(kernel, 0.5, Timing((1.0,), 9.0)), settled=True)
        store.record(key, SCHEME, Timing((1.0,), 9.0))
        store.choose(key, "model", SCHEME, Timing((1.0,), 9.0))
        rates = {"peak_gflops": 1.0, "memory_stream": 1.0, "write": {"memory": 1.0}}
        store.keep_facts("here", "portable", {"read": {"memory": 1.0}, **rates})

        def write(values: dict[tuple[str, str], object]) -> store.Key:
            with closing(sqlite3.connect(data_folder() / FILE_NAME, isolation_level=None)) as connection:
                for (table, column), value in values.items():
                    is_text = isinstance(value, str)
                    text = value.encode(errors="surrogatepass").decode(errors="replace") if is_text else value
                    with suppress(sqlite3.IntegrityError):  # what must not be null
                        connection.execute(f"UPDATE {table} SET {column} = ?", (text,))
            return key

        yield write


COLUMNS = {
    "microkernels": ("kernel", "score", "samples", "peak_gflops", "reason", "stale", "measured"),
    "schemes": ("scheme", "samples", "peak_gflops", "reason"),
    "choices": ("scheme", "samples", "peak_gflops"),
    "machines": ("facts",),
}


def check_records(doctored, values: dict[tuple[str, str], object]) -> None:
    key = doctored(values)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        catalog = records.load("here", "portable")
        names = records.measured("here")
        records.revision("here", "portable", "conv2d")
        outcomes = store.measured(key)
        choice = store.choice(key, "model")
        facts = store.facts("here", "portable")
    for entry in catalog.entries:
        assert 0 < entry.score < float("inf") and entry.kernel.isa == "portable" and isinstance(entry.timing, Timing)
    assert all(parse_microkernel(name) for name in names)
    assert all(isinstance(outcome, (Timing, str)) for outcome in outcomes.values())
    assert choice is None or (
        isinstance(choice.scheme, str) and (choice.timing is None or isinstance(choice.timing, Timing))
    )
    assert facts is None or all(rate > 0 for rate in facts["read"].values())
    if choice:
        check_scheme(choice.scheme)


PLACES = [(table, column) for table, columns in COLUMNS.items() for column in columns]
DOCTORED = st.dictionaries(st.sampled_from(PLACES), VALUES, min_size=1)
