"""Pages and pictures of a report."""

from __future__ import annotations

import importlib.util
from html.parser import HTMLParser

import pytest

needs_matplotlib = pytest.mark.skipif(
    not importlib.util.find_spec("matplotlib"), reason="needs matplotlib, the extra [plot]"
)


class Page(HTMLParser):
    """Fails at a tag that closes another one; gathers what the page refers to and says."""

    VOID = frozenset({"meta", "br", "img", "link", "input"})

    def __init__(self, text: str):
        super().__init__()
        self.open: list[str] = []
        self.links: list[str] = []
        self.ids: list[str] = []
        self.said = ""
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attributes):
        if tag not in self.VOID:
            self.open.append(tag)
        self.handle_startendtag(tag, attributes)

    def handle_startendtag(self, tag, attributes):
        self.links += [value for name, value in attributes if name in ("href", "src", "xlink:href", "action")]
        self.ids += [value for name, value in attributes if name == "id"]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.said += data
