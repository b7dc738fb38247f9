"""`python -m microkernels`: starts the command line of `microkernels.ranking.command`, which first loads libraries."""

import signal
import sys

try:
    from microkernels.ranking.command import main

    sys.exit(main())
except KeyboardInterrupt:  # while the libraries load, which takes a moment
    print("interrupted before anything was done", file=sys.stderr)
    sys.exit(128 + signal.SIGINT)
