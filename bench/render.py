"""The command `python -m bench.render`: see `bench.report.render`."""

from __future__ import annotations

import sys

from bench.report.render import main

if __name__ == "__main__":
    sys.exit(main())
