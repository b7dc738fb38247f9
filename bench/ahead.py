"""The command `python -m bench.ahead`, the earlier name of `bench.prefetch`."""

from tilewright_entry import run

if __name__ == "__main__":
    run("bench.studies.kernels.prefetch:main")
