"""The frames of files of C and CUDA: they lay out names and lines. Arithmetic and decisions happen elsewhere."""

from __future__ import annotations

from pathlib import Path

import jinja2


def frames(folder: Path) -> jinja2.Environment:
    """The frames in a folder. Their tags look like comments of C."""
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(folder),
        block_start_string="/*%",
        block_end_string="%*/",
        comment_start_string="/*#",
        comment_end_string="#*/",
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
        keep_trailing_newline=True,
    )
