"""XML from strangers: no entities, no network, no depth without bottom."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from lxml import etree

from pincite.model.errors import SourceError
from pincite.read.extracted import SourceIdentifier
from pincite.read.formats.blocks import BlockWriter

# libxml2 itself stops at 256; walks in Python have less room.
MAX_DEPTH = 100
# Also in UTF-16, where every second byte is null.
_ENTITY = re.compile(b"\x00?".join(bytes([sign]) for sign in b"<!ENTITY"))
Element = Any  # lxml is not typed


def parse_xml(data: bytes, name: str) -> Element:
    """Return the root element of a document that may be hostile, or SourceError."""
    if _ENTITY.search(data):
        raise SourceError(
            f"{name} declares XML entities", hint="documents do not need them: expand them first"
        )
    safe = {"resolve_entities": False, "no_network": True, "load_dtd": False, "huge_tree": False}
    parser = etree.XMLParser(**safe, remove_comments=True, remove_pis=True)
    try:
        root = etree.fromstring(data, parser)
    except (etree.XMLSyntaxError, ValueError) as error:
        raise SourceError(
            f"{name} is not well-formed XML: {error}", hint="check how it was exported"
        ) from error
    depth = 0
    for event, _ in etree.iterwalk(root, events=("start", "end")):
        depth += 1 if event == "start" else -1
        if depth > MAX_DEPTH:
            raise SourceError(f"{name} nests more than {MAX_DEPTH} elements", hint="leave it out")
    return root


def local_name(element: Element) -> str:
    """Return an element's name without its namespace."""
    tag = element.tag
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""


def elements(parent: Element) -> Iterator[Element]:
    """Yield the child elements, nothing else."""
    return (child for child in parent if isinstance(child.tag, str))


_LIMS = "{http://justice.gc.ca/lims}"
_IDENTIFIERS = (
    *("identifier", "id", "eId", "wId", "GUID", "temporalId", "IDENTIFIER", "NODE", "ID"),
    *("{http://www.w3.org/XML/1998/namespace}id", f"{_LIMS}id", f"{_LIMS}fid"),
)
MAX_IDENTIFIER = 300


class ElementSpans:
    """Remembers what of the text each element became, and so where its identifiers lead."""

    def __init__(self, writer: BlockWriter) -> None:
        self._writer = writer
        self._spans: dict[Element, tuple[int, int]] = {}

    @contextmanager
    def of(self, element: Element) -> Iterator[None]:
        """Take what is written inside for the words of an element."""
        before = self._writer.end
        yield
        if (start := self._writer.start_after(before)) is not None:
            self._spans[element] = start, self._writer.end

    def identifiers(self, root: Element) -> list[SourceIdentifier]:
        """Return all names that the source has for its elements.

        What was not written for itself, such as a mark or an empty element, has the words of what
        holds it.
        """
        found = []
        for element in root.iter():
            span = self._spans.get(element) or self._spans.get(element.getparent())
            self._spans[element] = span = span or (0, self._writer.end)
            names = dict.fromkeys(element.get(name, "").strip() for name in _IDENTIFIERS)
            found += [
                SourceIdentifier(name, *span) for name in names if 0 < len(name) <= MAX_IDENTIFIER
            ]
        return found
