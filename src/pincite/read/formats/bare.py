"""The words of a document without its structure, for when its reader fails."""

from __future__ import annotations

import re

from lxml import etree

from pincite.read.formats.archive import Archive
from pincite.read.formats.xml import Element, local_name, parse_xml

# Where the words of zipped formats are; of an EPUB's chapters the names say the order.
_PART = re.compile(
    r"word/(?:document|footnotes|endnotes)\.xml|content\.xml|ppt/slides/slide[0-9]{1,5}\.xml"
    r"|xl/sharedStrings\.xml|[^\r\n]{1,300}\.x?html?"
)
_INLINE = {"r", "t", "s", "span", "a", "b", "i", "u", "em", "strong", "sub", "sup", "ref", "inline"}


def bare_words(data: bytes, name: str) -> str:
    """Return the words of XML, or of the parts of a zip that hold words, paragraph by paragraph.

    >>> bare_words(b"<law><p>The <b>gate</b> opens.</p><p>It shuts.</p></law>", "law.xml")
    'The gate opens.\\n\\nIt shuts.'
    """
    if not data.startswith(b"PK"):
        return _words(parse_xml(data, name))
    archive = Archive(data, name, "zip")
    parts = (archive.part(path) for path in sorted(archive.names) if _PART.fullmatch(path))
    return "\n\n".join(words for root in parts if root is not None and (words := _words(root)))


def _words(root: Element) -> str:
    paragraphs: list[list[str]] = [[]]
    for event, element in etree.iterwalk(root, events=("start", "end")):
        if local_name(element) not in _INLINE:
            paragraphs.append([])
        paragraphs[-1].append((element.text if event == "start" else element.tail) or "")
    joined = (" ".join("".join(parts).split()) for parts in paragraphs)
    return "\n\n".join(filter(None, joined))
