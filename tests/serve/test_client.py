"""The typed clients against a real server on loopback: they say what the library says."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pincite.answer.asker import Asker
from pincite.answer.values import CompleteEvent, TokenEvent
from pincite.api import Index
from pincite.client.client import AsyncClient, Client, Patience
from pincite.client.errors import RequestRefused, Unreachable
from pincite.model.types import Filters
from pincite.serve.access import add_key, new_key
from pincite.serve.service import Options

from .conftest import free_port, served, settings

RODS = "how far apart do two earth rods have to be"
CODE = "electrical-code-2024.md"


class Waiting:
    """The client that does not block, called as the other one: one loop for all calls."""

    def __init__(self, url: str, **options: Any) -> None:
        self._loop = asyncio.new_event_loop()
        self._client = AsyncClient(url, **options)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            found = getattr(self._client, name)(*args, **kwargs)
            if hasattr(found, "__aiter__"):
                return iter(self._loop.run_until_complete(_all(found)))
            return self._loop.run_until_complete(found)

        return call

    def __enter__(self) -> Waiting:
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.run_until_complete(self._client.close())
        self._loop.close()


async def _all(events: Any) -> list[Any]:
    return [each async for each in events]


@pytest.fixture(params=[Client, Waiting])
def client(request: pytest.FixtureRequest, sample_server: str) -> Iterator[Any]:
    with request.param(sample_server) as opened:
        yield opened


@pytest.fixture
def index(sample_index: Path) -> Iterator[Index]:
    with Index.open(sample_index) as opened:
        yield opened


def test_search_says_what_the_library_says(client: Any, index: Index) -> None:
    filters = Filters(documents=(CODE,), kinds=("clause",))
    found = client.search(RODS, 3, filters)
    expected = index.search(RODS, 3, filters).passages
    assert [hit.citation for hit in found.hits] == [each.citation for each in expected]
    assert [hit.score for hit in found.hits] == [each.hit.score for each in expected]
    first = found.hits[0]
    assert first.chunk.text == expected[0].chunk.text and first.path == expected[0].place.path
    assert found.generation == index.snapshot.manifest.generation
    missing = client.search("what does 250.66(Z) say?").missing
    assert [(each.place, each.nearest) for each in missing] == [("250.66(z)", "250.66")]


def test_places_cells_and_documents(client: Any, index: Index) -> None:
    (place,) = client.show("250.56(B)", CODE)
    assert place.text == index.show("250.56(B)", CODE)[0].text
    (old,) = client.show("250.56(B)", as_of="2022")
    assert old.document == "electrical-code-2021.md"
    cited = client.cite("250.56(B)", "ris", CODE, links="https://example.org")
    assert cited.citation == index.cite("250.56(B)", "ris", CODE, links="https://example.org")
    assert cited.others == () and client.cite("250.56(B)").others
    (cell,) = client.cell("Table 250.66", "95 mm²", "electrode copper", CODE)
    assert (cell.value, cell.unit) == ("35", "mm²")
    assert [each.id for each in client.documents()] == index.documents()


def test_errors_are_those_of_the_server(client: Any) -> None:
    with pytest.raises(RequestRefused, match=r"no place '999\.9'") as caught:
        client.show("999.9")
    assert (caught.value.status, caught.value.kind) == (404, "StoreError")
    assert "search" in caught.value.hint and caught.value.request_id
    with pytest.raises(RequestRefused) as caught:
        client.search("")
    assert caught.value.status == 422


def test_ask_gives_the_events_of_the_library(client: Any, index: Index) -> None:
    events = list(client.ask(RODS))
    expected = list(Asker(index).ask(RODS))
    assert [each.name for each in events] == [each.name for each in expected]
    last, wanted = events[-1], expected[-1]
    assert isinstance(last, CompleteEvent) and isinstance(wanted, CompleteEvent)
    assert last.answer.text == wanted.answer.text
    assert last.answer.sources == wanted.answer.sources
    assert last.answer.citations == wanted.answer.citations
    tokens = [each.text for each in events if isinstance(each, TokenEvent)]
    assert "".join(tokens) == last.answer.text
    assert client.answer(RODS).sentences == last.answer.sentences


def test_ask_can_be_left_before_the_end(sample_server: str) -> None:
    with Client(sample_server) as client:
        events = client.ask(RODS)
        assert next(events).name == "search"
        events.close()  # type: ignore[attr-defined]
        assert client.documents()


def test_rerank_and_embeddings(client: Any) -> None:
    texts = ["Paint is red.", "Earth rods shall be at least 2.4 m apart.", "Bylaws."]
    ranked = client.rerank("how far apart are earth rods?", texts, top=2)
    assert len(ranked) == 2 and ranked[0].index == 1 and ranked[0].score > ranked[1].score
    one, two = client.embeddings(texts[:2])
    (asked,) = client.embeddings(["distance between earth rods"], is_query=True)

    def near(a: tuple[float, ...], b: tuple[float, ...]) -> float:
        return sum(x * y for x, y in zip(a, b, strict=True))

    assert near(asked, two) > near(asked, one)


@pytest.mark.parametrize("kind", [Client, Waiting])
def test_upload_and_remove(kind: Any, own_index: Path, tmp_path: Path) -> None:
    file = tmp_path / "pumps.md"
    file.write_text(
        "# Pumps\n\n## 1 Seals\n\nA zanzibar seal lasts two years.\n\n## 2 Oil\n\nNo.\n"
    )
    with served(own_index) as url, kind(url, timeout=30) as client:
        jobs = list(client.upload(file))
        assert jobs[-1].state == "done" and jobs[-1].status == "added" and jobs[-1].chunks
        assert jobs[0].document == "pumps.md"
        assert client.search("zanzibar seal").hits[0].document == "pumps.md"
        empty = tmp_path / "empty.md"
        empty.write_text(" ")
        with pytest.raises(RequestRefused, match="is empty"):
            list(client.upload(empty))
        assert client.remove("pumps.md") == "pumps.md"
        assert "pumps.md" not in {each.id for each in client.documents()}


def test_keys_and_rates(sample_index: Path, tmp_path: Path) -> None:
    """Without a key nobody gets in; who is too quick waits as long as the server says."""
    file = tmp_path / "keys.json"
    made, key = new_key("reader", rate_per_minute=60)
    add_key(file, made)
    with served(sample_index, settings(burst=2), Options(keys=file)) as url:
        with Client(url) as stranger, pytest.raises(RequestRefused) as caught:
            stranger.documents()
        assert caught.value.status == 401 and "Bearer" in caught.value.hint
        with Client(url, key) as client:
            for _ in range(4):
                assert client.documents()
        with Client(url, key, patience=Patience(tries=1)) as client:
            with pytest.raises(RequestRefused) as caught:
                for _ in range(4):
                    client.documents()
            assert caught.value.status == 429
            with pytest.raises(RequestRefused) as caught:
                client.remove(CODE)
        assert caught.value.status in (403, 429)


def test_nobody_there() -> None:
    with (
        Client(f"http://127.0.0.1:{free_port()}", patience=Patience(tries=1)) as client,
        pytest.raises(Unreachable, match="cannot be reached"),
    ):
        client.documents()
