"""An index that other programs search in OpenSearch, with their own tools."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.stores.documents import build, rules

from pincite.api import Index
from pincite.encode.encoders import open_encoder
from pincite.maintain.open_mapping import FIELDS, publish_index
from pincite.model.settings import Settings, merged
from pincite.read.load import find_files
from pincite.store.location import open_engine
from pincite.update import embed_index, ingest_files

SAMPLES = Path(__file__).parents[2] / "samples"
QUESTIONS = 40
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("open") / "index"
    list(ingest_files(find_files([SAMPLES]), made))
    list(embed_index(made))
    return made


@pytest.fixture(scope="module")
def questions(folder: Path) -> list[str]:
    """Headings of clauses: what people who know their documents type."""
    with Index.open(folder) as index:
        chunks = [c for name in index.documents() for c in index.snapshot.chunks(name)]
    titles = dict.fromkeys(c.title for c in chunks if c.searched and len(c.title.split()) > 2)
    return list(titles)[:QUESTIONS]


def texts_of(folder: Path, preset: str, questions: list[str], k: int) -> list[list[str]]:
    """Return what Pincite finds: texts, because two editions may say the same."""
    settings = merged(Settings(), {"search": {"preset": preset}}, origin="test")
    with Index.open(folder, settings) as index:
        rankings = [index.search_ranking(question, k).hits for question in questions]
        return [[c.text for c in index.snapshot.get([h.chunk_id for h in r])] for r in rankings]


@pytest.fixture(scope="module")
def vector_of() -> Callable[[str], list[float]]:
    encoder = open_encoder(Settings().encoding)
    assert encoder is not None
    return lambda text: encoder.encode_query(encoder.spec.query_prefix + text).tolist()


def asked(url: str, path: str, body: Any) -> list[dict[str, Any]]:
    """Return the hits of a request as any program sends it."""
    engine: Any = open_engine(url)
    found = engine._client.ask("POST", path, body)
    engine.close()
    hits: list[dict[str, Any]] = found["hits"]["hits"]
    return hits


def test_words_and_vectors_are_searched_in_one_request(
    new_opensearch: Callable[[], str],
    folder: Path,
    questions: list[str],
    vector_of: Callable[[str], list[float]],
) -> None:
    url = new_opensearch()
    done = publish_index(folder, f"{url}?shards=2")
    assert done.is_new and done.chunks > 100 and done.without_vectors == 0
    name = done.index.removesuffix("-open")
    ours = texts_of(folder, "hybrid", questions, 10)
    agreed: dict[str, int] = {"minmax": 0, "rrf": 0}
    for question, texts in zip(questions, ours, strict=True):
        near = {"knn": {"embedding": {"vector": vector_of(question), "k": 50}}}
        fields = ["content", "heading", "title"]
        words = {"multi_match": {"query": question, "fields": fields}}
        for pipeline in agreed:
            path = f"/{done.index}/_search?search_pipeline={name}-{pipeline}"
            best = asked(url, path, {"query": {"hybrid": {"queries": [words, near]}}})[0]
            assert set(best["_source"]) <= {*FIELDS, "embedding"}
            agreed[pipeline] += best["_source"]["content"] in texts
    # Its best is among Pincite's ten best: a ranking of its own, and of the same words.
    assert min(agreed.values()) >= 0.9 * len(questions), agreed


def test_who_searches_sees_one_generation_and_then_the_next(
    new_opensearch: Callable[[], str], tmp_path: Path, pincite: Callable[..., Any]
) -> None:
    url, folder = new_opensearch(), tmp_path / "index"
    build(folder, {"a.md": rules(1)})
    first = pincite("publish", url, "--index", folder, "--json").json
    assert first["is_new"] and first["without_vectors"] == first["chunks"] and not first["model"]
    again = publish_index(folder, url)
    assert not again.is_new and again.chunks == first["chunks"]
    build(folder, {"b.md": rules(2)})
    path, every = f"/{again.index}/_search", {"size": 1000, "query": {"match_all": {}}}
    assert {hit["_source"]["document"] for hit in asked(url, path, every)} == {"a.md"}
    second = publish_index(folder, url)
    assert second.is_new and second.run_id != again.run_id
    documents = {hit["_source"]["document"] for hit in asked(url, path, every)}
    assert documents == {"a.md", "b.md"}
    engine: Any = open_engine(url)
    assert len(engine._client.names(f"{second.index}-")) == 2  # the one before stays
    build(folder, {"c.md": rules(3)})
    publish_index(folder, url)
    assert len(engine._client.names(f"{second.index}-")) == 2
    engine.close()


def test_access_and_editions_are_fields(new_opensearch: Callable[[], str], tmp_path: Path) -> None:
    url, folder = new_opensearch(), tmp_path / "index"
    (tmp_path / "a.md").write_text(rules(1))
    (tmp_path / "secret.md").write_text("---\naccess: Staff, board\n---\n# Pay\n\nMuch.\n")
    list(ingest_files([(tmp_path / name, name) for name in ("a.md", "secret.md")], folder))
    done = publish_index(folder, url)
    may_see = {"bool": {"should": [{"term": {"open": True}}, {"terms": {"access": ["staff"]}}]}}
    path = f"/{done.index}/_search"
    for query, documents in (
        (may_see, {"a.md", "secret.md"}),
        ({"term": {"open": True}}, {"a.md"}),
        ({"terms": {"access": ["guest"]}}, set()),
    ):
        hits = asked(url, path, {"size": 1000, "query": query})
        assert {hit["_source"]["document"] for hit in hits} == documents


def test_haystacks_own_retrievers_read_it(
    new_opensearch: Callable[[], str],
    folder: Path,
    questions: list[str],
    vector_of: Callable[[str], list[float]],
) -> None:
    reason = "opensearch-haystack is not installed"
    retrievers = pytest.importorskip(
        "haystack_integrations.components.retrievers.opensearch", reason=reason
    )
    stores = pytest.importorskip("haystack_integrations.document_stores.opensearch", reason=reason)
    url = new_opensearch()
    done = publish_index(folder, url)
    host = f"http://{url.removeprefix('opensearch://').partition('/')[0]}"
    store = stores.OpenSearchDocumentStore(hosts=host, index=done.index, create_index=False)
    near = retrievers.OpenSearchEmbeddingRetriever(document_store=store)
    words = retrievers.OpenSearchBM25Retriever(document_store=store)
    same = 0
    ours = texts_of(folder, "dense", questions, 1)
    for question, (text,) in zip(questions, ours, strict=True):
        best = near.run(query_embedding=vector_of(question))["documents"][0]
        assert best.meta["locator"] and best.meta["document"]
        same += best.content == text
        assert words.run(query=question)["documents"]
    # What it finds by meaning is what Pincite finds by meaning.
    assert same >= 0.9 * len(questions), same
