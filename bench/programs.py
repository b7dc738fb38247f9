"""The command `python -m bench.programs`: see `bench.studies.networks.programs`."""

from tilewright_entry import run

if __name__ == "__main__":
    run("bench.studies.networks.programs:main")
