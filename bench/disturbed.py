"""The command `python -m bench.disturbed`: see `bench.studies.disturbed`."""

from tilewright_entry import run

if __name__ == "__main__":
    run("bench.studies.disturbed:main")
