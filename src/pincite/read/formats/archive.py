"""Archives from strangers: parts of a zip by name and one gzipped file, never more than allowed."""

from __future__ import annotations

import gzip
import io
import lzma
import struct
import zipfile
import zlib

from pincite.model.errors import SourceError
from pincite.read.formats.xml import Element, parse_xml

MAX_MEMBERS = 10_000
MAX_EXPANDED = 500_000_000
MAX_PART = 150_000_000  # of one part that is read: a tree takes some ten times as much
MAX_RATIO = 200
_SMALL = 1_000_000  # below this the ratio says nothing
# What the library raises for archives that lie; an unknown compression is "not implemented".
_DAMAGED = (
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error),
    *(RuntimeError, NotImplementedError, EOFError, ValueError, OSError),
)


class Archive:
    """Gives the parts of a zipped document by their names; nothing is written anywhere."""

    def __init__(self, data: bytes, name: str, kind: str) -> None:
        self.name = name
        self.kind = kind  # "DOCX", "EPUB"
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(data))
            self._members = {info.filename: info for info in self._zip.infolist()}
        except _DAMAGED as error:
            raise self.broken(str(error)) from error
        total = sum(info.file_size for info in self._members.values())
        if len(self._members) > MAX_MEMBERS:
            raise _refused(name, f"it has {len(self._members):,} members")
        if total > MAX_EXPANDED:
            raise _refused(name, f"it expands to {total / 1e6:,.0f} MB")
        if total > _SMALL and total > MAX_RATIO * len(data):
            raise _refused(name, f"it expands {total // len(data):,} times")

    @property
    def names(self) -> list[str]:
        """The names of all parts."""
        return list(self._members)

    def read(self, path: str) -> bytes | None:
        """Return the bytes of a part, None where there is none."""
        info = self._members.get(path)
        if info is None:
            return None
        if info.file_size > MAX_PART:
            raise _refused(self.name, f"{path} has {info.file_size / 1e6:,.0f} MB")
        try:
            return self._zip.read(info)
        except _DAMAGED as error:
            raise self.broken(f"{path}: {error}") from error

    def part(self, path: str) -> Element | None:
        """Return a part as XML, None where there is none."""
        words = self.read(path)
        return None if words is None else parse_xml(words, f"{self.name} ({path})")

    def broken(self, reason: str) -> SourceError:
        """Return the error for an archive that lacks something, or is damaged."""
        return SourceError(
            f"{self.name} is not a whole {self.kind} file: {reason}",
            hint="get it again, or save it anew",
        )


def gunzipped(data: bytes, name: str) -> bytes:
    """Return the file in gzipped bytes; SourceError when it is damaged or grows too large.

    >>> import gzip
    >>> gunzipped(gzip.compress(b"(a) Fees."), "fees.txt.gz")
    b'(a) Fees.'
    """
    # One byte more than is allowed tells that there is more.
    allowed = min(MAX_PART, max(_SMALL, MAX_RATIO * len(data))) + 1
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as stream:
            found = stream.read(allowed)
    except (zlib.error, EOFError, OSError) as error:
        raise SourceError(
            f"{name} is not a whole gzip file: {error}", hint="get it again, or unpack it"
        ) from error
    if len(found) == allowed:
        raise _refused(name, f"it has more than {(allowed - 1) / 1e6:,.0f} MB")
    return found


def _refused(name: str, reason: str) -> SourceError:
    return SourceError(
        f"{name} was not unpacked: {reason}",
        hint=f"allowed are {MAX_MEMBERS:,} members, {MAX_EXPANDED // 1_000_000} MB in all, "
        f"{MAX_PART // 1_000_000} MB a part, {MAX_RATIO} times the size",
    )
