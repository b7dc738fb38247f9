"""Versions of installed packages, without importing them."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version


def installed(package: str) -> str:
    """The version that pip knows; `unknown` for a package that pip did not install."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "unknown"
