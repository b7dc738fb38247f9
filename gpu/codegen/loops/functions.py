"""Functions of single numbers as text that C and CUDA read. `gpu/device/values.cuh` defines those that are called.

exp of f32       exp_f32(v)
add of f32       a + b
as_s8 of f32     (signed char)(int)(v)
"""

from __future__ import annotations

from math import isinf, isnan

from tiling.dtypes.formats import COMPUTED, FLOATS, WIDENED
from tiling.dtypes.products import DTYPE_BYTES, GPU_DTYPES, LANE_BYTES, word_of
from tiling.loops.language import Number
from tiling.loops.machines import MBARRIER
from tiling.text.numbers import shortest

# The type of an element in memory, and its type as a value: a narrow float becomes an f32.
STORED = {name: each.cuda for name, each in COMPUTED.items()}
# What a matrix instruction takes: the bits of a tf32, and words of several numbers.
STORED["tf32"] = "unsigned"
STORED[MBARRIER] = "unsigned long long"
_WORDS = (word_of(dtype, LANE_BYTES // DTYPE_BYTES[dtype]) for dtype in GPU_DTYPES)
VALUE = STORED | dict.fromkeys(WIDENED, STORED["f32"]) | {"bool": "int"} | dict.fromkeys(_WORDS, "unsigned")

_INFIX = {"add": "+", "sub": "-", "mul": "*", "div": "/"}  # of floats
_COMPARED = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_TRUTHS = {"and": "&&", "or": "||"}
# The whole numbers through which floats become narrower ones.
_BY = {name: STORED[each.computed_in] for name, each in COMPUTED.items() if each.whole and each.computed_in != name}


def literal(number: Number) -> str:
    """A number as text."""
    value, dtype = number.value, number.dtype
    if dtype not in FLOATS:
        whole = int(value)
        if whole == -(1 << 63):  # it is no literal in C
            return f"({whole + 1}ll - 1)"
        ending = "ull" if whole >= 1 << 63 else "ll" if not -(1 << 31) < whole < 1 << 31 else ""
        return f"{whole}{ending}"
    wide = dtype == "f64"
    if isnan(value) or isinf(value):
        return f"{'-' if value < 0 else ''}{'NAN' if isnan(value) else 'INF'}_{'F64' if wide else 'F32'}"
    return repr(float(value)) if wide else f"{shortest(value)}f"


def applied(function: str, given: list[str], dtype: str) -> str:
    """A function of arguments of a dtype."""
    if function.startswith("as_"):
        return _cast(given[0], dtype, function.removeprefix("as_"))
    if function == "from_bf16":
        return given[0]
    if function == "where":
        return f"({given[0]} ? {given[1]} : {given[2]})"
    if function in _COMPARED or function in _TRUTHS:
        return f"({given[0]} {(_COMPARED | _TRUTHS)[function]} {given[1]})"
    if function == "not":
        return f"!({bare(given[0])})"
    if dtype in FLOATS and function in _INFIX:
        return f"({given[0]} {_INFIX[function]} {given[1]})"
    if dtype in FLOATS and function == "neg":
        return f"(-({given[0]}))" if given[0].startswith("-") else f"(-{given[0]})"
    return f"{function}_{dtype}({', '.join(bare(each) for each in given)})"


def bare(text: str) -> str:
    """A text without the brackets around all of it."""
    if not (text.startswith("(") and text.endswith(")")):
        return text
    depth = 0
    for place, character in enumerate(text):
        depth += {"(": 1, ")": -1}.get(character, 0)
        if not depth and place < len(text) - 1:
            return text
    return text[1:-1]


def _cast(text: str, dtype: str, wanted: str) -> str:
    if dtype == wanted:
        return text
    if wanted == "bool":
        return f"({text} != 0)"
    if wanted == "f16":
        if dtype in ("f32", "bf16"):
            return f"round_f16({bare(text)})"
        return f"round_f16_of_f64({bare(text)})"
    if wanted == "bf16":
        return f"round_bf16({bare(text)})"
    if wanted == "tf32":
        return f"tf32_of({bare(text)})"
    if VALUE[dtype] == VALUE[wanted]:
        return text
    by = f"({_BY[wanted]})" if wanted in _BY and dtype in FLOATS else ""
    inner = text if text.isidentifier() or (text.startswith("(") and bare(text) != text) else f"({text})"
    return f"({VALUE[wanted]}){by}{inner}"
