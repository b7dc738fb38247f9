"""The command `python -m bench.latency`: see `bench.studies.searches.latency`."""

from tilewright_entry import run

if __name__ == "__main__":
    run("bench.studies.searches.latency:main")
