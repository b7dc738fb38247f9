"""The command `python -m bench.render`: writes the reports again from the JSON lines of a run, without measuring."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from bench.report.files import ReportError
from bench.report.formats import FormatError, from_json_lines
from bench.report.sections import sections
from bench.report.written import publish, show
from cpu.runtime.options import Parser
from cpu.runtime.output import readers_may_leave


def main(arguments: list[str] | None = None) -> int:
    """Runs the command line and returns the exit code. 2: the file is missing, or no report wrote it."""
    options = _parser().parse_args(arguments)
    try:
        run = from_json_lines(options.file.read_text(encoding="utf-8"))
    except (FormatError, UnicodeDecodeError) as error:
        print(f"{options.file} is no file of results: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"cannot read {options.file}: {error.strerror or error}", file=sys.stderr)
        return 2
    try:
        for sentence in publish(run, options.report, options.file.stem, options.readme):
            print(sentence, file=sys.stderr)
        if not options.report and not options.readme:
            with readers_may_leave():
                show(sections(run.results), run.missing)
    except ReportError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        "python -m bench.render",
        description="Writes the reports of a run again from its JSON lines; without options, prints its tables.",
    )
    parser.add_argument("file", type=Path, metavar="FILE.jsonl", help="as python -m bench --report wrote it")
    parser.add_argument("--report", type=Path, metavar="DIR", help="write FILE.md, .html, .csv, .jsonl and pictures")
    parser.add_argument("--readme", type=Path, metavar="README.md", help="rewrite the table between its markers")
    return parser
