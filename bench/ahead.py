"""The command `python -m bench.ahead`, the earlier name of `bench.prefetch`."""

from __future__ import annotations

import sys

from bench.studies.prefetch import main

if __name__ == "__main__":
    sys.exit(main())
