"""What this CPU is, as /proc, /sys and CPUID tell it."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from cpu.runtime.machine.host import CPUID_FLAGS, FALLBACK_CACHES, Cache, fingerprint, host, read_host, supports
from microkernels.tile.isa import ISAS_OF


def write_tree(folder, files):
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")


def sys_tree(folder, core):
    rows = {
        "index0": ("1", "Data", "48K", "64", "12", f"{core}"),
        "index1": ("1", "Instruction", "32K", "64", "8", f"{core}"),
        "index2": ("2", "Unified", "2M", "64", "16", "0-1,8-9"),
        "index3": ("3", "Unified", "33554432", "128", "", "0-15"),
    }
    names = ("level", "type", "size", "coherency_line_size", "ways_of_associativity", "shared_cpu_list")
    for index, row in rows.items():
        write_tree(folder / f"cpu{core}" / "cache" / index, dict(zip(names, row)))
    return folder


def test_host_reads_x86_and_data_caches(tmp_path):
    (tmp_path / "cpuinfo").write_text(
        "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 143\n"
        "stepping\t: 8\nflags\t\t: sse avx2 fma\n\nprocessor\t: 1\nmodel\t: 9\n"
    )
    core = min(os.sched_getaffinity(0))
    found = read_host(tmp_path / "cpuinfo", sys_tree(tmp_path / "sys", core))
    assert (found.vendor, found.family, found.model, found.stepping) == ("GenuineIntel", 6, 143, 8)
    assert found.flags == {"sse", "avx2", "fma"}
    assert found.cores == len(os.sched_getaffinity(0))
    assert found.caches == (
        Cache("L1", 48 << 10, 64, 12, 1),
        Cache("L2", 2 << 20, 64, 16, 4),
        Cache("L3", 32 << 20, 128, 0, 16),
    )
    assert fingerprint(found).startswith("intel-6-143-8-")


def test_host_reads_arm(tmp_path):
    (tmp_path / "cpuinfo").write_text(
        "processor\t: 0\nFeatures\t: fp asimd sve\nCPU implementer\t: 0x41\n"
        "CPU architecture: 8\nCPU variant\t: 0x1\nCPU part\t: 0xd40\nCPU revision\t: 1\n"
    )
    found = read_host(tmp_path / "cpuinfo", tmp_path)
    assert found.flags == {"fp", "asimd", "sve"}
    assert fingerprint(found).startswith("arm-8-3392-17-")


def test_host_without_proc_or_sys(tmp_path):
    found = read_host(tmp_path / "none", tmp_path / "none")
    assert found.caches == FALLBACK_CACHES
    assert found.flags == frozenset() and found.cores >= 1 and found.vendor
    assert fingerprint(found)


def test_fingerprint_follows_what_matters_only():
    mine = host()
    same = replace(mine, cores=mine.cores + 5, flags=mine.flags | {"some_new_mitigation"})
    assert fingerprint(same) == fingerprint(mine)
    smaller = (replace(mine.caches[0], bytes=mine.caches[0].bytes // 2), *mine.caches[1:])
    for other in (
        replace(mine, flags=mine.flags ^ {"avx512f"}),
        replace(mine, stepping=mine.stepping + 1),
        replace(mine, vendor="Other"),
        replace(mine, caches=smaller),
    ):
        assert fingerprint(other) != fingerprint(mine)


@pytest.mark.isa("avx2")
def test_what_cpuid_denies_is_not_believed_of_cpuinfo():
    """As under an emulator, whose /proc/cpuinfo is its host's; glibc takes what it is told away for CPUID's word."""
    program = "from cpu.runtime.machine.host import host; print(*sorted(host().flags & {'avx2', 'fma'}))"
    environment = {**os.environ, "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2"}
    command = [sys.executable, "-c", program]
    ended = subprocess.run(
        command, env=environment, cwd=Path(__file__).parents[4], check=True, capture_output=True, text=True
    )
    if platform.libc_ver()[0] != "glibc" or tuple(map(int, platform.libc_ver()[1].split("."))) < (2, 33):
        pytest.skip("asks glibc 2.33 or newer")
    assert ended.stdout == "fma\n"


def test_cpuid_is_asked_for_every_flag_that_an_instruction_set_needs():
    assert {flag for isas in ISAS_OF.values() for isa in isas.values() for flag in isa.cpu_flags} == set(CPUID_FLAGS)


def test_supports():
    assert supports([]) and supports(host().flags)
    assert not supports(["no_such_flag"])
