"""A client of Milvus: time-outs on everything, errors in plain words."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable
from threading import BoundedSemaphore, Lock
from typing import Any, TypeVar

from pincite.core.errors import PinciteError, StoreError, StoreFull, StoreUnavailable
from pincite.core.extras import require
from pincite.core.store_settings import StoreSettings
from pincite.store.vectordb.address import Address, is_on
from pincite.store.vectordb.driver import Absent

# Making an index of vectors, loading and dropping take as long as they take.
PATIENT_SECONDS = 600.0
PAUSE_SECONDS = 0.2
# Codes of its own table of errors: no such collection, no such partition.
_ABSENT = (100, 200)
# What a question about a partition is told that another writer has just dropped: no code of these.
_ABSENT_WORDS = re.compile(r"partition name \S+ not found", re.I)
# What a server says that has just started: it knows its collections and does not serve them yet.
_NOT_YET = (
    "not loaded",
    "not fully loaded",
    "no available",
    "not available",
    "channel not found",
    "node not found",
    "node not match",
    "segment not loaded",
    "not ready",
    "service unavailable",
    "initializing",
)
# And one that takes no more: the limits of its settings, and what a disk says.
_NO_ROOM = ("quota exceeded", "disk limit exceeded", "memory limit exceeded", "no space left")
T = TypeVar("T")


class Client:
    """One connection to a server or a cluster, which many threads use at a time."""

    def __init__(self, address: Address, database: str, settings: StoreSettings) -> None:
        self.shown = address.shown
        self.seconds = settings.timeout_seconds
        self._address = address
        self._database = database
        self._room = BoundedSemaphore(settings.connections)
        self._lock = Lock()
        self._client: Any = None
        self._is_closed = False
        self.pymilvus = require("pymilvus", extra="milvus")
        self._grpc = require("grpc", extra="milvus")
        self._error: type[Exception] = self.pymilvus.MilvusException
        # It prints a trace of every error, also of those that are expected here.
        logging.getLogger("pymilvus").setLevel(logging.CRITICAL)

    def ask(self, work: Callable[..., T], *, patient: bool = False) -> T:
        """Return what a piece of work gives, which is handed the client and a time-out.

        A server that starts is given as long as an answer may take to serve its collections.
        """
        seconds = PATIENT_SECONDS if patient else self.seconds
        if not self._room.acquire(timeout=self.seconds):
            raise StoreUnavailable(
                f"{self.shown}: all connections were busy for {self.seconds:g} s",
                hint="raise store.connections, or ask for less at a time",
            )
        until = time.monotonic() + seconds
        try:
            while True:
                try:
                    return work(self._connected(), seconds)
                except (self._error, self._grpc.RpcError) as error:
                    if not self._is_starting(error) or time.monotonic() > until:
                        raise self._told(error) from error
                    time.sleep(PAUSE_SECONDS)
        finally:
            self._room.release()

    def _connected(self) -> Any:
        with self._lock:
            if self._is_closed:
                raise StoreError(f"{self.shown} was closed", hint="open the index again")
            if self._client is None:
                address = self._address
                scheme = "https" if is_on(address.options, "tls") else "http"
                token = f"{address.user}:{address.password}" if address.user else ""
                self._client = self.pymilvus.MilvusClient(
                    uri=f"{scheme}://{address.host}:{address.port}",
                    token=token,
                    db_name=self._database,
                    timeout=self.seconds,
                    dedicated=True,
                )
            return self._client

    def close(self) -> None:
        with self._lock:
            client, self._client, self._is_closed = self._client, None, True
        if client is not None:
            client.close()

    def _is_starting(self, error: Exception) -> bool:
        words = str(error).lower()
        return _code(error) is None and any(each in words for each in _NOT_YET)

    def _told(self, error: Exception) -> PinciteError:
        where, reason = self.shown, " ".join(str(error).split())[:300]
        code, words = _code(error), reason.lower()
        if getattr(error, "code", None) in _ABSENT or _ABSENT_WORDS.search(reason):
            return Absent(f"{where}: {reason}", hint="open the index again")
        if any(each in words for each in _NO_ROOM):
            return StoreFull(
                f"{where} has no room left: {reason}", hint="give the server more memory or disk"
            )
        if code == "DEADLINE_EXCEEDED" or "timeout" in words:
            return StoreUnavailable(
                f"{where} did not answer within {self.seconds:g} s",
                hint="is the server overloaded? store.timeout_seconds is how long to wait",
            )
        if code in ("UNAUTHENTICATED", "PERMISSION_DENIED"):
            return StoreError(f"{where} refused: {reason}", hint="are user and password right?")
        if code == "RESOURCE_EXHAUSTED":
            return StoreError(
                f"{where}: an answer is too long: {reason}",
                hint="raise proxy.grpc.serverMaxSendSize of the server",
            )
        if "not enough" in reason:
            return StoreError(
                f"{where} refused: {reason}", hint="ask for fewer replicas, or add query nodes"
            )
        if code is not None or "connect" in words:
            return StoreUnavailable(
                f"{where} cannot be reached: {reason}", hint="is the server running, the URL right?"
            )
        if self._is_starting(error):
            return StoreUnavailable(
                f"{where} does not serve the index: {reason}",
                hint="is the server starting, or was a collection released?",
            )
        return StoreError(f"{where}: {reason}", hint="is the index of another version?")


def _code(error: Exception) -> str | None:
    """Return the name of the status of a call that did not come through; None if it did."""
    code: Any = getattr(error, "code", None)
    code = code() if callable(code) else code
    name: str | None = getattr(code, "name", None)
    return name
