"""What holds of re-ranking, whatever the hits, the scores and the settings are."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast
from zlib import crc32

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.core.settings import RerankSettings
from pincite.core.types import Chunk, Hit, Query, Ranking, Span
from pincite.search.rerank import combined, is_named
from pincite.search.diversity import Diversify
from pincite.search.rerank import CrossEncode
from pincite.search.rerank import Threshold
from pincite.search.diversity import Spread
from pincite.store.snapshot import Snapshot

MODES = ["weighted", "rrf", "union", "replace"]
NAMED = 4


class Shelf:
    """As much of a snapshot as the stages need: each id names its document and section."""

    def get(self, ids: list[str]) -> list[Chunk]:
        # Long ones have several windows, the seventh has no words.
        return [
            Chunk(
                id=i,
                span=Span(f"d{int(i[1:]) % 3}", 0, 1),
                text="" if i == "c7" else f"text {i} " + "word " * (60 * int(i[1:])),
                kind="clause",
                locator=f"{int(i[1:]) % 5}.1",
                title="",
                path=("Book", "Chapter"),
                own_end=0,
            )
            for i in ids
        ]

    def places(self, ids: list[str]) -> list[tuple[str, str]]:
        return [(chunk.span.doc_id, chunk.locator) for chunk in self.get(ids)]


SHELF = cast(Snapshot, Shelf())


class ByName:
    """Scores a text by its bytes: the same whatever it is asked together with."""

    id = "by name"

    def score(self, query: str, texts: list[str]) -> list[float]:
        return [crc32(f"{query} {text}".encode()) % 1000 / 1000 for text in texts]


@st.composite
def rankings(draw: st.DrawFn) -> Ranking:
    """Hits as first stages give them: lifts are as high as what they have to stand above.

    Scores are close together, far apart, or all negative, as cosines may be.
    """
    numbers = draw(st.lists(st.integers(0, 30), unique=True, max_size=20))
    low, high = draw(st.sampled_from([(1, 200), (170, 200), (-200, -1), (-20, 20)]))
    bases = {n: draw(st.integers(low, high)) / 10 for n in numbers}
    features = {n: {"terms": base - 1, "meaning": 1.0} for n, base in bases.items()}
    if low > 0:
        for lift, name in enumerate(("identifier", "entities")):
            has = draw(st.sets(st.sampled_from(numbers))) if numbers else set()
            others = [features[n] for n in numbers if lift == 0 or n not in has]
            best = max((sum(each.values()) for each in others), default=0.0)
            for n in has:
                features[n][name] = best
    named = draw(st.sets(st.sampled_from(numbers), max_size=2)) if numbers else set()
    for at, n in enumerate(sorted(named), 1):
        features[n]["place"] = 1000.0 + at - sum(features[n].values())
    hits = (Hit(f"c{n}", sum(each.values()), each) for n, each in features.items())
    return Ranking(Query("what is asked here"), tuple(hits), ("a note",))


def settings(**values: Any) -> RerankSettings:
    return replace(RerankSettings(enabled=True, budget_ms=0), **values)


chosen = st.builds(
    lambda mode, weight, pool: settings(mode=mode, weight=weight, pool=pool),
    st.sampled_from(MODES),
    st.integers(0, 10).map(lambda n: n / 10),
    st.integers(1, 25),
)


def judge(ranking: Ranking, pool: int, seed: int) -> dict[str, float]:
    read = [hit for hit in ranking.hits if not is_named(hit)][:pool]
    return {hit.chunk_id: crc32(f"{seed} {hit.chunk_id}".encode()) % 100 / 100 for hit in read}


def tier(hit: Hit) -> int:
    if is_named(hit):
        return NAMED
    return 2 * ("entities" in hit.features) + ("identifier" in hit.features)


@given(rankings(), chosen, st.integers(0, 5))
def test_no_hit_is_invented_lost_or_changed_in_place(
    ranking: Ranking, how: RerankSettings, seed: int
) -> None:
    before = repr(ranking)
    found = combined(ranking, judge(ranking, how.pool, seed), how)
    assert repr(ranking) == before
    assert sorted(found.ids) == sorted(ranking.ids)
    assert found.notes == ranking.notes and found.query == ranking.query
    for hit in found.hits:
        assert sum(hit.features.values()) == pytest.approx(hit.score, abs=1e-6)


@given(rankings(), chosen, st.integers(0, 5))
def test_what_is_named_stays_first(ranking: Ranking, how: RerankSettings, seed: int) -> None:
    found = combined(ranking, judge(ranking, how.pool, seed), how)
    tiers = [tier(hit) for hit in found.hits]
    assert tiers == sorted(tiers, reverse=True)
    named = [hit for hit in ranking.hits if is_named(hit)]
    assert list(found.hits[: len(named)]) == named


@given(rankings(), chosen, st.integers(0, 5))
def test_what_was_not_read_keeps_its_order_behind_what_was(
    ranking: Ranking, how: RerankSettings, seed: int
) -> None:
    judged = judge(ranking, how.pool, seed)
    found = combined(ranking, judged, how)
    for level in range(NAMED):
        before = [h for h in ranking.hits if tier(h) == level]
        after = [h for h in found.hits if tier(h) == level]
        unread = [h.chunk_id for h in before if h.chunk_id not in judged]
        assert [h.chunk_id for h in after if h.chunk_id not in judged] == unread
        if how.mode in ("weighted", "rrf", "replace") and how.weight < 1:
            scores = [h.score for h in before]
            if len(set(scores)) == len(scores):  # ties go by id, as everywhere
                assert [h.chunk_id for h in after][len(before) - len(unread) :] == unread


@given(rankings(), chosen, st.integers(0, 5), st.integers(0, 19))
def test_more_probable_is_never_worse(
    ranking: Ranking, how: RerankSettings, seed: int, at: int
) -> None:
    judged = judge(ranking, how.pool, seed)
    if at >= len(judged):
        return
    lucky = list(judged)[at]
    before = combined(ranking, judged, how).ids.index(lucky)
    assert combined(ranking, judged | {lucky: 1.0}, how).ids.index(lucky) <= before


@given(rankings(), st.sampled_from(["weighted", "rrf"]), st.integers(0, 5))
def test_weight_0_leaves_order_and_scores(ranking: Ranking, mode: str, seed: int) -> None:
    how = settings(mode=mode, weight=0.0)
    found = combined(ranking, judge(ranking, 20, seed), how)
    assert [(h.chunk_id, h.score, h.features) for h in found.hits] == [
        (h.chunk_id, h.score, h.features) for h in ranking.hits
    ]


@given(rankings(), st.integers(0, 5))
def test_replace_orders_by_probability_alone(ranking: Ranking, seed: int) -> None:
    judged = judge(ranking, 20, seed)
    found = combined(ranking, judged, settings(mode="replace"))
    for level in range(NAMED):
        read = [judged[h.chunk_id] for h in found.hits if tier(h) == level and h.chunk_id in judged]
        assert read == sorted(read, reverse=True)


@given(rankings(), chosen, st.integers(1, 9), st.integers(1, 9))
def test_the_order_does_not_depend_on_batches(
    ranking: Ranking, how: RerankSettings, one: int, other: int
) -> None:
    found = [
        CrossEncode(SHELF, ByName(), replace(how, batch=batch)).rerank(ranking)
        for batch in (one, other)
    ]
    assert found[0] == found[1]
    assert not any("re-ranked" in note for note in found[0].notes)


@given(rankings(), st.sampled_from(["document", "section"]), st.integers(1, 3))
def test_diversity_leaves_nothing_out(ranking: Ranking, by: str, most: int) -> None:
    found = Diversify(SHELF, by, most).rerank(ranking)
    assert sorted(found.ids) == sorted(ranking.ids)
    for hit in found.hits:
        assert sum(hit.features.values()) == pytest.approx(hit.score, abs=1e-6)
    groups: dict[object, int] = {}
    is_late = []
    for hit, (document, locator) in zip(found.hits, SHELF.places(found.ids), strict=True):
        group = (document, locator if by == "section" else "")
        groups[group] = groups.get(group, 0) + 1
        is_late.append(groups[group] > most and not is_named(hit))
    # As soon as one is too many, nothing that is not follows.
    assert is_late == sorted(is_late)


@given(
    rankings(), st.integers(0, 10), st.integers(0, 20), st.sampled_from(["auto", "keep", "drop"])
)
def test_a_threshold_drops_what_it_says(
    ranking: Ranking, tenths: int, read: int, unjudged: str
) -> None:
    how = settings(threshold=tenths / 10, unjudged=unjudged, weight=0.5)
    judged = judge(ranking, read, 1)
    found = combined(ranking, judged, how)
    kept = Threshold(how).rerank(found)
    assert set(kept.ids) <= set(found.ids)
    for hit in found.hits:
        if is_named(hit):
            assert hit.chunk_id in kept.ids
        elif hit.chunk_id in judged:
            assert (hit.chunk_id in kept.ids) == (judged[hit.chunk_id] >= how.threshold)
        elif unjudged != "auto":
            assert (hit.chunk_id in kept.ids) == (unjudged == "keep")
    if found.hits and not kept.hits and judged:
        assert "nothing relevant" in kept.notes[-1]


@given(
    st.integers(1, 12),
    st.lists(st.floats(0.01, 5.0), max_size=20),
    st.floats(0.0, 0.5),
)
def test_spread_takes_nothing_from_named_places(
    named: int, others: list[float], penalty: float
) -> None:
    """Named places stay first, whole and in the query's order, whatever stands in one section."""
    top = max(others, default=0.0)
    hits = [Hit(f"c{n}", top + named - n, {"place": top + named - n}) for n in range(named)]
    hits += [Hit(f"c{named + n}", score, {"terms": score}) for n, score in enumerate(others)]
    ranking = Ranking(Query("?"), tuple(hits))
    spread = Spread(cast(Snapshot, OneSection()), penalty).rerank(ranking)
    assert list(spread.ids[:named]) == [f"c{n}" for n in range(named)]
    assert all(
        hit.score == before.score for hit, before in zip(spread.hits, hits[:named], strict=False)
    )


class OneSection(Shelf):
    """Everything is a part of the same section."""

    def places(self, ids: list[str]) -> list[tuple[str, str]]:
        return [("d", "1.1(a)") for _ in ids]

    def title(self, doc_id: str) -> str:
        return doc_id

    def work(self, doc_id: str) -> str:
        return doc_id
