"""What tiles and clusters of wgmma and TMA are bound to, on Hopper."""

from __future__ import annotations

ROW_BYTES = 128  # of a row of the tiles that wgmma reads and TMA copies
LARGEST_CLUSTER = 2  # blocks
