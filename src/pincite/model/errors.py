"""Errors: what happened, with which value, and what to do; addresses without their passwords.

    PinciteError             something we can explain            1 / 500
    ├── ConfigError          unknown or bad setting              2 / 400
    ├── SourceError          a document cannot be read           3 / 422
    ├── StoreError           index or place missing, damaged     4 / 404
    │   ├── StaleIndex       built with other settings           4 / 409
    │   ├── IndexBusy        another process is writing          4 / 423
    │   └── StoreUnavailable the store's server gives no answer  4 / 503
    │       └── StoreFull    the store has no room left          4 / 507
    ├── ModelError           a model does not fit                5 / 500
    ├── MissingExtra         an optional part is not installed   6 / 501
    └── ClusterError         other machines do not do their part 7 / 503

The numbers are the command line's exit code and the service's HTTP status. A message says what
happened and with which value; the hint says what to do about it. Mistakes of the programmer stay
``ValueError`` and ``TypeError``.
"""

from __future__ import annotations

import hashlib
import re
import string
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import ClassVar
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


# What values of the wrong kind, too large or nested without end do to whoever reads them. A reader
# of files or answers of strangers takes all of these as "this is not what it should be".
MALFORMED = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError)


def reason_of(error: Exception) -> str:
    """Return why something failed, in words: of the system's refusals without number and path.

    >>> reason_of(FileNotFoundError(2, "No such file or directory", "questions.jsonl"))
    'No such file or directory'
    """
    return getattr(error, "strerror", None) or str(error)


class PinciteError(Exception):
    """The base of every error that carries an explanation for the user.

    >>> str(PinciteError("rank.k must be int, got 'ten'", hint="write rank.k = 10"))
    "rank.k must be int, got 'ten'"
    """

    exit_code: ClassVar[int] = 1
    http_status: ClassVar[int] = 500

    def __init__(self, message: str, *, hint: str = "") -> None:
        # Errors are printed, logged, sent and kept: this is the one place that all pass.
        self.message = without_passwords(message)
        self.hint = without_passwords(hint)
        super().__init__(self.message)


class ConfigError(PinciteError):
    """A setting is unknown or has a value that does not fit."""

    exit_code = 2
    http_status = 400


class SourceError(PinciteError):
    """A document cannot be read."""

    exit_code = 3
    http_status = 422


class StoreError(PinciteError):
    """An index, a document or a place is missing or damaged."""

    exit_code = 4
    http_status = 404


class StaleIndex(StoreError):
    """The index was built with settings or a format other than the present ones."""

    http_status = 409


class IndexBusy(StoreError):
    """Another process holds the write lock of the index."""

    http_status = 423


class StoreUnavailable(StoreError):
    """The server of an index is gone or too slow; asking again may help."""

    http_status = 503


class StoreFull(StoreUnavailable):
    """An index has no room left, or may not be written; reading goes on."""

    http_status = 507


class ModelError(PinciteError):
    """A model file is damaged or does not fit the pipeline."""

    exit_code = 5


class MissingExtra(PinciteError):
    """An optional part is asked for and not installed."""

    exit_code = 6
    http_status = 501


class ClusterError(PinciteError):
    """The cluster cannot be reached, has no nodes left, or a node does not fit."""

    exit_code = 7
    http_status = 503


def require(module: str, *, extra: str) -> ModuleType:
    """Return the imported module, or raise MissingExtra that names the install command.

    >>> require("json", extra="none").__name__
    'json'
    """
    try:
        return import_module(module)
    except ImportError as error:
        # A package that is there but breaks on import is a different story: tell it unchanged.
        if error.name is not None and error.name.split(".")[0] != module.split(".")[0]:
            raise
        raise MissingExtra(
            f"{module} is not installed", hint=f'pip install "pincite[{extra}]"'
        ) from error
