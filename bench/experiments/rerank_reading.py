"""Questions asked by meaning and by both, their candidates read with the clock running."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from experiments import part97
from experiments.indexes import opened
from pincite.api import Index
from pincite.measure.coverage import Corpus, CoveredGold
from pincite.measure.questions import JudgedPlace, Question
from pincite.model.errors import ModelError
from pincite.model.settings import Reranking, Settings
from pincite.model.types import Chunk, PairScorer, Query
from pincite.search.candidates import Candidates
from pincite.search.pair_scorers import open_scorer
from pincite.search.rerank import combined
from pincite.search.windows import windows_of

QUESTIONS = 100  # as many as were published; evenly spaced
POOL = 24  # candidates that the published pipeline reads
DEEPEST = 40  # that are read here, for the curve
REPLACE = Reranking(enabled=True, mode="replace", pool=POOL)


@dataclass(frozen=True, slots=True)
class Spent:
    """Milliseconds on the wall and of the processor."""

    wall: float
    cpu: float

    def plus(self, other: Spent) -> Spent:
        return Spent(self.wall + other.wall, self.cpu + other.cpu)


class Watch:
    """Tells what was spent since it was made."""

    def __init__(self) -> None:
        self._wall, self._cpu = time.perf_counter(), time.process_time()

    def spent(self) -> Spent:
        wall, cpu = time.perf_counter() - self._wall, time.process_time() - self._cpu
        return Spent(1000 * wall, 1000 * cpu)


@dataclass(frozen=True)
class Read:
    """One question: what was found, how probable each candidate is, and what it took."""

    group: str
    gold: CoveredGold
    meets: Mapping[str, Mapping[int, float]]  # what each hit brings
    orders: Mapping[str, Sequence[str]]  # ids by pipeline
    chances: Sequence[float]  # of the candidates found by meaning, in their order
    found: Candidates  # these candidates, in order
    encoding: Spent
    search: Spent
    reading: Sequence[Spent]  # until so many candidates were read
    pairs: int  # windows that were read of the first 24


def run(data: Path, questions: Path, own: Settings) -> Iterator[Read]:
    """Yield every question, asked and read."""
    lettered = replace(own, ingest=replace(own.ingest, split_depth=1))
    pipelines = [lettered.changed({"search.preset": name}) for name in ("dense", "hybrid")]
    scorer = open_scorer(replace(own.reranking, enabled=True))
    if scorer is None:
        raise ModelError("no cross-encoder to measure", hint="set rerank.model or rerank.url")
    asked = part97.read_questions(questions)
    some = asked[:: max(1, len(asked) // QUESTIONS)][:QUESTIONS]
    with opened([(data / part97.DOCUMENT, part97.DOCUMENT)], pipelines) as (dense, hybrid):
        corpus = Corpus(dense.snapshot)
        scorer.score("is this a text?", ["This is a text."])  # loads it
        for index in (dense, hybrid):
            index.warm()
        for question in some:
            places = tuple(JudgedPlace(part97.DOCUMENT, section=name) for name in question.sections)
            gold = corpus.gold(Question(question.id, question.text, (places,) if places else ()))
            if gold.is_evaluable:
                yield _read(dense, hybrid, scorer, gold, own.reranking)


def _read(
    dense: Index, hybrid: Index, scorer: PairScorer, gold: CoveredGold, settings: Reranking
) -> Read:
    text = gold.question.text
    meaning = dense.searcher.meaning
    assert meaning is not None
    watch = Watch()
    meaning.encode(text)
    encoding = watch.spent()
    watch = Watch()
    found = dense.searcher.find(Query(text), DEEPEST)  # the question's vector is remembered
    search = watch.spent()
    chunks = dense.snapshot.get(found.names())
    reader = _Reader(scorer, text, settings.window_tokens)
    reading: list[Spent] = []
    watch = Watch()
    for chunk in chunks:
        reader.chance(chunk)
        reading.append(watch.spent())
    pairs = reader.pairs_of(chunks[:POOL])
    ours = hybrid.searcher.search(Query(text), DEEPEST)
    best = hybrid.snapshot.get(ours.names()[: settings.pool])
    chances = {chunk.id: reader.chance(chunk) for chunk in (*chunks, *best)}
    first = {chunk.id: chances[chunk.id] for chunk in chunks[:POOL]}
    mixed = {chunk.id: chances[chunk.id] for chunk in best}
    weighted = replace(settings, enabled=True)
    orders = {
        "meaning": found.names(),
        "meaning + re-ranking": reread(found, first, REPLACE),
        "ours": ours.names(),
        "ours + re-ranking": reread(ours, mixed, weighted),
    }
    hits = {chunk.id: chunk for chunk in (*chunks, *hybrid.snapshot.get(ours.names()))}
    return Read(
        text,
        gold,
        {chunk_id: gold.met_by(chunk) for chunk_id, chunk in hits.items()},
        orders,
        [chances[chunk_id] for chunk_id in found.names()],
        found,
        encoding,
        search,
        reading,
        pairs,
    )


def reread(table: Candidates, chances: Mapping[str, float], settings: Reranking) -> list[str]:
    """Return the ids of candidates in the order that reading gives."""
    mixed = combined(table, chances, settings)
    return mixed.names(mixed.order())


class _Reader:
    """Reads the windows of chunks together with one question, each once."""

    def __init__(self, scorer: PairScorer, question: str, tokens: int) -> None:
        self.scorer = scorer
        self.question = question
        self.tokens = tokens
        self._known: dict[str, float] = {}
        self._pairs: dict[str, int] = {}

    def chance(self, chunk: Chunk) -> float:
        """Return how probable it is that a chunk answers: its best window's."""
        if chunk.id not in self._known:
            texts = windows_of(chunk, self.tokens)
            scores = self.scorer.score(self.question, texts) if texts else [0.0]
            self._known[chunk.id] = float(max(scores))
            self._pairs[chunk.id] = len(texts)
        return self._known[chunk.id]

    def pairs_of(self, chunks: Sequence[Chunk]) -> int:
        return sum(self._pairs[chunk.id] for chunk in chunks)
