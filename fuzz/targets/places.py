"""Queries, names of places, words, tables and sums: text that anybody may type."""

from __future__ import annotations

import math
from functools import cache

from fuzz.harness import SAMPLES, Target, halves, text_of, work_folder
from pincite.answer.agent.calculate import calculate
from pincite.answer.asker import Asker, Message
from pincite.api import Index
from pincite.check.support import row_quantities
from pincite.index.tokens import Analyzer
from pincite.model.dates import as_iso, stated_dates
from pincite.model.editions import parse_date, work_of
from pincite.model.locators import heading_label, locator_key, mention_spans, mentions
from pincite.model.sentences import units
from pincite.model.settings import Settings, merged
from pincite.model.tables import find_cells, intervals_of, parse_table, row_spans
from pincite.model.types import Filters
from pincite.model.units import CalculationError, quantities
from pincite.read.chunks import estimated_tokens
from pincite.read.extracted import Pages
from pincite.read.load import find_files
from pincite.read.references.citations import citations, french_citations
from pincite.read.structure.numbering import depths, marks
from pincite.update import ingest_files

QUERIES = (
    b"what is the size of Table 250.66 for 95 mm\xc2\xb2?",
    b"210.8(A)(2)",
    b"grappled condition",
    b"\xc2\xa7 97.113 (a) (4) through (6)",
    b"97.301-97.305",
    b"l'articolo 5, comma 2",
    b"gruonded",
)
NAMED = (
    "Table ",
    "§ ",
    "(a)",
    "through",
    "alternate II",
    "2.5 mm",
    "97.113",
    "section ",
    "–",
    "IV",
)


@cache
def index() -> Index:
    """Return the samples as an index without vectors, made once."""
    values = {"embedding": {"model": "none"}, "search": {"meaning_weight": 0.0}}
    settings = merged(Settings(), values, origin="fuzz")
    folder = work_folder() / "index"
    list(ingest_files(find_files([SAMPLES]), folder, settings))
    return Index.open(folder, settings)


def search(data: bytes) -> None:
    query, rest = map(text_of, halves(data))
    words = tuple(rest.split("\n"))
    filters = Filters(
        documents=words[:2], kinds=words[2:4], path=words[4:5], as_of="".join(words[5:6])
    )
    found = index().search(query, 5, filters)
    scores = [passage.hit.score for passage in found.passages]
    assert scores == sorted(scores, reverse=True) and all(map(math.isfinite, scores))
    for passage in found.passages:
        chunk = passage.chunk
        assert (
            index().snapshot.text(chunk.span.doc_id)[chunk.span.start : chunk.span.end]
            == chunk.text
        )
    assert [p.chunk.id for p in index().search(query, 2, filters).passages] == [
        p.chunk.id for p in found.passages[:2]
    ]
    index().missing_places(query)


@cache
def _asker() -> Asker:
    return Asker(index())


def ask(data: bytes) -> None:
    """What an answer quotes stands in its document, at the place that it names."""
    first, second = map(text_of, halves(data))
    history = [Message("user", second[:200])] if second else []
    answer = _asker().answer(first, history=history)
    for citation in answer.citations:
        if citation.span is not None:
            span = citation.span
            assert index().snapshot.text(span.doc_id)[span.start : span.end] == citation.quote


def show(data: bytes) -> None:
    name, rest = map(text_of, halves(data))
    row, _, column = rest.partition("\n")
    if rest:
        index().cells(name, row, column)
    for chunk in index().show(name):
        assert chunk.text


def locators(data: bytes) -> None:
    text = text_of(data)
    key = locator_key(text)
    assert "\n" not in key and key == key.strip()
    assert len(mentions(text)) <= len(text) + 1
    for _, start, end in mention_spans(text):
        assert 0 <= start < end <= len(text)
    parse_date(text), work_of(text)


def numbering(data: bytes) -> None:
    text = text_of(data)
    for line in text.splitlines():
        heading_label(line)
    found = list(marks(text, 0, len(text), dotted=True))
    for mark in found:
        assert 0 <= mark.start <= mark.end <= len(text)
    assert len(depths(found)) == len(found)


def references(data: bytes) -> None:
    text = text_of(data)
    for read in (citations, french_citations):
        for found in read(text, 0, len(text)):
            assert 0 <= found.start < found.end <= len(text), found
    as_iso(text), stated_dates(text, Pages())


@cache
def _analyzer(language: str) -> Analyzer:
    return Analyzer(language)


def tokens(data: bytes) -> None:
    language, text = data[:1], text_of(data[1:])
    names = ("english", "french", "italian", "german", "none")
    analyzer = _analyzer(names[language[0] % len(names)] if language else "none")
    terms = analyzer.terms(text)
    assert all(term and not any(map(str.isspace, term)) for term in terms)
    words = text.split()
    middle = len(words) // 2
    first, second = " ".join(words[:middle]), " ".join(words[middle:])
    assert analyzer.terms(first) + analyzer.terms(second) == terms
    assert estimated_tokens(text) >= 0


def tables(data: bytes) -> None:
    first, second = map(text_of, halves(data))
    table = parse_table(first)
    for start, end in row_spans(first):
        assert 0 <= start <= end <= len(first)
    row, _, column = second.partition("\n")
    if table is not None:
        for cell in find_cells(table, row, column):
            assert table.rows[cell.row]
    for interval in intervals_of(second, column):
        assert not math.isnan(interval.low) and not math.isnan(interval.high)
    list(row_quantities(first))


def sentences(data: bytes) -> None:
    text = text_of(data)
    end = 0
    for unit in units(text):
        assert end <= unit.start < unit.end <= len(text)
        end = unit.end
    for quantity in quantities(text):
        assert not math.isnan(quantity.value)


def sums(data: bytes) -> None:
    result = calculate(text_of(data))
    assert result.text


TABLE = (
    b"**Table 1**\n\n| Size (mm) | Load |\n|---|---|\n| 1 | over 60 through 100 |\n| 2 | 5, 6* |\n"
    b"\n* note\0"
)
TARGETS = [
    Target(
        "query",
        "hits lie in their documents, scores fall, the top two are those of the top five",
        search,
        lambda: [*QUERIES, b"earth\0*.md\n\ntable\n\nFees\n2021"],
        NAMED,
        2000,
        smoke=25,
    ),
    Target(
        "ask",
        "a quotation stands where it says, or there is a reason why there is none",
        ask,
        lambda: [*QUERIES, b"how far apart are rods?\0what is a rod?"],
        NAMED,
        2000,
        smoke=15,
    ),
    Target(
        "place-look-up",
        "a place, a cell, or an error that says what is near",
        show,
        lambda: [*QUERIES, b"Table 250.66\x0095 mm\xc2\xb2\ncopper"],
        NAMED,
        800,
        smoke=60,
    ),
    Target(
        "locators",
        "keys are one line; mentions lie in the text",
        locators,
        lambda: QUERIES,
        NAMED,
        smoke=1000,
    ),
    Target(
        "numbering",
        "labels lie in the text, each with a depth",
        numbering,
        lambda: [b"(a) One\n(1) Two\n(i) Three\n", b"## 1.1 Fees\nPart IV-A \xe2\x80\x94 X"],
        (*NAMED, "(ii)", "1. ", "a) ", "Chapter ", "**"),
        smoke=500,
    ),
    Target(
        "references",
        "citations lie in the text",
        references,
        lambda: [
            b"see sections 1.2(a), (b) and (c) through 1.9 of Part 97",
            b"aux articles L. 121-1 \xc3\xa0 L. 121-3 du code",
            b"effective July 1, 2021",
        ],
        (*NAMED, "articles ", "du code", "paragraph (b) of this section", "Title 47"),
        smoke=500,
    ),
    Target(
        "tokens",
        "terms are never empty, and a text's are those of its parts",
        tokens,
        lambda: [b"\0Conductors of 314.23(F) carry 12,345 A at $1.5", "\1l’eau n°5".encode()],
        ("12,345", "'s", "l'", "§5", "AC-12", "İ", "ﬁ", "٣"),
        smoke=800,
    ),
    Target(
        "tables",
        "rows and cells lie in the table, bounds are numbers",
        tables,
        lambda: [TABLE + b"80\nLoad", b"|a|\n|-|\n|1|\x001"],
        ("|", "|---|", "over ", "\\|", "–"),
        smoke=500,
    ),
    Target(
        "sentences",
        "sentences follow each other inside the text",
        sentences,
        lambda: [b"A rod is 2.4 m long. It is No. 5!\n\n- item\n\n| a |\n|---|\n| 1 ft |"],
        ("e.g. ", "1,5 kV", "twenty-one", "½", "10^6"),
        smoke=500,
    ),
    Target(
        "calculate",
        "an exact sum, or CalculationError",
        sums,
        lambda: [b"2 * (3 m + 40 cm) in ft", b"sqrt(16 m^2)", b"5 % of 20", b"min(1, 2^20)"],
        ("sqrt(", "^20", "°C", " in ", "max(", "µ", "÷", "9" * 40),
        600,
        smoke=800,
        refusals=(CalculationError,),
    ),
]
