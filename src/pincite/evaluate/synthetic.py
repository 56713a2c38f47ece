"""Questions made from a document's structure, each with the place that answers it.

They are no substitute for what people ask, and say so (``"synthetic": true``); they show at once
whether places, terms, tables and names of a new collection are found at all. Nothing is random:
which questions are kept depends on their own words alone, so order and neighbours change nothing.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any, Literal

from pincite.core.tables import parse_table
from pincite.core.types import Chunk, Loaded
from pincite.evaluate.synthetic_words import (
    bare_cell,
    bare_words,
    column_words,
    is_telling,
    masked,
    opening,
    row_words,
    verb_for,
)
from pincite.model.locators import locator_key
from pincite.store.snapshot import Snapshot

Asking = Literal["locator", "definition", "cell", "heading", "masked_name"]
MOST_PER_KIND = 50  # of one document
LEAST_CHARS = 30  # a place with fewer words of its own answers nothing
LONGEST_VALUE = 80
_LOCATOR_FORMS = ("{}", "What does {} say?", "show me {}")
_HEADING_FORMS = ("{}", "What is said about {}?", "Where can I read about {}?")
_TERM_FORMS = ("What does “{}” mean?", "definition of {}", "What is meant by {}?")


@dataclass(frozen=True, slots=True)
class Question:
    """A question, the place that answers it, and words of that place that do."""

    kind: Asking
    text: str
    gold: Chunk
    answer: str
    key: str  # what it asks for; a key that other documents have too needs their names
    group: str  # of questions that are alike: of each group some are kept

    @property
    def mark(self) -> bytes:
        """What decides whether it is kept: a number made of its words and its place."""
        words = "\0".join((self.kind, self.text, self.gold.id))
        return blake2b(words.encode(), digest_size=8).digest()


def records(snapshot: Snapshot, loaded: Loaded, *, most: int = MOST_PER_KIND) -> Iterator[Any]:
    """Yield the questions of a document of an index as plain values.

    What another document of the index has too is asked with the document's title.
    """
    asked = questions(loaded, most=most)
    homes = snapshot.documents_with({each.key for each in asked})
    for each in asked:
        is_shared = len(homes.get(each.key, ())) > 1
        yield _record(_with_title(each, loaded.document.title) if is_shared else each)


def _with_title(question: Question, title: str) -> Question:
    """Return the question with the document's title, unless that tells nothing or too much."""
    if question.kind == "masked_name" or title.casefold() in question.text.casefold():
        return question
    return replace(question, text=f"{question.text} ({title})")


def questions(loaded: Loaded, *, most: int = MOST_PER_KIND) -> list[Question]:
    """Return questions that the document's structure answers, at most so many of each kind.

    They come in the order of their places. One that two places would answer is not asked.
    """
    found = [*_locators(loaded), *_definitions(loaded), *_cells(loaded)]
    found += [*_headings(loaded), *_masked_names(loaded)]
    times = Counter((each.kind, each.text.casefold()) for each in found)
    clear = [each for each in found if times[each.kind, each.text.casefold()] == 1]
    by_kind: dict[str, list[Question]] = defaultdict(list)
    for each in clear:
        by_kind[each.kind].append(each)
    kept = [each for group in by_kind.values() for each in _balanced(group)[:most]]
    return sorted(kept, key=lambda each: (each.gold.span, each.kind, each.text))


def _balanced(found: Iterable[Question]) -> list[Question]:
    """Return the questions in turns: the first of every group, then the second, and so on."""
    groups: dict[str, list[Question]] = defaultdict(list)
    for each in sorted(found, key=lambda each: each.mark):
        groups[each.group].append(each)
    turns = [(turn, each.mark, each) for g in groups.values() for turn, each in enumerate(g)]
    return [each for _, _, each in sorted(turns, key=lambda item: item[:2])]


def _record(question: Question) -> dict[str, Any]:
    gold = question.gold
    name = blake2b(f"{question.text}\0{gold.id}".encode(), digest_size=8).hexdigest()
    place = {
        "document": gold.span.doc_id,
        "locator": gold.locator,
        "start": gold.span.start,
        "end": gold.span.end,
    }
    return {
        "id": f"synthetic-{name}",
        "question": question.text,
        "gold": {"any": [place]},
        "kind": question.kind,
        "answer": question.answer,
        "synthetic": True,
    }


def _formed(forms: Sequence[str], words: str, chunk: Chunk) -> str:
    """Return the words in one of the forms, always in the same one."""
    digest = blake2b(f"{words}\0{chunk.id}".encode(), digest_size=4).digest()
    return forms[digest[0] % len(forms)].format(words)


def _places(loaded: Loaded) -> list[Chunk]:
    """Return the chunks that are places of their own, in the order of the document."""
    places = (chunk for chunk in loaded.chunks if chunk.kind not in ("piece", "text", "document"))
    return sorted(places, key=lambda chunk: (chunk.span, chunk.id))


def _own_words(loaded: Loaded, chunk: Chunk) -> str:
    return loaded.document.text[chunk.span.start : chunk.own_end].strip()


def _body(loaded: Loaded, chunk: Chunk) -> str:
    """Return a chunk's own words without its heading line."""
    words = _own_words(loaded, chunk)
    return words.partition("\n")[2].strip() if words.startswith("#") else words


def _locators(loaded: Loaded) -> Iterator[Question]:
    """Yield look-ups of numbered places."""
    places = _places(loaded)
    times = Counter(locator_key(chunk.locator) for chunk in places)
    for chunk in places:
        key = locator_key(chunk.locator)
        # Nobody asks for the fifth table of a section by its number if it does not bear one.
        is_printed = chunk.kind != "table" or chunk.locator.startswith("Table ")
        # "7" alone could be anything.
        is_name = any(c.isdigit() for c in key) and not key.isdigit() and ">" not in key
        is_name = is_name and key != locator_key(chunk.title)  # that is asked for as a heading
        body = _body(loaded, chunk)  # a heading over its subsections alone says nothing
        if is_name and is_printed and times[key] == 1 and len(body) >= LEAST_CHARS:
            text = _formed(_LOCATOR_FORMS, chunk.locator, chunk)
            section = key.partition("(")[0]
            yield Question("locator", text, chunk, body[:LONGEST_VALUE], key, section)


def _definitions(loaded: Loaded) -> Iterator[Question]:
    """Yield questions for the terms that one place alone defines."""
    chunks = {chunk.id: chunk for chunk in loaded.chunks}
    homes: dict[str, set[str]] = defaultdict(set)
    links = [link for link in loaded.links if link.relation == "defines"]
    for link in links:
        homes[link.target].add(link.source)
    things = {(link.source, link.target) for link in loaded.links if link.relation == "describes"}
    thing_kinds = {_content_kind(loaded, source) for source, _ in things}
    for link in links:
        chunk = chunks[link.source]
        # In the entry of a thing other words are told about, not defined.
        if _content_kind(loaded, chunk.id) in thing_kinds and (chunk.id, link.target) not in things:
            continue
        said = loaded.document.text[link.span.start : link.span.end]
        term = said if said.casefold() == link.target else link.target
        is_told = len(_body(loaded, chunk)) >= LEAST_CHARS
        if len(homes[link.target]) == 1 and is_told and is_telling(term) and term in chunk.text:
            text = _formed(_TERM_FORMS, term, chunk)
            yield Question("definition", text, chunk, term, locator_key(term), chunk.parent or "")


def _content_kind(loaded: Loaded, chunk_id: str) -> str:
    facts = loaded.facts.get(chunk_id)
    return facts.content_kind if facts else ""


def _headings(loaded: Loaded) -> Iterator[Question]:
    """Yield headings as people would type them."""
    sections = [chunk for chunk in _places(loaded) if chunk.kind == "section"]
    times = Counter(chunk.title.casefold() for chunk in sections)
    for chunk in sections:
        title = bare_words(chunk.title)
        has_body = len(_body(loaded, chunk)) >= LEAST_CHARS
        if not has_body or times[chunk.title.casefold()] > 1 or not is_telling(title, least=2):
            continue
        words = title if title.endswith("?") else title.lower()
        text = words if title.endswith("?") else _formed(_HEADING_FORMS, words, chunk)
        first_line = chunk.text.strip().partition("\n")[0]
        key = locator_key(chunk.title)
        yield Question("heading", text, chunk, first_line, key, chunk.parent or "")


def _cells(loaded: Loaded) -> Iterator[Question]:
    """Yield questions for one value of each row of the tables that have a name."""
    rows: dict[str | None, list[Chunk]] = defaultdict(list)
    for chunk in _places(loaded):
        if chunk.kind == "row":
            rows[chunk.parent].append(chunk)
    for chunk in _places(loaded):
        table = parse_table(chunk.text) if chunk.kind == "table" else None
        name = _table_name(chunk)
        if table is None or not name or len(rows[chunk.id]) != len(table.rows):
            continue
        times = Counter(bare_cell(row[0]) for row in table.rows if row)
        for place, row in zip(rows[chunk.id], table.rows, strict=True):
            label = bare_cell(row[0]) if row else ""
            key = row_words(table.columns[0], label)
            at = _asked_column(table.columns, row, place)
            if at and key and times[label] == 1:
                value = bare_cell(row[at])
                column = column_words(table.columns[at])
                text = f"In {name}, what {verb_for(column)} the {column} for {key}?"
                asks = locator_key(chunk.locator)
                yield Question("cell", text, place, value, asks, chunk.id)


def _table_name(chunk: Chunk) -> str:
    label = chunk.locator if chunk.locator.startswith("Table ") else ""
    has_number = any(character.isdigit() for character in label)
    title = bare_words(chunk.title)
    return label if has_number else f"the table “{title}”" if is_telling(title, least=2) else ""


def _asked_column(columns: Sequence[str], row: Sequence[str], place: Chunk) -> int:
    """Return the column to ask for, 0 if none has a name of its own and a value."""
    names = Counter(column_words(name).casefold() for name in columns)
    values = [bare_cell(value) for value in row]
    usable = [
        at
        for at in range(1, min(len(columns), len(row)))
        if is_telling(column_words(columns[at]))
        and names[column_words(columns[at]).casefold()] == 1
        and any(character.isalnum() for character in values[at])
        and len(values[at]) <= LONGEST_VALUE
        and values[at] in place.text
    ]
    digest = blake2b(place.id.encode(), digest_size=4).digest()
    return usable[digest[0] % len(usable)] if usable else 0


def _masked_names(loaded: Loaded) -> Iterator[Question]:
    """Yield entries by their opening words, with their own names masked."""
    chunks = {chunk.id: chunk for chunk in loaded.chunks}
    for link in loaded.links:
        if link.relation != "describes":
            continue
        chunk, facts = chunks[link.source], loaded.facts.get(link.source)
        name = loaded.document.text[link.span.start : link.span.end]
        words = masked(
            opening(_own_words(loaded, chunk)), (name, *(facts.aliases if facts else ()))
        )
        kind = _content_kind(loaded, chunk.id) or "entry"
        if words and name in chunk.text:
            text = f"Which {kind} is this: {words}"
            group = chunk.parent or ""
            yield Question("masked_name", text, chunk, name, locator_key(name), group)
