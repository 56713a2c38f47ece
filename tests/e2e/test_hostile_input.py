"""Hostile input made by hand: refused with a reason or taken in safely, and nothing breaks.

All cases, the large bombs too: ``python fuzz/hostile.py --slow``; docs/hostile.md has the table.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from fuzz.hostile import Case, Result, attempted, cases, table

from pincite.model.errors import SourceError

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]
# Kinds that take long are tried in part here: every so manieth case.
STEPS = {"commands to a terminal": 5, "our own patterns": 8, "models": 2, "Markdown": 2}
ALL = cases()
KINDS = list(dict.fromkeys(case.kind for case in ALL))


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_breaks(kind: str) -> None:
    chosen = [case for case in ALL if case.kind == kind][:: STEPS.get(kind, 1)]
    results = [attempted(case) for case in chosen]
    broken = [(each.case.name, each.told) for each in results if each.outcome == "broken"]
    assert not broken


def test_how_much_is_tried() -> None:
    """The table of docs/hostile.md cannot shrink unseen."""
    found = Counter(case.kind for case in ALL)
    least = {
        "PDF": 38,
        "DOCX and ZIP": 28,
        "EPUB": 17,
        "gzip": 9,
        "Office": 9,
        "XML": 20,
        "HTML": 15,
        "JSON": 13,
        "CSV": 8,
        "Markdown": 20,
        "plain text": 20,
        "names of uploads": 60,
        "links and odd files": 10,
        "patterns of profiles": 50,
        "our own patterns": 250,
        "giant and odd questions": 25,
        "commands to a terminal": 18,
        "addresses as files": 19,
        "addresses as names": 19,
        "addresses in documents": 14,
        "models": 30,
    }
    assert {kind: count for kind, count in least.items() if found[kind] < count} == {}


def test_a_case_that_breaks_is_told() -> None:
    """The runner itself: an error of ours is a refusal, any other is broken."""

    def refuses(_: Path) -> None:
        raise SourceError("no", hint="do it")

    def breaks(_: Path) -> None:
        raise KeyError("x")

    def accepts(folder: Path) -> None:
        assert folder.is_dir()

    results: list[Result] = [
        attempted(Case("a", each.__name__, each)) for each in (refuses, breaks, accepts)
    ]
    assert [each.outcome for each in results] == ["refused", "broken", "accepted"]
    assert list(table(results))[-1].startswith("| **all** | 3 | 1 | 1 | 1 |")
