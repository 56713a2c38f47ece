"""pincite show, cite, cell, similar, list and diff: places of the index, looked up by name."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from pincite.cli.options import (
    Call,
    argument,
    as_of_option,
    command,
    document_option,
    documents_from,
    option,
    parse_day,
    places_from,
)
from pincite.cli.terminal import Part, counted, has_colour, print_json, safe, say, tell
from pincite.model.errors import StoreError
from pincite.search.citing import STYLES as CITING

if TYPE_CHECKING:
    from pincite.maintain.editions import EditionChange
    from pincite.model.types import Chunk
    from pincite.search.browse import OutlineEntry
    from pincite.search.lookup import PlaceReader

MAX_CHILDREN = 12  # of a place, named
STYLES = {"added": "green", "removed": "red", "changed": "yellow", "moved": "cyan"}
# Without colours the signs say which words are old and which are new.
WORD_SIGNS = {"same": "{}", "old": "[-{}-]", "new": "{{+{}+}}"}
PLAIN_SIGNS = dict.fromkeys(WORD_SIGNS, "{}")
WORD_STYLES = {"same": "dim", "old": "red strikethrough", "new": "bold green"}
locator_argument = argument(
    "locator", help="A place: '97.113(a)(4)', 'Table 250.66'.", shell_complete=places_from
)


@command("show", settings=False)
@locator_argument
@document_option
@as_of_option
def show(call: Call, locator: str, document: str | None, as_of: str | None) -> None:
    """Print the text of a place exactly; its heading path goes to standard error."""
    from pincite.model.editions import when
    from pincite.search.lookup import PlaceReader

    with PlaceReader.open(call.index, call.reading) as opened:
        day = parse_day(as_of)
        places = opened.show(locator, document, as_of=day)
        values = [_place_values(opened, chunk) for chunk in places]
        editions = [opened.snapshot.edition(chunk.span.doc_id) for chunk in places]
    if call.as_json:
        print_json(values)
        return
    for chunk, edition, value in zip(places, editions, values, strict=True):
        if day is not None:
            tell(f"in force on {day}: {when(edition)}", style="dim")
        path = " › ".join((chunk.span.doc_id, *chunk.path))
        tell(f"{path} › {chunk.locator}", style="dim")
        sys.stdout.write(safe(chunk.text).rstrip() + "\n")
        if children := value["children"]:
            more = " …" if len(children) > MAX_CHILDREN else ""
            tell(f"below: {', '.join(children[:MAX_CHILDREN])}{more}", style="dim")


def _place_values(opened: PlaceReader, chunk: Chunk) -> dict[str, Any]:
    edition = opened.snapshot.edition(chunk.span.doc_id)
    return {
        "document": chunk.span.doc_id,
        "effective": edition.effective.isoformat() if edition.effective else None,
        "until": edition.until.isoformat() if edition.until else None,
        "locator": chunk.locator,
        "kind": chunk.kind,
        "title": chunk.title,
        "path": list(chunk.path),
        **opened.snapshot.page_of(chunk).plain(),
        "span": [chunk.span.start, chunk.span.end],
        "parent": opened.snapshot.get([chunk.parent])[0].locator if chunk.parent else None,
        "children": [child.locator for child in opened.children(chunk)],
        "text": chunk.text,
    }


@command("cite", settings=False)
@locator_argument
@option(
    "--as",
    "style",
    type=click.Choice(CITING),
    default="plain",
    help="For people, lawyers, reference managers, or to find the words again.",
)
@option("--links", default="", help="Where the documents stand on the web: https://example.org/.")
@document_option
@as_of_option
def cite(
    call: Call, locator: str, style: str, links: str, document: str | None, as_of: str | None
) -> None:
    """Print how to cite a place: plain, bibtex, ris, csl-json, bluebook, annotation, ..."""
    from pincite.search.lookup import PlaceReader
    from pincite.serve.reading import cited

    with PlaceReader.open(call.index, call.reading) as opened:
        values = cited(opened, locator, style, document, links, parse_day(as_of))
    if call.as_json:
        print_json(values)
        return
    sys.stdout.write(safe(values["citation"]).rstrip("\r\n") + "\n")
    if others := values["others"]:
        tell(f"also in {', '.join(others[:MAX_CHILDREN])}: name one with --document", style="dim")


@command("cell", settings=False)
@argument("table", help="A table, or its title: 'Table 250.66', 'Balance Sheets'.")
@argument("row", help="Words or a number of the row: '95 mm²', 'E-07'.")
@argument("column", default="", help="Words of the column; all columns without.")
@document_option
def cell(call: Call, table: str, row: str, column: str, document: str | None) -> None:
    """Look up a value in a table; a number fits the row whose range holds it."""
    from pincite.search.lookup import PlaceReader

    with PlaceReader.open(call.index, call.reading) as opened:
        found = opened.cells(table, row, column, document)
    if not found:
        raise StoreError(
            f"no cell for row {row!r} and column {column!r} in {table}",
            hint=f'see: pincite show "{table}"',
        )
    values = [
        {
            "document": each.table.span.doc_id,
            "citation": each.citation,
            "value": each.cell.value,
            "unit": each.cell.unit,
            "scale": each.cell.scale,
            "period": each.cell.period,
            "notes": list(each.cell.notes),
            "found_by": each.cell.key,
        }
        for each in found
    ]
    if call.as_json:
        print_json(values)
        return
    for value in values:
        # A currency may stand in the cell already.
        units = [value["unit"]] if value["unit"] not in value["value"] else []
        unit = "".join(f" {each}" for each in (*units, value["scale"]) if each)
        where = (f"  ({value['document']})", "dim")
        say((f"{value['value']}{unit}", "bold"), f"  {value['citation']}", where)
        say(f"    row found by {value['found_by']}", style="dim")
        for note in value["notes"]:
            say(f"    note: {note}", style="italic")


@command("similar", settings=False)
@locator_argument
@option("-k", type=click.IntRange(1, 100), default=5, help="How many places.")
@option(
    "--least",
    type=click.FloatRange(-1, 1),
    default=0.7,
    help="The smallest cosine that counts.",
)
@document_option
def similar(call: Call, locator: str, k: int, least: float, document: str | None) -> None:
    """List the nearest places of other sections, by the vectors of the index."""
    from pincite.api import Index

    with Index.open(call.index, call.reading) as opened:
        places = opened.show(locator, document)
        found = [(place, opened.similar(place, k, least)) for place in places]
    if call.as_json:
        print_json([_similar_values(place, near) for place, near in found])
        return
    for place, near in found:
        tell(f"{place.span.doc_id} › {place.locator}", style="dim")
        for other, cosine in near:
            name = " › ".join((other.span.doc_id, *other.path[-1:], other.locator))
            say(f"{cosine:.3f}  {name}")
        if not near:
            tell(f"nothing in another section has a cosine of {least} or more")


def _similar_values(place: Chunk, near: list[tuple[Chunk, float]]) -> dict[str, Any]:
    others = [
        {
            "document": other.span.doc_id,
            "locator": other.locator,
            "chunk": other.id,
            "cosine": cosine,
        }
        for other, cosine in near
    ]
    return {"document": place.span.doc_id, "locator": place.locator, "similar": others}


@command("list", settings=False)
@argument(
    "document",
    required=False,
    help="List the places of this document instead.",
    shell_complete=documents_from,
)
def list_places(call: Call, document: str | None) -> None:
    """List the documents of the index, or all places of one of them."""
    from pincite.search.lookup import PlaceReader

    with PlaceReader.open(call.index, call.reading) as opened:
        if call.as_json or document is None:
            rows = _documents(opened) if document is None else _places(opened, document)
        else:
            rows, tree = [], opened.outline(document, MAX_DEPTH)
    if call.as_json:
        print_json(rows)
        return
    if document is not None:
        for entry in tree:
            print_entry(entry)
    for row in rows:
        dates = [f"{word} {row[key]}" for word, key in _DATES if row[key]]
        kind = [f"[{row['card']['kind']}]"] if "kind" in row["card"] else []
        say(f"{row['document']}  ", ("  ".join([row["title"], *kind, *dates]), "dim"))


MAX_DEPTH = 100  # deeper than any document's tree


def print_entry(entry: OutlineEntry) -> None:
    """Print a place of a tree, with its page and what is below it."""
    chunk = entry.place
    title = "" if chunk.locator.endswith(chunk.title) else f"  {chunk.title}"
    page = f"p. {chunk.page}, " if chunk.page is not None else ""
    below = f", {counted(entry.below, 'place')} below" if entry.below else ""
    size = counted(entry.characters, "character")
    say("  " * entry.level, chunk.locator, title, (f"  {page}{size}{below}", "dim"))


_DATES = (("from", "effective"), ("until", "until"))


def _documents(opened: PlaceReader) -> list[dict[str, Any]]:
    from pincite.serve.reading import documents

    return [{"document": each.pop("id"), **each} for each in documents(opened)]


_ON_CARD = ("title", "kind", "issuer", "parties", "period", "date", "edition")


def _card_options(function: Callable[..., None]) -> Callable[..., None]:
    """Give a command an option for each thing that a user may correct on a card."""
    for key in reversed(_ON_CARD):
        function = option(f"--{key}", help=f"What its {key} is, for good.")(function)
    return function


@command("card")
@argument("document", help="A document, as 'pincite list' names it.", shell_complete=documents_from)
@_card_options
def card(call: Call, document: str, **said: str | None) -> None:
    """Show what a document is, whose and of which time, or correct it: that outlives re-reading."""
    from pincite.cli.encoding import embed
    from pincite.serve.reading import card_of_document
    from pincite.store.location import open_snapshot
    from pincite.update import correct_card

    changes = {key: value for key, value in said.items() if value is not None}
    if changes:
        correct_card(call.index, document, changes, call.settings.store)
        embed(call.index, call.settings, as_json=call.as_json)
    with open_snapshot(call.index, call.settings.store) as snapshot:
        values = card_of_document(snapshot, document)
    if call.as_json:
        print_json(values)
        return
    for key, value in values.items():
        say((f"{key.replace('_', ' '):<12}", "dim"), value)


def _places(opened: PlaceReader, document: str) -> list[dict[str, Any]]:
    opened.snapshot.document(document)  # StoreError if there is none
    return [
        {
            "locator": chunk.locator,
            "kind": chunk.kind,
            "title": chunk.title,
            "page": chunk.page,
            "span": [chunk.span.start, chunk.span.end],
            "own_end": chunk.own_end,
            "searched": chunk.searched,
            "id": chunk.id,
        }
        for chunk in opened.snapshot.chunks(document)
    ]


@command("diff", settings=False)
@argument(
    "old",
    help="The earlier document, as 'pincite list' names it.",
    shell_complete=documents_from,
)
@argument("new", help="The later one.", shell_complete=documents_from)
def diff(call: Call, old: str, new: str) -> None:
    """Compare two editions of a document: places added, removed, changed and moved."""
    from pincite.maintain.editions import diff as compare
    from pincite.store.location import open_snapshot

    with open_snapshot(call.index, call.settings.store) as snapshot:
        changes = compare(snapshot, old, new)
    if call.as_json:
        names = ("kind", "locator", "title", "old", "new")
        print_json([{name: getattr(each, name) for name in names} for each in changes])
        return
    for change in changes:
        _print_change(change)
    counts = Counter(change.kind for change in changes)
    say(", ".join(f"{n} {kind}" for kind, n in counts.items()), style="dim")
    if not changes:
        say("no difference", style="green")


def _print_change(change: EditionChange) -> None:
    name = f"{change.kind:<8} {change.locator}  {change.title}".rstrip()
    say(name, style=f"bold {STYLES[change.kind]}")
    if change.old and change.new and change.old != change.new:
        signs = PLAIN_SIGNS if has_colour() else WORD_SIGNS
        parts: list[Part] = [
            (signs[edition].format(words) + " ", WORD_STYLES[edition])
            for edition, words in change.words()
        ]
        say("         ", *parts)
