"""What the memory that workers share knows of its bytes."""

from tiling.loops.meaning.histories import Memory


def history(memory: Memory) -> list:
    """For each byte that was touched, its number, who wrote it last, and who has read it since."""
    each = enumerate(zip(memory.written, memory.read))
    return [
        (byte, memory.writes[write], memory.readers[readers]) for byte, (write, readers) in each if write or readers
    ]
