"""Keys: only their owner can use them, the file can be read by nobody else, and never half."""

from __future__ import annotations

import json
import os
import stat
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from pincite.model.errors import ConfigError, StoreError
from pincite.serve.access import Buckets, add_key, new_key, read_keys, revoke_key
from pincite.serve.run import ListenAddress, check_exposure, places_from


def test_a_key_is_found_and_nothing_else_is(tmp_path: Path) -> None:
    file = tmp_path / "keys.json"
    key, secret = new_key("one", access=["gm"])
    add_key(file, key)
    add_key(file, new_key("two", ["admin"], access=None)[0])
    keys = read_keys(file)
    assert keys.find(secret) == key
    for wrong in ("", "x", secret[:-1], secret + "a", secret.upper(), f"other{secret[7:]}"):
        assert keys.find(wrong) is None
    head, _, rest = secret.split("_", 2)
    assert keys.find(f"{head}_{keys.keys[1].id}_{rest}") is None
    text = file.read_text()
    assert rest not in text and key.hash in text
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert len({each.salt for each in keys.keys}) == 2


def test_a_key_expires(tmp_path: Path) -> None:
    key, secret = new_key("soon", days=1)
    file = tmp_path / "keys.json"
    add_key(file, key)
    now = datetime.now(UTC)
    assert read_keys(file).find(secret, now) is not None
    assert read_keys(file).find(secret, now + timedelta(days=1, seconds=1)) is None


def test_a_revoked_key_is_gone(tmp_path: Path) -> None:
    file = tmp_path / "keys.json"
    key, secret = new_key("one")
    add_key(file, key)
    assert revoke_key(file, key.id).name == "one"
    assert read_keys(file).find(secret) is None
    with pytest.raises(StoreError, match="no key"):
        revoke_key(file, key.id)


def test_who_writes_sees_everything() -> None:
    with pytest.raises(ConfigError, match="sees all documents"):
        new_key("bad", ["write"], access=["gm"])
    with pytest.raises(ConfigError, match="no scope"):
        new_key("bad", ["root"])


def test_a_file_that_others_can_read_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "keys.json"
    add_key(file, new_key("one")[0])
    file.chmod(0o644)
    with pytest.raises(ConfigError, match="may be read by others"):
        read_keys(file)


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"format": 9}', '{"format": 1, "keys": [{}]}'])
def test_a_damaged_file_is_explained(tmp_path: Path, text: str) -> None:
    file = tmp_path / "keys.json"
    file.write_text(text)
    file.chmod(0o600)
    with pytest.raises(StoreError, match="no file of keys"):
        read_keys(file)


def test_many_may_add_at_the_same_time(tmp_path: Path) -> None:
    file = tmp_path / "keys.json"
    threads = [
        threading.Thread(target=lambda n=n: add_key(file, new_key(str(n))[0])) for n in range(20)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {key.name for key in read_keys(file).keys} == {str(n) for n in range(20)}
    assert [each for each in os.listdir(tmp_path) if ".tmp-" in each] == []


def test_the_command_makes_lists_and_revokes(pincite: Callable[..., Any], tmp_path: Path) -> None:
    made = pincite("keys", "add", "reader", "--access", "gm", "--days", "3", "--json", cwd=tmp_path)
    assert made.code == 0 and made.json["key"].startswith("pincite_")
    told = pincite("keys", "add", "writer", "--scope", "write", cwd=tmp_path)
    assert told.code == 2 and "--all-documents" in told.err
    (line,) = pincite("keys", "list", "--json", cwd=tmp_path).json
    assert line["access"] == ["gm"] and line["scopes"] == ["read"] and line["expires"]
    assert "hash" not in line and made.json["key"] not in json.dumps(line)
    assert pincite("keys", "revoke", line["id"], cwd=tmp_path).code == 0
    assert pincite("keys", "revoke", line["id"], cwd=tmp_path).code == 4


def test_nothing_is_open_to_others_by_mistake(tmp_path: Path) -> None:
    for host in ("127.0.0.1", "localhost", "::1", "127.1.2.3"):
        check_exposure(ListenAddress(host), None, is_open=False)
    for host in ("0.0.0.0", "::", "192.168.1.4", "example.org"):
        with pytest.raises(ConfigError, match="no keys"):
            check_exposure(ListenAddress(host), None, is_open=False)
        check_exposure(ListenAddress(host), None, is_open=True)
        check_exposure(ListenAddress(host), tmp_path, is_open=False)
    for bad in (["a=x", "a=y"], ["x", "y"], ["a/b=x"], ["=x"]):
        with pytest.raises(ConfigError):
            places_from(bad, str(tmp_path))


def test_a_bucket_fills_at_its_rate() -> None:
    now = [0.0]
    buckets = Buckets(lambda: now[0])
    assert [buckets.take("a", 60, 3) > 0 for _ in range(5)] == [False, False, False, True, True]
    assert buckets.take("b", 60, 3) == 0.0
    wait = buckets.take("a", 60, 3)
    now[0] += wait
    assert buckets.take("a", 60, 3) == 0.0
    now[0] += 3600
    assert [buckets.take("a", 60, 3) > 0 for _ in range(4)] == [False, False, False, True]
    assert all(buckets.take("c", 0, 0) == 0.0 for _ in range(1000))
