"""All errors that Pincite raises on purpose.

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

from typing import ClassVar

from pincite.core.locations import without_passwords

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
    """The server of an index has no room left; reading goes on."""

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
