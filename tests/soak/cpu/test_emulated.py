"""A whole search on an emulated CPU."""

from __future__ import annotations

from tests.support.running.emulated import SEARCH, SEARCH_SECONDS


def test_soak_whole_search(python):
    """A Haswell that nobody has ranked: its microkernels are ranked, then candidates are measured in workers."""
    ended = python("Haswell", *SEARCH, "--budget", "10", seconds=SEARCH_SECONDS)
    assert ended.returncode == 0, ended.stderr
    print(ended.stdout)
    assert "avx2, since this CPU lacks avx512f, avx512vl\n" in ended.stdout and "__avx2" in ended.stdout
