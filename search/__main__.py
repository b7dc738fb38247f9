"""The command `python -m search`: lists the commands and names of the package."""

import sys

from tilewright_entry import run


def main() -> int:
    """Prints the list and returns the exit code. 2: there is more on the command line, which means nothing."""
    import search
    from search.console import told

    if more := [word for word in sys.argv[1:] if word not in ("-h", "--help")]:
        print(
            f"python -m search takes no argument, not {more[0][:40]!r}: name a command, such as python -m search.conv",
            file=sys.stderr,
        )
        return 2
    return told(
        "python -m search.conv --shape SHAPE             a kernel for a convolution\n"
        "python -m search.matmul --shape SHAPE           a kernel for a matrix product\n"
        "python -m search.program TEXT --shape SHAPE     a kernel for a program of maps, reductions and products\n\n"
        "--help after each lists its options. From Python, `from search import NAME`:\n\n"
        f"{', '.join(search.__all__)}"
    )


if __name__ == "__main__":
    run("search.__main__:main")
