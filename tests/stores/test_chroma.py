"""Chroma as a store: the contract, its own index of vectors, a copy there and back."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.stores.contract import StoreContract
from tests.stores.documents import build, rules
from tests.stores.moves import assert_there_and_back
from tests.stores.vector_search import assert_nearly_all_are_found

from pincite.model.errors import ConfigError, StoreError, StoreFull, StoreUnavailable
from pincite.model.settings import StoreSettings
from pincite.store.location import GenerationPoller, open_engine, open_snapshot, server_of

SAMPLE = Path(__file__).parents[2] / "samples" / "rulebook.md"
pytestmark = pytest.mark.slow


@pytest.mark.usefixtures("short_lease")
class TestChroma(StoreContract):
    @pytest.fixture(autouse=True)
    def _where(self, new_chroma: Callable[[], str]) -> None:
        self._new = new_chroma

    def fresh(self) -> str:
        return self._new()


def test_there_and_back_is_byte_for_byte_the_same(
    new_chroma: Callable[[], str], tmp_path: Path
) -> None:
    assert_there_and_back(new_chroma(), tmp_path)


def test_its_own_index_finds_nearly_all(new_chroma: Callable[[], str]) -> None:
    assert_nearly_all_are_found(new_chroma())


def test_the_command_line_takes_a_url(
    new_chroma: Callable[[], str], pincite: Callable[..., Any]
) -> None:
    url = new_chroma()
    told = pincite("ingest", SAMPLE, "--index", url, "--json")
    assert told.json["counts"] == {"added": 1}
    assert "Grabbed" in pincite("search", "what does grabbed do", "--index", url).out


def test_an_index_that_was_made_anew_is_another(new_chroma: Callable[[], str]) -> None:
    """Numbers begin at 1 again; whoever serves the old one has to notice."""
    url = new_chroma()
    build(url, {"a.md": rules(1)})
    watch = GenerationPoller(url)
    before = watch.stamp()
    engine: Any = open_engine(url)
    for name in engine._client.names():
        engine._client.drop(name)
    engine.close()
    assert watch.stamp() == ""
    build(url, {"a.md": rules(1)})
    assert before.partition(" ")[0] == watch.stamp().partition(" ")[0] == "1"
    assert watch.stamp() not in ("", before)
    watch.close()
    assert server_of(url).startswith("Chroma 1.")


@pytest.mark.parametrize(
    ("status", "text", "kind"),
    [
        (500, "(code: 13) database or disk is full", StoreFull),
        (500, "Error in compaction: Error purging logs", StoreUnavailable),
        (503, "<html>Service Unavailable</html>", StoreUnavailable),
        (400, "InvalidArgumentError", StoreError),
    ],
)
def test_a_refusal_says_whether_asking_again_may_help(
    status: int, text: str, kind: type[StoreError]
) -> None:
    pytest.importorskip("httpx", reason="Chroma's driver is not installed")
    engine: Any = open_engine("chroma://127.0.0.1:1/laws")
    assert type(engine._client._refused(status, text)) is kind
    engine.close()


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("chroma://127.0.0.1:1/A%20B", "is no name"),
        ("chroma://127.0.0.1:1/laws#acts", "nothing may stand after #"),
        ("chroma://127.0.0.1:1/laws?shards=2", "'shards' means nothing"),
        ("chroma://127.0.0.1:1/laws?tls=maybe", "neither true nor false"),
        ("chroma://127.0.0.1:port/laws", "no host and port"),
        ("chroma:///laws", "no host"),
    ],
)
def test_wrong_addresses_are_explained(url: str, told: str) -> None:
    pytest.importorskip("httpx", reason="Chroma's driver is not installed")
    with pytest.raises(ConfigError, match=told):
        open_engine(url).head()


def test_nobody_there_is_told_without_the_password() -> None:
    pytest.importorskip("httpx", reason="Chroma's driver is not installed")
    with pytest.raises(StoreUnavailable, match="cannot be reached") as caught:
        open_snapshot("chroma://ann:secret@127.0.0.1:1/laws", StoreSettings(timeout_seconds=2))
    assert "secret" not in caught.value.message and caught.value.hint
