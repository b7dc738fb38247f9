"""The stand-in's driver, device and clock."""

import time
from types import SimpleNamespace

import numpy as np
from cuda.faults import fault_of

import gpu.runtime.machine.loaded
import gpu.runtime.machine.loaded_program
from gpu.twin.launch import Twin
from gpu.twin.program import ProgramTwin

PROPERTIES = {
    "name": b"NVIDIA H200",
    "major": 9,
    "minor": 0,
    "multiProcessorCount": 132,
    "sharedMemPerBlockOptin": 232448,
    "sharedMemPerMultiprocessor": 233472,
    "l2CacheSize": 1 << 16,
}


ILLEGAL_ADDRESS = 700


class CUDADriverError(RuntimeError):
    """What launches and loads raise."""

    def __init__(self, status):
        self.status = status
        super().__init__("CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was encountered")


class CUDARuntimeError(RuntimeError):
    """What everything else raises; neither class is derived from the other."""

    def __init__(self, status):
        self.status = status
        super().__init__("cudaErrorIllegalAddress: an illegal memory access was encountered")


class _Context:
    """This process's context: after a kernel's fault every call of it fails, that kernel's own launch does not."""

    fault = None

    def check(self, error=CUDARuntimeError):
        if self.fault:
            raise error(self.fault)


context = _Context()


class Module:
    def load(self, code):
        context.check(CUDADriverError)

    def get_function(self, symbol):
        return SimpleNamespace(ptr=7)


def launch(loaded, *arrays):
    """In the place of `gpu.runtime.machine.loaded.Loaded.launch`: what that hands to the driver
    tests/gpu/runtime/test_kernel.py looks at.
    """
    context.check(CUDADriverError)
    program = loaded.program
    if program.symbol == "head_start":
        return
    fault = befallen(program.text)
    if fault == "fault":
        return
    output = Twin(program).launch(*map(np.asarray, arrays)).output
    arrays[-1][...] = output if fault != "wrong" else output + np.ones(1, output.dtype)


def launch_program(loaded, arrays, numbers=()):
    """The same for `gpu.runtime.machine.loaded_program.LoadedProgram.launch`, of which
    tests/gpu/program/test_on_cupy.py looks at the same.
    """
    context.check(CUDADriverError)
    word = np.zeros(1, np.int32)
    fault = befallen(loaded.program.text)
    if fault != "fault":
        found, word[0] = ProgramTwin(loaded.program).run(list(map(np.asarray, arrays)), numbers)
        for array, values in zip(arrays, found):
            array[...] = values
        if fault == "wrong":
            arrays[-1][...] += np.ones(1, arrays[-1].dtype)
    return word if any(each.reports for each in loaded.program.launches) else None


def befallen(text):
    """What goes wrong with a kernel of that text, whether or not it has a result."""
    fault = fault_of(text)
    if fault == "hang":
        time.sleep(1000)
    if fault == "fault":
        context.fault = ILLEGAL_ADDRESS
    return fault


gpu.runtime.machine.loaded.Loaded.launch = launch
gpu.runtime.machine.loaded_program.LoadedProgram.launch = launch_program


class Event:
    def __init__(self):
        context.check()

    def record(self):
        context.check()
        self.at = time.perf_counter()

    def synchronize(self):
        context.check()


class Device:
    id = 0
    pci_bus_id = "0000:01:00.0"

    def __init__(self, number=0):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None

    def synchronize(self):
        context.check()


class Stream:
    ptr = 0


Stream.ptds = SimpleNamespace(ptr=2)


def get_current_stream():
    return Stream()


def is_available():
    return True


def get_elapsed_time(start, end):
    context.check()
    return 1e3 * (end.at - start.at)


runtime = SimpleNamespace(
    CUDARuntimeError=CUDARuntimeError, getDeviceProperties=lambda number: PROPERTIES, driverGetVersion=lambda: 13000
)
function = SimpleNamespace(Module=Module)
driver = SimpleNamespace(
    CUDADriverError=CUDADriverError,
    CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES=8,
    funcSetAttribute=lambda *arguments: None,
)
