"""Golden files: the text that was emitted, kept to be read in a diff when it changes."""

from difflib import unified_diff
from pathlib import Path

GOLDEN = Path(__file__).parents[1] / "golden"


def check_golden(file_name: str, text: str, update: bool) -> None:
    """The text is that of the file, which is rewritten first where `update` says so (`pytest --update-golden`)."""
    path = GOLDEN / file_name
    if update:
        path.write_text(text, encoding="utf-8")
    kept = path.read_text(encoding="utf-8")
    if text != kept:
        changed = unified_diff(kept.splitlines(), text.splitlines(), "kept", "now", lineterm="", n=1)
        told = f"tests/golden/{file_name} is another text: if that is meant, pytest --update-golden"
        raise AssertionError("\n".join([told, *list(changed)[:40]]))


def golden_names(suffix: str) -> set[str]:
    return {path.stem for path in GOLDEN.glob(f"*{suffix}")}
