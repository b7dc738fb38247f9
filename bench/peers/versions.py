"""Versions of installed packages, without importing them."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version


def installed(package: str) -> str:
    """The version pip knows; `unknown` for what was not installed by it."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "unknown"
