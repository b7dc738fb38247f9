"""Joins launches that need nothing of each other into one, which has the blocks of all.

    for block in 0..8, block:          for block in 0..17, block:
      for thread in 0..256, thread:      if block < 8:
        …                                  for thread in 0..256, thread:
    for block in 0..9, block:      ->        …
      for thread in 0..256, thread:      else:
        point = 256*block + thread         for thread in 0..256, thread:
        …                                    point = 256*block + thread - 2048
                                             …

A launch takes some microseconds, as long as a small one computes. Source: horizontal fusion of kernels.
"""

from __future__ import annotations

from dataclasses import replace

from gpu.passes.facts.workers import BLOCK, launches, over
from tiling.loops.index import variable
from tiling.loops.kernel import Kernel
from tiling.loops.language import For, If, Inside
from tiling.loops.rewrite import substituted


def join_launches(kernel: Kernel) -> Kernel:
    """The kernel with one launch. No launch may read what another one writes."""
    first, *others = launches(kernel)
    joined = first
    for launch in others:
        joined = _joined(joined, launch)
    return replace(kernel, body=(*(s for s in kernel.body if s not in (first, *others)), joined))


def _joined(one: For, other: For) -> For:
    moved = substituted(other.body, {BLOCK: variable(BLOCK) - one.stop})
    choice = If((Inside(variable(BLOCK), None, one.stop.offset),), one.body, moved)
    return over(BLOCK, one.stop + other.stop, (choice,))
