"""Runs in MongoDB for other programs: whole or not at all, and read back aligned or not at all."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.stores.documents import build, rules

from pincite.maintain import publish as publishing
from pincite.maintain.publish import SegmentVectors, publish, published
from pincite.model.errors import IndexBusy, StoreError
from pincite.model.settings import Settings
from pincite.model.types import Enrichment
from pincite.store.location import open_snapshot
from pincite.store.mongodb.engine import MongoAddress, MongoClient, MongoLease, Record
from pincite.store.mongodb.runs import (
    FIELDS,
    INDEXES,
    RUNS,
    aligned,
    load_run,
    text_hash,
    validator_of,
)
from pincite.update import embed_index, ingest_files

ROOT = Path(__file__).parents[2]
RULES = "open-tabletop"


@pytest.fixture(scope="module")
def rulebook(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Lend an index of a rulebook, with vectors."""
    folder = tmp_path_factory.mktemp("published") / "index"
    list(ingest_files([(ROOT / "samples" / "rulebook.md", "rulebook.md")], folder, Settings()))
    list(embed_index(folder))
    return folder


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Lend a small index with vectors."""
    folder = tmp_path_factory.mktemp("small") / "index"
    build(folder, {"a.md": rules(1)})
    list(embed_index(folder))
    return folder


@pytest.fixture
def url(new_mongodb: Callable[[], str]) -> str:
    return new_mongodb()


def documents(url: str) -> dict[str, list[Record]]:
    """Return all that another program would find."""
    client = MongoClient(MongoAddress(url), Settings().store)
    found = {name: list(client.collection(name).find({}, {"_id": 0})) for name in INDEXES}
    client.close()
    return found


def test_a_run_is_what_the_index_says(rulebook: Path, url: str) -> None:
    done = publish(rulebook, url, RULES)
    assert done.is_new and done.books == 1
    run = load_run(url, RULES)
    assert run.run_id == done.run_id
    with open_snapshot(rulebook) as snapshot:
        wanted = published(snapshot.chunks("rulebook.md"))
        assert [each["chunk_id"] for each in run.chunks] == [chunk.id for chunk in wanted]
        assert [each["text"] for each in run.chunks] == [chunk.text for chunk in wanted]
        facts = snapshot.facts([chunk.id for chunk in wanted])
        vectors = SegmentVectors.of(snapshot, snapshot.segments[0])
        for number, (record, chunk) in enumerate(zip(run.chunks, wanted, strict=True)):
            assert record["section_path"] == list(chunk.path)
            known = facts.get(chunk.id, Enrichment())
            assert record["traits"] == list(known.traits)
            assert record["is_rule_bearing"] == known.is_rule_bearing
            assert run.chunk_id_to_index[chunk.id] == number
            windows = vectors.windows(chunk.id, run.model_id)
            assert windows is not None
            if len(windows) == 1:
                assert np.allclose(run.embeddings[number], windows[0], atol=2e-3)
    assert np.allclose(np.linalg.norm(run.embeddings, axis=1), 1, atol=1e-5)
    assert all(node in run.adjacency[other] for node in run.adjacency for other in
               run.adjacency[node])  # fmt: skip
    grabbed = next(each for each in run.chunks if each["locator"] == "Grabbed")
    assert run.adjacency[grabbed["chunk_id"]]
    assert "Grabbed" in run.config["condition_names"]
    assert run.config["intent_patterns"]["spell"] and run.config["policies"]["default"]["depth"]
    assert "game master" in run.config["gm_keywords"]


def test_every_document_fits_its_validator(rulebook: Path, url: str) -> None:
    """The servers of tests keep no validators, so their rules are applied here."""
    schemas = pytest.importorskip("jsonschema", reason="jsonschema is not installed")
    publish(rulebook, url, RULES)
    types = {"bool": "boolean", "double": "number", "int": "integer", "long": "integer"}

    def plain(schema: Any) -> Any:
        """Return a schema of the server's in the words of JSON; dates have no such word."""
        if isinstance(schema, list):
            return [plain(each) for each in schema]
        if not isinstance(schema, dict):
            return schema
        changed = {k: plain(v) for k, v in schema.items() if k != "bsonType"}
        kinds = schema.get("bsonType")
        if isinstance(kinds, str | list) and kinds != "date":
            names = [kinds] if isinstance(kinds, str) else kinds
            changed["type"] = sorted({types.get(name, name) for name in names})
        return changed

    for name, found in documents(url).items():
        schema = plain(validator_of(name)["$jsonSchema"])
        assert found, name
        for document in found[::9]:
            schemas.validate(document, schema)
        wrong = {key: value for key, value in found[0].items() if key != sorted(FIELDS[name])[0]}
        with pytest.raises(schemas.ValidationError):
            schemas.validate(wrong, schema)


def test_publishing_again_changes_nothing(index: Path, url: str) -> None:
    first = publish(index, url, RULES)
    before = documents(url)
    again = publish(index, url, RULES)
    assert not again.is_new and again.chunks == first.chunks
    assert documents(url) == before


def test_runs_are_apart_and_old_ones_go(tmp_path: Path, url: str) -> None:
    names = []
    for number in range(1, 4):
        build(tmp_path / "index", {"a.md": rules(number), "b.md": rules(number + 3)})
        list(embed_index(tmp_path / "index"))
        names.append(publish(tmp_path / "index", url, RULES).run_id)
    other = publish(tmp_path / "index", url, "other", run_id="mine")
    assert other.run_id == "mine"
    assert load_run(url, RULES).run_id == names[2]
    old = load_run(url, RULES, run_id=names[1], book="b.md")
    assert {each["book_id"] for each in old.chunks} == {"b.md"}
    assert "# Part 5" in old.chunks[0]["text"]
    with pytest.raises(StoreError, match="no whole run"):
        load_run(url, RULES, run_id=names[0])
    found = documents(url)
    for name in INDEXES:
        if "run_id" in FIELDS[name]:
            runs = {each["run_id"] for each in found[name] if each["ruleset_id"] == RULES}
            assert runs == set(names[1:])
    # The names are of the same kinds of things each time, so it is one configuration.
    assert [c["version"] for c in found["traversal_configs"] if c["ruleset_id"] == RULES] == [1]


def test_a_publisher_that_died_left_nothing_to_see(
    index: Path, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    send = publishing.send

    def dying(client: MongoClient, name: str, records: Any) -> int:
        if name == RUNS:
            raise KeyboardInterrupt
        return send(client, name, records)

    monkeypatch.setattr(publishing, "send", dying)
    with pytest.raises(KeyboardInterrupt):
        publish(index, url, RULES)
    with pytest.raises(StoreError, match="has no run"):
        load_run(url, RULES)
    monkeypatch.setattr(publishing, "send", send)
    assert publish(index, url, RULES).is_new
    assert len(load_run(url, RULES).chunks) == len(documents(url)["enriched_chunks"])


def test_a_run_of_which_a_book_is_missing_does_not_count(tmp_path: Path, url: str) -> None:
    build(tmp_path / "index", {"a.md": rules(1), "b.md": rules(2)})
    list(embed_index(tmp_path / "index"))
    publish(tmp_path / "index", url, RULES)
    client = MongoClient(MongoAddress(url), Settings().store)
    client.collection(RUNS).delete_one({"book_id": "b.md"})
    client.close()
    with pytest.raises(StoreError, match="has no run"):
        load_run(url, RULES)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda c: c.collection("chunk_embeddings").delete_one({}), "have no vector"),
        (lambda c: c.collection("enriched_chunks").delete_one({}), "of its"),
        (lambda c: c.collection("graph_edges").delete_one({}), "of its"),
        (
            lambda c: c.collection("enriched_chunks").update_one({}, {"$set": {"text": "other"}}),
            "of other words",
        ),
        (lambda c: c.collection("traversal_configs").delete_many({}), "configuration"),
    ],
)
def test_what_does_not_fit_is_an_error(
    index: Path, url: str, change: Callable[[MongoClient], Any], told: str
) -> None:
    publish(index, url, RULES)
    client = MongoClient(MongoAddress(url), Settings().store)
    change(client)
    client.close()
    with pytest.raises(StoreError, match=told) as caught:
        load_run(url, RULES)
    assert "publish the index again" in caught.value.hint


def _pair(number: int) -> tuple[Record, Record]:
    text = f"text {number}"
    vector = [1.0, float(number)]
    known = {"text_hash": text_hash(text)}
    chunk = {"chunk_id": f"{number}", "text": text}
    return chunk, {"chunk_id": f"{number}", "embedding": vector, "metadata": known}


def test_vectors_stand_in_the_order_of_chunks() -> None:
    chunks, vectors = map(list, zip(*(_pair(n) for n in range(5)), strict=True))
    assert aligned("r", chunks, vectors[::-1])[:, 1].tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (lambda c, v: v.append(copy.deepcopy(v[0])), "two vectors"),
        (lambda c, v: c.append(c[0]), "twice"),
        (lambda c, v: v.pop(), "no vector, the first is 4"),
        (lambda c, v: c.pop(), "belong to no chunk"),
        (lambda c, v: v[0]["embedding"].append(1.0), "differ in length"),
        (lambda c, v: v[0].update(embedding=[0.0, 0.0]), "no direction"),
        (lambda c, v: v[0].update(embedding=[float("nan"), 0.0]), "no direction"),
        (lambda c, v: v[0]["metadata"].update(text_hash="0"), "other words"),
    ],
)
def test_nothing_is_filled_in(spoil: Callable[[Any, Any], None], told: str) -> None:
    chunks, vectors = map(list, zip(*(_pair(n) for n in range(5)), strict=True))
    spoil(chunks, vectors)
    with pytest.raises(StoreError, match=told):
        aligned("r", chunks, vectors)


def test_an_index_without_vectors_is_refused(tmp_path: Path, url: str) -> None:
    build(tmp_path / "index", {"a.md": rules(1)})
    with pytest.raises(StoreError, match="no vectors"):
        publish(tmp_path / "index", url, RULES)
    list(embed_index(tmp_path / "index"))
    build(tmp_path / "index", {"b.md": rules(2)})  # of this one they are missing
    with pytest.raises(StoreError, match=r"b\.md: .* has no vector"):
        publish(tmp_path / "index", url, RULES)
    with pytest.raises(StoreError, match="has no run"):
        load_run(url, RULES)


def test_there_is_one_publisher(index: Path, url: str) -> None:
    client = MongoClient(MongoAddress(url), Settings().store)
    lease = MongoLease(client, client.collection(publishing.LEASE, journalled=True))
    lease.take()
    with pytest.raises(IndexBusy):
        publish(index, url, RULES)
    lease.give_back()
    client.close()
    assert publish(index, url, RULES).is_new


def test_the_command(index: Path, url: str, pincite: Callable[..., Any]) -> None:
    told = pincite("publish", url, "--ruleset", RULES, "--index", index)
    assert told.code == 0
    assert f"1 books, {len(load_run(url, RULES).chunks)} chunks" in told.out
