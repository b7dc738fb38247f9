"""The register tile: what it is, which ones a machine can hold, how they are emitted, and how fast each one is.

In this folder, and in its rooms:

    tile/     the register tile: instruction sets, the tiles that their registers hold, and a tile in C
    scores/   the measured score of each register tile, and the database that keeps it
    ranking/  the offline stage: it measures every tile on this machine, once

`python -m microkernels rank | show | plot | export` is the offline stage's command line.
"""

import tilewright_entry  # noqa: F401 - first: it keeps files of the current folder out of the way
