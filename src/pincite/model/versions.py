"""Numbers of releases, which look like numbers of places."""

from __future__ import annotations

import re

from pincite.model.patterns import lazy_pattern

# "version 2.1", "OpenSSL 3.0", "HTTP/1.1"; "2.5.1 release". Names of documents ("NEC 250.122")
# have no small letter before a capital one.
MAX_BESIDE = 40
_VERSION_BEFORE = lazy_pattern(
    r"(?:\b(?i:version|versione|versión|release|rev|revision|upgrade[ds]?\ to|ver|v)\b\.?\s{0,2}"
    r"|\b\w{0,30}[a-z][A-Z]\w{0,30}\s|\w/)$"
)
_VERSION_BEHIND = lazy_pattern(
    r"\s{1,2}(?:(?:release|version|upgrade|build|beta|alpha|rc\d?)\b"
    r"|(?:or|and)\ (?:later|newer)\b)",
    re.IGNORECASE,
)


def is_version(text: str, start: int, end: int) -> bool:
    """Return whether a number is of a release: a word for it, or a product's name, is beside it.

    >>> [is_version(text, 8, 11) for text in ("OpenSSL 3.0", "section 3.0", "see the 3.0 release")]
    [True, False, True]
    """
    before = text[max(0, start - MAX_BESIDE) : start]
    return bool(_VERSION_BEFORE.search(before) or _VERSION_BEHIND.match(text, end))
