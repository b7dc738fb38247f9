"""What tiles and clusters of wgmma and TMA are bound to, on Hopper, and what their threads need."""

from __future__ import annotations

from gpu.limits.multiprocessor import LARGEST_THREAD_REGISTERS, REGISTERS

ROW_BYTES = 128  # of a row of the tiles that wgmma reads and TMA copies, within which chunks are swizzled
LARGEST_BOX = 256  # elements along each side of a box but its rows
LARGEST_CLUSTER = 2  # blocks
# Registers of a thread beside its sums, where a warp of its own copies and wgmma reads the tiles: NVRTC 13.0 takes 22
# to 26, and up to 40 for shared sums and copied inputs.
OTHER_REGISTERS = 40
LOAD_REGISTERS = 16  # for what threads load at each point that they store: without them they spill up to 148 bytes
KEPT_REGISTERS = 40  # of a thread of warps that copy, where they give registers to others; from CUTLASS
_REGISTERS_AT_ONCE = 8  # a thread gets as many, or a multiple


def registers_at_launch(threads: int) -> int:
    """Registers of each thread of a block of so many, which has a multiprocessor to itself."""
    return _whole(REGISTERS // threads)


def registers_taken(taking: int, giving: int) -> int:
    """Registers of each of the threads that take them, once those that give have kept few."""
    begin = registers_at_launch(taking + giving)
    return _whole(min(LARGEST_THREAD_REGISTERS, begin + (begin - KEPT_REGISTERS) * giving // taking))


def _whole(registers: int) -> int:
    return registers // _REGISTERS_AT_ONCE * _REGISTERS_AT_ONCE
