"""A run as data: JSON and CSV, and what is refused."""

from __future__ import annotations

import csv
import json
import re
from dataclasses import replace
from io import StringIO

import pytest

from bench.report.formats import BenchRun, FormatError, from_json, from_json_lines, to_csv, to_json, to_json_lines
from bench.report.results import MODEL, OURS
from tests.support.search.made_up_results import CONDITIONS, MISSING, RESULTS, WHY
from tiling.machine import Timing


def test_json_reads_back_to_the_same_results():
    for result in RESULTS:
        assert from_json(to_json(result)) == result
    run = BenchRun(CONDITIONS, RESULTS, MISSING)
    assert from_json_lines(to_json_lines(run)) == run


@pytest.mark.parametrize(
    "change, why",
    [
        (lambda r: r.pop("scheme"), "result is not as this version writes it: missing or unknown are scheme"),
        (lambda r: r.update(colour=1), "missing or unknown are colour"),
        (lambda r: r.update(flops="many"), "result.flops is not a whole number"),
        (lambda r: r.update(flops=True), "result.flops is not a whole number"),
        (lambda r: r.update(threads=0), "the result of net:A<&> breaks the rule that it has one thread"),
        (lambda r: r.update(tried=[[1.0]]), r"result.tried[0] has 1 entries in the place of 2"),
        (lambda r: r.update(contenders=[]), "its first contender is ours"),
        (lambda r: r["contenders"][2]["call"].update(samples=[]), "contenders[2].call: no samples"),
        (lambda r: r["contenders"][2].update(call=None), "result.contenders[2].call is not a JSON object"),
        (lambda r: r["contenders"][1].update(max_error=float("nan")), "contenders[1].max_error is not a finite number"),
    ],
)
def test_what_is_no_result_is_refused_with_a_sentence(change, why):
    value = json.loads(to_json(RESULTS[0]))
    change(value)
    with pytest.raises(FormatError, match=re.escape(why)):
        from_json(json.dumps(value))


@pytest.mark.parametrize(
    "text, why",
    [
        ("", "the first line does not state the conditions"),
        ("{torn", "line 1: '{torn' is not JSON"),
        ("[1]", "line 1: '[1]' is not a JSON object"),
        (to_json(RESULTS[0]), "the first line does not state the conditions"),
        (to_json_lines(BenchRun(CONDITIONS, ())), "there is no layer in it"),
        (to_json_lines(BenchRun(CONDITIONS, RESULTS[:1])) + '{"missing": "x"}', "line 3: why is not a text"),
    ],
)
def test_a_file_that_is_no_run_is_refused_with_a_sentence(text, why):
    with pytest.raises(FormatError, match=re.escape(why)):
        from_json_lines(text)


def test_csv_has_a_row_a_layer_and_contender_and_one_for_what_was_skipped():
    found = list(csv.DictReader(StringIO(to_csv(RESULTS))))
    assert [row["contender"] for row in found[:8]] == [OURS, MODEL, "fast", "slow|er", OURS, MODEL, "fast", "slow|er"]
    ours, model, fast = found[:3]
    assert (ours["layer"], ours["count"], ours["scheme"], model["scheme"]) == ("A<&>", "4", "T(A<&>) λ", "M")
    assert float(fast["percent"]) == pytest.approx(40) and float(fast["ratio_to_ours"]) == pytest.approx(2)
    assert float(ours["kernel_percent"]) == pytest.approx(81) and fast["kernel_seconds"] == fast["scheme"] == ""
    assert float(ours["call_seconds"]) == RESULTS[0].ours.call.seconds
    assert found[7]["skipped"] == WHY and found[7]["call_seconds"] == "" and found[7]["layer"] == "B"


def test_csv_states_the_quartiles_of_a_call():
    varied = replace(RESULTS[0].ours, call=Timing((8.0, 1.0, 5.0, 3.0, 2.0, 7.0, 4.0, 6.0), 1.0))
    row = next(csv.DictReader(StringIO(to_csv([replace(RESULTS[0], contenders=(varied,))]))))
    assert [float(row[f"call_{name}"]) for name in ("quartile_1", "seconds", "quartile_3")] == [3.0, 4.5, 6.0]
