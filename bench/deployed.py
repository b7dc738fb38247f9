"""The command `python -m bench.deployed`: see `bench.studies.kernels.deployed`."""

from tilewright_entry import run

if __name__ == "__main__":
    run("bench.studies.kernels.deployed:main")
