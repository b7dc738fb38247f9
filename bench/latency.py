"""The command `python -m bench.latency`: see `bench.studies.latency`."""

from __future__ import annotations

import sys

from bench.studies.latency import main

if __name__ == "__main__":
    sys.exit(main())
