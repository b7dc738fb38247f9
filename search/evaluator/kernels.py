"""The callable kernels of all back ends, and the errors that kernels of a GPU and of its twin raise."""

from cpu.kernel.callable import CpuKernel
from gpu.runtime.kernel import GpuKernel
from gpu.runtime.machine.device import DeviceError
from gpu.twin.launch import TwinError
from search.evaluator.gpu.twin import TwinKernel

__all__ = ["CpuKernel", "DeviceError", "GpuKernel", "TwinError", "TwinKernel"]
