"""The instruction sets with tile registers, by dtype."""

from __future__ import annotations

ISA = {"bf16": "amxbf16", "int8": "amxint8"}
NUMBERS = {"bf16": 2, "int8": 4}
