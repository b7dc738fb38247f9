"""The command `python -m bench.programs`: see `bench.studies.programs`."""

from tilewright_entry import run

if __name__ == "__main__":
    run("bench.studies.programs:main")
