"""The command `python -m bench.fused`: see `bench.studies.fused`."""

from __future__ import annotations

import sys

from bench.studies.fused import main

if __name__ == "__main__":
    sys.exit(main())
