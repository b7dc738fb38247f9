"""Operators of networks as programs: a table with a row for each.

    program_of("max_pool", (1, 112, 112, 64), window=3, stride=2, pad=1)       a program with sizes

Here are those for arrays of any rank. Where an operator works along axes, they are numbers as in NumPy. Inputs come in
the order of the row's arguments. A new operator is a row here or in `image_operators`, a case of its test, and a line
of docs/programs.md.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

from tiling.program.image_operators import IMAGE_OPERATORS
from tiling.program.infer import Sized, sized
from tiling.program.names import ProgramError
from tiling.program.operator_row import Row, Shape
from tiling.program.read import read


def program_of(name: str, *shapes: Shape, dtype: str = "f32", **attributes: Any) -> Sized:
    """The program of an operator for inputs of these shapes. Raises ProgramError."""
    if name not in OPERATORS:
        raise ProgramError(f"there is no operator {name!r}; there are {', '.join(OPERATORS)}")
    try:
        row = OPERATORS[name](*shapes, **attributes)
    except ProgramError:
        raise
    except (TypeError, ValueError, IndexError, ZeroDivisionError) as error:
        said = str(error).partition(") ")[2] or str(error)
        raise ProgramError(f"{name} of {', '.join(map(str, shapes))}: {said}") from None
    if len(row.inputs) != len(shapes):
        raise ProgramError(f"{name} takes {', '.join(row.inputs)}, and {len(shapes)} shapes are given")
    return sized(read(row.text), row.extents, dict(zip(row.inputs, shapes, strict=True)), dtype)


def _dims(shape: Shape) -> list[str]:
    """A dim for each axis."""
    if len(shape) > len(_NAMES):
        raise ProgramError(f"{len(shape)} axes are more than the {len(_NAMES)} that operators have names for")
    return list(_NAMES[: len(shape)])


_NAMES = "ijklpq"


def _at(dims: list[str]) -> str:
    return f"[{','.join(dims)}]"


def _without(dims: list[str], axes: Shape) -> list[str]:
    for axis in axes:
        if not -len(dims) <= axis < len(dims):
            raise ProgramError(f"there is no axis {axis} of {len(dims)}")
    gone = {axis % len(dims) for axis in axes}
    return [dim for axis, dim in enumerate(dims) if axis not in gone]


def _along(x: Shape, axes: Shape, text: str, *inputs: str) -> Row:
    """A text with the fields all, rest and over: every dim, the dims that stay, and the dims that are reduced over."""
    dims = _dims(x)
    rest = _without(dims, axes)
    over = [dim for dim in dims if dim not in rest]
    return Row(text.format(all=_at(dims), rest=_at(rest), over=_at(over)), ("x", *inputs))


_SOFTMAX = "m{rest} = max{over} x{all}; e{all} = exp(x{all} - m{rest}); d{rest} = sum{over} e{all}; "
_MOMENTS = "m{rest} = mean{over} x{all}; v{rest} = mean{over} (x{all} - m{rest}) * (x{all} - m{rest}); "


def _trailing(x: Shape, weights: Shape) -> Shape:
    """The axes that weights of this shape lie along."""
    return tuple(range(len(x) - len(weights), len(x)))


def _layer_norm(x: Shape, g: Shape, b: Shape, eps: float = 1e-5) -> Row:
    scale = "(x{all} - m{rest}) * rsqrt(v{rest} + " + f"{eps}) * g{{over}} + b{{over}}"
    return _along(x, _trailing(x, g), _MOMENTS + "y{all} = " + scale, "g", "b")


def _rms_norm(x: Shape, g: Shape, eps: float = 1e-6) -> Row:
    text = f"v{{rest}} = mean{{over}} x{{all}} * x{{all}}; y{{all}} = x{{all}} * rsqrt(v{{rest}} + {eps}) * g{{over}}"
    return _along(x, _trailing(x, g), text, "g")


def _binary(x: Shape, z: Shape, function: str = "add") -> Row:
    """Broadcasting as NumPy's: axes of extent 1 and missing ones repeat."""
    longer = max(x, z, key=len)
    dims = _dims(longer)
    shapes = [(1,) * (len(longer) - len(shape)) + shape for shape in (x, z)]
    extents = {dim: max(one, other) for dim, one, other in zip(dims, *shapes)}
    if any(extent not in (1, extents[dim]) for shape in shapes for dim, extent in zip(dims, shape)):
        raise ProgramError(f"shapes {x} and {z} do not broadcast")
    at = [
        _at(["0" if extent == 1 else dim for dim, extent in zip(dims[len(dims) - len(shape) :], shape)])
        for shape in (x, z)
    ]
    symbols = {"add": "+", "sub": "-", "mul": "*", "div": "/"}
    value = f"x{at[0]} {symbols[function]} z{at[1]}" if function in symbols else f"{function}(x{at[0]}, z{at[1]})"
    return Row(f"y{_at(dims)} = {value}", ("x", "z"), extents)


def _transpose(x: Shape, axes: Shape) -> Row:
    dims = _dims(x)
    return Row(f"y{_at([dims[axis] for axis in axes])} = x{_at(dims)}", ("x",))


def _reshape(x: Shape, shape: Shape) -> Row:
    if prod(x) != prod(shape):
        raise ProgramError(f"{' x '.join(map(str, x))} elements cannot be {' x '.join(map(str, shape))}")
    dims = _dims(shape)
    flat = " + ".join(f"{prod(shape[axis + 1 :])}*{dim}" for axis, dim in enumerate(dims)) or "0"
    at = [f"({flat}) // {prod(x[axis + 1 :])} % {extent}" for axis, extent in enumerate(x)]
    return Row(f"y{_at(dims)} = x{_at(at)}", ("x",), dict(zip(dims, shape)))


def _slice(x: Shape, starts: Shape, shape: Shape, steps: Shape | None = None) -> Row:
    dims = _dims(x)
    at = [f"{start} + {step}*{dim}" for start, step, dim in zip(starts, steps or (1,) * len(x), dims)]
    return Row(f"y{_at(dims)} = x{_at(at)}", ("x",), dict(zip(dims, shape)))


def _concat(*shapes: Shape, axis: int = 0) -> Row:
    dims, axis = _dims(shapes[0]), axis % len(shapes[0])
    for shape in shapes:
        if _without(list(map(str, shape)), (axis,)) != _without(list(map(str, shapes[0])), (axis,)):
            raise ProgramError(f"shapes {', '.join(map(str, shapes))} differ along more than axis {axis}")
    inputs = tuple(f"x{number}" for number in range(len(shapes)))
    value, begin = "", 0
    for name, shape in zip(inputs, shapes):
        at = _at([f"{dim} - {begin}" if number == axis and begin else dim for number, dim in enumerate(dims)])
        end = begin + shape[axis]
        value += f"where({dims[axis]} < {end}, {name}{at} else 0, " if name != inputs[-1] else f"{name}{at} else 0"
        begin = end
    extents = dict(zip(dims, shapes[0])) | {dims[axis]: begin}
    return Row(f"y{_at(dims)} = {value}{')' * (len(shapes) - 1)}", inputs, extents)


def _pad(x: Shape, before: Shape, after: Shape, mode: str = "constant", value: float = 0) -> Row:
    dims = _dims(x)
    if min((*before, *after), default=0) < 0:
        raise ProgramError(f"padding of {before} and {after} is below 0")
    extents = {dim: low + extent + high for dim, low, extent, high in zip(dims, before, x, after)}
    at = [f"{dim} - {low}" for dim, low in zip(dims, before)]
    if mode == "constant":
        return Row(f"y{_at(dims)} = x{_at(at)} else {value}", ("x",), extents)
    if mode == "edge":
        at = [f"min(max({index}, 0), {extent - 1})" for index, extent in zip(at, x)]
    elif mode == "reflect":  # |i| from the front, and the same from the end
        at = [f"max({index}, {low} - {dim})" for index, low, dim in zip(at, before, dims)]
        at = [f"min({index}, {2 * extent - 2} - {index})" for index, extent in zip(at, x)]
    else:
        raise ProgramError(f"mode={mode!r} must be constant, edge or reflect")
    return Row(f"y{_at(dims)} = x{_at(at)}", ("x",), extents)


def _gather(x: Shape, t: Shape, axis: int = 0) -> Row:
    dims, axis = _dims(x), axis % len(x)
    at = [f"t[{dim}]" if number == axis else dim for number, dim in enumerate(dims)]
    return Row(f"t: s64; y{_at(dims)} = x{_at(at)}", ("x", "t"))


def _cumsum(x: Shape, axis: int = -1) -> Row:
    dims, axis = _dims(x), axis % len(x)
    at = _at(["to" if number == axis else dim for number, dim in enumerate(dims)])
    text = f"y{_at(dims)} = sum[to] where(to <= {dims[axis]}, x{at}, 0)"
    return Row(text, ("x",), dict(zip(dims, x)))


def _one_hot(t: Shape, depth: int) -> Row:
    dims = _dims(t)
    return Row(f"t: s64; y: f32; y{_at([*dims, 'depth'])} = f32(t{_at(dims)} == depth)", ("t",), {"depth": depth})


OPERATORS: dict[str, Callable[..., Row]] = {
    "softmax": lambda x, axis=-1: _along(x, (axis,), _SOFTMAX + "y{all} = e{all} / d{rest}"),
    "log_softmax": lambda x, axis=-1: _along(
        x, (axis,), _SOFTMAX + "l{rest} = log(d{rest}); y{all} = x{all} - m{rest} - l{rest}"
    ),
    "layer_norm": _layer_norm,
    "rms_norm": _rms_norm,
    "reduce": lambda x, axes, kind="sum": _along(x, axes, f"y{{rest}} = {kind}{{over}} x{{all}}"),
    "argmax": lambda x, axis=-1: _along(x, (axis,), "y{rest} = argmax{over} x{all}"),
    "unary": lambda x, function: _along(x, (), f"y{{all}} = {function}(x{{all}})"),
    "binary": _binary,
    "where": lambda k, x, z: Row(
        f"k: bool; y{_at(_dims(x))} = where(k{_at(_dims(x))}, x{_at(_dims(x))}, z{_at(_dims(x))})", ("k", "x", "z")
    ),
    "transpose": _transpose,
    "reshape": _reshape,
    "slice": _slice,
    "concat": _concat,
    "pad": _pad,
    "gather": _gather,
    "cumsum": _cumsum,
    "one_hot": _one_hot,
    **IMAGE_OPERATORS,
}
