"""What is to go wrong: STAND_IN_FAULTS names a JSON file {part of a kernel's text: "fault" | "hang" | "wrong" |
"spill"}.
"""

import json
import os


def fault_of(text: str) -> str:
    """The fault of a kernel of that text; empty for one that does well."""
    path = os.environ.get("STAND_IN_FAULTS")
    faults = json.loads(open(path).read()) if path else {}
    return next((kind for part, kind in faults.items() if part in text), "")
