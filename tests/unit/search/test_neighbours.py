"""Neighbours of searched chunks: links carried to what is searched, the same from both ends."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from pincite.api import Index
from pincite.maintain.audit import audit
from pincite.model.settings import IngestSettings, Settings
from pincite.search import neighbours as module
from pincite.search.neighbours import Neighbours, references
from pincite.update import ingest_files, remove

CODE = """# Wiring Code

## 1.1 Definitions

(a) *Branch circuit* means the conductors behind the last fuse.

(b) *Feeder* means all conductors before the last fuse.

## 1.2 Boxes

Boxes follow these rules.

(a) A box has a cover, except as 1.3(b) permits.

(b) Sizes are in Table 1.2.

Table 1.2 Sizes

| wires | size |
|---|---|
| 2 | 10 |
| 3 | 15 |

## 1.3 Covers

(a) Covers follow section 1.2.

(b) A branch circuit needs no cover.
"""
OTHER = """# Other Rules

## 9.1 Elsewhere

See section 1.3(b) of the code, and section 9.2.

## 9.2 Last

Nothing more.
"""
SPLIT = Settings(ingest=IngestSettings(split_depth=1, profile="code"))
Edges = set[tuple[str, str, str, str]]


@pytest.fixture
def index(make_index: Callable[..., Index]) -> Index:
    return make_index({"code.md": CODE, "other.md": OTHER}, SPLIT)


def searched(index: Index) -> dict[str, str]:
    """Return the ids of searched chunks by a readable name."""
    return {
        f"{chunk.locator}{' piece' if chunk.kind == 'piece' else ''}": chunk.id
        for doc_id in index.documents()
        for chunk in index.snapshot.chunks(doc_id)
        if chunk.searched
    }


def edges(index: Index, neighbours: Neighbours | None = None) -> Edges:
    names = {chunk_id: name for name, chunk_id in searched(index).items()}
    found = (neighbours or Neighbours(index.snapshot)).of(sorted(names))
    return {
        (names[i], edge.relation, edge.direction, names[edge.chunk_id])
        for i, group in found.items()
        for edge in group
    }


def test_links_lead_to_searched_chunks(index: Index) -> None:
    found = edges(index)
    assert ("1.2(a)", "refers_to", "out", "1.3(b)") in found
    assert ("1.2(b) piece", "refers_to", "out", "Table 1.2") in found
    assert ("1.3(b)", "uses", "out", "1.1(a)") in found
    assert ("1.2 piece", "contains", "out", "1.2(a)") in found
    assert ("1.2 piece", "contains", "out", "1.2(b) piece") in found
    assert ("1.2(b) piece", "contains", "out", "Table 1.2") in found
    assert ("1.3(a)", "next", "out", "1.3(b)") in found
    assert ("9.1", "refers_to", "out", "9.2") in found


def test_a_number_of_an_own_chapter_is_a_place_of_no_other_document(
    make_index: Callable[..., Index],
) -> None:
    pool = "# Pool\n\n## 2.1 Diving\n\nOnly as sections 2.4 and 7.1 and Section 12 permit.\n"
    tax = "# Tax\n\n## 2.4 Fines\n\nA fine is due.\n\n## 7.1 Fees\n\nA fee.\n\n## 12 End\n\nEnds.\n"
    index = make_index({"pool.md": pool, "tax.md": tax}, SPLIT)
    found = {edge for edge in edges(index) if edge[1] == "refers_to" and edge[2] == "out"}
    assert found == {("2.1", "refers_to", "out", "7.1")}  # its chapter 7 may be another's
    (place,) = index.show("2.1", "pool.md")
    missing = [each.name for each in references(index.snapshot, place) if each.chunk_id is None]
    assert missing == ["2.4", "12"]
    gaps = audit(index.snapshot, ["pool.md"]).gaps
    told = [gap.message for gap in gaps if gap.kind == "dangling_reference"]
    assert ["2.4" in told[0], "12" in told[1], len(told)] == [True, True, 2]


def test_what_goes_out_comes_in(index: Index) -> None:
    found = edges(index)
    turned = {"out": "in", "in": "out"}
    assert found == {(b, relation, turned[way], a) for a, relation, way, b in found}


def test_a_reference_to_a_section_is_shared_by_its_parts(index: Index) -> None:
    ids = searched(index)
    found = Neighbours(index.snapshot).of([ids["1.3(a)"]])[ids["1.3(a)"]]
    shares = {
        edge.chunk_id: edge.share
        for edge in found
        if edge.relation == "refers_to" and edge.direction == "out"
    }
    inside = [ids[name] for name in ("1.2 piece", "1.2(a)", "1.2(b) piece", "Table 1.2")]
    assert shares == {inside[0]: 1.0} | {part: pytest.approx(1 / 3) for part in inside[1:]}


def test_the_words_of_a_link_are_its_evidence(index: Index) -> None:
    ids = searched(index)
    found = Neighbours(index.snapshot).of([ids["1.2(b) piece"]])[ids["1.2(b) piece"]]
    (table,) = [edge for edge in found if edge.chunk_id == ids["Table 1.2"] and edge.evidence]
    span = table.evidence
    assert span is not None
    assert CODE[span.start : span.end] == "Table 1.2"


def test_neighbours_do_not_depend_on_who_else_is_asked_for(index: Index) -> None:
    ids = sorted(searched(index).values())
    together = Neighbours(index.snapshot).of(ids)
    alone: dict[str, object] = {}
    for chunk_id in reversed(ids):
        alone |= Neighbours(index.snapshot).of([chunk_id])
    assert together == alone
    remembered = Neighbours(index.snapshot)
    for at in range(len(ids)):
        remembered.of(ids[at : at + 3])
    assert remembered.of(ids) == together


def test_segments_and_removed_documents_do_not_matter(tmp_path: Path) -> None:
    """The same documents in one segment, and in three with a changed and a removed one."""
    (tmp_path / "code.md").write_text(CODE)
    (tmp_path / "other.md").write_text(OTHER)
    (tmp_path / "gone.md").write_text(CODE.replace("Wiring", "Gone") + "\nSee 9.2 of 1.3(b).\n")
    files = {name: (tmp_path / name, name) for name in ("code.md", "other.md", "gone.md")}
    list(ingest_files([files["code.md"], files["other.md"]], tmp_path / "one", SPLIT))
    (tmp_path / "code.md").write_text(CODE.replace("has a cover", "has two covers"))
    list(ingest_files([files["code.md"], files["gone.md"]], tmp_path / "many", SPLIT))
    (tmp_path / "code.md").write_text(CODE)
    list(ingest_files([files["other.md"]], tmp_path / "many", SPLIT))
    list(ingest_files([files["code.md"]], tmp_path / "many", SPLIT))
    remove(tmp_path / "many", ["gone.md"])
    with Index.open(tmp_path / "one") as one, Index.open(tmp_path / "many") as many:
        assert len(many.snapshot.segments) > 1
        ids = sorted(searched(one).values())
        assert ids == sorted(searched(many).values())
        assert Neighbours(many.snapshot).of(ids) == Neighbours(one.snapshot).of(ids)


def test_a_name_means_the_place_of_its_own_document(make_index: Callable[..., Index]) -> None:
    old, new = CODE, CODE.replace("Wiring Code", "Wiring Code 2026")
    index = make_index({"old.md": old, "new.md": new}, SPLIT)
    chunks = [c for d in index.documents() for c in index.snapshot.chunks(d) if c.searched]
    home = {chunk.id: chunk.span.doc_id for chunk in chunks}
    for chunk_id, group in Neighbours(index.snapshot).of(sorted(home)).items():
        assert {home[edge.chunk_id] for edge in group} <= {home[chunk_id]}


def test_hubs_are_followed_to_their_home_and_not_back(make_index: Callable[..., Index]) -> None:
    uses = "".join(
        f"## 2.{i} On {i}\n\nSee section 1.1.\n\n" for i in range(1, module.MAX_USES + 2)
    )
    index = make_index({"hub.md": f"# Hub\n\n## 1.1 Home\n\nAll come here.\n\n{uses}"}, SPLIT)
    found = {(a, way, b) for a, relation, way, b in edges(index) if relation == "refers_to"}
    assert ("2.5", "out", "1.1") in found
    assert not any(a == "1.1" for a, _, _ in found)


def test_unknown_ids_have_no_neighbours(index: Index) -> None:
    neighbours = Neighbours(index.snapshot)
    whole = index.snapshot.chunks("code.md")[0].id
    assert neighbours.of(["nothing", "", "' OR 1=1", whole]) == {}
    assert neighbours.of([]) == {}


def test_fixed_chunks_have_only_an_order(make_index: Callable[..., Index]) -> None:
    fixed = Settings(ingest=IngestSettings(chunking="fixed", max_tokens=30))
    index = make_index({"code.md": CODE}, fixed)
    assert {relation for _, relation, _, _ in edges(index)} == {"next"}
