"""The command `python -m bench.prefetch`: see `bench.studies.prefetch`."""

from __future__ import annotations

import sys

from bench.studies.prefetch import main

if __name__ == "__main__":
    sys.exit(main())
