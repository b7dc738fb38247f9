"""The version of Tilewright that generated files and commands name. `pyproject.toml` reads it here."""

VERSION = "0.1.0"
