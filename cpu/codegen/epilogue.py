"""An epilogue as a C function. It takes the vector of sums and a vector of each array.

    relu(y*scale + b)   ->   static inline __m512 epilogue(__m512 y, __m512 e_scale, __m512 e_b, __m512 zero)
                             { return relu_of(y * e_scale + e_b, zero); }

In C an array's vector is called e_NAME, the whole array E_NAME, and its strides STEP_NAME_dim, so that no name can
clash with the file's own.
"""

from __future__ import annotations

from cpu.codegen.indices import words_of
from cpu.codegen.vector_functions import BASE, NAMES, ZEROS, definitions
from microkernels.tile.isa_row import Isa
from tiling.problem import Problem
from tiling.text.numbers import shortest
from tiling.value import Applied, Constant, Epilogue, EpilogueArray, Sum, Value

_OF_ZERO = frozenset({"relu", "relu6", "hardsigmoid", "hardswish"})
_SYMBOLS = {"add": "+", "sub": "-", "mul": "*", "div": "/"}
_PRECEDENCE = {"add": 1, "sub": 1, "mul": 2, "div": 2, "neg": 3}


_ABOUT = """\
/* The epilogue, applied to each vector as it is stored:
 *
 *     {text}
 *
 * A NaN gives a NaN. Errors are in units in the last place (ulp) of the result. An exponential below about e^-87 counts
 * as 0, by which a result may be off by 2^-119 besides. */"""


def epilogue_text(epilogue: Epilogue, isa: Isa) -> str:
    """The epilogue as the file's own C function, behind those that it calls."""
    zero = compares_with_zero(epilogue)
    vectors = ["y", *(f"e_{array.name}" for array in epilogue.arrays), *["zero"] * zero]
    parameters = ", ".join(f"{isa.vector_type} {name}" for name in vectors)
    called = {f"{operation}_of" for operation in epilogue.operations} & NAMES
    text = _c(epilogue.value)
    called |= (words_of([text]) & BASE) | ({ZEROS} if zero else set())
    lines = [_ABOUT.format(text=epilogue), *[definitions(called, isa), ""] * bool(called)]
    lines += [f"static inline {isa.vector_type} epilogue({parameters})", "{", f"    return {text};", "}"]
    return "\n".join(lines)


def compares_with_zero(epilogue: Epilogue) -> bool:
    """Whether the epilogue's last argument is a vector of zeros, which a tile loads once."""
    return not _OF_ZERO.isdisjoint(epilogue.operations)


def pointers(problem: Problem, prefix: str) -> tuple[str, ...]:
    """C parameters for the epilogue's arrays: `const float *e_b` in a tile (prefix e), `const float *E_b` outside."""
    return tuple(f"const float *{prefix}_{array.name}" for array in problem.epilogue_arrays)


def _c(value: Value) -> str:
    """A value as C. Infix operations follow C's precedence; everything else is a call."""
    if isinstance(value, Sum):
        return "y"
    if isinstance(value, Constant):
        return f"constant({shortest(value.value)}f)"
    if isinstance(value, EpilogueArray):
        return f"e_{value.name}"
    if value.operation == "neg":
        return f"-{_grouped(value.arguments[0], 'neg')}"
    if value.operation not in _SYMBOLS:
        zero = ["zero"] if value.operation in _OF_ZERO else []
        return f"{value.operation}_of({', '.join([*_ordered(value), *zero])})"
    left, right = _grouped(value.arguments[0], value.operation), _grouped(value.arguments[1], value.operation, True)
    return f"{left} {_SYMBOLS[value.operation]} {right}"


def _grouped(value: Value, around: str, right: bool = False) -> str:
    """`value` as an operand of `around`, in parentheses if C needs them."""
    inside = _PRECEDENCE.get(value.operation, 4) if isinstance(value, Applied) else 4
    loose = inside < _PRECEDENCE[around] or (inside == _PRECEDENCE[around] and (right or around == "neg"))
    return f"({_c(value)})" if loose else _c(value)


def _ordered(value: Applied) -> list[str]:
    """The arguments. In min and max a number comes first: it is not NaN, so the compiler leaves out that test."""
    arguments = value.arguments
    if value.operation in ("min", "max"):
        arguments = tuple(sorted(arguments, key=lambda argument: not isinstance(argument, Constant)))
    return [_c(argument) for argument in arguments]
