"""Whose folder the compile cache is: no programs are loaded from where others could have put them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cpu.runtime.compiler.cache_folder import (
    CacheError,
)
from tests.support.running.own_cache import answer

pytestmark = pytest.mark.usefixtures("kernels")


def owned_by(monkeypatch, owner: int, us: int) -> None:
    """As if the folders here belonged to `owner`, and this process to `us`."""
    real = Path.stat

    def stat(path, **options):
        status = real(path, **options)
        return os.stat_result((*status[:4], owner, *status[5:10]))

    monkeypatch.setattr(Path, "stat", stat)
    monkeypatch.setattr(os, "geteuid", lambda: us)


def test_a_folder_that_everybody_may_write_into_is_refused(kernels):
    answer()
    kernels.chmod(0o777)
    with pytest.raises(CacheError, match=f"no program is loaded from {kernels}, into which everybody may write.*o-w"):
        answer()
    kernels.chmod(0o755)
    assert answer() == 42


def test_so_is_a_folder_whose_place_everybody_may_write_into(kernels):
    """Anybody could put another folder in its place, unless a sticky bit forbids that, as in /tmp."""
    answer()
    kernels.parent.chmod(0o777)
    with pytest.raises(CacheError, match=f"no program is loaded from {kernels.parent}, into which everybody may write"):
        answer()
    kernels.parent.chmod(0o1777)
    assert answer() == 42
    kernels.chmod(0o1777)  # here a sticky bit helps nothing: new programs may come
    with pytest.raises(CacheError, match=f"no program is loaded from {kernels}, into which everybody may write"):
        answer()


def test_a_folder_of_another_user_is_refused(kernels, monkeypatch):
    answer()
    owned_by(monkeypatch, 1001, us=1000)
    with pytest.raises(CacheError, match=r"belongs to another user \(number 1001\): set TILEWRIGHT_CACHE"):
        answer()


@pytest.mark.parametrize("owner, us", [(1000, 1000), (0, 1000), (0, 0)])
def test_ones_own_folder_and_roots_are_used(kernels, monkeypatch, owner, us):
    owned_by(monkeypatch, owner, us)
    assert answer() == answer() == 42


def test_root_is_told_whose_programs_it_loads(kernels, monkeypatch):
    """In a container the folder often belongs to the user outside."""
    answer()
    owned_by(monkeypatch, 1001, us=0)
    with pytest.warns(RuntimeWarning, match="root loads programs from .* belongs to user number 1001") as told:
        assert answer() == 42
    assert len(told) == 1


def test_our_own_folder_is_not_for_everybody_whatever_the_umask(kernels):
    before = os.umask(0)
    try:
        assert answer() == 42 and not kernels.stat().st_mode & 0o022
    finally:
        os.umask(before)
