"""An epilogue as a device function of the sum and of the arrays' values at one point of the output.

    relu(y + b)   ->   DEVICE float epilogue(float y, float v_b)

The text is both C and CUDA, in f32. Each function gives what PyTorch's gives, also for NaN.
"""

from __future__ import annotations

from tiling.problem import Problem
from tiling.text.numbers import shortest
from tiling.value import Apply, Array, Epilogue, Number, Sum, Value

# For each function: its parameters, its value in C, and the functions that the value calls.
_FUNCTIONS = {
    "max": ("float a, float b", "a != a ? a : a > b ? a : b", ()),
    "min": ("float a, float b", "a != a ? a : a < b ? a : b", ()),
    "clamp": ("float v, float low, float high", "min_of(high, max_of(low, v))", ("min", "max")),
    "relu": ("float v", "max_of(0.0f, v)", ("max",)),
    "relu6": ("float v", "clamp_of(v, 0.0f, 6.0f)", ("clamp",)),
    "leaky_relu": ("float v, float slope", "v < 0.0f ? v * slope : v", ()),
    "hardsigmoid": ("float v", "relu6_of(v + 3.0f) * (1.0f / 6.0f)", ("relu6",)),
    "hardswish": ("float v", "v * hardsigmoid_of(v)", ("hardsigmoid",)),
    "round_mul": ("float a, float b", "(float)rint((double)a * b) + 0.0f", ()),
    "abs": ("float v", "fabsf(v)", ()),
    "exp": ("float v", "expf(v)", ()),
    "tanh": ("float v", "tanhf(v)", ()),
    "sigmoid": ("float v", "1.0f / (1.0f + expf(-v))", ()),
    "silu": ("float v", "v * sigmoid_of(v)", ("sigmoid",)),
    "gelu": ("float v", "0.5f * v * erfcf(v * -0.707106781f)", ()),
    "gelu_tanh": ("float v", "v * sigmoid_of(v * (1.59576912f + 0.0713548163f * (v * v)))", ("sigmoid",)),
}
_SYMBOLS = {"add": "+", "sub": "-", "mul": "*", "div": "/"}


def epilogue_lines(problem: Problem) -> list[str]:
    """The text of the functions that the problem's epilogue calls, then of `epilogue` itself; none without one."""
    epilogue = problem.epilogue
    if epilogue is None:
        return []
    lines = []
    for name in _called(epilogue):
        parameters, value, _ = _FUNCTIONS[name]
        lines.append(f"DEVICE float {name}_of({parameters}) {{ return {value}; }}")
    values = "".join(f", float v_{array.name}" for array in problem.epilogue_arrays)
    return [
        *lines,
        "",
        f"/* {epilogue}: what becomes of the sum y at a point of {problem.output.name} before it is rounded. */",
        f"DEVICE float epilogue(float y{values}) {{ return {_c(epilogue.value)}; }}",
    ]


def _called(epilogue: Epilogue) -> list[str]:
    """The functions that an epilogue needs, each after the functions that it calls itself."""
    needed, waiting = set(), list(epilogue.operations & set(_FUNCTIONS))
    while waiting:
        name = waiting.pop()
        if name not in needed:
            needed.add(name)
            waiting += _FUNCTIONS[name][2]
    return [name for name in _FUNCTIONS if name in needed]


def _c(value: Value) -> str:
    if isinstance(value, Sum):
        return "y"
    if isinstance(value, Number):
        return f"{shortest(value.value)}f"
    if isinstance(value, Array):
        return f"v_{value.name}"
    assert isinstance(value, Apply)
    arguments = [_c(argument) for argument in value.arguments]
    if value.operation == "neg":
        return f"(-{arguments[0]})"
    if value.operation in _SYMBOLS:
        return f"({arguments[0]} {_SYMBOLS[value.operation]} {arguments[1]})"
    return f"{value.operation}_of({', '.join(arguments)})"
