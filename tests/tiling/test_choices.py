"""Names to choose from, as a sentence."""

import pytest

from tiling.choices import either, meant


@pytest.mark.parametrize(
    "names, said", [(["f32"], "f32"), (["bf16", "f32"], "bf16 or f32"), ({"a": 1, "b": 2, "c": 3}, "a, b or c")]
)
def test_names_are_listed_as_english_has_them(names, said):
    assert either(names) == said


@pytest.mark.parametrize(
    "wanted, said",
    [("ONEDNNN", " (did you mean oneDNN?)"), ("tvn", " (did you mean tvm?)"), ("numpy", "")],
)
def test_an_unknown_name_is_told_the_nearest_ones(wanted, said):
    assert meant(wanted, ["oneDNN", "ort", "tvm"]) == said


@pytest.mark.parametrize(
    "wanted, said",
    [("--JSNO", " (did you mean --json?)"), ("jsno", " (did you mean --json?)"), ("--sinc", "")],
)
def test_the_dashes_of_options_are_no_likeness(wanted, said):
    assert meant(wanted, ["--json", "--threads"]) == said
