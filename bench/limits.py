"""The command `python -m bench.limits`: see `bench.studies.kernels.limits`."""

from tilewright_entry import run

if __name__ == "__main__":
    run("bench.studies.kernels.limits:main")
