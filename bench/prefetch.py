"""The command `python -m bench.prefetch`: see `bench.studies.kernels.prefetch`."""

from tilewright_entry import run

if __name__ == "__main__":
    run("bench.studies.kernels.prefetch:main")
