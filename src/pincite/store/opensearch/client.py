"""A client of OpenSearch's HTTP interface: time-outs on everything, errors in plain words.

A cluster may answer by halves: shards are away, the time was too short. Here that is an error.
"""

from __future__ import annotations

import base64
import json
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlsplit

import numpy as np

from pincite.model.errors import ConfigError, StoreError, StoreUnavailable, redact_url
from pincite.model.settings import StoreSettings
from pincite.store.files import Array
from pincite.store.server.engine_parts import (
    CONNECTIONS,
    Absent,
    Conflict,
    Troubles,
    batches,
)

LIKE = "like opensearch://localhost:9200/laws"
OPTIONS = {"shards": "1", "replicas": "", "tls": "false", "ca": "", "auth": "basic"}
AUTHS = ("basic", "apikey", "bearer")
DEFAULT_NAME, DEFAULT_PORT = "pincite", 9200
CONNECT_SECONDS = 5.0
# Writing many rows, deleting and making indexes take as long as there are some.
PATIENT_SECONDS = 600.0
BATCH_ROWS = 1_000
# A node that has too much to do says so; what it did not take is sent again, later and later.
ATTEMPTS, FIRST_PAUSE = 8, 0.1
MOST = 1_000  # shards, or copies of one
_NAME = re.compile(r"[a-z][a-z0-9_]{0,40}")
_ABSENT, _CONFLICT, _TOO_MANY, _FAULT = 404, 409, 429, 500
_REFUSED = (401, 403)
# What it says of a disk without room.
_NO_ROOM = ("flood-stage", "no space left", "disk usage exceeded", "read-only / allow delete")
_EXISTS = "resource_already_exists"
Answer = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class OpenSearchAddress:
    """Where an index is: ``opensearch://user@host:9200,host2:9200/name?shards=6&replicas=1``."""

    hosts: tuple[str, ...]  # with their ports
    name: str
    shards: int
    replicas: int | None  # None: one where there are two nodes
    is_tls: bool
    ca: str  # a file with the certificates of who may vouch for the servers; empty: the usual ones
    authorization: tuple[str, str, str]  # kind, user, secret

    @classmethod
    def of(cls, url: str) -> OpenSearchAddress:
        """Return what a URL says; ConfigError if something in it is not known."""
        parts = urlsplit(url)
        login, _, netloc = parts.netloc.rpartition("@")
        user, _, secret = login.partition(":")
        said = dict(parse_qsl(parts.query, keep_blank_values=True))
        options = {**OPTIONS, **said}
        hosts = tuple(host for host in netloc.split(",") if host)
        name = parts.path.strip("/") or DEFAULT_NAME
        for problem in _problems(parts.fragment, hosts, said, options):
            known = ", ".join(sorted(OPTIONS))
            raise ConfigError(f"{redact_url(url)}: {problem}", hint=f"{LIKE}; after ?: {known}")
        if not _NAME.fullmatch(name):
            raise ConfigError(
                f"{name!r} is no name for an index in OpenSearch",
                hint="small letters, digits and _, a letter first, at most 41",
            )
        return cls(
            tuple(h if _has_port(h) else f"{h}:{DEFAULT_PORT}" for h in hosts),
            name,
            int(options["shards"]),
            int(options["replicas"]) if options["replicas"] else None,
            options["tls"] == "true",
            options["ca"],
            (options["auth"], unquote(user), unquote(secret)),
        )


def _has_port(host: str) -> bool:
    return ":" in host.rpartition("]")[2]


def _problems(
    fragment: str, hosts: Sequence[str], said: Mapping[str, str], options: Mapping[str, str]
) -> Iterable[str]:
    """Yield what is wrong with a URL."""
    if fragment:
        yield "nothing may stand after #"
    if not hosts:
        yield "no host is named"
    for key in said:
        if key not in OPTIONS:
            yield f"{key!r} means nothing"
    if options["tls"] not in ("true", "false"):
        yield f"tls={options['tls']} is neither true nor false"
    if options["auth"] not in AUTHS:
        yield f"auth={options['auth']} is none of {', '.join(AUTHS)}"
    for key, least in (("shards", 1), ("replicas", 0)):
        value = options[key]
        is_number = value.isdecimal() and least <= int(value) <= MOST
        if not is_number and (value or key == "shards"):
            yield f"{key}={value} is no number from {least} to {MOST}"


class OpenSearchClient:
    """The requests of one index, over some connections that many threads use at a time.

    Of several hosts one is asked; who does not answer is asked last from then on.
    """

    def __init__(self, url: str, settings: StoreSettings) -> None:
        self.address = OpenSearchAddress.of(url)
        self.shown = redact_url(url)
        self.seconds = settings.timeout_seconds
        self._troubles = Troubles(self.shown, self.seconds)
        self._hosts = list(self.address.hosts)
        self._lock = Lock()
        self._scheme = "https" if self.address.is_tls else "http"
        import httpx

        self._httpx = httpx
        kind, user, secret = self.address.authorization
        headers = {"Content-Type": "application/json"}
        if kind != "basic" and secret:
            headers["Authorization"] = f"{'ApiKey' if kind == 'apikey' else 'Bearer'} {secret}"
        self._session = httpx.Client(
            headers=headers,
            auth=(user, secret) if kind == "basic" and user else None,
            verify=self._verify() if self.address.is_tls else True,
            limits=httpx.Limits(max_connections=CONNECTIONS),
            trust_env=False,
        )

    def _verify(self) -> Any:
        """Return what certificates are checked by."""
        import ssl

        ca = self.address.ca
        try:
            return ssl.create_default_context(cafile=ca or None)
        except (OSError, ssl.SSLError) as error:
            raise ConfigError(
                f"{self.shown}: {Path(ca).name} is no file of certificates",
                hint="ca= names a PEM file",
            ) from error

    def close(self) -> None:
        self._session.close()

    def version(self) -> str:
        """Return the server's version as it tells it."""
        return str(self.ask("GET", "/")["version"]["number"])

    def now(self) -> int:
        """Return a server's time in milliseconds."""
        nodes = self.ask("GET", "/_nodes/_local/stats/os?filter_path=nodes.*.timestamp")["nodes"]
        return int(next(iter(nodes.values()))["timestamp"])

    # Indexes

    def create(self, index: str, wanted: Answer, alias: str = "") -> None:
        """Make an index, if there is none of that name; the alias is what is written to."""
        body = {**wanted, "aliases": {alias: {}}} if alias else wanted
        try:
            self.ask("PUT", f"/{index}", body, seconds=PATIENT_SECONDS)
        except StoreError as error:
            if _EXISTS not in error.message:
                raise

    def names(self, prefix: str) -> list[str]:
        """Return the indexes whose names begin so."""
        found = self.ask("GET", f"/_cat/indices/{prefix}*?format=json&h=index")
        return sorted(each["index"] for each in found)

    def behind(self, alias: str) -> dict[str, Answer]:
        """Return the indexes that an alias leads to, each with what we wrote about it."""
        with suppress(Absent):
            found = self.ask("GET", f"/{alias}/_mapping")
            return {
                name: each["mappings"].get("_meta", {}).get("pincite", {})
                for name, each in found.items()
            }
        return {}

    def point(self, alias: str, index: str) -> None:
        """Let an alias lead to an index, and to no other: at once."""
        remove = {"remove": {"index": f"{alias}-*", "alias": alias, "must_exist": False}}
        self.ask(
            "POST",
            "/_aliases",
            {"actions": [remove, {"add": {"index": index, "alias": alias}}]},
        )

    def drop(self, index: str) -> None:
        """Remove an index, if it is there."""
        with suppress(Absent):
            self.ask("DELETE", f"/{index}", seconds=PATIENT_SECONDS)

    def refresh(self, index: str) -> None:
        """Let searches see all that was written, in every copy that answers."""
        self.whole(self.ask("POST", f"/{index}/_refresh", seconds=PATIENT_SECONDS))

    # Documents by their ids: what is written is read at once

    def get(self, index: str, name: str) -> Answer | None:
        """Return a document with ``_seq_no`` and ``_primary_term``; None if it is not there."""
        with suppress(Absent):
            path = f"/{index}/_doc/{quote(name, safe='')}?preference=_primary"
            found: Answer = self.ask("GET", path)
            return found
        return None

    def get_many(self, index: str, names: Sequence[str], fields: Sequence[str]) -> list[Answer]:
        """Return those documents of these ids that are there."""
        path = f"/{index}/_mget?_source_includes={','.join(fields)}"
        found = []
        for each in self.ask("POST", path, {"ids": list(names)})["docs"]:
            if "error" in each:
                raise self._refused(each.get("status", _FAULT), json.dumps(each["error"]))
            if each["found"]:
                found.append(each)
        return found

    def put(self, index: str, name: str, value: Answer, condition: str) -> None:
        """Write a document on a condition; Conflict if it does not hold."""
        path = f"/{index}/_doc/{quote(name, safe='')}?{condition}"
        self.ask("PUT", path, value)

    def put_many(
        self, alias: str, documents: Iterable[tuple[str, Answer]], rows: int = BATCH_ROWS
    ) -> None:
        """Write documents by id, durably: whoever sends one twice has it once."""
        lines = (
            json.dumps({"index": {"_id": name}})
            + "\n"
            + json.dumps(value, separators=(",", ":"))
            + "\n"
            for name, value in documents
        )
        for batch in batches(lines, len, rows):
            self._bulk(alias, batch)

    def _bulk(self, alias: str, lines: Sequence[str]) -> None:
        """Send lines until all were taken; more slowly while the server has too much to do."""
        shown = "errors,items.index.status,items.index.error"
        path = f"/{alias}/_bulk?require_alias=true&filter_path={shown}"
        pause = FIRST_PAUSE
        for attempt in range(ATTEMPTS):
            try:
                done = self.ask("POST", path, "".join(lines), seconds=PATIENT_SECONDS)
            except StoreUnavailable as error:
                if not isinstance(error, _Overloaded) or attempt == ATTEMPTS - 1:
                    raise
            else:
                if not done["errors"]:
                    return
                told = [each["index"] for each in done["items"]]
                for each in told:
                    refused = self._refused(each["status"], json.dumps(each.get("error")))
                    is_last = attempt == ATTEMPTS - 1 or not isinstance(refused, _Overloaded)
                    if each["status"] >= 400 and is_last:
                        raise refused
                lines = [
                    line for line, each in zip(lines, told, strict=True) if each["status"] >= 400
                ]
            time.sleep(pause)
            pause *= 2

    def delete(self, index: str, query: Answer) -> None:
        """Delete all documents of a query that were written before."""
        with suppress(Absent):
            self.refresh(index)
            path = f"/{index}/_delete_by_query?conflicts=proceed&refresh=true"
            done = self.ask("POST", path, {"query": query}, seconds=PATIENT_SECONDS)
            if done.get("failures"):
                raise self._refused(_FAULT, json.dumps(done["failures"][:1]))

    # Searches

    def search(self, index: str, wanted: Answer, *, seconds: float = 0) -> Answer:
        """Return what a search finds in all shards; StoreUnavailable if one did not answer."""
        body = {"track_total_hits": False, **wanted}
        path = f"/{index}/_search?allow_partial_search_results=false"
        return self.whole(self.ask("POST", path, body, seconds=seconds))

    def whole(self, answer: Answer) -> Answer:
        """Return an answer if it is of all shards and was given in time."""
        shards = answer.get("_shards", {})
        if shards.get("failed") or answer.get("timed_out"):
            reason = json.dumps(shards.get("failures", "out of time"))[:300]
            raise StoreUnavailable(
                f"{self.shown}: {shards.get('failed', 0)} of {shards.get('total', 0)} shards "
                f"did not answer: {reason}",
                hint="is a node down? the answer would not have been whole",
            )
        return answer

    # Requests

    def ask(self, method: str, path: str, wanted: Any = None, *, seconds: float = 0) -> Any:
        """Return the answer to a request; other hosts are asked where one cannot be reached."""
        if self._session.is_closed:
            raise StoreError(f"{self.shown} was closed", hint="open the index again")
        body = wanted if isinstance(wanted, str) or wanted is None else json.dumps(wanted)
        hosts = list(self._hosts)
        # A connection that was kept may be dead: the only host is asked once more.
        for at, host in enumerate([*hosts, hosts[0]]):
            try:
                return self._answer(host, method, path, body, seconds or self.seconds)
            except self._httpx.TransportError as error:
                self._ask_last(host)
                is_refused = isinstance(error, self._httpx.ConnectError)
                if at == len(hosts) or (is_refused and at == len(hosts) - 1):
                    raise self._troubles.unreachable(_in_words(error)) from error
        raise AssertionError("unreachable")

    def _answer(self, host: str, method: str, path: str, body: str | None, seconds: float) -> Any:
        httpx = self._httpx
        patience = httpx.Timeout(seconds, connect=min(seconds, CONNECT_SECONDS))
        try:
            content = None if body is None else body.encode()
            answer = self._session.request(
                method, f"{self._scheme}://{host}{path}", content=content, timeout=patience
            )
            if answer.status_code >= 400:
                raise self._refused(answer.status_code, answer.text)
            return answer.json()
        except httpx.PoolTimeout as error:
            raise self._troubles.busy() from error
        except httpx.ConnectTimeout:
            raise  # another host may be there
        except httpx.TimeoutException as error:
            self._ask_last(host)
            raise self._troubles.slow() from error
        except ValueError as error:
            raise self._troubles.unreachable("it does not speak JSON") from error

    def _ask_last(self, host: str) -> None:
        with self._lock:
            self._hosts.remove(host)
            self._hosts.append(host)

    def _refused(self, status: int, text: str) -> StoreError:
        short = " ".join(text.split())[:300]
        reason = f"{self.shown}: {short}"
        if any(words in text.lower() for words in _NO_ROOM):
            return self._troubles.full(short)
        if status == _ABSENT:
            return Absent(reason, hint="open the index again")
        if status == _CONFLICT:
            return Conflict(reason, hint="try again")
        if status in _REFUSED:
            return StoreError(reason, hint="are user and password right, and may the user do this?")
        if status == _TOO_MANY:
            return _Overloaded(reason, hint="the server has too much to do: ask for less at a time")
        if status >= _FAULT:
            return StoreUnavailable(f"{reason} ({status})", hint="what does the server's log say?")
        return StoreError(reason, hint="is the server of another version than 3?")


def bitmap_of(numbers: Array) -> str:
    """Return numbers as a Roaring bitmap in base64: blocks of 65,536, each a list or its bits.

    >>> bitmap_of(np.array([1, 3]))
    'OjAAAAEAAAAAAAEAEAAAAAEAAwA='
    """
    ordered = np.unique(np.asarray(numbers, dtype=np.uint32))
    blocks, starts = np.unique(ordered >> 16, return_index=True)
    parts = np.split((ordered & 0xFFFF).astype("<u2"), starts)[1:]
    head, bodies, at = [], [], 8 + 8 * len(blocks)
    offsets = []
    for block, part in zip(blocks.tolist(), parts, strict=True):
        bits = np.zeros(1 << 16, dtype=np.uint8)
        bits[part] = 1
        is_list = len(part) <= 4096
        bodies.append(part.tobytes() if is_list else np.packbits(bits, bitorder="little").tobytes())
        head.append(np.array([block, len(part) - 1], dtype="<u2").tobytes())
        offsets.append(at)
        at += len(bodies[-1])
    cookie = np.array([12346, len(blocks)], dtype="<u4").tobytes()
    where = np.array(offsets, dtype="<u4").tobytes()
    return base64.b64encode(b"".join([cookie, *head, where, *bodies])).decode()


class _Overloaded(StoreUnavailable):
    """A node takes no more at the moment."""


def _in_words(error: Exception) -> str:
    return str(error) or type(error).__name__
