"""The part of the device layer that a kernel uses: `layer(parts, text)`.

A file of `gpu/device/` is paragraphs of comments and definitions: functions, macros, types, and uses of macros that
define functions for a dtype.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

_WORD = re.compile(r"[A-Za-z_]\w*")
_COMMENT = re.compile(r"/\*.*?\*/\n?", re.S)
_MACRO = re.compile(r"#define (\w+)(?:\(([^)]*)\))?")
# What a definition gives: a function, or a type or an array at the end of its first line.
_FUNCTION = re.compile(r"\bDEVICE\b[^({]*?(\w+)\(")
_OTHER = re.compile(r"(\w+) \{|(\w+)\[\]")


@dataclass(frozen=True)
class _Item:
    """A definition with the comment before it. names: what it defines. words: what it may use."""

    comment: str
    text: str
    names: frozenset[str]
    words: frozenset[str]


def layer(parts: Iterable[str], text: str) -> str:
    """The definitions of these files of `gpu/device/` that a kernel's text uses, in order, with their comments."""
    paragraphs = [paragraph for part in parts for paragraph in _paragraphs(part)]
    makers = {name: item for paragraph in paragraphs for item in paragraph for name in item.names}
    used: set[int] = set()
    waiting = set(_WORD.findall(text))
    while waiting:
        item = makers.get(waiting.pop())
        if item and id(item) not in used:
            used.add(id(item))
            waiting |= item.words
    kept = [_kept(paragraph, used) for paragraph in paragraphs]
    # A comment alone is a heading of what follows it, up to the next one.
    for place in reversed(range(len(kept))):
        if _is_heading(paragraphs[place]) and not _follows(paragraphs[place + 1 :], kept[place + 1 :]):
            kept[place] = ""
    return "\n".join(filter(None, kept))


def _kept(paragraph: tuple[_Item, ...], used: set[int]) -> str:
    """The items that are used, after the comment that begins the paragraph."""
    if _is_heading(paragraph):
        return paragraph[0].comment
    items = [item for item in paragraph if id(item) in used]
    first = "" if not items or items[0] is paragraph[0] else paragraph[0].comment
    return first + "".join(item.comment + item.text for item in items)


def _is_heading(paragraph: tuple[_Item, ...]) -> bool:
    return not paragraph[0].text


def _follows(paragraphs: list[tuple[_Item, ...]], kept: list[str]) -> bool:
    for paragraph, text in zip(paragraphs, kept):
        if _is_heading(paragraph):
            return False
        if text:
            return True
    return False


@cache
def _paragraphs(part: str) -> tuple[tuple[_Item, ...], ...]:
    """The definitions of a file, by paragraphs."""
    text = files("gpu.device").joinpath(part).read_text(encoding="utf-8")
    joined = _COMMENT.sub("", text).replace("\\\n", " ")
    macros = {m[1]: (m[2], m[3]) for m in re.finditer(r"^#define (\w+)\(([^)]*)\) *(.*)$", joined, re.M)}
    return tuple(tuple(_items(paragraph + "\n", macros)) for paragraph in text.rstrip("\n").split("\n\n"))


def _items(paragraph: str, macros: dict[str, tuple[str, str]]) -> Iterator[_Item]:
    """The definitions of a paragraph. One begins in the first column, with a comment or where none came before it."""
    lines = paragraph.splitlines(keepends=True)
    comment, text, inside = "", "", False
    for line in lines:
        starts = not inside and line[0] not in " {}" and not text.endswith("\\\n")
        if starts and text:
            yield _item(comment, text, macros)
            comment, text = "", ""
        if inside or (starts and line.startswith("/*")):
            comment, inside = comment + line, "*/" not in line
        else:
            text += line
    yield _item(comment, text, macros)


def _item(comment: str, text: str, macros: dict[str, tuple[str, str]]) -> _Item:
    whole = _expanded(text.replace("\\\n", " "), macros)
    if macro := _MACRO.match(text):
        names = {macro[1]}
    else:
        names = set(_FUNCTION.findall(whole)) or {name for pair in _OTHER.findall(text) for name in pair if name}
    return _Item(comment, text, frozenset(names), frozenset(_WORD.findall(text + whole)))


def _expanded(text: str, macros: dict[str, tuple[str, str]]) -> str:
    """The functions that a macro's use on a line of its own defines, also by other macros inside it."""

    def meant(use: re.Match[str]) -> str:
        parameters, body = macros[use[1]]
        given = dict(zip(map(str.strip, parameters.split(",")), map(str.strip, use[2].split(","))))
        return _expanded(_WORD.sub(lambda word: given.get(word[0], word[0]), body).replace("##", ""), macros)

    defining = [name for name, (_, body) in macros.items() if "##" in body or any(f"{m}(" in body for m in macros)]
    if not defining or text.startswith("#define"):
        return text
    return re.sub(rf"\b({'|'.join(defining)})\(([^()]*)\)", meant, text)
