"""A client of Chroma's HTTP interface: time-outs on everything, errors in plain words.

Chroma's own Python client waits for ever, beginning with its constructor.
"""

from __future__ import annotations

from threading import Lock
from typing import Any

from pincite.core.errors import StoreError, StoreFull, StoreUnavailable
from pincite.core.store_settings import StoreSettings
from pincite.store.vectordb.address import Address, is_on
from pincite.store.vectordb.driver import Absent

CONNECT_SECONDS = 5.0
# Deleting records and adding vectors takes as long as there are some.
PATIENT_SECONDS = 600.0
_CONFLICT, _ABSENT = 409, 404
_REFUSED = (401, 403)
_TOO_MANY, _FAULT = 429, 500
# What its database and its files say of a disk without room.
_NO_ROOM = ("disk is full", "no space left", "quota exceeded")


class Conflict(StoreError):
    """There is a collection of that name already."""


class Client:
    """Some connections to a server, which many threads use at a time."""

    def __init__(self, address: Address, settings: StoreSettings) -> None:
        import httpx

        self.shown = address.shown
        self.seconds = settings.timeout_seconds
        self._httpx = httpx
        scheme = "https" if is_on(address.options, "tls") else "http"
        host = f"[{address.host}]" if ":" in address.host else address.host
        token = address.password
        # Servers of one's own ask for the first, Chroma's for the second.
        headers = {"Authorization": f"Bearer {token}", "X-Chroma-Token": token} if token else {}
        self._session = self._httpx.Client(
            base_url=f"{scheme}://{host}:{address.port}/api/v2",
            headers=headers,
            timeout=self._patience(self.seconds),
            limits=self._httpx.Limits(max_connections=settings.connections),
        )
        database = f"tenants/{address.options['tenant']}/databases/{address.options['database']}"
        self._collections = f"/{database}/collections"
        self._ids: dict[str, str] = {}
        self._lock = Lock()

    def _patience(self, seconds: float) -> Any:
        return self._httpx.Timeout(seconds, connect=min(seconds, CONNECT_SECONDS))

    def close(self) -> None:
        self._session.close()

    def heartbeat(self) -> int:
        """Return the server's time in nanoseconds."""
        return int(self._ask("GET", "/heartbeat")["nanosecond heartbeat"])

    def version(self) -> str:
        """Return the server's version as it tells it."""
        return str(self._ask("GET", "/version"))

    def names(self) -> list[str]:
        """Return the names of all collections."""
        found: list[str] = []
        while True:
            query = f"?limit=1000&offset={len(found)}"
            some = [each["name"] for each in self._ask("GET", self._collections + query)]
            found += some
            if len(some) < 1000:
                return found

    def create(self, name: str, metadata: Any, hnsw: Any) -> None:
        """Make a collection; Conflict if there is one of that name."""
        wanted = {"name": name, "metadata": metadata, "configuration": {"hnsw": hnsw}}
        self._ask("POST", self._collections, wanted)

    def metadata(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = self._ask("GET", f"{self._collections}/{name}")["metadata"]
        return found

    def drop(self, name: str) -> None:
        self._ask("DELETE", f"{self._collections}/{name}", seconds=PATIENT_SECONDS)

    def of(self, name: str, action: str, wanted: Any, *, patient: bool = False) -> Any:
        """Return what a collection answers; Absent if it is not there."""
        with self._lock:
            known = self._ids.get(name)
        if known is None:
            known = str(self._ask("GET", f"{self._collections}/{name}")["id"])
            with self._lock:
                self._ids[name] = known
        seconds = PATIENT_SECONDS if patient else self.seconds
        path = f"{self._collections}/{known}/{action}"
        return self._ask("POST", path, wanted, seconds=seconds)

    def _ask(self, method: str, path: str, wanted: Any = None, seconds: float = 0) -> Any:
        """Return the answer to a request; one that met a dead connection is sent once more."""
        httpx = self._httpx
        if self._session.is_closed:
            raise StoreError(f"{self.shown} was closed", hint="open the index again")
        patience = self._patience(seconds or self.seconds)
        for is_last in (False, True):
            try:
                answer = self._session.request(method, path, json=wanted, timeout=patience)
                if answer.status_code < 400:
                    return answer.json()
                raise self._refused(answer.status_code, answer.text)
            except httpx.PoolTimeout as error:
                raise StoreUnavailable(
                    f"{self.shown}: all connections were busy for {self.seconds:g} s",
                    hint="raise store.connections, or ask for less at a time",
                ) from error
            except httpx.TimeoutException as error:
                raise StoreUnavailable(
                    f"{self.shown} did not answer within {self.seconds:g} s",
                    hint="is the server overloaded? store.timeout_seconds is how long to wait",
                ) from error
            except (httpx.TransportError, ValueError) as error:
                if is_last or isinstance(error, (httpx.ConnectError, ValueError)):
                    raise StoreUnavailable(
                        f"{self.shown} cannot be reached: {error}",
                        hint="is the server running, the URL right?",
                    ) from error
        raise AssertionError("unreachable")

    def _refused(self, status: int, text: str) -> StoreError:
        reason = f"{self.shown}: {' '.join(text.split())[:300]}"
        if status == _ABSENT:
            return Absent(reason, hint="open the index again")
        if status == _CONFLICT:
            return Conflict(reason, hint="try again")
        if status in _REFUSED:
            return StoreError(reason, hint="the URL's password is sent as the token: is it right?")
        if any(words in text.lower() for words in _NO_ROOM):
            return StoreFull(f"{reason}: it has no room left", hint="free some disk space")
        if status == _TOO_MANY or status >= _FAULT:
            return StoreUnavailable(f"{reason} ({status})", hint="what does the server's log say?")
        return StoreError(reason, hint="is the server of another version than 1.5?")
