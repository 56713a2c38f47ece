"""Every search and every stage keeps the laws of the table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import pytest

from pincite.api import Index
from pincite.model.settings import Reranking, SearchSettings, Settings
from pincite.model.tuning import GraphTuning, LexicalTuning, RoutingTuning, Tuning
from pincite.model.types import Filters, Query
from pincite.search.build import build
from pincite.search.candidates import METHODS, Candidates
from pincite.search.pipeline import Diversify, Searcher, Spread, Stage
from pincite.search.rerank import CrossEncode, Threshold
from pincite.update import embed_index, ingest_files

WORDS = [
    *("box", "wire", "fuse", "earth", "cable", "relay", "motor"),
    *("lamp", "meter", "switch", "duct", "plug", "rail", "pipe"),
]
QUERIES = [
    "box wire",
    "1.3",
    "compare 2.2 with 2.1, fuse",
    "sections 1.1 to 1.3",
    "Rules of the lamp",
    "fuse",
    " ".join(WORDS),
]
STRANGE = [
    "ﬁne ＢＯＸ ½",
    "\u202efuse\u202c \u0000 box",
    "e\u0301a\u0301" * 50,
    "𝔣𝔲𝔰𝔢 🔌🔌 ⚡",
    "\ud800 box \udfff",
    "§§ §( 1.1((a)) ()",
    "कानून العربية 汉字漢字",
    '\' OR 1=1 -- "*"',
    "\\ % _ [ ] { } ^ $ .* (?:",
    "x" * 100_000,
    "1." * 20_000,
]


def document(number: int) -> str:
    """Return a small rule book; each section takes its words from another place of the list."""
    lines = [f"# Rules of the {WORDS[number]}"]
    for section in range(1, 6):
        at = (3 * number + section) % len(WORDS)
        lines += [f"## {number}.{section} On {WORDS[at]}", " ".join((WORDS * 2)[at : at + 6]) + "."]
    return "\n\n".join(lines) + "\n"


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    """An index of two segments, with a dropped and a changed document in the first."""
    home: Path = tmp_path_factory.mktemp("contract")
    for number in range(1, 9):
        (home / f"{number}.md").write_text(document(number))
    files = [(home / f"{number}.md", f"{number}.md") for number in range(1, 9)]
    assert {each.status for each in ingest_files(files, home / "index")} == {"added"}
    (home / "1.md").write_text(document(1) + "\n## 1.9 On change\n\nbox and wire, changed.\n")
    assert len(list(ingest_files(files[:-1], home / "index", prune=True))) == 8
    assert list(embed_index(home / "index", Settings()))[-1].without == 0
    with Index.open(home / "index") as opened:
        assert len(opened.snapshot.segments) == 2
        yield opened


NAMING = "places,names,aliases,typos"


def words(*, names: bool = False, **settings: Any) -> Settings:
    """Return settings of words alone, with or without what queries name."""
    search = SearchSettings(preset="lexical", without="" if names else NAMING)
    return Settings(search=search, tuning=Tuning(lexical=LexicalTuning(**settings)))


def preset(name: str, method: str = "minmax") -> Settings:
    return Settings().changed({"search.preset": name, "tuning.fusion": method})


def graph(mode: str) -> Settings:
    """A graph stage whose pool is smaller than what there is to find."""
    chosen = GraphTuning(mode=mode, depth=2, pool=5)  # type: ignore[arg-type]
    return words().changed({"tuning.graph": chosen})


def routed(top_n: int, confidence: float) -> Settings:
    tuning = RoutingTuning(top_n, confidence)
    return words().changed({"search.route_by": "document", "tuning.routing": tuning})


BY_WORDS: dict[str, Settings] = {
    "lexical": words(),
    "bm25 alone": words(bigram_weight=0.0, window_weight=0.0),
    "extremes": words(k1=0.0, b=1.0, window_tokens=0, window_depth=1),
    **{variant: words(variant=variant) for variant in ("robertson", "atire", "plus")},
    "all names": words(names=True),
    "traversal": preset("traversal"),
    "graph bfs": graph("bfs"),
    "graph ppr": graph("ppr"),
    "routed": routed(2, 0.0),
    "seldom routed": routed(3, 0.5),
}
# Meaning has no end: whatever is asked, something is nearest.
SEARCHES = {
    **BY_WORDS,
    "dense": preset("dense"),
    **{f"hybrid {method}": preset("hybrid", method) for method in METHODS},
    "hybrid graph": preset("hybrid+graph"),
    "default": Settings(),
}


@pytest.fixture(params=SEARCHES)
def searcher(request: pytest.FixtureRequest, index: Index) -> Searcher:
    return build(SEARCHES[request.param], index.opened)


def check(table: Candidates) -> None:
    """Parts add up to the score within the tier, tiers never mix, the exported score falls."""
    order = table.order()
    assert len(set(table.names())) == len(table)
    assert (np.diff(table.tier[order]) <= 0).all()
    shown = table.exported_scores()[order]
    assert np.isfinite(shown).all() and (np.diff(shown) <= 0).all()
    hits = table.hits()
    assert [hit.chunk_id for hit in hits] == table.names(order)
    assert [hit.score for hit in hits] == pytest.approx(shown.tolist(), abs=1e-9)
    for hit, score in zip(hits, table.score[order].tolist(), strict=True):
        assert sum(hit.features.values()) == pytest.approx(hit.score, abs=1e-9)
        lifts = {"place", "entities", "identifier"} & hit.features.keys()
        parts = sum(value for name, value in hit.features.items() if name not in lifts)
        assert parts == pytest.approx(score, abs=1e-9)


@pytest.mark.parametrize("query", QUERIES)
def test_tables_keep_the_laws_and_are_prefixes(searcher: Searcher, query: str) -> None:
    whole = searcher.find(Query(query), 1000)
    assert len(whole)
    check(whole)
    for k in (0, 1, 2, 5, 10, len(whole), len(whole) + 1):
        some = searcher.find(Query(query), k)
        assert len(some) <= k
        assert some.names() == whole.names()[:k]
        # What a named place scores beside its tier depends on whether it was found otherwise, too.
        others = ~some.is_named
        assert some.score[others].tolist() == pytest.approx(whole.score[:k][others].tolist())


def test_hits_are_chunks_of_the_index(searcher: Searcher, index: Index) -> None:
    chunks = index.snapshot.get(searcher.find(Query("box wire fuse"), 100).names())
    assert {chunk.span.doc_id for chunk in chunks} <= set(index.documents())
    assert "8.md" not in {chunk.span.doc_id for chunk in chunks}


@pytest.mark.parametrize("query", QUERIES)
def test_filters_hold_whatever_finds_the_hits(searcher: Searcher, index: Index, query: str) -> None:
    filters = Filters(documents=("1.md", "2*"), path=("box", "change", "wire", "fuse", "lamp"))
    found = searcher.find(Query(query, filters=filters), 100)
    for chunk in index.snapshot.get(found.names()):
        assert chunk.span.doc_id in ("1.md", "2.md")
        assert any(word in " ".join(chunk.path).lower() for word in filters.path)
    nowhere = Query(query, filters=Filters(documents=("8.md",)))  # it was dropped
    assert not len(searcher.find(nowhere, 100))


@pytest.mark.parametrize("query", ["", " \n\t ", "?", "\u3000"])
def test_a_query_without_words_finds_nothing(searcher: Searcher, query: str) -> None:
    assert not len(searcher.find(Query(query), 10))


@pytest.mark.parametrize("query", ["zzz qqq", "9.9.9"])
@pytest.mark.parametrize("name", BY_WORDS)
def test_unknown_words_find_nothing(name: str, query: str, index: Index) -> None:
    assert not len(build(BY_WORDS[name], index.opened).find(Query(query), 10))


@pytest.mark.parametrize("query", STRANGE, ids=range(len(STRANGE)))
def test_strange_queries_work(searcher: Searcher, query: str) -> None:
    assert len(searcher.find(Query(query), 5)) <= 5


def test_compatible_letters_are_the_same_letters(searcher: Searcher) -> None:
    plain, wide = (searcher.find(Query(text), 10) for text in ("box", "ＢＯＸ"))
    assert wide.names() == plain.names()


def test_a_query_of_ten_thousand_words_works(searcher: Searcher) -> None:
    many = [*WORDS * 400, *(f"word{i}" for i in range(4400)), *(f"{i}.1" for i in range(100))]
    assert len(searcher.find(Query(" ".join(many)), 10)) == 10


def test_threads_get_what_one_gets(searcher: Searcher) -> None:
    def all_found(_: int = 0) -> list[list[tuple[str, float]]]:
        tables = [searcher.find(Query(query), 20) for query in QUERIES]
        return [[(hit.chunk_id, hit.score) for hit in table.hits()] for table in tables]

    expected = all_found()
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(all_found, range(24))) == [expected] * 24


def test_threads_share_a_fresh_index(index: Index) -> None:
    """Nothing is opened yet: the threads meet where statistics and texts are first needed."""
    expected = [index.search(query).ranking.hits for query in QUERIES]
    for _ in range(5):
        with Index.open(index.snapshot.folder) as fresh, ThreadPoolExecutor(8) as pool:
            found = pool.map(lambda query: fresh.search(query).ranking.hits, QUERIES * 4)
            assert list(found) == expected * 4


class Scorer:
    id = "crc"

    def score(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        return [crc32(f"{query} {text}".encode()) % 1000 / 1000 for text in texts]


def pairs(index: Index, **values: Any) -> Stage:
    return CrossEncode(index.snapshot, Scorer(), replace(Reranking(enabled=True), **values))


RERANKERS: dict[str, Callable[[Index], Stage]] = {
    "spread": lambda index: Spread(index.snapshot, 0.08),
    **{
        mode: lambda index, mode=mode: pairs(index, mode=mode, pool=7)
        for mode in ("weighted", "rrf", "union", "replace")
    },
    "certain": lambda index: pairs(index, certain_margin=0.1),
    "nothing remembered": lambda index: pairs(index, cache_pairs=0),
    "document": lambda index: Diversify(index.snapshot, "document", 2),
    "section": lambda index: Diversify(index.snapshot, "section", 1),
    "threshold": lambda index: Threshold(Reranking(threshold=0.5)),
}
QUESTIONS = ["which box holds a wire", "1.3", "what of 2.2 and the fuse", "nowhere", "fuse"]


@pytest.fixture(params=RERANKERS)
def reranker(request: pytest.FixtureRequest, index: Index) -> Stage:
    return RERANKERS[request.param](index)


def found(index: Index, text: str) -> Candidates:
    table = build(words(names=True), index.opened).find(Query(text), 100)
    return table.with_note("from before")


def shown(table: Candidates) -> str:
    return repr((table.hits(), table.notes))


@pytest.mark.parametrize("text", QUESTIONS)
def test_rerankers_keep_the_hits_and_the_laws(reranker: Stage, index: Index, text: str) -> None:
    before = found(index, text)
    seen = shown(before)
    after = reranker(index.parse(text), before)
    assert shown(before) == seen  # a stage changes no table in place
    assert after.notes[0] == "from before"
    assert set(after.names()) == set(before.names())  # nothing is dropped that nobody judged
    check(after)
    named = before.names()[: int(before.is_named.sum())]
    assert after.names(after.order())[: len(named)] == named


def test_nothing_stays_nothing(reranker: Stage, index: Index) -> None:
    assert not len(reranker(index.parse("q"), Candidates.empty()))


def test_rerankers_in_threads_give_what_one_gives(reranker: Stage, index: Index) -> None:
    tables = [(index.parse(text), found(index, text)) for text in QUESTIONS]
    expected = [shown(reranker(*each)) for each in tables]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda each: shown(reranker(*each)), tables * 10)) == expected * 10
