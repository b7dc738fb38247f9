"""The command `python -m bench.programs`: see `bench.studies.programs`."""

from __future__ import annotations

import sys

from bench.studies.programs import main

if __name__ == "__main__":
    sys.exit(main())
