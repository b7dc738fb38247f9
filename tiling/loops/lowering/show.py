"""A scheme as indented pseudo-code: `--explain` and the head of emitted files print it."""

from __future__ import annotations

from collections.abc import Iterator

from tiling.loops.lowering.nest import Loop, Node, RegisterTile, Staged, nest_of
from tiling.scheme.scheme import Scheme
from tiling.scheme.specifiers import names_a_gpu


def show(scheme: Scheme) -> str:
    """One line a loop, the register tile innermost, two spaces a level."""
    return "\n".join(_lines(nest_of(scheme), 0, scheme))


def _memory(scheme: Scheme, staged: Staged) -> str:
    if staged.tensor == scheme.problem.output.name:
        return "registers"
    if not names_a_gpu(scheme.specifiers):
        return "a packed panel"
    return f"{staged.depth} stages of shared memory" if staged.depth > 1 else "shared memory"


def _lines(nodes: tuple[Node, ...], depth: int, scheme: Scheme) -> Iterator[str]:
    """The lines of nodes inside so many others."""
    pad = "  " * depth
    for node in nodes:
        if isinstance(node, Loop):
            worker = f"  on {node.worker}s" if node.worker else ""
            start = f" from {node.start}" if node.start else ""
            steps = "1 step" if node.trips == 1 else f"{node.trips} steps"
            yield f"{pad}for {node.dim} in {steps} of {node.step}{start}:{worker}"
            yield from _lines(node.body, depth + 1, scheme)
        elif isinstance(node, Staged):
            held = _memory(scheme, node)
            yield f"{pad}with the tile of {node.tensor} in {held}:"
            yield from _lines(node.body, depth + 1, scheme)
        elif isinstance(node, RegisterTile):
            tile = " × ".join(f"{extent}{dim}" for dim, extent in node.points if extent > 1) or "one point"
            yield f"{pad}register tile {tile}"
