"""The command `python -m search`: lists the commands and names of the package."""

import search
from cpu.runtime.output import write

if __name__ == "__main__":
    write(
        "python -m search.conv --shape SHAPE      a kernel for a convolution\n"
        "python -m search.matmul --shape SHAPE    a kernel for a matrix product\n\n"
        "--help after either lists its options. From Python, `from search import NAME`:\n\n"
        f"{', '.join(search.__all__)}"
    )
