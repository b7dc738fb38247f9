"""Operators that no compiled model can have, each with the reason."""

from __future__ import annotations

from collections.abc import Callable

from graph.model.node import BEGIN_BEHIND, Made, Node, Unknown


def _because(why: str) -> Callable[[Node], Made]:
    def made(node: Node) -> Made:
        raise node.refuse(f"{why}{BEGIN_BEHIND}")

    return made


def _sized(node: Node) -> Made:
    why = node.refuse("how many elements it gives depends on numbers that are computed when the model runs")
    raise Unknown(str(why), tuple(range(len(node.inputs))))


_RANDOM = _because("it gives other numbers at every call")
_TEXT = _because("texts are not supported")

REFUSED: dict[str, Callable[[Node], Made]] = {
    **dict.fromkeys(("NonZero", "Unique", "NonMaxSuppression", "ConstantOfShape", "Range", "MelWeightMatrix"), _sized),
    **dict.fromkeys(("HannWindow", "HammingWindow", "BlackmanWindow"), _sized),
    **dict.fromkeys(("RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"), _RANDOM),
    **dict.fromkeys(("Bernoulli", "Multinomial"), _RANDOM),
    **dict.fromkeys(("StringNormalizer", "StringConcat", "StringSplit", "RegexFullMatch"), _TEXT),
    "ImageDecoder": _because("files of images are not decoded: give the image"),
}
