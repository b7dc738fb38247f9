"""The command `python -m bench.choice`: see `bench.studies.accuracy.choice`."""

from tilewright_entry import run

if __name__ == "__main__":
    run("bench.studies.accuracy.choice:main")
