"""Bytes of a file to a parsed document: format, dates, access tags, structure, references."""

from __future__ import annotations

import hashlib
import os
import re
import stat
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from importlib import import_module
from itertools import chain, takewhile
from pathlib import Path

from pincite.model.dates import stated_dates
from pincite.model.editions import may_be_in_force
from pincite.model.errors import SourceError
from pincite.model.languages import detect_language, named_language
from pincite.model.settings import IngestSettings
from pincite.model.types import (
    Chunk,
    Document,
    Enrichment,
    Link,
    ParsedDocument,
    ReaderWarning,
    by_id,
)
from pincite.read.card import card_of
from pincite.read.chunks import chunks_of
from pincite.read.enrich.enrich import enrich
from pincite.read.enrich.profile import profile_for
from pincite.read.extracted import (
    PARAGRAPH,
    Block,
    Clause,
    ExtractedText,
    SourceIdentifier,
    decode,
    spared,
)
from pincite.read.formats.archive import gunzipped
from pincite.read.formats.plain import bare_words
from pincite.read.references.resolve import references
from pincite.read.structure.clauses import clause_tree, with_rows

# As YAML or TOML writes it: access: gm, "access": [gm], access = ["gm"].
_ACCESS = re.compile(r"[ \t]*[\"']?access[\"']?[ \t]*[:=](.*)", re.IGNORECASE)
_ITEM = re.compile(r"[ \t]*+-[ \t]++(.*)")
_TAG = r"""(?:"[^"]*+"|'[^']*+'|[^\s"'\[\]{}>|&*!,][^"'\[\]{},]*+)[ \t]*+"""
_LISTED = re.compile(rf"\[[ \t]*+(?:{_TAG}(?:,[ \t]*+|(?=\])))*+\]|(?:{_TAG}(?:,[ \t]*+|$))*+")
_ACCESS_INSIDE = re.compile(r"[ \t]*(?:-[ \t]*)?[{?].*?\baccess\b", re.IGNORECASE)
_VALUE = re.compile(r"[ \t]*(?:$|[\"']?[\w-]+[\"']?[ \t]*[:=]|-[ \t])")
_COMMENT = re.compile(r"(?:^|\s)#.*")
_FENCES = {"---": ("---", "..."), "+++": ("+++",)}  # of YAML and of TOML, with what ends them


def access_tags(text: str, name: str = "") -> dict[str, str]:
    """Return ``access`` with its tags, separated by commas; nothing where all may see it.

    Whoever writes ``access:`` wants to keep something back: one that names no tag, that stands in
    front matter without an end, or that is written in a way that is not read here, is refused.

    >>> access_tags("---\\ntitle: Plots\\naccess: [gm, author]\\n---\\n# Plots\\n")
    {'access': 'gm,author'}
    >>> access_tags("# Rules\\n")
    {}
    """
    lines, is_closed = _front_matter(text)
    for at, line in enumerate(lines):
        if found := _ACCESS.match(line):
            listed = [found.group(1)]
            for below in lines[at + 1 :]:
                item = _ITEM.match(below)
                if item is None:
                    break
                listed.append(item.group(1))
            if not is_closed:
                raise SourceError(
                    f"{name}: the front matter that names access has no end",
                    hint="write --- in a line of its own below it",
                )
            values = [_COMMENT.sub("", each).strip() for each in listed]
            if not all(map(_LISTED.fullmatch, values)):
                raise _unread(name)
            parts = (each.strip(" \t[]").split(",") for each in values)
            tags = [tag for part in chain(*parts) if (tag := part.strip(" \t\"'"))]
            if not tags:
                raise SourceError(
                    f"{name}: access names nobody", hint="write access: gm, or take the line out"
                )
            return {"access": ",".join(tags)}
        if is_closed and _ACCESS_INSIDE.match(line):
            raise _unread(name)
    return {}


def _unread(name: str) -> SourceError:
    return SourceError(
        f"{name}: the front matter names access in a way that is not read",
        hint="write the tags in one line: access: [staff, board]",
    )


def _front_matter(text: str) -> tuple[list[str], bool]:
    """Return the lines between two fences at the top, and whether the second one is there.

    Without it, the lines below the first that look like values of keys.
    """
    start = text.lstrip("\ufeff \t\r\n")
    ends = _FENCES.get(start[:3], ())
    lines = start.splitlines() if ends else []
    if not lines or _COMMENT.sub("", lines[0][3:]).strip().lower() not in ("", "yaml", "toml"):
        return [], False
    for at, line in enumerate(lines[1:], 1):
        if _COMMENT.sub("", line).rstrip() in ends:
            return lines[1:at], True
    return list(takewhile(_VALUE.match, lines[1:])), False


# The ending tells the format; its module is imported when the first such file comes.
READERS = {
    **dict.fromkeys((".md", ".markdown"), "formats.markdown"),
    **dict.fromkeys((".txt", ".text"), "formats.plain"),
    **dict.fromkeys((".csv", ".tsv"), "formats.csv"),
    **dict.fromkeys((".html", ".htm", ".xhtml"), "formats.html"),
    ".json": "formats.json",
    ".pdf": "pdf.reader",
    ".docx": "formats.docx",
    ".epub": "formats.epub",
    ".xml": "formats.laws_xml",
    **dict.fromkeys((".xlsx", ".xlsm"), "formats.xlsx"),
    ".ods": "formats.ods",
    ".odt": "formats.odt",
    ".pptx": "formats.pptx",
    ".rtf": "formats.rtf",
}
_IS_TEXT = (".md", ".markdown", ".txt", ".text", ".csv", ".tsv", ".json")
_HAS_WORDS = (".xml", ".docx", ".epub", ".odt", ".ods", ".pptx", ".xlsx", ".xlsm")
_NOTE = re.compile(r"note (\d{1,2}[a-z]?)(?!\w|\.\d)", re.IGNORECASE)
_HALF = re.compile("[\ud800-\udfff]")


def format_of(name: str) -> str:
    """Return the ending that tells a file's format; ``.gz`` only says that it is packed.

    >>> format_of("Rules.PDF"), format_of("policy.txt.gz")
    ('.pdf', '.txt')
    """
    path = Path(name.lower())
    return Path(path.stem).suffix if path.suffix == ".gz" else path.suffix


def reader_of(name: str) -> Callable[[bytes, str], ExtractedText]:
    """Return the reader for a file of this name; SourceError if there is none."""
    module = READERS.get(format_of(name))
    if module is None:
        raise SourceError(
            f"{name}: no reader for this kind of file",
            hint=f"known endings: {', '.join(sorted(READERS))}, and each of them with .gz",
        )
    read: Callable[[bytes, str], ExtractedText] = import_module(f"pincite.read.{module}").read
    if not name.lower().endswith(".gz"):
        return read
    return lambda data, name: read(gunzipped(data, name), name[:-3])


def parse(
    data: bytes, doc_id: str, settings: IngestSettings, *, source: str = "", kind: str = ""
) -> ParsedDocument:
    """Return the document in the bytes with all its chunks.

    ``kind`` is a name whose ending tells the format, where that of the id does not.
    """
    parsed, findings = _extracted(data, doc_id, kind)
    # Half of a character could not be written again.
    if half := _HALF.search(parsed.text) or _HALF.search(parsed.title):
        raise SourceError(
            f"{doc_id} has half of a character, U+{ord(half.group()):04X}, at {half.start():,}",
            hint="whatever wrote it cut a character in two: write it again",
        )
    card: dict[str, str] = {}
    with spared("the card", findings):
        title, card = card_of(parsed, kind or doc_id)
        parsed = replace(parsed, title=parsed.meta.get("title", title))
    if parsed.meta.keys().isdisjoint(("effective", "until")) and may_be_in_force(card):
        with spared("the dates in force", findings):
            card |= stated_dates(parsed.text, parsed.pages)
    document = Document(
        id=doc_id,
        text=parsed.text,
        title=parsed.title,
        meta={
            "sha256": hashlib.sha256(data).hexdigest(),
            "source": source,
            **card,
            **{key: value for key, value in parsed.meta.items() if key != "title"},
            "language": named_language(parsed.language) or detect_language(parsed.text),
            **access_tags(parsed.text, doc_id),
            **({"pages": str(parsed.pages)} if parsed.pages.starts else {}),
        },
    )
    clauses = _clauses(parsed, findings)
    chunks = tuple(chunks_of(document, clauses, parsed.pages, settings))
    links, facts = _enriched(document, chunks, settings, findings)
    identifiers = [*parsed.identifiers, *_notes(chunks)]
    for chunk_id, names in _identified(chunks, identifiers).items():
        facts[chunk_id] = replace(facts.get(chunk_id, Enrichment()), identifiers=tuple(names))
    boxes = tuple(parsed.boxes)
    return ParsedDocument(document, chunks, links, facts, findings=tuple(findings), boxes=boxes)


def _extracted(data: bytes, doc_id: str, kind: str) -> tuple[ExtractedText, list[ReaderWarning]]:
    """Return what the reader made of the bytes and what it noticed.

    Where it fails at a file whose words can be had without it, they are read without structure.
    """
    read, findings = reader_of(kind or doc_id), list[ReaderWarning]()
    ending = Path(kind or doc_id).suffix.lower()
    if ending not in (*_IS_TEXT, *_HAS_WORDS):
        parsed = read(data, doc_id)
        return parsed, list(parsed.findings)
    with spared("the structure of the text", findings):
        parsed = read(data, doc_id)
        return parsed, list(parsed.findings)
    text = decode(data, doc_id) if ending in _IS_TEXT else bare_words(data, doc_id)
    if not text:
        raise SourceError(f"{doc_id} has no text", hint=findings[0].message)
    blocks = [Block("paragraph", *found.span()) for found in PARAGRAPH.finditer(text)]
    return ExtractedText(text, Path(doc_id).stem, blocks), findings


def _clauses(parsed: ExtractedText, findings: list[ReaderWarning]) -> list[Clause]:
    """Return the clause tree with its rows; where all of it fails, the document is one place."""
    text, title = parsed.text, parsed.title
    clauses = [Clause("document", "", "", title, 0, len(text), len(text), -1, ())]
    with spared("headings and numbering", findings):
        clauses = clause_tree(text, parsed.blocks, title, findings)
    with spared("rows of tables", findings):
        clauses = with_rows(text, clauses, findings)
    return clauses


def _notes(chunks: Sequence[Chunk]) -> Iterator[SourceIdentifier]:
    """Yield the numbers of notes to statements: "Note 9" is a name of "Note 9 – Leases".

    It is no word of the grammar of headings, or statements above the notes would be parts of one.
    """
    for chunk in chunks:
        if chunk.kind == "section" and (found := _NOTE.match(chunk.title)):
            yield SourceIdentifier(f"Note {found[1]}", chunk.span.start, chunk.span.end)


def _identified(
    chunks: Sequence[Chunk], identifiers: Sequence[SourceIdentifier]
) -> dict[str, dict[str, None]]:
    """Return the source's names for chunks by id: each leads to the smallest that holds it all."""
    places = [chunk for chunk in chunks if chunk.kind != "piece"]
    known = by_id(places)
    starts = [chunk.span.start for chunk in places]
    found: dict[str, dict[str, None]] = {}
    for each in identifiers:
        chunk = places[bisect_right(starts, each.start) - 1]
        while chunk.span.end < each.end and chunk.parent:
            chunk = known[chunk.parent]
        found.setdefault(chunk.id, {})[each.name] = None
    return found


def _enriched(
    document: Document,
    chunks: Sequence[Chunk],
    settings: IngestSettings,
    findings: list[ReaderWarning],
) -> tuple[tuple[Link, ...], dict[str, Enrichment]]:
    """Return the edges that start in a document and what is known of its places."""
    if settings.profile == "none":
        return (), {}
    places = [chunk for chunk in chunks if chunk.kind != "piece"]
    # A row is about what its table is about.
    told = [chunk for chunk in places if chunk.kind != "row"]
    facts: dict[str, Enrichment] = {}
    links: list[Link] = []
    with spared("references", findings):
        links += references(document, places, findings)
    with spared("kinds, terms and traits", findings):
        facts, drawn = enrich(document, told, profile_for(settings.profile, document, told))
        links += drawn
    return tuple(links), facts


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
            f"{file.name} has {size / 1e6:,.0f} MB, more than limits.file_mb = {max_mb:g}",
            hint=f"split it, or allow it: --set limits.file_mb={size // 1_000_000 + 1}",
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
            if name.startswith(".") or not file.is_file():  # neither is a link to itself
                continue
            if file.is_symlink() and not file.resolve().is_relative_to(root):  # leads out
                continue
            if format_of(name) in READERS:
                yield file
            else:
                passed_over.append(file)
