"""Whether a sentence holds in what it cites: words, numbers, units, polarity (check/support.py)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from pincite.answer.values import Citation, Sentence, Source, Verdict
from pincite.check.support import TextPart, TextParts, near, turned_round, wrong_numbers
from pincite.index.tokens import Analyzer
from pincite.model.locators import locator_key, mention_spans
from pincite.model.units import names, quantities

# A sentence that shares fewer of its content words with what it cites is about something else.
MIN_SHARED = 0.5
# Fewer content words than that claim nothing.
MIN_WORDS = 3
MIN_QUOTED_CHARS = 12
MAX_SENTENCE_CHARS = 4000
_QUOTED = re.compile(r"“([^”]+)”|\"([^\"]+)\"|«([^»]+)»|„([^“]+)“")
_LABELS = re.compile(r"\([0-9A-Za-z]{1,5}\)")
_FOLDED = str.maketrans({"“": '"', "”": '"', "‘": "'", "’": "'", "–": "-", "—": "-", "\u00a0": " "})


class Verifier:
    """Checks the sentences of one answer against its sources; knows nothing else."""

    def __init__(self, sources: Sequence[Source], analyzer: Analyzer) -> None:
        self.sources: Mapping[int, Source] = {source.number: source for source in sources}
        self._texts = TextParts(analyzer)

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

    def is_shown(self, sentence: Sentence) -> bool:
        """Return whether a sentence is shown where nothing is that no source supports.

        Without a source it may say "In short:", and claim nothing: sources that give orders are
        obeyed in such words.
        """
        if sentence.verdict != "uncited":
            return sentence.verdict == "supported"
        return len(self._texts.content(sentence.text)) < MIN_WORDS

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
            for part in self._texts.of(source.text)
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
        words, parts = self._texts.content(text), self._near(text, cited)
        for number in wrong_numbers(bare, parts):
            yield f"{_numbers(cited)} does not say {number}"
        if reason := turned_round(bare, words, parts):
            yield f"it says the opposite of {_numbers(cited)}: {reason}"
        said = {name for s in cited for name in names(f"{s.text} {s.locator} {' '.join(s.path)}")}
        for name in names(bare):
            if name not in said:
                yield f"{_numbers(cited)} does not say {name}"

    def _few_words(self, text: str, cited: Sequence[Source]) -> Iterator[str]:
        words = self._texts.content(text)
        if len(words) < MIN_WORDS:
            return
        said = frozenset[str]().union(*(self._words_of(source) for source in cited))
        if len(words & said) < MIN_SHARED * len(words):
            yield f"few of its words stand in {_numbers(cited)}"

    def _near(self, text: str, cited: Sequence[Source]) -> list[TextPart]:
        every = [part for source in cited for part in self._texts.of(source.text)]
        return near(self._texts.content(text), every)

    def _words_of(self, source: Source) -> frozenset[str]:
        around = self._texts.content(" ".join((source.locator, source.title, *source.path)))
        return around.union(*(part.terms for part in self._texts.of(source.text)))

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


def _quotes(text: str) -> list[str]:
    found = (next(filter(None, groups)) for groups in _QUOTED.findall(text))
    return [quote for quote in found if len(quote) >= MIN_QUOTED_CHARS]


def _folded(text: str) -> str:
    return " ".join(text.translate(_FOLDED).casefold().split())


def _numbers(sources: Sequence[Source]) -> str:
    return "".join(f"[{source.number}]" for source in sources)
