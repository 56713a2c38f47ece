"""References from place to place, on the samples and on small texts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pincite.api import Index
from pincite.index.builder import IndexBuilder
from pincite.model.settings import Settings
from pincite.read.load import parse
from pincite.search import neighbours as module
from pincite.search.neighbours import references

SAMPLES = Path(__file__).parents[3] / "samples"
RULES = """# Rules

## 1.1 Rods

(a) Rods are long, see 1.2(b) and 9.9.

(b) Rods are thick as in (a).

## 1.2 Wires

(a) Wires are thin.

(b) Wires are long; see 1.2(a), and 1.1 for rods.
"""


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    home = tmp_path_factory.mktemp("references")
    with IndexBuilder(home, Settings()) as builder:
        for name in ("electrical-code-2024.md", "manual.md"):
            text = (SAMPLES / name).read_bytes()
            builder.put(parse(text, name, Settings().ingest))
        builder.flush()
    with Index.open(home) as index:
        yield index


def told(index: Index, locator: str) -> list[tuple[str, str, str]]:
    found = references(index.snapshot, index.show(locator)[0])
    places = {c.id: c.locator for c in index.snapshot.chunks("rules.md")}
    return [
        (each.direction, each.relation, places[each.chunk_id] if each.chunk_id else each.name)
        for each in found
    ]


def test_the_very_clause_is_found_and_names_it_back(make_index: Callable[..., Index]) -> None:
    index = make_index({"rules.md": RULES})
    out = told(index, "1.1(a)")
    assert ("out", "refers_to", "1.2(b)") in out
    assert ("out", "refers_to", "9.9") in out  # leads nowhere: only its name is known
    assert ("in", "refers_to", "1.1(a)") in told(index, "1.2(b)")
    assert ("in", "refers_to", "1.2(b)") in told(index, "1.1")


def test_what_stays_inside_a_place_is_no_reference_of_it(make_index: Callable[..., Index]) -> None:
    index = make_index({"rules.md": RULES})
    assert ("out", "refers_to", "1.2(a)") in told(index, "1.2(b)")
    assert not any("1.2" in name for _, _, name in told(index, "1.2") if "1.1" not in name)


def test_every_reference_between_places_can_be_followed_back(samples: Index) -> None:
    """The law of the two directions, for all places and all references of two documents."""
    snapshot, count = samples.snapshot, 0
    for document in samples.documents():
        for place in snapshot.chunks(document):
            if place.kind in ("document", "piece", "text"):
                continue
            for each in references(snapshot, place):
                text = snapshot.text(each.evidence.doc_id)
                assert text[each.evidence.start : each.evidence.end].strip()
                if each.chunk_id is None or each.direction == "in" or each.relation == "uses":
                    continue
                (target,) = snapshot.get([each.chunk_id])
                back = references(snapshot, target)
                assert any(
                    other.direction == "in" and other.evidence == each.evidence for other in back
                ), (place.locator, each)
                count += 1
    assert count > 100


def test_a_name_that_half_the_world_uses_is_not_read(
    make_index: Callable[..., Index], monkeypatch: pytest.MonkeyPatch
) -> None:
    index = make_index({"rules.md": RULES})
    monkeypatch.setattr(module, "MAX_INCOMING", 0)
    assert not any(direction == "in" for direction, _, _ in told(index, "1.2(b)"))
