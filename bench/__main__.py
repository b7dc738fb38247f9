"""The command `python -m bench`: see `bench.command`."""

from tilewright_entry import run

if __name__ == "__main__":
    run("bench.command:main")
