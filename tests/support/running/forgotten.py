"""Modules that a test has imported anew, as in a process of its own."""

import sys

import pytest


def forget(module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Until the patch is undone, the next import of a module is its first one.

    Its package names the module too: what only one of the two has back is patched in vain by tests that follow.
    """
    if module in sys.modules:
        package, _, name = module.rpartition(".")
        if package:
            monkeypatch.setattr(sys.modules[package], name, sys.modules[module])
        monkeypatch.delitem(sys.modules, module)
