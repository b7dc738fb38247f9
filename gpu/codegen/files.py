"""What the files of a kernel have in common: the version that they name, and the templates of headers and launchers."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import jinja2

try:
    VERSION = version("tilewright")
except PackageNotFoundError:
    VERSION = "unreleased"


TEMPLATES = jinja2.Environment(
    loader=jinja2.FileSystemLoader(Path(__file__).with_name("templates")),
    block_start_string="/*%",
    block_end_string="%*/",
    comment_start_string="/*#",
    comment_end_string="#*/",
    trim_blocks=True,
    lstrip_blocks=True,
    undefined=jinja2.StrictUndefined,
    keep_trailing_newline=True,
)
