"""A client of Chroma's HTTP interface: time-outs on everything, errors in plain words.

Chroma's own Python client waits for ever, beginning with its constructor.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from threading import Lock
from typing import Any, NamedTuple
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

import numpy as np

from pincite.model.errors import ConfigError, StoreError, StoreUnavailable, redact_url
from pincite.model.settings import StoreSettings
from pincite.store.files import Array
from pincite.store.server.engine_parts import (
    CONNECTIONS,
    Absent,
    Conflict,
    Troubles,
    key_of,
    packed,
    pieces,
)

LIKE = "like chroma://localhost:8000/laws"
OPTIONS = {"tenant": "default_tenant", "database": "default_database", "tls": "false"}
DEFAULT_NAME, DEFAULT_PORT = "pincite", 8000
CONNECT_SECONDS = 5.0
# Deleting records and adding vectors takes as long as there are some.
PATIENT_SECONDS = 600.0
VECTOR_ROWS = 2_000
MAX_HOMES = 200  # in one question
# Of its index of vectors: links of each, how many are looked at while building and searching.
HNSW = {"space": "ip", "max_neighbors": 16, "ef_construction": 200, "ef_search": 300}
# Records and marks have to have one, too, and nobody asks it anything.
NO_HNSW = {"space": "l2", "max_neighbors": 4, "ef_construction": 10}
MAX_BODY = 1_000_000  # signs of a record's body
_HEAD = re.compile(r"(\d+)([jz])")
_NAME = re.compile(r"[a-z][a-z0-9_]{2,40}")
# What collections of an index are called behind its name: another's name may not look like it.
_OURS = re.compile(r"_(mark|records|vectors)(_|$)")
_CONFLICT, _ABSENT = 409, 404
_REFUSED = (401, 403)
_TOO_MANY, _FAULT = 429, 500
# What its database and its files say of a disk without room.
_NO_ROOM = ("disk is full", "no space left", "quota exceeded")


class ChromaRecord(NamedTuple):
    """A row of the contract's tables, or a part of one."""

    id: str  # begins with the number of its home
    keys: Sequence[int]  # numbers that it can be found by, by place
    body: str


class Near(NamedTuple):
    """A vector that is near."""

    home: int
    number: int
    score: float  # inner product


# Records that say which homes there are.
_HOMES = key_of("homes", "", "")


def records_of(record_id: str, keys: Sequence[int], value: Any) -> Iterator[ChromaRecord]:
    """Yield a value as one record, or as the parts of a long one; the first tells how many."""
    text = packed(value)
    room = MAX_BODY - 12  # for the head
    parts = [text[at : at + room] for at in range(0, len(text), room)]
    yield ChromaRecord(record_id, keys, f"{len(parts)}{parts[0]}")
    for number, part in enumerate(parts[1:], 1):
        yield ChromaRecord(part_id(record_id, number), (), part)


def part_id(record_id: str, number: int) -> str:
    return f"{record_id}/+{number}"


def parts_of(body: str) -> tuple[int, str]:
    """Return how many parts a value has, and the text of the first.

    >>> parts_of("12zABC")
    (12, 'zABC')
    """
    head = _HEAD.match(body)
    if head is None:
        raise StoreError("a record is damaged", hint="copy the index anew")
    return int(head[1]), body[head.end(1) :]


def _url_parts(url: str) -> tuple[SplitResult, dict[str, str]]:
    """Return the parts of a URL and its options; ConfigError if something in it is not known."""
    parts = urlsplit(url)
    said = dict(parse_qsl(parts.query, keep_blank_values=True))
    unknown = [key for key in said if key not in OPTIONS]
    options, problem = {**OPTIONS, **said}, ""
    if parts.fragment:
        problem = "nothing may stand after #"
    elif unknown or not parts.hostname:
        problem = f"{unknown[0]!r} means nothing" if unknown else "no host is named"
    elif options["tls"] not in ("true", "false"):
        problem = f"tls={options['tls']} is neither true nor false"
    if problem:
        known = ", ".join(sorted(OPTIONS))
        raise ConfigError(f"{redact_url(url)}: {problem}", hint=f"{LIKE}; after ?: {known}")
    return parts, options


class ChromaClient:
    """The collections of one index, over some connections that many threads use at a time."""

    def __init__(self, url: str, settings: StoreSettings) -> None:
        parts, options = _url_parts(url)
        self.shown = redact_url(url)
        self.name = parts.path.strip("/") or DEFAULT_NAME
        if not _NAME.fullmatch(self.name) or _OURS.search(self.name):
            raise ConfigError(
                f"{self.name!r} is no name for an index in Chroma",
                hint="small letters, digits and _, a letter first, 3 to 41 in all, "
                "and without _mark, _records, _vectors",
            )
        self.seconds = settings.timeout_seconds
        self._troubles = Troubles(self.shown, self.seconds)
        import httpx

        self._httpx = httpx
        scheme = "https" if options["tls"] == "true" else "http"
        host = f"[{parts.hostname}]" if ":" in str(parts.hostname) else parts.hostname
        token = unquote(parts.password or "")
        # Servers of one's own ask for the first, Chroma's for the second.
        headers = {"Authorization": f"Bearer {token}", "X-Chroma-Token": token} if token else {}
        self._session = self._httpx.Client(
            base_url=f"{scheme}://{host}:{parts.port or DEFAULT_PORT}/api/v2",
            headers=headers,
            timeout=self._patience(self.seconds),
            limits=self._httpx.Limits(max_connections=CONNECTIONS),
        )
        database = f"tenants/{options['tenant']}/databases/{options['database']}"
        self._collections = f"/{database}/collections"
        self._ids: dict[str, str] = {}
        self._lock = Lock()

    def close(self) -> None:
        self._session.close()

    def stamp(self) -> int:
        """Return the server's time in nanoseconds."""
        return int(self._ask("GET", "/heartbeat")["nanosecond heartbeat"])

    def version(self) -> str:
        """Return the server's version as it tells it."""
        return str(self._ask("GET", "/version"))

    # Collections

    def names(self, prefix: str = "") -> list[str]:
        """Return the names of all collections, or the rest of those that begin with a prefix."""
        found: list[str] = []
        while True:
            query = f"?limit=1000&offset={len(found)}"
            some = [each["name"] for each in self._ask("GET", self._collections + query)]
            found += some
            if len(some) < 1000:
                return [each.removeprefix(prefix) for each in found if each.startswith(prefix)]

    def create(self, name: str, metadata: Any, hnsw: Any) -> None:
        """Make a collection, if there is none of that name."""
        wanted = {"name": name, "metadata": metadata, "configuration": {"hnsw": hnsw}}
        # A request that was sent twice may be answered by a conflict with itself.
        with suppress(Conflict):
            self._ask("POST", self._collections, wanted)

    def drop(self, name: str) -> None:
        """Remove a collection, if it is there."""
        with suppress(Absent):
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

    # Marks: of those that want to make a collection of one name, one succeeds. Such a server has no
    # transactions, no unique keys and no updates on a condition; this is all that a commit needs.

    def marks(self, kind: str) -> list[int]:
        """Return the numbers of the marks of a kind, in order."""
        return sorted(int(number) for number in self.names(f"{self.name}_mark_{kind}_"))

    def make_mark(self, name: str, note: str) -> bool:
        """Make a mark; False if there is one of that name already. Durable when it returns."""
        self.create(f"{self.name}_mark_{name}", {"note": note}, NO_HNSW)
        return self.note(name) == note

    def note(self, name: str) -> str | None:
        """Return the note of a mark; None if there is no such mark."""
        with suppress(Absent):
            path = f"{self._collections}/{self.name}_mark_{name}"
            return str(self._ask("GET", path)["metadata"]["note"])
        return None

    def drop_mark(self, name: str) -> None:
        self.drop(f"{self.name}_mark_{name}")

    # Records: each has the home that a writer chose for what it writes under one name.

    def prepare(self) -> None:
        """Make what records are kept in, if need be; only a writer does."""
        self.create(f"{self.name}_records", {"made_by": "pincite"}, NO_HNSW)

    def put(self, home: int, records: Sequence[ChromaRecord], *, replace: bool = False) -> None:
        """Add records, or replace those of the same id; durable when it returns."""
        wanted = {
            "ids": [record.id for record in records],
            "embeddings": [[0.0, 0.0]] * len(records),
            # Beside each other, not as documents: those are indexed word by word.
            "metadatas": [
                {
                    "home": home,
                    "body": record.body,
                    **{f"key{place}": key for place, key in enumerate(record.keys)},
                }
                for record in records
            ],
        }
        self.of(f"{self.name}_records", "upsert" if replace else "add", wanted)

    def by_id(self, homes: Collection[int], ids: Sequence[str]) -> dict[str, str]:
        """Return the bodies of the records of these ids that are there."""
        return self._bodies(homes, {"ids": list(ids)}) if ids else {}

    def by_key(self, homes: Collection[int], place: int, keys: Sequence[int]) -> dict[str, str]:
        """Return the bodies of some homes' records whose key at a place is one of these."""
        # Other homes are left out here: a condition on them would be looked up for itself.
        where = {"where": {f"key{place}": {"$in": list(keys)}}}
        return self._bodies(homes, where) if keys else {}

    def _bodies(self, homes: Collection[int], wanted: Mapping[str, Any]) -> dict[str, str]:
        found = self.of(f"{self.name}_records", "get", {**wanted, "include": ["metadatas"]})
        pairs = zip(found["ids"], found["metadatas"], strict=True)
        return {record_id: known["body"] for record_id, known in pairs if known["home"] in homes}

    def add_home(self, home: int) -> None:
        """Make a new home."""
        self.put(home, [ChromaRecord(f"{home}/home", (_HOMES,), "")])

    def homes(self) -> set[int]:
        """Return all homes that something may be left of."""
        wanted = {"where": {"key0": _HOMES}, "include": []}
        ids = self.of(f"{self.name}_records", "get", wanted)["ids"]
        return {int(each.partition("/")[0]) for each in ids}

    def drop_homes(self, homes: Collection[int]) -> None:
        """Remove homes with all that is in them."""
        present = self.names(f"{self.name}_vectors_") if homes else []
        for home in homes:
            if str(home) in present:
                self.drop(f"{self.name}_vectors_{home}")
        for some in pieces(sorted(homes), MAX_HOMES):
            wanted = {"where": {"home": {"$in": some}}}
            self.of(f"{self.name}_records", "delete", wanted, patient=True)

    def remove(self) -> None:
        """Remove all that is of the index, marks last."""
        known = self.names(f"{self.name}_")
        vectors = [name for name in known if name.startswith("vectors_")]
        marks = [name for name in known if name.startswith("mark_")]
        for name in (*vectors, "records", *marks):
            self.drop(f"{self.name}_{name}")

    # Vectors: a collection for each home, so that no search needs a filter, which is slow.

    def put_vectors(self, home: int, vectors: Array) -> None:
        """Add vectors, numbered from 0; durable when it returns."""
        name = f"{self.name}_vectors_{home}"
        self.create(name, {"made_by": "pincite"}, HNSW)
        rows = np.ascontiguousarray(vectors, dtype="<f4")
        for at in range(0, len(rows), VECTOR_ROWS):
            block = rows[at : at + VECTOR_ROWS]
            wanted = {
                "ids": [str(number) for number in range(at, at + len(block))],
                "embeddings": [base64.b64encode(row.tobytes()).decode() for row in block],
            }
            self.of(name, "add", wanted, patient=True)

    def vectors(self, home: int, numbers: Sequence[int]) -> dict[int, Array]:
        """Return the vectors of these numbers that are there."""
        wanted = {"ids": [str(number) for number in numbers], "include": ["embeddings"]}
        found = self.of(f"{self.name}_vectors_{home}", "get", wanted)
        pairs = zip(found["ids"], found["embeddings"], strict=True)
        return {int(number): np.asarray(row, dtype=np.float32) for number, row in pairs}

    def near(
        self,
        homes: Collection[int],
        vector: Array,
        wanted: int,
        among: Mapping[int, Array] | None = None,
    ) -> list[Near]:
        """Return the nearest vectors of some homes by the server's own index, in any order.

        Args:
            among: of each home, only these numbers count.
        """
        found: list[Near] = []
        for home in homes:
            asked: dict[str, Any] = {
                "query_embeddings": [vector.astype(np.float32).tolist()],
                "n_results": wanted,
                "include": ["distances"],
            }
            if among is not None:
                asked["ids"] = [str(number) for number in among[home].tolist()]
                asked["n_results"] = min(wanted, len(asked["ids"]))
            answer = self.of(f"{self.name}_vectors_{home}", "query", asked)
            pairs = zip(answer["ids"][0], answer["distances"][0], strict=True)
            found += [Near(home, int(number), 1.0 - far) for number, far in pairs]
        return found

    # Requests

    def _patience(self, seconds: float) -> Any:
        return self._httpx.Timeout(seconds, connect=min(seconds, CONNECT_SECONDS))

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
                raise self._troubles.busy() from error
            except httpx.TimeoutException as error:
                raise self._troubles.slow() from error
            except (httpx.TransportError, ValueError) as error:
                if is_last or isinstance(error, (httpx.ConnectError, ValueError)):
                    raise self._troubles.unreachable(error) from error
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
            return self._troubles.full(" ".join(text.split())[:300])
        if status == _TOO_MANY or status >= _FAULT:
            return StoreUnavailable(f"{reason} ({status})", hint="what does the server's log say?")
        return StoreError(reason, hint="is the server of another version than 1.5?")
