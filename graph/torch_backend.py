"""`torch.compile(model, backend="tilewright")`, which needs no import.

A graph is exported with the shapes of its first call, and again for other shapes. Parameters are constants, packed
once; after one has changed, the graph is compiled again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from graph.calls.compiled import CompiledModel
from graph.exported import exported
from graph.model.language import ModelError
from graph.plan import Plan


def tilewright(graph: torch.fx.GraphModule, examples: Sequence[Any]) -> Callable[..., Any]:
    """A backend of torch.compile. It computes no gradients: call the model under torch.no_grad()."""
    return _Compiled(graph)


class _Compiled:
    """A graph as a function of tensors, compiled for each shape of them."""

    def __init__(self, graph: torch.fx.GraphModule):
        self.graph = graph
        # Parameters are kept: an address tells which one it is only while it lives.
        self.found: dict[object, tuple[list[int], CompiledModel, list[torch.nn.Parameter]]] = {}

    def __call__(self, *arguments: Any) -> tuple[Any, ...]:
        if torch.is_grad_enabled() and any(isinstance(each, torch.Tensor) and each.requires_grad for each in arguments):
            raise ModelError("tilewright computes no gradients: call the model under torch.no_grad()")
        key = tuple(map(_known_by, arguments))
        if key not in self.found:
            self.found[key] = (*self.compiled(arguments), list(filter(_is_parameter, arguments)))
        places, model, _ = self.found[key]
        given = [_array(arguments[place]) for place in places]
        return tuple(map(torch.from_numpy, model(*given)))

    def compiled(self, arguments: tuple[Any, ...]) -> tuple[list[int], CompiledModel]:
        """The model for these shapes, and which arguments are its inputs."""
        with torch.no_grad():
            fixed = tuple(each.detach() if isinstance(each, torch.Tensor) else each for each in arguments)
            proto = exported(torch.export.export(self.graph, fixed))
        tensors = [place for place, each in enumerate(arguments) if isinstance(each, torch.Tensor)]
        names = [value.name for value in proto.graph.input]
        if len(names) != len(tensors):
            raise ModelError(f"PyTorch exported {len(names)} inputs of {len(tensors)} tensors")
        known = {
            name: _array(arguments[place]) for name, place in zip(names, tensors) if _is_parameter(arguments[place])
        }
        model = Plan(proto, known, torch.get_num_threads()).compiled({})
        by_name = dict(zip(names, tensors))
        return [by_name[array.name] for array in model.inputs], model


def _is_parameter(argument: Any) -> bool:
    return isinstance(argument, torch.nn.Parameter)


def _known_by(argument: Any) -> object:
    """What a compiled graph depends on: shapes, the identity of parameters, and how often these have changed."""
    if not isinstance(argument, torch.Tensor):
        return argument
    own = (argument.data_ptr(), argument._version) if _is_parameter(argument) else ()
    return (argument.dtype, tuple(argument.shape), *own)


def _array(tensor: torch.Tensor) -> np.ndarray:
    if tensor.device.type != "cpu":
        raise ModelError(f"a tensor lies on {tensor.device}: tilewright computes on the CPU")
    if tensor.dtype == torch.bfloat16:
        raise ModelError("a tensor is made of bfloat16, which NumPy does not have: convert it to float32")
    found: np.ndarray = tensor.detach().contiguous().numpy()
    return found
