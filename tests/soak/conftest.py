"""What long tests get: a share of the minutes, and where random numbers start."""

import time

import pytest

# A soak test asks for `soak_seconds` and stops by itself once that time is over; `soak_seed` is where its random
# numbers start. What it prints is shown at the end.


class SoakTime:
    """The time that the soak tests share: what one leaves is for those after it."""

    def __init__(self, minutes: float, tests: int):
        self.deadline, self.tests = time.monotonic() + 60 * minutes, tests

    def share(self) -> float:
        """Seconds for the next test, of which there are so many left."""
        share = max(0.0, self.deadline - time.monotonic()) / self.tests
        self.tests -= 1
        return share


@pytest.fixture(scope="session")
def soak_time(request) -> SoakTime:
    return SoakTime(request.config.option.soak, len(request.session.items))


@pytest.fixture
def soak_seconds(soak_time) -> float:
    """How long this soak test may go on. A test does its least work even where it is 0."""
    return soak_time.share()


@pytest.fixture
def soak_seed(request) -> int:
    """Where the random numbers of a soak test start: `--soak-seed`."""
    return request.config.option.soak_seed
