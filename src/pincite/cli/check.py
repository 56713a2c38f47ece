"""pincite check: does what a text says of its sources stand there?"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pincite.cli.options import PATH, Call, argument, command, option, write_text
from pincite.cli.terminal import counted, print_json, say, tell
from pincite.model.errors import SourceError

if TYPE_CHECKING:
    from pincite.api import Index
    from pincite.check.values import CheckedClaim, CheckReport
    from pincite.model.settings import Settings

FAILED = 1  # exit code: something does not hold
MAX_PICTURES = 20  # of pages, in a report
PICTURE_WIDTH = 800
MAX_SHOWN = 300  # characters of a claim or of its source
_READ_AS_IT_IS = (".md", ".markdown", ".txt", ".text", ".rst", ".tex", "")


@command("check")
@argument("file", type=PATH, help="Text, Markdown, HTML, Word, PDF, ...; - for standard input.")
@option("--all", "is_all", is_flag=True, help="Print what holds as well.")
@option("--sarif", type=PATH, help="Write what fails for continuous integration.")
@option("--html", type=PATH, help="Write a page with each claim beside its source.")
def check(call: Call, file: Path, is_all: bool, sarif: Path | None, html: Path | None) -> int:
    """Check every quotation, number and citation of a text against the documents.

    Ends with 1 if something does not hold.
    """
    from pincite.api import Index
    from pincite.check import report as reports

    text = _text_of(file, call.settings)
    with Index.open(call.index, call.settings) as opened:
        report = opened.check(text)
        pictures = _pictures(opened, report) if html is not None else {}
    name = "-" if str(file) == "-" else file.name
    if sarif is not None:
        from pincite.cli.terminal import json_line

        write_text(sarif, json_line(reports.sarif(report, text, name)) + "\n")
    if html is not None:
        write_text(html, reports.html(report, name, pictures, text))
    if call.as_json:
        print_json(report.plain())
    else:
        _print_report(report, text, is_all=is_all)
    return FAILED if report.failed else 0


def _pictures(opened: Index, report: CheckReport) -> dict[tuple[str, int], bytes]:
    """Return the pages of PDFs that the report is about, what failed first; as many as fit."""
    from pincite.serve.page.drawing import Drawing
    from pincite.store.snapshot import source_file

    drawn: dict[tuple[str, int], bytes] = {}
    drawing = Drawing()
    try:
        for claim in sorted(report.claims, key=lambda each: not each.failed):
            source = claim.evidence
            if source is None or source.page is None or len(drawn) >= MAX_PICTURES:
                continue
            meta = opened.snapshot.meta(source.document) or {}
            key = source.document, source.page
            if key in drawn or not meta.get("source") or not key[0].lower().endswith(".pdf"):
                continue
            file = source_file(meta, opened.snapshot.folder)
            try:
                drawn[key] = drawing.picture(file, meta["sha256"], source.page, PICTURE_WIDTH)
            except SourceError as error:
                tell(f"note: {error.message}")
                break
    finally:
        drawing.close()
    return drawn


def _text_of(file: Path, settings: Settings) -> str:
    """Return the words of a file; text as it stands, all else as the readers see it."""
    from pincite.read.load import read_bytes
    from pincite.read.workers import ParseTask, WorkerPool

    if str(file) == "-":
        return sys.stdin.buffer.read(int(settings.limits.file_mb * 1e6)).decode(errors="replace")
    data = read_bytes(file, max_mb=settings.limits.file_mb)
    if file.suffix.lower() in _READ_AS_IT_IS:
        return data.decode(errors="replace")
    task = ParseTask(file.name, data, str(file), len(data))
    with WorkerPool(settings, workers=1) as pool:
        for _, found in pool.parse([task]):
            if isinstance(found, SourceError):
                raise found
            if found is not None:
                return found.document.text
    raise SourceError(f"{file} cannot be read", hint="see docs/formats.md")


def _print_report(report: CheckReport, text: str, *, is_all: bool) -> None:
    from pincite.check.report import NAMES, line_of, position

    starts = line_of(text)
    for claim in report.claims:
        if is_all or claim.failed:
            words, colour = NAMES[claim.verdict]
            line, column = position(starts, claim.start)
            say((f"{line}:{column} ", "dim"), (words, f"bold {colour}"), f"  {_short(claim.text)}")
            _print_why(claim)
    for note in report.notes:
        tell(f"note: {note}")
    counts = ", ".join(f"{count} {NAMES[verdict][0]}" for verdict, count in report.counts.items())
    say((f"{counted(len(report.claims), 'claim')}: {counts or 'nothing to check'}", "bold"))


def _print_why(claim: CheckedClaim) -> None:
    for change in claim.changes:
        say("    ", (change.written or "(nothing)", "red strikethrough"), " → ",
            (change.source or "(nothing)", "green"))  # fmt: skip
    if claim.reason:
        say(f"    {_short(claim.reason)}", style="dim")
    if claim.evidence is not None:
        say(f"    {claim.evidence.citation}", style="dim")
        if claim.failed:
            say(f"    {_short(claim.evidence.text)}", style="dim")


def _short(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= MAX_SHOWN else f"{words[: MAX_SHOWN - 1]}…"
