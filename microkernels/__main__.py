"""`python -m microkernels`: the command line is `microkernels.command`, which loads its libraries first."""

import sys

try:
    from microkernels.command import main

    sys.exit(main())
except KeyboardInterrupt:  # while the libraries load, which takes a moment
    print("interrupted before anything was done", file=sys.stderr)
    sys.exit(130)
