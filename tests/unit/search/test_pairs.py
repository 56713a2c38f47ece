"""The stage that reads candidates: what is read, what is not, and what is told about it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from threading import Event
from typing import Any

import pytest

from pincite.api import Index
from pincite.model.errors import ModelError
from pincite.model.settings import Reranking, SearchSettings, Settings, merged
from pincite.model.types import Query
from pincite.search.build import build
from pincite.search.candidates import Candidates
from pincite.search.guard import Breaker
from pincite.search.pair_scorers import LazyScorer
from pincite.search.query import ParsedQuery
from pincite.search.rerank import CrossEncode
from pincite.search.windows import select_windows, windows_of

MakeIndex = Callable[..., Index]
TEXT = "# Book\n\n" + "\n\n".join(
    f"## {n}.1 Part {n}\n\nThe fuse {'fuse ' * n}is number {n}." for n in range(1, 10)
)


class Scorer:
    """Prefers the text with a given number; remembers what it was asked."""

    id = "test"

    def __init__(self, best: int = 1, wait: float = 0.0) -> None:
        self.best = best
        self.wait = wait
        self.asked: list[list[str]] = []

    def score(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        time.sleep(self.wait)
        self.asked.append(list(texts))
        return [0.9 if f"number {self.best}." in text else 0.1 for text in texts]


@pytest.fixture
def index(make_index: MakeIndex) -> Index:
    return make_index({"book.md": TEXT})


Found = tuple[ParsedQuery, Candidates]


def found(
    index: Index, text: str = "which fuse is there", *, seconds: float | None = None
) -> Found:
    """Return a query, due in so many seconds, and what words find for it."""
    search = SearchSettings(preset="lexical", without="places,names")
    table = build(replace(Settings(), search=search), index.opened).find(Query(text), 100)
    deadline = None if seconds is None else time.monotonic() + seconds
    return index.parse(text, deadline=deadline), table


def stage(
    index: Index, scorer: Any, *, batch: int = 0, breaker: Breaker | None = None, **settings: Any
) -> CrossEncode:
    chosen = replace(Reranking(enabled=True, weight=0.9), **settings)
    words = index.opened.analyzer
    return CrossEncode(index.snapshot, scorer, chosen, analyzer=words, batch=batch, breaker=breaker)


def ids(table: Candidates) -> list[str]:
    return table.names(table.order())


def locators(index: Index, table: Candidates) -> list[str]:
    return [chunk.locator for chunk in index.snapshot.get(ids(table))]


def test_what_reads_best_comes_first(index: Index) -> None:
    query, before = found(index)
    last = index.snapshot.get(before.names()[-1:])[0]
    number = int(last.locator.split(".")[0])
    after = stage(index, Scorer(number))(query, before)
    best = after.hits()[0]
    assert best.chunk_id == last.id and best.raw["rerank"] == 0.9
    assert best.features["rerank"] > 0 and after.notes == ()


def test_only_the_pool_is_read_and_nothing_twice(index: Index) -> None:
    scorer = Scorer()
    own = stage(index, scorer, pool=4, batch=3)
    first = own(*found(index))
    assert [len(texts) for texts in scorer.asked] == [3, 1]
    assert all(texts == sorted(texts, key=len) for texts in scorer.asked)
    assert sum("rerank" in hit.raw for hit in first.hits()) == 4
    assert own(*found(index)).hits() == first.hits()
    assert len(scorer.asked) == 2
    own(*found(index, "which fuse is number"))
    assert len(scorer.asked) == 4  # another question


def test_long_chunks_are_read_to_their_end(make_index: MakeIndex) -> None:
    text = (
        "# Book\n\n## 1.1 Long\n\n" + "fuse word " * 250 + "number 7.\n\n## 1.2 Short\n\nA fuse.\n"
    )
    index = make_index({"book.md": text})
    scorer = Scorer(7)
    after = stage(index, scorer, windows=0)(*found(index))
    assert locators(index, after)[0] == "1.1"
    read = [text for texts in scorer.asked for text in texts]
    assert len(read) > 3 and all(len(text) < 1500 for text in read)
    assert all("1.1 Long" in text or "1.2 Short" in text for text in read)  # under its heading


def test_of_a_long_chunk_the_windows_with_the_questions_words_are_read(
    make_index: MakeIndex,
) -> None:
    filler = "other things are said here at length "
    text = f"# Book\n\n## 1.1 Long\n\n{filler * 60}A fuse is number 7. {filler * 60}\n"
    index = make_index({"book.md": text})
    every, chosen = Scorer(7), Scorer(7)
    all_read = stage(index, every, windows=0)(*found(index))
    few_read = stage(index, chosen, windows=2)(*found(index))
    assert len(every.asked[0]) > 3
    read = [text for texts in chosen.asked for text in texts]
    assert len(read) == 2 and any("number 7." in text for text in read)
    assert few_read.hits()[0].raw == all_read.hits()[0].raw and few_read.notes == ()


def test_windows_without_words_of_the_question_are_read_from_the_start(index: Index) -> None:
    windows = ["one", "a fuse", "two", "the fuse is number 7"]

    def best(question: str, most: int) -> list[str]:
        weights = index.parse(question).content_weights
        return select_windows(weights, windows, most, index.opened.analyzer)

    assert best("gloves?", 2) == windows[:2]
    assert best("which fuse is number 7", 1) == windows[3:]
    assert best("which fuse is number 7", 2) == [windows[1], windows[3]]
    assert best("which fuse", 9) == windows


def test_every_script_is_cut(make_index: MakeIndex) -> None:
    index = make_index({"book.md": "# 书\n\n## 1.1 条\n\n" + "保险丝必须符合规定" * 200 + "\n"})
    chunk = next(c for c in index.snapshot.chunks("book.md") if c.searched)
    windows = windows_of(chunk, 144)
    assert len(windows) > 5 and max(map(len, windows)) < 400


def test_time_is_used_in_the_order_of_promise(index: Index) -> None:
    query, before = found(index, seconds=1.0)
    own = stage(index, Scorer(wait=0.4), batch=1)
    after = own(query, before)
    # The third would take until 1.2: it is not even begun.
    assert query.query.deadline and time.monotonic() < query.query.deadline
    read = [hit.chunk_id for hit in after.hits() if "rerank" in hit.raw]
    assert 1 <= len(read) < len(before)
    assert set(read) == set(before.names()[: len(read)])
    assert [i for i in ids(after) if i not in read] == before.names()[len(read) :]
    assert after.notes == (f"only {len(read)} of 9 candidates were re-ranked: the time was up",)
    assert own.breaker.state == "closed"


def test_a_chunk_that_was_read_in_part_was_not_read(make_index: MakeIndex) -> None:
    index = make_index({"book.md": "# Book\n\n## 1.1 Long\n\n" + "fuse word " * 250})
    query, before = found(index, seconds=1.0)
    after = stage(index, Scorer(wait=0.4), batch=1, windows=0)(query, before)
    assert after.hits() == before.hits()
    assert after.notes == ("not re-ranked: the time was up",)


def test_what_a_broken_model_gave_before_is_not_used(index: Index) -> None:
    class Wears(Scorer):
        def score(self, query: str, texts: Sequence[str]) -> Sequence[float]:
            scores = super().score(query, texts)
            return scores if len(self.asked) == 1 else [float("nan")] * len(texts)

    query, before = found(index)
    after = stage(index, Wears(), batch=2)(query, before)
    assert after.hits() == before.hits() and "no probabilities" in after.notes[0]


def test_no_time_left_reads_nothing(index: Index) -> None:
    scorer = Scorer()
    query, before = found(index, seconds=-1)
    after = stage(index, scorer)(query, before)
    assert after.hits() == before.hits() and not scorer.asked
    assert after.notes == ("not re-ranked: the first stage used up the time",)


class Broken:
    """Does one of the things that models do."""

    id = "broken"

    def __init__(self, how: str) -> None:
        self.how = how
        self.free = Event()

    def score(self, query: str, texts: Sequence[str]) -> Any:
        if self.how == "hangs":
            self.free.wait(30)
        if self.how == "crashes":
            raise RuntimeError("boom")
        if self.how == "no memory":
            raise MemoryError
        if self.how == "our error":
            raise ModelError("damaged")
        return {
            "nan": [float("nan")] * len(texts),
            "infinite": [float("inf")] * len(texts),
            "logits": [7.5] * len(texts),
            "negative": [-0.2] * len(texts),
            "too few": [0.5] * (len(texts) - 1),
            "too many": [0.5] * (len(texts) + 1),
            "nested": [[0.5]] * len(texts),
            "words": ["high"] * len(texts),
            "nothing": None,
        }.get(self.how)


WAYS = {
    "hangs": "did not answer in time",
    "crashes": "the model failed",
    "no memory": "the model failed",
    "our error": "the model failed",
    **dict.fromkeys(
        ("nan", "infinite", "logits", "negative", "too few", "too many", "nested", "words"),
        "scores that are no probabilities",
    ),
    "nothing": "scores that are no probabilities",
}


@pytest.mark.parametrize("how", WAYS)
def test_whatever_breaks_the_earlier_order_comes_out(index: Index, how: str) -> None:
    """Same shape, same hits, and a note: nobody has to know how it broke to use the result."""
    query, before = found(index, seconds=0.4 if how == "hangs" else 20.0)
    scorer = Broken(how)
    after = stage(index, scorer)(query, before)
    scorer.free.set()
    assert after.hits() == before.hits()
    assert len(after.notes) == 1 and WAYS[how] in after.notes[0]


def test_what_can_be_mended_is_told(index: Index) -> None:
    note = stage(index, Broken("our error"))(*found(index)).notes[0]
    assert note == "not re-ranked: the model failed: damaged"


def test_a_model_that_still_loads_is_not_broken(index: Index) -> None:
    """The first searches do without it; loading goes on, and no batch seems slow for it."""
    loads = Event()

    def load() -> Scorer:
        loads.wait(20)
        return Scorer()

    own = stage(index, LazyScorer("slow", load), breaker=Breaker(1, 30.0), batch=1)
    for _ in range(2):
        assert "did not answer in time" in own(*found(index, seconds=0.3)).notes[0]
    assert own.breaker.state == "closed"
    loads.set()
    assert own(*found(index, seconds=20)).notes == ()
    assert own.reader._rate < 0.001


def test_a_scorer_without_a_name_is_broken_too(index: Index) -> None:
    class Nameless(Scorer):
        @property
        def id(self) -> str:  # type: ignore[override]
            raise RuntimeError("no name")

    after = stage(index, Nameless())(*found(index))
    assert after.notes == ("not re-ranked: the model failed",)


def test_measurements_want_the_error(index: Index) -> None:
    own = stage(index, Broken("crashes"), on_error="raise")
    with pytest.raises(RuntimeError, match="boom"):
        own(*found(index))


def test_the_breaker_spares_a_broken_model(index: Index) -> None:
    own = stage(index, Broken("crashes"), breaker=Breaker(2, 1000.0))
    notes = [own(*found(index)).notes[0] for _ in range(4)]
    assert notes[1] == "not re-ranked: the model failed"
    assert notes[2] == notes[3] and "left alone" in notes[2]


def test_a_certain_first_hit_is_not_doubted(index: Index) -> None:
    scorer = Scorer()
    query, before = found(index)
    lead = float(1 - before.score[1] / before.score[0])
    assert 0 < lead < 1
    assert stage(index, scorer, certain_margin=lead - 0.001)(query, before) is before
    assert not scorer.asked
    stage(index, scorer, certain_margin=lead + 0.001)(query, before)
    assert scorer.asked


def test_a_roll_out_takes_a_share_of_questions(index: Index) -> None:
    own = stage(index, Scorer(), rollout=0.3)
    query, before = found(index)
    questions = [index.parse(f"question number {n}") for n in range(200)]
    read = ["rerank" in own(each, before).raw for each in questions]
    assert 30 < sum(read) < 90
    assert read == ["rerank" in own(each, before).raw for each in questions]
    assert stage(index, Scorer(), rollout=0.0)(query, before) is before


def test_union_guarantees_the_first_of_the_first_stage(make_index: MakeIndex) -> None:
    words = " ".join(f"w{n}" for n in range(30))
    parts = [f"## {n}.1 P\n\nfuse {'fuse ' * (n % 9)}{words} number {n}." for n in range(1, 60)]
    index = make_index({"book.md": "# Book\n\n" + "\n\n".join(parts)})

    query, before = found(index, "fuse")
    order = [c.text.strip().rsplit("number", 1)[1] for c in index.snapshot.get(before.names())]

    class Backwards(Scorer):
        def score(self, query: str, texts: Sequence[str]) -> Sequence[float]:
            return [order.index(text.rsplit("number", 1)[1]) / 100 for text in texts]

    after = stage(index, Backwards(), mode="union", pool=50)(query, before)
    first, now = before.names(), ids(after)
    assert now[:10] == first[40:50][::-1]  # the ten most probable
    assert now[10:15] == first[:5]  # then the five that were best before
    assert now[15:] == first[5:40] + first[50:]  # and nobody is lost


def settings(**rerank: Any) -> Settings:
    tuned = {name: rerank.pop(name) for name in ("mode", "unjudged") if name in rerank}
    values = {"enabled": True, "weight": 0.9, "budget_ms": 0, **rerank}
    chosen = Settings().changed({"search.preset": "lexical"})
    return merged(chosen, {"rerank": values, "tuning": {"rerank": tuned}}, origin="test")


def test_a_named_place_stays_first(index: Index) -> None:
    scorer = Scorer(9)
    own = Index(index.opened, settings(), scorer)
    named = own.search("which fuse is in 3.1 and what is its number")
    assert named.passages[0].chunk.locator == "3.1"
    assert named.passages[1].chunk.locator == "9.1"
    scorer.asked.clear()
    assert own.search("3.1").passages[0].chunk.locator == "3.1"
    assert not scorer.asked  # the query is the place's name


def test_ten_are_the_first_of_many_through_the_pipeline(index: Index) -> None:
    for mode in ("weighted", "rrf", "union", "replace"):
        chosen = settings(mode=mode, pool=5, diversify="section", max_per_group=1)
        own = Index(index.opened, chosen, Scorer(2))
        whole = own.search_ranking("which fuse is there", 100).ids
        assert len(whole) == 9
        for k in (1, 3, 6):
            assert own.search_ranking("which fuse is there", k).ids == whole[:k]


def test_nothing_relevant_is_told(index: Index) -> None:
    own = Index(index.opened, settings(threshold=0.5), Scorer(100))
    result = own.search("which fuse is there")
    assert result.passages == [] and "nothing relevant" in result.notes[0]
    own = Index(index.opened, settings(threshold=0.5), Scorer(4))
    assert [p.chunk.locator for p in own.search("which fuse is there").passages] == ["4.1"]
    # What lies behind a pool that was read goes with what failed, unless somebody wants it.
    own = Index(index.opened, settings(threshold=0.5, pool=3), Scorer(100))
    assert own.search("which fuse is there").passages == []
    own = Index(index.opened, settings(threshold=0.5, pool=3, unjudged="keep"), Scorer(100))
    assert len(own.search("which fuse is there").passages) == 6
    # A threshold for probabilities is never held against scores of the first stage.
    own = Index(index.opened, settings(threshold=0.5), Broken("crashes"))
    assert len(own.search("which fuse is there").passages) == 9


def test_warm_and_ready(index: Index) -> None:
    own = Index(index.opened, settings(), Scorer())
    assert not own.ready
    own.warm()
    assert own.ready
    with pytest.raises(RuntimeError):
        Index(index.opened, settings(), Broken("crashes")).warm()


def test_without_the_switch_nothing_is_read(index: Index) -> None:
    plain = Index(index.opened, replace(Settings(), search=SearchSettings(preset="lexical")))
    assert plain.metrics is None
    assert plain.searcher.rerankers == ["spread"]
    own = Index(index.opened, settings(threshold=0.1, diversify="document"), Scorer())
    names = own.searcher.rerankers
    assert names == ["rerank", "threshold", "spread", "diversify"]
