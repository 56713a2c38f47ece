"""One writer at a time, in a server that does not notice when a writer dies.

The one document that says which generation is current also names its writer. A writer raises the
number ``beat`` in it again and again. Who wants to write while somebody is named watches the
number: if it moves, the other one lives; if it stands still for the lease, the other one is dead,
and a new writer takes its place. Only waiting is measured, so no two clocks need to agree.

Every taking over raises ``term``. What a writer changes in the document, it changes on condition
that the term is still its own: one that was only asleep cannot switch anything any more.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from threading import Event, Thread
from typing import Any

from pincite.core.errors import IndexBusy, StoreError
from pincite.store.mongodb.client import Client, Collection

STATE = {"_id": "index"}
LEASE_SECONDS = 12.0
BEAT_SECONDS = 1.5
WATCH_SECONDS = 0.5


class Lease:
    """The right to write, from :meth:`take` to :meth:`give_back`."""

    def __init__(self, client: Client, state: Collection) -> None:
        self._client = client
        self._state = state
        self._ended = Event()
        self._is_lost = False
        self.term = 0

    def take(self) -> Mapping[str, Any]:
        """Take it and return the document; IndexBusy if another writer lives."""
        seen = self._seen()
        left = LEASE_SECONDS
        while seen["is_held"] and left > 0:
            time.sleep(WATCH_SECONDS)
            left -= WATCH_SECONDS
            now = self._seen()
            if now["is_held"] and now["beat"] != seen["beat"]:
                raise self._busy()
            seen = now
        free = {**STATE, "term": seen["term"], "beat": seen["beat"], "is_held": seen["is_held"]}
        change = {"$set": {"is_held": True}, "$inc": {"term": 1, "beat": 1}}
        with self._client.explained():
            taken: Mapping[str, Any] | None = self._state.find_one_and_update(
                free, change, return_document=True
            )
        if taken is None:
            raise self._busy()
        self.term = int(taken["term"])
        Thread(target=self._keep, name="pincite-lease", daemon=True).start()
        return taken

    def _busy(self) -> IndexBusy:
        where = self._client.address.shown
        return IndexBusy(f"another process is writing to {where}", hint="try again later")

    def _seen(self) -> Mapping[str, Any]:
        """Return the document; made if there is none."""
        first: dict[str, Any] = {"term": 0, "beat": 0, "is_held": False, "head": None, "kept": []}
        for is_last in (False, True):
            try:
                with self._client.explained():
                    found: Mapping[str, Any] | None = self._state.find_one(STATE)
                    if found is not None:
                        return found
                    self._state.insert_one({**STATE, **first})
            except StoreError as error:  # somebody else was faster
                if is_last or not self._client.is_duplicate(error):
                    raise
        return first

    def _keep(self) -> None:
        while not self._ended.wait(BEAT_SECONDS):
            try:
                self.change({"$inc": {"beat": 1}})
            except StoreError:
                # A server that is away comes back with the lease as it was, or it does not.
                if self._is_lost:
                    return

    def change(self, update: Mapping[str, Any]) -> None:
        """Change the document; StoreError if the lease was lost meanwhile."""
        with self._client.explained():
            done = self._state.update_one({**STATE, "term": self.term, "is_held": True}, update)
        if not done.matched_count:
            self._is_lost = True
        self.check()

    def check(self) -> None:
        """Raise StoreError if the lease is known to be lost."""
        if self._is_lost:
            raise StoreError(
                f"{self._client.address.shown}: another writer took over while this one was silent",
                hint="run the same command again; nothing of this run is visible",
            )

    def give_back(self) -> None:
        """Let the next writer in at once; without this it waits until the lease is over."""
        self._ended.set()
        self.change({"$set": {"is_held": False}, "$inc": {"beat": 1}})
