"""An epilogue as a value of the loop language."""

from __future__ import annotations

from collections.abc import Mapping

from tiling.loops.language import Apply, Load, Number, Value
from tiling.value import Applied, Constant, EpilogueArray, Sum
from tiling.value import Value as EpilogueValue


def epilogue_of(value: EpilogueValue, found: Value, arrays: Mapping[str, Load]) -> Value:
    """An epilogue's expression over the sum `found` and elements of its arrays."""
    if isinstance(value, Sum):
        return found
    if isinstance(value, Constant):
        return Number(value.value)
    if isinstance(value, EpilogueArray):
        return arrays[value.name]
    assert isinstance(value, Applied)
    return Apply(value.operation, tuple(epilogue_of(argument, found, arrays) for argument in value.arguments))
