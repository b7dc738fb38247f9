"""A compiler that makes chosen kernels fail: `CC="python tests/support/running/faulty_compiler.py"`.

FAULTS, a JSON object in the environment, says which: the first key that is found in a source names its fault. All
else goes to `cc` unchanged, so that everything around a fault is real: tuner, workers, cache and kernel.
"""

from __future__ import annotations

import json
import os
import re
import signal
import sys
import time
from pathlib import Path

# What the kernel does before it computes, or after.
BEFORE = {
    "segfault": "*(volatile int *)0 = 1;",
    "illegal instruction": "__builtin_trap();",
    "hang": "for (;;) sleep(600);",  # and takes no core from the tests beside it
    "abort": 'fputs("free(): invalid pointer\\n", stderr); abort();',
    "exit": "exit(3);",
    "killed": "raise(SIGKILL);",
    "memory": "while (malloc(64 << 20)) ; abort();",  # address space only: it is never touched
}
AFTER = {"wrong result": "Y[0] += 1;", "nothing written": "for (int i = 0; i < 4; ++i) Y[i] = 0.0f / 0.0f;"}
# What the compiler itself does, instead of compiling.
COMPILER = ("compiler hangs", "compiler crashes", "compiler killed", "compiler allocates", "does not compile")

_ENTRY = re.compile(r"^void (\w+)(\(const float \*restrict X, const float \*restrict W, float \*restrict Y\))$", re.M)


def with_fault(text: str, fault: str) -> str:
    """The C source whose entry point fails."""
    (symbol, parameters) = _ENTRY.search(text).groups()
    right = text.replace(f"void {symbol}{parameters}\n", f"static void right{parameters}\n")
    includes = "".join(f"#include <{name}.h>\n" for name in ("signal", "stdio", "stdlib", "unistd"))
    body = f"{BEFORE.get(fault, '')} right(X, W, Y); {AFTER.get(fault, '')}"
    return f"{includes}{right}\nvoid {symbol}{parameters} {{ {body} }}\n"


def fail_as_compiler(fault: str) -> None:
    if fault == "compiler hangs":
        time.sleep(600)
    elif fault == "compiler crashes":
        os.kill(os.getpid(), signal.SIGSEGV)
    elif fault == "compiler killed":
        os.kill(os.getpid(), signal.SIGKILL)
    elif fault == "compiler allocates":
        sys.exit("out of memory" if _runs_out_of_memory() else "6 GiB could be had: nothing limits a compiler")
    sys.exit("kernel.c: error: unknown type name 'no_such_type'")


def _runs_out_of_memory() -> bool:
    try:
        return not bytes(6 << 30)
    except MemoryError:
        return True


def main() -> None:
    source = Path("kernel.c")
    if "kernel.c" in sys.argv and source.exists():
        text = source.read_text(encoding="utf-8")
        faults = json.loads(os.environ.get("FAULTS", "{}"))
        fault = next((fault for key, fault in faults.items() if key in text), None)
        if fault in COMPILER:
            fail_as_compiler(fault)
        if fault and _ENTRY.search(text):
            source.write_text(with_fault(text, fault), encoding="utf-8")
    os.execvp("cc", ["cc", *sys.argv[1:]])


if __name__ == "__main__":
    main()
