"""Errors that only a service has, and the one shape in which all errors are told."""

from __future__ import annotations

import logging
from typing import Any

from pincite.model.errors import PinciteError, StoreError
from pincite.store.files import NO_ROOM

logger = logging.getLogger("pincite.serve")
WHICH = "which collection?"


class AddressTaken(StoreError):
    """Nobody can listen at the address: the service is not there, as an index may not be."""


class ServiceError(PinciteError):
    """A request is refused; ``status`` is the HTTP status."""

    def __init__(
        self, message: str, status: int, *, hint: str = "", retry_after: float | None = None
    ) -> None:
        super().__init__(message, hint=hint)
        self.status = status
        self.retry_after = retry_after


def overloaded(retry_after: float = 1.0) -> ServiceError:
    """Return the refusal of a service that has too much to do."""
    return ServiceError(
        "too many requests are waiting", 503, hint="come back later", retry_after=retry_after
    )


def took_too_long(seconds: float) -> ServiceError:
    return ServiceError(
        f"it was not done in {seconds:g} seconds", 504, hint="ask for less, or again later"
    )


def no_room(error: OSError) -> ServiceError:
    """Return what is told of a refusal of the system: a full disk is no mistake of ours."""
    if error.errno in NO_ROOM:
        return ServiceError("this service has no room left", 507, hint="come back later")
    logger.error("a request failed", exc_info=error)
    return ServiceError("something went wrong here", 500)


def status_of(error: PinciteError) -> int:
    return error.status if isinstance(error, ServiceError) else error.http_status


def error_body(error: PinciteError, request_id: str = "") -> dict[str, Any]:
    """Return an error as it is told; OpenAI's clients look for ``message``, ``type``, ``code``."""
    status, kind, hint = status_of(error), type(error).__name__, error.hint
    if isinstance(error, ServiceError):
        kind = _KINDS.get(status, kind)
    return {
        "error": {
            "kind": kind,
            "type": kind,
            "code": str(status),
            "message": error.message,
            "hint": next((call for begin, call in _CALLS if hint.startswith(begin)), hint),
            "request_id": request_id,
        }
    }


# What the library's errors tell a user of the command line, as a caller of the service does it.
_CALLS = (
    ("try: pincite search ", 'try: POST /v1/search with {"query": ...}'),
    ("try: pincite show ", 'try: POST /v1/show with {"locator": ..., "document": ...}'),
    ("see: pincite show ", 'see: POST /v1/show with {"locator": ...}'),
    ("see: pincite list", "see: GET /v1/documents"),
)

_KINDS = {
    400: "BadRequest",
    401: "NotAuthenticated",
    403: "NotAllowed",
    404: "NotFound",
    405: "NotAllowed",
    409: "Conflict",
    413: "TooLarge",
    415: "BadRequest",
    421: "WrongHost",
    422: "BadRequest",
    429: "TooManyRequests",
    503: "Overloaded",
    504: "TookTooLong",
    507: "StoreFull",
}
