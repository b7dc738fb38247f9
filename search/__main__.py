"""The command `python -m search`: lists the commands and names of the package."""

from tilewright_entry import run


def main() -> int:
    """Prints the list and returns the exit code."""
    import search
    from search.console import told

    return told(
        "python -m search.conv --shape SHAPE             a kernel for a convolution\n"
        "python -m search.matmul --shape SHAPE           a kernel for a matrix product\n"
        "python -m search.program TEXT --shape SHAPE     a kernel for a program of maps, reductions and products\n\n"
        "--help after each lists its options. From Python, `from search import NAME`:\n\n"
        f"{', '.join(search.__all__)}"
    )


if __name__ == "__main__":
    run("search.__main__:main")
