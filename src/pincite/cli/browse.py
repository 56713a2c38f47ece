"""pincite outline and grep: what a document has, and where exact words stand."""

from __future__ import annotations

from typing import Any

import click

from pincite.cli.options import (
    Call,
    argument,
    command,
    documents_from,
    filter_options,
    option,
    places_from,
)
from pincite.cli.terminal import Part, counted, print_json, say, tell
from pincite.model.types import Filters


@command("outline", settings=False)
@argument("document", help="A document, as 'pincite list' names it.", shell_complete=documents_from)
@argument(
    "place", default="", help="Only below this place: 'Article 250'.", shell_complete=places_from
)
@option("--depth", type=click.IntRange(0), default=2, help="How deep.")
def outline(call: Call, document: str, place: str, depth: int) -> None:
    """Show the tree of a document: its places to a depth, with pages and sizes."""
    from pincite.cli.places import print_entry
    from pincite.search.browse import outline as tree_of
    from pincite.store.location import open_snapshot

    with open_snapshot(call.index, call.settings.store) as snapshot:
        entries = tree_of(snapshot, document, depth, place)
    if call.as_json:
        print_json([_entry_values(each) for each in entries])
        return
    for each in entries:
        print_entry(each)


def _entry_values(entry: Any) -> dict[str, Any]:
    chunk = entry.place
    return {
        "locator": chunk.locator,
        "title": chunk.title,
        "kind": chunk.kind,
        "level": entry.level,
        "page": chunk.page,
        "characters": entry.characters,
        "below": entry.below,
    }


@command("grep", settings=False)
@argument("words", help="Words as they stand, one after the other.")
@option("--regex", "-E", "is_pattern", is_flag=True, help="They are a regular expression.")
@option("-k", type=click.IntRange(1, 10_000), default=20, help="How many places.")
@option("--start", type=click.IntRange(0), default=0, help="Pass over so many places.")
@filter_options("documents", "as_of")
def grep(call: Call, words: str, is_pattern: bool, k: int, start: int, filters: Filters) -> int:
    """Find every place that has these very words; exit code 1 if none has."""
    from pincite.index.filters import NOTHING, RowFilter
    from pincite.search.browse import grep as look
    from pincite.store.location import open_snapshot

    with open_snapshot(call.index, call.settings.store) as snapshot:
        only = RowFilter(snapshot).documents(filters) if filters != NOTHING else None
        found = look(snapshot, words, is_pattern=is_pattern, documents=only, limit=k, start=start)
    if call.as_json:
        print_json(
            {
                "places": [
                    {
                        "document": hit.place.span.doc_id,
                        "locator": hit.place.locator,
                        "page": hit.place.page,
                        "matches": hit.count,
                        "text": hit.line,
                        "marks": [list(mark) for mark in hit.marks],
                    }
                    for hit in found
                ],
                "matches": found.counts,
                "more": found.more,
                "unread": list(found.unread),
            }
        )
        return 0 if found.counts else 1
    if not found.counts:
        tell("these words stand nowhere" if not is_pattern else "nothing matches")
        return 1
    for hit in found:
        parts: list[Part] = []
        at = 0
        for first, last in hit.marks:
            parts += [hit.line[at:first], (hit.line[first:last], "bold yellow")]
            at = last
        say((f"{hit.place.span.doc_id}  {hit.place.locator}", "bold cyan"))
        say("    ", *parts, hit.line[at:])
    total = (
        f"{counted(found.matches, 'match', 'matches')} in {counted(len(found.counts), 'document')}"
    )
    tell(f"{total}; go on with --start {start + len(found)}" if found.more else total, style="dim")
    if found.unread:
        rest = counted(len(found.unread), "document")
        tell(f"note: no time for {rest}, from {found.unread[0]} on; name them with --document")
    return 0
