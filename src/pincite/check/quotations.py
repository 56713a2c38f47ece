"""Where a quotation stands in an index: exactly, or with which words changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from rapidfuzz.distance import Levenshtein, Opcode

from pincite.check.folding import Folded, Match, has_omissions
from pincite.check.page_breaks import PageBreaks
from pincite.check.rules import NEGATIONS, Change, kind_of_change
from pincite.check.values import WordChange
from pincite.index.filters import NOTHING
from pincite.index.lexical import Bm25, Bm25Scorer, Term
from pincite.index.opened import Rows, top_rows
from pincite.model.types import Chunk
from pincite.search.reader import IndexReader
from pincite.store.files import Array

FOLDED_DOCUMENTS = 64  # kept
MAX_TERMS = 48  # of a quotation, the rarest of which find the chunks that may hold it
CANDIDATES = 12  # chunks that are looked into, and if it is in none of them:
FURTHER = 48
SHINGLES = (3, 4)  # words that anchor a changed quotation: of a short one, and of others
LONG = 14  # words of a quotation that is not short
MAX_ANCHORS = 64  # places of one shingle that are looked at
MAX_SHINGLES = 60
MIN_SAME = 0.55  # share of a quotation's words that have to stand in its source, in order
SLACK = 4  # words around an anchored stretch
MAX_COMPARED = 1500  # words
LEFT_OUT = 6  # words that are missing together: a sentence was left out
MIN_SPLICED = 5  # words of each of two stretches that are joined
MAX_TIGHTENED = 120  # words at either end of a window that are tried
MAX_PLACE_CHARS = 40_000  # of a place that is compared as a whole
SHORT_GAP = 40  # characters in which an ellipsis must not hide a negation


@dataclass(frozen=True, slots=True)
class Found:
    """One place that a quotation stands at; ``changes`` are empty where it does so exactly."""

    doc_id: str
    start: int
    end: int
    same: float = 1.0  # share of its words that stand there
    changes: tuple[WordChange, ...] = ()
    change: Change | None = None  # the gravest
    reason: str = ""


class QuotationFinder:
    """Finds quotations in the documents of one index."""

    def __init__(self, index: IndexReader) -> None:
        self._index = index
        self._snapshot = index.snapshot
        self._rows = Rows(index.opened)
        # However often words come and however long a chunk is: what is quoted has them all.
        self._scorer = Bm25Scorer(index.opened.lexical, Bm25(k1=0.0))
        self.folded = lru_cache(maxsize=FOLDED_DOCUMENTS)(self._fold)
        self.page_breaks = lru_cache(maxsize=FOLDED_DOCUMENTS)(self._breaks)

    def _fold(self, doc_id: str) -> Folded:
        return Folded(self._snapshot.text(doc_id))

    def _breaks(self, doc_id: str) -> PageBreaks:
        snapshot = self._snapshot
        furniture = (snapshot.meta(doc_id) or {}).get("furniture", "")
        return PageBreaks(snapshot.text(doc_id), snapshot.pages(doc_id), furniture)

    def exact(self, quote: str, documents: Iterable[str]) -> list[Found]:
        """Return where a quotation stands word for word in some documents."""
        found: list[Found] = []
        for doc_id in documents:
            folded = self.folded(doc_id)
            matches = folded.find(quote) or folded.without_labels.find(quote)
            found += [self._exact(quote, folded, match, doc_id) for match in matches]
        return found

    def across_pages(self, quote: str, documents: Iterable[str]) -> list[Found]:
        """Return where it stands but for numbers and repeated lines between two pages."""
        found: list[Found] = []
        for doc_id in documents:
            breaks = self.page_breaks(doc_id)
            matches = breaks.find(quote)
            found += [self._exact(quote, breaks.folded, match, doc_id) for match in matches]
        return found

    def _exact(self, quote: str, folded: Folded, match: Match, doc_id: str) -> Found:
        """Return an exact place; a negation that a gap hides, or glued letters, are none."""
        plain = Found(doc_id, match.start, match.end)
        for start, end in match.gaps:
            words = folded.text[start:end]
            hidden = [w for w in Folded(words).words(0, 99) if w in NEGATIONS]
            if hidden and end - start <= SHORT_GAP:
                reason = f"the words left out have “{hidden[0]}”"
                change = WordChange(" ".join(words.split()), "…")
                return Found(doc_id, match.start, match.end, 1.0, (change,), "opposite", reason)
        if not match.gaps and not has_omissions(quote):
            own = Folded(quote)
            theirs = Folded(folded.text[match.start : match.end])
            lost = _negations(theirs) - _negations(own) or _negations(own) - _negations(theirs)
            if lost and not folded.without_labels.find(quote):  # "not able" is not "notable"
                word = min(lost)
                return Found(
                    doc_id, match.start, match.end, 1.0, (WordChange(word, ""),), "opposite"
                )
        return plain

    def candidates(self, quote: str) -> list[str]:
        """Return the documents that may hold a quotation, by the rarest of its words."""
        opened = self._index.opened
        scored: Counter[str] = Counter()
        for terms in opened.analyzer.readings(quote, content=False).values():
            resolved = opened.lexical.resolve(list(dict.fromkeys(terms))[:400])
            known = sorted((term for term in resolved.terms if term.df), key=lambda term: term.df)
            if not known:
                continue
            rows, scores = self._scored(known[:MAX_TERMS])
            best = self._rows.best(np.arange(len(rows)), scores, FURTHER, names=rows)
            ids = [self._rows.ids[rows[at]].decode() for at in best]
            places = self._snapshot.get(ids)
            for chunk, at in zip(places, best, strict=True):
                scored[chunk.span.doc_id] = max(scored[chunk.span.doc_id], int(1000 * scores[at]))
        return [doc_id for doc_id, _ in scored.most_common()]

    def _scored(self, terms: Sequence[Term]) -> tuple[Array, Array]:
        rows, scores = [], []
        for number, offset in enumerate(self._rows.offsets[:-1]):
            values = self._scorer.scores(terms, number)
            inner = top_rows(values, 4 * FURTHER)
            rows.append(inner + offset)
            scores.append(values[inner])
        every, worth = np.concatenate(rows), np.concatenate(scores)
        allowed = np.isin(every, self._rows.allowed(np.sort(every), NOTHING))
        return every[allowed], worth[allowed]

    def altered(self, quote: str, documents: Iterable[str]) -> Found | None:
        """Return the place most like a quotation, with the words that differ; None if none is."""
        own = Folded(quote)
        best: Found | None = None
        for doc_id in documents:
            for folded in (self.folded(doc_id), self.folded(doc_id).without_labels):
                found = _spliced(own, folded, doc_id) or _nearest(own, folded, doc_id)
                if found is not None and (best is None or found.same > best.same):
                    best = found
        return best

    def altered_in(self, quote: str, place: Chunk) -> Found | None:
        """Return how a quotation differs from a place that it is said to be of."""
        span = place.span
        if len(span) > MAX_PLACE_CHARS:
            return None
        own = Folded(quote)
        found = _nearest(own, Folded(place.text), span.doc_id)
        if found is None:
            return None
        return replace(found, start=found.start + span.start, end=found.end + span.start)


def _negations(folded: Folded) -> Counter[str]:
    return Counter(word for word in folded.words(0, len(folded)) if word in NEGATIONS)


def _nearest(own: Folded, folded: Folded, doc_id: str) -> Found | None:
    """Return the stretch of a document that a quotation was made from."""
    window = _window(own, folded)
    if window is None:
        return None
    first, last = _tightened(folded.words(*window), own.words(0, MAX_COMPARED), window[0])
    theirs, mine = folded.words(first, last), own.words(0, MAX_COMPARED)
    changed = [
        op
        for op in _changes(theirs, mine)
        if not _is_glued(theirs, mine, op) and not _is_marked(own, op)
    ]
    same = 1 - sum(op.dest_end - op.dest_start for op in changed) / max(1, len(mine))
    if same < MIN_SAME or not theirs:
        return None
    changes = tuple(
        WordChange(
            _written(folded, first + op.src_start, first + op.src_end),
            _written(own, op.dest_start, op.dest_end),
        )
        for op in changed
    )
    kinds = [_kind(theirs, mine, op) for op in changed]
    gravest = max(kinds, key=lambda kind: _GRAVITY[kind], default=None)
    place = folded.places[first], folded.stops[last - 1]
    return Found(doc_id, *place, same, changes, gravest)


def _is_marked(own: Folded, op: Opcode) -> bool:
    """Return whether a quotation says itself that words are left out here."""
    at = op.dest_start
    if op.tag != "delete" or not 0 < at < len(own):
        return False
    return has_omissions(own.text[own.stops[at - 1] : own.places[at]])


def _changes(theirs: Sequence[str], mine: Sequence[str]) -> list[Opcode]:
    """Return what differs; changes that follow each other are one."""
    found: list[Opcode] = []
    for op in Levenshtein.opcodes(theirs, mine):
        if op.tag == "equal":
            continue
        if found and (found[-1].src_end, found[-1].dest_end) == (op.src_start, op.dest_start):
            last = found.pop()
            op = Opcode("replace", last.src_start, op.src_end, last.dest_start, op.dest_end)
        found.append(op)
    return found


def _kind(theirs: Sequence[str], mine: Sequence[str], op: Opcode) -> Change:
    gone, new = theirs[op.src_start : op.src_end], mine[op.dest_start : op.dest_end]
    if not new and len(gone) >= LEFT_OUT:
        return "words"  # a sentence that was left out, whatever it says
    return kind_of_change(gone, new, mine[op.dest_start - 1] if op.dest_start else "")


def _spliced(own: Folded, folded: Folded, doc_id: str) -> Found | None:
    """Return the first of two stretches of a document that a quotation joins without a mark."""
    low, high = 0, len(own)
    while low < high:  # the longest beginning that stands there
        middle = (low + high + 1) // 2
        if next(folded.occurrences(own.stretch(0, middle), 1), None) is None:
            high = middle - 1
        else:
            low = middle
    for cut in range(low, max(low - 3, MIN_SPLICED - 1), -1):
        rest = own.stretch(cut, len(own))
        if len(own) - cut < MIN_SPLICED:
            continue
        ends = [folded.number_at(at) for at in folded.occurrences(rest)]
        starts = [folded.number_at(at) for at in folded.occurrences(own.stretch(0, cut))]
        # A word or two that were dropped are no splice.
        if not ends or any(0 <= e - s - cut < LEFT_OUT for e in ends for s in starts[:8]):
            continue
        place = folded.places[starts[0]], folded.stops[starts[0] + cut - 1]
        change = WordChange("…", f"{_written(own, cut - 1, cut)} | {_written(own, cut, cut + 1)}")
        reason = "two stretches are joined that do not stand together"
        return Found(doc_id, *place, 1.0, (change,), "words", reason)
    return None


_GRAVITY: dict[Change, int] = {"words": 0, "number": 1, "opposite": 2}


def _written(folded: Folded, first: int, last: int) -> str:
    """Return words as they are written."""
    if first >= last:
        return ""
    return " ".join(folded.text[folded.places[first] : folded.stops[last - 1]].split())


def _is_glued(theirs: Sequence[str], mine: Sequence[str], op: Opcode) -> bool:
    """Return whether only the cut of words differs: "non compliance", "trans mission"."""
    gone, new = theirs[op.src_start : op.src_end], mine[op.dest_start : op.dest_end]
    joined = "".join(gone)
    is_same = joined == "".join(new) and not any(map(str.isdigit, joined))
    return is_same and NEGATIONS.isdisjoint(gone) == NEGATIONS.isdisjoint(new)


def _tightened(theirs: Sequence[str], mine: Sequence[str], offset: int) -> tuple[int, int]:
    """Return the words of a window that a quotation is nearest to, without what is around."""
    cost = Levenshtein.distance
    starts = range(max(1, min(len(theirs), len(theirs) - len(mine) + MAX_TIGHTENED)))[
        :MAX_TIGHTENED
    ]
    start = min(starts, key=lambda at: cost(theirs[at:], mine))
    ends = range(len(theirs), start, -1)[:MAX_TIGHTENED]
    end = min(ends, key=lambda at: cost(theirs[start:at], mine), default=len(theirs))
    return offset + start, offset + end


def _window(own: Folded, folded: Folded) -> tuple[int, int] | None:
    """Return the words of a document that most shingles of a quotation point to."""
    size = len(own)
    width = min(SHINGLES[size >= LONG], max(1, size - 1))
    steps = max(1, (size - width) // MAX_SHINGLES)
    votes: Counter[int] = Counter()
    hits: list[tuple[int, int]] = []
    bucket = max(8, size // 2)
    for at in range(0, size - width + 1, steps):
        for letter in folded.occurrences(own.stretch(at, at + width), MAX_ANCHORS):
            begin = folded.number_at(letter) - at
            votes[begin // bucket] += 1
            hits.append((begin, at))
    if not votes:
        return None
    best = max(votes, key=lambda each: (votes[each] + votes[each + 1], -each))
    near = [begin for begin, _ in hits if best <= begin // bucket <= best + 1]
    first = max(0, min(near) - SLACK)
    last = min(len(folded), max(near) + size + SLACK)
    return (first, min(last, first + 3 * size + 2 * SLACK + 60)) if first < last else None
