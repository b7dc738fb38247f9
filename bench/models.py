"""The command `python -m bench.models`: see `bench.studies.models`."""

from __future__ import annotations

import sys

from bench.studies.models import main

if __name__ == "__main__":
    sys.exit(main())
