"""The program on other CPUs: everything runs under qemu-user, which executes as a Haswell or Nehalem would.

Its /proc/cpuinfo is that of the machine underneath, so these tests also see that nobody believes it blindly.
"""

from __future__ import annotations

import pytest

from microkernels.tile.isa import ISAS
from tests.support.kernels.cases import CASES
from tests.support.kernels.saved import calling_program
from tests.support.running.emulated import SEARCH, emulated
from tiling.text.notation import parse

pytestmark = pytest.mark.usefixtures("qemu")


@pytest.mark.parametrize("cpu, isa", [("Haswell", "avx2"), ("Nehalem", "portable")])
def test_the_cpu_is_the_one_that_executes(python, cpu, isa):
    program = (
        "from cpu.runtime.machine.host import host",
        "from microkernels.tile.isa import best_isa",
        "print(best_isa(host().flags).name)",
    )
    ended = python(cpu, "-c", "\n".join(program))
    assert (ended.stdout, ended.stderr) == (f"{isa}\n", "")


def test_an_instruction_set_that_is_not_there_is_one_sentence(python):
    ended = python("Haswell", *SEARCH, "--isa", "avx512f")
    assert ended.returncode == 2 and ended.stdout == ""
    assert ended.stderr == "this CPU does not run avx512f: it lacks avx512f, avx512vl\n"


def test_a_kernel_is_built_checked_and_timed_in_avx2(python):
    ended = python("Haswell", *SEARCH, "--scheme", "R(k) R(h) S(y) T(c,8) U(w,8) V(k,8)")
    assert ended.returncode == 0, ended.stderr
    assert "exact on small integers" in ended.stdout
    assert "avx2, since this CPU lacks avx512f, avx512vl\n" in ended.stdout


def test_calling_an_avx512_kernel_ends_in_a_sentence(tmp_path):
    problem, text = CASES["masked last vector"]
    program = calling_program(parse(problem, text.format(v=16)), ISAS["avx512f"], tmp_path)
    ended = emulated("Haswell", program)
    assert ended.returncode == -6 and "this CPU lacks avx512f or avx512vl or fma\n" in ended.stderr
