"""What the user of a data folder was told already: a remark that stays true is made once, and not by every process."""

from __future__ import annotations

from collections.abc import Callable

from microkernels.scores.database import StoreError, connect

_SCHEMA = "CREATE TABLE IF NOT EXISTS told (sentence TEXT PRIMARY KEY);"


def tell_once(sentence: str, announce: Callable[[str], None]) -> None:
    """Announces a sentence, unless it was told before. Where that cannot be kept, it is told again."""
    try:
        with connect(_SCHEMA) as connection:
            known = connection.execute("SELECT 1 FROM told WHERE sentence = ?", (sentence,)).fetchone()
            if not known:
                connection.execute("INSERT OR IGNORE INTO told VALUES (?)", (sentence,))
    except StoreError:
        known = None
    if not known:
        announce(sentence)
