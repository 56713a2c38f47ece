"""The short answer: which words of which source, or yes or no, and how sure that is.

The best windows of the sources are read together with the question, one pass each
(``search/cross_encoder.py``). Each gives its best stretch of words; what the reader says of it, its
hit and the words that it shares with the question decide between them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING

import numpy as np

from pincite.answer.polarity import decided, yes_or_no
from pincite.answer.quotes import ConfidenceModel, QuoteCandidate
from pincite.answer.reckoning import reckoned, said_choice
from pincite.answer.sentences import row_shown
from pincite.answer.values import Source
from pincite.answer.wanted import Wanted
from pincite.answer.windows import LEADS, ReadingWindow, WindowPiece, document_span, windows_of
from pincite.index.lexical import Bm25
from pincite.index.tokens import Analyzer
from pincite.model.markup import plain
from pincite.model.sentences import begins_item
from pincite.model.tables import cell_at
from pincite.model.types import Span
from pincite.search.passages import Passage
from pincite.search.query import ParsedQuery
from pincite.search.reader import IndexReader
from pincite.store.files import Array

if TYPE_CHECKING:
    from pincite.search.cross_encoder import CrossEncoder, PassageReading

# So many windows are read: each takes some ten milliseconds.
READ = 14
# What the hit and shared words are worth beside each other when windows are chosen, and beside
# what the reader says (logits) when they are compared.
CHOOSE_WORDS = 1.0
ANSWERS, PLACE, HIT, WORDS = 1.0, 0.25, 2.0, 2.0
CELL = 3.0  # logits of a cell whose row and head have all the question's words
DEFINES = 4.0  # what a piece that says what a term means is worth to who asks for it
UNDECIDED = -3.0  # the likelihood of yes or no by what a clause says of what is, as a logarithm
DECIDES = 4.0  # logits of a clause that has all the words of a question for yes or no
MIN_DECIDING = 5  # tokens of a sentence or row that says yes or no
RECKONED = 4.0  # what a figure that is made of the right cells is worth, as a logarithm
LONGEST = 40  # tokens of a short answer
MAX_TOLD_CHARS = 400  # of a sentence that is a short answer as a whole
MAX_DOCUMENT_CHARS = 2_000_000  # in which the question's names are looked for
MAX_DIFFERENT_WORDS = 60  # of a question that are looked for there
# Words of questions that documents need not have.
SAYS_LITTLE = frozenset(
    ("often", "approxim", "usual", "exact", "current", "actual", "typic", "long")
)
GUESSED = 0.5  # what a word is worth that one without a home was taken for
TINY = -30.0  # the logarithm of what is impossible
_NAME = re.compile(r"(?<=[\w,;:'’\"”)] )[\"“(]?([A-Z][\w&.'’-]*\w)")  # a capital inside a sentence
MAX_AHEAD = 4.0  # in score, of the best window before those of other documents
AGREEING = 4  # windows behind the best that may say the same
_WORD = re.compile(r"\w+")
_OWNS = re.compile(r"['’]s?$")
_FORMULA = re.compile(r"\$(?=[^$\n]{0,200}[\\=^_{])[^$\n]{1,200}(?<!\\)\$")
_OF_FIGURE = re.compile(r"\d")
_BEFORE = re.compile(r"(?:\\?[$€£¥~<>≥≤±+-] ?){1,9}$|\d[\d.,]{0,40}$")
_NAME_BEFORE = re.compile(r"(?<=[a-z,] )(?:[A-Z][a-z][\w&’'.-]* ){1,3}$")
_UNIT_BEHIND = re.compile(
    r"[\d.,]*\d|\s?(?:\\?%|°\s?[CF]?\b)"
    r"|[ -](?:percent|per cent|hundred|thousand|million|billion|trillion|euros|dollars|[kMG]?Hz"
    r"|[kM]?[WVA]|[kcm]?m|k?g|mg|ml|[mnµ]s)\b"
)
_CLOSES = re.compile(r"[^()\n]{0,60}\)")
# That these documents answer, and that the short answer is right, of what is known when it is given
# (bench/abstention.py --fit). The former decides whether to answer, the latter is told.
HERE = ConfidenceModel(
    {
        "answers": 0.58,
        "document": 1.75,
        "hit": 0.51,
        "names": 1.53,
        "rival": 0.38,
        "words": 1.58,
    },
    -5.21,
)
RIGHT = ConfidenceModel(
    {
        "agree": 0.81,
        "answers": 0.42,
        "document": 1.25,
        "hit": 0.11,
        "length": -0.69,
        "names": 0.41,
        "place": 0.57,
        "polar": 1.86,
        "rival": 0.17,
        "row": -0.59,
        "said": 1.01,
        "words": -1.07,
    },
    -0.99,
)


@dataclass(frozen=True, slots=True)
class ShortAnswer:
    """A few words that answer."""

    text: str
    piece: WindowPiece  # the sentence or cell that they stand in, or that decides
    spans: tuple[Span, ...]  # none for yes and no
    place: float  # how likely they are those that answer: a logarithm
    leans_on: str = ""  # what has to speak of the question: a row and head, a deciding clause
    calculation: str = ""  # of a figure that stands nowhere


@dataclass(frozen=True, slots=True)
class WindowAnswer:
    """What one window says to a question."""

    window: ReadingWindow
    short: ShortAnswer
    score: float  # by which windows compare
    features: Mapping[str, float]

    @property
    def is_here(self) -> float:
        """How probable it is that these documents answer the question."""
        return HERE.probability(self.features)

    @property
    def confidence(self) -> float:
        """How probable it is that the short answer is right."""
        return RIGHT.probability(self.features)

    @property
    def candidate(self) -> QuoteCandidate:
        """What is quoted for it."""
        source, unit = self.window.source, self.short.piece.unit
        text = source.text[unit.start : unit.end]
        shown = row_shown(source.text, unit) if unit.kind == "row" else text
        span = document_span(source, unit.start, unit.end) or self.short.piece.span
        share = self.features["words"]
        # A further one is quoted where it is nearly as good: by a quarter of a logit.
        likely = math.exp(max(TINY, self.score) / 4)
        return QuoteCandidate(source, unit, span, shown, share, 0.0, likely)


class AnswerReader:
    """Reads sources; keeps nothing between questions."""

    def __init__(self, index: IndexReader, model: CrossEncoder) -> None:
        self._index = index
        self._model = model

    def read(
        self, query: ParsedQuery, passages: Sequence[Passage], sources: Sequence[Source]
    ) -> list[WindowAnswer]:
        """Return what the most promising windows say, the best first."""
        chosen = self._chosen(query, passages, sources)
        read = self._model.read(query.corrected, [(w.heading, w.text) for w, _ in chosen])
        asked = Wanted.by(query.text)
        found = []
        shares = self._shares(query)
        for (window, hit), reading in zip(chosen, read, strict=True):
            analyzer = self._index.opened.analyzer_of(window.source.span.doc_id)
            share = partial(_share, shares, analyzer)
            short = short_answer(window, reading, asked, share)
            if short is None:
                continue
            said = f"{window.heading} {short.leans_on or window.text}"
            words = share(said)  # what else stands in the window is of something else
            known = {"answers": reading.answers, "place": short.place, "hit": hit, "words": words}
            unit = short.piece.unit
            known["said"] = share(window.source.text[unit.start : unit.end])
            known |= {"polar": float(asked.is_polar), "row": float(short.piece.row >= 0)}
            known |= {"document": 1.0, "names": 1.0}  # looked up for the best one alone
            score = ANSWERS * reading.answers + PLACE * short.place + HIT * hit + WORDS * words
            if asked.term and asked.is_defined(window, short.piece):
                score += DEFINES
            found.append(WindowAnswer(window, short, score, known))
        found.sort(key=attrgetter("score"), reverse=True)
        if found:
            more = {**_beside(found), **self._about(query, found[0])}
            more["length"] = math.log(max(1, len(query.content_words)))
            found[0] = replace(found[0], features={**found[0].features, **more})
        return found

    def _about(self, query: ParsedQuery, best: WindowAnswer) -> dict[str, float]:
        """Return how much of a question's words, and of its names, the whole document has.

        Another contract or report says the same things, but of somebody else. A document that the
        asker chose needs no name.
        """
        if query.filters.documents or query.filters.pages:
            return {}
        source = best.window.source
        text = self._index.snapshot.text(source.span.doc_id)[:MAX_DOCUMENT_CHARS]
        text = f"{source.title} {text}".lower()
        analyzer = self._index.opened.analyzer_of(source.span.doc_id)
        rarest = self._rarest
        words = [written.strip("?!.,;:\"'“”’()").lower() for written in query.content_words]
        has: dict[str, float] = {}
        worth: dict[str, float] = {}
        for word in [*dict.fromkeys(words)][:MAX_DIFFERENT_WORDS]:
            terms = [term for term in analyzer.terms(word) if term not in SAYS_LITTLE]
            worth[word] = sum(query.weights.get(term) or rarest for term in terms)
            begins = re.compile(rf"(?<!\w){re.escape(word[: max(4, len(word) - 3)])}")
            has[word] = float(begins.search(text) is not None)
        words = [word for word in words if word in has]
        names = _NAME.findall(query.text)[:MAX_DIFFERENT_WORDS]
        return {
            "document": _average([has[w] for w in words], [worth[w] for w in words]),
            "names": sum(n.lower() in text for n in names) / len(names) if names else 1.0,
        }

    @property
    def _rarest(self) -> float:
        """What a word is worth that no document has: as much as one that stands once."""
        return Bm25().idf(1, self._index.opened.lexical.size)

    def _shares(self, query: ParsedQuery) -> dict[str, float]:
        """Return the part of what a question asks about that each of its terms is.

        Words that no document has are asked about too; what they were corrected to is a guess.
        """
        rarest = self._rarest
        worth = {
            term: weight or rarest
            for term, weight in query.content_weights.items()
            if weight or term not in SAYS_LITTLE
        }
        analyzer = self._index.opened.analyzer
        for name in self._names_chosen(query):
            for term in analyzer.terms(name):
                worth.pop(term, None)
        total = sum(worth.values()) or 1.0
        guessed = {term for word in query.corrections.values() for term in analyzer.word(word)}
        return {
            term: weight * (GUESSED if term in guessed else 1.0) / total
            for term, weight in worth.items()
        }

    def _names_chosen(self, query: ParsedQuery) -> list[str]:
        """Return the names that the one document which the asker chose need not say: its own."""
        chosen = query.filters.documents
        if len(chosen) != 1 or self._index.snapshot.meta(chosen[0]) is None:
            return []
        text = self._index.snapshot.text(chosen[0])[:MAX_DOCUMENT_CHARS].lower()
        names = (_OWNS.sub("", name) for name in _NAME.findall(query.text)[:MAX_DIFFERENT_WORDS])
        return [name for name in names if name.lower() not in text]

    def _chosen(
        self, query: ParsedQuery, passages: Sequence[Passage], sources: Sequence[Source]
    ) -> list[tuple[ReadingWindow, float]]:
        """Return the windows to read, each with what its hit is worth."""
        shares = self._shares(query)
        by_chunk = {passage.chunk.id: passage for passage in passages}
        top = max((p.hit.score for p in passages), default=1.0) or 1.0
        last = min((p.hit.score for p in passages), default=0.0)
        found: list[tuple[ReadingWindow, float, float]] = []
        for source in sources:
            passage = by_chunk.get(source.chunk_id)
            context = passage.chunk.context if passage else ""
            heading = " ".join((context or " › ".join(source.path[1:] or source.path)).split())
            hit = (passage.hit.score if passage else last) / top
            analyzer = self._index.opened.analyzer_of(source.span.doc_id)
            for window in windows_of(source, heading):
                share = _share(shares, analyzer, f"{window.heading} {window.text}")
                found.append((window, hit, share))
        found.sort(key=lambda each: -(each[1] + CHOOSE_WORDS * each[2]))
        return [(window, hit) for window, hit, _ in found[:READ]]


def _average(values: Sequence[float], weights: Sequence[float]) -> float:
    return float(np.average(values, weights=weights)) if sum(weights) else 1.0


def _beside(found: Sequence[WindowAnswer]) -> dict[str, float]:
    """Return how much better the best window is than those of other documents, and who agrees."""
    best = found[0]
    home = best.window.source.span.doc_id
    others = (each.score for each in found if each.window.source.span.doc_id != home)
    rival = best.score - next(others, -math.inf)
    words = {*_WORD.findall(best.short.text.lower())}
    same = [
        2 * len(words.intersection(_WORD.findall(each.short.text.lower()))) >= len(words) > 0
        for each in found[1 : 1 + AGREEING]
    ]
    return {
        "rival": max(-1.0, min(MAX_AHEAD, rival)),
        "agree": sum(same) / len(same) if same else 0.0,
    }


def _share(shares: Mapping[str, float], analyzer: Analyzer, words: str) -> float:
    """Return how much of what a question asks about some words have."""
    terms = {*analyzer.terms(words)}
    return sum(part for term, part in shares.items() if term in terms)


def short_answer(
    window: ReadingWindow,
    reading: PassageReading,
    asked: Wanted,
    share: Callable[[str], float],
) -> ShortAnswer | None:
    """Return the short answer of a window; None if it has nothing that could be one.

    ``share`` tells how much of the question some words say.
    """
    if asked.reckons and (found := reckoned(asked.question, asked.reckons, window, share)):
        spans = tuple(cell.span for cell in found.cells)
        return ShortAnswer(
            plain(found.text), found.piece, spans, RECKONED, found.leans_on, found.calculation
        )
    if asked.is_polar:
        return _decision(window, reading, asked, share)
    pieces = window.pieces
    owner = owners(pieces, reading)
    is_open = np.array([asked.allows(piece) and asked.fits(window, piece) for piece in pieces])
    if asked.term:  # who asks what a word means is answered where that is said
        defines = np.array([asked.is_defined(window, piece) for piece in pieces])
        is_open = defines if defines.any() else is_open
    tokens = np.flatnonzero((owner >= 0) & is_open[owner])
    if not len(tokens):
        return None
    # Rows and heads that have the question's words outweigh what a small model makes of them.
    named = np.array([CELL * share(p.about) if p.about else 0.0 for p in pieces])[owner[tokens]]
    first, last, place = best_stretch(
        _log_softmax(reading.places[tokens, 0] + named),
        _log_softmax(reading.places[tokens, 1] + named),
        owner[tokens],
    )
    piece = pieces[owner[tokens[first]]]
    if piece.column and piece.table:
        cell = cell_at(piece.table, piece.row, piece.column)
        return ShortAnswer(cell.shown, piece, (piece.span,), place, piece.about)
    if asked.is_several and (lead := _lead_in(window, piece)):
        return _items(window, lead, place)
    start, end = reading.offsets[tokens[first]][0], reading.offsets[tokens[last]][1]
    if asked.is_told and piece.row < 0 and piece.end - piece.start <= MAX_TOLD_CHARS:
        start, end = piece.start, piece.end
    if asked.term and asked.is_defined(window, piece):
        start, end = piece.start + asked.meaning(window, piece), piece.end
    start, end = whole_words(window.text, start, end, (piece.start, piece.end))
    words = window.text[start:end].rstrip(" \n,;:")
    at = piece.span.start + start - piece.start
    span = Span(piece.span.doc_id, at, at + len(words))
    return ShortAnswer(plain(words), piece, (span,), place)


def _decision(
    window: ReadingWindow, reading: PassageReading, asked: Wanted, share: Callable[[str], float]
) -> ShortAnswer | None:
    """Return yes or no, or the one of two directions that a question names, by what decides."""
    decides = _evidence(window, reading, share)
    if decides is None:
        return None
    clause = _clause(window, decides)
    if asked.reckons == "choice":  # neither yes nor no says which
        chosen = said_choice(asked.question, clause)
        return ShortAnswer(chosen, decides, (), 0.0, clause) if chosen else None
    # A clause that neither forbids, permits nor requires decides less.
    place = 0.0 if decided(asked.question, clause) else UNDECIDED
    return ShortAnswer(yes_or_no(asked.question, clause), decides, (), place, clause)


def whole_words(text: str, start: int, end: int, within: tuple[int, int]) -> tuple[int, int]:
    """Return a stretch with what belongs to its first and last words: units, names, brackets.

    >>> text = "in Storm Beryl (2012) it cost $1.3 million"
    >>> [text[slice(*whole_words(text, *at, (0, 42)))] for at in ((9, 14), (16, 21), (31, 34))]
    ['Storm Beryl', '2012', '$1.3 million']
    """
    low, high = within
    for sign in _FORMULA.finditer(text, low, high):  # a formula is said as a whole
        if sign.start() < end and start < sign.end():
            start, end = min(start, sign.start()), max(end, sign.end())
    before = _BEFORE.search(text, low, start)
    if before and _OF_FIGURE.match(text, start, high):
        start = before.start()
    if text[start : start + 1].isupper() and (name := _NAME_BEFORE.search(text, low, start)):
        start = name.start()
    if text[end - 1 : end].isdigit() and (unit := _UNIT_BEHIND.match(text, end, high)):
        end = unit.end()
    opened, closed = text.count("(", start, end), text.count(")", start, end)
    if closed == opened + 1 and text[end - 1] == ")":
        end -= 1
    elif opened == closed + 1 and (bracket := _CLOSES.match(text, end, high)):
        end = bracket.end()
    return start, end


def _items(window: ReadingWindow, lead: WindowPiece, place: float) -> ShortAnswer:
    """Return the items behind the words that lead into them, as one answer."""
    items = []
    for piece in window.pieces:
        if piece.start > lead.end:
            if not _is_item(window, piece):
                break
            items.append(piece)
    words = (plain(window.text[p.start : p.end].rstrip(" ,;.")) for p in items)
    return ShortAnswer("; ".join(words), lead, tuple(p.span for p in items), place)


def _is_item(window: ReadingWindow, piece: WindowPiece) -> bool:
    return piece.row < 0 and begins_item(window.source.text[piece.unit.start : piece.unit.end])


def _lead_in(window: ReadingWindow, item: WindowPiece) -> WindowPiece | None:
    """Return the piece that leads into the list that another one is an item of."""
    if not _is_item(window, item):
        return None
    before = [p for p in window.pieces if p.end <= item.start and not _is_item(window, p)]
    is_lead = before and window.text[: before[-1].end].endswith(LEADS)
    return before[-1] if is_lead else None


def _open_heading(window: ReadingWindow) -> str:
    """Return the words above a window that it completes; headings that are whole say nothing."""
    return window.heading if window.heading.endswith(LEADS) else ""


def owners(pieces: Sequence[WindowPiece], reading: PassageReading) -> Array:
    """Return the number of the piece that each token stands in; -1 for one in none."""
    starts = np.array([piece.start for piece in pieces])
    ends = np.array([piece.end for piece in pieces])
    places = np.array(reading.offsets, dtype=np.int64).reshape(-1, 2)
    found = np.searchsorted(starts, places[:, 0], side="right") - 1
    inside = (found >= 0) & (places[:, 1] <= ends[found]) & (places[:, 1] > places[:, 0])
    return np.where(inside, found, -1)


def best_stretch(starts: Array, ends: Array, owner: Array) -> tuple[int, int, float]:
    """Return the likeliest stretch within one piece: its first token, its last, its likelihood.

    >>> best_stretch(np.log([0.9, 0.1]), np.log([0.1, 0.9]), np.array([0, 0]))[:2]
    (0, 1)
    """
    number = np.arange(len(starts))
    length = number[None, :] - number[:, None]
    fits = (length >= 0) & (length < LONGEST) & (owner[None, :] == owner[:, None])
    pair = np.where(fits, starts[:, None] + ends[None, :], -np.inf)
    first, last = divmod(int(pair.argmax()), len(starts))
    return first, last, max(TINY, float(pair[first, last]))


def _log_softmax(values: Array) -> Array:
    shifted = values - values.max()
    found: Array = shifted - np.log(np.exp(shifted).sum())
    return found


def _clause(window: ReadingWindow, piece: WindowPiece) -> str:
    """Return a sentence or row with the words that lead into it."""
    lead = _lead_in(window, piece)
    above = window.text[lead.start : lead.end] if lead else _open_heading(window)
    return f"{above} {window.text[piece.start : piece.end]}"


def _evidence(
    window: ReadingWindow, reading: PassageReading, share: Callable[[str], float]
) -> WindowPiece | None:
    """Return the sentence or row that decides: it has evidence, and speaks of what is asked."""
    worth: dict[int, list[float]] = {}
    for number, value in zip(owners(window.pieces, reading), reading.places[:, 2], strict=True):
        if number >= 0:
            worth.setdefault(int(number), []).append(float(value))
    # Words that lead into a list decide nothing without its items, and neither does a title.
    whole = [
        n
        for n in worth
        if not window.text[: window.pieces[n].end].endswith(":") and len(worth[n]) >= MIN_DECIDING
    ]

    def decides(number: int) -> float:
        speaks = share(_clause(window, window.pieces[number]))
        return float(np.mean(worth[number])) + DECIDES * speaks

    best = max(whole or worth, key=decides, default=None)
    return None if best is None else window.pieces[best]
