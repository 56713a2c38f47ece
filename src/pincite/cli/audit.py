"""pincite audit: what is missing or odd in the index."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from rich.text import Text

from pincite.cli.filter_options import AsOfFilter, DocumentsOption, filters_from
from pincite.cli.options import (
    DEFAULT_INDEX,
    IndexOption,
    JsonOption,
    counted,
    out,
    print_json,
    store_alone,
    told,
)
from pincite.core.errors import StoreError
from pincite.core.types import Filters

if TYPE_CHECKING:
    from pincite.audit import Audit

# What is said of one, and of several.
TITLES = {
    "dangling_reference": ("reference that leads nowhere", "references that lead nowhere"),
    "other_edition": ("reference to another edition only", "references to another edition only"),
    "numbering_hole": ("hole in the numbering", "holes in the numbering"),
    "empty_section": ("section without words", "sections without words"),
    "table_not_read": ("table that could not be read well", "tables that could not be read well"),
    "duplicate_document": ("document that is there twice", "documents that are there twice"),
    "scanned_page": ("scanned page", "scanned pages"),
    "hidden_text": ("hidden text that was left out", "hidden texts that were left out"),
    "skipped_content": ("part that was left out", "parts that were left out"),
    "bad_page": ("page that could not be read", "pages that could not be read"),
}


def gaps_in_words(kind: str, count: int) -> str:
    """Return how many gaps of a kind there are.

    >>> gaps_in_words("numbering_hole", 1), gaps_in_words("dangling_reference", 2)
    ('1 hole in the numbering', '2 references that lead nowhere')
    """
    plain = kind.replace("_", " ")
    return counted(count, *TITLES.get(kind, (plain, f"{plain}s")))


def audit(
    documents: DocumentsOption = None,
    as_of: AsOfFilter = "",
    index: IndexOption = DEFAULT_INDEX,
    as_json: JsonOption = False,
) -> None:
    """Report gaps: dangling references, holes in numbering, unread pages and tables."""
    with told(as_json=as_json, index=index):
        report = _report(index, filters_from(documents, as_of=as_of))
    if as_json:
        gaps = [asdict(gap) for gap in report.gaps]
        print_json({"counts": report.counts(), "statistics": report.statistics, "gaps": gaps})
        return
    for kind, count in report.counts().items():
        out.print(gaps_in_words(kind, count), style="bold", soft_wrap=True)
        for gap in report.gaps:
            if gap.kind == kind:
                where = " ".join(part for part in (gap.document, gap.place) if part)
                line = Text.assemble("  ", (where, "cyan"), f" {gap.message}")
                out.print(line, soft_wrap=True)
    if not report.gaps:
        out.print("no gaps found", style="green")
    facts = report.statistics
    places = ", ".join(f"{count:,} {kind}" for kind, count in facts["places"].items())
    out.print(f"places: {places}", style="dim", soft_wrap=True)
    out.print(
        f"searched chunks: {facts['searched']:,}, p50 {facts['chars_p50']:,} and "
        f"p95 {facts['chars_p95']:,} characters, longest {facts['chars_max']:,}; "
        f"{counted(facts['sections_whole'], 'section')} whole, {facts['sections_cut']:,} cut",
        style="dim",
        soft_wrap=True,
    )


def _report(index: str, filters: Filters) -> Audit:
    from pincite.audit import audit as run
    from pincite.index.filter_report import explain
    from pincite.index.filters import RowFilter
    from pincite.store.location import open_snapshot

    with open_snapshot(index, store_alone().store) as snapshot:
        rows = RowFilter(snapshot)
        if (only := rows.documents(filters)) == frozenset():
            reason = explain(rows, filters) or "no document is left"
            raise StoreError(reason, hint="see: pincite list")
        return run(snapshot, only)
