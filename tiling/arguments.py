"""The error for an array that a kernel cannot take, on a CPU and on a GPU."""


class ArgumentError(ValueError):
    """An array that the kernel cannot take. The message says which one, what it is, and what is expected."""
