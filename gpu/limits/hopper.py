"""What tiles and clusters of wgmma and TMA are bound to, on Hopper, and what their threads need."""

from __future__ import annotations

ROW_BYTES = 128  # of a row of the tiles that wgmma reads and TMA copies
LARGEST_CLUSTER = 2  # blocks
# Registers of a thread beside its sums, where a warp of its own copies and wgmma reads the tiles: NVRTC 13.0 takes 22
# to 26, and up to 40 for shared sums and copied inputs.
OTHER_REGISTERS = 40
LOAD_REGISTERS = 16  # for what threads load at each point that they store: without them they spill up to 148 bytes
