"""The command `python -m bench.tiles`: see `bench.studies.tiles`."""

from __future__ import annotations

import sys

from bench.studies.tiles import main

if __name__ == "__main__":
    sys.exit(main())
