"""Writes small PDFs for tests: text at places, rulings, pictures, bookmarks."""

from __future__ import annotations

from dataclasses import dataclass, field

FONTS = ("Helvetica", "Helvetica-Bold", "Courier", "Helvetica-Oblique")


@dataclass
class Pdf:
    """A document that grows page by page; places are points from the top left corner."""

    width: float = 612
    height: float = 792
    title: str = ""
    rotate: int = 0
    pages: list[list[str]] = field(default_factory=list)
    bookmarks: list[tuple[str, int, int, float]] = field(default_factory=list)
    forms: list[str] = field(default_factory=list)  # their content

    def page(self) -> Pdf:
        """Begin a page."""
        self.pages.append([])
        return self

    def text(
        self, x: float, y: float, words: str, *, size: float = 10, font: str = "Helvetica",
        mode: int = 0, colour: str = "0 g", turn: str = "1 0 0 1", state: str = "",
    ) -> Pdf:  # fmt: skip
        """Write words whose baseline is y points below the top."""
        coded = words.encode("cp1252").replace(b"\\", b"\\\\")
        coded = coded.replace(b"(", b"\\(").replace(b")", b"\\)")
        self.pages[-1].append(
            f"q {state} {colour} BT /F{FONTS.index(font)} {size} Tf {mode} Tr "
            f"{turn} {x} {self.height - y} Tm ({coded.decode('latin-1')}) Tj ET Q"
        )
        return self

    def lines(self, x: float, y: float, words: list[str], *, step: float = 12, **look: str) -> Pdf:
        """Write lines below each other."""
        for place, line in enumerate(words):
            self.text(x, y + step * place, line, **look)  # type: ignore[arg-type]
        return self

    def draw(self, operators: str) -> Pdf:
        """Draw something, in the page's own coordinates: "0 0 m 9 9 l S", "1 1 8 8 re f"."""
        self.pages[-1].append(f"q {operators} Q")
        return self

    def picture(self, x: float, y: float, width: float, height: float) -> Pdf:
        """Put a grey picture of one pixel at a place."""
        return self.draw(f"{width} 0 0 {height} {x} {self.height - y - height} cm /Im0 Do")

    def form(self, words: str, x: float, y: float) -> Pdf:
        """Write words inside a form of its own, moved and scaled to its place."""
        self.forms.append(f"BT /F0 5 Tf ({words}) Tj ET")
        return self.draw(f"2 0 0 2 {x} {self.height - y} cm /Fm{len(self.forms) - 1} Do")

    def bookmark(self, title: str, level: int = 1, y: float = 0) -> Pdf:
        """Let a bookmark lead to the current page."""
        self.bookmarks.append((title, level, len(self.pages) - 1, self.height - y))
        return self

    def bytes(self) -> bytes:
        """Return the file."""
        first_form = 10
        first_page = first_form + len(self.forms)
        first_mark = first_page + 2 * len(self.pages)
        kids = " ".join(f"{first_page + 2 * n} 0 R" for n in range(len(self.pages)))
        fonts = " ".join(
            f"/F{n} << /Type /Font /Subtype /Type1 /BaseFont /{name} /Encoding /WinAnsiEncoding >>"
            for n, name in enumerate(FONTS)
        )
        forms = " ".join(f"/Fm{n} {first_form + n} 0 R" for n in range(len(self.forms)))
        outlines = "/Outlines 3 0 R" if self.bookmarks else ""
        objects = {
            1: f"<< /Type /Catalog /Pages 2 0 R {outlines} >>",
            2: f"<< /Type /Pages /Kids [{kids}] /Count {len(self.pages)} >>",
            4: f"<< /Font << {fonts} >> /XObject << /Im0 5 0 R {forms} >> "
            "/ExtGState << /G0 6 0 R /G1 8 0 R >> >>",
            5: "<< /Type /XObject /Subtype /Image /Width 1 /Height 1 /BitsPerComponent 8 "
            "/ColorSpace /DeviceGray /Length 1 >>\nstream\n\x80\nendstream",
            6: "<< /ca 0 /CA 0 >>",
            7: f"<< /Title ({self.title}) >>",
            8: "<< /ca 0.5 >>",
        }
        for n, content in enumerate(self.forms):
            objects[first_form + n] = (
                "<< /Type /XObject /Subtype /Form /BBox [0 -9 600 9] /Resources 4 0 R "
                f"/Length {len(content)} >>\nstream\n{content}\nendstream"
            )
        for n, operators in enumerate(self.pages):
            content = "\n".join(operators)
            size = len(content.encode("latin-1"))
            objects[first_page + 2 * n] = (
                f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {self.width} {self.height}] "
                f"/Rotate {self.rotate} /Resources 4 0 R /Contents {first_page + 2 * n + 1} 0 R >>"
            )
            stream = f"<< /Length {size} >>\nstream\n{content}\nendstream"
            objects[first_page + 2 * n + 1] = stream
        if self.bookmarks:
            objects |= self._outline(first_mark, first_page)
        return _file(objects)

    def _outline(self, first: int, first_page: int) -> dict[int, str]:
        """Return the bookmarks as a tree of objects; object 3 is its root."""
        levels = [level for _, level, _, _ in self.bookmarks]
        parents = [
            max((k for k in range(n) if levels[k] < levels[n]), default=-1)
            for n in range(len(levels))
        ]
        numbers = {-1: 3} | {n: first + n for n in range(len(levels))}
        objects: dict[int, str] = {}
        for n, number in numbers.items():
            inside = [k for k, parent in enumerate(parents) if parent == n]
            words = ""
            if inside:
                words = f"/First {numbers[inside[0]]} 0 R /Last {numbers[inside[-1]]} 0 R"
            if n >= 0:
                title, _, page, y = self.bookmarks[n]
                beside = [k for k, parent in enumerate(parents) if parent == parents[n]]
                later = [k for k in beside if k > n]
                words += f" /Next {numbers[later[0]]} 0 R" if later else ""
                target = f"/Dest [{first_page + 2 * page} 0 R /XYZ 0 {y} 0]"
                words += f" /Title ({title}) /Parent {numbers[parents[n]]} 0 R {target}"
            objects[number] = f"<< {words} >>"
        return objects


def _file(objects: dict[int, str]) -> bytes:
    data = b"%PDF-1.5\n"
    places: dict[int, int] = {}
    for number, words in sorted(objects.items()):
        places[number] = len(data)
        data += f"{number} 0 obj\n{words}\nendobj\n".encode("latin-1")
    start = len(data)
    last = max(objects) + 1
    rows = (f"{places[n]:010} 00000 n \n" if n in places else "0" * 10 + " 65535 f \n"
            for n in range(last))  # fmt: skip
    table = f"xref\n0 {last}\n{''.join(rows)}trailer\n<< /Size {last} /Root 1 0 R /Info 7 0 R >>\n"
    return data + f"{table}startxref\n{start}\n%%EOF\n".encode()
