"""The command `python -m bench.model`: see `bench.studies.model`."""

from __future__ import annotations

import sys

from bench.studies.model import main

if __name__ == "__main__":
    sys.exit(main())
