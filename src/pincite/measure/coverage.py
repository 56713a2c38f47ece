"""Which chunks cover a judged place; what is wrong with judgements."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Literal

import numpy as np

from pincite.measure.grades import Array, ideal_gains
from pincite.measure.imports import Qrels
from pincite.measure.questions import JudgedPlace, Question, QuestionSet
from pincite.model.editions import Edition
from pincite.model.locators import locator_key
from pincite.model.tables import find_cells, parse_table
from pincite.model.types import Chunk, Span
from pincite.store.snapshot import Snapshot


def shares_half(chunk: Span, place: Span) -> bool:
    """Return whether the two share at least half of the shorter one.

    >>> place = Span("d", 8, 40)
    >>> shares_half(Span("d", 0, 10), place), shares_half(Span("d", 0, 99), place)
    (False, True)
    """
    shared = chunk.overlap(place)
    return shared > 0 and 2 * shared >= min(len(chunk), len(place))


def covering(place: Sequence[Span], chunks: Sequence[Span]) -> set[int]:
    """Return which of the searched chunks cover a place, which may stand at several spots."""
    found = {at for at, chunk in enumerate(chunks) if any(shares_half(chunk, s) for s in place)}
    if found:
        return found
    shared = [max((chunk.overlap(s) for s in place), default=0) for chunk in chunks]
    most = max(shared, default=0)
    return {shared.index(most)} if most else set()


@dataclass(frozen=True, slots=True)
class CoveredGold:
    """A question's needs in one index."""

    question: Question
    spans: tuple[tuple[tuple[Span, int], ...], ...]  # of each need: spots with their grades
    chunks: Mapping[str, Mapping[int, float]]  # searched chunks with the needs that they meet
    rejected: frozenset[str]  # searched chunks that were judged and do not answer
    ideal: tuple[float, ...]
    documents: frozenset[str]

    @property
    def is_evaluable(self) -> bool:
        """Whether some need can be met by a chunk that is searched."""
        return bool(self.chunks)

    def met_by(self, chunk: Chunk) -> Mapping[int, float]:
        """Return the needs that a hit meets; a hit may also be a place that is not searched."""
        if chunk.id in self.chunks or chunk.searched:
            return self.chunks.get(chunk.id, {})
        return {
            at: float(max(grades))
            for at, need in enumerate(self.spans)
            if (grades := [grade for span, grade in need if shares_half(chunk.span, span)])
        }


class Corpus:
    """An index as the judgements see it: where places stand, which chunks cover them."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self._editions: dict[str, Edition] | None = None
        self._chunks: dict[str, list[Chunk]] = {}

    def gold(self, question: Question) -> CoveredGold:
        """Return what a question needs in this index."""
        chunks: dict[str, dict[int, float]] = {}
        spans = []
        for at, need in enumerate(question.needs):
            spots = [(span, place.grade) for place in need for span in self.spans(place)]
            spans.append(tuple(dict.fromkeys(spots)))
            for place in need:
                for chunk_id in self.covered(self.spans(place)):
                    met = chunks.setdefault(chunk_id, {})
                    met[at] = max(met.get(at, 0.0), float(place.grade))
        rejected = [self.covered(self.spans(place)) for place in question.rejected]
        return CoveredGold(
            question,
            tuple(spans),
            chunks,
            frozenset(set().union(*rejected) - chunks.keys()),
            tuple(ideal_gains(list(chunks.values()))),
            frozenset(span.doc_id for need in spans for span, _ in need),
        )

    def covered(self, spans: Iterable[Span]) -> set[str]:
        """Return the ids of the searched chunks that cover a place."""
        found: set[str] = set()
        by_document: defaultdict[str, list[Span]] = defaultdict(list)
        for span in spans:
            by_document[span.doc_id].append(span)
        for doc_id, spots in by_document.items():
            searched = [chunk for chunk in self.chunks(doc_id) if chunk.searched]
            at = covering(spots, [chunk.span for chunk in searched])
            found |= {searched[each].id for each in at}
        return found

    def spans(self, place: JudgedPlace) -> list[Span]:
        """Return where a place stands; nothing if the index does not have it."""
        named = place.table or place.locator
        if place.start is not None and place.end is not None:
            spots = [Span(doc_id, place.start, place.end) for doc_id in self._documents(place)]
            return [s for s in spots if s.start < len(self.snapshot.text(s.doc_id))]
        if named:
            chunks = self._named(named, place)
            return [c.span for c in (_rows(self, chunks, place) if place.table else chunks)]
        found = []
        for doc_id in self._documents(place):
            chunks = self.chunks(doc_id)
            if place.section:
                found += [c.span for c in chunks if is_below(c.locator, place.section)]
            elif place.page is not None:
                found += self._page(doc_id, place.page)
            elif chunks:
                found.append(Span(doc_id, 0, max(chunk.span.end for chunk in chunks)))
        return found

    def chunks(self, doc_id: str) -> list[Chunk]:
        """Return the chunks of a document, remembered."""
        if doc_id not in self._chunks:
            self._chunks[doc_id] = self.snapshot.chunks(doc_id)
        return self._chunks[doc_id]

    def _named(self, locator: str, place: JudgedPlace) -> list[Chunk]:
        """Return the chunks with a locator; a heading of the same words only if there is none."""
        allowed = set(self._documents(place))
        key = locator_key(locator)
        found = [c for c in self.snapshot.found_by([key]) if c.span.doc_id in allowed]
        # A piece stands for a part of a place of the same name, which is here as well.
        wholes = [chunk for chunk in found if chunk.kind not in ("text", "piece")] or found
        return [chunk for chunk in wholes if locator_key(chunk.locator) == key] or wholes

    def _documents(self, place: JudgedPlace) -> list[str]:
        """Return the documents that a place may be in."""
        if self._editions is None:
            self._editions = {each.doc_id: each for each in self.snapshot.editions()}
        named = place.document
        if named in self._editions:
            found = [named]
        else:
            found = [d for d in self._editions if not named or fnmatchcase(d, named)]
        if not place.edition:
            return found
        starts = {d: self._editions[d].effective for d in found}
        return [d for d, day in starts.items() if day and day.isoformat().startswith(place.edition)]

    def _page(self, doc_id: str, page: int) -> list[Span]:
        """Return the text of a page: of its boxes, else from its first chunk to the next page's."""
        boxes = [box for box in self.snapshot.boxes(doc_id) if box.page == page]
        if boxes:
            return [Span(doc_id, min(b.start for b in boxes), max(b.end for b in boxes))]
        chunks = [chunk for chunk in self.chunks(doc_id) if chunk.page is not None]
        starts = [chunk.span.start for chunk in chunks if chunk.page == page]
        if not starts:
            return []
        first, last = min(starts), max(starts)
        later = [c.span.start for c in chunks if c.span.start > last and c.page != page]
        end = min(later) if later else max(chunk.span.end for chunk in chunks)
        return [Span(doc_id, first, end)]


def is_below(locator: str, section: str) -> bool:
    """Return whether a locator is that of a section or of a place inside it.

    >>> is_below("314.28(A)", "314.28"), is_below("314.28", "314.2"), is_below("314.28", "314")
    (True, False, True)
    """
    key, prefix = locator_key(locator), locator_key(section)
    return key.startswith(prefix) and not key[len(prefix) : len(prefix) + 1].isalnum()


def _rows(corpus: Corpus, tables: Sequence[Chunk], place: JudgedPlace) -> list[Chunk]:
    """Return the rows of a cell; the table where its rows are not places of their own."""
    found = []
    for chunk in tables:
        table = parse_table(chunk.text)
        cells = find_cells(table, place.row, place.column) if table else []
        inside = [each for each in corpus.chunks(chunk.span.doc_id) if each.parent == chunk.id]
        rows = [each for each in inside if each.kind == "row"]
        whole = table is not None and len(rows) == len(table.rows)
        found += [rows[cell.row] if whole else chunk for cell in cells]
    return found


Level = Literal["nominal", "ordinal", "interval"]
# A judgement of each annotator on each item; None where there is none.
Ratings = Sequence[Sequence[float | None]]


def krippendorff_alpha(ratings: Ratings, level: Level = "nominal") -> float:
    """Return Krippendorff's alpha: 1 is perfect agreement, 0 is chance (Krippendorff 2004, 11.3).

    A row is an annotator, a column an item; items that fewer than two people judged say nothing.
    ``ordinal`` is for grades: to confuse 0 and 3 is worse than to confuse 2 and 3. It is nan where
    nothing can be compared, and 1 where all judgements are the same.

    >>> krippendorff_alpha([[1, 1, 0, 0], [1, 1, 0, None]])
    1.0
    """
    items = ([v for v in column if v is not None] for column in zip(*ratings, strict=True))
    paired = [values for values in items if len(values) > 1]
    if not paired:
        return float("nan")
    levels = sorted({value for values in paired for value in values})
    if len(levels) == 1:
        return 1.0
    seen = _coincidences(paired, {value: at for at, value in enumerate(levels)})
    totals = seen.sum(axis=0)
    distance = _distances(np.array(levels, dtype=float), totals, level)
    expected = float((np.outer(totals, totals) * distance).sum()) / (float(totals.sum()) - 1)
    return 1.0 - float((seen * distance).sum()) / expected


def _coincidences(paired: Sequence[Sequence[Hashable]], at: dict[Hashable, int]) -> Array:
    """Return how often each pair of values stands on one item, each item weighing its values."""
    seen = np.zeros((len(at), len(at)))
    for values in paired:
        counts = Counter(values)
        for one, times in counts.items():
            for other, others in counts.items():
                pairs = times * (others - (one == other))
                seen[at[one], at[other]] += pairs / (len(values) - 1)
    return seen


def _distances(levels: Array, totals: Array, level: Level) -> Array:
    """Return the squared distance of every two values."""
    if level == "nominal":
        return np.asarray(1.0 - np.eye(len(levels)))
    if level == "interval":
        return np.asarray((levels[:, None] - levels[None, :]) ** 2)
    # What lies between two values, counting half of each end.
    middle = np.cumsum(totals) - totals / 2
    return np.asarray((middle[:, None] - middle[None, :]) ** 2)


@dataclass(frozen=True, slots=True)
class Oddity:
    """Something about a question that its author should look at."""

    question: str
    kind: str
    message: str


def oddities(questions: QuestionSet) -> Iterator[Oddity]:
    """Yield what can be seen without an index."""
    words = Counter(each.wording for each in questions.questions)
    for each in questions.questions:
        if words[each.wording] > 1:
            yield Oddity(each.id, "same question", "another question has the same words")
        # Several people may judge one place; one person does so once.
        listed = Counter(replace(p, grade=1, when="") for p in (*each.places, *each.rejected))
        for place, times in listed.items():
            if times > 1:
                yield Oddity(each.id, "place twice", f"{place} is listed {times} times")


def in_index(question: Question, corpus: Corpus) -> Iterator[Oddity]:
    """Yield what an index shows: places that it lacks, names that lead elsewhere."""
    for place in question.places:
        spans = corpus.spans(place)
        if not spans:
            yield Oddity(question.id, "not in the index", f"{place} is not in the index")
        elif not corpus.covered(spans):
            yield Oddity(question.id, "not searched", f"no chunk that is searched covers {place}")
        elif place.kind == "span" and place.locator:
            named = corpus.spans(replace(place, start=None, end=None))
            if not any(one.overlap(other) for one in named for other in spans):
                told = f"{place.locator} does not stand at its characters now"
                yield Oddity(question.id, "moved", told)


def qrels(questions: QuestionSet, corpus: Corpus) -> Qrels:
    """Return grades of the chunks of an index, for programs that know only those."""
    found = {}
    for question in questions.questions:
        gold = corpus.gold(question)
        grades = {chunk: round(max(met.values())) for chunk, met in sorted(gold.chunks.items())}
        found[question.id] = grades | dict.fromkeys(sorted(gold.rejected), 0)
    return found


@dataclass(frozen=True, slots=True)
class Agreement:
    """How far people agree on the grades of the same places."""

    places: int  # judged by two or more
    nominal: float
    ordinal: float
    disputed: Sequence[tuple[str, str, tuple[int | None, ...]]]  # question, place, grades


def agreement(sets: Sequence[QuestionSet]) -> Agreement:
    """Return how far the authors of several files agree; a place not listed is not judged."""
    judged: defaultdict[tuple[str, JudgedPlace], list[int | None]] = defaultdict(
        lambda: [None] * len(sets)
    )
    for at, each in enumerate(sets):
        for question in each.questions:
            for place in (*question.places, *question.rejected):
                judged[question.id, place.unsigned(grade=1)][at] = place.grade
    rows = sorted(judged.items(), key=lambda item: (item[0][0], str(item[0][1])))
    shared = [(k, v) for k, v in rows if sum(grade is not None for grade in v) > 1]
    ratings = [[grades[at] for _, grades in shared] for at in range(len(sets))]
    disputed = [
        (question, str(place), tuple(grades))
        for (question, place), grades in shared
        if len({grade for grade in grades if grade is not None}) > 1
    ]
    nominal, ordinal = (krippendorff_alpha(ratings, kind) for kind in ("nominal", "ordinal"))
    return Agreement(len(shared), nominal, ordinal, disputed)


def by_person(questions: QuestionSet) -> dict[str, QuestionSet]:
    """Return what each person judged, as sets of their own; what nobody signed is in none."""

    def said_by(who: str, question: Question) -> Question:
        needs = tuple(tuple(place for place in need if place.by == who) for need in question.needs)
        rejected = tuple(place for place in question.rejected if place.by == who)
        return replace(question, needs=needs, rejected=rejected)

    people = sorted({p.by for q in questions.questions for p in (*q.places, *q.rejected)} - {""})
    return {
        who: replace(questions, questions=[said_by(who, each) for each in questions.questions])
        for who in people
    }
