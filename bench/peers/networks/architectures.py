"""Networks by name, with random weights: as PyTorch modules, and as ONNX files that are exported once."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from cpu.runtime.compiler.cache_folder import cache_folder

_IMAGES = {
    **dict.fromkeys(("resnet18", "resnet50", "mobilenet_v2", "densenet121", "efficientnet_b0", "squeezenet1_1"), 224),
    "inception_v3": 299,
}
_FRAMES = {"r3d_18": (16, 112, 112)}  # of videos: how many, and their size
_TEXTS = ("bert_base", "gpt2")
_TOKENS = 128
ARCHITECTURES = (*_IMAGES, *_FRAMES, *_TEXTS)


def module(name: str, batch: int = 1) -> tuple[Any, tuple[Any, ...]]:
    """The module in evaluation, and example inputs: so many images, videos or texts. Raises ModuleNotFoundError."""
    import torch

    torch.manual_seed(0)
    if name not in _TEXTS:
        import torchvision
    if name in _IMAGES:
        options = {"aux_logits": False, "init_weights": True} if name == "inception_v3" else {}
        made = getattr(torchvision.models, name)(weights=None, **options)
        return made.eval(), (torch.rand(batch, 3, _IMAGES[name], _IMAGES[name]),)
    if name in _FRAMES:
        return getattr(torchvision.models.video, name)(weights=None).eval(), (torch.rand(batch, 3, *_FRAMES[name]),)
    import transformers

    if name == "bert_base":
        made = transformers.BertModel(transformers.BertConfig(), add_pooling_layer=False)
    else:
        made = transformers.GPT2Model(transformers.GPT2Config(use_cache=False))

    class Hidden(torch.nn.Module):  # type: ignore[misc]
        """The hidden states alone."""

        def __init__(self, model: Any):
            super().__init__()
            self.model = model

        def forward(self, ids: Any) -> Any:
            return self.model(input_ids=ids).last_hidden_state

    return Hidden(made).eval(), (torch.arange(_TOKENS).repeat(batch, 1),)


def labelled(name: str, batch: int) -> str:
    """What a network for a batch is called: resnet50, and resnet50-b8."""
    return name if batch == 1 else f"{name}-b{batch}"


def exported(name: str, batch: int = 1) -> Path:
    """The ONNX file of a network for so many images, videos or texts, made by PyTorch's exporter the first time.

    Raises ModuleNotFoundError.
    """
    import torch

    # Each version draws other weights, and a module is compared with its file.
    path = cache_folder() / "architectures" / f"{labelled(name, batch)}-torch{torch.__version__}.onnx"
    if not path.exists():
        made, inputs = module(name, batch)
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_name(f".{path.name}.{os.getpid()}")
        torch.onnx.export(made, inputs, partial, dynamo=True, external_data=False, verbose=False)
        partial.replace(path)
    return path
