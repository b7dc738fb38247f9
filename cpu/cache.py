"""The command `python -m cpu.cache`: see `cpu.runtime.compiler.cache_command`."""

from tilewright_entry import run

if __name__ == "__main__":
    run("cpu.runtime.compiler.cache_command:main")
