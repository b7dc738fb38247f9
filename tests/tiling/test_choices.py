"""Names to choose from, as a sentence."""

import pytest

from tiling.choices import either


@pytest.mark.parametrize(
    "names, said", [(["f32"], "f32"), (["bf16", "f32"], "bf16 or f32"), ({"a": 1, "b": 2, "c": 3}, "a, b or c")]
)
def test_names_are_listed_as_english_has_them(names, said):
    assert either(names) == said
