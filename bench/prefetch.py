"""The command `python -m bench.prefetch`: see `bench.studies.prefetch`."""

from tilewright_entry import run

if __name__ == "__main__":
    run("bench.studies.prefetch:main")
