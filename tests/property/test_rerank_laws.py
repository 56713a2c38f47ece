"""What holds of re-ranking, whatever the hits, the scores and the settings are."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast
from zlib import crc32

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.model.settings import Reranking
from pincite.model.types import Chunk, Filters, Query, Span
from pincite.search.candidates import Candidates, Tier
from pincite.search.pipeline import Diversify, Spread
from pincite.search.query import ParsedQuery
from pincite.search.rerank import CrossEncode, Threshold, combined
from pincite.store.snapshot import Snapshot

MODES = ["weighted", "rrf", "union", "replace"]


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


def asked(text: str = "what is asked here") -> ParsedQuery:
    """Return as much of a query as the stages need."""
    return cast(ParsedQuery, SimpleNamespace(text=text, query=Query(text), filters=Filters()))


@st.composite
def tables(draw: st.DrawFn) -> Candidates:
    """Candidates as first stages give them, in any tiers.

    Scores are close together, far apart, or all negative, as cosines may be.
    """
    numbers = draw(st.lists(st.integers(0, 30), unique=True, max_size=20))
    low, high = draw(st.sampled_from([(1, 200), (170, 200), (-200, -1), (-20, 20)]))
    count = len(numbers)
    bases = np.array([draw(st.integers(low, high)) / 10 for _ in numbers])
    parts = {"terms": bases - 1, "meaning": np.ones(count)}
    table = Candidates.of([f"c{n}" for n in numbers], parts)
    tier = np.array([draw(st.integers(0, 3)) for _ in numbers], dtype=np.int64)
    named = draw(st.integers(0, min(2, count)))
    tier[:named] = Tier.PLACE
    position = np.where(tier == Tier.PLACE, np.arange(count), 0)
    return replace(table, tier=tier, position=position, notes=("a note",))


def ids(table: Candidates) -> list[str]:
    return table.names(table.order())


def shown(table: Candidates) -> str:
    return repr((table.hits(), table.notes))


def tiers(table: Candidates) -> dict[str, int]:
    return dict(zip(table.names(), table.tier.tolist(), strict=True))


def settings(**values: Any) -> Reranking:
    return replace(Reranking(enabled=True, budget_ms=0), **values)


chosen = st.builds(
    lambda mode, weight, pool: settings(mode=mode, weight=weight, pool=pool),
    st.sampled_from(MODES),
    st.integers(0, 10).map(lambda n: n / 10),
    st.integers(1, 25),
)


def judge(table: Candidates, pool: int, seed: int) -> dict[str, float]:
    read = table.names(table.open_to_reranking()[:pool])
    return {each: crc32(f"{seed} {each}".encode()) % 100 / 100 for each in read}


@given(tables(), chosen, st.integers(0, 5))
def test_no_hit_is_invented_lost_or_changed_in_place(
    table: Candidates, how: Reranking, seed: int
) -> None:
    before = shown(table)
    found = combined(table, judge(table, how.pool, seed), how)
    assert shown(table) == before
    assert sorted(found.names()) == sorted(table.names())
    assert found.notes == table.notes
    for hit in found.hits():
        assert sum(hit.features.values()) == pytest.approx(hit.score, abs=1e-6)


@given(tables(), chosen, st.integers(0, 5))
def test_what_is_named_stays_first(table: Candidates, how: Reranking, seed: int) -> None:
    found = combined(table, judge(table, how.pool, seed), how)
    of = tiers(table)
    assert tiers(found) == of
    assert [of[each] for each in ids(found)] == sorted(of.values(), reverse=True)
    named = int(table.is_named.sum())
    assert ids(found)[:named] == ids(table)[:named]
    shown_scores = found.exported_scores()[found.order()]
    assert (np.diff(shown_scores) <= 0).all()


@given(tables(), chosen, st.integers(0, 5))
def test_what_was_not_read_keeps_its_order_behind_what_was(
    table: Candidates, how: Reranking, seed: int
) -> None:
    judged = judge(table, how.pool, seed)
    found, of = combined(table, judged, how), tiers(table)
    scores = dict(zip(table.names(), table.score.tolist(), strict=True))
    for level in range(Tier.PLACE):
        before = [each for each in ids(table) if of[each] == level]
        after = [each for each in ids(found) if of[each] == level]
        unread = [each for each in before if each not in judged]
        assert [each for each in after if each not in judged] == unread
        is_behind = how.mode in ("weighted", "rrf", "replace") and how.weight < 1
        if is_behind and len({scores[each] for each in before}) == len(before):  # ties go by id
            assert after[len(before) - len(unread) :] == unread


@given(tables(), chosen, st.integers(0, 5), st.integers(0, 19))
def test_more_probable_is_never_worse(
    table: Candidates, how: Reranking, seed: int, at: int
) -> None:
    judged = judge(table, how.pool, seed)
    if at >= len(judged):
        return
    lucky = list(judged)[at]
    before = ids(combined(table, judged, how)).index(lucky)
    assert ids(combined(table, judged | {lucky: 1.0}, how)).index(lucky) <= before


@given(tables(), st.sampled_from(["weighted", "rrf"]), st.integers(0, 5))
def test_weight_0_leaves_order_and_scores(table: Candidates, mode: str, seed: int) -> None:
    how = settings(mode=mode, weight=0.0)
    found = combined(table, judge(table, 20, seed), how)
    assert [(h.chunk_id, h.score, h.features) for h in found.hits()] == [
        (h.chunk_id, h.score, h.features) for h in table.hits()
    ]


@given(tables(), st.integers(0, 5))
def test_replace_orders_by_probability_alone(table: Candidates, seed: int) -> None:
    judged = judge(table, 20, seed)
    found, of = combined(table, judged, settings(mode="replace")), tiers(table)
    for level in range(Tier.PLACE):
        read = [judged[each] for each in ids(found) if of[each] == level and each in judged]
        assert read == sorted(read, reverse=True)


@given(tables(), chosen, st.integers(1, 9), st.integers(1, 9))
def test_the_order_does_not_depend_on_batches(
    table: Candidates, how: Reranking, one: int, other: int
) -> None:
    found = [
        CrossEncode(SHELF, ByName(), how, batch=batch)(asked(), table) for batch in (one, other)
    ]
    assert shown(found[0]) == shown(found[1])
    assert not any("re-ranked" in note for note in found[0].notes)


@given(tables(), st.sampled_from(["document", "section"]), st.integers(1, 3))
def test_diversity_leaves_nothing_out(table: Candidates, by: str, most: int) -> None:
    found = Diversify(SHELF, by, most)(asked(), table)
    assert sorted(found.names()) == sorted(table.names())
    for hit in found.hits():
        assert sum(hit.features.values()) == pytest.approx(hit.score, abs=1e-6)
    groups: dict[object, int] = {}
    is_late = []
    of = tiers(table)
    for each, (document, locator) in zip(ids(found), SHELF.places(ids(found)), strict=True):
        group = (document, locator if by == "section" else "")
        groups[group] = groups.get(group, 0) + 1
        is_late.append(groups[group] > most and of[each] != Tier.PLACE)
    # As soon as one is too many, nothing that is not follows; both parts keep their order.
    assert is_late == sorted(is_late)
    late = [each for each, too_late in zip(ids(found), is_late, strict=True) if too_late]
    assert late == [each for each in ids(table) if each in late]


@given(tables(), st.integers(0, 10), st.integers(0, 20), st.sampled_from(["auto", "keep", "drop"]))
def test_a_threshold_drops_what_it_says(
    table: Candidates, tenths: int, read: int, unjudged: str
) -> None:
    how = settings(threshold=tenths / 10, unjudged=unjudged, weight=0.5)
    judged = judge(table, read, 1)
    found, of = combined(table, judged, how), tiers(table)
    kept = Threshold(how)(asked(), found)
    assert set(kept.names()) <= set(found.names())
    for each in found.names():
        if of[each] == Tier.PLACE:
            assert each in kept.names()
        elif each in judged:
            assert (each in kept.names()) == (judged[each] >= how.threshold)
        elif unjudged != "auto":
            assert (each in kept.names()) == (unjudged == "keep")
    if len(found) and not len(kept) and judged:
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
    count = named + len(others)
    score = np.array([0.0] * named + others)
    table = Candidates.of([f"c{n}" for n in range(count)], {"terms": score})
    is_place = np.arange(count) < named
    table = replace(
        table,
        tier=np.where(is_place, Tier.PLACE, Tier.REST),
        position=np.where(is_place, np.arange(count), 0),
    )
    spread = Spread(cast(Snapshot, OneSection()), penalty)(asked("?"), table)
    assert ids(spread)[:named] == [f"c{n}" for n in range(named)]
    assert spread.score[:named].tolist() == score[:named].tolist()


class OneSection(Shelf):
    """Everything is a part of the same section."""

    def places(self, ids: list[str]) -> list[tuple[str, str]]:
        return [("d", "1.1(a)") for _ in ids]

    def title(self, doc_id: str) -> str:
        return doc_id

    def work(self, doc_id: str) -> str:
        return doc_id
