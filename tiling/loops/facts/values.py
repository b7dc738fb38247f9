"""The dtypes of values of the loop language, which follow from those of buffers and registers."""

from __future__ import annotations

from collections.abc import Mapping

from tiling.loops.kernel import Kernel
from tiling.loops.language import Apply, Choose, Invoke, Let, Load, Number, Operand, Position, Register, Value
from tiling.loops.walk import buffers_of, walk

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
            return dtype_of(telling(function, arguments), dtypes)
    raise TypeError(f"{type(value).__name__} has no dtype")


def telling(function: str, arguments: tuple[Value, ...]) -> Value:
    """The argument of a function whose dtype tells the function from others of that name."""
    return arguments[1 if function == "where" else 0]


def dtypes_of(kernel: Kernel) -> dict[str, str]:
    """The dtype of every buffer and register."""
    found = {name: buffer.dtype for name, buffer in buffers_of(kernel).items()}
    return found | {s.name: s.dtype or "f32" for s in walk(kernel.body) if isinstance(s, Let)}
