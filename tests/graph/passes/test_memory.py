"""Arrays of one arena: none that live at once overlap, and the arena is hardly larger than it must be."""

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from graph.passes.memory import ALIGNMENT, Life, aligned, plan


@st.composite
def lives(draw):
    found = []
    for number in range(draw(st.integers(0, 12))):
        first = draw(st.integers(0, 10))
        found.append(Life(f"a{number}", draw(st.integers(1, 5000)), first, first + draw(st.integers(0, 5))))
    return found


@given(lives())
def test_no_two_arrays_that_live_at_once_overlap(lives):
    found = plan(lives)
    assert found.bytes >= found.least
    for one in lives:
        start = found.offsets[one.name]
        assert start % ALIGNMENT == 0 and start + one.bytes <= found.bytes
        for other in lives:
            if other.name != one.name and one.meets(other):
                begin = found.offsets[other.name]
                assert start + aligned(one.bytes) <= begin or begin + aligned(other.bytes) <= start


def test_a_chain_takes_the_memory_of_two_neighbours():
    chain = [Life(f"a{step}", 64 * (step + 1), step, step + 1) for step in range(8)]
    found = plan(chain)
    assert found.bytes == found.least == 64 * (7 + 8)


def test_small_models_waste_little():
    """Random chains with residuals, as networks have them: a tenth more than what lives at once, in the median less."""
    wasted = []
    for seed in range(60):
        random = Random(seed)
        steps = random.randint(3, 12)
        found = [Life(f"a{s}", random.randint(1, 8000), s, s + random.choice((1, 1, 1, 2, 4))) for s in range(steps)]
        found += [Life(f"s{s}", random.randint(1, 4000), s, s) for s in range(steps) if random.random() < 0.3]
        made = plan(found)
        wasted.append(made.bytes / made.least)
    assert max(wasted) <= 1.1 and sorted(wasted)[30] <= 1.01


def test_nothing_takes_no_memory():
    assert plan([]).bytes == 0
