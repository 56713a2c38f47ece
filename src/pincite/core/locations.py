"""How the place of an index is written: a folder, or the URL of a server."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit, urlunsplit


def is_server(location: str | Path) -> bool:
    """Tell whether an index is asked for by URL.

    >>> is_server("postgresql://localhost/laws"), is_server("laws"), is_server(Path("a://b"))
    (True, False, False)
    """
    return isinstance(location, str) and "://" in location


def shown(location: str | Path) -> str:
    """Return a location as people may read it: no password, and no query that may hold one.

    >>> shown("postgresql://ann:secret@db:5432/laws?password=secret#acts"), shown("laws")
    ('postgresql://ann@db:5432/laws#acts', 'laws')
    """
    if not is_server(location):
        return str(location)
    parts = urlsplit(str(location))
    user, at, host = parts.netloc.rpartition("@")
    plain = f"{user.partition(':')[0]}{at}{host}"
    return urlunsplit(parts._replace(netloc=plain, query=""))
