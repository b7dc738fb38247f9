"""The command `python -m bench.shifts`: see `bench.studies.kernels.shifts`."""

from tilewright_entry import run

if __name__ == "__main__":
    run("bench.studies.kernels.shifts:main")
