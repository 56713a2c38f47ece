"""What OpenDocument files share: the archive, styles, numbers of lists, words of a paragraph."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pincite.model.errors import SourceError
from pincite.read.formats.archive import Archive
from pincite.read.formats.blocks import Inline, counted, one_line
from pincite.read.formats.xml import Element, elements, local_name

_MAX_CHAIN = 20
_MAX_SPACES = 100
_STYLES = {"1": "decimal", "a": "lowerLetter", "A": "upperLetter", "i": "lowerRoman"}
_STYLES["I"] = "upperRoman"
_LEFT_OUT = {"annotation", "annotation-end", "tracked-changes", "bookmark", "ruby-text", "frame"}


def content(data: bytes, name: str, kind: str) -> tuple[Archive, Element]:
    """Return the archive and its main part; SourceError under a password."""
    archive = Archive(data, name, kind)
    if b"encryption-data" in (archive.read("META-INF/manifest.xml") or b""):
        raise SourceError(f"{name} is encrypted", hint="save it without a password")
    root = archive.part("content.xml")
    if root is None:
        raise archive.broken("it has no content.xml")
    return archive, root


def document_title(archive: Archive) -> str:
    """Return the title that the file says it has."""
    meta = archive.part("meta.xml")
    return one_line(meta.findtext(".//{*}meta/{*}title") or "") if meta is not None else ""


def attribute(element: Element | None, name: str) -> str:
    """Return an attribute by its local name, empty where there is none."""
    if element is None:
        return ""
    return next((v for k, v in element.attrib.items() if k.rpartition("}")[2] == name), "")


def repeated(element: Element, name: str, most: int) -> int:
    """Return how often something stands there, within reason."""
    words = attribute(element, name)
    return min(int(words), most) if words.isdecimal() and len(words) < 10 else 1


@dataclass(frozen=True, slots=True)
class Emphasis:
    """How words look."""

    bold: bool = False
    italic: bool = False
    is_hidden: bool = False
    position: str = ""  # "super" or "sub"


class OdfStyles:
    """Answers what a style means: emphasis, outline level, list, hidden."""

    def __init__(self, *roots: Element | None) -> None:
        self._styles: dict[str, Element] = {}
        self._lists: dict[str, dict[int, Element]] = {}
        for root in roots:
            for element in root.iter("{*}style", "{*}list-style") if root is not None else ():
                name = attribute(element, "name")
                if local_name(element) == "style":
                    self._styles.setdefault(f"{attribute(element, 'family')}:{name}", element)
                else:
                    self._lists[name] = _levels(element)
        self._outline: dict[int, Element] = {}
        for root in roots:
            found = root.find(".//{*}outline-style") if root is not None else None
            self._outline = _levels(found) if found is not None else self._outline
        self._known: dict[str, Emphasis] = {}

    def chain(self, family: str, name: str) -> Iterator[Element]:
        """Yield the style and those that it comes from."""
        for _ in range(_MAX_CHAIN):
            style = self._styles.get(f"{family}:{name}")
            if style is None:
                return
            yield style
            name = attribute(style, "parent-style-name")

    def emphasis(self, family: str, name: str) -> Emphasis:
        """Return how a style lets words look."""
        key = f"{family}:{name}"
        if key not in self._known:
            found: dict[str, str] = {}
            for style in self.chain(family, name):
                for each in style.iterfind("{*}text-properties"):
                    for attr, value in each.attrib.items():
                        found.setdefault(attr.rpartition("}")[2], value)
            weight, position = found.get("font-weight", ""), found.get("text-position", "")
            self._known[key] = Emphasis(
                weight == "bold" or (weight.isdecimal() and int(weight) >= 600),
                found.get("font-style", "") in ("italic", "oblique"),
                found.get("display", "") == "none",
                position.split()[0] if position.startswith("su") else "",
            )
        return self._known[key]

    def names(self, family: str, name: str) -> set[str]:
        """Return what the style and those it comes from are called."""
        return {attribute(style, "name") for style in self.chain(family, name)}

    def is_hidden_table(self, name: str) -> bool:
        """Tell whether a style hides a table or a sheet."""
        properties = (
            e for s in self.chain("table", name) for e in s.iterfind("{*}table-properties")
        )
        return any(attribute(each, "display") == "false" for each in properties)

    def label(self, style: str, counts: list[int]) -> str:
        """Return the label of an item by the counts of all levels; a bullet is a dash."""
        levels = self._lists.get(style, {}) if style else self._outline
        level = levels.get(len(counts))
        if level is None:
            return ""
        if local_name(level) == "list-level-style-bullet":
            return "-"
        depth = min(repeated(level, "display-levels", 10), len(counts))
        shown = []
        for at in range(len(counts) - depth, len(counts)):
            form = attribute(levels.get(at + 1), "num-format")
            shown.append(counted(counts[at], _STYLES[form]) if form in _STYLES else "")
        number = ".".join(filter(None, shown))
        if not number:
            return ""
        return f"{attribute(level, 'num-prefix')}{number}{attribute(level, 'num-suffix')}".strip()

    def first(self, style: str, depth: int) -> int:
        """Return where a level of a list begins to count."""
        levels = self._lists.get(style, {}) if style else self._outline
        level = levels.get(depth)
        words = attribute(level, "start-value") if level is not None else ""
        return int(words) if words.isdecimal() and len(words) < 6 else 1


def _levels(style: Element) -> dict[int, Element]:
    return {repeated(each, "level", 10): each for each in elements(style)}


def plain_words(element: Element) -> str:
    """Return the words of a paragraph without emphasis and notes."""
    words = Inline()
    _add(element, words)
    return words.text(plain=True)


def _add(element: Element, words: Inline) -> None:
    words.add(element.text or "")
    for child in elements(element):
        name = local_name(child)
        if (gap := gap_of(child)) is not None:
            words.add(gap)
        elif name not in _LEFT_OUT and name != "note":
            _add(child, words)
        words.add(child.tail or "")


def gap_of(element: Element) -> str | None:
    """Return the white space that an element stands for; None for others."""
    name = local_name(element)
    if name == "s":
        return " " * repeated(element, "c", _MAX_SPACES)
    return {"tab": "\t", "line-break": "\n", "soft-page-break": ""}.get(name)
