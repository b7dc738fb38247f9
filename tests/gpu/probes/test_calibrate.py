"""The calibration's probes: on the twin they give what the PTX ISA says, written here in NumPy; NVRTC compiles them."""

import json
import re
import sys
from importlib.resources import files
from types import SimpleNamespace

import numpy as np
import pytest

import gpu.probes.calibrate
import gpu.runtime.compiler.nvrtc
from gpu.probes.calibrate import calibrate, main, on_device, on_twin
from gpu.probes.probe import WORDS
from gpu.probes.tma_probes import ROUNDED
from gpu.runtime.compiler.compile import compile_cubin
from tests.support.gpu.compiling import needs_nvrtc
from tests.support.gpu.probes import (
    ORDINARY,
    PROBES,
    expected_words,
    swizzled,
)


def test_every_call_of_the_layer_has_a_probe():
    ptx, twin = (
        "\n".join(files("gpu").joinpath(folder, part).read_text(encoding="utf-8") for part in parts)
        for folder, *parts in (
            ("device", "ptx.cuh", "wgmma.cuh", "tma.cuh", "split_k.cuh"),
            ("twin", "twin.h", "twin_wgmma.h", "twin_tma.h", "twin_split_k.h"),
        )
    )
    no_calls = {"KERNEL", "CLUSTER_KERNEL", "WGMMA", "SUMS_8", "SUMS_32", "SUMS_64", "SUMS_96", "SUMS_128"}
    calls = set(re.findall(r"^(?:DEVICE [\w ]+ |#define )(\w+)\(", ptx, re.M)) - no_calls
    bodies = "\n".join(probe.program.text for probe in PROBES.values())
    assert len(calls) > 15
    assert [call for call in sorted(calls) if f"{call}(" not in bodies] == []
    assert [call for call in sorted(calls) if not re.search(rf"^DEVICE [\w ]+ {call}\(", twin, re.M)] == []


@pytest.mark.parametrize("name", ORDINARY)
def test_the_twin_does_what_the_document_says(name):
    np.testing.assert_array_equal(on_twin(PROBES[name]), expected_words(PROBES[name]))


@pytest.mark.parametrize("call", ROUNDED)
def test_probes_of_tf32_tell_how_a_copy_rounds(call):
    """In how many words each other rounding would differ from the twin's."""
    for name in (f"{call}_tf32", f"{call}_tf32_ties"):
        found, words = on_twin(PROBES[name]), swizzled(PROBES[name].first.reshape(-1, 32)).reshape(-1)
        cut, away = ((words + np.uint32(half)) & ~np.uint32(0x1FFF) for half in (0, 0x1000))
        assert (found != cut).sum() > WORDS // 4
        ties = (found != away).sum()
        assert WORDS // 3 < ties < WORDS * 2 // 3 if name.endswith("ties") else ties == 0


@needs_nvrtc
@pytest.mark.exhaustive(name=lambda name: re.sub(r"\d+", "", name))
@pytest.mark.parametrize("name", PROBES)
def test_probes_compile(name):
    program = PROBES[name].program
    assert compile_cubin(program, "sm_90a" if program.uses_wgmma else "sm_80").code


@pytest.mark.gpu
@pytest.mark.parametrize("name", PROBES)
def test_the_device_does_what_the_twin_does(name):
    np.testing.assert_array_equal(on_device(PROBES[name]), on_twin(PROBES[name]))


def test_without_a_device_nothing_is_compared(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "cupy", SimpleNamespace(cuda=SimpleNamespace(is_available=lambda: False)))
    assert main([]) == 1
    assert capsys.readouterr().err.startswith("gpu.calibrate: there is no CUDA device here")


def test_a_difference_is_counted_and_kept(monkeypatch, tmp_path, capsys):
    """Also where the run is ended from outside: after each probe what is known so far stands in the file."""
    file, said = tmp_path / "results" / "found.json", []

    def calibrate(report):
        found = {"device": "a GPU", "words_differ": {}, "failed": {}}
        for name, kind, value in (
            ("load_shared", "words_differ", 0),
            ("mbarrier_wait", "failed", "hung"),
            ("round_tf32", "words_differ", 3),
        ):
            found[kind][name] = value
            report(found, name)
            assert name in file.read_text()
            said.append(" ".join(capsys.readouterr().out.split()))
        return found

    monkeypatch.setattr("gpu.probes.calibrate.calibrate", calibrate)
    assert main(["--json", str(file)]) == 1
    assert said == [
        "load_shared as the twin",
        "mbarrier_wait failed: hung",
        "round_tf32 differs from the twin in 3 of 2048 words",
    ]
    assert capsys.readouterr().out == "3 probes, 2 not as the twin\n"
    assert json.loads(file.read_text())["words_differ"] == {"load_shared": 0, "round_tf32": 3}


@pytest.mark.slow
def test_a_probe_that_faults_or_hangs_is_a_result(stand_in, monkeypatch):
    few = tuple(PROBES[name] for name in ("load_shared", "round_tf32", "gather_16", "store_16"))
    monkeypatch.setattr("gpu.probes.calibrate.probes", lambda: few)
    monkeypatch.setattr("gpu.probes.calibrate.PROBE_SECONDS", 8.0)
    for probe in few:
        on_twin(probe)  # compiled now, so that only what hangs takes long
    stand_in({"gather_16(": "fault", "round_tf32(": "hang"})
    found = calibrate()
    assert found["device"] == "NVIDIA H200" and found["words_differ"] == {"load_shared": 0, "store_16": 0}
    assert "an illegal memory access" in found["failed"]["gather_16"]
    assert found["failed"]["round_tf32"].startswith("no answer within 8 s")


def test_a_probes_time_begins_once_device_and_compilers_are_ready(stand_in, monkeypatch):
    """This holds in every new worker, such as the one after a probe that faulted."""
    calls = []

    def call(self, function, timeout, **arguments):
        calls.append((function, arguments.get("name"), timeout))
        return 0

    few = tuple(PROBES[name] for name in ("load_shared", "round_tf32"))
    monkeypatch.setattr("gpu.probes.calibrate.probes", lambda: few)
    monkeypatch.setattr("gpu.probes.calibrate.Worker.call", call)
    calibrate()
    ready = ("gpu.probes.calibrate:ready", None, gpu.probes.calibrate.READY_SECONDS)
    assert calls[::2] == [ready] * 2 and gpu.probes.calibrate.READY_SECONDS > gpu.probes.calibrate.PROBE_SECONDS
    assert [name for _, name, _ in calls[1::2]] == ["load_shared", "round_tf32"]


def test_made_ready_is_what_a_probe_would_wait_for(stand_in, monkeypatch):
    """Both compilers, also where the cache has what they would make, and the device; once."""
    gpu.probes.calibrate._rehearse.cache_clear()
    done, compiled = [], gpu.runtime.compiler.nvrtc.compiled
    monkeypatch.setattr("gpu.runtime.compiler.nvrtc.compiled", lambda *a: done.append("compiled") or compiled(*a))
    for name in ("on_device", "on_twin"):
        run = getattr(gpu.probes.calibrate, name)
        monkeypatch.setattr(
            gpu.probes.calibrate, name, lambda probe, name=name, run=run: done.append(name) or run(probe)
        )
    for _ in "again":
        gpu.probes.calibrate.ready()
    assert done[0] == "compiled" and [name for name in done if name != "compiled"] == ["on_device", "on_twin"]
    assert len(done) <= 4  # the device's own kernel is compiled besides, unless the cache has it
    gpu.probes.calibrate._rehearse.cache_clear()
