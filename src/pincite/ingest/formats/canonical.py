"""The canonical text: what readers of structured formats write, with its blocks."""

from __future__ import annotations

import re

from pincite.core.errors import SourceError
from pincite.ingest.formats.grid import TableText, pipe_table
from pincite.ingest.formats.inline import one_line
from pincite.ingest.parsed import Finding, Parsed
from pincite.ingest.tree import Block, BlockKind

TITLE_CHARS = 120
# A document of more words than any book; repeated cells could make a small file as long.
MAX_CHARS = 100_000_000
MAX_FINDINGS = 100
# What Markdown takes for a list; "(a)" and "a." are paragraphs to it.
_LIST_MARKER = re.compile(r"[-*+]|[0-9]{1,9}[.)]")


class Writer:
    """Writes a document from top to bottom.

    >>> writer = Writer("rules.html")
    >>> writer.heading(2, "4.2 Fees")
    >>> writer.paragraph("(a) None.")
    >>> writer.line("-", "One", 0)
    >>> parsed = writer.parsed("Rules")
    >>> parsed.text
    '## 4.2 Fees\\n\\n(a) None.\\n\\n- One\\n'
    >>> [block.kind for block in parsed.blocks]
    ['heading', 'paragraph', 'list']
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.findings: list[Finding] = []
        self._parts: list[str] = []
        self._length = 0
        self._blocks: list[Block] = []

    def heading(self, level: int, words: str) -> None:
        """Write a heading; one without words is left out."""
        if words := one_line(words):
            self._put("heading", f"{'#' * min(level, 6)} {words}", level=level)

    def paragraph(self, words: str) -> None:
        """Write a paragraph; line breaks in it stay."""
        if words := words.strip():
            self._put("paragraph", words)

    def item(self, label: str, words: str, depth: int, *, name: str = "") -> None:
        """Write an item that is known to open at a depth; ``name`` replaces the label in locators.

        A definition has a name, the term, and no label.
        """
        if line := f"{label} {words}".strip():
            self._put("item", line, level=depth, label=name or label)

    def line(self, marker: str, words: str, depth: int, *, goes_on: bool = False) -> None:
        """Write a line of a list, or one more paragraph of its item."""
        if not words.strip():
            return
        if not _LIST_MARKER.fullmatch(marker):
            self.paragraph(words if goes_on else f"{marker} {words}")
            return
        indent = "   " * depth
        inner = "\n".join(one_line(part) for part in words.split("\n"))
        inner = inner.replace("\n", f"\n{indent}   ")
        self._put("list", f"{indent}   {inner}" if goes_on else f"{indent}{marker} {inner}")

    def code(self, words: str) -> None:
        """Write lines as they are."""
        if words.strip():
            fence = "`" * max(3, 1 + max(map(len, re.findall("`+", words)), default=0))
            self._put("code", f"{fence}\n{words.strip(chr(10))}\n{fence}")

    def table(self, table: TableText) -> None:
        """Write a table with its caption above and its notes below."""
        if not any(any(row) for row in (*table.head, *table.body)):
            return
        self.caption(table.caption)
        self._put("table", pipe_table(table))
        for note in table.notes:
            is_starred = note.startswith("*") and not note.startswith("**")
            self.paragraph(f"\\{note}" if is_starred else note)

    def caption(self, words: str) -> None:
        """Write the caption of a table that follows."""
        if words := one_line(words.replace("*", "")):
            self._put("paragraph", f"**{words}**")

    def find(self, finding: Finding) -> None:
        """Keep something that the user should know."""
        if len(self.findings) < MAX_FINDINGS:
            self.findings.append(finding)

    def parsed(self, title: str, language: str = "") -> Parsed:
        """Return the document; SourceError if it has no words."""
        if not self._blocks:
            raise SourceError(f"{self.name} has no text", hint="check how it was exported")
        text = "".join(self._parts) + "\n"
        title = one_line(title)[:TITLE_CHARS]
        return Parsed(text, title, self._blocks, findings=self.findings, language=language)

    def _put(self, kind: BlockKind, words: str, *, level: int = 0, label: str = "") -> None:
        goes_on = kind == "list" and bool(self._blocks) and self._blocks[-1].kind == "list"
        before = "" if not self._blocks else "\n" if goes_on else "\n\n"
        self._parts += (before, words)
        start = self._length + len(before)
        self._length = start + len(words)
        if self._length > MAX_CHARS:
            raise SourceError(
                f"{self.name} has more than {MAX_CHARS // 1_000_000} million characters of text",
                hint="split it",
            )
        if goes_on:
            start = self._blocks.pop().start
        lead = len(words) - len(words.lstrip()) if not goes_on else 0
        self._blocks.append(Block(kind, start + lead, self._length, level, label))


def titled(name: str, *candidates: str | None) -> str:
    """Return the first candidate that says something, else the file's name without ending."""
    for candidate in candidates:
        if candidate and candidate.strip():
            return candidate
    return re.sub(r"\.[^.]*$", "", name.rpartition("/")[2])
