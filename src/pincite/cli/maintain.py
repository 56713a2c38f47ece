"""pincite audit, export, import, copy, plan and publish: what is done to a whole index."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pincite.cli.options import PATH, Call, argument, command, filter_options, option
from pincite.cli.terminal import Bar, counted, follow, print_json, say
from pincite.model.errors import ConfigError, StoreError, redact_url

if TYPE_CHECKING:
    from pincite.maintain.audit import Audit
    from pincite.model.types import Filters

# What is said of one, and of several.
TITLES = {
    "dangling_reference": ("reference that leads nowhere", "references that lead nowhere"),
    "other_edition": ("reference to another edition only", "references to another edition only"),
    "numbering_hole": ("hole in the numbering", "holes in the numbering"),
    "numbering_not_understood": ("numbering not understood", "numberings not understood"),
    "empty_section": ("section without words", "sections without words"),
    "table_not_read": ("table that could not be read well", "tables that could not be read well"),
    "duplicate_document": ("document that is there twice", "documents that are there twice"),
    "scanned_page": ("document with scanned pages", "documents with scanned pages"),
    "hidden_text": ("hidden text that was left out", "hidden texts that were left out"),
    "skipped_content": ("part that was left out", "parts that were left out"),
    "bad_page": ("page that could not be read", "pages that could not be read"),
    "reader_failed": ("failure of Pincite to report", "failures of Pincite to report"),
}
folder_argument = argument("folder", type=PATH, help="Folder of the plain files.")


def gaps_in_words(kind: str, count: int) -> str:
    """Return how many gaps of a kind there are.

    >>> gaps_in_words("numbering_hole", 1), gaps_in_words("dangling_reference", 2)
    ('1 hole in the numbering', '2 references that lead nowhere')
    """
    plain = kind.replace("_", " ")
    return counted(count, *TITLES.get(kind, (plain, f"{plain}s")))


@command("audit", settings=False)
@filter_options("documents", "as_of")
def audit(call: Call, filters: Filters) -> None:
    """Report gaps: dangling references, holes in numbering, unread pages and tables."""
    from pincite.index.filters import RowFilter, explain
    from pincite.maintain.audit import audit as find_gaps
    from pincite.store.location import open_snapshot

    with open_snapshot(call.index, call.settings.store) as snapshot:
        rows = RowFilter(snapshot)
        if (only := rows.documents(filters)) == frozenset():
            reason = explain(rows, filters) or "no document is left"
            raise StoreError(reason, hint="see: pincite list")
        report = find_gaps(snapshot, only)
    if call.as_json:
        gaps = [asdict(gap) for gap in report.gaps]
        print_json({"counts": report.counts(), "statistics": report.statistics, "gaps": gaps})
    else:
        _print_audit(report)


def _print_audit(report: Audit) -> None:
    for kind, count in report.counts().items():
        say(gaps_in_words(kind, count), style="bold")
        for gap in report.gaps:
            if gap.kind == kind:
                where = " ".join(part for part in (gap.document, gap.place) if part)
                say("  ", (where, "cyan"), f" {gap.message}")
    if not report.gaps:
        say("no gaps found", style="green")
    facts = report.statistics
    places = ", ".join(f"{count:,} {kind}" for kind, count in facts["places"].items())
    say(f"places: {places}", style="dim")
    say(
        f"searched chunks: {facts['searched']:,}, p50 {facts['chars_p50']:,} and "
        f"p95 {facts['chars_p95']:,} characters, longest {facts['chars_max']:,}; "
        f"{counted(facts['sections_whole'], 'section')} whole, {facts['sections_cut']:,} cut",
        style="dim",
    )


@command("export", settings=False)
@folder_argument
@option(
    "--similar",
    "with_similar",
    is_flag=True,
    help="Link chunks that say nearly the same, by vectors.",
)
def export(call: Call, folder: Path, with_similar: bool) -> None:
    """Write documents, enriched chunks, the graph and made questions as JSON lines."""
    from pincite.index.opened import OpenIndex
    from pincite.maintain.exchange import export_index
    from pincite.measure.synthetic import records
    from pincite.search.similar import Similar, model_of

    opened = OpenIndex.open(call.index, call.settings.store)
    model = model_of(opened)
    if with_similar and not model:
        raise ConfigError("the index has no vectors", hint="see: pincite ingest --help")
    similar = Similar(opened, model) if with_similar else None
    with opened.snapshot as snapshot:
        written = export_index(snapshot, folder, ask=records, similar=similar)
        count = sum(1 for _ in follow(written, "documents"))
    if call.as_json:
        print_json({"documents": count, "folder": str(folder)})
    else:
        say(f"{counted(count, 'document')} written to {folder}")


@command("import")
@folder_argument
def load(call: Call, folder: Path) -> None:
    """Build the index again from the files that 'pincite export' wrote, and compute its vectors."""
    from pincite.cli.encoding import embed
    from pincite.maintain.exchange import import_index
    from pincite.store.location import exists

    index, settings = call.index, call.settings
    if exists(index, settings.store):
        raise ConfigError(
            f"{redact_url(index)} has an index already", hint="import into a new one with --index"
        )
    count = sum(1 for _ in follow(import_index(folder, index), "documents"))
    encoded = embed(index, settings, as_json=call.as_json)
    if call.as_json:
        print_json({"documents": count, "folder": redact_url(index), "vectors": encoded})
        return
    vectors = f", vectors in {encoded['seconds']:.1f} s" if encoded else ""
    if settings.embedding.model == "none":
        vectors = ", no vectors: embedding.model is none"
    say(f"{counted(count, 'document')} read into {redact_url(index)}{vectors}")


@command("copy", index=False)
@argument("source", help="Folder or URL.")
@argument("target", help="Folder or URL.")
def copy(call: Call, source: str, target: str) -> None:
    """Copy an index to another folder or server, compared piece by piece; again to go on."""
    from pincite.maintain.copy import copy_index

    documents = new = chunks = 0
    with Bar("copying", None) as bar:
        for part in copy_index(source, target, call.settings.store):
            documents, chunks = part.done, chunks + part.chunks
            new += part.documents if part.is_new else 0
            bar.update(part.done, part.total)
    if call.as_json:
        report = {
            "source": redact_url(source),
            "target": redact_url(target),
            "documents": documents,
        }
        print_json({**report, "new": new, "chunks": chunks})
    else:
        words = f"{documents} documents, {chunks:,} chunks: {new} copied, the rest was there"
        say(f"{words}; both are the same: {redact_url(source)} → {redact_url(target)}")


@command("plan", index=False)
@argument("source", help="Folder or URL of an index.")
@option("--store", required=True, help="URL of the server that it is to live in.")
def plan(call: Call, source: str, store: str) -> None:
    """Say what copying an index into a server takes: a small part is copied, and removed again."""
    from pincite.maintain.plan import plan as measure

    found = measure(source, store, call.settings.store)
    if call.as_json:
        print_json(asdict(found))
        return
    disk = "its server does not say" if found.disk_mb is None else f"{found.disk_mb:,.0f} MB"
    low, high = found.reader_mb
    say(f"copied {found.sample:,} of {found.chunks:,} chunks in {found.sample_seconds:.0f} s")
    say(f"all of it: {found.seconds / 60:,.0f} minutes; disk of one copy: {disk}")
    say(
        f"memory of a reader: {low:,.0f} MB, {high:,.0f} MB with filters (arithmetic, not measured)"
    )


@command("publish")
@argument("url", help="mongodb://host:27017/database, or opensearch://host:9200/name.")
@option("--ruleset", default="", help="MongoDB: what the documents are called together.")
@option("--run", default="", help="MongoDB: name of the run; made of the generation.")
@option("--keep", type=click.IntRange(min=1), default=2, help="MongoDB: so many runs stay.")
def publish(call: Call, url: str, ruleset: str, run: str, keep: int) -> None:
    """Write chunks and vectors for other programs: to MongoDB with the graph, to OpenSearch."""
    if url.startswith("opensearch://"):
        _publish_index(call, url)
        return
    if not ruleset:
        raise ConfigError("a run of MongoDB has a ruleset", hint="add --ruleset NAME")
    from pincite.maintain.publish import publish as write_run

    store = call.settings.store
    done = write_run(call.index, url, ruleset, run_id=run, kept=keep, settings=store)
    if call.as_json:
        print_json(asdict(done))
        return
    words = f"run {done.run_id}: {done.books} books, {done.chunks:,} chunks, {done.edges:,} edges"
    say(f"{words} {'written to' if done.is_new else 'was already in'} {redact_url(url)}")
    if not done.is_validated:
        say("the server keeps no validators: it takes documents of any shape")


def _publish_index(call: Call, url: str) -> None:
    from pincite.maintain.open_mapping import publish_index

    done = publish_index(call.index, url, call.settings)
    if call.as_json:
        print_json(asdict(done))
        return
    words = f"{done.index}: {done.documents} documents, {done.chunks:,} chunks"
    if done.without_vectors:
        words += f", {done.without_vectors:,} of them without vectors"
    say(f"{words} {'written to' if done.is_new else 'were already in'} {redact_url(url)}")
