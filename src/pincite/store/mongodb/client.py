"""A client of MongoDB: where an index is, time-outs on everything, errors in plain words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from pincite.core.errors import (
    ConfigError,
    PinciteError,
    StoreError,
    StoreFull,
    StoreUnavailable,
)
from pincite.core.extras import require
from pincite.core.locations import shown
from pincite.core.store_settings import StoreSettings

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


class Address:
    """Where an index is: ``mongodb://user@host:port/database#name``."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self.database = parts.path.strip("/")
        self.name = parts.fragment or DEFAULT_NAME
        self.shown = shown(url)
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


class Client:
    """One pool of connections to a server, or to a replica set."""

    def __init__(self, address: Address, settings: StoreSettings) -> None:
        self.address = address
        self.seconds = settings.timeout_seconds
        self._pymongo = require("pymongo", extra="mongodb")
        self._errors = require("pymongo.errors", extra="mongodb")
        self._bson_errors = require("bson.errors", extra="mongodb")
        milliseconds = int(1000 * self.seconds)
        try:
            self._client = self._pymongo.MongoClient(
                address.url,
                appname="pincite",
                maxPoolSize=settings.connections + 1,  # one for the writer's lease
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
            raise StoreError(
                f"{error.object[:40]!r} is not text that can be stored",
                hint="is the document's text damaged?",
            ) from error

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
            return StoreUnavailable(
                f"{where}: all connections were busy for {self.seconds:g} s",
                hint="raise store.connections, or ask for less at a time",
            )
        slow = (errors.NetworkTimeout, errors.ExecutionTimeout, errors.WTimeoutError)
        if isinstance(error, slow):
            return StoreUnavailable(
                f"{where} did not answer within {self.seconds:g} s",
                hint="is the server overloaded? store.timeout_seconds is how long to wait",
            )
        if isinstance(error, errors.ConnectionFailure):
            return StoreUnavailable(
                f"{where} cannot be reached: {reason}", hint="is the server running, the URL right?"
            )
        code = getattr(error, "code", None)
        if code in _REFUSED:
            return StoreError(
                f"{where} refused: {reason}", hint="the user needs the right to read and write"
            )
        if code in _FULL:
            return StoreFull(f"{where} has no room left: {reason}", hint="free some disk space")
        return StoreError(f"{where}: {reason}", hint="is the index of another version?")
