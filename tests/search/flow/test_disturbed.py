"""Searches beside other programs: what was disturbed is repeated, else the choice is marked and made again."""

from __future__ import annotations

import warnings
from dataclasses import replace

import pytest

from search import generate_conv, generate_matmul, generate_program
from search.commands.searching import searched
from search.evaluator.cpu.backend import cpu_backend
from search.program import main as program
from search.tuner import store
from search.tuner.measured import Measured
from search.tuner.peaks import LOW, RECENT, Peaks
from search.tuner.tune import BATCH, ROUNDS, tune
from tests.support.search.searching import PROBLEM
from tiling.machine import Timing
from tiling.text.notation import parse

CANDIDATES = [
    parse(PROBLEM, f"T(h,{12 // rows}) R(k) T(w,12) S(y) T(r,3) T(s,3) T(c,8) U(h,{rows}) V(k,4)")
    for rows in (1, 2, 3, 4, 6, 12)
]
TEXTS = [scheme.text for scheme in CANDIDATES]
BUSY = "other programs took 1.0 cores"


class Shared:
    """A machine of known speeds, whose cores another program takes at times: kernels then take `factor` times as long.

    taken(now): whether it does so at that second. told: whether the machine notices.
    """

    def __init__(self, taken, told=True, factor=10.0):
        self.seconds = {text: 1.0 + place / 10 for place, text in enumerate(TEXTS)}
        self.taken, self.told, self.factor, self.now, self.calls = taken, told, factor, 0.0, []

    def measure(self, scheme, seconds, patience):
        self.now += 1.0
        self.calls.append(scheme.text)
        taken = self.taken(self.now)
        found = self.seconds[scheme.text] * (self.factor if taken else 1)
        return Timing((found,) * 5, 100.0, BUSY if taken and self.told else "")

    def tune(self, **options):
        options = {"budget": 1e6, "trials": len(CANDIDATES)} | options
        return tune(CANDIDATES, self.measure, lambda *_: {}, clock=lambda: self.now, **options)


def half_of_the_time(now, period=20.0):
    return now % period < period / 2


def test_a_program_that_takes_the_cores_half_of_the_time_does_not_choose():
    """It takes them while the six are tried first, and then every other ten seconds."""
    assert len(CANDIDATES) == BATCH
    shared = Shared(half_of_the_time)
    outcome = shared.tune()
    assert outcome.best.scheme == CANDIDATES[0] and outcome.doubt == "" and outcome.rivals == ()
    assert outcome.best.timing == Timing((1.0,) * 5 * (len(outcome.best.timing.samples) // 5), 100.0)
    assert all(m.work == pytest.approx(100e9 * shared.seconds[m.scheme.text]) for m in outcome.runners_up)


def test_where_nobody_notices_it_does_choose():
    """So the test above can fail: the first three are tried, and compared, while the cores are taken."""
    shared = Shared(lambda now: now <= 3 or now % 2 < 1, told=False)
    assert shared.tune(budget=BATCH + ROUNDS).best.scheme != CANDIDATES[0]


def test_what_was_disturbed_is_tried_again_a_batch_later():
    shared = Shared(lambda now: now <= 2)
    shared.tune()
    assert sorted(shared.calls[:BATCH]) == sorted(TEXTS)
    assert shared.calls[BATCH : BATCH + 2] == shared.calls[:2]


def test_disturbed_turns_of_the_finals_are_taken_again_at_the_end_of_a_heat():
    before = len(CANDIDATES)
    shared = Shared(lambda now: now == before + 2)
    shared.tune()
    heat = shared.calls[before : before + ROUNDS * len(CANDIDATES) + 1]
    assert heat == [*TEXTS * ROUNDS, TEXTS[1]]


def test_a_machine_that_is_never_quiet_ends_the_search_all_the_same():
    shared = Shared(lambda now: True)
    outcome = shared.tune()
    assert outcome.best.scheme == CANDIDATES[0] and outcome.best.timing.disturbed == BUSY
    assert outcome.doubt == f"6 of 6 schemes were only timed while {BUSY}"
    assert outcome.rivals == tuple(TEXTS[1:])
    # Two visits at first, then three heats, each turn at most twice.
    assert len(shared.calls) == 2 * 6 + 2 * ROUNDS * (6 + 3 + 2)


def test_a_scheme_that_had_no_quiet_moment_leaves_the_choice_in_doubt():
    """The best one is ten times too slow whenever it is looked at."""
    shared = Shared(lambda now: shared.calls[-1] == TEXTS[0])
    outcome = shared.tune()
    assert outcome.best.scheme == CANDIDATES[1] and outcome.best.timing.disturbed == ""
    assert outcome.doubt == f"1 of 6 schemes was only timed while {BUSY}"
    assert outcome.rivals[0] == TEXTS[0], "the one in doubt comes first"


def test_an_earlier_choice_in_doubt_is_tried_first():
    shared = Shared(lambda now: False)
    shared.tune(incumbent=TEXTS[4])
    assert shared.calls[0] == TEXTS[4] and sorted(shared.calls[:6]) == sorted(TEXTS)


def test_a_peak_that_falls_marks_a_visit_and_a_lasting_fall_does_not():
    peaks, low = Peaks(), 100.0 * (LOW - 0.05)
    visits = [peaks.marked(Timing((1.0,), peak)).disturbed for peak in (90.0, 100.0, 99.0, *[low] * RECENT)]
    assert visits[:3] == [""] * 3 and visits[3] == "the FMA peak fell to 80 % of the one before"
    assert visits[-2] and not visits[-1], "eight visits later it is the machine's new peak"
    assert peaks.marked(Timing((1.0,), 10.0, BUSY)).disturbed == BUSY


BY_MODEL = dict(c=4, h=6, w=6, k=8, r=1, s=1, isa="portable")
SMALL = dict(**BY_MODEL, tune="measure", budget=2.0)


@pytest.fixture
def kept_in_doubt():
    """The choice that a disturbed search left for SMALL, with rivals; and its place in the store."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of a machine that is busy now
        kernel = generate_conv(**BY_MODEL)
    backend = cpu_backend("portable")
    schemes = backend.candidates(kernel.problem)[:3]
    key, kind = backend.key(kernel.problem), backend.kind("measure", kernel.problem)
    timing = Timing((1.0,), 1.0, f"2 of 9 schemes were only timed while {BUSY}")
    store.choose(key, kind, schemes[2].text, timing, [scheme.text for scheme in schemes[:2]])
    return schemes, key, kind


def test_a_choice_in_doubt_stays_while_the_machine_is_busy(kept_in_doubt, monkeypatch):
    schemes, key, kind = kept_in_doubt
    before = store.choice(key, kind)
    monkeypatch.setattr("search.evaluator.cpu.backend.busy", lambda threads: BUSY)
    monkeypatch.setattr("search.flow.find.tuned", lambda *_, **__: pytest.fail("measured on a busy machine"))
    with pytest.warns(RuntimeWarning, match="2 of 9 schemes were only timed while .* the choice is in doubt") as told:
        kernel = generate_conv(**SMALL)
    assert [warning.filename for warning in told] == [__file__]  # where the user's call stands
    assert kernel.scheme == schemes[2] and kernel.timing.disturbed and store.choice(key, kind) == before


def test_the_models_choice_measures_nothing_however_doubtful(kept_in_doubt, monkeypatch):
    schemes, *_ = kept_in_doubt
    monkeypatch.setattr("search.evaluator.cpu.backend.busy", lambda threads: pytest.fail("nobody asked"))
    with pytest.warns(RuntimeWarning):
        kernel = generate_conv(**BY_MODEL)
    assert kernel.scheme == schemes[2] and kernel.timing.disturbed


PRODUCT = dict(m=36, n=8, k=4, transpose_b=True, isa="portable")
PROGRAM, SIZES = "y[i,k] = sum[c] x[i,c] * w[k,c]", {"i": 36, "k": 8, "c": 4}


@pytest.fixture
def product_in_doubt(monkeypatch):
    """The choice that a disturbed search left for the product of PROGRAM."""
    for limit in ("LEAST_FLOPS", "LEAST_USES"):
        monkeypatch.setattr(f"tiling.program.rewrite.anchored.{limit}", 0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of the test before
        kernel = generate_matmul(**PRODUCT)
    backend = cpu_backend("portable")
    key, kind = backend.key(kernel.problem), backend.kind("measure", kernel.problem)
    store.choose(key, kind, kernel.scheme.text, Timing((1.0,), 1.0, f"2 of 9 schemes were only timed while {BUSY}"))


def test_the_default_says_once_that_it_takes_a_choice_in_doubt(product_in_doubt):
    """A product warns, and a program around it; the warning names the line of the caller."""
    asked = (lambda: generate_matmul(**PRODUCT)), (lambda: generate_program(PROGRAM, isa="portable", **SIZES))
    for ask in asked:
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("default", RuntimeWarning)
            for _ in range(3):
                ask()
        (warning,) = said
        assert warning.filename == __file__ and warning.lineno == ask.__code__.co_firstlineno
        found = str(warning.message)
        assert f"2 of 9 schemes were only timed while {BUSY}: the choice is in doubt" in found
        assert 'tune="measure"' in found and "\n" not in found


@pytest.mark.slow
def test_the_command_of_programs_says_it_in_its_report(product_in_doubt, monkeypatch, capsys):
    def disturbed(*asked):
        found = searched(*asked)
        doubtful = Timing((1.0,), 1.0, f"2 of 9 schemes were only timed while {BUSY}")
        return replace(found, timing=doubtful, tried=(Measured(found.scheme, doubtful),))

    monkeypatch.setattr("search.commands.program.searched", disturbed)
    monkeypatch.setattr("search.flow.ranked.rank_first", lambda *_: None)  # half a minute, and no remark depends on it
    assert program([PROGRAM, "--shape", "i=36,k=8,c=4", "--isa", "portable", "--model-only"]) == 0
    printed = capsys.readouterr()
    remarks = [line for line in printed.out.splitlines() if line.startswith("remark")]
    assert sum("2 of 9 schemes" in line and "the choice is in doubt" in line for line in remarks) == 1
    assert "Warning" not in printed.err


@pytest.mark.slow
@pytest.mark.parametrize("quiet", [True, False])
def test_a_choice_in_doubt_is_measured_again_beside_its_rivals(quiet, kept_in_doubt, monkeypatch):
    schemes, key, kind = kept_in_doubt
    speeds, visited = dict(zip((s.text for s in schemes), (1.0, 3.0, 2.0))), []

    def measure(self, scheme, seconds, patience):
        visited.append(scheme)
        return Timing((speeds[scheme.text],) * 5, 100.0, "" if quiet else BUSY)

    monkeypatch.setattr("search.evaluator.cpu.backend.busy", lambda threads: "")
    monkeypatch.setattr("search.evaluator.cpu.evaluator.CpuEvaluator.measure", measure)
    monkeypatch.setattr("search.evaluator.cpu.backend.CpuBackend.candidates", lambda *_: pytest.fail("searched anew"))
    monkeypatch.setattr("cpu.runtime.machine.neighbours.disturbance", lambda *_: "")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of the last check, on a machine that is busy now
        kernel = generate_conv(**{**SMALL, "budget": 5.0})
    assert kernel.scheme == schemes[0] and set(visited) == set(schemes)
    found = store.choice(key, kind)
    assert found.scheme == schemes[0].text
    if quiet:
        assert "only timed" not in found.timing.disturbed and found.rivals == ()
    else:
        assert found.timing.disturbed == f"3 of 3 schemes were only timed while {BUSY}"
        assert found.rivals == (schemes[2].text, schemes[1].text)
