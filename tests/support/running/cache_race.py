"""One process of a race for the compile cache: `python -m tests.support.running.cache_race KERNELS ROUNDS SEED`.

It loads KERNELS kernels ROUNDS times, each time in another order, and prints how many loads gave a wrong answer.
With `--spoil SECONDS` it damages entries of the cache for that long instead, each as a fault would leave it.
"""

from __future__ import annotations

import ctypes
import os
import random
import sys
import time

from cpu.runtime.compiler.cache_folder import kernel_folder
from cpu.runtime.compiler.library import load


def source(number: int) -> str:
    return f"int answer(void) {{ return {number}; }}\n"


def wrong_answers(kernels: int, rounds: int, rng: random.Random) -> int:
    wrong, held = 0, []
    for _ in range(rounds):
        for number in rng.sample(range(kernels), kernels):
            # A library goes by its content: one that is open already was made from the same bytes.
            library = load(source(number), (), ctypes.CDLL)
            held.append((library, number))
            wrong += library.answer() != number
    # What others deleted or replaced meanwhile goes on running here.
    return wrong + sum(library.answer() != number for library, number in held)


def spoil(seconds: float, rng: random.Random) -> int:
    """Cuts entries off, flips a bit in them, empties, deletes them or puts one in another's place; how many."""
    until, spoiled = time.monotonic() + seconds, 0
    while time.monotonic() < until:
        for entry in rng.sample(found := list(kernel_folder().glob("*.so")), -(-len(found) // 2)):
            try:
                fault = rng.choice(("cut", "flip", "empty", "delete", "other"))
                content = bytearray((rng.choice(found) if fault == "other" else entry).read_bytes())
                if fault == "delete":
                    entry.unlink()
                    spoiled += 1
                    continue
                if fault == "flip":
                    content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
                damaged = entry.with_name(f"spoiler-{os.getpid()}")
                damaged.write_bytes(content[: {"cut": rng.randrange(len(content)), "empty": 0}.get(fault)])
                os.replace(damaged, entry)
                spoiled += 1
            except (FileNotFoundError, ValueError, IndexError):
                continue  # another was quicker
        time.sleep(0.02)
    return spoiled


if __name__ == "__main__":
    if sys.argv[1] == "--spoil":
        print(spoil(float(sys.argv[2]), random.Random(int(sys.argv[3]))))
    else:
        print(wrong_answers(int(sys.argv[1]), int(sys.argv[2]), random.Random(int(sys.argv[3]))))
