"""BM25 gives the numbers of other implementations."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pincite.api import Index
from pincite.index.builder import IndexBuilder
from pincite.model.settings import SearchSettings, Settings
from pincite.model.tuning import LexicalTuning, Tuning
from pincite.model.types import Chunk, Document, ParsedDocument, Query, Span
from pincite.search.build import build

REFERENCE = json.loads(Path(__file__).with_name("bm25.json").read_text())
TEXTS, QUERIES = REFERENCE["texts"], REFERENCE["queries"]


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    """An index with the texts as they are, one chunk each, in three segments."""
    settings = Settings().changed({"ingest.language": "none", "tuning.bigrams": False})
    folder = tmp_path_factory.mktemp("bm25")
    with IndexBuilder(folder, settings) as builder:
        for number, text in enumerate(TEXTS):
            doc_id, span = str(number), Span(str(number), 0, len(text))
            chunk = Chunk(doc_id, span, text, "section", "", "", (), len(text))
            builder.put(ParsedDocument(Document(doc_id, text), [chunk]))
            if number in (11, 25):
                builder.flush()
        builder.flush()
    with Index.open(folder, settings) as opened:
        assert len(opened.snapshot.segments) == 3
        yield opened


def scores(index: Index, query: str, settings: LexicalTuning) -> list[float]:
    """Return the score of every text; those that are not found have none."""
    search = SearchSettings(preset="lexical", without="places,names,aliases,typos")
    searcher = build(Settings(search=search, tuning=Tuning(lexical=settings)), index.opened)
    found = {hit.chunk_id: hit.score for hit in searcher.find(Query(query), 1000).hits()}
    return [found.get(str(number), 0.0) for number in range(len(TEXTS))]


@pytest.mark.parametrize(
    "run", REFERENCE["runs"], ids=lambda run: f"{run['package']}-{run['variant']}-{run['k1']}"
)
def test_scores_equal_the_reference(index: Index, run: dict[str, Any]) -> None:
    settings = LexicalTuning(
        variant=run["variant"], k1=run["k1"], b=run["b"], bigram_weight=0.0, window_weight=0.0
    )
    compared = 0
    for query, expected in zip(QUERIES, run["scores"], strict=True):
        if expected is not None:
            assert scores(index, query, settings) == pytest.approx(expected, rel=1e-6, abs=1e-6)
            compared += 1
    assert compared >= 5
