"""Strangers, slow clients, and what one key can do to another's chats, views and memory."""

from __future__ import annotations

import gc
import socket
import weakref
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from pincite.model.settings import Settings
from pincite.serve.access import add_key, new_key
from pincite.serve.collections import VIEWS, OpenGeneration, ServedCollection
from pincite.serve.connections import HEAD_BYTES, BoundedConnection
from pincite.serve.service import Options, Sessions
from pincite.update import ingest_files

from .conftest import served, settings

RULES = "---\naccess: [{tag}]\n---\n# Rules {number}\n\n## 1 Rods\n\nRods are {number} m apart.\n"


def _connect(address: str) -> socket.socket:
    place = urlsplit(address)
    return socket.create_connection((place.hostname, place.port), timeout=20)


def _answer(client: socket.socket) -> bytes:
    """Return all that the server says until it closes the connection."""
    told = b""
    try:
        while part := client.recv(4096):
            told += part
    except ConnectionResetError:
        pass
    return told


@pytest.fixture
def options(tmp_path: Path) -> Options:
    key, _ = new_key("reader")
    add_key(tmp_path / "keys.json", key)
    return Options(keys=tmp_path / "keys.json")


def test_a_stranger_is_refused_before_the_body_is_read(tmp_path: Path, options: Options) -> None:
    head = (
        b"POST /v1/documents HTTP/1.1\r\nhost: localhost\r\ncontent-length: 60000000\r\n"
        b"content-type: multipart/form-data; boundary=x\r\n\r\n--x\r\n"
    )
    with (
        served({"default": tmp_path / "index"}, settings(), options) as address,
        _connect(address) as client,
    ):
        client.sendall(head)
        told = _answer(client)  # and the connection is closed: no more of it comes in
    assert told.startswith(b"HTTP/1.1 401") and b"Bearer" in told


def test_headers_without_an_end_are_refused(tmp_path: Path, options: Options) -> None:
    with (
        served({"default": tmp_path / "index"}, settings(), options) as address,
        _connect(address) as client,
    ):
        client.sendall(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n")
        try:
            for number in range(3 * HEAD_BYTES // 1000):
                client.sendall(b"x-%d: " % number + b"a" * 1000 + b"\r\n")
            told = _answer(client)
        except (BrokenPipeError, ConnectionResetError):
            told = b"HTTP/1.1 4"  # closed while we were speaking
    assert told.startswith(b"HTTP/1.1 4")


@pytest.mark.parametrize("said", [b"", b"GET /healthz HT"])
def test_who_says_nothing_is_sent_away(
    said: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(BoundedConnection, "head_seconds", 0.5)
    with served({"default": tmp_path / "index"}, settings()) as address:
        with _connect(address) as client:
            client.sendall(said)
            assert _answer(client) == b""
        with _connect(address) as client:  # a request that came in time is answered
            client.sendall(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
            assert _answer(client).startswith(b"HTTP/1.1 200")


def test_chats_of_one_key_do_not_make_those_of_another_forgotten() -> None:
    sessions = Sessions(None, 3, 4)
    sessions.add("quiet", "first", "What is a rod?", "A rod.")
    for number in range(10):
        sessions.add("busy", str(number), "What?", "That.")
    assert [each.text for each in sessions.history("quiet", "first")] == [
        "What is a rod?",
        "A rod.",
    ]
    kept = [number for number in range(10) if sessions.history("busy", str(number))]
    assert kept == [7, 8, 9]


def _ingested(tmp_path: Path, number: int) -> Path:
    file = tmp_path / "rules.md"
    file.write_text(RULES.format(tag="staff", number=number))
    list(ingest_files([(file, "rules.md"), *_open_file(tmp_path)], tmp_path / "index"))
    return tmp_path / "index"


def _open_file(tmp_path: Path) -> list[tuple[Path, str]]:
    file = tmp_path / "open.md"
    if not file.exists():
        file.write_text("# Open\n\n## 1 Poles\n\nPoles are 3 m apart.\n")
    return [(file, "open.md")]


def test_many_thresholds_leave_the_views_of_others(tmp_path: Path) -> None:
    index = _ingested(tmp_path, 1)
    generation = OpenGeneration(index, Settings(), ServedCollection("a", index, Settings()).metrics)
    view = generation.seen_by(("guests",))
    for number in range(1, 3 * VIEWS):
        generation.seen_by(("others",), number / 100)
    assert generation.seen_by(("guests",)) is view
    generation.count(retires=True)


def test_generations_that_are_over_are_freed(tmp_path: Path) -> None:
    """Nothing but the service itself frees them here: Python's own collector is switched off."""
    collection = ServedCollection("rules", _ingested(tmp_path, 0), Settings())
    collection.refresh()
    seen: list[weakref.ref[object]] = []
    gc.disable()
    try:
        for number in range(1, 6):
            for tags in (None, (), ("staff",)):
                with collection.lease(tags) as reader:
                    assert reader.search("how far apart are poles")
                    seen.append(weakref.ref(reader.opened))
            del reader
            _ingested(tmp_path, number)
            assert collection.refresh()
        held = sum(each() is not None for each in seen)
    finally:
        gc.enable()
        collection.close()
    assert held == 0, f"{held} of {len(seen)} views are still in memory"
