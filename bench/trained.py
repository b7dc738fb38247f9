"""The command `python -m bench.trained`: see `bench.studies.trained`."""

from __future__ import annotations

import sys

from bench.studies.trained import main

if __name__ == "__main__":
    sys.exit(main())
