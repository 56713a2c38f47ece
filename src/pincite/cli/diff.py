"""pincite diff: what changed between two editions, clause by clause."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from pincite.cli.options import (
    DEFAULT_INDEX,
    IndexOption,
    JsonOption,
    out,
    print_json,
    store_alone,
    told,
)

if TYPE_CHECKING:
    from pincite.editions import Change

STYLES = {"added": "green", "removed": "red", "changed": "yellow", "moved": "cyan"}
# Without colours the signs say which words are old and which are new.
WORD_SIGNS = {"same": "{}", "old": "[-{}-]", "new": "{{+{}+}}"}
PLAIN_SIGNS = dict.fromkeys(WORD_SIGNS, "{}")
WORD_STYLES = {"same": "dim", "old": "red strike", "new": "bold green"}


def diff(
    old: Annotated[str, typer.Argument(help="The earlier document, as 'pincite list' names it.")],
    new: Annotated[str, typer.Argument(help="The later one.")],
    index: IndexOption = DEFAULT_INDEX,
    as_json: JsonOption = False,
) -> None:
    """Compare two editions of a document: places added, removed, changed and moved."""
    from pincite.editions import diff as run
    from pincite.store.location import open_snapshot

    with told(as_json=as_json, index=index), open_snapshot(index, store_alone().store) as snapshot:
        changes = run(snapshot, old, new)
    if as_json:
        print_json(
            [
                {
                    "kind": change.kind,
                    "locator": change.locator,
                    "title": change.title,
                    "old": change.old,
                    "new": change.new,
                }
                for change in changes
            ]
        )
        return
    for change in changes:
        _print(change)
    counts = Counter(change.kind for change in changes)
    out.print(", ".join(f"{n} {kind}" for kind, n in counts.items()), style="dim", soft_wrap=True)
    if not changes:
        out.print("no difference", style="green")


def _print(change: Change) -> None:
    name = f"{change.kind:<8} {change.locator}  {change.title}".rstrip()
    out.print(Text(name, style=f"bold {STYLES[change.kind]}"), soft_wrap=True)
    if change.old and change.new and change.old != change.new:
        signs = WORD_SIGNS if out.color_system is None else PLAIN_SIGNS
        parts = [
            (signs[edition].format(words) + " ", WORD_STYLES[edition])
            for edition, words in change.words()
        ]
        out.print(Text.assemble("         ", *parts), soft_wrap=True)
