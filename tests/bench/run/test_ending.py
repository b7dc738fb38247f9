"""How a study ends that did not come to its end."""

import pytest

from bench.report.files import ReportError
from bench.run.ending import ending
from cpu.runtime.output import OutputError
from search.evaluator.interface.errors import CandidateError
from tiling.problem import ProblemError
from tiling.scheme.specifiers import SchemeError


class StrangeError(Exception):
    pass


@pytest.mark.parametrize(
    ("error", "code", "told"),
    [
        (None, 7, ""),
        (KeyboardInterrupt(), 130, "interrupted: nothing is kept\n"),
        (ProblemError("no such shape"), 2, "no such shape\n"),
        (SchemeError("no such scheme"), 2, "no such scheme\n"),
        (ReportError("no such folder"), 1, "no such folder\n"),
        (StrangeError("strange"), 1, "strange\n"),
        (CandidateError("crashed with SIGSEGV"), 1, "the kernel failed: crashed with SIGSEGV\n"),
        (OutputError("no space"), 1, "no space\n"),
        (KeyboardInterrupt("interrupted: all is kept"), 130, "interrupted: all is kept\n"),
    ],
)
def test_each_end_has_its_code_and_its_sentence(error, code, told, capsys):
    @ending("interrupted: nothing is kept", StrangeError)
    def main(arguments):
        assert arguments == ["--suite"]
        if error:
            raise error
        return 7

    assert (main(["--suite"]), capsys.readouterr().err) == (code, told)


def test_what_nobody_expects_is_not_hidden():
    @ending("interrupted")
    def main(arguments):
        raise StrangeError

    with pytest.raises(StrangeError):
        main([])
