"""Operators that reduce along axes, and those that need such a reduction for each point."""

from __future__ import annotations

from collections.abc import Callable

from graph.model.node import Made, Node, Shape, Text, View, at


def _kept(node: Node, axes: list[int], keep: bool) -> Shape:
    """The shape after a reduction over these axes."""
    shape = node.shape()
    return tuple(1 if axis in axes else extent for axis, extent in enumerate(shape) if keep or axis not in axes)


def _reduction(kind: str, value: str = "{}", last: str = "", before: str = "") -> Callable[[Node], Made]:
    """A reduction of a value of each element, and a value of its result. Fields: the element, or the result."""

    def made(node: Node) -> Made:
        shape = node.shape()
        given = node.given(1, "axes", "the axes")
        if not given and given is not None and not node.attribute("noop_with_empty_axes", 0):
            given = None
        if given is None and node.attribute("noop_with_empty_axes", 0):
            given = ()
        axes = sorted({node.axis(a, len(shape)) for a in (range(len(shape)) if given is None else given)})
        dims = node.dims(len(shape))
        rest = [dim for axis, dim in enumerate(dims) if axis not in axes]
        over = [dims[axis] for axis in axes]
        element = value.format(f"x{at(dims)}")
        if not over:
            plain = last.format(element) if last else element
            return (
                Text(f"y{at(dims)} = {plain}", {"x": 0}, {}, (node.dtype(),))
                if plain != f"x{at(dims)}"
                else View(shape)
            )
        text = f"r{at(rest)} = {kind}{at(over)} {element}; y{at(rest)} = {last.format(f'r{at(rest)}')}"
        if not last:
            text = f"y{at(rest)} = {kind}{at(over)} {element}"
        if before:
            text = before.format(rest=at(rest), over=at(over), all=at(dims))
        return Text(text, {"x": 0}, {}, (node.dtype(),), (_kept(node, axes, bool(node.attribute("keepdims", 1))),))

    return made


# With an infinite m, infinite elements would become inf - inf, which is NaN.
_LOG_SUM_EXP = (
    "m{rest} = max{over} x{all}; c{rest} = where(abs(m{rest}) == inf, 0, m{rest}); "
    "s{rest} = sum{over} exp(x{all} - c{rest}); y{rest} = log(s{rest}) + c{rest}"
)


def _position(kind: str) -> Callable[[Node], Made]:
    def made(node: Node) -> Made:
        shape = node.shape()
        axis = node.axis(node.attribute("axis", 0), len(shape))
        dims = node.dims(len(shape))
        rest = [dim for dim in dims if dim != dims[axis]]
        text = f"y{at(rest)} = {kind}[{dims[axis]}] x{at(dims)}"
        if node.attribute("select_last_index", 0):
            from_end = [f"{shape[axis] - 1} - {dim}" if dim == dims[axis] else dim for dim in dims]
            text = f"p{at(rest)} = {kind}[{dims[axis]}] x{at(from_end)}; y{at(rest)} = {shape[axis] - 1} - p{at(rest)}"
        kept = _kept(node, [axis], bool(node.attribute("keepdims", 1)))
        return Text(text, {"x": 0}, dict(zip(dims, shape)), ("s64",), (kept,))

    return made


_SOFTMAX = "m{rest} = max{over} x{all}; e{all} = exp(x{all} - m{rest}); d{rest} = sum{over} e{all}; "
# The standard defines it by operators of x's dtype, so a narrow x rounds each intermediate result.
_NARROW_SOFTMAX = "e: {t}; d: {t}; " + _SOFTMAX.replace("exp(x{all} - m{rest})", "exp({t}(x{all} - m{rest}))")


def _softmax(last: str) -> Callable[[Node], Made]:
    def made(node: Node) -> Made:
        shape = node.shape()
        dims = node.dims(len(shape))
        axis = node.axis(node.attribute("axis", -1 if node.version >= 13 else 1), len(shape))
        # Before version 13 all axes from this one on are one.
        over = [dims[axis]] if node.version >= 13 else dims[axis:]
        rest = [dim for dim in dims if dim not in over]
        text = (_NARROW_SOFTMAX if node.dtype() in ("f16", "bf16") else _SOFTMAX) + last
        filled = text.format(all=at(dims), rest=at(rest), over=at(over), t=node.dtype())
        return Text(filled, {"x": 0}, {}, (node.dtype(),))

    return made


def _cumulative(node: Node) -> Made:
    shape = node.shape()
    axis = node.axis(node.whole(1, "the axis")[0], len(shape))
    dims = node.dims(len(shape))
    here = dims[axis]
    read = at(["to" if dim == here else dim for dim in dims])
    compare = (">" if node.attribute("reverse", 0) else "<") + ("" if node.attribute("exclusive", 0) else "=")
    extents = {**dict(zip(dims, shape)), "to": shape[axis]}
    kind, neutral = ("prod", 1) if node.op == "CumProd" else ("sum", 0)
    text = f"y{at(dims)} = {kind}[to] where(to {compare} {here}, x{read}, {neutral})"
    return Text(text, {"x": 0}, extents, (node.dtype(),))


def _hardmax(node: Node) -> Made:
    shape = node.shape()
    dims = node.dims(len(shape))
    axis = node.axis(node.attribute("axis", -1 if node.version >= 13 else 1), len(shape))
    if node.version < 13 and axis != len(shape) - 1:
        raise node.refuse("several axes as one are not supported")
    rest = [dim for dim in dims if dim != dims[axis]]
    text = f"p{at(rest)} = argmax[{dims[axis]}] x{at(dims)}; y{at(dims)} = {node.dtype()}(p{at(rest)} == {dims[axis]})"
    return Text(text, {"x": 0}, {}, (node.dtype(),))


REDUCTIONS: dict[str, Callable[[Node], Made]] = {
    "ReduceSum": _reduction("sum"),
    "ReduceProd": _reduction("prod"),
    "ReduceMax": _reduction("max"),
    "ReduceMin": _reduction("min"),
    "ReduceMean": _reduction("mean"),
    "ReduceL1": _reduction("sum", "abs({})"),
    "ReduceL2": _reduction("sum", "{0} * {0}", "sqrt({})"),
    "ReduceSumSquare": _reduction("sum", "{0} * {0}"),
    "ReduceLogSum": _reduction("sum", "{}", "log({})"),
    "ReduceLogSumExp": _reduction("sum", "{}", "{}", _LOG_SUM_EXP),
    "ArgMax": _position("argmax"),
    "ArgMin": _position("argmin"),
    "Softmax": _softmax("y{all} = e{all} / d{rest}"),
    "LogSoftmax": _softmax("l{rest} = log(d{rest}); y{all} = x{all} - m{rest} - l{rest}"),
    "Hardmax": _hardmax,
    "CumSum": _cumulative,
    "CumProd": _cumulative,
}
