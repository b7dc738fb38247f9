"""Options that several commands here have, with one meaning and one sentence of help."""

from __future__ import annotations

import argparse

from search.commands.options import seconds
from search.flow.find import DEFAULT_BUDGET
from tiling.operators import LAYOUTS


def add_layout(parser: argparse.ArgumentParser) -> None:
    """Adds `--layout`: the order of the axes of convolutions' arrays."""
    parser.add_argument(
        "--layout",
        type=str.lower,
        choices=LAYOUTS,
        default="nhwc",
        help="layout of convolutions' x and y; default: nhwc",
    )


def add_isa(parser: argparse.ArgumentParser) -> None:
    """Adds `--isa`: the instruction set of the kernels."""
    parser.add_argument("--isa", metavar="NAME", help="default: the widest this CPU runs")


def add_first_search(parser: argparse.ArgumentParser) -> None:
    """Adds `--budget`: the seconds of a search, where a layer has had none."""
    parser.add_argument(
        "--budget",
        type=seconds,
        default=DEFAULT_BUDGET,
        metavar="SECONDS",
        help="search of a layer that was not searched before",
    )
