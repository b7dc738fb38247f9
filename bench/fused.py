"""The command `python -m bench.fused`: see `bench.studies.kernels.fused`."""

from tilewright_entry import run

if __name__ == "__main__":
    run("bench.studies.kernels.fused:main")
