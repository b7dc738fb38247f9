"""Normalisations of channels, groups and rows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from graph.model.node import Made, Node, Text, at


def _batch(node: Node) -> Made:
    """Every channel has a factor and a summand. A trained model's are known, and are folded into one of each."""
    shape = node.shape()
    dims = node.dims(len(shape))
    channel = at([dims[1]]) if len(shape) > 1 else "[0]"
    eps = node.attribute("epsilon", 1e-5)
    if node.attribute("training_mode", 0):
        return _trained(node, dims)
    if len(node.outputs) > 1 and any(node.outputs[1:]):
        raise node.refuse("means and variances are given in training mode alone")
    known = node.known[1:5]
    if all(each is not None for each in known):
        gamma, beta, mean, variance = (np.asarray(each, np.float64) for each in known if each is not None)
        factor = gamma / np.sqrt(variance + eps)
        made = {"f": factor.astype(np.float32), "g": (beta - mean * factor).astype(np.float32)}
        if node.dtype() == "f32":
            text = f"y{at(dims)} = x{at(dims)} * f{channel} + g{channel}"
            return Text(text, {"x": 0}, {}, ("f32",), made=made)
    value = f"(x{at(dims)} - m{channel}) * rsqrt(v{channel} + {eps!r}) * g{channel} + b{channel}"
    return Text(f"y{at(dims)} = {value}", {"x": 0, "g": 1, "b": 2, "m": 3, "v": 4}, {}, (node.dtype(),))


def _trained(node: Node, dims: list[str]) -> Made:
    """With the mean and the variance of this batch, which move the running ones."""
    over, here = [dims[0], *dims[2:]], at([dims[1]])
    kept = node.attribute("momentum", 0.9)
    text = _moments(dims, over).replace(f"m{here}", f"mu{here}").replace(f"v{here}", f"sigma{here}")
    scaled = f"(x{at(dims)} - mu{here}) * rsqrt(sigma{here} + {node.attribute('epsilon', 1e-5)!r})"
    text += f"y{at(dims)} = {scaled} * g{here} + b{here}; "
    text += "; ".join(f"new_{n}{here} = {n}_{here} * {kept!r} + {n}{here} * {1 - kept!r}" for n in ("mu", "sigma"))
    inputs = {"x": 0, "g": 1, "b": 2, "mu_": 3, "sigma_": 4}
    outputs = ("y", "new_mu", "new_sigma")[: len(node.outputs)]
    dtypes = (node.dtype(), node.dtype(3), node.dtype(4))[: len(outputs)]
    return Text(text, inputs, {}, dtypes, outputs=outputs)


def _moments(dims: list[str], over: list[str]) -> str:
    rest = at([dim for dim in dims if dim not in over])
    x = f"x{at(dims)}"
    return f"m{rest} = mean{at(over)} {x}; v{rest} = mean{at(over)} ({x} - m{rest}) * ({x} - m{rest}); "


def _instance(node: Node) -> Made:
    dims = node.dims(len(node.shape()))
    over, rest, channel = dims[2:], at(dims[:2]), at(dims[1:2])
    value = f"(x{at(dims)} - m{rest}) * rsqrt(v{rest} + {node.attribute('epsilon', 1e-5)!r}) * g{channel} + b{channel}"
    return Text(f"{_moments(dims, over)}y{at(dims)} = {value}", {"x": 0, "g": 1, "b": 2}, {}, (node.dtype(),))


def _layer(node: Node) -> Made:
    shape = node.shape()
    dims = node.dims(len(shape))
    axis = node.axis(node.attribute("axis", -1), len(shape))
    over, rest = dims[axis:], at(dims[:axis])
    ends = [_trailing(node, place, dims) for place in (1, 2)]
    scaled = f"(x{at(dims)} - m{rest}) * i{rest} * g{ends[0]}" + (f" + b{ends[1]}" if node.has(2) else "")
    eps = node.attribute("epsilon", 1e-5)
    inverse = f"i{rest} = rsqrt(v{rest} + {eps!r}); ".replace("i[", "inv[")
    text = f"{_moments(dims, over)}{inverse}y{at(dims)} = {scaled.replace(' i[', ' inv[')}"
    kept = (*shape[:axis], *(1,) * len(over))
    names = ("y", "m", "inv")[: len(node.outputs)]
    inputs = {"x": 0, "g": 1} | ({"b": 2} if node.has(2) else {})
    return Text(text, inputs, {}, (node.dtype(), "f32", "f32")[: len(names)], (shape, kept, kept)[: len(names)], names)


def _trailing(node: Node, place: int, dims: list[str]) -> str:
    """Where an input lies along the last axes."""
    if not node.has(place):
        return ""
    shape = node.shape(place)
    return at([dim if extent > 1 else "0" for dim, extent in zip(dims[len(dims) - len(shape) :], shape)])


def _rms(node: Node) -> Made:
    shape = node.shape()
    dims = node.dims(len(shape))
    axis = node.axis(node.attribute("axis", -1), len(shape))
    over, rest = dims[axis:], at(dims[:axis])
    x = f"x{at(dims)}"
    text = f"v{rest} = mean{at(over)} {x} * {x}; "
    text += f"y{at(dims)} = {x} * rsqrt(v{rest} + {node.attribute('epsilon', 1e-5)!r}) * g{_trailing(node, 1, dims)}"
    return Text(text, {"x": 0, "g": 1}, {}, (node.dtype(),))


def _group(node: Node) -> Made:
    shape = node.shape()
    groups = node.attribute("num_groups")
    size, left = divmod(shape[1], groups)
    if left:
        raise node.refuse(f"{shape[1]} channels are no multiple of {groups} groups")
    dims = node.dims(len(shape))
    image, channel = dims[2:], dims[1]
    here = f"x{at([dims[0], f'{size}*e + o', *image])}"
    over = at(["o", *image])
    mine = f"[{dims[0]},{channel}//{size}]"
    text = f"m[{dims[0]},e] = mean{over} {here}; "
    text += f"v[{dims[0]},e] = mean{over} ({here} - m[{dims[0]},e]) * ({here} - m[{dims[0]},e]); "
    eps = node.attribute("epsilon", 1e-5)
    factor = f"[{channel}]" if node.version >= 21 else f"[{channel}//{size}]"
    text += f"y{at(dims)} = (x{at(dims)} - m{mine}) * rsqrt(v{mine} + {eps!r}) * g{factor} + b{factor}"
    return Text(text, {"x": 0, "g": 1, "b": 2}, {"e": groups, "o": size, **dict(zip(dims, shape))}, (node.dtype(),))


def _lp(node: Node) -> Made:
    shape = node.shape()
    dims = node.dims(len(shape))
    axis = node.axis(node.attribute("axis", -1), len(shape))
    rest = at([dim for dim in dims if dim != dims[axis]])
    x = f"x{at(dims)}"
    if node.attribute("p", 2) not in (1, 2):
        raise node.refuse(f"p={node.attribute('p')} is not supported: 1 and 2 are")
    if node.attribute("p", 2) == 1:
        text = f"s{rest} = sum[{dims[axis]}] abs({x}); y{at(dims)} = where(s{rest} == 0, 0.0, {x} / s{rest})"
    else:
        text = f"s{rest} = sum[{dims[axis]}] {x} * {x}; d{rest} = sqrt(s{rest}); "
        text += f"y{at(dims)} = where(d{rest} == 0, 0.0, {x} / d{rest})"
    return Text(text, {"x": 0}, {}, (node.dtype(),))


def _lrn(node: Node) -> Made:
    shape, size = node.shape(), node.attribute("size")
    dims = node.dims(len(shape))
    alpha, beta, bias = (
        node.attribute(name, value) for name, value in (("alpha", 1e-4), ("beta", 0.75), ("bias", 1.0))
    )
    near = f"(x{at([dims[0], f'{dims[1]} + d - {(size - 1) // 2}', *dims[2:]])} else 0)"
    text = f"s{at(dims)} = sum[d] {near} * {near}; "
    text += f"y{at(dims)} = x{at(dims)} * pow({bias!r} + {alpha / size!r} * s{at(dims)}, {-beta!r})"
    return Text(text, {"x": 0}, {"d": size, **dict(zip(dims, shape))}, (node.dtype(),))


NORMALISATIONS: dict[str, Callable[[Node], Made]] = {
    "BatchNormalization": _batch,
    "InstanceNormalization": _instance,
    "LayerNormalization": _layer,
    "RMSNormalization": _rms,
    "GroupNormalization": _group,
    "LpNormalization": _lp,
    "LRN": _lrn,
}
