"""The operators of images, which are channels last, x[n,h,w,c]: rows of the table of `operators`."""

from __future__ import annotations

from collections.abc import Callable

from tiling.program.names import ProgramError
from tiling.program.operator_row import Row, Shape


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


IMAGE_OPERATORS: dict[str, Callable[..., Row]] = {
    "batch_norm": lambda x, m, v, g, b, eps=1e-5: Row(
        f"y[n,h,w,c] = (x[n,h,w,c] - m[c]) * rsqrt(v[c] + {eps}) * g[c] + b[c]", ("x", "m", "v", "g", "b")
    ),
    "group_norm": _group_norm,
    "instance_norm": lambda x, g, b, eps=1e-5: _group_norm(x, g, b, x[3], eps),
    "lrn": _lrn,
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
