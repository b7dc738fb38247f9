"""What is known of a machine that has measured nothing yet: the ranking of its kind that comes with the package.

The files lie in `measured/`. A machine's own outcomes are in the database, and never mix with these: the first of its
own ends the use of the ranking that came with the package.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import lru_cache
from hashlib import sha256
from importlib.resources import files

from microkernels.scores import records
from microkernels.scores.catalog import Catalog
from microkernels.scores.database import RecordError
from microkernels.scores.kinds import is_kind, kind_of, read_kind
from microkernels.tile.benchmark import EMITTER_VERSION
from microkernels.tile.microkernel import RANKED_AS
from tilewright_entry import TilewrightWarning


def known(fingerprint: str, isa: str, op: str) -> Catalog:
    """The catalog of a machine: its own outcomes; where it has none, the ranking of its kind; else an empty one.

    A damaged file counts as none, with a RuntimeWarning. Raises StoreError.
    """
    own = records.load(fingerprint, isa, op)
    if own.entries or own.failures:
        return own
    return shipped(fingerprint, isa, op) or own


def revision(fingerprint: str, isa: str, op: str) -> str:
    """A short text that changes with what `known` gives; "0" where nothing is known. Raises StoreError."""
    own = records.revision(fingerprint, isa, op)
    text = text_of(kind_of(fingerprint)) if own == "0" else None
    return own if text is None else f"shipped-{sha256(text.encode()).hexdigest()[:12]}"


def shipped(fingerprint: str, isa: str, op: str) -> Catalog | None:
    """The ranking that comes with the package for machines of this kind; None where there is none."""
    kind = kind_of(fingerprint)
    text = text_of(kind)
    if text is None:
        return None
    try:
        found = _catalog(kind, text, isa, RANKED_AS[op])
        return found and replace(found, op=op)
    except RecordError as error:
        warnings.warn(
            f"the ranking of {kind} that comes with Tilewright is damaged and does not count ({error}): install "
            "Tilewright again",
            TilewrightWarning,
            stacklevel=3,
        )
        return None


@lru_cache(maxsize=32)
def _catalog(kind: str, text: str, isa: str, op: str) -> Catalog | None:
    """The catalog in the text of a kind. Raises RecordError. It is kept, as a text has hundreds of names to parse."""
    return read_kind(kind, text).catalog(isa, op, EMITTER_VERSION)


def text_of(kind: str) -> str | None:
    """The text of the file of a kind; None where there is none."""
    # Only names that the folder lists are opened: no fingerprint can be a path.
    folder = files("microkernels.scores").joinpath("measured")
    if not is_kind(kind) or not folder.is_dir() or f"{kind}.json" not in {file.name for file in folder.iterdir()}:
        return None
    return folder.joinpath(f"{kind}.json").read_bytes().decode(errors="replace")
