"""What a multiprocessor has, from sm_80 on, and so how many blocks it runs at once.

blocks_for_registers(threads, registers) -> int
blocks_for_memory(shared_bytes, memory) -> int
blocks_at_once(threads, registers, shared_bytes) -> int      one at least, with the most memory that there is
"""

from __future__ import annotations

WARP = 32  # threads
REGISTERS = 65536
LARGEST_THREAD_REGISTERS = 255
SCHEDULERS = 4  # each has a quarter of the warps and registers
LARGEST_SHARED = 228 << 10  # bytes: the most shared memory that one has
_GIVEN_AT_ONCE = 256  # registers: a warp gets as many, or a multiple
_OF_THE_SYSTEM = 1024  # bytes that the system takes of each block's shared memory


def blocks_for_registers(threads: int, registers: int) -> int:
    """Blocks of so many threads that there are registers for."""
    of_warp = -(-registers * WARP // _GIVEN_AT_ONCE) * _GIVEN_AT_ONCE
    return REGISTERS // SCHEDULERS // of_warp * SCHEDULERS // -(-threads // WARP)


def blocks_for_memory(shared_bytes: int, memory: int = LARGEST_SHARED) -> int:
    """Blocks that there is shared memory for, of `memory` bytes."""
    return memory // (shared_bytes + _OF_THE_SYSTEM)


def blocks_at_once(threads: int, registers: int, shared_bytes: int) -> int:
    """Blocks that ptxas is asked for. Else threads would take registers that other blocks need, or spill."""
    return max(1, min(blocks_for_registers(threads, registers), blocks_for_memory(shared_bytes)))
