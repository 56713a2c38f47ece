"""The parts of a DOCX file: a zip archive that may be hostile."""

from __future__ import annotations

import io
import lzma
import posixpath
import struct
import zipfile
import zlib

from pincite.core.errors import SourceError
from pincite.ingest.formats.xml import Element, local_name, parse_xml

MAX_MEMBERS = 10_000
MAX_EXPANDED = 500_000_000
MAX_PART = 150_000_000  # of one part that is read: a tree takes some ten times as much
MAX_RATIO = 200
_SMALL = 1_000_000  # below this the ratio says nothing
_OLE = b"\xd0\xcf\x11\xe0"
_STRICT = b"http://purl.oclc.org/ooxml/wordprocessingml/main"
_TRANSITIONAL = b"http://schemas.openxmlformats.org/wordprocessingml/2006/main"
# What the library raises for archives that lie; an unknown compression is "not implemented".
_DAMAGED = (
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error),
    *(RuntimeError, NotImplementedError, EOFError, ValueError, OSError),
)
W = "{" + _TRANSITIONAL.decode() + "}"


class Archive:
    """Gives the XML parts of a document by their role."""

    def __init__(self, data: bytes, name: str) -> None:
        self.name = name
        if data.startswith(_OLE):
            raise SourceError(
                f"{name} is encrypted, or of the old format .doc",
                hint="open it in Word or LibreOffice and save it as .docx without a password",
            )
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(data))
            self._members = {info.filename: info for info in self._zip.infolist()}
        except _DAMAGED as error:
            raise self._broken(str(error)) from error
        self._check(len(data))
        self.main = self._target("", "officeDocument") or "word/document.xml"

    def document(self) -> Element:
        """Return the main part."""
        found = self.part(self.main)
        if found is None:
            raise self._broken(f"it has no {self.main}")
        return found

    def related(self, role: str) -> Element | None:
        """Return the part that the main one names in a role, such as ``styles``."""
        target = self._target(self.main, role)
        return self.part(target) if target else None

    def part(self, path: str) -> Element | None:
        """Return a part as XML, None where there is none."""
        info = self._members.get(path)
        if info is None:
            return None
        if info.file_size > MAX_PART:
            raise self._refused(f"{path} has {info.file_size / 1e6:,.0f} MB")
        try:
            words = self._zip.read(info)
        except _DAMAGED as e:
            raise self._broken(f"{path}: {e}") from e
        return parse_xml(words.replace(_STRICT, _TRANSITIONAL), f"{self.name} ({path})")

    def _check(self, size: int) -> None:
        total = sum(info.file_size for info in self._members.values())
        if len(self._members) > MAX_MEMBERS:
            raise self._refused(f"it has {len(self._members):,} members")
        if total > MAX_EXPANDED:
            raise self._refused(f"it expands to {total / 1e6:,.0f} MB")
        if total > _SMALL and total > MAX_RATIO * size:
            raise self._refused(f"it expands {total // size:,} times")

    def _target(self, source: str, role: str) -> str:
        """Return the path of the part that another one names in a role."""
        folder, base = posixpath.split(source)
        relations = self.part(posixpath.join(folder, "_rels", f"{base}.rels"))
        for relation in relations if relations is not None else ():
            if local_name(relation) != "Relationship" or relation.get("TargetMode") == "External":
                continue
            if relation.get("Type", "").endswith(f"/{role}"):
                path = posixpath.join("/", folder, relation.get("Target", ""))
                return posixpath.normpath(path).lstrip("/")
        return ""

    def _broken(self, reason: str) -> SourceError:
        return SourceError(
            f"{self.name} is not a whole DOCX file: {reason}", hint="get it again, or save it anew"
        )

    def _refused(self, reason: str) -> SourceError:
        return SourceError(
            f"{self.name} was not unpacked: {reason}",
            hint=f"allowed are {MAX_MEMBERS:,} members, {MAX_EXPANDED // 1_000_000} MB in all, "
            f"{MAX_PART // 1_000_000} MB a part, {MAX_RATIO} times the size",
        )


def value(parent: Element | None, tag: str) -> str | None:
    """Return the ``w:val`` of a child, None where there is no such child."""
    child = parent.find(W + tag) if parent is not None else None
    return child.get(W + "val", "") if child is not None else None


def number(words: str | None) -> int | None:
    """Return a whole number of sensible size, None for anything else."""
    if words is None or not words.lstrip("-").isdecimal() or len(words) > 9:
        return None
    return int(words)


def is_on(parent: Element | None, tag: str) -> bool | None:
    """Return whether a switch such as ``w:b`` is on or off, None where it is not set."""
    found = value(parent, tag)
    return None if found is None else found.lower() not in ("0", "false", "off", "none")
