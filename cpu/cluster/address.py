"""The address of a scheduler of `dask.distributed`, checked before anybody waits for it."""

from __future__ import annotations

import argparse
from urllib.parse import urlsplit

from cpu.runtime.processes.worker import WorkerError


class ClusterError(WorkerError):
    """A cluster cannot be reached, or has no worker that is like this machine. The message says which and why."""


def checked(address: str) -> str:
    """The address. Raises ClusterError for a text that is none: a client would try it for long.

    Other protocols (tls, ws, ucx) need certificates or packages that no option names.
    """
    try:
        parts = urlsplit(address if "://" in address else f"tcp://{address}")
        complete = parts.scheme == "tcp" and parts.hostname and parts.port
    except ValueError:
        complete = False
    if not complete:
        raise ClusterError(f"{address!r} is no TCP address of a scheduler: write tcp://HOST:8786")
    return address


def cluster(text: str) -> str:
    """The value of the option `--cluster` of all commands."""
    try:
        return checked(text)
    except ClusterError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
