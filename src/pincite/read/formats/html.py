"""HTML: headings, lists and tables to canonical text."""

from __future__ import annotations

import codecs
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import NamedTuple

from selectolax.lexbor import LexborHTMLParser, LexborNode

from pincite.model.errors import SourceError
from pincite.model.tables import INDENT
from pincite.model.types import ReaderWarning
from pincite.read.extracted import ExtractedText, decode, spared
from pincite.read.formats.blocks import (
    CONTENTS_TITLE,
    MAX_COLUMNS,
    BlockWriter,
    GridCell,
    Inline,
    Row,
    TableText,
    counted,
    indent_steps,
    one_line,
    spread,
    titled,
)
from pincite.read.structure.outline import figure_caption

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


def siblings(node: LexborNode) -> Iterator[LexborNode]:
    """Yield what follows an element beside it, text included."""
    following = node.next
    while following is not None:
        yield following
        following = following.next


def is_hidden(node: LexborNode) -> bool:
    """Return whether an element says that it is not shown."""
    attributes = node.attributes or {}
    return "hidden" in attributes or bool(_HIDDEN.search(attributes.get("style") or ""))


class HtmlWords:
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
    words = HtmlWords()
    words.walk(node)
    return one_line(words.inline.text(plain=plain)), words.hidden


_GROUPS = ("thead", "tbody", "tfoot")
_SET_IN = re.compile(
    r"(?:padding-left|margin-left|text-indent)\s*:\s*(-?\d{1,4}(?:\.\d{1,4})?)(pt|px|r?em|in)", re.I
)
_POINTS = {"pt": 1.0, "px": 0.75, "em": 12.0, "rem": 12.0, "in": 72.0}
_SPACE, _NEAR = 5.0, 2.0  # points: the width of a space, and what is no step
_MAX_ROWSPAN = 65_534  # as in the standard; 0 means all rows that follow


class _HtmlRow(NamedTuple):
    group: str
    is_head: bool
    cells: list[GridCell]
    indent: float = 0.0  # of its first cell's words, in points or so


def is_layout(table: LexborNode) -> bool:
    """Return whether a table only arranges a page: it holds headings or tables."""
    if attribute(table, "role") in ("presentation", "none"):
        return True
    inside = table.css("h1, h2, h3, h4, h5, h6, table")
    return any(node.mem_id != table.mem_id for node in inside)


def table_of(table: LexborNode) -> tuple[TableText, int]:
    """Return the table, and how many characters of it are hidden."""
    caption, hidden = "", 0
    found: list[_HtmlRow] = []
    for child in children(table):
        if child.tag == "caption" and not is_hidden(child):
            caption, unseen = words_of(child, plain=True)
            hidden += unseen
        elif child.tag in _GROUPS:
            rows = [row for row in children(child) if row.tag == "tr"]
            hidden += sum(len(row.text().strip()) for row in rows if is_hidden(row))
            for row in rows:
                if not is_hidden(row):
                    hidden += _add_row(row, child.tag, found)
    return _assembled(found, caption), hidden


def _add_row(row: LexborNode, group: str, found: list[_HtmlRow]) -> int:
    """Add a row to those found, and return how many characters of it are hidden."""
    nodes = [cell for cell in children(row) if cell.tag in ("td", "th") and not is_hidden(cell)]
    is_head = group == "thead" or all(cell.tag == "th" for cell in nodes)
    cells, unseen = [], 0
    for node in nodes:
        words, hidden = words_of(node, plain=is_head)
        unseen += hidden
        spans = (attribute(node, name) for name in ("rowspan", "colspan"))
        rows, columns = (int(n) if n.isdecimal() and len(n) < 7 else 1 for n in spans)
        columns = max(1, min(columns, MAX_COLUMNS))
        cells.append(GridCell(words, columns, min(rows, _MAX_ROWSPAN) or _MAX_ROWSPAN))
    if cells:
        found.append(_HtmlRow(group, is_head, cells, _indent(nodes[0])))
    return unseen


def _indent(cell: LexborNode) -> float:
    """Return how far the words of a cell are set in, by its style or by spaces that do not break.

    >>> page = LexborHTMLParser("<table><td style='padding-left: 1em'>&nbsp;Products")
    >>> _indent(page.css("td")[0])
    17.0
    """
    width = 0.0
    node: LexborNode | None = cell
    while node is not None and node.tag != "-text":
        for amount, unit in _SET_IN.findall(attribute(node, "style")):
            width += float(amount) * _POINTS[unit.lower()]
        node = node.child
    words = cell.text()
    spaces = words[: len(words) - len(words.lstrip())].count(INDENT)
    return max(0.0, width) + _SPACE * spaces


def _assembled(found: Sequence[_HtmlRow], caption: str) -> TableText:
    rows = spread([row.cells for row in found])
    head_rows = sum(1 for _ in takewhile(lambda row: row.is_head, found))
    if not head_rows and len(rows) > 1:
        head_rows = 1  # without marks the first row is the head, as in Word
    head, body = rows[:head_rows], rows[head_rows:]
    if not caption and len(head) > 1 and _is_one(found[0], head[0]):
        caption, head = head[0][0], head[1:]
    notes: list[str] = []
    for row in reversed(found):
        if not body or row.group != "tfoot" or not _is_one(row, body[-1]):
            break
        notes.insert(0, body.pop()[0])
    indents = indent_steps([row.indent for row in found[head_rows:]], _NEAR)
    return TableText(head, body, caption, notes, indents[: len(body)])


def _is_one(row: _HtmlRow, filled: Row) -> bool:
    """Return whether one cell takes the whole row."""
    return len(row.cells) == 1 and row.cells[0].columns >= len(filled) > 1


# The parser's time grows with the square of the depth; real pages stay below a hundred.
MAX_DEPTH = 5_000
_BESIDE = {"nav", "footer", "aside"}
_ROLES = {"navigation", "doc-toc", "doc-index", "doc-pagelist", "contentinfo", "search"}
_HEADINGS = {"h1", "h2", "h3", "h4", "h5", "h6"}
_LISTS = {"ul", "ol", "dl", "table", "menu"}
_MAX_LISTS = 3  # lists in lists that are looked at, each for itself
_NAVIGATION = {
    *("toc", "table-of-contents", "toctree-wrapper", "nav", "navbar", "navigation", "nav-panel"),
    *("navheader", "navfooter", "navlinks", "breadcrumb", "breadcrumbs", "pagination", "pager"),
    *("prevnext", "mini-toc", "sphinxsidebar", "skip-link", "skiplinks"),
}
_TURNS = ",".join(
    f'a[{name}="{value}"]'
    for name, values in (("rel", ("next", "prev", "previous", "up")), ("accesskey", "npu"))
    for value in values
)
_BARS = {*BLOCKS, *_GROUPS} - {"body", "main", "article", "section"}
_MAX_TURNS = 5_000  # links to other pages that are looked at
_BAR_CHARS, _BAR_NODES = 300, 120  # of a bar with such links
_EXTERNAL = re.compile(r"[a-z][a-z0-9+.-]*:|//", re.IGNORECASE)
_PERMALINKS = {"¶", "#", "§", "🔗", "⚓"}
# Elements of code: in others lines stand as they do because a form or a poem wants it.
_CODE_CLASS = re.compile(
    r"code|source|listing|screen|example|highlight|program|verbatim|synopsis|language-", re.I
)
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


def read(data: bytes, name: str) -> ExtractedText:
    """Return the page without what stands beside its text."""
    writer = BlockWriter(name)
    return writer.parsed(titled(name, *add_page(writer, data, name)))


def add_page(writer: BlockWriter, data: bytes, name: str) -> tuple[str, str]:
    """Write the blocks of a page; return its one first heading and its title, where it has them."""
    text = _decoded(data, name)
    if _depth(text) > MAX_DEPTH:
        raise SourceError(
            f"{name} nests more than {MAX_DEPTH:,} elements", hint="no page does: leave it out"
        )
    page = LexborHTMLParser(text)
    walk = _Page(writer)
    walk.navigation = _turning(page)
    if page.body is not None:
        walk.walk(page.body)
        walk.flush()
    walk.report()
    title = page.css_first("title")
    heading = walk.titles[0] if len(walk.titles) == 1 else ""
    return heading, title.text() if title is not None else ""


def is_navigation(node: LexborNode, *, least: int = 8) -> bool:
    """Return whether a list or a table only leads to other places: contents, or an index.

    A short one may as well be words of the text ("see also"); nested ones are not.
    """
    words = len("".join(node.text().split()))
    links = [link for link in node.css("a[href]") if not _EXTERNAL.match(attribute(link, "href"))]
    led = sum(len("".join(link.text().split())) for link in links)
    if len(links) < 2 or led < 0.7 * words:
        return False
    is_nested = any(each.css_first("ul, ol, dl") is not None for each in node.css("li, dd"))
    return len(links) >= least or (is_nested and len(links) >= 4)


def _turning(page: LexborHTMLParser) -> set[int]:
    """Return the elements that only lead to the next page, the one before and the one above."""
    found: set[int] = set()
    for link in page.css(_TURNS)[:_MAX_TURNS]:
        bar, node = None, link.parent
        while node is not None and node.tag in _BARS:
            if not _is_bar(node):
                break
            bar, node = node, node.parent
        if bar is not None:
            found.add(bar.mem_id)
    return found


def _is_bar(node: LexborNode) -> bool:
    """Return whether an element has few words, many of them links, and no heading."""
    words = led = 0
    for count, each in enumerate(node.traverse(include_text=True)):
        if count > _BAR_NODES or words > _BAR_CHARS or each.tag in _HEADINGS or each.tag == "li":
            return False
        if each.tag == TEXT:
            size = len((each.text_content or "").strip())
            words += size
            led += size if each.parent is not None and each.parent.tag == "a" else 0
    return 3 * led >= words


def _is_permalink(link: LexborNode) -> bool:
    """Return whether a link only gives the address of the heading it stands in."""
    if not attribute(link, "href").startswith("#"):
        return False
    return one_line(link.text()) in _PERMALINKS


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
class _HtmlList:
    """A list that is open, with its item."""

    style: str
    next: int
    step: int
    marker: str = ""
    is_begun: bool = False  # the item's first words are written


class _Page(HtmlWords):
    """Writes the blocks of a page."""

    def __init__(self, writer: BlockWriter) -> None:
        super().__init__()
        self.writer = writer
        self.titles: list[str] = []
        self.lists: list[_HtmlList] = []
        self.quotes = 0
        self.inside = 0  # main, article or section: a header there is part of the text
        self.term = ""
        self.left_out: Counter[str] = Counter()
        self.navigation: set[int] = set()  # elements that lead to the next page or the one before

    def open(self, node: LexborNode) -> bool:
        """Take an element in; tables, raw lines and what stands beside are done at once."""
        tag = node.tag or ""
        if tag == "a" and _is_permalink(node):
            return False
        if self._is_beside(node, tag):
            self.flush()
            self.left_out[tag] += bool(node.text().strip())
            return False
        if tag == "table" and not is_layout(node):
            self.flush()
            with spared("a table", self.writer.findings):
                table, hidden = table_of(node)
                self.hidden += hidden
                self.writer.table(table)
                return False
        if tag == "pre":
            self.flush()
            self._pre(node)
            return False
        if tag == "img" and figure_caption(caption := one_line(attribute(node, "alt"))):
            self.flush()
            self.writer.paragraph(caption)
            return False
        return super().open(node)

    def _is_beside(self, node: LexborNode, tag: str) -> bool:
        if tag == "header":
            return not self.inside
        if tag in _BESIDE or attribute(node, "role") in _ROLES or node.mem_id in self.navigation:
            return True
        if tag in _HEADINGS and CONTENTS_TITLE.fullmatch(one_line(node.text())):
            below = next((each for each in siblings(node) if each.tag not in (TEXT, "hr")), None)
            if below is None or not is_navigation(below, least=2):
                return False
            self.navigation.add(below.mem_id)
            return True
        names = f"{attribute(node, 'class')} {attribute(node, 'id')}".lower().split()
        if not _NAVIGATION.isdisjoint(names) and tag in ("div", "section", "p", *_LISTS):
            return True
        return tag in _LISTS and len(self.lists) < _MAX_LISTS and is_navigation(node)

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
            self.writer.find(ReaderWarning("hidden_text", message))
        if found := [f"{count} {tag}" for tag, count in self.left_out.items() if count]:
            message = f"parts beside the text were left out: {', '.join(found)}"
            self.writer.find(ReaderWarning("skipped_content", message))

    def _lone_term(self) -> None:
        if self.term:
            term, self.term = self.term, ""
            self.writer.paragraph(f"**{term}**")

    def _list_line(self, list_: _HtmlList, words: str) -> None:
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
        is_code = _CODE_CLASS.search(attribute(node, "class"))
        if is_code or node.css_first("code, samp, kbd") is not None:
            self.writer.code(words)
            return
        for paragraph in re.split(r"\n\s*\n", words):
            lines = [line.strip() for line in paragraph.split("\n")]
            self.writer.paragraph("\n".join(line for line in lines if line))


def _opened(node: LexborNode, tag: str) -> _HtmlList:
    css = _LIST_STYLE.search(attribute(node, "style"))
    kind = css.group(1).lower() if css else attribute(node, "type")
    if tag != "ol":
        return _HtmlList("none" if kind == "none" else "bullet", 1, 1)
    start = attribute(node, "start")
    first = _number(start, 1)
    is_reversed = "reversed" in (node.attributes or {})
    if is_reversed and not start:
        first = sum(1 for child in node.iter() if child.tag == "li")
    return _HtmlList(_STYLES.get(kind, "decimal"), first, -1 if is_reversed else 1)


def _number(words: str, default: int) -> int:
    return int(words) if words.isdecimal() and len(words) < 7 else default
