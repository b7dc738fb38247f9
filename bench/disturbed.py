"""The command `python -m bench.disturbed`: see `bench.studies.searches.disturbed`."""

from tilewright_entry import run

if __name__ == "__main__":
    run("bench.studies.searches.disturbed:main")
