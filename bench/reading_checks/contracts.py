"""Sections of contracts as places, and locators that nobody made up (CUAD, as PDF and as text).

Documents: the 60 contracts of `cuad`, each as PDF and as text. Half of them, by the hash of their
names (`is_open`), were looked at while the reader was written, and one of the other half later
(`ALSO_OPEN`: all that its text missed was there); the others are only counted.

What a contract numbers is found here by other means than the reader's: every number that may open a
section, wherever it stands in the text, of which the longest run counts in which each is
the next after the one before (`numbered`). A section is found where a place has that number
and begins with the words that follow it in the text. The sections of 12 contracts of the other half
were read off by hand, and stand here as facts (`READ`).

A locator is made up where its last label does not stand at the start of its place, where a
parent's does not stand at the parent's start, where labels of one list do not follow each other,
or where the text's own numbers say that another section is meant.

Of FinanceBench's filings, six of each half (by the same hash): headings that are units, tables that
hang below the report of the auditors before them, and headings that are searched alone.
"""

from __future__ import annotations

import hashlib
import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from checks import Figure
from pincite.model.settings import IngestSettings
from pincite.model.types import Chunk, ParsedDocument
from pincite.read.load import parse

Number = tuple[int, ...]

WORDS = (
    "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
    "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
    "twenty",
)  # fmt: skip
OPENS = re.compile(
    r"(?:^|(?<=[.;:!?)\]”\"])|(?<=\s\s)|(?<=\n))[ \t]*"
    r"(?P<label>(?:(?P<word>ARTICLE|Article|SECTION|Section|Sec\.)[ \t]+(?:[–-] )?)?"
    r"(?P<number>[0-9]{1,2}(?:\.[0-9]{1,2}){0,3}|(?<=[eE] )[IVX]{1,6}\b|(?<=[eE] )(?i:"
    + "|".join(WORDS)
    + r")\b)(?P<end>[.:)]*))(?=(?P<after>[ \t]*[“\"(\[]?[A-Z][^\n]{0,80}|[ \t]*\n))"
)
SAMPLES = 200
ALSO_OPEN = "AULAMERICANUNITTRUST"
FILINGS = 6  # of each half: all 39 take many minutes
UNITS = re.compile(r"\W*(?:\w+ ){0,3}in (?:thousands|millions|billions)\b", re.IGNORECASE)
# Statements follow these reports and do not belong to them.
REPORT = re.compile(r"critical audit matter|report of (?:independent|management)", re.IGNORECASE)
PLACES = re.compile(r"(?P<section>[^(>]*?)(?P<items>(?:\([0-9A-Za-z.]{1,6}\))*)")

# Read off by hand: twelve of fourteen contracts that chance chose of the other half (the two
# longest, of 117,000 and 120,000 characters, were left out), by the first letters of their names.
# The first was looked at after its figures had been seen; chance chose the second in its place.
READ: dict[str, str] = {
    "AULAMERICANUNITTRUST": (
        "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 18 19 18.1 18.1.1 18.1.2 18.1.3 18.2 18.2.1 "
        "18.2.2 18.2.3 18.3 18.3.1 18.3.2 18.3.3 18.3.4"
    ),
    "DRAGONSYSTEMSINC_01_": "1 2 3 4 5 6 7 8 9 10 11 12 13 14",
    "CANOPETROLEUM_INC_12": "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21",
    "EuromediaHoldingsCor": (
        "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29"
    ),
    "FLOTEKINDUSTRIESINCC": (
        "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32"
    ),
    "KIROMICBIOPHARMA_INC": "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16",
    "NETGEAR_INC_04_21_20": "1 2 3 19",
    "PerformanceSportsBra": (
        "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31"
    ),
    "SPIENERGYCO_LTD_03_0": (
        "1 2 3 4 5 6 7 8 9 10 1.1 1.2 1.3 1.4 1.5 1.6 1.7 1.8 1.9 2.1 2.2 2.3 2.4 2.5 3.1 3.2 4.1 "
        "4.2 5.1 5.2 6.1 6.2 6.3 6.4 7.1 8.1 9.1 9.2 10.1 10.2 10.3 10.4 10.5 10.6 10.7 10.8 10.9 "
        "10.10 10.11 10.12 10.13 10.14 10.15"
    ),
    "TEARDROPGOLFCO_10_23": (
        "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30"
    ),
    "ULTRAGENYXPHARMACEUT": "1 2 3 4 5 6 7 8 9",
    "WOMENSGOLFUNLIMITEDI": "11.6 11.7",
    "WORLDWIDESTRATEGIESI": (
        "1 2 3 4 5 6 7 8 9 10 2.1 2.2 2.3 2.4 2.5 2.6 2.7 3.1 3.2 3.3 3.4 4.1 4.2 4.3 4.4 4.5 4.6 "
        "4.7 4.8 4.9 4.10 4.11 4.12 4.13 4.14 4.15 5.1 5.2 5.3 6.1 6.2 6.3 6.4 6.5 7.1 7.2 7.3 "
        "7.4 7.5 7.6 7.7 7.8 8.1 8.2 8.3 8.4 9.1 9.2 9.3 9.4 9.5 9.6 10.1 10.2 10.3 10.4 10.5 "
        "10.6 10.7 10.8 10.9 10.10 10.11 10.12 10.13 10.14 10.15 10.16"
    ),
}


@dataclass(frozen=True, slots=True)
class Numbered:
    """A section that a text numbers: its number, where it stands, and the letters behind it."""

    number: Number
    start: int
    words: str
    is_article: bool


def is_open(name: str) -> bool:
    """Return whether a contract belongs to the half that was looked at."""
    digest = hashlib.sha256(Path(name).stem.encode()).digest()
    return digest[0] % 2 == 0 or name.startswith(ALSO_OPEN)


def bare(text: str) -> str:
    """Return letters and digits alone, in lower case."""
    return re.sub(r"[^a-z0-9]+", "", text.lower())


def numbered(text: str) -> list[Numbered]:
    """Return the sections that a text numbers: articles, and the longest run of other numbers."""
    found: list[Numbered] = []
    for match in OPENS.finditer(text):
        word, number, end = (match["word"] or "").lower(), match["number"], match["end"]
        is_plain = not word and "." not in number
        behind = match["after"].strip()
        if is_plain and not end and not re.match(r"[A-Z’' ]{4}", behind):
            continue
        if not behind and not word:
            continue
        words = bare(text[match.end() : match.end() + 200])[:20]
        value = number_of(number)
        if value and words:
            found.append(Numbered(value, match.start("label"), words, word == "article"))
    found = without_contents(found)
    articles = longest([each for each in found if each.is_article])
    others = longest([each for each in found if not each.is_article])
    return sorted(articles + others, key=lambda each: each.start)


def without_contents(found: Sequence[Numbered]) -> list[Numbered]:
    """Return what was found without runs of four and more titles on end: a table of contents."""
    gaps = [after.start - each.start for each, after in pairwise(found)]
    close = [*(gap < 90 for gap in gaps), False][: len(found)]
    kept, run = [], []
    for each, is_close in zip(found, close, strict=True):
        run.append(each)
        if not is_close:
            kept += run if len(run) < 5 else []
            run = []
    return kept


def number_of(number: str) -> Number:
    """Return a number as integers, empty where it is none."""
    if number.lower() in WORDS:
        return (WORDS.index(number.lower()) + 1,)
    if number[0].isdigit():
        return tuple(int(part) for part in number.split("."))
    values = [{"I": 1, "V": 5, "X": 10}.get(letter, 0) for letter in number]
    after = [*values[1:], 0]
    return (sum(-a if a < b else a for a, b in zip(values, after, strict=True)),)


def longest(found: Sequence[Numbered]) -> list[Numbered]:
    """Return the longest run in which each number is the next after the one before."""
    best: dict[Number, tuple[int, tuple[Numbered, object] | None]] = {(): (0, None)}
    for each in found:
        before = [best[last] for last in best if is_next(last, each.number)]
        if before:
            length, trail = max(before, key=lambda item: item[0])
            # Of two runs as long the later one: numbers of a list come before the next section.
            if length + 1 >= best.get(each.number, (0, None))[0]:
                best[each.number] = (length + 1, (each, trail))
    trail: object = max(best.values(), key=lambda item: item[0])[1]
    run: list[Numbered] = []
    while isinstance(trail, tuple):
        run.append(trail[0])
        trail = trail[1]
    return run[::-1] if len(run) >= 3 else []


def is_next(last: Number, number: Number) -> bool:
    """Return whether a number may follow another; one may be left out."""
    if not last:
        return number in ((1,), (1, 1), (2,), (2, 1))
    if number[:-1] == last:
        return number[-1] == 1
    if len(number) == len(last) + 2 or len(number) > len(last):
        return len(number) == 2 and len(last) == 1 and number == (last[0] + 1, 1)
    head = last[: len(number)]
    steps = number[-1] - head[-1]
    if number[:-1] == head[:-1] and steps in (1, 2):
        return True
    return len(number) == 2 and len(last) >= 2 and number == (last[0] + 1, 1)


def read_one(file: Path) -> ParsedDocument:
    """Return a contract as the reader understands it."""
    return parse(file.read_bytes(), file.name, IngestSettings(profile="none"))


def own_number(chunk: Chunk) -> Number:
    """Return the number that a place is called by, as integers; empty for a name without one."""
    last = chunk.locator.rsplit(" > ", 1)[-1].removeprefix("Article ")
    item = re.search(r"\(([0-9]{1,2})\)$", last)  # "1." below a title without a number
    if item and not any(letter.isdigit() for letter in last[: item.start()]):
        return (int(item[1]),)
    if re.fullmatch(r"[0-9]{1,2}(?:\.[0-9]{1,2}){0,3}|[IVX]{1,6}", last):
        return number_of(last)
    return number_of(last) if last.lower() in WORDS else ()


def found_sections(gold: Sequence[Numbered], chunks: Sequence[Chunk]) -> list[Numbered]:
    """Return the sections for which there is a place of that number with those words."""
    places = {
        (own_number(chunk), bare(start_words(chunk))[:12])
        for chunk in chunks
        if chunk.kind in ("section", "clause")
    }
    return [each for each in gold if (each.number, each.words[:12]) in places]


def start_words(chunk: Chunk) -> str:
    """Return what follows the label of a place."""
    words = chunk.text[:200].lstrip("#* ")
    return re.sub(
        r"^(?:(?i:article|section|sec\.|§)\s*(?:[–-] )?)?(?:[0-9.]+|(?:[IVX]+|(?i:"
        + "|".join(WORDS)
        + r"))\b)[.:)]*",
        "",
        words,
    )


def made_up(document: ParsedDocument, gold: Sequence[Numbered], text: str) -> Iterator[str]:
    """Yield for each place with a locator what is wrong with it; empty where nothing is."""
    chunks = {chunk.id: chunk for chunk in document.chunks if chunk.kind in ("section", "clause")}
    letters, offsets = letters_of(text)
    twice = Counter(chunk.locator for chunk in chunks.values())
    for chunk in chunks.values():
        labels = PLACES.fullmatch(chunk.locator)
        is_item = chunk.kind == "clause" and labels is not None and labels["items"]
        if labels is None or not (is_item or own_number(chunk)):
            continue
        told = f"{chunk.locator}: {chunk.text[:50]!r}"
        fault = ""
        if not has_label(chunk):
            fault = "label is not at its start"
        elif twice[chunk.locator] > 1:
            fault = "two places are called so"
        elif not has_label(chunks.get(chunk.parent or "", chunk)):
            fault = "label of its parent is not at the parent's start"
        elif labels["items"]:
            section = section_at(gold, place_in(chunk, letters, offsets))
            named = own_section(labels["section"])
            numbers = {each.number for each in gold if not each.is_article}
            if section and named in numbers and named[: len(section)] != section:
                fault = f"stands in section {'.'.join(map(str, section))}"
        yield f"{fault}: {told}" if fault else ""


def own_section(name: str) -> Number:
    name = name.strip().removeprefix("Article ")
    return number_of(name) if re.fullmatch(r"[0-9]{1,2}(?:\.[0-9]{1,2}){0,3}", name) else ()


def has_label(chunk: Chunk) -> bool:
    """Return whether the last label of a locator, if it has one, stands at its place's start."""
    if chunk.kind == "section" and not own_number(chunk):
        return True  # called by its title
    item = re.search(r"\(([^()]+)\)$", chunk.locator)
    last = item[1] if item else chunk.locator.rsplit(" > ", 1)[-1].split()[-1]
    start = chunk.text[:60].lstrip("#*>\\_ ")
    if item:
        return re.match(rf"(?:\([^()]{{1,6}}\)\s*)*\(?{re.escape(last)}[).]", start) is not None
    return re.match(rf"(?:\S+\s+(?:[–-] )?)?{re.escape(last)}(?!\w)", start, re.I) is not None or (
        bare(last) in bare(start)
    )


def letters_of(text: str) -> tuple[str, list[int]]:
    """Return the letters and digits of a text with where each stands."""
    offsets = [at for at, letter in enumerate(text) if letter.isascii() and letter.isalnum()]
    return "".join(text[at] for at in offsets).lower(), offsets


def place_in(chunk: Chunk, letters: str, offsets: Sequence[int]) -> int:
    """Return where the text has the words of a place; -1 where it has them not once."""
    words = bare(chunk.text[:160])[:60]
    at = letters.find(words)
    if len(words) < 30 or at < 0 or letters.find(words, at + 1) >= 0:
        return -1
    return offsets[at]


def section_at(gold: Sequence[Numbered], offset: int) -> Number:
    """Return the number of the section in which an offset stands; empty before the first."""
    sections = [each for each in gold if not each.is_article]
    before = [each for each in sections if each.start <= offset + 2]
    # Behind the last section there may be exhibits with numbers of their own.
    return before[-1].number if offset >= 0 and before and before[-1] is not sections[-1] else ()


def run(data: Path) -> list[Figure]:
    """Return the figures, and print what fails among the places of the half that was looked at."""
    folder = data / "cuad"
    if not folder.is_dir():
        return [Figure("contracts", 0, note=f"{folder} is not there")]
    figures: list[Figure] = []
    files = sorted(folder.glob("txt/*.txt"))
    for half, members in (
        ("open half", [file for file in files if is_open(file.name)]),
        ("other half", [file for file in files if not is_open(file.name)]),
    ):
        for form in ("pdf", "txt"):
            figures += of_half(members, half, form)
    filings = sorted((data / "financebench" / "pdfs").glob("*.pdf"), key=lambda f: rank(f.stem))
    for half in ("open half", "other half"):
        members = [f for f in filings if is_open(f.name) == half.startswith("open")][:FILINGS]
        figures += of_filings(members, half)
    return figures


def rank(name: str) -> bytes:
    """Return what names are shuffled by."""
    return hashlib.sha256(name.encode()).digest()


def of_filings(files: Sequence[Path], half: str) -> list[Figure]:
    """Return what is wrong with the headings of some filings."""
    documents = [read_one(file) for file in files]
    chunks = [chunk for document in documents for chunk in document.chunks]
    sections = [chunk for chunk in chunks if chunk.kind == "section"]
    tables = [chunk for chunk in chunks if chunk.kind == "table"]
    units = sum(UNITS.match(chunk.title) is not None for chunk in sections)
    inverted = sum(any(REPORT.search(name) for name in chunk.path) for chunk in tables)
    alone = sum(map(heading_alone, documents))
    searched = sum(chunk.searched for chunk in chunks)
    return [
        Figure(f"units lines that are headings, filings, {half}", units, "0", len(sections)),
        Figure(f"tables below a report of auditors, filings, {half}", inverted, "", len(tables)),
        Figure(f"searched chunks that are a heading alone, filings, {half}", alone, "", searched),
    ]


def of_half(files: Sequence[Path], half: str, form: str) -> list[Figure]:
    """Return the figures of some contracts in one format."""
    right = total = read_right = read_total = alone = 0
    places: list[str] = []
    for file in files:
        text = file.read_text("utf-8", "replace")
        gold = numbered(text)
        document = read_one(file.parents[1] / form / f"{file.stem}.{form}")
        found = found_sections(gold, document.chunks)
        right, total = right + len(found), total + len(gold)
        if asked := READ.get(file.stem[:20], "").split():
            names = {".".join(map(str, own_number(chunk))) for chunk in document.chunks}
            read_right += len(names & set(asked))
            read_total += len(asked)
        places += [
            f"{file.stem[:20]} {told}" if told else "" for told in made_up(document, gold, text)
        ]
        alone += heading_alone(document)
    sample = random.Random(7).sample(places, min(SAMPLES, len(places)))
    wrong = [told for told in sample if told]
    if half.startswith("open"):
        print("\n".join(f"    {form} {told}" for told in wrong))
    asked = ">= .95" if half.startswith("other") else ""
    figures = [
        Figure(f"sections found, {form}, {half}", right / max(1, total), count=total),
        Figure(f"locators made up, {form}, {half}", len(wrong), "0", len(sample)),
        Figure(f"searched chunks that are a heading alone, {form}, {half}", alone),
    ]
    if read_total:
        name = f"sections read off by hand, {form}, {half}"
        figures.append(Figure(name, read_right / read_total, asked, read_total))
    return figures


def heading_alone(document: ParsedDocument) -> int:
    """Return how many searched chunks are one heading and nothing else."""
    text = document.document.text
    return sum(
        chunk.searched
        and chunk.kind == "section"
        and "\n" not in chunk.text.strip()
        and text[chunk.span.start] == "#"
        for chunk in document.chunks
    )
