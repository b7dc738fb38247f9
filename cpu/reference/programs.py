"""The reference of programs: each statement by its definition, with NumPy, over all its points at once.

It shares nothing with what writes kernels. Floats are computed in float64, whole numbers with 64 bits. In between only
f16 and bf16 are rounded, and whole numbers wrap around. So on small integers a kernel's result is `==` to this one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cpu.runtime.numbers import from_bits, to_bits
from tiling.dtypes.formats import COMPUTED, FLOATS, WIDENED
from tiling.program.functions import FUNCTIONS, REAL, SAME
from tiling.program.infer import Sized
from tiling.program.language import Access, Dim, Expression, Number, Reduce, Statement

Numbers = NDArray[Any]

NUMPY: dict[str, Any] = {
    dtype: np.float64 if dtype in FLOATS else np.dtype(each.numpy).type for dtype, each in COMPUTED.items()
}


def evaluate(program: Sized, inputs: Mapping[str, Numbers]) -> dict[str, Numbers]:
    """Every assigned array by name, floats as float64. Raises IndexError where a gathered index lies outside."""
    arrays = {array.name: _stored(np.asarray(inputs[array.name]), array.dtype) for array in program.inputs}
    given: dict[str, Numbers] = {}
    for statement, array in zip(program.program.statements, program.assigned):
        shape = tuple(program.extents[dim] for dim in statement.dims)  # the memory of an output may be larger
        with np.errstate(all="ignore"):
            found = _Points(program.extents, statement, arrays).value()
            given[array.name] = _cast(np.broadcast_to(found, shape), array.dtype)
        narrow = array.dtype in WIDENED
        arrays[array.name] = rounded(given[array.name], array.dtype) if narrow else given[array.name]
    return given


def rounded(values: Numbers, dtype: str) -> Numbers:
    """The nearest numbers of a dtype of floats, as float64. Other numbers stay."""
    if dtype == "bf16":
        return from_bits(to_bits(values.astype(np.float32), "bf16"), "bf16").astype(np.float64).reshape(values.shape)
    floats: dict[str, Any] = {"f32": np.float32, "f16": np.float16}
    return values.astype(floats[dtype]).astype(np.float64) if dtype in floats else values


def _stored(values: Numbers, dtype: str) -> Numbers:
    return rounded(_cast(values, dtype), dtype)


def _cast(values: Numbers, dtype: str) -> Numbers:
    """Numbers in NumPy's dtype. Those of u64 are Python's, of any length, and wrap around here."""
    if values.dtype == object and dtype not in FLOATS:
        values = (values & (2**64 - 1)).astype(np.uint64)
    return values.astype(NUMPY[dtype])


class _Points:
    """The points of a statement: an axis for each dim of its array, then for each that it reduces over."""

    def __init__(self, extents: Mapping[str, int], statement: Statement, arrays: Mapping[str, Numbers]):
        self.statement, self.arrays = statement, arrays
        self.names = (*statement.dims, *statement.reduced)
        self.shape = tuple(extents[dim] for dim in self.names)

    def value(self) -> Numbers:
        found: Numbers = self.at(self.statement.expression)
        if not isinstance(self.statement.value, Reduce):
            return found
        axes = tuple(range(len(self.statement.dims), len(self.names)))
        # The dims that the value does not move with count too: the sum of 1 over 3 points is 3.
        found = _REDUCE[self.statement.value.kind](np.broadcast_to(found, self.shape), axes)
        return found

    def at(self, value: Expression) -> Numbers:
        if isinstance(value, Number):
            return np.asarray(value.value)
        if isinstance(value, Dim):
            axis = self.names.index(value.name)
            return np.arange(self.shape[axis]).reshape([-1 if i == axis else 1 for i in range(len(self.shape))])
        if isinstance(value, Access):
            return self.element(value)
        arguments = [self.at(argument) for argument in value.arguments]
        if FUNCTIONS[value.function].gives == REAL:
            arguments = [argument.astype(np.float64) for argument in arguments]
        elif FUNCTIONS[value.function].gives == SAME and value.function != "where":
            # To arithmetic a truth is 0 or 1.
            arguments = [argument * 1 for argument in arguments]
        return np.asarray(_MEANING[value.function](*arguments))

    def element(self, access: Access) -> Numbers:
        array = self.arrays[access.array]
        if array.dtype.kind in "iu":
            array = array.astype(object if array.dtype == np.uint64 else np.int64)
        at = np.broadcast_arrays(*(self.at(index) for index in access.at)) if access.at else []
        inside = np.asarray(True)
        for index, extent in zip(at, array.shape):
            inside = inside & (index >= 0) & (index < extent)
        if access.outside is None:
            if not inside.all():
                raise IndexError(f"{access} lies outside of {access.array} for some point")
            found: Numbers = array[tuple(at)]
            return found
        nearest = tuple(np.clip(index, 0, extent - 1) for index, extent in zip(at, array.shape))
        return np.where(inside, array[nearest], access.outside)


def _clamp(v: Numbers, low: Any, high: Any) -> Any:
    return np.minimum(np.maximum(v, low), high)


def _rounded_down(divide: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """A division, or its remainder. Whole numbers give 0 where they are divided by 0, also those of u64."""

    def meaning(a: Numbers, b: Numbers) -> Any:
        if "f" in (a.dtype.kind, b.dtype.kind):
            return divide(a, b)
        return np.where(b == 0, 0, divide(a, np.where(b == 0, 1, b)))

    return meaning


def _sigmoid(v: Numbers) -> Any:
    return 1 / (1 + np.exp(-v))


def _erf(v: Numbers) -> Any:
    from scipy.special import erf  # which takes longer to load than all else that a small program needs

    return erf(v)


_MEANING: dict[str, Callable[..., Any]] = {
    **{"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide},
    **{"floordiv": _rounded_down(np.floor_divide), "mod": _rounded_down(np.mod), "min": np.minimum, "max": np.maximum},
    **{"eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal},
    **{"gt": np.greater, "ge": np.greater_equal},
    **{"and": np.logical_and, "or": np.logical_or, "not": np.logical_not},
    **{"neg": np.negative, "abs": np.abs, "sign": np.sign},
    **{"floor": np.floor, "ceil": np.ceil, "round": np.rint},
    **{"exp": np.exp, "log": np.log, "sqrt": np.sqrt, "rsqrt": lambda v: 1 / np.sqrt(v), "pow": np.power},
    **{"sin": np.sin, "cos": np.cos, "tan": np.tan, "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "erf": _erf},
    **{f"a{name}": getattr(np, f"arc{name}") for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")},
    **{"expm1": np.expm1, "log1p": np.log1p},
    **{"bitand": np.bitwise_and, "bitor": np.bitwise_or, "bitxor": np.bitwise_xor, "bitnot": np.invert},
    "shl": lambda a, b: np.where((b >= 0) & (b < 64), a << np.clip(b, 0, 63), 0),
    # Numbers of u64 are Python's, of which 63 bits less may leave one.
    "shr": lambda a, b: a >> np.where((b >= 0) & (b < 64), b, 64 if a.dtype == object else 63),
    "relu": lambda v: np.maximum(v, 0),
    "relu6": lambda v: _clamp(v, 0, 6),
    "leaky_relu": lambda v, slope: np.where(v > 0, v, v * slope),
    "hardsigmoid": lambda v: _clamp(v + 3, 0, 6) / 6,
    "hardswish": lambda v: v * (_clamp(v + 3, 0, 6) / 6),
    "sigmoid": _sigmoid,
    "silu": lambda v: v * _sigmoid(v),
    "gelu": lambda v: v / 2 * (1 + _erf(v / np.sqrt(2))),
    "gelu_tanh": lambda v: v * _sigmoid(2 * np.sqrt(2 / np.pi) * (v + 0.044715 * v**3)),
    "clamp": _clamp,
    "where": np.where,
    "round_mul": lambda a, b: np.rint(a * b) + 0.0,
    **{dtype: lambda v, dtype=dtype: _stored(v, dtype) for dtype in NUMPY},
}

_REDUCE: dict[str, Callable[[Numbers, tuple[int, ...]], Any]] = {
    **{"sum": np.sum, "prod": np.prod, "max": np.max, "min": np.min, "mean": np.mean, "any": np.any, "all": np.all},
    "argmax": lambda v, axes: np.argmax(v, axes[0]),
    "argmin": lambda v, axes: np.argmin(v, axes[0]),
}
