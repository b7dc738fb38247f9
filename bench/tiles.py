"""The command `python -m bench.tiles`: see `bench.studies.kernels.tiles`."""

from tilewright_entry import run

if __name__ == "__main__":
    run("bench.studies.kernels.tiles:main")
