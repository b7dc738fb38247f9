"""Operators of networks as programs: a table with a row for each.

    program_of("max_pool", (1, 112, 112, 64), window=3, stride=2, pad=1)       a program with sizes

Images are channels last, x[n,h,w,c]. Where an operator works along axes, they are numbers as in NumPy. Inputs come in
the order of the row's arguments. A new operator is a row here, a case of its test, and a line of docs/programs.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Any

from tiling.program.infer import Sized, sized
from tiling.program.names import ProgramError
from tiling.program.read import read

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Row:
    """An operator for given shapes: its text, the names of its inputs, and the extents that no shape tells."""

    text: str
    inputs: tuple[str, ...]
    extents: Mapping[str, int] = field(default_factory=dict)


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


# --- rows of any rank -------------------------------------------------------------------------------------------------


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


# --- images -----------------------------------------------------------------------------------------------------------


def _windows(extent: int, window: int, stride: int, pad: int) -> int:
    if min(window, stride) < 1 or pad < 0:
        raise ProgramError(f"a window of {window} and a stride of {stride} are at least 1, padding {pad} at least 0")
    return (extent + 2 * pad - window) // stride + 1


def _pooled(x: Shape, window: int, stride: int | None, pad: int, text: str) -> Row:
    """Pooling of square windows; `{at}` is where a tap lies."""
    n, h, w, c = x
    stride = window if stride is None else stride
    at = f"n,{stride}*h+r-{pad},{stride}*w+s-{pad},c"
    extents = {"h": _windows(h, window, stride, pad), "w": _windows(w, window, stride, pad), "r": window, "s": window}
    return Row(text.format(at=at, taps=window * window), ("x",), {"n": n, **extents, "c": c})


def _average_pool(x: Shape, window: int, stride: int | None = None, pad: int = 0, count_pad: bool = True) -> Row:
    if count_pad or not pad:
        text = "a[n,h,w,c] = sum[r,s] x[{at}] else 0; y[n,h,w,c] = a[n,h,w,c] / {taps}"
        return _pooled(x, window, stride, pad, text)
    step = window if stride is None else stride
    inside = " and ".join(
        f"{step}*{o}+{t} >= {pad} and {step}*{o}+{t} < {pad + extent}"
        for o, t, extent in (("h", "r", x[1]), ("w", "s", x[2]))
    )
    text = f"k[h,w] = sum[r,s] {inside}; a[n,h,w,c] = sum[r,s] x[{{at}}] else 0; y[n,h,w,c] = a[n,h,w,c] / k[h,w]"
    return _pooled(x, window, stride, pad, text)


def _lrn(x: Shape, size: int = 5, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Row:
    near = f"(x[n,h,w,c+d-{size // 2}] else 0)"
    text = f"q[n,h,w,c] = sum[d] {near} * {near}; "
    text += f"y[n,h,w,c] = x[n,h,w,c] * pow({k} + {alpha / size} * q[n,h,w,c], {-beta})"
    return Row(text, ("x",), {"d": size, **dict(zip("nhwc", x))})


def _group_norm(x: Shape, g: Shape, b: Shape, groups: int, eps: float = 1e-5) -> Row:
    size, rest = divmod(x[3], groups)
    if rest:
        raise ProgramError(f"{x[3]} channels are no multiple of {groups} groups")
    here = f"x[n,h,w,{size}*q+p]"
    text = f"m[n,q] = mean[h,w,p] {here}; v[n,q] = mean[h,w,p] ({here} - m[n,q]) * ({here} - m[n,q]); "
    text += f"y[n,h,w,c] = (x[n,h,w,c] - m[n,c//{size}]) * rsqrt(v[n,c//{size}] + {eps}) * g[c] + b[c]"
    return Row(text, ("x", "g", "b"), {"q": groups, "p": size, **dict(zip("nhwc", x))})


def _source(out: int, extent: int, dim: str) -> tuple[str, str]:
    """Where pixel `dim` of `out` lies among `extent`, half pixels aligned: the pixel before it, and how far behind."""
    twice = f"({2 * extent}*{dim} + {extent - out})"
    return f"{twice} // {2 * out}", f"({twice} % {2 * out}) / {2 * out}"


def _resize(x: Shape, h: int, w: int, mode: str = "nearest") -> Row:
    n, rows, columns, c = x
    extents = {"n": n, "h": h, "w": w, "c": c}
    if mode == "nearest":
        return Row(f"y[n,h,w,c] = x[n,{rows}*h//{h},{columns}*w//{w},c]", ("x",), extents)
    taps = {"linear": (0, 1), "cubic": (-1, 0, 1, 2)}.get(mode)
    if taps is None:
        raise ProgramError(f"mode={mode!r} must be nearest, linear or cubic")
    text, given, at = "", "x", {"h": "h", "w": "w"}
    for dim, out, extent in (("h", h, rows), ("w", w, columns)):
        pixel, behind = _source(out, extent, dim)
        text += f"f_{dim}[{dim}] = {behind}; "
        terms = []
        for tap in taps:
            at_tap = at | {dim: f"min(max({pixel} + {tap}, 0), {extent - 1})"}
            # Rows first: the intermediate image has the new rows and the old columns.
            column = at_tap["w"] if dim == "w" else "u"
            terms.append(f"{_weight(mode, tap, f'f_{dim}[{dim}]')} * {given}[n,{at_tap['h']},{column},c]")
        name = "a[n,h,u,c]" if dim == "h" else "y[n,h,w,c]"
        text += f"{name} = {' + '.join(terms)}; "
        given = "a"
    return Row(text.removesuffix("; "), ("x",), extents | {"u": columns})


def _weight(mode: str, tap: int, f: str) -> str:
    """The weight of a tap for a pixel at distance f after tap 0. Cubic: Keys' kernel with a = -0.75, as in PyTorch."""
    if mode == "linear":
        return f if tap else f"(1 - {f})"
    return {
        -1: f"(((-0.75 * {f} + 1.5) * {f} - 0.75) * {f})",
        0: f"((1.25 * {f} - 2.25) * {f} * {f} + 1)",
        1: f"(((-1.25 * {f} + 1.5) * {f} + 0.75) * {f})",
        2: f"((0.75 * {f} - 0.75) * {f} * {f})",
    }[tap]


def _depth_to_space(x: Shape, block: int) -> Row:
    n, h, w, c = x
    depth, rest = divmod(c, block * block)
    if rest:
        raise ProgramError(f"{c} channels are no multiple of {block} x {block}")
    at = f"n,h//{block},w//{block},{block * depth}*(h%{block}) + {depth}*(w%{block}) + c"
    return Row(f"y[n,h,w,c] = x[{at}]", ("x",), {"n": n, "h": h * block, "w": w * block, "c": depth})


def _same_channels(x: int, weights: int) -> None:
    if x != weights:
        raise ProgramError(f"x has {x} channels, and the weights are for {weights}")


def _convolution(x: Shape, w: Shape, stride: int = 1, pad: int = 0) -> Row:
    (n, rows, columns, channels), (k, others, r, s) = x, w
    _same_channels(channels, others)
    extents = {"n": n, "h": _windows(rows, r, stride, pad), "w": _windows(columns, s, stride, pad), "k": k}
    return Row(
        f"y[n,h,w,k] = sum[c,r,s] (x[n,{stride}*h+r-{pad},{stride}*w+s-{pad},c] else 0) * f[k,c,r,s]",
        ("x", "f"),
        extents,
    )


def _transposed_convolution(x: Shape, w: Shape, stride: int = 1, pad: int = 0) -> Row:
    """Weights f[c,k,r,s]. Each phase of the output takes the taps that meet pixels: no inserted zero is multiplied."""
    (n, rows, columns, channels), (others, k, r, s) = x, w
    _same_channels(channels, others)
    h, columns_out = (rows - 1) * stride + r - 2 * pad, (columns - 1) * stride + s - 2 * pad
    at_h, at_w = f"g + (a + {pad}) // {stride} - p", f"u + (b + {pad}) // {stride} - q"
    tap_r, tap_s = f"{stride}*p + (a + {pad}) % {stride}", f"{stride}*q + (b + {pad}) % {stride}"
    text = f"t[n,g,u,a,b,k] = sum[c,p,q] (x[n,{at_h},{at_w},c] else 0) * (f[c,k,{tap_r},{tap_s}] else 0); "
    text += f"y[n,h,w,k] = t[n,h//{stride},w//{stride},h%{stride},w%{stride},k]"
    extents = {"g": -(-h // stride), "u": -(-columns_out // stride), "a": stride, "b": stride}
    extents |= {"p": -(-r // stride), "q": -(-s // stride), "n": n, "h": h, "w": columns_out, "k": k, "c": x[3]}
    return Row(text, ("x", "f"), extents)


def _shift_convolution(x: Shape, f: Shape, a: Shape, b: Shape) -> Row:
    """Every channel moves by its own rows a[c] and columns b[c] before a 1 x 1 convolution f[k,c]."""
    text = "a: s32; b: s32; z[n,h,w,c] = x[n,h+a[c],w+b[c],c] else 0; y[n,h,w,k] = sum[c] z[n,h,w,c] * f[k,c]"
    return Row(text, ("x", "f", "a", "b"), dict(zip("nhwc", x)))


# --- the table --------------------------------------------------------------------------------------------------------

OPERATORS: dict[str, Callable[..., Row]] = {
    "softmax": lambda x, axis=-1: _along(x, (axis,), _SOFTMAX + "y{all} = e{all} / d{rest}"),
    "log_softmax": lambda x, axis=-1: _along(
        x, (axis,), _SOFTMAX + "l{rest} = log(d{rest}); y{all} = x{all} - m{rest} - l{rest}"
    ),
    "layer_norm": _layer_norm,
    "rms_norm": _rms_norm,
    "batch_norm": lambda x, m, v, g, b, eps=1e-5: Row(
        f"y[n,h,w,c] = (x[n,h,w,c] - m[c]) * rsqrt(v[c] + {eps}) * g[c] + b[c]", ("x", "m", "v", "g", "b")
    ),
    "group_norm": _group_norm,
    "instance_norm": lambda x, g, b, eps=1e-5: _group_norm(x, g, b, x[3], eps),
    "lrn": _lrn,
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
    "max_pool": lambda x, window, stride=None, pad=0: _pooled(
        x, window, stride, pad, "y[n,h,w,c] = max[r,s] x[{at}] else -inf"
    ),
    "average_pool": _average_pool,
    "global_average_pool": lambda x: Row("y[n,c] = mean[h,w] x[n,h,w,c]", ("x",)),
    "resize": _resize,
    "depth_to_space": _depth_to_space,
    "convolution": _convolution,
    "transposed_convolution": _transposed_convolution,
    "shift_convolution": _shift_convolution,
}
