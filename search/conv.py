"""`python -m search.conv --shape SHAPE`: from the shape of a convolution to a fast, checked, explained kernel."""

from __future__ import annotations

import sys

from search.command import main
from tiling.shapes import parse_shape

SHAPE_HELP = (
    "resnet18:R2 (a suite's layer), n=1,c=64,h=56,w=56,k=64,r=3,s=3,stride=1,pad=1 (h, w are the input's), "
    "or a benchdnn descriptor mb1ic64ih56oc64oh56kh3ph1"
)

if __name__ == "__main__":
    sys.exit(main("python -m search.conv", parse_shape, SHAPE_HELP))
