"""HTML as it is read on the page: headings, paragraphs, lists as printed, tables."""

from __future__ import annotations

import codecs
import re
from collections import Counter
from dataclasses import dataclass

from selectolax.lexbor import LexborHTMLParser, LexborNode

from pincite.core.errors import SourceError
from pincite.ingest.formats.canonical import Writer, titled
from pincite.ingest.formats.counting import counted
from pincite.ingest.formats.html_tables import is_layout, table_of
from pincite.ingest.formats.html_words import Words, attribute
from pincite.ingest.formats.inline import one_line
from pincite.ingest.parsed import Finding, Parsed, decode

# The parser's time grows with the square of the depth; real pages stay below a hundred.
MAX_DEPTH = 5_000
_BESIDE = {"nav", "footer", "aside"}
_CHARSET = re.compile(
    rb"<(?:meta|\?xml)[^>]{0,200}?(?:charset|encoding)\s*=\s*[\"']?([\w.:-]+)", re.I
)
# Comments and raw text count as nothing, so that no tag in them can hide the depth.
_TAG = re.compile(
    r"<!--.*?(?:-->|$)|<(?P<raw>script|style|textarea|title|xmp)\b.*?(?:</(?P=raw)|$)"
    r"|<(?P<end>/?)(?P<name>[a-z][^\s/>]*+)(?:[^>\"']++|\"[^\"]*+\"|'[^']*+')*+>?",
    re.IGNORECASE | re.DOTALL,
)
# Elements that the parser closes by itself, and those without content.
_SHALLOW = {
    *("p", "li", "dt", "dd", "td", "th", "tr", "thead", "tbody", "tfoot", "option", "optgroup"),
    *("html", "head", "body", "br", "img", "hr", "input", "meta", "link", "col", "area", "base"),
    *("embed", "source", "track", "wbr", "param"),
}
_STYLES = {
    **dict.fromkeys(("a", "lower-alpha", "lower-latin"), "lowerLetter"),
    **dict.fromkeys(("A", "upper-alpha", "upper-latin"), "upperLetter"),
    **dict.fromkeys(("i", "lower-roman"), "lowerRoman"),
    **dict.fromkeys(("I", "upper-roman"), "upperRoman"),
    "none": "none",
}
_LIST_STYLE = re.compile(r"list-style(?:-type)?\s*:[^;]*?\b(none|(?:lower|upper)-\w+)", re.I)
_OWN_LABEL = re.compile(r"[*_]{0,3}\([0-9A-Za-z]{1,5}\)[*_]{0,3}(?:\s|$)")


def read(data: bytes, name: str) -> Parsed:
    """Return the page without what stands beside its text."""
    text = _decoded(data, name)
    if _depth(text) > MAX_DEPTH:
        raise SourceError(
            f"{name} nests more than {MAX_DEPTH:,} elements", hint="no page does: leave it out"
        )
    page = LexborHTMLParser(text)
    writer = Writer(name)
    walk = _Page(writer)
    if page.body is not None:
        walk.walk(page.body)
        walk.flush()
    walk.report()
    title = page.css_first("title")
    heading = walk.titles[0] if len(walk.titles) == 1 else ""
    return writer.parsed(titled(name, heading, title.text() if title is not None else ""))


def _decoded(data: bytes, name: str) -> str:
    """Return the text in the encoding that the page names, UTF-8 when it names none."""
    declared = _CHARSET.search(data, 0, 2048)
    if declared and data[:2] not in (b"\xff\xfe", b"\xfe\xff"):
        try:
            codec = codecs.lookup(declared.group(1).decode("ascii", "replace"))
            if codec.name not in ("utf-8", "utf-16", "utf-32", "ascii"):
                return decode(data.decode(codec.name).encode(), name)
        except (LookupError, UnicodeError, ValueError):
            pass  # a wrong name; the bytes decide
    return decode(data, name)


def _depth(text: str) -> int:
    """Return how deep the tags nest at most, near enough."""
    open_: Counter[str] = Counter()
    depth = deepest = 0
    for match in _TAG.finditer(text):
        tag = (match["name"] or "").lower()
        if not tag or tag in _SHALLOW:
            continue
        if not match["end"]:
            open_[tag] += 1
            depth += 1
            deepest = max(deepest, depth)
        elif open_[tag]:
            open_[tag] -= 1
            depth -= 1
    return deepest


@dataclass
class _List:
    """A list that is open, with its item."""

    style: str
    next: int
    step: int
    marker: str = ""
    is_begun: bool = False  # the item's first words are written


class _Page(Words):
    """Writes the blocks of a page."""

    def __init__(self, writer: Writer) -> None:
        super().__init__()
        self.writer = writer
        self.titles: list[str] = []
        self.lists: list[_List] = []
        self.quotes = 0
        self.inside = 0  # main, article or section: a header there is part of the text
        self.term = ""
        self.left_out: Counter[str] = Counter()

    def open(self, node: LexborNode) -> bool:
        """Take an element in; tables, raw lines and what stands beside are done at once."""
        tag = node.tag or ""
        if self._is_beside(node, tag):
            self.flush()
            self.left_out[tag] += bool(node.text().strip())
            return False
        if tag == "table" and not is_layout(node):
            self.flush()
            table, hidden = table_of(node)
            self.hidden += hidden
            self.writer.table(table)
            return False
        if tag == "pre":
            self.flush()
            self._pre(node)
            return False
        return super().open(node)

    def _is_beside(self, node: LexborNode, tag: str) -> bool:
        if tag == "header":
            return not self.inside
        if tag in _BESIDE or attribute(node, "role") in ("navigation", "doc-toc"):
            return True
        names = f"{attribute(node, 'class')} {attribute(node, 'id')}".split()
        is_contents = not {"toc", "table-of-contents"}.isdisjoint(names)
        return is_contents and tag in ("div", "ul", "ol", "section")

    def block(self, node: LexborNode, tag: str) -> None:
        """Write what came before a block and take in what it changes."""
        self.flush()
        self.inside += tag in ("main", "article", "section")
        self.quotes += tag == "blockquote"
        if tag in ("ol", "ul", "menu"):
            self.lists.append(_opened(node, tag))
        elif tag == "li" and self.lists:
            list_ = self.lists[-1]
            number = _number(attribute(node, "value"), list_.next)
            list_.next = number + list_.step
            label = counted(number, list_.style)
            list_.marker = "-" if list_.style == "bullet" else f"{label}." if label else ""
            list_.is_begun = False

    def block_end(self, node: LexborNode, tag: str) -> None:
        """Write the words of a block and forget what it changed."""
        if tag == "dt" or tag in ("h1", "h2", "h3", "h4", "h5", "h6"):
            words = one_line(self.inline.text(plain=True))
            self.inline.clear()
            if tag == "dt":
                self.term = words
            else:
                self.titles += [words] if tag == "h1" and words else []
                self.writer.heading(int(tag[1]), words)
        else:
            self.flush()
            if tag == "dd":
                self._lone_term()
        self.inside -= tag in ("main", "article", "section")
        self.quotes -= tag == "blockquote"
        if tag in ("ol", "ul", "menu") and self.lists:
            self.lists.pop()

    def flush(self) -> None:
        """Write the words collected so far as a paragraph or a line of a list."""
        words = self.inline.text()
        self.inline.clear()
        if not words:
            return
        if self.term:
            term, self.term = self.term, ""
            words = f"{term} {words}" if _OWN_LABEL.match(f"{term} ") else f"**{term}** {words}"
        if self.lists and not self.quotes:
            self._list_line(self.lists[-1], words)
        else:
            signs = "> " if self.quotes else ""
            self.writer.paragraph("\n".join(signs + line for line in words.split("\n")))

    def report(self) -> None:
        """Say what was left out."""
        self._lone_term()
        if self.hidden:
            message = f"{self.hidden:,} characters that the page does not show were left out"
            self.writer.find(Finding("hidden_text", message))
        if found := [f"{count} {tag}" for tag, count in self.left_out.items() if count]:
            message = f"parts beside the text were left out: {', '.join(found)}"
            self.writer.find(Finding("skipped_content", message))

    def _lone_term(self) -> None:
        if self.term:
            term, self.term = self.term, ""
            self.writer.paragraph(f"**{term}**")

    def _list_line(self, list_: _List, words: str) -> None:
        """Write a line of a list; words that bring their own label need no other."""
        has_label = _OWN_LABEL.match(words) or words.startswith(f"{list_.marker} ")
        if not list_.marker or (not list_.is_begun and has_label):
            self.writer.paragraph(words)
        else:
            depth = len(self.lists) - 1
            self.writer.line(list_.marker, words, depth, goes_on=list_.is_begun)
        list_.is_begun = True

    def _pre(self, node: LexborNode) -> None:
        """Write lines as they stand: code as code, other text as paragraphs."""
        words = node.text().expandtabs()
        if node.css_first("code, samp, kbd") is not None:
            self.writer.code(words)
            return
        for paragraph in re.split(r"\n\s*\n", words):
            lines = [line.strip() for line in paragraph.split("\n")]
            self.writer.paragraph("\n".join(line for line in lines if line))


def _opened(node: LexborNode, tag: str) -> _List:
    css = _LIST_STYLE.search(attribute(node, "style"))
    kind = css.group(1).lower() if css else attribute(node, "type")
    if tag != "ol":
        return _List("none" if kind == "none" else "bullet", 1, 1)
    start = attribute(node, "start")
    first = _number(start, 1)
    is_reversed = "reversed" in (node.attributes or {})
    if is_reversed and not start:
        first = sum(1 for child in node.iter() if child.tag == "li")
    return _List(_STYLES.get(kind, "decimal"), first, -1 if is_reversed else 1)


def _number(words: str, default: int) -> int:
    return int(words) if words.isdecimal() and len(words) < 7 else default
