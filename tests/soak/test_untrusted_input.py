"""Many hostile texts and doctored records are read or refused in a sentence."""

from __future__ import annotations

import time
from functools import partial

import pytest
from hypothesis import given, seed, settings

from tests.support.running.hostile import (
    DOCTORED,
    TEXTS,
    check_records,
    doctored_store,
)


@pytest.fixture(scope="module")
def doctored(tmp_path_factory):
    with doctored_store(tmp_path_factory.mktemp("doctored")) as write:
        yield write


def check_many(check, inputs, start: int) -> None:
    @seed(start)
    @settings(max_examples=300, database=None)
    @given(inputs)
    def one(value):
        check(value)

    one()


def test_hostile_texts_and_records_for_long(doctored, soak_seconds, soak_seed):
    until, rounds = time.monotonic() + soak_seconds, 0
    while True:
        for texts, check in TEXTS.values():
            check_many(check, texts, soak_seed + rounds)
        check_many(partial(check_records, doctored), DOCTORED, soak_seed + rounds)
        rounds += 1
        if time.monotonic() > until:
            break
    count, kinds = 300 * rounds, ", ".join(TEXTS)
    print(f"{count} texts of each kind ({kinds}) and {count} doctored stores: each read or refused")
