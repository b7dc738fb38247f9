"""The command `python -m bench.deployed`: see `bench.studies.deployed`."""

from __future__ import annotations

import sys

from bench.studies.deployed import main

if __name__ == "__main__":
    sys.exit(main())
