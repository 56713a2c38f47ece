"""MongoDB behind the contract of ``store/server``: time-outs on everything, errors in plain words.

Its documents are rows of the contract's tables. Each is marked with its segment's home: the
segment's name and the term of the writer that wrote it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from threading import Lock
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import numpy as np

from pincite.model.errors import (
    ConfigError,
    PinciteError,
    StaleIndex,
    StoreError,
    redact_url,
    require,
)
from pincite.model.settings import StoreSettings
from pincite.store.files import Array
from pincite.store.manifest import manifest_of
from pincite.store.server.contract import TABLES, Row, StoreEngine
from pincite.store.server.engine_parts import (
    CONNECTIONS,
    Lease,
    SegmentHomes,
    Troubles,
    batches,
    gone,
    nearest_of_all,
    pieces,
)

FORMAT = 1
STATE = {"_id": "index"}
Record = dict[str, Any]
MAX_KEYS = 5_000  # names of blobs in one question
# A document of the server has at most 16 MB; a value that is longer than this is cut.
MAX_VALUE = 4_000_000
BATCH_ROWS = 1_000
VECTOR_BLOCK_BYTES = 1_000_000
# Of pymongo, which is an extra: the rest of the program is checked without it.
Collection = Any
DEFAULT_NAME = "pincite"
CONNECT_SECONDS = 5.0
# Deleting old segments and making indexes takes as long as there are rows.
PATIENT_SECONDS = 3600.0
_NAME = re.compile(r"[a-z_][a-z0-9_]{0,40}")
# What a server says when it may not, and when it has no room: codes of its own table of errors.
_REFUSED = (13, 18, 31, 8000)
_FULL = (14031,)


class MongoAddress:
    """Where an index is: ``mongodb://user@host:port/database#name``."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self.database = parts.path.strip("/")
        self.name = parts.fragment or DEFAULT_NAME
        self.shown = redact_url(url)
        if not self.database or "/" in self.database:
            raise ConfigError(
                f"{self.shown} names no database", hint="like mongodb://localhost:27017/library"
            )
        if not _NAME.fullmatch(self.name):
            raise ConfigError(
                f"{self.name!r} is no name for an index in MongoDB",
                hint="after #: small letters, digits and _, at most 41",
            )
        self.url = urlunsplit(parts._replace(fragment=""))


class MongoClient:
    """One pool of connections to a server, or to a replica set."""

    def __init__(self, address: MongoAddress, settings: StoreSettings) -> None:
        self.address = address
        self.seconds = settings.timeout_seconds
        self._troubles = Troubles(address.shown, self.seconds)
        self._pymongo = require("pymongo", extra="mongodb")
        self._errors = require("pymongo.errors", extra="mongodb")
        self._bson_errors = require("bson.errors", extra="mongodb")
        milliseconds = int(1000 * self.seconds)
        try:
            self._client = self._pymongo.MongoClient(
                address.url,
                appname="pincite",
                maxPoolSize=CONNECTIONS + 1,  # one for the writer's lease
                waitQueueTimeoutMS=milliseconds,
                serverSelectionTimeoutMS=min(milliseconds, int(1000 * CONNECT_SECONDS)),
                connectTimeoutMS=int(1000 * CONNECT_SECONDS),
                socketTimeoutMS=milliseconds,
                connect=False,
            )
        except (self._errors.PyMongoError, ValueError) as error:  # of the URL: nothing is sent yet
            raise self._told(error) from error

    def collection(self, name: str, *, journalled: bool = False) -> Collection:
        """Return a collection that is read and written by majority, from the primary.

        A server's journal is one sequence: what is ``journalled`` has all before it on disk, too.
        """
        concern: dict[str, Any] = {"j": True} if journalled else {}
        with self.explained():
            database = self._client.get_database(
                self.address.database,
                read_preference=self._pymongo.ReadPreference.PRIMARY,
                read_concern=self._pymongo.read_concern.ReadConcern("majority"),
                write_concern=self._pymongo.WriteConcern("majority", **concern),
            )
            return database[name]

    def index_model(self, keys: list[tuple[str, int]], **options: Any) -> Any:
        """Return the description of an index."""
        return self._pymongo.IndexModel(keys, **options)

    def set_validator(self, name: str, validator: Mapping[str, Any]) -> None:
        """Let the server refuse documents of another shape, if it can."""
        with self.explained():
            database = self._client[self.address.database]
            if name in database.list_collection_names():
                # Not every server that speaks the protocol knows this command.
                with suppress(self._errors.OperationFailure):
                    database.command("collMod", name, validator=validator)
            else:
                database.create_collection(name, validator=validator)

    def options_of(self, name: str) -> Mapping[str, Any]:
        """Return the options that the server keeps of a collection."""
        with self.explained():
            found = self._client[self.address.database].list_collections(filter={"name": name})
            kept = {each["name"]: each.get("options", {}) for each in found}
            options: Mapping[str, Any] = kept.get(name, {})
            return options

    def now(self) -> Any:
        """Return the server's time."""
        with self.explained():
            return self._client.admin.command("hello")["localTime"]

    def version(self) -> str:
        """Return the server's version as it tells it."""
        with self.explained():
            return str(self._client.admin.command("buildInfo")["version"])

    def close(self) -> None:
        self._client.close()

    def patient(self) -> AbstractContextManager[None]:
        """Let what is done inside take longer than an answer may."""
        wait: AbstractContextManager[None] = self._pymongo.timeout(PATIENT_SECONDS)
        return wait

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Turn what the driver raises into an error that says what to do."""
        try:
            yield
        except PinciteError:
            raise
        except (self._errors.PyMongoError, self._bson_errors.BSONError) as error:
            raise self._told(error) from error
        except UnicodeEncodeError as error:  # half a character
            raise self._troubles.half_character(error.object) from error

    def is_duplicate(self, error: StoreError) -> bool:
        """Tell whether an error means that there is such a document already."""
        cause = error.__cause__
        if isinstance(cause, self._errors.BulkWriteError):
            details: Any = cause.details
            return any(each.get("code") == 11000 for each in details.get("writeErrors", ()))
        return isinstance(cause, self._errors.DuplicateKeyError)

    def _told(self, error: Exception) -> PinciteError:
        errors, where = self._errors, self.address.shown
        reason = " ".join(str(error).split())[:300]
        if isinstance(error, (errors.ConfigurationError, ValueError)):  # a bad URL
            return ConfigError(f"{where}: {reason}", hint="like mongodb://localhost:27017/library")
        if isinstance(error, errors.WaitQueueTimeoutError):
            return self._troubles.busy()
        slow = (errors.NetworkTimeout, errors.ExecutionTimeout, errors.WTimeoutError)
        if isinstance(error, slow):
            return self._troubles.slow()
        if isinstance(error, errors.ConnectionFailure):
            return self._troubles.unreachable(reason)
        code = getattr(error, "code", None)
        if code in _REFUSED:
            return StoreError(
                f"{where} refused: {reason}", hint="the user needs the right to read and write"
            )
        if code in _FULL:
            return self._troubles.full(reason)
        return StoreError(f"{where}: {reason}", hint="is the index of another version?")


class MongoLease(Lease):
    """A document that names its writer by ``term``; the writer raises ``beat`` again and again.

    It also says which generation is current. Every taking over raises ``term``, and what a writer
    changes in it, it changes on condition that the term is still its own: one that was only asleep
    cannot switch anything any more.
    """

    def __init__(self, client: MongoClient, state: Collection) -> None:
        super().__init__(client.address.shown)
        self._client = client
        self._state = state
        self._seen: Mapping[str, Any] = {}
        self.term = 0

    def take(self) -> Mapping[str, Any]:
        """Take it and return the document; IndexBusy if another writer lives."""
        self.wait()
        free = {**STATE, **{key: self._seen[key] for key in ("term", "beat", "is_held")}}
        change = {"$set": {"is_held": True}, "$inc": {"term": 1, "beat": 1}}
        with self._client.explained():
            taken: Mapping[str, Any] | None = self._state.find_one_and_update(
                free, change, return_document=True
            )
        if taken is None:
            raise self.busy()
        self.term = int(taken["term"])
        self.begin()
        return taken

    def look(self) -> tuple[int, int] | None:
        self._seen = self._document()
        return (self._seen["term"], self._seen["beat"]) if self._seen["is_held"] else None

    def _document(self) -> Mapping[str, Any]:
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

    def beat(self) -> None:
        self.change({"$inc": {"beat": 1}})

    def change(self, update: Mapping[str, Any]) -> None:
        """Change the document; StoreError if the lease was lost meanwhile."""
        with self._client.explained():
            done = self._state.update_one({**STATE, "term": self.term, "is_held": True}, update)
        if not done.matched_count:
            self._is_lost = True
        self.check()

    def give_back(self) -> None:
        """Let the next writer in at once; without this it waits until the lease is over."""
        self.end()
        self.change({"$set": {"is_held": False}, "$inc": {"beat": 1}})


def record_of(table: str, home: str, values: Sequence[Any]) -> tuple[Record, list[Record]]:
    """Return a row as a document, and the parts of those of its values that are too long."""
    columns = TABLES[table].columns
    record: Record = {"segment": home, **dict(zip(columns, values, strict=True))}
    parts: list[Record] = []
    if table == "blobs":
        return {"_id": blob_key(home, values[0], values[1]), **record}, parts
    for column in columns:
        value = record[column]
        if isinstance(value, str | bytes) and len(value) > MAX_VALUE // 4:  # of 4 bytes a sign
            data = value.encode() if isinstance(value, str) else value
            if len(data) > MAX_VALUE:
                name = f"{table}/{column}/{values[0]}"
                cut = [data[at : at + MAX_VALUE] for at in range(0, len(data), MAX_VALUE)]
                parts += [record_of("blobs", home, (name, *each))[0] for each in enumerate(cut)]
                record[column] = {"parts": name}
    return record, parts


def blob_key(home: str, name: str, number: int) -> str:
    return f"{home}/{name}/{number}"


def size_of(record: Mapping[str, Any]) -> int:
    """Return about how many bytes a document has."""
    return sum(len(value) for value in record.values() if isinstance(value, str | bytes))


def vector_records(home: str, model: str, vectors: Array) -> Iterator[Record]:
    """Yield vectors as documents of many each."""
    count, dimension = vectors.shape
    rows = max(1, VECTOR_BLOCK_BYTES // max(1, 2 * dimension))
    halves = np.ascontiguousarray(vectors, dtype="<f2")
    for number, at in enumerate(range(0, count, rows)):
        yield {
            "_id": f"{home}/{number}",
            "segment": home,
            "model": model,
            "number": number,
            "dimension": dimension,
            "data": halves[at : at + rows].tobytes(),
        }


def matrix_of(records: Iterable[Mapping[str, Any]]) -> Array:
    """Return the vectors that some documents hold, all of one name, as float32."""
    ordered = sorted(records, key=lambda each: int(each["number"]))
    blocks = [np.frombuffer(each["data"], dtype="<f2").astype(np.float32) for each in ordered]
    return np.concatenate(blocks).reshape(-1, ordered[0]["dimension"])


class MongoEngine(StoreEngine):
    """Some collections of a database as the server of one index."""

    def __init__(self, url: str, settings: StoreSettings | None = None) -> None:
        self._client = MongoClient(MongoAddress(url), settings or StoreSettings())
        self.shown = self._client.address.shown
        self._lease: MongoLease | None = None
        self._homes: SegmentHomes[str] = SegmentHomes(
            self.shown
        )  # of the segments that were heard of
        self._matrices: dict[str, Array] = {}  # vectors by name, read once and kept
        self._lock = Lock()

    def close(self) -> None:
        self._client.close()

    def _collection(self, name: str, *, journalled: bool = False) -> Collection:
        prefix = self._client.address.name
        return self._client.collection(f"{prefix}_{name}", journalled=journalled)

    # Reading

    def head(self) -> bytes | None:
        state = self._state()
        if state is None or state["head"] is None:
            return None
        found = self._manifests([state["head"]])
        if not found:
            raise StoreError(f"{self.shown}: its manifest is gone", hint="try again")
        return bytes(found[0]["manifest"])

    def stamp(self) -> str:
        state = self._state()
        if state is None or state["head"] is None:
            return ""
        # Keys come again where a database was dropped and made anew.
        with self._client.explained():
            generations = self._collection("generations")
            found = generations.find_one({"_id": state["head"]}, {"made": 1}) or {}
        return f"{state['head']} {found.get('made', '')}"

    def server(self) -> str:
        return f"MongoDB {self._client.version()}"

    def generations(self) -> dict[int, tuple[float, bytes]]:
        state = self._state()
        if state is None or not state["kept"]:
            return {}
        now = self._client.now()
        return {
            each["number"]: ((now - each["made"]).total_seconds(), bytes(each["manifest"]))
            for each in self._manifests(state["kept"])
        }

    def _state(self) -> Mapping[str, Any] | None:
        with self._client.explained():
            found: Mapping[str, Any] | None = self._collection("state").find_one(STATE)
        known = FORMAT if found is None else found.get("format", FORMAT)
        if known != FORMAT:
            raise StaleIndex(
                f"{self.shown} has collections of version {known}, this Pincite wants {FORMAT}",
                hint="write to it once with the newest Pincite, and read it with that",
            )
        return found

    def _manifests(self, keys: Sequence[str]) -> list[Mapping[str, Any]]:
        found = self._found("generations", {"_id": {"$in": list(keys)}})
        for each in found:
            self._homes.update(each["homes"])
        return found

    def _found(
        self, table: str, wanted: Mapping[str, Any], columns: Sequence[str] = (), limit: int = 0
    ) -> list[Any]:
        shown = {"_id": 0, "segment": 1, **dict.fromkeys(columns, 1)} if columns else None
        with self._client.explained():
            return list(self._collection(table).find(wanted, shown, limit=limit))

    def select(
        self,
        table: str,
        columns: Sequence[str],
        segments: Sequence[str],
        by: str = "",
        values: Sequence[Any] = (),
        limit: int = 0,
    ) -> list[Row]:
        homes = {self._homes[segment]: segment for segment in segments}
        wanted: Record = {"segment": {"$in": list(homes)}}
        if by:
            wanted[by] = {"$in": list(values)}
        found = self._found(table, wanted, columns, limit)
        return [self._row(table, each, homes[each["segment"]], columns) for each in found]

    def _row(self, table: str, record: Record, segment: str, columns: Sequence[str]) -> Row:
        for column in columns:
            if isinstance(record[column], dict):  # too long for one document
                parts = sorted(self.blobs(record[column]["parts"], {segment: None}))
                whole = b"".join(data for _, _, data in parts)
                is_text = TABLES[table].columns[column] == "text"
                record[column] = whole.decode() if is_text else whole
        return (segment, *(record[column] for column in columns))

    def blobs(
        self, name: str, wanted: Mapping[str, Sequence[int] | None]
    ) -> list[tuple[str, int, bytes]]:
        homes = {self._homes[segment]: segment for segment in wanted}
        whole = [self._homes[segment] for segment, numbers in wanted.items() if numbers is None]
        keys = [
            blob_key(self._homes[segment], name, number)
            for segment, numbers in wanted.items()
            for number in numbers or ()
        ]
        asked: list[Record] = [{"segment": {"$in": whole}, "name": name}] if whole else []
        asked += [{"_id": {"$in": some}} for some in pieces(keys, MAX_KEYS)]
        return [
            (homes[each["segment"]], each["number"], bytes(each["data"]))
            for question in asked
            for each in self._found("blobs", question, ("number", "data"))
        ]

    def vectors(self, name: str, numbers: Sequence[int]) -> Array:
        matrix = self._matrix(name)
        try:
            return matrix[np.array(numbers, dtype=np.int64)].astype(np.float16)
        except IndexError as error:
            raise gone(self.shown, f"a part of vectors {name}") from error

    def _matrix(self, name: str) -> Array:
        """Return all vectors of a name, from memory if they were read before.

        As float32, which holds every float16 exactly and is compared six times as fast.
        """
        with self._lock:  # two threads would read the same
            if name not in self._matrices:
                records = self._found(
                    "vectors", {"segment": self._homes[name]}, ("number", "dimension", "data")
                )
                if not records:
                    raise gone(self.shown, f"vectors {name}")
                self._matrices[name] = matrix_of(records)
            return self._matrices[name]

    def nearest(
        self, names: Sequence[str], vector: Array, wanted: int, allowed: Mapping[str, Array]
    ) -> list[tuple[str, int, float]]:
        return nearest_of_all(self._matrix, names, vector, wanted, allowed)

    # Writing

    @contextmanager
    def lock(self) -> Iterator[None]:
        self._state()  # one of another version is not to be touched
        lease = MongoLease(self._client, self._collection("state", journalled=True))
        state = lease.take()
        try:
            if state.get("format") != FORMAT:
                self._make_indexes()
                lease.change({"$set": {"format": FORMAT}})
            self._lease = lease
            yield
        finally:
            self._lease = None
            with suppress(StoreError):  # of a server that is gone: the lease runs out
                lease.give_back()

    def _make_indexes(self) -> None:
        wanted = {
            name: [["segment"], *([column, "segment"] for column in table.looked_up)]
            for name, table in TABLES.items()
        }
        wanted |= {"blobs": [["segment", "name"]], "vectors": [["segment"]]}
        with self._client.explained(), self._client.patient():
            for name, indexes in wanted.items():
                models = [self._client.index_model([(c, 1) for c in each]) for each in indexes]
                self._collection(name).create_indexes(models)

    @property
    def _writing(self) -> MongoLease:
        if self._lease is None:
            raise ValueError("take the lock first")
        self._lease.check()
        return self._lease

    def _claim(self, segment: str) -> str:
        """Return the home of a segment that is being written, and let the sweeper know it."""
        home = f"{segment}.{self._writing.term}"
        if self._homes.get(segment) != home:
            with self._client.explained():
                self._collection("segments").insert_one({"_id": home})
            self._homes[segment] = home
        return home

    def insert(self, table: str, segment: str, rows: Iterable[Sequence[Any]]) -> None:
        home = self._claim(segment)
        parts: list[Record] = []

        def records() -> Iterator[Record]:
            for values in rows:
                record, more = record_of(table, home, values)
                parts.extend(more)
                yield record

        self._send(table, records)
        self._send("blobs", lambda: iter(parts))

    def _send(self, table: str, records: Callable[[], Iterator[Record]]) -> None:
        with self._client.explained():
            for batch in batches(records(), size_of, BATCH_ROWS):
                self._writing.check()
                self._collection(table).insert_many(batch)

    def put_vectors(self, name: str, model: str, vectors: Array) -> None:
        home = self._claim(name)
        self._send("vectors", lambda: vector_records(home, model, vectors))

    def switch(self, number: int, manifest: bytes) -> None:
        key = f"{number}.{self._writing.term}"
        named = manifest_of(manifest, origin=self.shown).entries
        homes = {each.name: self._homes[each.name] for each in named}
        record = {"number": number, "manifest": manifest, "homes": homes}
        with self._client.explained():
            self._collection("generations", journalled=True).update_one(
                {"_id": key}, {"$set": record, "$currentDate": {"made": True}}, upsert=True
            )
        # The one write that counts; it waits for the journal, which has all before it.
        self._writing.change({"$set": {"head": key}, "$push": {"kept": key}})

    def sweep(self, generations: Sequence[int], segments: Sequence[str]) -> None:
        state = self._state()
        kept = [key for key in (state or {}).get("kept", ()) if _number(key) in generations]
        self._writing.change({"$set": {"kept": kept}})
        homes = [self._homes[segment] for segment in segments]
        with self._client.explained(), self._client.patient():
            self._collection("generations").delete_many({"_id": {"$nin": kept}})
            known = self._found("segments", {"_id": {"$nin": homes}})
            gone = {"$in": [each["_id"] for each in known]}
            if not known:
                return
            for table in (*TABLES, "vectors"):
                self._collection(table).delete_many({"segment": gone})
            self._collection("segments").delete_many({"_id": gone})

    def remove(self) -> bool:
        with self.lock():
            self._writing.change({"$set": {"head": None, "kept": []}})  # there is no index any more
            with self._client.explained(), self._client.patient():
                for name in ("generations", *TABLES, "vectors", "segments", "state"):
                    self._collection(name).drop()
        return True


def _number(key: str) -> int:
    return int(key.partition(".")[0])
