"""The learned stage: order by the model, named places first, features that add up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pincite.api import Index
from pincite.core.errors import ModelError
from pincite.core.settings import LearnSettings, Settings
from pincite.core.types import Hit, Query, Ranking
from pincite.learn.features import NAMES, Features, words_score
from pincite.learn.model import Linear, Model, save_model
from pincite.search.learned import Learned

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


def model(feature: str, weight: float, k: int = 10) -> Model:
    weights = np.zeros(len(NAMES))
    weights[NAMES.index(feature)] = weight
    return Model("logistic", NAMES, k, Linear(weights))


@pytest.fixture
def index(make_index: Callable[..., Index]) -> Index:
    settings = replace(Settings(), search=replace(Settings().search, pipeline="lexical"))
    return make_index({"code.md": CODE, "other.md": CODE.replace("steel", "brass")}, settings)


def test_the_model_decides_the_order(index: Index) -> None:
    ranking = index.search_ranking("box with a cover of steel", 100)
    features = Features(index.opened)
    same = Learned(model("bm25_rank", 5.0), features).rerank(ranking)
    assert same.ids == ranking.ids
    turned = Learned(model("bm25_rank", -5.0), features).rerank(ranking)
    assert turned.ids == ranking.ids[::-1]
    assert set(turned.ids) == set(ranking.ids)


def test_features_add_up_and_raw_keeps_what_was_seen(index: Index) -> None:
    ranking = index.search_ranking("box with a cover of steel", 100)
    ranked = Learned(model("query_coverage", 5.0, k=2), Features(index.opened)).rerank(ranking)
    for hit in ranked.hits:
        assert hit.score == pytest.approx(sum(hit.features.values()))
    best = ranked.hits[0]
    assert 0 <= best.features["learned"] <= 1
    assert best.raw["query_coverage"] == 1.0
    assert best.raw["terms"] == pytest.approx(best.raw["bm25_terms"])
    # Beyond k the earlier order stays.
    assert ranked.ids[2:] == ranking.ids[2:]


def test_named_places_stay_first(index: Index) -> None:
    hits = (
        Hit("a", 9.0, {"terms": 1.0, "place": 8.0}),
        Hit("b", 8.0, {"terms": 1.0, "place": 7.0}),
        Hit("c", 5.0, {"terms": 1.0, "entities": 4.0}),
    )
    known = index.search_ranking("box with a cover of steel", 100).ids
    named = tuple(replace(hit, chunk_id=i) for hit, i in zip(hits, known[::-1], strict=False))
    rest = tuple(Hit(i, 3.0 - n, {"terms": 3.0 - n}) for n, i in enumerate(known[: -len(hits)]))
    for k in (1, 2, 10):
        stage = Learned(model("bm25_rank", -50.0, k=k), Features(index.opened))
        ranked = stage.rerank(Ranking(Query("box with a cover of steel"), (*named, *rest)))
        assert ranked.ids[:3] == tuple(hit.chunk_id for hit in named)
        for hit in ranked.hits:
            assert hit.score == pytest.approx(sum(hit.features.values()))


def test_nothing_and_words_of_nothing(index: Index) -> None:
    stage = Learned(model("bm25_rank", 1.0), Features(index.opened))
    assert stage.rerank(Ranking(Query("x"))).hits == ()
    ids = index.search_ranking("steel", 5).ids
    some = Ranking(Query("? the of"), tuple(Hit(i, 1.0) for i in ids))
    assert set(stage.rerank(some).ids) == set(ids)
    table = Features(index.opened).of(some, 5)
    assert table.shape == (len(ids), len(NAMES)) and np.isfinite(table).all()


def test_the_pool_is_seen_by_features(index: Index) -> None:
    ranking = index.search_ranking("box with a cover of steel", 100)
    table = dict(zip(NAMES, Features(index.opened).of(ranking, 3).T, strict=True))
    chunks = index.snapshot.get(ranking.ids)
    mine = [sum(c.span.doc_id == each.span.doc_id for each in chunks) for c in chunks[:3]]
    assert table["document_votes"].tolist() == [count / len(chunks) for count in mine]
    scores = [words_score(hit) for hit in ranking.hits]
    assert table["score_share"].tolist() == pytest.approx([s / max(scores) for s in scores[:3]])
    assert table["bm25"].tolist() == pytest.approx(scores[:3])


def test_a_hybrid_keeps_the_scores_of_words(make_index: Callable[..., Index]) -> None:
    hit = Hit("a", 0.7, {"terms": 0.2, "pairs": 0.1, "meaning": 0.4}, {"lexical": 6.0})
    assert words_score(hit) == 6.0


def test_numbers_and_headings(index: Index) -> None:
    ranking = index.search_ranking("Boxes with an area of 5,060 or 7", 100)
    table = dict(zip(NAMES, Features(index.opened).of(ranking, 20).T, strict=True))
    chunks = index.snapshot.get(ranking.ids)
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
    settings = replace(index.settings, learn=LearnSettings(str(file)))
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
    assert "learn.tokens" in (caught.value.hint or "")
    matches = Features(index.opened, late=lambda question, ids: np.full(len(ids), 0.5))
    stage = Learned.load(file, matches)
    ranked = stage.rerank(index.pipeline.search(Query("wires"), 5))
    assert [hit.raw["late_score"] for hit in ranked.hits] == [0.5]
