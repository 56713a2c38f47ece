"""The words of a Word paragraph: runs, tracked changes, fields, footnote marks, text boxes."""

from __future__ import annotations

from dataclasses import dataclass, field

from pincite.ingest.formats.docx.archive import W, is_on, value
from pincite.ingest.formats.docx.styles import Styles
from pincite.ingest.formats.inline import Inline
from pincite.ingest.formats.xml import Element, elements, local_name

_SIGNS = {"tab": " ", "br": "\n", "cr": "\n", "noBreakHyphen": "-", "ptab": " "}
# Deleted words, instructions, and the second version of what newer programs show.
_LEFT_OUT = {"del", "moveFrom", "delText", "instrText", "Fallback", "pPr", "rPr", "annotationRef"}
_NOTES = {"footnoteReference": "footnote", "endnoteReference": "endnote"}


@dataclass
class Content:
    """What a paragraph holds: its words, its notes, the boxes anchored in it."""

    words: Inline = field(default_factory=Inline)
    notes: list[tuple[str, str]] = field(default_factory=list)  # kind and id
    boxes: list[Element] = field(default_factory=list)
    hidden: int = 0  # characters set as hidden
    field_depth: int = 0  # inside the instruction of so many fields
    is_text: bool = True

    @property
    def text(self) -> str:
        return self.words.text()


class WordReader:
    """Reads paragraphs with the styles of one document."""

    def __init__(self, styles: Styles) -> None:
        self.styles = styles
        self.numbers: dict[tuple[str, str], str] = {}  # of footnotes, in the order of use

    def read(self, paragraph: Element) -> Content:
        """Return the content of a paragraph."""
        content = Content()
        properties = paragraph.find(W + "pPr")
        style = value(properties, "pStyle") or self.styles.default
        self._inside(paragraph, content, style)
        return content

    def note_number(self, kind: str, id_: str) -> str:
        """Return the number of a note; they count in the order in which they are first read."""
        prefix = "" if kind == "footnote" else "e"
        of_kind = sum(1 for known, _ in self.numbers if known == kind)
        return self.numbers.setdefault((kind, id_), f"{prefix}{of_kind + 1}")

    def _inside(self, parent: Element, content: Content, style: str) -> None:
        for child in elements(parent):
            name = local_name(child)
            if name in _LEFT_OUT:
                continue
            if name == "r":
                self._run(child, content, style)
            elif name == "txbxContent":
                content.boxes.append(child)
            else:
                self._inside(child, content, style)

    def _run(self, run: Element, content: Content, style: str) -> None:
        properties = run.find(W + "rPr")
        own = value(properties, "rStyle") or ""
        states = {
            switch: self._state(properties, own, style, switch) for switch in ("b", "i", "vanish")
        }
        raised = value(properties, "vertAlign")
        for child in elements(run):
            self._piece(child, content, states, raised, style)

    def _state(self, properties: Element | None, own: str, style: str, switch: str) -> bool:
        """Return a switch of a run: its own, its style's, for ``vanish`` the paragraph's too."""
        found = is_on(properties, switch)
        if found is None and own:
            found = self.styles.emphasis(own, switch)
        if found is None and switch == "vanish":
            found = self.styles.emphasis(style, switch)
        return bool(found)

    def _piece(
        self,
        piece: Element,
        content: Content,
        states: dict[str, bool],
        raised: str | None,
        style: str,
    ) -> None:
        name = local_name(piece)
        if name == "fldChar":
            _field(piece, content)
        elif name in _LEFT_OUT or not content.is_text:
            return
        elif name == "t" or name in _SIGNS:
            words = piece.text or "" if name == "t" else _SIGNS[name]
            if states["vanish"]:
                content.hidden += len(words)
            elif raised == "superscript":
                content.words.raised(words)
            elif raised == "subscript":
                content.words.lowered(words)
            else:
                content.words.add(words, bold=states["b"], italic=states["i"])
        elif name in _NOTES:
            note = (_NOTES[name], piece.get(W + "id", ""))
            content.notes.append(note)
            content.words.add(f"[^{self.note_number(*note)}]")
        else:
            self._inside(piece, content, style)


def _field(piece: Element, content: Content) -> None:
    """Follow a field: only its result is shown, not its instruction."""
    kind = piece.get(W + "fldCharType")
    if kind == "begin":
        content.field_depth += 1
        content.is_text = False
    elif kind == "separate":
        content.is_text = True
    elif kind == "end":
        content.field_depth = max(0, content.field_depth - 1)
        content.is_text = True
