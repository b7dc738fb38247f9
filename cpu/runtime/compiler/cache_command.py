"""The command `python -m cpu.cache status | clear | limit SIZE`: it looks after the compiled kernels on disk."""

from __future__ import annotations

import argparse
import json
import math
import re
import sys
import time

from cpu.runtime.compiler.cache_folder import (
    CacheEntry,
    CacheError,
    clear,
    entries,
    keep_limit,
    kernel_folder,
    limit_bytes,
)
from cpu.runtime.options import Parser
from cpu.runtime.output import OutputError, readable, readers_may_leave, write
from cpu.runtime.plural import plural

_FEW = 1 << 20  # a kernel and its source take some 50 KiB
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def size(text: str) -> int | float:
    """Bytes in a size such as `512M` or `2G`. Units are powers of 1024. `none` gives infinity."""
    if text.strip().lower() == "none":
        return math.inf
    match = re.fullmatch(r"([0-9]{1,15})([KMGT]?)(?:i?B)?", text.strip(), re.IGNORECASE)
    if not match:
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is not a size such as 512M or 2G, nor none")
    return int(match[1]) * _UNITS[match[2].upper()]


def main(arguments: list[str] | None = None) -> int:
    """Runs the command line. Returns the exit code: 1 if something went wrong."""
    options = _parser().parse_args(arguments)
    try:
        with readers_may_leave():
            write(options.run(options))
        return 0
    except (CacheError, OutputError) as error:
        print(readable(str(error)), file=sys.stderr)
        return 1


def _status(options: argparse.Namespace) -> str:
    found, now = entries(), time.time()
    total, limit = sum(entry.bytes for entry in found), limit_bytes()
    kernels = sum(entry.is_kernel for entry in found)
    of_gpus = sum(entry.path.suffix == ".cubin" for entry in found)
    if options.json:
        facts = {"folder": str(kernel_folder()), "kernels": kernels, "of_gpus": of_gpus, "bytes": total}
        return json.dumps(facts | {"limit_bytes": None if limit == math.inf else limit})
    lines = [
        ("folder", str(kernel_folder())),
        (
            "kernels",
            f"{kernels}, {f'{of_gpus} of them for GPUs, ' if of_gpus else ''}{_shown(total)} with their sources"
            + " and gcc's precompiled header" * (kernels < len(found)),
        ),
        (
            "limit",
            "none" if limit == math.inf else f"{_shown(limit)}; beyond it the kernels used longest ago are deleted",
        ),
    ]
    if found:
        times = dict.fromkeys(_ago(now - entry.used) for entry in (found[-1], found[0]))  # of one time say it once
        lines.append(("last used", f"{' to '.join(times)} ago"))
    return "\n".join(f"{name:<12} {value}" for name, value in lines)


def _clear(_: argparse.Namespace) -> str:
    return _deleted(clear())


def limited(size: int | float) -> str:
    """Keeps the limit that an option of another command gives.

    Returns a sentence for the user if kernels were deleted or the limit holds only a few; else an empty text. Raises
    CacheError.
    """
    gone = keep_limit(size)
    return f"from now on {_held(size, gone)}" if gone or size < _FEW else ""


def _limit(options: argparse.Namespace) -> str:
    return _held(options.size, keep_limit(options.size))


def _held(size: int | float, gone: list[CacheEntry]) -> str:
    if size == math.inf:
        return "compiled kernels are kept without a limit"
    few = "; that holds a few kernels at most, and others are compiled again whenever they are needed"
    return f"compiled kernels are kept within {_shown(size)}; {_deleted(gone)}" + few * (size < _FEW)


def _deleted(gone: list[CacheEntry]) -> str:
    count = sum(entry.is_kernel for entry in gone)
    return f"deleted {plural(count, 'compiled kernels')}, {_shown(sum(entry.bytes for entry in gone))}"


def _shown(count: float) -> str:
    for unit in ("B", "KiB", "MiB"):
        if count < 1024:
            return f"{count:.4g} {unit}"
        count /= 1024
    return f"{count:.4g} GiB"


def _ago(seconds: float) -> str:
    for unit, length in (("days", 86400), ("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit}"
    return plural(round(max(seconds, 0)), "seconds")


def _parser() -> argparse.ArgumentParser:
    parser = Parser("python -m cpu.cache", description="Look after the compiled kernels on disk.")
    commands = parser.add_subparsers(required=True, metavar="status | clear | limit")
    command = commands.add_parser("status", help="where they are, how many and how large")
    command.add_argument("--json", action="store_true", help="print one JSON object")
    command.set_defaults(run=_status)
    command = commands.add_parser("clear", help="delete all of them; each is compiled again when it is needed")
    command.set_defaults(run=_clear)
    command = commands.add_parser("limit", help="how large they may become together; kept until it is changed")
    command.add_argument("size", metavar="SIZE", type=size, help="such as 512M or 2G, or none")
    command.set_defaults(run=_limit)
    return parser
