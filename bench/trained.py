"""The command `python -m bench.trained`: see `bench.studies.networks.trained`."""

from tilewright_entry import run

if __name__ == "__main__":
    run("bench.studies.networks.trained:main")
