"""Who is asking, and what that person or program may do."""

from __future__ import annotations

from dataclasses import dataclass

from pincite.serve.errors import ServiceError
from pincite.serve.keys import Key


@dataclass(frozen=True, slots=True)
class Caller:
    """What a request may do. Without keys everybody on this machine is the owner."""

    id: str  # of the key; "owner" without keys
    scopes: frozenset[str]
    collections: tuple[str, ...] = ()  # empty: all
    access: tuple[str, ...] | None = None  # None: sees every document
    rate_per_minute: int | None = None
    name: str = ""  # of the key, as its maker wrote it

    @property
    def signature(self) -> str:
        """Who it is, in judgements: a name for people, the id because names may be the same."""
        return f"{self.name} ({self.id})" if self.name else self.id

    def may(self, scope: str) -> bool:
        return scope in self.scopes or "admin" in self.scopes

    def check(self, scope: str) -> None:
        """Raise the refusal unless the caller may do such things."""
        if not self.may(scope):
            raise ServiceError(
                f"this key has no scope {scope!r}", 403, hint=f"pincite keys add --scope {scope}"
            )

    def may_use(self, collection: str) -> bool:
        return not self.collections or collection in self.collections


OWNER = Caller("owner", frozenset({"admin"}))


def caller_of(key: Key) -> Caller:
    return Caller(
        key.id, frozenset(key.scopes), key.collections, key.access, key.rate_per_minute, key.name
    )
