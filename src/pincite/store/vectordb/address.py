"""Where an index is in a vector database: a URL and what it may say."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import parse_qsl, unquote, urlsplit

from pincite.core.errors import ConfigError
from pincite.core.locations import shown

DEFAULT_NAME = "pincite"
_NAME = re.compile(r"[a-z][a-z0-9_]{2,40}")
# What collections of an index are called behind its name: another's name may not look like it.
_OURS = re.compile(r"_(mark|records|vectors)(_|$)")


@dataclass(frozen=True, slots=True)
class Address:
    """A URL in parts; the password is in no text that is shown."""

    shown: str
    host: str
    port: int
    user: str
    password: str
    path: str
    name: str  # of the index, or nothing
    options: Mapping[str, str]


def address_of(url: str, *, port: int, options: Mapping[str, str], like: str) -> Address:
    """Return the parts of a URL; ConfigError if something in it is not known."""
    try:
        parts = urlsplit(url)
        given = parts.port or port
    except ValueError as error:
        raise ConfigError(f"{shown(url)}: {error}", hint=f"like {like}") from error
    said = dict(parse_qsl(parts.query, keep_blank_values=True))
    unknown = [key for key in said if key not in options]
    if unknown or not parts.hostname:
        what = f"{unknown[0]!r} means nothing" if unknown else "no host is named"
        known = ", ".join(sorted(options))
        raise ConfigError(f"{shown(url)}: {what}", hint=f"like {like}; after ?: {known}")
    return Address(
        shown(url),
        parts.hostname,
        given,
        unquote(parts.username or ""),
        unquote(parts.password or ""),
        parts.path.strip("/"),
        parts.fragment,
        {**options, **said},
    )


def index_name(name: str, where: str) -> str:
    """Return the name of an index, which collections begin with; ConfigError if they cannot."""
    name = name or DEFAULT_NAME
    if not _NAME.fullmatch(name) or _OURS.search(name):
        raise ConfigError(
            f"{name!r} is no name for an index in {where}",
            hint="small letters, digits and _, a letter first, 3 to 41 in all, "
            "and without _mark, _records, _vectors",
        )
    return name


def count_of(options: Mapping[str, str], key: str, most: int) -> int:
    """Return an option that is a number from 1."""
    value = options[key]
    if not value.isascii() or not value.isdigit() or not 1 <= int(value) <= most:
        raise ConfigError(f"{key}={value} is no number from 1 to {most}", hint=f"like {key}=2")
    return int(value)


def is_on(options: Mapping[str, str], key: str) -> bool:
    """Return an option that is true or false."""
    if options[key] not in ("true", "false"):
        raise ConfigError(
            f"{key}={options[key]} is neither true nor false", hint=f"like {key}=true"
        )
    return options[key] == "true"
