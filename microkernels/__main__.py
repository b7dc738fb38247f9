"""The command `python -m microkernels`: see `microkernels.ranking.command`."""

from tilewright_entry import run

if __name__ == "__main__":
    run("microkernels.ranking.command:main")
