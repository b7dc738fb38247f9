"""The files that users name: saved kernels, and the limit of the compile cache."""

from cpu.kernel.batch_norm import fold_batch_norm
from cpu.kernel.export import ExportError, checked_name, folder_of, writable
from cpu.kernel.saved import load
from cpu.runtime.compiler.cache_command import limited, size

__all__ = ["ExportError", "checked_name", "fold_batch_norm", "folder_of", "limited", "load", "size", "writable"]
