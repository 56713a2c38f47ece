"""The learned stage: order by the model, named places first, features that add up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pincite.api import Index
from pincite.model.errors import ModelError
from pincite.model.settings import Settings
from pincite.model.types import Query
from pincite.search.candidates import Candidates, Tier
from pincite.search.feature_table import NAMES, Features
from pincite.search.learned import Learned, Linear, RankerModel, feature_lines, save_model

CODE = """# Wiring Code

## 1.1 Boxes

A box of steel has a cover of steel. Net area 5,060.

## 1.2 Covers

A cover of steel is held by two screws, and a box of wood has none.

## 1.3 Feeders

A feeder has a box with two covers of copper.

## 1.4 Steel

Steel is not copper.
"""


def model(feature: str, weight: float, k: int = 10) -> RankerModel:
    weights = np.zeros(len(NAMES))
    weights[NAMES.index(feature)] = weight
    return RankerModel("logistic", NAMES, k, Linear(weights))


@pytest.fixture
def index(make_index: Callable[..., Index]) -> Index:
    settings = Settings().changed({"search.preset": "lexical"})
    return make_index({"code.md": CODE, "other.md": CODE.replace("steel", "brass")}, settings)


QUESTION = "box with a cover of steel"


def ids(table: Candidates) -> list[str]:
    return table.names(table.order())


def lines(index: Index, text: str, k: int) -> tuple[Candidates, dict[str, list[float]]]:
    """Return what is found, and the features of the first, by name."""
    found = index.searcher.search(Query(text), 100)
    table = feature_lines(Features(index.opened), index.parse(text), found, k)
    return found, {name: column.tolist() for name, column in zip(NAMES, table.T, strict=True)}


def test_the_model_decides_the_order(index: Index) -> None:
    found, query = index.searcher.search(Query(QUESTION), 100), index.parse(QUESTION)
    features = Features(index.opened)
    assert ids(Learned(model("bm25_rank", 5.0), features)(query, found)) == found.names()
    assert ids(Learned(model("bm25_rank", -5.0), features)(query, found)) == found.names()[::-1]


def test_parts_add_up_and_raw_keeps_what_was_seen(index: Index) -> None:
    found = index.searcher.search(Query(QUESTION), 100)
    stage = Learned(model("query_coverage", 5.0, k=2), Features(index.opened))
    ranked = stage(index.parse(QUESTION), found)
    hits = ranked.hits()
    for hit in hits:
        assert hit.score == pytest.approx(sum(hit.features.values()))
    best = hits[0]
    assert 0 <= best.features["learned"] <= 1
    assert best.raw["query_coverage"] == 1.0
    assert best.raw["terms"] == pytest.approx(best.raw["bm25_terms"])
    # Beyond k the earlier order stays.
    assert ids(ranked)[2:] == found.names()[2:]


def test_named_places_stay_first(index: Index) -> None:
    found = index.searcher.search(Query(QUESTION), 100)
    tier = np.zeros(len(found), dtype=np.int64)
    tier[-3:] = [Tier.ENTITY, Tier.PLACE, Tier.PLACE]
    position = np.where(tier == Tier.PLACE, np.arange(len(found))[::-1], 0)
    named = replace(found, tier=tier, position=position)
    for k in (1, 2, 10):
        stage = Learned(model("bm25_rank", -50.0, k=k), Features(index.opened))
        ranked = stage(index.parse(QUESTION), named)
        assert ids(ranked)[:3] == found.names()[:-4:-1]
        for hit in ranked.hits():
            assert hit.score == pytest.approx(sum(hit.features.values()))


def test_nothing_and_words_of_nothing(index: Index) -> None:
    stage = Learned(model("bm25_rank", 1.0), Features(index.opened))
    assert not len(stage(index.parse("x"), Candidates.empty()))
    known = index.searcher.search(Query("steel"), 5).names()
    some, query = Candidates.of(known, {"terms": np.ones(len(known))}), index.parse("? the of")
    assert set(stage(query, some).names()) == set(known)
    table = feature_lines(Features(index.opened), query, some, 5)
    assert table.shape == (len(known), len(NAMES)) and np.isfinite(table).all()


def test_the_pool_is_seen_by_features(index: Index) -> None:
    found, table = lines(index, QUESTION, 3)
    chunks = index.snapshot.get(found.names())
    mine = [sum(c.span.doc_id == each.span.doc_id for each in chunks) for c in chunks[:3]]
    assert table["document_votes"] == [count / len(chunks) for count in mine]
    parts = [found.parts[name] for name in ("terms", "pairs", "window", "aliases")]
    scores = np.nan_to_num(parts).sum(axis=0).tolist()
    assert table["score_share"] == pytest.approx([s / max(scores) for s in scores[:3]])
    assert table["bm25"] == pytest.approx(scores[:3])


def test_a_hybrid_keeps_the_scores_of_words(index: Index) -> None:
    known = index.searcher.search(Query("steel"), 1).names()
    shares = Candidates.of(known, {"terms": np.array([0.2]), "meaning": np.array([0.4])})
    table = replace(shares, raw={"lexical": np.array([6.0])}, features={"terms": np.array([5.0])})
    found = feature_lines(Features(index.opened), index.parse("steel"), table, 1)[0]
    assert found[NAMES.index("bm25")] == 6.0 and found[NAMES.index("bm25_terms")] == 5.0


def test_numbers_and_headings(index: Index) -> None:
    found, table = lines(index, "Boxes with an area of 5,060 or 7", 20)
    chunks = index.snapshot.get(found.names())
    for chunk, numbers, heading in zip(
        chunks, table["number_coverage"], table["heading_coverage"], strict=True
    ):
        assert numbers == (0.5 if "5,060" in chunk.text else 0.0)
        assert (heading > 0) == ("Boxes" in " ".join((chunk.title, *chunk.path)))
    assert set(table["question_numbers"]) == {2.0}


def test_a_setting_names_the_file(index: Index, tmp_path: Path) -> None:
    file = tmp_path / "model.json"
    save_model(model("bm25_rank", -5.0), file)
    plain = index.search_ranking("box with a cover of steel", 3)
    settings = index.settings.changed({"search.ranker": str(file)})
    assert Index(index.opened, settings).search_ranking("box with a cover of steel", 3) != plain
    file.write_text("{}")
    with pytest.raises(ModelError, match=r"model\.json"):
        Index(index.opened, settings)


def test_a_model_that_reads_vectors_needs_an_index_with_them(
    make_index: Callable[..., Index], tmp_path: Path
) -> None:
    index = make_index({"a.md": "# A\n\nwires and pipes\n"})
    file = tmp_path / "model.json"
    save_model(replace(model("late_score", 1.0), about={"reads": ["late_score"]}), file)
    with pytest.raises(ModelError, match="reads late_score") as caught:
        Learned.load(file, Features(index.opened))
    assert "tuning.token_vectors" in (caught.value.hint or "")
    matches = Features(index.opened, late=lambda question, ids: np.full(len(ids), 0.5))
    stage = Learned.load(file, matches)
    ranked = stage(index.parse("wires"), index.searcher.search(Query("wires"), 5))
    assert ranked.raw["late_score"].tolist() == [0.5]
