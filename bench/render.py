"""`python -m bench.render`: the reports again, from the JSON lines that a run kept; nothing is measured."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from bench.files import ReportError
from bench.formats import FormatError, from_json_lines
from bench.markdown import readme_table, rewrite_between_markers
from bench.report import table, write_report
from bench.sections import Section, sections
from bench.summary import incomplete, summary


def main(arguments: list[str] | None = None) -> int:
    """The command line; the exit code. 2: there is no such file, or it is none that a report wrote."""
    options = _parser().parse_args(arguments)
    try:
        run = from_json_lines(options.file.read_text(encoding="utf-8"))
    except (FormatError, UnicodeDecodeError) as error:
        print(f"{options.file} is no file of results: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"cannot read {options.file}: {error.strerror or error}", file=sys.stderr)
        return 2
    found = sections(run.results)
    try:
        if options.report:
            said = write_report(options.report, options.file.stem, found, run.conditions, run.missing)
            print("\n".join(said), file=sys.stderr)
        if options.readme:
            rewrite_between_markers(options.readme, readme_table(found, run.conditions))
        if not options.report and not options.readme:
            _print(found, run.missing)
    except ReportError as error:
        print(error, file=sys.stderr)
        return 1
    except BrokenPipeError:
        # The reader, such as `head`, has enough; Python must not try again when it exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def _print(found: Sequence[Section], missing: Sequence[tuple[str, str]]) -> None:
    for section in found:
        Console().print(table(section))
        print("\n".join(summary(section)), flush=True)
    if missing:
        print(incomplete(missing), flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "python -m bench.render",
        description="Writes the reports of a run again from its JSON lines; without options, prints its tables.",
    )
    parser.add_argument("file", type=Path, metavar="FILE.jsonl", help="as python -m bench --report wrote it")
    parser.add_argument("--report", type=Path, metavar="DIR", help="write FILE.md, .html, .csv, .jsonl and pictures")
    parser.add_argument("--readme", type=Path, metavar="README.md", help="rewrite the table between its markers")
    return parser


if __name__ == "__main__":
    sys.exit(main())
