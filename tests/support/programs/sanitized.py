"""A C program around an emitted program, under AddressSanitizer and UBSan."""

from __future__ import annotations

from math import prod
from pathlib import Path
from random import Random

import numpy as np

from cpu.codegen.program.emit import emit
from cpu.reference.programs import evaluate, rounded
from cpu.runtime.numbers import ELEMENTS
from microkernels.tile.isa import isa_named
from tests.support.kernels.sanitizers import compile_sanitized, run_sanitized
from tests.support.programs.programs import inputs_of, numbers, stored
from tiling.program.infer import Sized

DRIVER = """
int {symbol}_at(void *const *arrays);
int main(int count, char **arguments)
{{
    const long offset = atol(arguments[count - 1]);
    void *arrays[] = {{ {arrays} }};
    const long bytes[] = {{ {bytes} }};
    if ({symbol}_at(arrays)) return 4;
    for (int y = 0; y < {count}; ++y)
        if (fwrite(arrays[{first} + y], 1, bytes[y], stdout) != bytes[y]) return 5;
    return 0;
}}
"""


def check(
    program: Sized, isa: str, folder: Path, seed: int = 0, spoil: str = "", values: dict[str, int] | None = None
) -> None:
    """Compiles and runs a program with aligned and with offset arrays; what it writes must be exact.

    spoil: put before the statements of the entry point. values: the runtime extents.
    """
    source = emit(program, isa_named(isa), 1)
    extents = [(values or {})[dim] for dim in program.runtime]
    program = program.at(values or {})
    arrays = inputs_of(program, Random(seed))
    wanted = evaluate(program, arrays)
    outputs = [array for array in program.assigned if array.name in program.outputs]
    text = source.text
    if spoil:
        head, entry, body = text.partition(f"int {source.symbol}_at(void *const *arrays)\n{{\n")
        assert entry
        text = f"{head}{entry}{spoil}\n{body}"
    sizes = {a.name: (prod(a.shape), ELEMENTS[a.dtype].numpy.itemsize) for a in (*program.inputs, *outputs)}
    driver = DRIVER.format(
        symbol=source.symbol,
        arrays=", ".join(
            f"{'given' if array in program.inputs else 'array'}({sizes[array.name][0]}, {sizes[array.name][1]}, offset)"
            for array in (*program.inputs, *outputs)
        )
        + "".join(f", &(long){{{value}}}" for value in extents),
        bytes=", ".join(str(prod(sizes[array.name])) for array in outputs),
        **{"count": len(outputs), "first": len(program.inputs)},
    )
    compile_sanitized(folder, text, driver, source.compiler_flags)
    given = b"".join(stored(arrays[a.name], a.dtype).tobytes() for a in program.inputs)
    for offset in (0, 1):
        printed = run_sanitized(folder, offset, given, f"{program.program}, {isa}, seed {seed}")
        for array in outputs:
            found, printed = printed[: prod(sizes[array.name])], printed[prod(sizes[array.name]) :]
            y = np.frombuffer(found, ELEMENTS[array.dtype].numpy).reshape(array.shape)
            expected = rounded(wanted[array.name], array.dtype)
            np.testing.assert_array_equal(numbers(y, array.dtype), expected, err_msg=str(program.program))
