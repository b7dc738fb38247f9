"""Packs the weights into the order in which a scheme reads them, as a C function of the emitted file.

    panel of k-tile t:  for each reduction point, in the order of the scheme's loops:  `vectors` vectors of w

Panels stand back to back, group after group, so a register tile streams its weights from one contiguous run.
"""

from __future__ import annotations

from itertools import groupby
from math import prod

from tiling.loops.nest import Loop, Node, Register, lower
from tiling.rewrite.dot_groups import dot_group_of, numbers_per_lane, pixel_of_windows, scheme_in_dot_groups
from tiling.scheme import Scheme

# Lanes beyond the vectorised extent are zero. This is the only padding, and less than a vector wide.
# Weights that are broadcast (`tiling.rewrite.pointwise`): a panel is rows of weights, side by side for each point.
# Dot groups (`tiling.rewrite.dot_groups`): a lane holds a word of neighbours along the dim of the group, filled with
# zeros.
#   Where each channel is alone, a word is one weight and zeros.
# Blocks for matrix instructions: word after word, each for all lanes of a vector, as tile registers hold them.
# Lanes that meet the channels of their group in turn (`tiling.rewrite.grouped`): each lane's weights in that order.


def packed_elements(scheme: Scheme) -> int:
    """Numbers of the packed weights, of all lanes together."""
    return packed_lanes(scheme) * _numbers(scheme)


def _numbers(scheme: Scheme) -> int:
    """Numbers in a lane: those of a word or block."""
    return scheme_in_dot_groups(scheme).problem.numbers_per_group if _dims(scheme) else numbers_per_lane(scheme.problem)


def _dims(scheme: Scheme) -> str:
    """The dims of the scheme's D, or "" if it has none."""
    dot = dot_group_of(scheme) if numbers_per_lane(scheme.problem) > 1 else None
    return dot.dim if dot else ""


def packed_lanes(scheme: Scheme) -> int:
    """Lanes of the packed weights. In every group the vectorised dim is rounded up to whole vectors. If the weights are
    broadcast, there are as many lanes as weights.
    """
    scheme = scheme_in_dot_groups(scheme)
    problem = scheme.problem
    if problem.weights_broadcast:
        return problem.packed.elements
    groups = prod(problem.extents[dim] for dim in problem.looped_dims)
    return groups * scheme.units[problem.vector_dim] * scheme.lanes * problem.reduction_length


def pack_lines(scheme: Scheme) -> list[str]:
    """The body of `void pack(const float *W, float *packed)`. W lies as the problem's tensor does: (K,C/groups,R,S)
    or (K,N).
    """
    narrow, scheme = scheme, scheme_in_dot_groups(scheme)
    problem, numbers = narrow.problem, _numbers(narrow)
    dim, extent, tensor = problem.panel_dim, problem.extents[problem.panel_dim], problem.packed
    lane = "row" if problem.weights_broadcast else "lane"
    points = {d: d for d in problem.extents} | {dim: f"({dim} + {lane})"}
    met = problem.exchange_dim
    if met and scheme.problem.extents[met] > 1:
        # Panels begin at whole vectors, so a lane's number tells its place in the group.
        points[met] = f"({met} ^ (lane % {scheme.problem.extents[met]}))"
    points |= _points_in_dot_groups(narrow, numbers, points)
    index = " + ".join(f"{points[d]} * {tensor.stride(d)}" for d in problem.extents if d in tensor.dims)
    # In dot groups along a window, taps are counted together with channels.
    counted = _dims(narrow)[:-1]
    lines, loops = [], [loop for loop in _reduction_loops(scheme) if loop[0] not in counted]
    for width, group in groupby(_panels(scheme), key=lambda panel: panel[1]):
        starts = [first for first, _ in group]
        lines.append(f"for (long {dim} = {starts[0]}; {dim} <= {starts[-1]}; {dim} += {width})")
        indent = "    "
        declared = {}
        for reduction, trips, step in loops:
            base = declared.get(reduction)
            last = step == min(s for d, _, s in loops if d == reduction)
            name = reduction if last else f"{reduction}_{step}"
            begin, end = (base, f"{base} + {trips * step}") if base else ("0", str(trips * step))
            lines.append(f"{indent}for (long {name} = {begin}; {name} < {end}; {name} += {step})")
            declared[reduction] = name
            indent += "    "
        for head in _heads(scheme, lane, width, numbers, numbers_per_lane(problem)):
            lines.append(indent + head)
            indent += "    "
        indent = indent[:-4]
        inside = [f"{dim} + {lane} < {extent}"] if starts[-1] + width > extent else []
        inside += _in_word(narrow, numbers)
        value = f"W[{index}]"
        if inside:
            value = f"{' && '.join(inside)} ? {value} : 0"
        lines.append(f"{indent}    *packed++ = {value};")
    for looped in reversed([d for d in problem.looped_dims if d in tensor.dims]):
        head = f"for (long {looped} = 0; {looped} < {problem.extents[looped]}; ++{looped}) {{"
        lines = [head, *("    " + line for line in lines), "}"]
    return lines


def _heads(scheme: Scheme, lane: str, width: int, numbers: int, numbers_per_lane: int) -> list[str]:
    """The loops over the lanes (or rows) of a panel and over the numbers of a lane."""
    if not scheme.problem.by_matrix:
        own = [f"for (long number = 0; number < {numbers}; ++number)"] if numbers > 1 else []
        return [f"for (long {lane} = 0; {lane} < {width}; ++{lane})", *own]
    return [
        f"for (long vector = 0; vector < {width}; vector += {scheme.lanes})",
        f"for (long word = 0; word < {numbers}; word += {numbers_per_lane})",
        f"for (long lane = vector; lane < vector + {scheme.lanes}; ++lane)",
        f"for (long number = word; number < word + {numbers_per_lane}; ++number)",
    ]


def _points_in_dot_groups(scheme: Scheme, numbers: int, words: dict[str, str]) -> dict[str, str]:
    """The point along each dim of a D to which `number` of a word belongs, as C text. The last dim varies fastest.

    words: the word along each dim.
    """
    if not _dims(scheme):
        return {}
    *taps, channel = _dims(scheme)
    if _groups_in_word(scheme, numbers):
        return {channel: f"(number % {scheme.problem.extents[channel]})"}
    at = f"({words[channel]} * {numbers} + number)"
    if not taps:
        return {channel: at}
    pixel = pixel_of_windows(scheme)
    return {taps[0]: f"({at} / {pixel})", channel: f"({at} % {pixel})"}


def _in_word(scheme: Scheme, numbers: int) -> list[str]:
    """The test that a number of a word is a weight and not filling. Empty if all words are full."""
    dims = _dims(scheme)
    pixel, channels = (pixel_of_windows(scheme), scheme.problem.extents[dims[-1]]) if len(dims) > 1 else (0, 0)
    if pixel > channels:
        return [f"({dims[-1]} * {numbers} + number) % {pixel} < {channels}"]
    if numbers == 1 or (dims and scheme.problem.extent(dims) % numbers == 0):
        return []
    if not dims:
        return ["number == 0"]
    if _groups_in_word(scheme, numbers):
        # The other numbers of the word belong to another group.
        size = scheme.problem.extents[scheme.problem.exchange_dim]
        return [f"number / {size} == lane % {numbers} / {size}"]
    return [f"{dims[-1]} * {numbers} + number < {scheme.problem.extent(dims)}"]


def _groups_in_word(scheme: Scheme, numbers: int) -> bool:
    """Whether a word holds numbers of more than one group."""
    dim = scheme.problem.exchange_dim
    return dim is not None and scheme.problem.extents[dim] < numbers


def _panels(scheme: Scheme) -> list[tuple[int, int]]:
    """(first point, width) of every panel, in order."""
    dim = scheme.problem.panel_dim

    def walk(nodes: tuple[Node, ...], base: int):
        # The branches of another dim's λ hold the same panels, so the first is enough.
        along = [node for node in nodes if isinstance(node, Loop) and node.dim == dim]
        for node in along or nodes[:1]:
            if isinstance(node, Register):
                yield base, node.extents[dim]
            elif isinstance(node, Loop) and node.dim == dim:
                for trip in range(node.trips):
                    yield from walk(node.body, base + node.start + trip * node.step)
            else:
                yield from walk(node.body, base)

    return sorted(set(walk(lower(scheme), 0)))


def _reduction_loops(scheme: Scheme) -> list[tuple[str, int, int]]:
    """(dim, trips, step) of every loop over a reduction dim, outermost first, the unrolled ones last. Every dim occurs
    at least once.
    """
    problem, found, nodes = scheme.problem, [], lower(scheme)
    while not isinstance(nodes[0], Register):
        node = nodes[0]
        if isinstance(node, Loop) and node.dim in problem.reductions and node.trips > 1:
            found.append((node.dim, node.trips, node.step))
        nodes = node.body
    for dim in sorted(problem.reductions, key=lambda dim: -problem.broadcast.stride(dim)):
        extent = nodes[0].extents[dim]
        if extent > 1 or all(dim != other for other, _, _ in found):
            found.append((dim, extent, 1))
    return found
