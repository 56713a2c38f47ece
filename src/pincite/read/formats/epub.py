"""EPUB: the chapters of a book in their order as one document."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from urllib.parse import unquote

from pincite.model.errors import SourceError
from pincite.model.types import ReaderWarning
from pincite.read.extracted import ExtractedText
from pincite.read.formats.archive import Archive
from pincite.read.formats.blocks import BlockWriter, titled
from pincite.read.formats.html import add_page
from pincite.read.formats.xml import Element, local_name

_PAGES = ("application/xhtml+xml", "text/html", "application/x-dtbook+xml")
# HTML knows no elements that close themselves: "<title/>" would swallow the page.
_CLOSED = re.compile(rb"<([a-zA-Z][\w:.-]*)((?:\s[^<>]*)?)/>")
_VOID = {
    *(b"area", b"base", b"br", b"col", b"embed", b"hr", b"img", b"input", b"link", b"meta"),
    *(b"param", b"source", b"track", b"wbr"),
}


def read(data: bytes, name: str) -> ExtractedText:
    """Return the book; SourceError if it is damaged, locked or has no chapter with words."""
    archive = Archive(data, name, "EPUB")
    if archive.read("META-INF/encryption.xml") and archive.read("META-INF/rights.xml"):
        raise SourceError(f"{name} is locked by its seller", hint="get a copy without DRM")
    path, package = _package(archive)
    writer = BlockWriter(name)
    for chapter in _spine(path, package):
        try:
            words = archive.read(chapter)
            if words is None:
                raise archive.broken(f"it has no {chapter}")
            if words.strip():
                add_page(writer, _CLOSED.sub(_opened, words), f"{name} ({chapter})")
        except SourceError as error:  # a chapter that cannot be read costs no other
            writer.find(ReaderWarning("skipped_content", error.message))
    title = _metadata(package, "title")
    try:
        return writer.parsed(titled(name, title), _metadata(package, "language"))
    except SourceError as error:
        reasons = "; ".join(each.message for each in writer.findings[:2])
        raise SourceError(f"{error.message}: {reasons}", hint=error.hint) from error


def _package(archive: Archive) -> tuple[str, Element]:
    """Return the file that says what the book is made of, and where it stands."""
    container = archive.part("META-INF/container.xml")
    for each in container.iter() if container is not None else ():
        if local_name(each) == "rootfile":
            path = _inside("", each.get("full-path", ""))
            package = archive.part(path)
            if package is not None:
                return path, package
    raise archive.broken("it does not say what it is made of (META-INF/container.xml)")


def _inside(folder: str, name: str) -> str:
    """Return a path of the archive that a file of a folder names; it cannot lead out."""
    return posixpath.normpath(posixpath.join("/", folder, unquote(name))).lstrip("/")


def _spine(path: str, package: Element) -> Iterator[str]:
    """Yield the paths of the chapters in reading order."""
    folder = posixpath.dirname(path)
    found = [each for each in package.iter() if isinstance(each.tag, str)]
    items = {
        each.get("id"): _inside(folder, each.get("href", ""))
        for each in found
        if local_name(each) == "item" and each.get("media-type", _PAGES[0]) in _PAGES
    }
    order = [each.get("idref") for each in found if local_name(each) == "itemref"]
    # A book without an order still has pages.
    yield from dict.fromkeys(items[each] for each in order or items if each in items)


def _metadata(package: Element, name: str) -> str:
    """Return the first that the metadata say of a name, such as ``title``."""
    for each in package.iter():
        if local_name(each) == name and (each.text or "").strip():
            return str(each.text).strip()
    return ""


def _opened(match: re.Match[bytes]) -> bytes:
    tag, attributes = match.groups()
    is_void = tag.lower() in _VOID
    return match.group() if is_void else b"<" + tag + attributes + b"></" + tag + b">"
