"""Late interaction: equal to comparing all words by hand, and fair to what the query names."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pincite.api import Index
from pincite.encode.windows import windows_of
from pincite.model.errors import ConfigError
from pincite.model.settings import SearchSettings, Settings
from pincite.model.types import Query
from pincite.search.candidates import Candidates, Tier
from pincite.search.late import COMPARED, LateInteraction
from pincite.update import embed_index, ingest_files

SAMPLES = Path(__file__).parents[3] / "samples"
LATE = Settings(search=SearchSettings(late_weight=0.3))
QUESTION = "How many sockets may a branch circuit have?"


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    folder = tmp_path_factory.mktemp("late") / "index"
    files = [(file, file.name) for file in sorted(SAMPLES.glob("*.md"))]
    # Two rounds make two segments.
    for some in (files[:1], files[1:]):
        list(ingest_files(some, folder))
        list(embed_index(folder, LATE))
    return Index.open(folder, LATE)


def late(index: Index) -> LateInteraction:
    assert index.searcher.late is not None
    return index.searcher.late


def test_it_equals_comparing_word_by_word(index: Index) -> None:
    stage = late(index)
    ids = list(index.search_ranking(QUESTION, 20).ids)
    asked = stage.encoder.query_tokens(QUESTION)
    expected = []
    for chunk in index.snapshot.get(ids):
        best = -1.0
        _, codes = stage.encoder.encode_with_tokens(windows_of(chunk, stage.encoder))
        for each in codes:
            near = asked.vectors @ stage.encoder.codec.vectors(each).T
            best = max(best, float((asked.weights * near.max(axis=1)).sum()))
        expected.append(best)
    assert stage.matches(QUESTION, ids) == pytest.approx(expected, abs=1e-5)
    assert stage.matches(QUESTION, ids[::-1]) == pytest.approx(expected[::-1], abs=1e-5)


def test_parts_add_up_and_nothing_is_lost(index: Index) -> None:
    before = index.searcher.find(Query(QUESTION), 50)
    after = late(index)(index.parse(QUESTION), before)
    assert set(after.names()) == set(before.names())
    assert after.names(after.order()) != before.names()
    for hit in after.hits():
        assert hit.score == pytest.approx(sum(hit.features.values()))
        assert -1 <= hit.raw.get("late", 0) <= 1
    assert after.score.max() <= before.score.max() + 1e-9


def test_the_best_are_compared_and_all_others_stay_behind_them(index: Index) -> None:
    before = index.searcher.find(Query(QUESTION), 60)
    after = late(index)(index.parse(QUESTION), before)
    names = after.names(after.order())
    assert set(names[:COMPARED]) == set(before.names()[:COMPARED])
    assert names[COMPARED:] == before.names()[COMPARED:]
    assert np.isnan(after.raw["late"][COMPARED:]).all()
    # The same whatever number is asked for.
    assert names[:10] == late(index)(index.parse(QUESTION), before.best(40)).best(10).names()


def test_what_a_query_names_stays_first(index: Index) -> None:
    found = index.searcher.find(Query(QUESTION), 10)
    tier = np.zeros(len(found), dtype=np.int64)
    tier[-2:] = [Tier.ENTITY, Tier.PLACE]
    after = late(index)(index.parse(QUESTION), replace(found, tier=tier))
    assert after.names(after.order())[:2] == found.names()[:-3:-1]
    place = len(found) - 1
    assert after.score[place] == found.score[place] and np.isnan(after.raw["late"][place])


def test_chunks_without_tokens_keep_their_order(index: Index) -> None:
    unknown = Candidates.of(["a" * 16, "b" * 16], {"terms": np.array([2.0, 1.0])})
    assert late(index)(index.parse(QUESTION), unknown) is unknown
    assert np.isnan(late(index).matches(QUESTION, ["a" * 16])).all()
    found = index.searcher.find(Query(QUESTION), 3)
    joined = found.joined(Candidates.of(["a" * 16], {"terms": np.array([found.score.mean()])}))
    mixed = late(index)(index.parse(QUESTION), joined)
    assert mixed.score[-1] == pytest.approx(joined.score[-1])


def test_without_a_weight_there_is_no_stage_and_nothing_is_kept(
    index: Index, tmp_path: Path
) -> None:
    off = Index(index.opened, Settings())
    assert off.searcher.rerankers == ["spread"]
    file = SAMPLES / "electrical-code-2021.md"
    list(ingest_files([(file, file.name)], tmp_path / "index"))
    list(embed_index(tmp_path / "index"))
    with Index.open(tmp_path / "index") as plain:
        assert all(vectors.tokens is None for vectors in plain.snapshot.vectors)
    for wanted in (LATE, Settings(search=SearchSettings(preset="hybrid+late"))):
        with pytest.raises(ConfigError, match="no vectors of tokens"):
            Index.open(tmp_path / "index", wanted)
    # With tokens wanted, what lacks them is encoded again.
    assert list(embed_index(tmp_path / "index", LATE))
    with Index.open(tmp_path / "index", wanted) as whole:
        assert late(whole).weight == 0.3
        assert late(whole).matches(QUESTION, whole.search_ranking(QUESTION, 3).ids).min() > 0


def test_it_tells_which_words_met(index: Index) -> None:
    chunk = index.search(QUESTION, 1).passages[0].chunk
    found = {match.word: match for match in index.word_matches(QUESTION, chunk)}
    assert found["circuit"].text.lower().startswith("circuit")
    assert sum(match.weight for match in found.values()) == pytest.approx(1.0, abs=1e-5)


def test_the_tokens_are_at_most_four_times_the_text(index: Index) -> None:
    names = index.documents()
    text = sum(len(index.snapshot.document(name).text.encode()) for name in names)
    parts = [v.tokens for v in index.snapshot.vectors if v.tokens is not None]
    assert sum(codes.nbytes + starts.nbytes for codes, starts in parts) <= 4 * text
