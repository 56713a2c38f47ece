"""pincite ingest: files and folders into an index."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pincite.cli.audit import gaps_in_words
from pincite.cli.encoding import embed
from pincite.cli.options import (
    DEFAULT_INDEX,
    ConfigOption,
    IndexOption,
    JsonOption,
    SetOption,
    counted,
    err,
    out,
    print_json,
    settings_from,
    told,
)
from pincite.core.locations import redact_url

if TYPE_CHECKING:
    from pincite.core.settings import Settings
    from pincite.update import Left, Outcome

WATCH_SECONDS = 1.0
MOST_KINDS = 5  # of files that were passed over, by name
PARTIAL = 3  # exit code: some files were rejected, the rest is in the index


def ingest(
    paths: Annotated[list[Path], typer.Argument(help="Files and folders.", show_default=False)],
    index: IndexOption = DEFAULT_INDEX,
    rebuild: Annotated[bool, typer.Option("--rebuild", help="Build the index anew.")] = False,
    prune: Annotated[
        bool, typer.Option("--prune", help="Remove documents that are no longer among the files.")
    ] = False,
    watch: Annotated[
        bool, typer.Option("--watch", help="Stay and follow the files; Ctrl-C ends it.")
    ] = False,
    config: ConfigOption = None,
    sets: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Read documents into the index; only what is new or changed costs time."""
    from pincite import update
    from pincite.cluster import connected

    with told(as_json=as_json, index=index), ExitStack() as stack:
        settings = settings_from(config, sets)
        stack.enter_context(connected(settings.cluster))  # once, for all that follows
        others: list[Path] = []
        files = update.find_files(paths, others)
        work = _Work(index, settings, paths, others)
        counts = _once(files, work, rebuild=rebuild, prune=prune, as_json=as_json)
        seen = _signature(files)
        while watch:
            time.sleep(WATCH_SECONDS)
            others.clear()
            files = update.find_files(paths, others)
            if _signature(files) != seen:
                seen = _signature(files)
                _once(files, work, rebuild=False, prune=True, as_json=as_json)
    if counts["rejected"] or not files:
        raise typer.Exit(PARTIAL)


@dataclass(frozen=True, slots=True)
class _Work:
    """What stays the same however often the files change."""

    index: str
    settings: Settings
    paths: list[Path]
    others: list[Path]  # files of the folders that nobody can read


def _signature(files: list[tuple[Path, str]]) -> list[tuple[str, int, int]]:
    """Return what changes when a file does, without reading it."""
    found = []
    for file, doc_id in files:
        with suppress(OSError):  # gone between listing and looking
            facts = file.stat()
            found.append((doc_id, facts.st_mtime_ns, facts.st_size))
    return found


def _once(
    files: list[tuple[Path, str]], work: _Work, *, rebuild: bool, prune: bool, as_json: bool
) -> Counter[str]:
    """Bring the index up to date once, tell what happened, and return the counts."""
    from pincite import update
    from pincite.store.location import exists

    index, settings = work.index, work.settings
    start = time.perf_counter()
    outcomes = []
    stream = update.ingest_files(files, index, settings, rebuild=rebuild, prune=prune)
    for outcome in _with_progress(stream, files):
        outcomes.append(outcome)
        if outcome.status == "rejected" and not as_json:
            err.print(f"[bold red]skipped:[/] {_plain(outcome.reason)}", soft_wrap=True)
            err.print(f"         {_plain(outcome.hint)}", soft_wrap=True)
    seconds = time.perf_counter() - start
    counts = Counter(str(outcome.status) for outcome in outcomes)
    is_there = exists(index, settings.store)
    encoded = embed(index, settings, as_json=as_json) if is_there else None
    folders = [path for path in work.paths if path.is_dir()] if is_there else []
    left = update.left_over(index, settings.store, files, folders) if folders else None
    if as_json:
        report = {
            "index": redact_url(index),
            "counts": counts,
            "seconds": seconds,
            "vectors": encoded,
        }
        report |= {"passed_over": len(work.others), "gone": list(left.gone) if left else []}
        print_json({**report, "files": [asdict(outcome) for outcome in outcomes]})
    else:
        chunks = sum(outcome.chunks for outcome in outcomes)
        words = ", ".join(f"{n} {status}" for status, n in sorted(counts.items())) or "no files"
        vectors = f", vectors in {encoded['seconds']:.1f} s" if encoded else ""
        nodes = Counter(outcome.node for outcome in outcomes if outcome.node)
        if nodes:
            read = ", ".join(
                f"{counted(count, 'file')} by {node}" for node, count in sorted(nodes.items())
            )
            err.print(read, markup=False, soft_wrap=True)
        summary = (
            f"{words}; {counted(chunks, 'chunk')} in {seconds:.1f} s{vectors} → {redact_url(index)}"
        )
        out.print(summary, markup=False, soft_wrap=True)
        for line in _left_out(work.others, left):
            out.print(line, markup=False, style="dim", soft_wrap=True)
        _tell_gaps(
            index, settings, [o.document for o in outcomes if o.status in ("added", "changed")]
        )
    return counts


def _left_out(others: list[Path], left: Left | None) -> Iterator[str]:
    """Yield what was not read, and what stays in the index though its file does not."""
    if others:
        kinds = Counter(file.suffix.lower() or "no ending" for file in others).most_common()
        words = ", ".join(f"{count} {kind}" for kind, count in kinds[:MOST_KINDS])
        more = ", …" if len(kinds) > MOST_KINDS else ""
        yield f"{counted(len(others), 'file')} of other kinds passed over: {words}{more}"
    if left and left.gone:
        are = counted(len(left.gone), "document is", "documents are")
        them = "it" if len(left.gone) == 1 else "them"
        also = ""
        if left.elsewhere:
            also = f", and {counted(left.elsewhere, 'other')} that came from elsewhere"
        yield f"{are} no longer there; --prune removes {them}{also}"


def _tell_gaps(index: str, settings: Settings, documents: list[str]) -> None:
    """Print one line about what the new documents lack, if they lack anything."""
    from pincite.audit import audit
    from pincite.store.location import open_snapshot

    if not documents:
        return
    with open_snapshot(index, settings.store) as snapshot:
        counts = audit(snapshot, documents).counts()
    if counts:
        words = ", ".join(gaps_in_words(kind, count) for kind, count in counts.items())
        out.print(f"gaps: {words}; see: pincite audit", style="yellow", soft_wrap=True)


def _plain(text: str) -> str:
    from rich.markup import escape

    return escape(text)


def _with_progress(outcomes: Iterator[Outcome], files: list[tuple[Path, str]]) -> Iterator[Outcome]:
    """Yield the outcomes while drawing how far the work is, with rate and time left."""
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("reading"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
    )
    with Progress(
        *columns, console=err, transient=True, disable=not err.is_terminal, auto_refresh=False
    ) as progress:
        task = progress.add_task("reading", total=len(files), rate="")
        start = last = time.perf_counter()
        nodes: set[str] = set()
        for done, outcome in enumerate(outcomes, 1):
            now = time.perf_counter()
            nodes |= {outcome.node} - {""}
            rate = f"{done / max(now - start, 1e-9):,.0f} files/s"
            if nodes:
                rate += f" by {len(nodes)} nodes"
            progress.update(task, advance=1, rate=rate)
            progress.refresh()  # by hand: a thread that does it would make starting readers slow
            if not err.is_terminal and now - last > 5:
                last = now
                err.print(f"read {done} of {len(files)} files", soft_wrap=True)
            yield outcome
