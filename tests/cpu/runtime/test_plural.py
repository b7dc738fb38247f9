"""Counts in sentences."""

import pytest

from cpu.runtime.plural import memory, plural


def test_one_thing_is_no_plural():
    assert [plural(count, "threads") for count in (0, 1, 2, 11)] == ["0 threads", "1 thread", "2 threads", "11 threads"]


@pytest.mark.parametrize(
    "count, said",
    [
        *((0, "0 bytes"), (1, "1 byte"), (12, "12 bytes"), (999, "999 bytes"), (1000, "1 KB"), (1234, "1.23 KB")),
        *((999_499, "999 KB"), (999_500, "1 MB"), (25_602_080, "25.6 MB"), (1_234_567_890, "1.23 GB")),
        *((5 * 10**12, "5 TB"), (1234 * 10**12, "1230 TB")),
    ],
)
def test_bytes_have_three_digits_in_the_unit_that_fits(count, said):
    assert memory(count) == said
