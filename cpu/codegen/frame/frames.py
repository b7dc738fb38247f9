"""The frames of C files: they lay out names and lines. Arithmetic and decisions happen elsewhere."""

from __future__ import annotations

from pathlib import Path

import jinja2

TEMPLATES = jinja2.Environment(
    loader=jinja2.FileSystemLoader(Path(__file__).with_name("templates")),
    block_start_string="/*%",
    block_end_string="%*/",
    variable_start_string="{{",
    variable_end_string="}}",
    comment_start_string="/*#",
    comment_end_string="#*/",
    trim_blocks=True,
    lstrip_blocks=True,
    undefined=jinja2.StrictUndefined,
    keep_trailing_newline=True,
)
