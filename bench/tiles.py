"""The command `python -m bench.tiles`: see `bench.studies.tiles`."""

from tilewright_entry import run

if __name__ == "__main__":
    run("bench.studies.tiles:main")
