"""The command `python -m search.program TEXT`: a fast kernel for a program of maps, reductions and products."""

from __future__ import annotations

from tilewright_entry import run


def main(arguments: list[str] | None = None) -> int:
    """Runs the command line and returns the exit code (`search.commands.program.main`)."""
    from search.commands.program import main as made

    return made(arguments)


if __name__ == "__main__":
    run("search.program:main")
