"""Questions asked by the very pipelines of a search."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from pincite.index.opened import OpenIndex
from pincite.measure.coverage import Corpus, CoveredGold
from pincite.measure.grades import Measure
from pincite.measure.questions import Question
from pincite.measure.runs import QuestionRecord, RunAnswer, RunHit, State
from pincite.measure.words import WordMeasures
from pincite.model.errors import ConfigError
from pincite.model.markup import plain
from pincite.model.settings import PARTS, Settings
from pincite.model.types import Chunk, Hit, Span
from pincite.search.build import PRESETS
from pincite.search.candidates import Step
from pincite.search.explain import proposals
from pincite.search.neighbours import Neighbours
from pincite.search.passages import passages
from pincite.search.pipeline import Searcher
from pincite.search.query import ParsedQuery
from pincite.search.reader import IndexReader

NOT_IN_CORPUS = "not in the documents"
CHUNKING = "chunking"
FIRST_STAGE = "first stage"  # nobody proposed it
FUSION = "fusion"  # one of several had it among the first, together they have not
ORDER = "order"  # a candidate, but never among the first
# The reader's order of causes; stages of the pipeline come behind, in their own order.
CAUSES = (NOT_IN_CORPUS, CHUNKING, FIRST_STAGE, FUSION, ORDER)


def ranks(steps: Sequence[Step], answers: Mapping[str, object]) -> dict[str, int | None]:
    """Return the rank of the first candidate that answers, after each stage."""
    return {step.stage: _rank(step.table.names(step.table.order()), answers) for step in steps}


def _rank(ids: Sequence[str], answers: Mapping[str, object]) -> int | None:
    return next((rank for rank, chunk_id in enumerate(ids, 1) if chunk_id in answers), None)


def lost_at(
    searcher: Searcher, steps: Sequence[Step], answers: Mapping[str, object], k: int
) -> str:
    """Return what lost the answer; empty if it is among the first ``k``.

    A stage that had it among the first ``k`` and hands it to one that has not: the latter lost it.
    """
    seen = ranks(steps, answers)
    stages = list(seen)
    kept = [at for at, rank in enumerate(seen.values()) if rank is not None and rank <= k]
    if kept:
        return "" if kept[-1] == len(stages) - 1 else stages[kept[-1] + 1]
    query = ParsedQuery(steps[0].query, searcher.reader)
    if any(_rank(ids[:k], answers) for ids in proposals(searcher, query).values()):
        return FUSION
    return FIRST_STAGE if seen[stages[searcher.first - 1]] is None else ORDER


MAX_EVIDENCE_CHARS = 20_000
FEW_DOCUMENTS = 10
WORDS_ALONE = "lexical"  # the pipeline that needs no vectors

# What can be left out of a pipeline by a setting; re-rankers are left out by their own names.
SWITCHES = tuple(part for part in PARTS if part != "spread")


def clock() -> str:
    """Return the time of a run, to the second; it is shown and never compared."""
    return time.strftime("%Y-%m-%d %H:%M:%S %z")


def without(opened: OpenIndex, settings: Settings, stage: str) -> IndexReader:
    """Return an index whose pipeline lacks a stage; ConfigError if it has no such stage."""
    if stage in SWITCHES:
        return IndexReader(opened, settings.leaving_out(stage))
    index = IndexReader(opened, settings)
    if stage not in index.searcher.rerankers:
        names = ", ".join([*SWITCHES, *index.searcher.rerankers])
        raise ConfigError(f"no stage {stage!r} to leave out", hint=f"stages: {names}")
    index.searcher = index.searcher.without(stage)
    return index


@dataclass(frozen=True, slots=True)
class EvalOptions:
    """How questions are asked: how deep, what counts as found, which measures need the words."""

    depth: int = 50
    k: int = 10
    measures: Sequence[Measure] = ()


def ask(
    indexes: Sequence[IndexReader], questions: Sequence[Question], how: EvalOptions
) -> Iterator[tuple[QuestionRecord, list[RunAnswer]]]:
    """Yield every question with the answer of each pipeline, in the order of the indexes."""
    corpus, neighbours = Corpus(indexes[0].snapshot), Neighbours(indexes[0].snapshot)
    words = WordMeasures(how.measures, corpus, indexes[0].settings.encoding)
    golds = [corpus.gold(question) for question in questions]
    group_of = grouping(golds)
    for gold in golds:
        evidence = _evidence(gold, corpus)
        asked = _asked(gold, group_of(gold), evidence, corpus)
        beside = neighbours.of(sorted(gold.chunks)) if gold.chunks else {}
        near = {each.chunk_id for edges in beside.values() for each in edges} - gold.chunks.keys()
        answers = []
        for index in indexes:
            answer, chunks = _answer(index, gold, near, how, asked)
            taken = words.taken(gold, evidence, answer.hits, chunks)
            answers.append(replace(answer, taken=taken))
        yield asked, answers


def grouping(golds: Sequence[CoveredGold]) -> Callable[[CoveredGold], str]:
    """Return how questions are grouped: as they say, by document, or not at all.

    Questions about one document are alike, but a set about few documents would be left with few
    groups and no interval worth the name.
    """
    documents = {min(gold.documents) for gold in golds if gold.documents}

    def group(gold: CoveredGold) -> str:
        if gold.question.group:
            return gold.question.group
        if len(documents) >= FEW_DOCUMENTS and gold.documents:
            return min(gold.documents)
        # A question that is asked twice is one observation.
        return gold.question.wording

    return group


def _asked(gold: CoveredGold, group: str, evidence: str, corpus: Corpus) -> QuestionRecord:
    question = gold.question
    state: State = "judged" if gold.is_evaluable else "not searched"
    if not any(gold.spans):
        state = "not in corpus" if question.needs else "unanswerable"
    return QuestionRecord(
        question.id,
        question.text,
        state,
        group,
        tuple(" or ".join(map(str, need)) for need in question.needs) or (question.unanswerable,),
        len(question.needs),
        gold.ideal,
        dict(question.labels),
        bool(_cell_spans(gold, corpus)),
        bool(evidence),
        bool(question.answer),
    )


def _answer(
    index: IndexReader, gold: CoveredGold, near: set[str], how: EvalOptions, asked: QuestionRecord
) -> tuple[RunAnswer, list[Chunk]]:
    text = gold.question.text
    start = time.perf_counter()
    # As deep as with re-rankers: what lies below is "order", whether there is one or not.
    steps, stages = index.steps(text, max(how.depth, index.searcher.depth))
    seconds = time.perf_counter() - start
    last = steps[-1].table.hits(how.depth)
    chunks = index.snapshot.get([hit.chunk_id for hit in last])
    answering = {chunk.id: met for chunk in chunks if (met := gold.met_by(chunk))}
    for step in steps:  # what a stage dropped, or put below the hits that are kept
        answering |= {i: gold.chunks[i] for i in step.table.names() if i in gold.chunks}
    seen = ranks(steps, answering)
    cells = _cells(index, text, last[: how.k], gold) if asked.has_cell else set()
    hits = tuple(
        RunHit(
            chunk.id,
            chunk.span.doc_id,
            chunk.locator,
            round(hit.score, 6),
            answering.get(chunk.id, {} if chunk.id in gold.rejected else None),
            chunk.id in near,
            chunk.id in cells,
            bool(gold.documents) and chunk.span.doc_id not in gold.documents,
        )
        for hit, chunk in zip(last, chunks, strict=True)
    )
    lost = {"not in corpus": NOT_IN_CORPUS, "not searched": CHUNKING}.get(asked.state, "")
    if asked.state == "judged":
        lost = lost_at(index.searcher, steps, answering or gold.chunks, how.k)
    return RunAnswer(hits, seen, seconds, stages, lost), chunks


def _cell_spans(gold: CoveredGold, corpus: Corpus) -> list[Span]:
    """Return the rows that are asked for, where a single row is."""
    spans = [span for need in gold.spans for span, _ in need]
    if any(place.table for place in gold.question.places):
        return spans
    if gold.question.labels.get("kind") != "cell":
        return []
    chunks = (chunk for span in spans for chunk in corpus.chunks(span.doc_id))
    rows = {chunk.span for chunk in chunks if chunk.kind == "row"}
    return [span for span in spans if span in rows]


def _cells(index: IndexReader, text: str, hits: Sequence[Hit], gold: CoveredGold) -> set[str]:
    """Return the hits whose passage shows a row that is asked for, not just its table."""
    wanted = {span for need in gold.spans for span, _ in need}
    rows = [plain(index.snapshot.text(s.doc_id)[s.start : s.end]).strip() for s in wanted]
    return {
        each.chunk.id
        for each in passages(index.parse(text), hits, index.opened)
        if each.place.span in wanted
        or (each.chunk.id in gold.chunks and any(row in each.snippet for row in rows))
    }


def _evidence(gold: CoveredGold, corpus: Corpus) -> str:
    """Return the words that answer: as given, else those of the gold, if they are not too many."""
    if gold.question.evidence:
        return gold.question.evidence
    spans = [need[0][0] for need in gold.spans if need]
    if sum(map(len, spans)) > MAX_EVIDENCE_CHARS:
        return ""
    return "\n".join(corpus.snapshot.text(s.doc_id)[s.start : s.end] for s in spans)


def check_pipelines(pipelines: Sequence[Settings]) -> None:
    """Raise ConfigError for a pipeline that does not exist, before any work is done."""
    for settings in pipelines:
        if settings.search.preset not in PRESETS:
            raise ConfigError(
                f"no pipeline {settings.search.preset!r}",
                hint=f"known: {', '.join(PRESETS)}; or name a settings file that ends in .toml",
            )
