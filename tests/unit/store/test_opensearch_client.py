"""Addresses of OpenSearch, what its refusals mean, and sets of numbers as it reads them."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.model.errors import ConfigError, StoreError, StoreFull, StoreUnavailable
from pincite.model.settings import StoreSettings
from pincite.store.location import open_engine, open_snapshot, place_in
from pincite.store.opensearch.client import OpenSearchAddress, bitmap_of


def test_a_url_says_all() -> None:
    url = "opensearch://ann:a%2Fb@one,two:9201,[::1]:9202/laws?shards=6&replicas=0&tls=true"
    found = OpenSearchAddress.of(url)
    assert found.hosts == ("one:9200", "two:9201", "[::1]:9202")
    assert (found.name, found.shards, found.replicas, found.is_tls) == ("laws", 6, 0, True)
    assert found.authorization == ("basic", "ann", "a/b")
    plain = OpenSearchAddress.of("opensearch://localhost")
    assert (plain.name, plain.shards, plain.replicas, plain.is_tls) == ("pincite", 1, None, False)
    assert place_in("opensearch://a,b?shards=2", "laws") == "opensearch://a,b/laws?shards=2"


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("opensearch://ann:secret@127.0.0.1:1/A%20B", "is no name"),
        ("opensearch://ann:secret@127.0.0.1:1/laws#acts", "nothing may stand after #"),
        ("opensearch://ann:secret@127.0.0.1:1/laws?tenant=2", "'tenant' means nothing"),
        ("opensearch://ann:secret@127.0.0.1:1/laws?tls=maybe", "neither true nor false"),
        ("opensearch://ann:secret@127.0.0.1:1/laws?auth=oauth", "none of basic, apikey, bearer"),
        ("opensearch://ann:secret@127.0.0.1:1/laws?shards=0", "no number from 1"),
        ("opensearch://ann:secret@127.0.0.1:1/laws?shards=", "no number from 1"),
        ("opensearch://ann:secret@127.0.0.1:1/laws?replicas=-1", "no number from 0"),
        ("opensearch://ann:secret@127.0.0.1:1/laws?tls=true&ca=/no/ca.pem", "ca.pem is no file"),
        ("opensearch://ann:secret@127.0.0.1:port/laws", "no host and port"),
        ("opensearch:///laws", "no host"),
    ],
)
def test_wrong_addresses_are_explained(url: str, told: str) -> None:
    with pytest.raises(ConfigError, match=told) as caught:
        open_engine(url)
    assert "secret" not in caught.value.message + caught.value.hint


def test_nobody_there_is_told_without_the_password() -> None:
    settings = StoreSettings(timeout_seconds=2)
    with pytest.raises(StoreUnavailable, match="cannot be reached") as caught:
        open_snapshot("opensearch://ann:secret@127.0.0.1:1,127.0.0.1:2/laws", settings)
    assert "secret" not in caught.value.message and caught.value.hint


@pytest.mark.parametrize(
    ("status", "text", "kind"),
    [
        (429, "index [x] blocked by: [TOO_MANY_REQUESTS/12/disk usage exceeded]", StoreFull),
        (500, "java.io.IOException: No space left on device", StoreFull),
        (429, "rejected execution of coordinating operation", StoreUnavailable),
        (503, "all shards failed", StoreUnavailable),
        (404, "no such index [laws-rows]", StoreError),
        (401, "Unauthorized", StoreError),
        (400, "mapper_parsing_exception", StoreError),
    ],
)
def test_a_refusal_says_whether_asking_again_may_help(
    status: int, text: str, kind: type[StoreError]
) -> None:
    engine: Any = open_engine("opensearch://127.0.0.1:1/laws")
    found = engine._client._refused(status, text)
    assert isinstance(found, kind) and found.hint
    assert isinstance(found, StoreUnavailable) == issubclass(kind, StoreUnavailable)
    engine.close()


def test_what_is_not_whole_is_no_answer() -> None:
    engine: Any = open_engine("opensearch://127.0.0.1:1/laws")
    whole = {"timed_out": False, "_shards": {"total": 2, "failed": 0}, "hits": {}}
    assert engine._client.whole(whole) is whole
    for halves in (
        {**whole, "timed_out": True},
        {**whole, "_shards": {"total": 2, "failed": 1, "failures": [{"reason": "gone"}]}},
    ):
        with pytest.raises(StoreUnavailable, match="of 2 shards did not answer"):
            engine._client.whole(halves)
    engine.close()


def numbers_of(text: str) -> list[int]:
    """Read a Roaring bitmap without runs, as its specification says."""
    data = base64.b64decode(text)
    cookie, size = np.frombuffer(data, "<u4", 2).tolist()
    assert cookie == 12346
    heads = np.frombuffer(data, "<u2", 2 * size, 8).reshape(-1, 2).tolist()
    offsets = np.frombuffer(data, "<u4", size, 8 + 4 * size).tolist()
    found: list[int] = []
    for (block, last), at in zip(heads, offsets, strict=True):
        if last < 4096:
            low = np.frombuffer(data, "<u2", last + 1, at)
        else:
            bits = np.unpackbits(np.frombuffer(data, np.uint8, 8192, at), bitorder="little")
            low = np.flatnonzero(bits)
        found += ((block << 16) + low.astype(np.int64)).tolist()
    return found


@given(st.sets(st.integers(0, (1 << 32) - 1), max_size=50), st.integers(0, 70_000))
def test_a_bitmap_has_the_numbers(some: set[int], many: int) -> None:
    wanted = sorted(some | set(range(0, 2 * many, 2)))
    assert numbers_of(bitmap_of(np.array(wanted, dtype=np.int64))) == wanted
