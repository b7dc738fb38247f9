"""A kernel for an H200, written on a machine without one: its CUDA text and, where NVRTC is installed, machine code.

python examples/gpu_kernel.py [FOLDER]        # it writes to h200/ where none is named
"""

import sys
from pathlib import Path

from search.matmul import main

folder = Path(sys.argv[1] if len(sys.argv) > 1 else "h200")

# The model chooses among schedules; --explain prints the time that it predicts for every pipe of the GPU.
arguments = ["--shape", "m=1024,n=1024,k=1024", "--target", "cuda", "--dtype", "f16", "--device", "H200"]
code = main([*arguments, "--model-only", "--explain", "--emit", str(folder)])

# Without a GPU the same kernel can run on this CPU, thread by thread, and is checked exactly: small shapes, no speed.
small = ["--shape", "m=64,n=64,k=64", "--target", "cuda-twin", "--dtype", "f16"]
sys.exit(code or main(small))
