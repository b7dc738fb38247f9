"""Values, places and conditions of loops as pseudo-code: `acc[m_u, 0, lane]`, `0 <= h - 1 < 14`."""

from __future__ import annotations

from tiling.loops.index import Index
from tiling.loops.language import (
    Address,
    Aligned,
    Apply,
    Choose,
    Condition,
    Flag,
    Immediate,
    Invoke,
    Load,
    Mask,
    Number,
    Operand,
    Position,
    Register,
    Stride,
    Value,
)

_SIGNS = {"add": "+", "sub": "-", "mul": "*", "div": "/"}


def assigned(name: str, itself: Value, value: Value) -> str:
    """A value that a name gets; `itself` is the value that it has."""
    if isinstance(value, Apply) and value.function == "add" and value.arguments[0] == itself:
        return f"{name} += {operand_text(value.arguments[1])}"
    return f"{name} = {operand_text(value)}"


def place(buffer: str, at: tuple[Index, ...]) -> str:
    """An element of a buffer."""
    return f"{buffer}[{', '.join(map(str, at))}]"


def all_of(conditions: tuple[Condition, ...]) -> str:
    """That all conditions hold."""
    return " and ".join(map(_condition, conditions)) or "always"


def _condition(condition: Condition) -> str:
    if isinstance(condition, Flag):
        return condition.name
    if isinstance(condition, Aligned):
        begins = "begins" if condition.does else "does not begin"
        return f"{condition.buffer} {begins} at a multiple of {condition.bytes} bytes"
    index, low, high = condition.index, condition.low, condition.high
    if low is not None and high == low + 1:
        return f"{index} == {low}"
    if high is None:
        return f"{index} >= {low}"
    return f"{index} < {high}" if low is None else f"{low} <= {index} < {high}"


def operand_text(operand: Operand) -> str:
    """A value, an address, or what else an instruction is given."""
    match operand:
        case Number(value):
            return f"{value:g}"
        case Register(name):
            return name
        case Position(index):
            return str(index)
        case Choose(conditions, value, otherwise):
            return f"({operand_text(value)} if {all_of(conditions)} else {operand_text(otherwise)})"
        case Load(buffer, at):
            return place(buffer, at)
        case Address(buffer, at):
            moved = any(index != Index(()) for index in at)
            return f"{buffer} + [{', '.join(map(str, at))}]" if moved else buffer
        case Mask(index) | Immediate(index):
            return str(index)
        case Stride(buffer, at):
            return f"{buffer} by [{', '.join(map(str, at))}]"
        case Invoke(instruction, operands):
            named = len(operands) > 1
            given = (f"{name}: {operand_text(each)}" if named else operand_text(each) for name, each in operands)
            return f"{instruction.name}({', '.join(given)})"
        case Apply():
            return _apply(operand)
    raise TypeError(f"{type(operand).__name__} is no operand of the loop language")


def _apply(apply: Apply) -> str:
    function, arguments = apply.function, apply.arguments
    if function == "neg":
        return f"-{_factor(arguments[0])}"
    if function not in _SIGNS:
        return f"{function}({', '.join(map(operand_text, arguments))})"
    left, right = arguments
    if function == "add":
        return f"{operand_text(left)} + {operand_text(right)}"
    if function == "sub":
        return f"{operand_text(left)} - {_factor(right)}"
    # What follows a division sign is one factor: a / (b * c).
    divisor = isinstance(right, Apply) and right.function in ("mul", "div")
    return f"{_factor(left)} {_SIGNS[function]} {f'({operand_text(right)})' if divisor else _factor(right)}"


def _factor(value: Value) -> str:
    """A value before or after `*`: a sum gets brackets, and so does a sign."""
    text = operand_text(value)
    loose = isinstance(value, Apply) and value.function in ("add", "sub", "neg")
    return f"({text})" if loose or text.startswith("-") else text
