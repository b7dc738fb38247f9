"""A kernel saved as C, and called from the threads of a C++ program that knows nothing of Python.

python examples/cpp_threads.py [FOLDER]        # it writes to layer/ where none is named
"""

import subprocess
import sys
from pathlib import Path

import numpy as np

from search import generate_conv

SOURCE = Path(__file__).with_suffix(".cpp")
folder = Path(sys.argv[1] if len(sys.argv) > 1 else "layer")

kernel = generate_conv(c=32, h=14, w=14, k=32, r=3, s=3, padding=1)
for path in kernel.save(folder, name="layer"):
    print(f"wrote {path}")

command = [
    "c++",
    "-O2",
    "-std=c++17",
    "-I.",
    str(SOURCE),
    "layer.so",
    "-Wl,-rpath,$ORIGIN",
    "-pthread",
    "-o",
    "threads",
]
subprocess.run(command, cwd=folder, check=True)
printed = subprocess.run([folder / "threads"], check=True, capture_output=True, text=True).stdout
print(printed, end="")

# The same from Python: the sums are whole numbers, so they are equal to the last digit.
w = (np.arange(32 * 32 * 3 * 3) % 7 - 3).astype(np.float32).reshape(32, 32, 3, 3)
for number, line in enumerate(printed.splitlines()):
    x = ((np.arange(14 * 14 * 32) + number) % 5 - 2).astype(np.float32).reshape(1, 14, 14, 32)
    assert line == f"image {number}: sum {kernel(x, w).sum(dtype=np.float64):.0f}"
