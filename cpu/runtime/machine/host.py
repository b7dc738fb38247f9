"""What this CPU is: vendor, model, ISA flags, cores and caches, read from Linux and from CPUID.

Nothing here is measured (``probe.py`` does that). Nothing is guessed from a model name: if a source is missing, the
documented fall-back stands in.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import os
import platform
import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

_CPUINFO = Path("/proc/cpuinfo")
_SYS_CPU = Path("/sys/devices/system/cpu")

# Only these flags of cpuinfo change what we generate, so only these belong in a fingerprint: an update of Linux may add
# unrelated flags.
_VECTOR_FLAG = re.compile(r"(sse|ssse|avx|fma|f16c|xop|amx|asimd|neon|vfp|sve|sme|fphp)")

# Where CPUID has the flags that our instruction sets need: leaf, register (0 to 3: eax, ebx, ecx, edx) and bit. 7.1 is
# subleaf 1 of leaf 7. Source: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2A, CPUID.
CPUID_FLAGS = {
    **{"fma": ("1", 2, 12), "avx2": ("7", 1, 5), "avx512f": ("7", 1, 16), "avx512vl": ("7", 1, 31)},
    **{"avx512bw": ("7", 1, 30), "avx512_vnni": ("7", 2, 11), "avx512_bf16": ("7.1", 0, 5)},
    **{"amx_bf16": ("7", 3, 22), "amx_tile": ("7", 3, 24), "amx_int8": ("7", 3, 25)},
}
# glibc's numbers for those leaves. Source: bits/platform/x86.h.
_GLIBC_LEAVES = {"1": 0, "7": 1, "7.1": 6}

# Numbers of Linux on x86-64: the system call, its request for a register state, and the state of AMX's tiles. Source:
# Documentation/arch/x86/xstate.rst.
_ARCH_PRCTL, _REQ_XCOMP_PERM, _XTILEDATA = 158, 0x1023, 18

_VENDORS = {"AuthenticAMD": "amd", "GenuineIntel": "intel", "HygonGenuine": "hygon", "0x41": "arm"}
_UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


class MachineError(RuntimeError):
    """The machine lacks the memory that the request needs. No kernel is at fault."""


@dataclass(frozen=True)
class Cache:
    """One data or unified cache.

    bytes: the whole capacity. line: bytes of a cache line. ways: the associativity, 0 if the system does not report
    it. shared_by: how many logical CPUs share the cache.
    """

    name: str
    bytes: int
    line: int
    ways: int
    shared_by: int


@dataclass(frozen=True)
class Host:
    """This CPU.

    flags: names as in cpuinfo. cores: how many logical CPUs this process may run on. caches: data and unified caches,
    nearest first.
    """

    vendor: str
    family: int
    model: int
    stepping: int
    flags: frozenset[str]
    cores: int
    caches: tuple[Cache, ...]


# These stand in where there is no /sys: the smallest L1 and L2 common since about 2010, and no L3. Tiles computed from
# them fit almost any machine.
FALLBACK_CACHES = (
    Cache("L1", 32 << 10, 64, 8, 1),
    Cache("L2", 256 << 10, 64, 8, 1),
)


@functools.cache
def host() -> Host:
    """The CPU that this process runs on, read once. Never raises.

    A flag that /proc/cpuinfo lists and CPUID denies is left out: an emulator such as qemu-user shows its host's file.
    """
    found = read_host(_CPUINFO, _SYS_CPU)
    return replace(found, flags=found.flags - _denied())


def read_host(cpuinfo: Path, sys_cpu: Path) -> Host:
    """The host described by a cpuinfo file and a ``/sys/devices/system/cpu`` tree.

    Either may be missing: then the vendor is the architecture's name, numbers are 0, flags are empty, and the caches
    are ``FALLBACK_CACHES``. If a CPU has cores of several kinds, the lowest-numbered core that this process may use
    stands for all.
    """
    available = _available_cores()
    fields = _first_processor(_text(cpuinfo) or "")
    vendor = fields.get("vendor_id") or fields.get("CPU implementer") or platform.machine()
    stepping = _number(fields.get("stepping") or fields.get("CPU revision"))
    return Host(
        vendor=vendor or "unknown",
        family=_number(fields.get("cpu family") or fields.get("CPU architecture")),
        model=_number(fields.get("model") or fields.get("CPU part")),
        # Arm splits its stepping (rNpM) into a variant and a revision.
        stepping=_number(fields.get("CPU variant")) << 4 | stepping,
        flags=frozenset((fields.get("flags") or fields.get("Features") or "").split()),
        cores=len(available),
        caches=_read_caches(sys_cpu / f"cpu{available[0]}" / "cache") or FALLBACK_CACHES,
    )


def fingerprint(host: Host) -> str:
    """A short name for "the same kind of CPU", such as ``amd-26-2-1-1a2b3c4d5e6f``.

    It consists of vendor, family, model and stepping, and of a hash of these with the vector ISA flags and the cache
    geometry. The brand string is left out: clouds write what they like there. The number of cores is left out: a record
    of one core's kernel holds on a larger machine of the same kind.
    """
    vector_flags = sorted(flag for flag in host.flags if _VECTOR_FLAG.match(flag))
    identity = (host.vendor, host.family, host.model, host.stepping)
    geometry = [(c.name, c.bytes, c.line, c.ways, c.shared_by) for c in host.caches]
    digest = hashlib.sha256(repr((identity, vector_flags, geometry)).encode()).hexdigest()
    short = _VENDORS.get(host.vendor) or re.sub(r"[^a-z0-9]", "", host.vendor.lower()) or "unknown"
    return f"{short}-{host.family}-{host.model}-{host.stepping}-{digest[:12]}"


def supports(flags_needed: Iterable[str]) -> bool:
    """Whether this CPU has every one of these cpuinfo flags (``"avx512f"``, ``"fma"``)."""
    return host().flags.issuperset(flags_needed)


def _denied() -> frozenset[str]:
    """The flags of CPUID_FLAGS that programs may not use here, as glibc found when it started.

    Before glibc 2.33 nothing is known, and the set is empty.
    """
    try:
        leaf = ctypes.CDLL(None).__x86_get_cpuid_feature_leaf
    except (AttributeError, OSError):
        return frozenset()
    # struct cpuid_feature: the four registers as CPUID gives them, then those bits that the system lets programs use.
    leaf.restype = ctypes.POINTER(ctypes.c_uint32 * 8)
    return frozenset(
        flag
        for flag, (number, register, bit) in CPUID_FLAGS.items()
        if not leaf(_GLIBC_LEAVES[number]).contents[4 + register] >> bit & 1
    )


@functools.cache
def tiles_given() -> bool:
    """Asks Linux for the tile registers of AMX. Returns whether this process has them.

    Once given, they stay, also in forks, and signal stacks must have room for them. Linux before 5.16 refuses, as does
    a sandbox, and Linux also refuses while a thread has a smaller signal stack.
    """
    if sys.platform != "linux" or not supports(["amx_tile"]):
        return False
    arguments = (ctypes.c_long(number) for number in (_ARCH_PRCTL, _REQ_XCOMP_PERM, _XTILEDATA))
    return bool(ctypes.CDLL(None, use_errno=True).syscall(*arguments) == 0)


def tiles_refused(isa: str) -> str:
    """The message for a system that does not give this process the tile registers that its CPU has."""
    return (
        f"the system does not give this process the tile registers of {isa} (Linux before 5.16, a sandbox, or a thread "
        "with a small signal stack)"
    )


def _available_cores() -> list[int]:
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def _first_processor(cpuinfo: str) -> dict[str, str]:
    """The fields of the first processor. The others repeat them."""
    pairs = (line.partition(":") for line in cpuinfo.strip().split("\n\n")[0].splitlines())
    return {key.strip(): value.strip() for key, colon, value in pairs if colon}


def _read_caches(folder: Path) -> tuple[Cache, ...]:
    caches = []
    for index in folder.glob("index*"):
        bytes_ = _size(_text(index / "size"))
        level = _number(_text(index / "level"))
        if _text(index / "type") not in ("Data", "Unified") or not bytes_ or not level:
            continue
        caches.append(
            Cache(
                name=f"L{level}",
                bytes=bytes_,
                line=_number(_text(index / "coherency_line_size")) or 64,
                ways=_number(_text(index / "ways_of_associativity")),
                shared_by=_count(_text(index / "shared_cpu_list")),
            )
        )
    return tuple(sorted(caches, key=lambda cache: cache.name))


def _text(path: Path) -> str | None:
    try:
        return path.read_text().strip()
    except OSError:
        return None


def _number(text: str | None) -> int:
    """A decimal or 0x number; 0 for anything else (some Arm kernels write "AArch64")."""
    try:
        return int(text or "0", 0)
    except ValueError:
        return 0


def _size(text: str | None) -> int:
    """Bytes in a size as /sys writes it: ``48K``, ``32M`` or plain bytes. 0 if it cannot be read."""
    match = re.fullmatch(r"(\d+)([KMG]?)", text or "")
    return int(match[1]) * _UNITS.get(match[2], 1) if match else 0


def _count(cpu_list: str | None) -> int:
    """How many CPUs a list such as ``0-3,8-11`` names. 1 if it cannot be read."""
    ranges = re.findall(r"(\d+)(?:-(\d+))?", cpu_list or "")
    return sum(int(last or first) - int(first) + 1 for first, last in ranges) or 1
