"""Every Retriever keeps the protocol."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from pincite.api import Index
from pincite.core.settings import (
    GraphSettings,
    HybridSettings,
    LexicalSettings,
    RoutingSettings,
    SearchSettings,
    Settings,
)
from pincite.core.stages import Retriever
from pincite.core.traversal import load_traversal
from pincite.core.types import Filters, Query
from pincite.index.graph_walk import TraversalIndex
from pincite.index.groups import Groups
from pincite.search.pipeline import build
from pincite.search.fusion import METHODS
from pincite.search.graph import GraphBoost
from pincite.search.words import Lexical
from pincite.search.neighbours import Neighbours
from pincite.search.places import PlaceFirst
from pincite.search.routing import Routed, Router
from pincite.search.traversal import Traversal
from pincite.update import ingest_files
from pincite.vectorise import embed_index

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


def lexical(index: Index, **settings: object) -> Lexical:
    chosen = LexicalSettings(**settings)  # type: ignore[arg-type]
    return Lexical(index.opened, chosen)


def preset(name: str, method: str = "minmax") -> Settings:
    hybrid = HybridSettings(method=method)  # type: ignore[arg-type]
    return replace(Settings(), search=SearchSettings(pipeline=name), hybrid=hybrid)


# Meaning has no end: whatever is asked, something is nearest.
BY_WORDS = (
    *("lexical", "bm25 alone", "extremes", "robertson", "atire", "plus", "place"),
    *("graph bfs", "graph ppr", "typos and aliases", "traversal"),
    *("routed", "seldom routed"),
)


def graph(index: Index, mode: str) -> GraphBoost:
    """A graph stage whose pool is smaller than what there is to find."""
    chosen = GraphSettings(mode=mode, depth=2, pool=5)  # type: ignore[arg-type]
    return GraphBoost(lexical(index), Neighbours(index.snapshot), chosen)


def routed(index: Index, top_n: int, min_confidence: float) -> Routed:
    router = Router(lexical(index), Groups(index.snapshot, "document"))
    settings = RoutingSettings("document", top_n, min_confidence)
    return Routed(router.lexical, router, settings)


RETRIEVERS: dict[str, Callable[[Index], Retriever]] = {
    "lexical": lexical,
    "bm25 alone": lambda index: lexical(index, bigram_weight=0.0, window_weight=0.0),
    "extremes": lambda index: lexical(index, k1=0.0, b=1.0, window_tokens=0, window_depth=1),
    **{
        variant: lambda index, variant=variant: lexical(index, variant=variant)
        for variant in ("robertson", "atire", "plus")
    },
    "place": lambda index: PlaceFirst(lexical(index), index.snapshot),
    "typos and aliases": lambda index: Lexical(index.opened, alias_weight=0.2, typos=True),
    "traversal": lambda index: Traversal(
        TraversalIndex.build(index.snapshot, index.opened.analyzer),
        load_traversal("auto"),
        index.opened.filters,
    ),
    "dense": lambda index: build(preset("dense"), index.opened).retriever,
    **{
        f"hybrid {method}": lambda index, method=method: (
            build(preset("hybrid", method), index.opened).retriever
        )
        for method in METHODS
    },
    "graph bfs": lambda index: graph(index, "bfs"),
    "graph ppr": lambda index: graph(index, "ppr"),
    "routed": lambda index: routed(index, 2, 0.0),
    "seldom routed": lambda index: routed(index, 3, 0.5),
    "pipeline": lambda index: Index(index.opened, Settings()).pipeline.retriever,
}


@pytest.fixture(params=RETRIEVERS)
def retriever(request: pytest.FixtureRequest, index: Index) -> Retriever:
    return RETRIEVERS[request.param](index)


@pytest.mark.parametrize("query", QUERIES)
def test_rankings_are_sorted_finite_and_prefixes(retriever: Retriever, query: str) -> None:
    whole = retriever.retrieve(Query(query), 1000)
    assert whole.hits
    assert whole.query == Query(query)
    scores = [hit.score for hit in whole.hits]
    assert all(math.isfinite(score) for score in scores)
    assert all(sum(h.features.values()) == pytest.approx(h.score, abs=1e-9) for h in whole.hits)
    assert scores == sorted(scores, reverse=True)
    for k in (0, 1, 2, 5, 10, len(whole.hits), len(whole.hits) + 1):
        some = retriever.retrieve(Query(query), k)
        assert len(some.hits) <= k
        assert [(hit.chunk_id, hit.score) for hit in some.hits] == [
            (hit.chunk_id, hit.score) for hit in whole.hits[:k]
        ]


def test_hits_are_chunks_of_the_index(retriever: Retriever, index: Index) -> None:
    ranking = retriever.retrieve(Query("box wire fuse"), 100)
    chunks = index.snapshot.get(ranking.ids)
    assert {chunk.span.doc_id for chunk in chunks} <= set(index.documents())
    assert "8.md" not in {chunk.span.doc_id for chunk in chunks}


@pytest.mark.parametrize("query", QUERIES)
def test_filters_hold_whatever_finds_the_hits(
    retriever: Retriever, index: Index, query: str
) -> None:
    filters = Filters(documents=("1.md", "2*"), path=("box", "change", "wire", "fuse", "lamp"))
    asked = Query(query, filters=filters)
    found = retriever.retrieve(asked, 100)
    assert found.query == asked
    for chunk in index.snapshot.get(found.ids):
        assert chunk.span.doc_id in ("1.md", "2.md")
        assert any(word in " ".join(chunk.path).lower() for word in filters.path)
    nowhere = Query(query, filters=Filters(documents=("8.md",)))  # it was dropped
    assert retriever.retrieve(nowhere, 100).hits == ()


@pytest.mark.parametrize("query", ["", " \n\t ", "?", "\u3000"])
def test_a_query_without_words_finds_nothing(retriever: Retriever, query: str) -> None:
    assert retriever.retrieve(Query(query), 10).hits == ()


@pytest.mark.parametrize("query", ["zzz qqq", "9.9.9"])
@pytest.mark.parametrize("name", BY_WORDS)
def test_unknown_words_find_nothing(name: str, query: str, index: Index) -> None:
    assert RETRIEVERS[name](index).retrieve(Query(query), 10).hits == ()


@pytest.mark.parametrize("query", STRANGE, ids=range(len(STRANGE)))
def test_strange_queries_work(retriever: Retriever, query: str) -> None:
    assert len(retriever.retrieve(Query(query), 5).hits) <= 5


def test_compatible_letters_are_the_same_letters(retriever: Retriever) -> None:
    plain, wide = (retriever.retrieve(Query(text), 10) for text in ("box", "ＢＯＸ"))
    assert wide.ids == plain.ids


def test_a_query_of_ten_thousand_words_works(retriever: Retriever) -> None:
    words = [*WORDS * 400, *(f"word{i}" for i in range(4400)), *(f"{i}.1" for i in range(100))]
    assert len(retriever.retrieve(Query(" ".join(words)), 10).hits) == 10


def test_threads_get_what_one_gets(retriever: Retriever) -> None:
    def all_rankings(_: int = 0) -> list[tuple[tuple[str, float], ...]]:
        rankings = [retriever.retrieve(Query(query), 20) for query in QUERIES]
        return [tuple((hit.chunk_id, hit.score) for hit in each.hits) for each in rankings]

    expected = all_rankings()
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(all_rankings, range(24))) == [expected] * 24


def test_threads_share_a_fresh_index(index: Index) -> None:
    """Nothing is opened yet: the threads meet where statistics and texts are first needed."""
    expected = [index.search(query).ranking.hits for query in QUERIES]
    for _ in range(5):
        with Index.open(index.snapshot.folder) as fresh, ThreadPoolExecutor(8) as pool:
            found = pool.map(lambda query: fresh.search(query).ranking.hits, QUERIES * 4)
            assert list(found) == expected * 4
