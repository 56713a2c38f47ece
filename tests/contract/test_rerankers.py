"""Every Reranker keeps the protocol."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest

from pincite.api import Index
from pincite.core.settings import RerankSettings, SearchSettings, Settings
from pincite.core.stages import Reranker
from pincite.core.types import Query, Ranking
from pincite.search.diversity import Diversify
from pincite.search.rerank import CrossEncode
from pincite.search.rerank import Threshold
from pincite.search.diversity import Spread
from pincite.update import ingest_files

QUERIES = ["which box holds a wire", "1.3", "what of 2.2 and the fuse", "nowhere", "fuse"]
WORDS = ["box", "wire", "fuse", "earth", "cable", "relay"]


class Scorer:
    id = "crc"

    def score(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        return [crc32(f"{query} {text}".encode()) % 1000 / 1000 for text in texts]


def pairs(index: Index, **values: Any) -> CrossEncode:
    return CrossEncode(index.snapshot, Scorer(), replace(RerankSettings(enabled=True), **values))


RERANKERS: dict[str, Callable[[Index], Reranker]] = {
    "spread": lambda index: Spread(index.snapshot, 0.08),
    **{
        mode: lambda index, mode=mode: pairs(index, mode=mode, pool=7)
        for mode in ("weighted", "rrf", "union", "replace")
    },
    "certain": lambda index: pairs(index, certain_margin=0.1),
    "nothing remembered": lambda index: pairs(index, cache_pairs=0),
    "document": lambda index: Diversify(index.snapshot, "document", 2),
    "section": lambda index: Diversify(index.snapshot, "section", 1),
    "threshold": lambda index: Threshold(RerankSettings(threshold=0.5)),
}


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    home: Path = tmp_path_factory.mktemp("rerankers")
    for number in range(1, 6):
        parts = [f"# Rules {number}"]
        for section in range(1, 5):
            words = " ".join(WORDS[(number * section + n) % 6] for n in range(4))
            parts.append(f"## {number}.{section} On {words}\n\nHere is {words} for you.")
        (home / f"{number}.md").write_text("\n\n".join(parts) + "\n")
    files = [(home / f"{number}.md", f"{number}.md") for number in range(1, 6)]
    assert {each.status for each in ingest_files(files, home / "index")} == {"added"}
    settings = replace(Settings(), search=SearchSettings(pipeline="lexical"))
    with Index.open(home / "index", settings) as opened:
        yield opened


@pytest.fixture(params=RERANKERS)
def reranker(request: pytest.FixtureRequest, index: Index) -> Reranker:
    return RERANKERS[request.param](index)


def found(index: Index, text: str) -> Ranking:
    ranking = index.pipeline.retriever.retrieve(Query(text), 100)
    return replace(ranking, notes=("from before",))


@pytest.mark.parametrize("text", QUERIES)
def test_hits_are_the_same_and_add_up(reranker: Reranker, index: Index, text: str) -> None:
    before = found(index, text)
    seen = repr(before)
    after = reranker.rerank(before)
    assert repr(before) == seen
    assert after.query == before.query and after.notes[0] == "from before"
    assert set(after.ids) == set(before.ids)  # a threshold drops nothing that nobody judged
    for hit in after.hits:
        assert math.isfinite(hit.score)
        assert sum(hit.features.values()) == pytest.approx(hit.score, abs=1e-9)
    named = [hit.chunk_id for hit in before.hits if "place" in hit.features]
    assert after.ids[: len(named)] == tuple(named) or reranker.name == "spread"


def test_nothing_stays_nothing(reranker: Reranker) -> None:
    assert reranker.rerank(Ranking(Query("q"))).hits == ()


def test_threads_get_what_one_gets(reranker: Reranker, index: Index) -> None:
    rankings = [found(index, text) for text in QUERIES]
    expected = [reranker.rerank(ranking) for ranking in rankings]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(reranker.rerank, rankings * 10)) == expected * 10
