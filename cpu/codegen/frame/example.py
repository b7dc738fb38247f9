"""The program in C that shows how a saved kernel is called, and times it."""

from __future__ import annotations

from cpu.codegen.frame.frames import TEMPLATES
from cpu.runtime.numbers import ELEMENTS
from microkernels.tile.isa_row import Isa
from tiling.dtypes.formats import FORMATS, UNSIGNED
from tiling.problem import Problem

_TO_BF16 = """\

/* The upper half of a float. */
static uint16_t bf16(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits >> 16;
}"""
_FROM_BF16 = """\

static float from_bf16(uint16_t upper)
{
    const uint32_t bits = (uint32_t)upper << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}"""


def _element(dtype: str, number: str) -> str:
    """An element of an array, from the C text of a number from -3 to 3."""
    if FORMATS[dtype].named:
        return f"{dtype}({number})"
    return f"2 + {number}" if FORMATS[dtype].kind == UNSIGNED else number


def example(problem: Problem, elements: tuple[str, str, str], symbol: str, isa: Isa) -> str:
    """The text of the example. elements: the formats of x, the weights and the output."""
    tensors = problem.broadcast, problem.vector, problem.output
    x, w, y = (ELEMENTS[name].c for name in elements)
    inputs, weights, outputs = (tensor.elements for tensor in tensors)
    narrow, narrow_output = "bf16" in elements, elements[2] == "bf16"
    made = [
        f"{x} *x = array({inputs}, sizeof *x);",
        f"{w} *w = array({weights}, sizeof *w), *packed = array({symbol.upper()}_PACKED, sizeof *packed);",
        f"{y} *y = array({outputs}, sizeof *y); /* {' x '.join(map(str, tensors[2].shape))} */",
    ]
    for array in problem.epilogue_arrays:
        made.append(f"float *e_{array.name} = array({array.elements}, sizeof(float));")
        made.append(f"for (long i = 0; i < {array.elements}; ++i) e_{array.name}[i] = i % 3 - 1;")
    made.append(f"for (long i = 0; i < {inputs}; ++i) x[i] = {_element(elements[0], 'i % 5 - 2')};")
    made.append(f"for (long i = 0; i < {weights}; ++i) w[i] = {_element(elements[1], 'i % 7 - 3')};")
    text: str = TEMPLATES.get_template("example.c.j2").render(
        symbol=symbol,
        isa=isa,
        includes=["#include <string.h>"] * narrow,
        conversions=[_TO_BF16] * narrow + [_FROM_BF16] * narrow_output,
        made=made,
        results=["y", *(f"e_{array.name}" for array in problem.epilogue_arrays)],
        outputs=outputs,
        output="from_bf16(y[i])" if narrow_output else "y[i]",
    )
    return text
