"""Who asks: keys, callers, rates, the audit log."""

from __future__ import annotations

import fcntl
import hashlib
import hmac
import json
import logging
import os
import secrets
import stat
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from logging.handlers import WatchedFileHandler
from pathlib import Path
from typing import Any

from pincite.model.errors import MALFORMED, ConfigError, StoreError, StoreFull
from pincite.serve.errors import ServiceError
from pincite.store.files import NO_ROOM, sync

SCOPES = ("read", "write", "admin")
MARK = "pincite"
DEFAULT_FILE = Path("pincite-keys.json")
FORMAT = 1
MAX_KEYS = 10_000
MAX_BYTES = 16_000_000


@dataclass(frozen=True, slots=True)
class Key:
    """One key, without its secret."""

    id: str  # the part of the key that finds it; no secret
    name: str
    salt: str
    hash: str
    scopes: tuple[str, ...]
    collections: tuple[str, ...] = ()  # empty: all
    access: tuple[str, ...] | None = ()  # tags; None: sees every document
    rate_per_minute: int | None = None  # None: as the settings say
    created: str = ""
    expires: str = ""  # empty: never

    def fits(self, secret: str) -> bool:
        return hmac.compare_digest(self.hash, _hash(self.salt, secret))


def _hash(salt: str, secret: str) -> str:
    return hashlib.sha256(f"{salt}:{secret}".encode()).hexdigest()


class Keys:
    """The keys of a file, as they were when it was read."""

    def __init__(self, keys: Sequence[Key]) -> None:
        self.keys = keys
        self._by_id = {key.id: key for key in keys}
        # An unknown id is checked against this one: it takes as long as a wrong secret.
        self._nobody = Key("", "", "nobody", "0" * 64, ())

    def find(self, written: str, now: datetime | None = None) -> Key | None:
        """Return the key that somebody showed; None if it is unknown, wrong or expired."""
        mark, _, rest = written.strip().partition("_")
        key_id, _, secret = rest.partition("_")
        key = self._by_id.get(key_id, self._nobody)
        is_right = key.fits(secret) and mark == MARK and key is not self._nobody
        now = now or datetime.now(UTC)
        is_expired = bool(key.expires) and datetime.fromisoformat(key.expires) <= now
        return key if is_right and not is_expired else None


def new_key(
    name: str,
    scopes: Iterable[str] = ("read",),
    *,
    collections: Iterable[str] = (),
    access: Iterable[str] | None = (),
    rate_per_minute: int | None = None,
    days: float | None = None,
) -> tuple[Key, str]:
    """Return a new key, and what its owner shows: that is known to nobody afterwards."""
    wanted = tuple(dict.fromkeys(scopes))
    if unknown := [scope for scope in wanted if scope not in SCOPES]:
        raise ConfigError(f"no scope {unknown[0]!r}", hint=f"scopes: {', '.join(SCOPES)}")
    if not wanted:
        raise ConfigError("a key needs a scope", hint=f"scopes: {', '.join(SCOPES)}")
    if access is not None and set(wanted) - {"read"}:
        raise ConfigError(
            "who writes documents sees all documents of the collection",
            hint="add --all-documents; to keep people apart, give them collections of their own",
        )
    now = datetime.now(UTC).replace(microsecond=0)
    key_id, secret, salt = secrets.token_hex(5), secrets.token_urlsafe(32), secrets.token_hex(16)
    expires = (now + timedelta(days=days)).isoformat() if days is not None else ""
    tags, chosen = None if access is None else tuple(access), tuple(collections)
    hashed, created = _hash(salt, secret), now.isoformat()
    key = Key(key_id, name, salt, hashed, wanted, chosen, tags, rate_per_minute, created, expires)
    return key, f"{MARK}_{key_id}_{secret}"


def read_keys(file: Path) -> Keys:
    """Return the keys of a file; an error if others than its owner may read it."""
    try:
        with file.open("rb") as stream:
            if stat.S_IMODE(os.fstat(stream.fileno()).st_mode) & 0o077:
                raise ConfigError(f"{file} may be read by others", hint=f"chmod 600 {file}")
            data = stream.read(MAX_BYTES + 1)
    except FileNotFoundError as error:
        raise StoreError(f"no keys in {file}", hint="make one: pincite keys add NAME") from error
    except OSError as error:
        raise StoreError(f"{file} cannot be read: {error.strerror}") from error
    try:
        values = json.loads(data)
        if values["format"] != FORMAT:
            raise ValueError(f"format {values['format']}")
        return Keys([_key(each) for each in values["keys"]])
    except MALFORMED as error:
        raise StoreError(f"{file} is no file of keys: {error}", hint="restore it") from error


def _key(values: dict[str, Any]) -> Key:
    access = values.pop("access")
    listed: dict[str, Any] = {n: tuple(values.pop(n)) for n in ("scopes", "collections")}
    key = Key(**values, **listed, access=None if access is None else tuple(access))
    if key.expires and datetime.fromisoformat(key.expires).tzinfo is None:
        raise ValueError("a time without zone")
    return key


def add_key(file: Path, key: Key) -> None:
    """Put a key into a file, which is made if it is not there."""
    with _changing(file) as keys:
        if len(keys) >= MAX_KEYS:
            raise ConfigError(f"{file} has {len(keys)} keys", hint="revoke some first")
        keys.append(key)


def revoke_key(file: Path, key_id: str) -> Key:
    """Take a key out of a file and return it; StoreError if it is not there."""
    read_keys(file)
    with _changing(file) as keys:
        gone = [key for key in keys if key.id == key_id]
        if not gone:
            raise StoreError(f"no key {key_id!r}", hint="see: pincite keys list")
        keys.remove(gone[0])
        return gone[0]


@contextmanager
def locked(
    file: Path, problem: str = "", hint: str = "", *, makes_folder: bool = False
) -> Iterator[None]:
    """Let one at a time change a file, of all processes; StoreError if nobody can."""
    try:
        if makes_folder:
            file.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(file.with_name(f"{file.name}.lock"), os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        told = problem or f"{file} cannot be written: {error.strerror}"
        kind = StoreFull if error.errno in NO_ROOM else StoreError
        raise kind(told, hint=hint) from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


@contextmanager
def _changing(file: Path) -> Iterator[list[Key]]:
    """Hand out the keys to change, and replace the file as a whole."""
    with locked(file):
        keys = list(read_keys(file).keys) if file.exists() else []
        yield keys
        _write(file, json.dumps({"format": FORMAT, "keys": [asdict(k) for k in keys]}, indent=1))


def _write(file: Path, text: str) -> None:
    aside = file.with_name(f"{file.name}.tmp-{os.getpid()}-{secrets.token_hex(4)}")
    handle = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as stream:
        stream.write(text + "\n")
        stream.flush()
        os.fsync(stream.fileno())
    aside.rename(file)
    sync(file.parent)


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


# Addresses may be many; who was not seen for so many others starts with a full bucket again.
REMEMBERED = 10_000


class Buckets:
    """Token buckets by name; used by the event loop alone."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, name: str, per_minute: float, burst: float) -> float:
        """Take a token; return 0, or the seconds until there will be one."""
        if per_minute <= 0:
            return 0.0
        now, most = self._clock(), max(1.0, burst)
        tokens, since = self._buckets.pop(name, (most, now))
        tokens = min(most, tokens + (now - since) * per_minute / 60)
        wait = 0.0 if tokens >= 1 else (1 - tokens) * 60 / per_minute
        self._buckets[name] = (tokens if wait else tokens - 1, now)
        while len(self._buckets) > REMEMBERED:
            self._buckets.popitem(last=False)
        return wait


class AuditLog:
    """Appends to a file that may be rotated meanwhile; several processes may share it."""

    def __init__(self, file: Path | None, *, log_queries: bool = False) -> None:
        self.log_queries = log_queries
        self._handler: logging.Handler | None = None
        if file is not None:
            is_new = not file.exists()
            try:
                self._handler = WatchedFileHandler(file, encoding="utf-8", delay=False)
                if is_new:  # a file that was there is as its owner wants it
                    file.chmod(0o600)
            except OSError as error:
                raise ConfigError(f"cannot write {file}: {error.strerror}") from error

    def write(self, **fields: Any) -> None:
        """Append one line; fields that are None are left out."""
        if self._handler is None:
            return
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        known = {name: value for name, value in fields.items() if value is not None}
        line = json.dumps({"time": now, **known})  # ASCII: no text can end a line
        record = logging.LogRecord("pincite.maintain.audit", logging.INFO, "", 0, line, None, None)
        self._handler.handle(record)

    def close(self) -> None:
        if self._handler is not None:
            self._handler.close()
