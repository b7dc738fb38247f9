"""The command `python -m gpu.calibrate`: see `gpu.probes.calibrate`."""

from __future__ import annotations

import sys

from gpu.probes.calibrate import main

if __name__ == "__main__":
    sys.exit(main())
