"""A stand-in for NVIDIA's bindings of NVRTC: the machine code is the text itself, and some of it spills on demand."""

from types import SimpleNamespace

from cuda.faults import fault_of

SUCCESS = 0


def nvrtcVersion():
    return SUCCESS, 13, 99  # none that there is: what it compiles is kept beside what a real one compiles


def nvrtcGetSupportedArchs():
    return SUCCESS, [80, 89, 90]


def nvrtcCreateProgram(text, *_):
    return SUCCESS, SimpleNamespace(text=text)


def nvrtcCompileProgram(program, *_):
    return (SUCCESS,)


def nvrtcGetProgramLogSize(program):
    return SUCCESS, len(_log(program))


def nvrtcGetProgramLog(program, room):
    room[:] = _log(program)
    return (SUCCESS,)


def nvrtcGetCUBINSize(program):
    return SUCCESS, len(program.text)


def nvrtcGetCUBIN(program, room):
    room[:] = program.text
    return (SUCCESS,)


def nvrtcDestroyProgram(program):
    return (SUCCESS,)


def _log(program):
    spilled = 8 if fault_of(program.text.decode()) == "spill" else 0
    return f"{spilled} bytes spill stores, {spilled} bytes spill loads\nUsed 64 registers".encode()
