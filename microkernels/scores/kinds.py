"""Rankings of a kind of CPU as a JSON text, which comes with the package for machines of that kind.

A kind is the beginning of a fingerprint, vendor-family-model, such as amd-26-2. Scores are fractions of one core's
peak, so clocks, the number of cores and the outer caches leave them as they are.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields

from microkernels.scores.catalog import Catalog, Entry
from microkernels.scores.database import RecordError, stored_json
from microkernels.tile.microkernel import parse
from tiling.machine import is_rate

DIGITS = 4  # of a score: two measurements of a tile differ by a percent
# A score beyond the peak by more than a measured peak varies is no measurement.
_MOST = 1.05
_KIND = re.compile(r"[a-z0-9]+-[0-9]+-[0-9]+")


@dataclass(frozen=True)
class Ranking:
    """The scores of one operator's microkernels on one instruction set, by name.

    emitter: the EMITTER_VERSION that was measured. measured: the day. fingerprint: that of the machine. remark: what a
    reader should know of the measurement, or "".
    """

    isa: str
    op: str
    emitter: int
    measured: str
    fingerprint: str
    remark: str
    scores: Mapping[str, float]


@dataclass(frozen=True)
class Kind:
    """A kind of CPU. kind: vendor-family-model. cpu: what people call it."""

    kind: str
    cpu: str
    rankings: tuple[Ranking, ...]

    def catalog(self, isa: str, op: str, emitter: int) -> Catalog | None:
        """The ranking of an operator on an instruction set, by this version of the emitter; None where none is."""
        for ranking in self.rankings:
            if (ranking.isa, ranking.op, ranking.emitter) == (isa, op, emitter):
                entries = (Entry(parse(name), score) for name, score in ranking.scores.items())
                best_first = sorted(entries, key=lambda entry: (-entry.score, entry.kernel.name))
                where = f"on {ranking.measured} on a CPU of this kind, {self.kind} ({self.cpu})"
                origin = f"{where}, {ranking.remark}" if ranking.remark else where
                return Catalog(ranking.fingerprint, isa, op, tuple(best_first), origin=origin)
        return None


def kind_of(fingerprint: str) -> str:
    """The kind of CPU that a fingerprint is of: vendor, family and model."""
    return fingerprint.rsplit("-", 2)[0]


def is_kind(text: str) -> bool:
    """Whether a text spells a kind. Then it is the name of a file and no path."""
    return _KIND.fullmatch(text) is not None


def write_kind(kind: Kind) -> str:
    """The JSON text of a kind, a line a score. `read_kind` turns it back."""
    return json.dumps(asdict(kind), indent=1) + "\n"


def read_kind(name: str, text: str) -> Kind:
    """The kind called `name` that a text holds. Raises RecordError where any part of it cannot be one."""
    found = stored_json(text)
    if not isinstance(found, dict) or found.get("kind") != name or not isinstance(found.get("cpu"), str):
        raise RecordError(f"it is no JSON object of the kind {name}")
    if not isinstance(found.get("rankings"), list):
        raise RecordError("it has no list of rankings")
    return Kind(name, found["cpu"], tuple(map(_ranking, found["rankings"])))


def _ranking(found: object) -> Ranking:
    """One ranking of a file. Raises RecordError."""
    wanted = {field.name for field in fields(Ranking)}
    if not isinstance(found, dict) or set(found) != wanted:
        raise RecordError(f"one of its rankings has not the fields {' '.join(sorted(wanted))}")
    texts = (found[name] for name in ("isa", "op", "measured", "fingerprint", "remark"))
    if not all(isinstance(text, str) for text in texts) or type(found["emitter"]) is not int:
        raise RecordError("one of its rankings does not say what it is of")
    if not isinstance(found["scores"], dict) or not found["scores"]:
        raise RecordError(f"its ranking of {found['op']:.20} on {found['isa']:.20} has no scores")
    for name, score in found["scores"].items():
        _check_score(name, score, found["isa"], found["op"])
    return Ranking(**found)


def _check_score(name: str, score: object, isa: str, op: str) -> None:
    try:
        kernel = parse(name)
    except ValueError as error:
        raise RecordError(str(error)) from None
    if (kernel.isa, kernel.op) != (isa, op):
        raise RecordError(f"{name:.80} is in its ranking of {op:.20} on {isa:.20}")
    if not is_rate(score) or score > _MOST:
        raise RecordError(f"{score!r:.40} is no score of {name:.80}")
