"""The command `python -m bench.schedules`: see `bench.studies.kernels.schedules`."""

from tilewright_entry import run

if __name__ == "__main__":
    run("bench.studies.kernels.schedules:main")
