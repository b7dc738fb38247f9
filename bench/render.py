"""The command `python -m bench.render`: see `bench.report.render`."""

from tilewright_entry import run

if __name__ == "__main__":
    run("bench.report.render:main")
