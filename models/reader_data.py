"""Make the examples that the reader is trained on, from public sets with questions and answers.

    python models/reader_data.py DATA/training EXAMPLES.jsonl.gz [--seed 7] [--only squad,boolq]

An example is a question, a window of a document under its headings, and what the window says to
it: the words that answer, yes, no, or nothing. Windows without an answer come from the same
document, or from others as a search finds them, and share words with the question. Nothing here
reads a set that Pincite is measured on, nor one whose licence does not allow shipped weights. The
same seed gives the same examples.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

from pincite.model.sentences import units

Verdict = Literal["span", "yes", "no", "none"]
WINDOW_CHARS = 560
HELD_OUT = 40  # one document in so many is kept for looking at, never trained on
_WORD = re.compile(r"\w+")
_STOP = frozenset(
    re.findall(
        r"\w+",
        "a an and are as at be by did do does for from had has have how in is it many much of on "
        "or that the their there this to was were what when where which who whose why will with",
    )
)


@dataclass(frozen=True, slots=True)
class Example:
    """A question with one window; spans count the window's characters.

    ``spans`` are the ways to mark the answer, each of which is right; a window that answers with
    nothing short to mark has none. ``evidence`` is what a reader has to see to believe it.
    """

    source: str
    document: str  # examples of one document are all trained on, or none is
    question: str
    path: str
    passage: str
    verdict: Verdict
    spans: tuple[tuple[int, int], ...] = ()
    evidence: tuple[tuple[int, int], ...] = ()

    @property
    def is_held_out(self) -> bool:
        """Whether its document is one to look at."""
        digest = sha256(f"{self.source}/{self.document}".encode()).digest()
        return int.from_bytes(digest[:4], "big") % HELD_OUT == 0


@dataclass(frozen=True, slots=True)
class Window:
    """A stretch of a text that begins and ends with whole sentences or rows."""

    text: str
    start: int  # in the whole text

    def inside(self, spans: Sequence[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
        """Return those stretches of the text that lie in the window, counted from its start."""
        end = self.start + len(self.text)
        return tuple(
            (a - self.start, b - self.start) for a, b in spans if self.start <= a < b <= end
        )


def lines(file: Path) -> Iterator[dict[str, Any]]:
    """Yield the objects of a file with one JSON object a line."""
    with gzip.open(file, "rt", encoding="utf-8") as text:
        for line in text:
            yield json.loads(line)


def words_of(text: str) -> set[str]:
    """Return the words of a text that tell it from others."""
    return set(_WORD.findall(text.lower())) - _STOP


def windows(text: str, chars: int = WINDOW_CHARS) -> list[Window]:
    """Return a text in windows of whole sentences, one after the other."""
    found: list[Window] = []
    start = end = 0
    for unit in units(text):
        if end > start and unit.end - start > chars:
            found.append(Window(text[start:end], start))
            start = unit.start
        elif end == start:
            start = unit.start
        end = unit.end
    return [*found, Window(text[start:end], start)] if end > start else found


def window_around(
    text: str, span: tuple[int, int], chance: random.Random, chars: int = WINDOW_CHARS
) -> Window:
    """Return a window that holds a stretch of the text, which stands anywhere in it."""
    parts = units(text)
    inside = [n for n, unit in enumerate(parts) if unit.end > span[0] and unit.start < span[1]]
    if not inside:
        return Window(text[span[0] : span[1]], span[0])
    first, last = inside[0], inside[-1]
    while True:
        room = chars - (parts[last].end - parts[first].start)
        before = first > 0 and parts[first].start - parts[first - 1].start <= room
        after = last + 1 < len(parts) and parts[last + 1].end - parts[last].end <= room
        if not before and not after:
            start, end = min(parts[first].start, span[0]), max(parts[last].end, span[1])
            return Window(text[start:end], start)
        if before and (not after or chance.random() < 0.5):
            first -= 1
        else:
            last += 1


def rival(
    question: str, texts: Sequence[str], answers: Sequence[str], chance: random.Random
) -> str | None:
    """Return a text that looks like an answer and is none: one of the three with most words."""
    asked = words_of(question)
    fit = [t for t in texts if not any(answer.lower() in t.lower() for answer in answers)]
    fit.sort(key=lambda text: -len(asked & words_of(text)))
    return chance.choice(fit[:3]) if fit else None


def best_place(question: str, text: str, answer: str) -> tuple[int, int] | None:
    """Return where an answer stands in a text: in the sentence that shares most with the question.

    >>> text = "It began in 1973. The second one came in 1979, and 1973 was the first."
    >>> best_place("When did the second come?", text, "1973")
    (51, 55)
    """
    asked = words_of(question)
    pattern = re.compile(rf"(?<!\w){re.escape(answer)}(?!\w)")
    places = [match.span() for match in pattern.finditer(text)]
    if len(places) < 2:
        return places[0] if places else None
    sentences = units(text)

    def shared(place: tuple[int, int]) -> int:
        held = [s for s in sentences if s.start <= place[0] < s.end]
        return len(asked & words_of(text[held[0].start : held[0].end])) if held else 0

    return max(places, key=lambda place: (shared(place), -place[0]))


def sentence_of(text: str, span: tuple[int, int]) -> tuple[int, int]:
    """Return the sentence or row that holds a stretch of a text."""
    held = [s for s in units(text) if s.end > span[0] and s.start < span[1]]
    return (held[0].start, held[-1].end) if held else span


def made(folder: Path, seed: int, only: Sequence[str] = ()) -> Iterator[Example]:
    """Yield the examples of all sources, one after the other, then rivals of other documents."""
    import reader_claims
    import reader_tables
    import reader_texts
    from reader_rivals import rivals

    sources = {**reader_texts.SOURCES, **reader_claims.SOURCES, **reader_tables.SOURCES}
    kept: list[Example] = []
    for name, make in sources.items():
        if not only or name in only:
            for example in make(folder, random.Random(f"{seed} {name}")):
                kept.append(example)
                yield example
    yield from rivals(kept, seed)


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--only", default="", help="names of sources, with commas")
    options = parser.parse_args()
    counts: Counter[tuple[str, str]] = Counter()
    with gzip.open(options.output, "wt", encoding="utf-8", compresslevel=3) as file:
        for each in made(options.data, options.seed, list(filter(None, options.only.split(",")))):
            counts[each.source, each.verdict] += 1
            file.write(json.dumps(asdict(each), ensure_ascii=False) + "\n")
    for name in sorted({name for name, _ in counts}):
        row = {verdict: counts[name, verdict] for verdict in ("span", "yes", "no", "none")}
        print(f"{name:<18}", " ".join(f"{k} {v:>6,}" for k, v in row.items()), flush=True)
    print(f"{sum(counts.values()):,} examples")


if __name__ == "__main__":
    sys.modules["reader_data"] = sys.modules["__main__"]  # the sources import it by its name
    main()
