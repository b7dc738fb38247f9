"""The arguments of sliding windows, checked: strides, dilations and paddings along each axis, and the outputs."""

from __future__ import annotations

from operator import index as whole_number
from typing import SupportsIndex, cast

from tiling.canonical import PAD_SIDES
from tiling.problem import ProblemError

# Padding along one axis: "same", "valid", or the numbers before and after.
Side = str | tuple[int, int]


def whole(op: str, name: str, value: object) -> int:
    """`value` as an int, whatever whole-number type it has (NumPy's too). A bool is an error."""
    try:
        if isinstance(value, bool):
            raise TypeError
        return whole_number(cast(SupportsIndex, value))
    except TypeError:
        raise ProblemError(f"{op}: {name}={value!r} must be a whole number") from None


def positive(op: str, name: str, value: object) -> int:
    """`value` as an int of at least 1."""
    found = whole(op, name, value)
    if found < 1:
        raise ProblemError(f"{op}: {name}={found} must be at least 1")
    return found


def flag(op: str, name: str, value: object) -> bool:
    """`value` as a bool: True, False, 1 or 0, NumPy's too. A text such as "no" is an error."""
    if isinstance(value, str) or str(value) not in ("True", "False", "1", "0"):
        raise ProblemError(f"{op}: {name}={value!r:.40} must be True or False")
    return bool(value)


def along(op: str, name: str, value: object, axes: str) -> tuple[int, ...]:
    """The numbers of at least 1 along these axes: one for all, or one for each."""
    found = tuple(value) if isinstance(value, (tuple, list)) else (value,) * len(axes)
    if len(found) != len(axes):
        raise ProblemError(f"{op}: {name}={value!r} must be one number or one per axis ({', '.join(axes)})")
    return tuple(positive(op, name, part) for part in found)


def padding_along(op: str, value: object, axes: str) -> tuple[Side, ...]:
    """The padding along each of these axes."""
    parts = tuple(value) if isinstance(value, (tuple, list)) else (value,) * len(axes)
    if len(parts) != len(axes) or not all(map(_is_side, parts)):
        one = ", ".join(f"p{axis}" for axis in axes)
        both = ", ".join(f"({', '.join(PAD_SIDES[axis])})" for axis in axes).replace("pad_", "")
        raise ProblemError(f'{op}: padding={value!r} must be p, ({one}), ({both}), "same" or "valid"')
    found = tuple(_side(op, part) for part in parts)
    numbers = [number for side in found if not isinstance(side, str) for number in side]
    if min(numbers, default=0) < 0:
        raise ProblemError(f"{op}: padding={value!r} must be at least 0")
    return found


def _is_side(value: object) -> bool:
    """Whether `value` has the form of a padding along one axis; its numbers are not looked at."""
    if isinstance(value, str):
        return value in ("same", "valid")
    return not isinstance(value, (tuple, list)) or len(value) == 2


def _side(op: str, value: object) -> Side:
    if isinstance(value, str):
        return value
    pair = tuple(value) if isinstance(value, (tuple, list)) else (value, value)
    before, after = (whole(op, "padding", part) for part in pair)
    return before, after


def sides(padding: Side, size: int, taps: int, stride: int, dilation: int) -> tuple[int, int]:
    """The points of padding before and after along one axis."""
    if not isinstance(padding, str):
        return padding
    if padding == "valid":
        return 0, 0
    total = max(0, (-(-size // stride) - 1) * stride + (taps - 1) * dilation + 1 - size)
    return total // 2, total - total // 2


def outputs(op: str, axis: str, size: int, taps: int, stride: int, dilation: int, before: int, after: int) -> int:
    """The outputs along an axis of `size` points, padded before and after. Raises ProblemError where there are none."""
    reach, padded = (taps - 1) * dilation + 1, size + before + after
    if reach > padded:
        raise ProblemError(
            f"{op}: the kernel reaches over {reach} points along {axis}, the padded input has only {padded} "
            f"({axis}={size}, padding {before}+{after})"
        )
    return (padded - reach) // stride + 1
