"""The command `python -m bench.model`: see `bench.studies.accuracy.model`."""

from tilewright_entry import run

if __name__ == "__main__":
    run("bench.studies.accuracy.model:main")
