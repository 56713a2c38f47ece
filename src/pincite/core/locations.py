"""How the place of an index is written: a folder, or the URL of a server."""

from __future__ import annotations

import hashlib
import re
import string
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

# Here, in a folder for each server, is what belongs to an index and does not come from documents.
FILES = "pincite-files"
# What a URL is written in, and what its scheme is: letters, digits and signs, a letter first.
_WORD = re.compile(r"[^\s'\"`<>]+")
_NOT_FIRST = string.digits + "+.-"
_IN_SCHEME = string.ascii_letters + _NOT_FIRST
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9.]+")


def is_server(location: str | Path) -> bool:
    """Tell whether an index is asked for by URL.

    >>> is_server("postgresql://localhost/laws"), is_server("laws"), is_server(Path("a://b"))
    (True, False, False)
    """
    return isinstance(location, str) and "://" in location


def redact_url(location: str | Path) -> str:
    """Return a location as people may read it: no password, and no query that may hold one.

    >>> redact_url("postgresql://ann:secret@db:5432/laws?password=secret#acts"), redact_url("laws")
    ('postgresql://ann@db:5432/laws#acts', 'laws')
    """
    if not is_server(location):
        return str(location)
    parts = urlsplit(str(location))
    if has_stray_password(str(location)):
        return f"{parts.scheme}://{parts.netloc.partition(':')[0]}"
    user, at, host = parts.netloc.rpartition("@")
    plain = f"{user.partition(':')[0]}{at}{host}"
    return urlunsplit(parts._replace(netloc=plain, query=""))


def has_stray_password(url: str) -> bool:
    """Tell whether a URL may have a password where a host or a path is looked for.

    >>> has_stray_password("postgresql://ann:a/b@db/laws")
    True
    """
    parts = urlsplit(url)
    return "@" not in parts.netloc and "@" in f"{parts.path}{parts.query}{parts.fragment}"


def without_passwords(text: str) -> str:
    """Return a text whose URLs are shown as people may read them; most texts have none.

    >>> without_passwords("store: got 'postgresql://ann:secret@db/laws'")
    "store: got 'postgresql://ann@db/laws'"
    >>> without_passwords("(see https://a.org/b; 2a://ann:x@db?password=y)")
    '(see https://a.org/b; 2a://ann@db'
    """
    return _WORD.sub(_without_password, text) if "://" in text else text


def _without_password(found: re.Match[str]) -> str:
    """Return a word as people may read it: it changes if it ends with a URL that has a secret."""
    before, mark, rest = found.group().partition("://")
    scheme = before[len(before.rstrip(_IN_SCHEME)) :].lstrip(_NOT_FIRST)
    # Only what may hold a password; other addresses are left as they are.
    if not scheme or not ("@" in rest or "password=" in rest):
        return found.group()
    return before[: len(before) - len(scheme)] + redact_url(f"{scheme}{mark}{rest}")


def beside(location: str | Path, folder: str = "") -> Path:
    """Return the folder of what is kept beside an index: runs, uploads, judgements.

    It is the index's own. An index in a server has one of its name in ``folder``.

    >>> beside("laws"), beside("postgresql://ann:secret@db:5432/laws#acts")
    (PosixPath('laws'), PosixPath('pincite-files/db-5432-laws-acts-7b40dc'))
    """
    if not is_server(location):
        return Path(location)
    parts = urlsplit(redact_url(location))
    host = parts.netloc.rpartition("@")[2]  # whoever reads it, it is the same index
    named = f"{host}{parts.path}#{parts.fragment}"
    digest = hashlib.sha256(f"{parts.scheme}://{named}".encode()).hexdigest()[:6]
    name = _NOT_IN_NAMES.sub("-", named).strip("-.")
    return Path(folder or FILES) / f"{name[:80]}-{digest}"
