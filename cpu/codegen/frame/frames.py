"""The frames of C files, in `templates/`."""

from __future__ import annotations

from pathlib import Path

from cpu.runtime.frames import frames

TEMPLATES = frames(Path(__file__).with_name("templates"))
