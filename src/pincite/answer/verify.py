"""Whether a sentence holds in what it cites: words, numbers, units."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from pincite.answer.values import Citation, Sentence, Source, Verdict
from pincite.index.tokens import Analyzer
from pincite.model.locators import locator_key, mention_spans
from pincite.model.sentences import units
from pincite.model.tables import parse_table, unit_of
from pincite.model.units import Quantity, kind_of, names, quantities

# A sentence that shares fewer of its content words with what it cites is about something else.
MIN_SHARED = 0.5
# A fact has to stand in a unit that shares at least this much of what the best unit shares.
NEAR_SHARE = 0.5
# A unit of which the sentence has this share of words is taken over, however short it is.
TAKEN_OVER = 0.8
# Fewer content words than that claim nothing.
MIN_WORDS = 3
MIN_QUOTED_CHARS = 12
MAX_SENTENCE_CHARS = 4000
_QUOTED = re.compile(r"“([^”]+)”|\"([^\"]+)\"|«([^»]+)»|„([^“]+)“")
_LABELS = re.compile(r"\([0-9A-Za-z]{1,5}\)")
_FOLDED = str.maketrans({"“": '"', "”": '"', "‘": "'", "’": "'", "–": "-", "—": "-", "\u00a0": " "})
REMEMBERED_TEXTS = 64


@dataclass(frozen=True, slots=True)
class _Part:
    """One unit of a source: its words, its numbers, and of a row the words of its first cell."""

    terms: frozenset[str]
    numbers: tuple[Quantity, ...]
    name: frozenset[str] | None = None


class Verifier:
    """Checks the sentences of one answer against its sources; knows nothing else."""

    def __init__(self, sources: Sequence[Source], analyzer: Analyzer) -> None:
        self.sources: Mapping[int, Source] = {source.number: source for source in sources}
        self._analyzer = analyzer
        self._parts = lru_cache(maxsize=REMEMBERED_TEXTS)(self._find_parts)

    def check(self, text: str, cited: Sequence[int]) -> tuple[Sentence, list[Citation]]:
        """Return the sentence with the citations that hold, and those that were rejected."""
        text = text[:MAX_SENTENCE_CHARS]
        cited = list(dict.fromkeys(cited))
        rejected = [self._unknown(number) for number in cited if number not in self.sources]
        known = [self.sources[number] for number in cited if number in self.sources]
        if not known:
            return self._uncited(text, rejected), rejected
        problems = self._problems(text, known)
        if problems:
            rejected += [self._citation(each, ok=False, reason=problems[0]) for each in known]
            return Sentence(text, (), "unsupported", tuple(problems)), rejected
        held = []
        for source in known:
            # Each one has to say something of it, not only all of them together.
            if len(known) > 1 and (own := self._foreign(text, source)):
                rejected.append(self._citation(source, ok=False, reason=own))
            else:
                held.append(self._quoting(text, source))
        return Sentence(text, tuple(held), "supported"), rejected

    def _unknown(self, number: int) -> Citation:
        return Citation(number, "", ok=False, reason=f"there is no source [{number}]")

    def _uncited(self, text: str, rejected: Sequence[Citation]) -> Sentence:
        """Return a sentence without a source: what it claims of facts must stand in some source."""
        if rejected:
            return Sentence(text, (), "unsupported", tuple(each.reason for each in rejected))
        problems = [*self._wrong_facts(text, list(self.sources.values()))]
        verdict: Verdict = "unsupported" if problems else "uncited"
        return Sentence(text, (), verdict, tuple(problems))

    def _problems(self, text: str, cited: Sequence[Source]) -> list[str]:
        return [*self._wrong_facts(text, cited), *self._few_words(text, cited)]

    def _foreign(self, text: str, source: Source) -> str:
        """Return why one of several sources says nothing of a sentence; empty if it does."""
        if not list(self._few_words(text, [source])):
            return ""
        shared = any(
            q.same(other)
            for q in quantities(text)
            for part in self._parts(source)
            for other in part.numbers
        )
        return "" if shared else f"[{source.number}] has little to do with the sentence"

    def _wrong_facts(self, text: str, cited: Sequence[Source]) -> Iterator[str]:
        bare = text
        for key, start, end in mention_spans(text):
            bare = f"{bare[:start]}{' ' * (end - start)}{bare[end:]}"
            if not any(_has_place(source, key) for source in cited):
                yield f"{_numbers(cited)} does not name {text[start:end].strip()}"
        for quote in _quotes(text):
            if not any(_folded(quote) in _folded(source.text) for source in cited):
                yield f"{_numbers(cited)} does not say “{quote}”"
        near = self._near(text, cited)
        for each in quantities(bare):
            if not any(each.same(other) for part in near for other in part.numbers):
                yield f"{_numbers(cited)} does not say {bare[each.start : each.end].strip()}"
        said = {name for s in cited for name in names(f"{s.text} {s.locator} {' '.join(s.path)}")}
        for name in names(bare):
            if name not in said:
                yield f"{_numbers(cited)} does not say {name}"

    def _few_words(self, text: str, cited: Sequence[Source]) -> Iterator[str]:
        words = self._content(text)
        if len(words) < MIN_WORDS:
            return
        said = frozenset[str]().union(*(self._words_of(source) for source in cited))
        if len(words & said) < MIN_SHARED * len(words):
            yield f"few of its words stand in {_numbers(cited)}"

    def _near(self, text: str, cited: Sequence[Source]) -> list[_Part]:
        """Return the units of the sources that are about what the sentence is about.

        These are units that share about as many words with it as any, and short ones that it takes
        over. Rows of a table differ in little: only those that it names count, or the nearest.
        """
        words = self._content(text)
        every = [part for source in cited for part in self._parts(source)]
        parts = [part for part in every if part.name is None]
        least = NEAR_SHARE * max((len(words & part.terms) for part in parts), default=0)
        near = [part for part in parts if _is_near(part, words, least)]
        rows = [part for part in every if part.name is not None]
        named = [part for part in rows if part.name and part.name <= words]
        most = max((len(words & part.terms) for part in rows), default=0)
        return near + (named or [part for part in rows if len(words & part.terms) == most])

    def _words_of(self, source: Source) -> frozenset[str]:
        around = self._content(" ".join((source.locator, source.title, *source.path)))
        return around.union(*(part.terms for part in self._parts(source)))

    def _content(self, text: str) -> frozenset[str]:
        terms = self._analyzer.terms(text)
        return frozenset(t for t in terms if t not in self._analyzer.function_terms)

    def _find_parts(self, source: Source) -> list[_Part]:
        """Return the units of a source."""
        found = []
        rows = dict(row_quantities(source.text))
        number = 0
        for unit in units(source.text):
            words = source.text[unit.start : unit.end]
            own = self._content(words)
            if unit.kind == "row":
                numbers = (*rows.get(number, ()), *quantities(words))
                number += 1
                name = self._content(words.strip("| ").partition("|")[0])
                found.append(_Part(own, numbers, name))
            else:
                found.append(_Part(own, tuple(quantities(words))))
        return found

    def _citation(self, source: Source, *, ok: bool, reason: str = "") -> Citation:
        page, label = source.page_at(None)
        return Citation(source.number, source.locator, page, ok=ok, reason=reason, page_label=label)

    def _quoting(self, text: str, source: Source) -> Citation:
        """Return a citation with the words that the sentence takes over, where they stand."""
        plain = self._citation(source, ok=True)
        for quote in (*_quotes(text), text):
            if span := source.find(quote):
                page, label = source.page_at(span)
                return replace(plain, quote=quote, span=span, page=page, page_label=label)
        return plain


def _has_place(source: Source, key: str) -> bool:
    """Return whether a source is, is in, has, or names the place with a key."""
    own = locator_key(source.locator)
    if own == key or own.startswith(f"{key}("):
        return True
    around = " ".join((source.title, *source.path, source.evidence))
    if any(key == name for name, _, _ in mention_spans(f"{around}\n{source.text}")):
        return True
    if key.startswith(f"{own}("):
        folded = f"\n{source.text.casefold()}"
        labels = _LABELS.findall(key[len(own) :])
        return all(label in folded or f"\n{label[1:-1]}." in folded for label in labels)
    return False


def _is_near(part: _Part, words: frozenset[str], least: float) -> bool:
    shared = len(words & part.terms)
    return shared >= least or (shared >= TAKEN_OVER * len(part.terms) and shared > 0)


def _quotes(text: str) -> list[str]:
    found = (next(filter(None, groups)) for groups in _QUOTED.findall(text))
    return [quote for quote in found if len(quote) >= MIN_QUOTED_CHARS]


def _folded(text: str) -> str:
    return " ".join(text.translate(_FOLDED).casefold().split())


def _numbers(sources: Sequence[Source]) -> str:
    return "".join(f"[{source.number}]" for source in sources)


def row_quantities(table_text: str) -> Iterator[tuple[int, list[Quantity]]]:
    """Yield for each row of a table its number and its numbers, in the units of their columns."""
    table = parse_table(table_text)
    if table is None:
        return
    kinds = [kind_of(unit_of(name)) for name in table.columns]
    for number, row in enumerate(table.rows):
        found = []
        for cell, column in zip(row, kinds, strict=False):
            for each in quantities(cell):
                if not each.kind and column:
                    each = Quantity(each.value * column.size, column.name, each.start, each.end)
                found.append(each)
        yield number, found
