"""The command `python -m cpu.cache`: see `cpu.runtime.cache_command`."""

from __future__ import annotations

import sys

from cpu.runtime.cache_command import main

if __name__ == "__main__":
    sys.exit(main())
