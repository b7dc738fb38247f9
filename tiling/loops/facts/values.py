"""The dtype of a value of the loop language, which follows from those of buffers and registers."""

from __future__ import annotations

from collections.abc import Mapping

from tiling.loops.language import Apply, Choose, Invoke, Load, Number, Operand, Position, Register

_TRUTHS = frozenset({"eq", "ne", "lt", "le", "gt", "ge", "and", "or", "not"})


def dtype_of(value: Operand, dtypes: Mapping[str, str]) -> str:
    """The dtype of a value. dtypes: those of buffers and registers, by name."""
    match value:
        case Number(_, dtype):
            return dtype
        case Load(name) | Register(name):
            return dtypes[name]
        case Position():
            return "s64"
        case Choose():
            return dtype_of(value.value, dtypes)
        case Invoke(instruction):
            return instruction.dtype
        case Apply(function, arguments):
            if function in _TRUTHS:
                return "bool"
            if function == "from_bf16":
                return "f32"
            if function.startswith("as_"):
                return function.removeprefix("as_")
            return dtype_of(arguments[1 if function == "where" else 0], dtypes)
    raise TypeError(f"{type(value).__name__} has no dtype")
