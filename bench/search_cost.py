"""The command `python -m bench.search_cost`: see `bench.studies.search_cost`."""

from tilewright_entry import run

if __name__ == "__main__":
    run("bench.studies.search_cost:main")
