"""A probe, which is one call of the device layer as a small kernel, and the texts that probes share."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from gpu.codegen.copies.tensor_map import TensorMap
from gpu.codegen.program import CudaProgram

WORDS = 2048  # 32-bit words of every array


@dataclass(frozen=True)
class Probe:
    """One call, as the body of a kernel that reads the words `a` and `b`, and writes each of the words `c` once.

    Arrays that `maps` name are tensor maps. `cluster` counts the blocks of a cluster. Where `sharing` blocks share
    sums, they have one semaphore, and WORDS partial sums each.
    """

    name: str
    body: str
    first: np.ndarray
    second: np.ndarray
    threads: int = 32
    shared_bytes: int = 4 * WORDS
    maps: tuple[TensorMap, ...] = ()
    cluster: int = 1
    sharing: int = 1

    @property
    def program(self) -> CudaProgram:
        lines = ["const unsigned lane = threadIdx.x, shared = shared_base();", *self.body.strip().splitlines()]
        body = "\n".join(f"    {line}" for line in lines)
        parameters = ["const unsigned *a", "const unsigned *b", "unsigned *c"]
        for tensor in self.maps:
            parameters[tensor.array] = f"TENSOR_MAP {tensor.name}"
        parameters += ["unsigned *semaphores", "float *partial_sums"] if self.sharing > 1 else []
        kernel = (
            f"KERNEL({self.threads}, 1)" if self.cluster == 1 else f"CLUSTER_KERNEL({self.threads}, 1, {self.cluster})"
        )
        text = f"{_AS_FLOAT}\n{kernel} probe({', '.join(parameters)})\n{{\n{body}\n}}\n"
        sizes = (self.cluster * self.sharing, self.threads, self.shared_bytes, 3)
        program = CudaProgram("probe", text, *sizes, maps=self.maps, cluster=self.cluster)
        return replace(program, semaphores=1, partial_sums=self.sharing * WORDS) if self.sharing > 1 else program


_AS_FLOAT = """DEVICE float as_float(unsigned word)
{
    union { unsigned word; float value; } as;
    as.word = word;
    return as.value;
}"""

# Copies the words of a to shared memory, and has the warp wait for them.
FILL = f"""for (unsigned i = lane; i < {WORDS // 4}; i += 32)
    cp_async_16(shared + 16 * i, a + 4 * i, 1);
cp_async_commit();
cp_async_wait(0);
__syncthreads();
"""


def loop(count: int, statement: str, start: int = 0) -> str:
    """The text of a loop over i from `start` to `count`, which a warp's lanes share."""
    return f"for (unsigned i = {start} + lane; i < {count}; i += 32)\n    {statement}\n"


def each_word(value: str) -> str:
    """The text that stores `value`, an expression of i, as word i of c."""
    return loop(WORDS, f"store_f32(c + i, as_float({value}));")


def copy_out(start: int, end: int) -> str:
    """The text that copies words `start` to `end` of shared memory to c."""
    return loop(end, "store_f32(c + i, as_float(load_shared(shared + 4 * i)));", start)
