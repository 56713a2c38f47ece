"""Walks through HTML without recursion and collects words; what is not shown is left out."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from selectolax.lexbor import LexborNode

from pincite.ingest.formats.inline import Inline, one_line

TEXT = "-text"
LEFT_OUT = {"script", "style", "noscript", "template", "svg", "iframe", "object", "canvas", "head"}
CONTROLS = {"button", "input", "select", "textarea", "datalist", "dialog"}
BLOCKS = {
    *("address", "article", "aside", "blockquote", "body", "caption", "center", "dd", "details"),
    *("div", "dl", "dt", "fieldset", "figcaption", "figure", "footer", "form", "h1", "h2", "h3"),
    *("h4", "h5", "h6", "header", "hr", "legend", "li", "main", "menu", "nav", "ol", "p", "pre"),
    *("section", "summary", "table", "td", "th", "tr", "ul"),
}
_BOLD, _ITALIC = {"b", "strong"}, {"i", "em", "dfn", "cite", "var"}
_HIDDEN = re.compile(
    r"display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse)|opacity\s*:\s*0(?![.\d])"
    r"|font-size\s*:\s*0(?![.\d])",
    re.IGNORECASE,
)


def children(node: LexborNode) -> Iterator[LexborNode]:
    """Yield the children of an element, text included."""
    child = node.child
    while child is not None:
        yield child
        child = child.next


def attribute(node: LexborNode, name: str) -> str:
    """Return an attribute's value, empty when it is absent or has none."""
    return (node.attributes or {}).get(name) or ""


def is_hidden(node: LexborNode) -> bool:
    """Return whether an element says that it is not shown."""
    attributes = node.attributes or {}
    return "hidden" in attributes or bool(_HIDDEN.search(attributes.get("style") or ""))


class Words:
    """Reads words with their emphasis; blocks inside are set apart by a space."""

    def __init__(self) -> None:
        self.inline = Inline()
        self.hidden = 0  # characters that a reader of the page does not see
        self._emphasis: Counter[str] = Counter()

    def walk(self, root: LexborNode) -> None:
        """Go through an element in document order, with a stack of our own."""
        stack = [(root, False)]
        while stack:
            node, is_read = stack.pop()
            if is_read:
                self.close(node)
                continue
            if node is not root and (following := node.next) is not None:
                stack.append((following, False))
            if self.open(node):
                stack.append((node, True))
                if (child := node.child) is not None:
                    stack.append((child, False))

    def open(self, node: LexborNode) -> bool:
        """Take an element in; return whether its children are to be read."""
        tag = node.tag or ""
        if tag == TEXT:
            self.add(node.text_content or "")
            return False
        if tag.startswith(("-", "!")) or tag in LEFT_OUT or tag in CONTROLS:
            return False
        if is_hidden(node):
            self.hidden += len(one_line(node.text()))
            return False
        if tag in ("sup", "sub"):
            self._mark(node, tag)
            return False
        if tag == "br":
            self.inline.add("\n")
        self._emphasis[_sign(tag)] += 1
        if tag in BLOCKS:
            self.block(node, tag)
        return True

    def close(self, node: LexborNode) -> None:
        """Leave an element whose children were read."""
        tag = node.tag or ""
        self._emphasis[_sign(tag)] -= 1
        if tag in BLOCKS:
            self.block_end(node, tag)

    def block(self, node: LexborNode, tag: str) -> None:
        """Begin a block."""
        self.inline.add(" ")

    def block_end(self, node: LexborNode, tag: str) -> None:
        """End a block."""
        self.inline.add(" ")

    def add(self, words: str) -> None:
        """Add words of the page; their line breaks are only spaces."""
        bold, italic = self._emphasis["b"] > 0, self._emphasis["i"] > 0
        self.inline.add(re.sub(r"[\n\r\f]", " ", words), bold=bold, italic=italic)

    def _mark(self, node: LexborNode, tag: str) -> None:
        words = one_line(node.text())
        if tag == "sub":
            self.inline.lowered(words)
        elif node.css_first('a[href^="#"]') is not None:
            self.inline.add(f"[^{words.strip('[]')}]")
        else:
            self.inline.raised(words)


def _sign(tag: str) -> str:
    return "b" if tag in _BOLD else "i" if tag in _ITALIC else ""


def words_of(node: LexborNode, *, plain: bool = False) -> tuple[str, int]:
    """Return the words of an element in one line, and how many characters of it are hidden."""
    words = Words()
    words.walk(node)
    return one_line(words.inline.text(plain=plain)), words.hidden
