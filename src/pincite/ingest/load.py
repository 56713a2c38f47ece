"""From a file on disk to a document with its chunks, or one SourceError that says why not."""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import import_module
from pathlib import Path

from pincite.core.errors import SourceError
from pincite.core.languages import detect_language, named_language
from pincite.core.settings import IngestSettings
from pincite.core.types import Chunk, Document, Facts, Link, Loaded
from pincite.ingest.access import access_tags
from pincite.ingest.chunking import chunks_of
from pincite.ingest.dates import stated_dates
from pincite.ingest.enrichment.enrich import enrich
from pincite.ingest.enrichment.profile_choice import profile_for
from pincite.ingest.parsed import Parsed
from pincite.ingest.references.find import references
from pincite.ingest.structure.clauses import clause_tree
from pincite.ingest.structure.rows import with_rows

# The ending tells the format; its module is imported when the first such file comes.
READERS = {
    **dict.fromkeys((".md", ".markdown"), "markdown"),
    **dict.fromkeys((".txt", ".text"), "plain"),
    **dict.fromkeys((".csv", ".tsv"), "csv_table"),
    **dict.fromkeys((".html", ".htm", ".xhtml"), "html"),
    ".json": "json_pages",
    ".pdf": "pdf",
    ".docx": "docx.reader",
    ".xml": "laws_xml",
}
_HALF = re.compile("[\ud800-\udfff]")


def reader_of(name: str) -> Callable[[bytes, str], Parsed]:
    """Return the reader for a file of this name; SourceError if there is none."""
    module = READERS.get(Path(name).suffix.lower())
    if module is None:
        raise SourceError(
            f"{name}: no reader for this kind of file",
            hint=f"known endings: {', '.join(sorted(READERS))}",
        )
    read: Callable[[bytes, str], Parsed] = import_module(f"pincite.ingest.formats.{module}").read
    return read


def parse(
    data: bytes, doc_id: str, settings: IngestSettings, *, source: str = "", kind: str = ""
) -> Loaded:
    """Return the document in the bytes with all its chunks.

    ``kind`` is a name whose ending tells the format, where that of the id does not.
    """
    parsed = reader_of(kind or doc_id)(data, doc_id)
    # Half of a character could not be written again.
    if half := _HALF.search(parsed.text) or _HALF.search(parsed.title):
        raise SourceError(
            f"{doc_id} has half of a character, U+{ord(half.group()):04X}, at {half.start():,}",
            hint="whatever wrote it cut a character in two: write it again",
        )
    document = Document(
        id=doc_id,
        text=parsed.text,
        title=parsed.title,
        meta={
            "sha256": hashlib.sha256(data).hexdigest(),
            "source": source,
            **(parsed.meta or stated_dates(parsed.text, parsed.pages)),
            "language": named_language(parsed.language) or detect_language(parsed.text),
            **access_tags(parsed.text, doc_id),
        },
    )
    clauses = with_rows(parsed.text, clause_tree(parsed.text, parsed.blocks, parsed.title))
    chunks = tuple(chunks_of(document, clauses, parsed.pages, settings))
    links, facts = _enriched(document, chunks, settings)
    findings, boxes = tuple(parsed.findings), tuple(parsed.boxes)
    return Loaded(document, chunks, links, facts, findings=findings, boxes=boxes)


def _enriched(
    document: Document, chunks: Sequence[Chunk], settings: IngestSettings
) -> tuple[tuple[Link, ...], dict[str, Facts]]:
    """Return the edges that start in a document and what is known of its places."""
    if settings.profile == "none":
        return (), {}
    places = [chunk for chunk in chunks if chunk.kind != "piece"]
    # A row is about what its table is about.
    told = [chunk for chunk in places if chunk.kind != "row"]
    facts, links = enrich(document, told, profile_for(settings.profile, document, told))
    return (*references(document, places), *links), facts


def read_bytes(file: Path, *, max_mb: float) -> bytes:
    """Return the file's bytes if it can be read and is of a sensible size."""
    try:
        # What is looked at is what is read; and opening a pipe must not wait for its other end.
        opened = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            facts = os.fstat(opened)
            if not stat.S_ISREG(facts.st_mode):
                raise SourceError(f"{file} is not a file", hint="name files, or folders of files")
            _check_size(file, facts.st_size, max_mb)
            with os.fdopen(opened, "rb", closefd=False) as stream:
                data = stream.read(int(max_mb * 1e6) + 1)
            _check_size(file, len(data), max_mb)  # it may have grown
            return data
        finally:
            os.close(opened)
    except OSError as error:
        raise SourceError(
            f"{file} cannot be read: {error.strerror}", hint="check the path and its permissions"
        ) from error


def _check_size(file: Path, size: int, max_mb: float) -> None:
    if size > max_mb * 1e6:
        raise SourceError(
            f"{file.name} has {size / 1e6:,.0f} MB, more than limits.max_file_mb = {max_mb:g}",
            hint=f"split it, or allow it: --set limits.max_file_mb={size // 1_000_000 + 1}",
        )


def find_files(
    paths: str | Path | Iterable[str | Path], passed_over: list[Path] | None = None
) -> list[tuple[Path, str]]:
    """Return the files to read with their document ids: paths relative to what was named.

    Files in a folder are taken if there is a reader for them; a file named directly is always
    taken, so that one without a reader is reported. Hidden files and folders are passed over, and
    so are an index that stands among its documents and links that lead out of the folder: an
    unpacked archive must not bring in files of its reader's.

    Files of folders for which there is no reader are put into ``passed_over``.
    """
    found: list[tuple[Path, str]] = []
    for path in map(Path, [paths] if isinstance(paths, str | Path) else paths):
        if path.is_dir():
            inside = sorted(_files_in(path, [] if passed_over is None else passed_over))
            found += [(file, file.relative_to(path).as_posix()) for file in inside]
        else:
            found.append((path, path.name))
    return found


def _files_in(folder: Path, passed_over: list[Path]) -> Iterator[Path]:
    root = folder.resolve()
    for home, folders, names in os.walk(folder):
        here = Path(home)
        folders[:] = [
            name
            for name in folders
            if not name.startswith(".") and not (here / name / "write.lock").exists()
        ]
        for name in names:
            file = here / name
            leads_out = file.is_symlink() and not file.resolve().is_relative_to(root)
            if name.startswith(".") or not file.is_file() or leads_out:
                continue
            if file.suffix.lower() in READERS:
                yield file
            else:
                passed_over.append(file)
