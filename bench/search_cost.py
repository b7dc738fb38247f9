"""The command `python -m bench.search_cost`: see `bench.studies.searches.search_cost`."""

from tilewright_entry import run

if __name__ == "__main__":
    run("bench.studies.searches.search_cost:main")
