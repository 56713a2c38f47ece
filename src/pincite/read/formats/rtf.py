"""Rich Text Format: paragraphs, headings by outline level, printed list numbers, tables, notes."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from pincite.model.errors import SourceError
from pincite.model.types import ReaderWarning
from pincite.read.extracted import ExtractedText
from pincite.read.formats.blocks import (
    MAX_COLUMNS,
    BlockWriter,
    Inline,
    Row,
    TableText,
    one_line,
    titled,
)

MAX_DEPTH = 1_000
_TOKEN = re.compile(
    rb"\\(?P<word>[a-zA-Z]{1,32})(?P<number>-?\d{1,10})? ?|\\'(?P<hex>[0-9a-fA-F]{2})"
    rb"|\\(?P<sign>[^a-zA-Z])|(?P<group>[{}])|(?P<break>[\r\n]+)|(?P<text>[^\\{}\r\n]+)"
)
# Destinations whose words are no words of the text. Those behind \* are left out as well.
_LEFT_OUT = (
    *("colortbl", "info", "pict", "object", "header", "headerl", "headerr", "headerf", "footer"),
    *("footerl", "footerr", "footerf", "listtable", "listoverridetable", "xe", "rsidtbl", "tc"),
    *("generator", "themedata", "datastore", "latentstyles", "fldinst", "nonshppict", "private"),
    *("bkmkstart", "bkmkend", "colorschememapping", "revtbl", "filetbl", "xmlnstbl", "mmathPr"),
    *("atnid", "atnauthor", "annotation", "atrfstart", "atrfend"),
)
_TARGETS = {
    **dict.fromkeys(_LEFT_OUT, "out"),
    "stylesheet": "style",
    "fonttbl": "font",
    "listtext": "label",
    "pntext": "label",
}
_SIGNS = {
    "line": "\n", "tab": "\t", "emdash": "—", "endash": "–", "lquote": "‘", "rquote": "’",
    "ldblquote": "“", "rdblquote": "”", "bullet": "•", "emspace": " ", "enspace": " ",
    "qmspace": " ",
}  # fmt: skip
_ESCAPED = {b"~": " ", b"_": "-", b"-": "", b"{": "{", b"}": "}", b"\\": "\\"}
_CHARSETS = {
    0: "cp1252", 77: "mac_roman", 128: "cp932", 129: "cp949", 134: "gb2312", 136: "big5",
    161: "cp1253", 162: "cp1254", 163: "cp1258", 177: "cp1255", 178: "cp1256", 186: "cp1257",
    204: "cp1251", 222: "cp874", 238: "cp1250",
}  # fmt: skip
_HEADING = re.compile(r"(?:heading|überschrift|titre|titolo|título) ([1-9])", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _RtfState:
    """What a group of an RTF file hands down to the groups in it."""

    bold: bool = False
    italic: bool = False
    is_hidden: bool = False
    position: str = ""
    target: str = "text"  # "text", "out", "style", "font", "label", "note" or "title"
    encoding: str = "cp1252"
    skipped: int = 1  # characters that stand for one that is given by its number


def read(data: bytes, name: str) -> ExtractedText:
    """Return what the document shows."""
    if not data.lstrip().startswith(b"{\\rtf"):
        raise SourceError(f"{name} is no RTF file", hint="give the file its true ending")
    reader = _RtfReader(BlockWriter(name))
    reader.run(data)
    if reader.hidden:
        message = f"{reader.hidden:,} characters of hidden text were left out"
        reader.writer.find(ReaderWarning("hidden_text", message))
    return reader.writer.parsed(titled(name, one_line(reader.info_title), reader.first_heading))


@dataclass(slots=True)
class _RtfParagraph:
    """A paragraph that is being read."""

    words: Inline = field(default_factory=Inline)
    label: str = ""
    style: int = -1
    level: int = -1  # of its outline
    in_table: bool = False


class _RtfReader:
    """Goes through the tokens; braces save and restore how words look and where they go."""

    def __init__(self, writer: BlockWriter) -> None:
        self.writer = writer
        self.state = _RtfState()
        self.stack: list[_RtfState] = []
        self.paragraph = _RtfParagraph()
        self.pending = b""  # bytes of characters in the current encoding
        self.to_skip = 0
        self.half = 0  # the first half of a character beyond 16 bits
        self.styles: dict[int, str] = {}
        self.style_words, self.style_number = "", 0
        self.fonts: dict[int, str] = {}
        self.font = 0
        self.row: Row = []
        self.rows: list[Row] = []
        self.cell: list[str] = []
        self.notes: list[Inline] = []
        self.saved: list[_RtfParagraph] = []
        self.info_title = self.first_heading = ""
        self.hidden = 0

    def run(self, data: bytes) -> None:
        """Read all tokens."""
        at = 0
        while len(self.stack) <= MAX_DEPTH and (token := _TOKEN.match(data, at)):
            at = token.end()
            if token["word"] == b"bin":  # raw bytes follow
                at += max(0, int(token["number"] or 0))
            else:
                self.token(token)
        self.end_paragraph()
        self.end_table()
        for number, note in enumerate(self.notes, 1):
            self.writer.paragraph(f"[^{number}]: {note.text()}")

    def token(self, token: re.Match[bytes]) -> None:
        """Follow one token; line breaks of the file mean nothing."""
        if token["word"] is not None:
            self.control(token["word"].decode(), int(token["number"]) if token["number"] else None)
        elif token["group"] == b"{":
            self.flush()
            self.stack.append(self.state)
        elif token["group"] == b"}":
            self.close()
        elif token["hex"] is not None:
            self.text(bytes.fromhex(token["hex"].decode()))
        elif token["sign"] is not None:
            self.sign(token["sign"])
        elif token["text"] is not None:
            self.text(token["text"])

    def close(self) -> None:
        """Leave a group: a style or a note may be whole now."""
        self.flush()
        if not self.stack:
            return
        left, self.state = self.state, self.stack.pop()
        if left.target == "style" and self.style_words:
            self.styles[self.style_number] = self.style_words.strip(" ;")
            self.style_words, self.style_number = "", 0
        if left.target == "note" and self.state.target != "note" and self.saved:
            self.notes.append(self.paragraph.words)
            self.paragraph = self.saved.pop()

    def sign(self, sign: bytes) -> None:
        if sign == b"*":  # whoever does not know what follows leaves it out
            self.state = replace(self.state, target="out")
        elif sign in (b"\r", b"\n"):
            self.end_paragraph()
        elif sign in _ESCAPED:
            self.put(_ESCAPED[sign])

    def text(self, words: bytes) -> None:
        skipped = min(self.to_skip, len(words))
        self.to_skip -= skipped
        self.pending += words[skipped:]

    def flush(self) -> None:
        """Decode the bytes that wait."""
        if self.pending:
            pending, self.pending = self.pending, b""
            self.put(pending.decode(self.state.encoding, "replace"), is_flushed=True)

    def put(self, words: str, *, is_flushed: bool = False) -> None:
        if not is_flushed:
            self.flush()
        state, target = self.state, self.state.target
        if target == "style":
            self.style_words += words
        elif target == "label":
            self.paragraph.label += words
        elif target == "title":
            self.info_title += words
        elif target in ("text", "note"):
            if state.is_hidden:
                self.hidden += len(words)
            elif state.position == "super":
                self.paragraph.words.raised(words)
            elif state.position == "sub":
                self.paragraph.words.lowered(words)
            else:
                self.paragraph.words.add(words, bold=state.bold, italic=state.italic)

    def control(self, word: str, number: int | None) -> None:
        """Follow a control word; unknown ones mean nothing to us."""
        self.flush()
        if word in _SIGNS:
            self.put(_SIGNS[word])
        elif word == "u" and number is not None:
            self.unicode(number)
        elif word in _TARGETS:
            self.state = replace(self.state, target=_TARGETS[word])
        elif not any(f(word, number) for f in (self.destination, self.font_of, self.look)):
            self.structure(word, number)

    def unicode(self, number: int) -> None:
        code = number % 65_536
        if code in range(0xD800, 0xDC00):
            self.half = code
        elif code in range(0xDC00, 0xE000):
            if self.half:
                self.put(chr(0x10000 + ((self.half - 0xD800) << 10) + code - 0xDC00))
            self.half = 0
        else:
            self.put(chr(code))
        self.to_skip = self.state.skipped

    def destination(self, word: str, number: int | None) -> bool:
        """Follow a word that says where the words of its group go."""
        if word == "title" and self.state.target == "out":
            self.state = replace(self.state, target="title")
        elif word in ("footnote", "ftnalt") and self.state.target == "text":
            self.paragraph.words.add(f"[^{len(self.notes) + 1}]")
            self.saved.append(self.paragraph)
            self.paragraph = _RtfParagraph()
            self.state = replace(self.state, target="note")
        elif word in ("s", "cs", "ds", "ts") and self.state.target == "style":
            self.style_number = number or 0 if word == "s" else -2
        else:
            return False
        return True

    def font_of(self, word: str, number: int | None) -> bool:
        """Follow a word about fonts, which tell how bytes are to be read."""
        if word == "f" and number is not None:
            self.font = number
            if self.state.target != "font":
                encoding = self.fonts.get(number, self.state.encoding)
                self.state = replace(self.state, encoding=encoding)
        elif word == "fcharset" and self.state.target == "font":
            self.fonts[self.font] = _CHARSETS.get(number or 0, "cp1252")
        elif word in ("ansicpg", "mac"):
            encoding = _codec(f"cp{number}") if word == "ansicpg" else "mac_roman"
            self.state = replace(self.state, encoding=encoding)
        else:
            return False
        return True

    def look(self, word: str, number: int | None) -> bool:
        """Follow a word that says how words look."""
        is_on = number != 0
        if word == "b":
            self.change(bold=is_on)
        elif word == "i":
            self.change(italic=is_on)
        elif word == "v":
            self.change(is_hidden=is_on)
        elif word in ("super", "sub", "nosupersub"):
            self.change(position=word if word != "nosupersub" else "")
        elif word == "plain":
            self.change(bold=False, italic=False, is_hidden=False, position="")
        elif word == "uc":
            self.state = replace(self.state, skipped=min(max(number or 0, 0), 10))
        else:
            return False
        return True

    def change(self, **looks: Any) -> None:
        """Let words look otherwise; most words that say so change nothing."""
        if any(getattr(self.state, name) != value for name, value in looks.items()):
            self.state = replace(self.state, **looks)

    def structure(self, word: str, number: int | None) -> None:
        """Follow a word about paragraphs and tables."""
        paragraph, target = self.paragraph, self.state.target
        if word == "pard" and target in ("text", "note"):
            paragraph.style, paragraph.level, paragraph.in_table = -1, -1, False
        elif word == "s" and target in ("text", "note"):
            paragraph.style = number or 0
        elif word == "outlinelevel" and target == "text":
            paragraph.level = number or 0
        elif word == "intbl" and target == "text":
            paragraph.in_table = True
        elif word == "par" and target == "note":
            paragraph.words.add(" ")
        elif word in _ENDS and target == "text":
            _ENDS[word](self)

    def end_row(self) -> None:
        self.rows.append(self.row)
        self.row = []

    def end_cell(self) -> None:
        if len(self.row) >= MAX_COLUMNS:
            raise SourceError(
                f"{self.writer.name}: a table has more than {MAX_COLUMNS:,} columns",
                hint="leave the file out, or give its table as CSV",
            )
        words = f"{self.paragraph.label.strip()} {self.paragraph.words.text()}".strip()
        self.row.append(" ".join([*self.cell, words]).strip())
        self.cell = []
        self.paragraph = _RtfParagraph(in_table=True)

    def end_paragraph(self) -> None:
        self.flush()
        paragraph = self.paragraph
        self.paragraph = _RtfParagraph(
            style=paragraph.style, level=paragraph.level, in_table=paragraph.in_table
        )
        label, words = one_line(paragraph.label), paragraph.words
        if paragraph.in_table:
            if words.text():
                self.cell.append(f"{label} {words.text()}".strip())
            return
        self.end_table()
        level = paragraph.level
        if named := _HEADING.match(self.styles.get(paragraph.style, "")):
            level = int(named[1]) - 1
        if 0 <= level <= 8 and words.text():
            self.first_heading = self.first_heading or one_line(words.text(plain=True))
            self.writer.heading(level + 1, f"{label} {words.text(plain=True)}")
        elif label and words.text():
            self.writer.line(
                "-" if len(label) == 1 and not label.isalnum() else label, words.text(), 0
            )
        else:
            self.writer.paragraph(words.text())

    def end_table(self) -> None:
        if self.cell:  # a row that never ended
            self.row.append(" ".join(self.cell))
        rows = [*self.rows, self.row] if self.row else self.rows
        self.rows, self.row, self.cell = [], [], []
        width = max(map(len, rows), default=0)
        full = [row + [""] * (width - len(row)) for row in rows]
        if width == 1:
            for row in full:
                self.writer.paragraph(row[0])
        elif full:
            heads = min(1, len(full) - 1)
            self.writer.table(TableText(full[:heads], full[heads:]))


_ENDS: dict[str, Callable[[_RtfReader], None]] = {
    **dict.fromkeys(("par", "sect", "page"), _RtfReader.end_paragraph),
    **dict.fromkeys(("cell", "nestcell"), _RtfReader.end_cell),
    **dict.fromkeys(("row", "nestrow"), _RtfReader.end_row),
}


def _codec(name: str) -> str:
    try:
        codecs.lookup(name)
    except LookupError:
        return "cp1252"
    return name
