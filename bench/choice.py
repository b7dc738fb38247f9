"""The command `python -m bench.choice`: see `bench.studies.choice`."""

from tilewright_entry import run

if __name__ == "__main__":
    run("bench.studies.choice:main")
