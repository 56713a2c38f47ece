"""What can go wrong between a client and a service, in the words of whoever knows it."""

from __future__ import annotations

import json
from typing import Any

from pincite.model.errors import MALFORMED, PinciteError

MAX_MESSAGE_CHARS = 500


class RequestRefused(PinciteError):
    """The service answered with an error; message and hint are its own."""

    def __init__(
        self, message: str, *, status: int, kind: str = "", hint: str = "", request_id: str = ""
    ) -> None:
        super().__init__(message, hint=hint)
        self.status = status
        self.kind = kind  # as the service calls it: "StoreError", "NotAllowed"
        self.request_id = request_id


class Unreachable(PinciteError):
    """The service did not answer, or not to the end."""


class Unreadable(PinciteError):
    """The answer is not one of a service of this kind."""


def refusal(status: int, body: bytes) -> RequestRefused:
    """Return the error that an answer tells; also for one that no service of ours wrote."""
    try:
        told = json.loads(body)["error"]
        facts = {
            name: str(told[name])[:MAX_MESSAGE_CHARS]
            for name in ("kind", "hint", "request_id")
            if isinstance(told.get(name), str)
        }
        return RequestRefused(str(told["message"])[:MAX_MESSAGE_CHARS], status=status, **facts)
    except MALFORMED:
        return RequestRefused(
            f"the server answered with status {status}",
            status=status,
            hint="is this the address of a Pincite service?",
        )


def unreadable(error: Exception) -> Unreadable:
    """Return the error for an answer that lacks what it should have."""
    return Unreadable(
        f"the answer of the server is not understood: {type(error).__name__}: {error}",
        hint="is this the address of a Pincite service, of about this version?",
    )


def broken_off(error: Any) -> Unreachable:
    """Return the error for a stream that ended too early."""
    return Unreachable(f"the answer broke off: {error}", hint="ask again")
