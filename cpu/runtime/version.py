"""The version of Tilewright that generated files and commands name."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

try:
    VERSION = version("tilewright")
except PackageNotFoundError:
    VERSION = "unreleased"
