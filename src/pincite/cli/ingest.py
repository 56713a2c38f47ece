"""pincite ingest and remove: documents into an index and out of it."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pincite.cli.encoding import embed
from pincite.cli.options import PARTIAL, PATH, Call, argument, command, option
from pincite.cli.terminal import Bar, counted, print_json, say, tell
from pincite.model.errors import StoreError, redact_url

if TYPE_CHECKING:
    from pincite.update import Left, Outcome

WATCH_SECONDS = 1.0
REPORT_SECONDS = 5.0  # between two lines of progress where no bar can be drawn
MAX_KINDS = 5  # of files that were passed over, by name


@command("ingest")
@argument("paths", nargs=-1, required=True, type=PATH, help="Files and folders.")
@option("--rebuild", is_flag=True, help="Build the index anew.")
@option("--prune", is_flag=True, help="Remove documents that are no longer among the files.")
@option("--access", help='Tags of documents that name none, with commas; "" takes them away.')
@option("--patience", type=float, help="Minutes to wait for the encoder; 0: as long as it takes.")
@option("--watch", is_flag=True, help="Stay and follow the files; Ctrl-C ends it.")
def ingest(
    call: Call,
    paths: tuple[Path, ...],
    rebuild: bool,
    prune: bool,
    access: str | None,
    patience: float | None,
    watch: bool,
) -> int:
    """Read documents into the index; only what is new or changed costs time."""
    from pincite.cluster import connected

    if patience is not None:
        call = replace(call, sets=(*call.sets, f"embedding.max_minutes={patience}"))
    with ExitStack() as stack:
        stack.enter_context(connected(call.settings.cluster))  # once, for all that follows
        work = _Work(call, paths, access)
        seen = work.signature()  # before they are read: what changes meanwhile is read again
        done = work.update(rebuild=rebuild, prune=prune)
        while watch:
            time.sleep(WATCH_SECONDS)
            if work.is_there() and (found := work.signature()) != seen:
                seen = found
                work.update(follow=True)
    return PARTIAL if done["rejected"] or not work.files else 0


@dataclass
class _Work:
    """Files and the index that follows them, however often they change."""

    call: Call
    paths: tuple[Path, ...]
    access: str | None = None  # tags of what comes in
    files: list[tuple[Path, str]] = field(default_factory=list)
    others: list[Path] = field(default_factory=list)  # files of the folders that nobody can read
    is_missed: bool = False  # a path is gone, and that was told

    def is_there(self) -> bool:
        """Return whether all paths are there; one that is not may be a disk that is away.

        Nothing is taken out of the index for it.
        """
        gone = [path for path in self.paths if not path.exists()]
        if gone and not self.is_missed:
            tell(f"{gone[0]} is gone; its documents stay in the index until it is there again")
        self.is_missed = bool(gone)
        return not gone

    def signature(self) -> list[tuple[str, int, int]]:
        """Find the files anew; return what changes when one does, without reading it."""
        from pincite.read.load import find_files

        self.others.clear()
        self.files = find_files(self.paths, self.others)
        found = []
        for file, doc_id in self.files:
            with suppress(OSError):  # gone between listing and looking
                facts = file.stat()
                found.append((doc_id, facts.st_mtime_ns, facts.st_size))
        return found

    def update(
        self, *, rebuild: bool = False, prune: bool = False, follow: bool = False
    ) -> Counter[str]:
        """Bring the index up to date once, tell what happened, and return the counts.

        Args:
            follow: remove documents whose files were in the folders and are gone, and no others.
        """
        from pincite.store.location import exists
        from pincite.update import Outcome, iter_ingest, left_over
        from pincite.update import remove as take_out

        index, settings, as_json = self.call.index, self.call.settings, self.call.as_json
        start = time.perf_counter()
        stream = iter_ingest(
            self.files, index, settings, rebuild=rebuild, prune=prune, access=self.access
        )
        outcomes = list(_followed(stream, len(self.files), as_json=as_json))
        seconds = time.perf_counter() - start
        is_there = exists(index, settings.store)
        encoded = embed(index, settings, as_json=as_json) if is_there else None
        folders = [path for path in self.paths if path.is_dir()] if is_there else []
        left = left_over(index, settings.store, self.files, folders) if folders else None
        if follow and left and left.gone:
            gone = take_out(index, left.gone, settings.store)
            outcomes += [Outcome(doc_id, "removed") for doc_id in gone]
            left = replace(left, gone=())
        counts = Counter(str(outcome.status) for outcome in outcomes)
        (self._print_json if as_json else self._print)(outcomes, counts, seconds, encoded, left)
        return counts

    def _print_json(
        self,
        outcomes: list[Outcome],
        counts: Counter[str],
        seconds: float,
        encoded: dict[str, float | str] | None,
        left: Left | None,
    ) -> None:

        report: dict[str, Any] = {"index": redact_url(self.call.index), "counts": counts}
        report |= {"seconds": seconds, "vectors": encoded, "passed_over": len(self.others)}
        report |= {"gone": list(left.gone) if left else []}
        print_json({**report, "files": [asdict(outcome) for outcome in outcomes]})

    def _print(
        self,
        outcomes: list[Outcome],
        counts: Counter[str],
        seconds: float,
        encoded: dict[str, float | str] | None,
        left: Left | None,
    ) -> None:

        nodes = Counter(outcome.node for outcome in outcomes if outcome.node)
        if nodes:
            tell(", ".join(f"{counted(n, 'file')} by {node}" for node, n in sorted(nodes.items())))
        words = ", ".join(f"{n} {status}" for status, n in sorted(counts.items())) or "no files"
        chunks = counted(sum(outcome.chunks for outcome in outcomes), "chunk")
        vectors = f", vectors in {encoded['seconds']:.1f} s" if encoded else ""
        say(f"{words}; {chunks} in {seconds:.1f} s{vectors} → {redact_url(self.call.index)}")
        for line in _left_out(self.others, left):
            say(line, style="dim")
        _tell_gaps(self.call, [o.document for o in outcomes if o.status in ("added", "changed")])


def _followed(stream: Iterator[Outcome], total: int, *, as_json: bool) -> Iterator[Outcome]:
    """Yield the outcomes while telling how far the work is, and what was rejected."""
    with Bar("reading", total) as bar:
        start = last = time.perf_counter()
        nodes: set[str] = set()
        for done, outcome in enumerate(stream, 1):
            now = time.perf_counter()
            nodes |= {outcome.node} - {""}
            by = f" by {len(nodes)} nodes" if nodes else ""
            bar.update(done, note=f"{done / max(now - start, 1e-9):,.0f} files/s{by}")
            if not bar.is_drawn and now - last > REPORT_SECONDS:
                last = now
                tell(f"read {done} of {total} files")
            if outcome.status == "rejected" and not as_json:
                bar.clear()
                tell(("skipped:", "bold red"), f" {outcome.reason}")
                tell(f"         {outcome.hint}")
            yield outcome


def _left_out(others: list[Path], left: Left | None) -> Iterator[str]:
    """Yield what was not read, and what stays in the index though its file does not."""
    if others:
        kinds = Counter(file.suffix.lower() or "no ending" for file in others).most_common()
        words = ", ".join(f"{count} {kind}" for kind, count in kinds[:MAX_KINDS])
        more = ", …" if len(kinds) > MAX_KINDS else ""
        yield f"{counted(len(others), 'file')} of other kinds passed over: {words}{more}"
    if left and left.gone:
        are = counted(len(left.gone), "document is", "documents are")
        them = "it" if len(left.gone) == 1 else "them"
        also = ""
        if left.elsewhere:
            also = f", and {counted(left.elsewhere, 'other')} that came from elsewhere"
        yield f"{are} no longer there; --prune removes {them}{also}"


def _tell_gaps(call: Call, documents: list[str]) -> None:
    """Print one line about what the new documents lack, if they lack anything."""
    from pincite.cli.maintain import gaps_in_words
    from pincite.maintain.audit import audit
    from pincite.store.location import open_snapshot

    if not documents:
        return
    with open_snapshot(call.index, call.settings.store) as snapshot:
        report = audit(snapshot, documents)
    counts = report.counts()
    scans = [gap for gap in report.gaps if gap.kind == "scanned_page"]
    if scans:
        more = f" (and {counted(len(scans) - 1, 'document')} more)" if len(scans) > 1 else ""
        say(f"{scans[0].document}{more}: {scans[0].message}", style="yellow")
    if counts:
        words = ", ".join(gaps_in_words(kind, count) for kind, count in counts.items())
        say(f"gaps: {words}; see: pincite audit", style="yellow")


@command("remove", settings=False)
@argument("documents", nargs=-1, required=True, help="Documents, as 'pincite list' names them.")
def remove(call: Call, documents: tuple[str, ...]) -> None:
    """Take documents out of the index; the files stay where they are."""
    from pincite.update import remove as take_out

    gone = take_out(call.index, documents, call.settings.store)
    missing = [doc_id for doc_id in documents if doc_id not in gone]
    if missing:
        raise StoreError(f"not in the index: {', '.join(missing)}", hint="see: pincite list")
    if call.as_json:
        print_json({"removed": gone})
    else:
        say(f"removed {', '.join(gone)}")
