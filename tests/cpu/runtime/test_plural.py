"""Counts in sentences."""

from cpu.runtime.plural import plural


def test_one_thing_is_no_plural():
    assert [plural(count, "threads") for count in (0, 1, 2, 11)] == ["0 threads", "1 thread", "2 threads", "11 threads"]
