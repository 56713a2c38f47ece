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
    out,
    print_json,
    store_alone,
    told,
)
from pincite.core.errors import StoreError
from pincite.core.types import Filters

if TYPE_CHECKING:
    from pincite.audit import Audit

TITLES = {
    "dangling_reference": "references that lead nowhere",
    "other_edition": "references to another edition only",
    "numbering_hole": "holes in the numbering",
    "empty_section": "sections without words",
    "table_not_read": "tables that could not be read well",
    "duplicate_document": "documents that are there twice",
    "scanned_page": "scanned pages",
    "hidden_text": "hidden text that was left out",
    "skipped_content": "content that was left out",
    "bad_page": "pages that could not be read",
}


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
        out.print(f"{count} {TITLES.get(kind, kind)}", style="bold", soft_wrap=True)
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
        f"{facts['sections_whole']:,} sections whole, {facts['sections_cut']:,} cut",
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
