"""Summaries made of a text's own sentences: no model, no list of words, any language.

A sentence is worth the mean weight of its words, where a word weighs more the more often the text
uses it, short words weigh nothing, and what stands earlier counts more (Luhn 1958, Edmundson 1969).
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator
from itertools import islice, pairwise

from pincite.model.sentences import sentence_ends
from pincite.model.types import Pages

# Longer texts are judged by their beginning: a summary of more would be no summary.
MAX_CHARS = 100_000
MAX_SENTENCES = 400
# So many different words make a full sentence; two say little.
FULL = 8
_STOPS = tuple(".!?…。！？")
# Words shorter than this are mostly grammar, in all languages written with letters.
_WORD = re.compile(r"[^\W\d_]{4,}")
# Scripts without spaces: pairs of neighbouring signs are as good as words.
_SIGNS = re.compile(r"(?=([\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]{2}))")
# Headings, tables, code, rules and images are no sentences; list marks are no part of one.
_LINE = re.compile(r"[^\n\f]*[\n\f]?")
_SKIPPED = re.compile(r"[ \t]*+(?:#{1,6} |\||```|~~~|!\[|[-=*_]{3,}\s*$|\s*$)")
_MARK = re.compile(r"[ \t]*(?:>[ \t]*)?(?:[-*+•]|\(?[0-9A-Za-z]{1,3}[.)])[ \t]+|[ \t]*>[ \t]*")


def summarise(text: str, sentences: int = 2) -> str:
    """Return the sentences that say most about a text, word for word and in their order.

    >>> summarise("Ladders are tested. It rained. Ladders are tested on ladders' rungs.", 1)
    'Ladders are tested.'
    """
    found = list(islice(_sentences(text[:MAX_CHARS]), MAX_SENTENCES))
    if sentences < 1:
        return ""
    if not found:  # the first line, without its marks
        lines = (line.strip(" \t#|*_-") for line in text.splitlines())
        return next((line for line in lines if any(c.isalpha() for c in line)), "")
    counts = Counter(word for sentence in found for word in _words(sentence))
    scores = [_worth(sentence, counts, place) for place, sentence in enumerate(found)]
    best = sorted(range(len(found)), key=lambda place: (-scores[place], place))[:sentences]
    return " ".join(found[place] for place in sorted(best))


def page_summaries(text: str, pages: Pages, sentences: int = 2) -> dict[int, str]:
    """Return a summary of every page that has words, by the page's number."""
    found: dict[int, str] = {}
    spans = pairwise([*pages.starts, len(text)])
    for (start, end), label in zip(spans, pages.numbers, strict=True):
        if summary := summarise(text[start:end], sentences):
            found.setdefault(label, summary)
    return found


def _worth(sentence: str, counts: Counter[str], place: int) -> float:
    """Return a sentence's score: mean weight of its words, its length, its end and its place."""
    words = set(_words(sentence))
    if not words:
        return 0.0
    weight = sum(math.log1p(counts[word]) for word in words) / len(words)
    is_full = min(1.0, len(words) / FULL)
    is_ended = 1.0 if sentence.rstrip('"”’»)]*_」』）')[-1:] in _STOPS else 0.3  # else a label
    return weight * is_full * is_ended * (1 + 1 / (1 + place))


def _words(sentence: str) -> Iterator[str]:
    for match in _WORD.finditer(sentence.casefold()):
        signs = _SIGNS.findall(match.group())
        yield from signs or [match.group()]


def _sentences(text: str) -> Iterator[str]:
    """Yield the sentences of the prose in a text, each as it stands there."""
    for start, end in _prose(text):
        for stop in sentence_ends(text, start, end):
            yield from _kept(text[start:stop])
            start = stop
        yield from _kept(text[start:end])


def _prose(text: str) -> Iterator[tuple[int, int]]:
    """Yield paragraphs and items of lists, without their marks."""
    start = end = 0
    for line in _LINE.finditer(text):
        mark = _MARK.match(text, line.start(), line.end())
        is_skipped = bool(_SKIPPED.match(line.group()))
        if is_skipped or mark:
            yield start, end
            start = mark.end() if mark and not is_skipped else line.end()
        end = max(start, line.end())
    yield start, end


def _kept(sentence: str) -> Iterator[str]:
    if any(character.isalpha() for character in sentence):
        yield sentence.strip()
