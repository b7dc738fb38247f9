"""Loops whose workers each hold accumulators of their own, as the warps and lanes of a GPU do.

    S(c) T(k,8) T(m,2)@warp M(m16n8k16)      ->      T(m,2)@warp S(c) T(k,8) M(m16n8k16)

A GPU's scheme names them inside S(output), where inputs that a whole block stages stand outside them. Each warp still
begins, sums and stores its own outputs, so as plain loops its loop stands around S(output).
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from tiling.loops.lowering.nest import Loop, Node, RegisterTile


def with_workers_outside(node: Node, reductions: Collection[str]) -> Loop | None:
    """The outermost loop over outputs that workers share in a tile, now around it; None where there is none."""
    loop, rest = _apart(node, reductions)
    return replace(loop, body=(rest,)) if loop else None


def _apart(node: Node, reductions: Collection[str]) -> tuple[Loop | None, Node]:
    """The loop that workers share in a tile, and the tile without it. Inside S(output) each node has one child."""
    if isinstance(node, RegisterTile):
        return None, node
    if isinstance(node, Loop) and node.worker and node.dim[0] not in reductions:
        return node, node.body[0]
    loop, rest = _apart(node.body[0], reductions)
    return loop, replace(node, body=(rest,))
