"""Small made documents, and an index of them in a folder to compare others with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from pincite.index.builder import IndexBuilder
from pincite.maintain.exchange import export_index
from pincite.model.settings import Settings
from pincite.model.types import Chunk, Document, ParsedDocument, Span
from pincite.read.load import parse
from pincite.store.location import Location, open_snapshot

_THINGS = ("boiler", "ladder", "vessel", "antenna", "crane", "tunnel", "furnace", "harbour")
_VERBS = ("inspect", "repair", "register", "label", "ventilate", "measure")


def rules(number: int, sections: int = 6) -> str:
    """Return a small code of rules; every number gives another one."""
    thing, other = _THINGS[number % 8], _THINGS[(number + 3) % 8]
    lines = [f"# Part {number} The {thing} code", ""]
    for section in range(1, sections + 1):
        verb = _VERBS[(number + section) % 6]
        lines += [
            f"## {number}.{section} Duty to {verb}",
            "",
            f"The owner shall {verb} every {thing} within {section + number} days, "
            f"as {number}.{section % sections + 1} says.",
            "",
            f"(a) A {thing} near a {other} needs {section * 10} mm of clearance.",
            "",
            f"(b) Exception: a {other} that is out of use needs no {verb}ing.",
            "",
        ]
    lines += ["| class | days |", "| --- | --- |", f"| small {thing} | {number} |", ""]
    return "\n".join(lines)


def library(size: int = 9) -> dict[str, str]:
    """Return the texts of some documents by name, in several languages and scripts."""
    texts = {f"codes/part-{number}.md": rules(number) for number in range(1, size)}
    texts["notes/Ünïcode – Ω 漢字 🚢.md"] = (
        "# Notes – Ω\n\nThe vessel “Ørsted” 🚢 has a 漢字 name; שלום; naïve café.\n\n"
        "## " + "long heading " * 40 + "\n\nA furnace of 5 µm.\n"
    )
    texts["notes/langue.md"] = (
        "# Le code des navires\n\n## 1.1 Devoirs du capitaine\n\nLe capitaine doit inspecter "
        "chaque navire dans les dix jours, et il doit noter les défauts dans le registre.\n"
    )
    return texts


def loaded(name: str, text: str, settings: Settings, **meta: str) -> ParsedDocument:
    """Return a text as it is read, with more facts about it."""
    found = parse(text.encode(), name, settings.ingest)
    document = replace(found.document, meta={**found.document.meta, **meta})
    return replace(found, document=document)


def lines_of(document: Document) -> list[Chunk]:
    """Return the lines of a document as chunks."""
    chunks, at = [], 0
    for number, line in enumerate(document.text.splitlines(keepends=True)):
        span = Span(document.id, at, at + len(line))
        at = span.end
        name = f"line {number}"
        chunks.append(Chunk(f"{number:016x}", span, line, "text", name, "", (), at))
    return chunks


def build(location: Location, texts: Mapping[str, str], settings: Settings | None = None) -> None:
    """Put documents into an index, all with one commit."""
    settings = settings or Settings()
    with IndexBuilder(location, settings) as builder:
        for name, text in texts.items():
            builder.put(loaded(name, text, settings))
        builder.flush()


def exported(location: Location, folder: Path) -> dict[str, bytes]:
    """Return an index as the bytes of its plain files."""
    with open_snapshot(location) as snapshot:
        for _ in export_index(snapshot, folder):
            pass
    return {file.name: file.read_bytes() for file in sorted(folder.iterdir())}
