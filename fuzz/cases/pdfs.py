"""PDFs that are small and want to become large, loop, lie or crash their reader."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence

from fuzz.cases.reading import File
from fuzz.hostile import Case

PAGE = (
    b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] "
    b"/Resources << /Font << /F 5 0 R >> >> /Contents 4 0 R >>"
)
FONT = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"
WORDS = b"BT /F 12 Tf 72 700 Td (Some words.) Tj ET"


def stream(data: bytes, more: bytes = b"") -> bytes:
    return b"<< /Length %d %s >>\nstream\n%s\nendstream" % (len(data), more, data)


def pdf(
    *,
    page: bytes = PAGE,
    pages: bytes = b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
    content: bytes | None = None,
    root: bytes = b"",
    more: Sequence[bytes] = (),
    trailer: bytes = b"",
) -> bytes:
    """Return a PDF: catalogue, pages, page, content, font, then whatever else."""
    catalog = b"<< /Type /Catalog /Pages 2 0 R %s >>" % root
    objects = [catalog, pages, page, content or stream(WORDS), FONT, *more]
    out = bytearray(b"%PDF-1.7\n")
    places = []
    for number, each in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, each)
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % place for place in places)
    size = len(objects) + 1
    out += b"trailer\n<< /Size %d /Root 1 0 R %s >>\nstartxref\n%d\n%%%%EOF" % (
        size,
        trailer,
        start,
    )
    return bytes(out)


def squeezed(data: bytes, times: int = 1) -> bytes:
    """Return a content stream that was compressed several times over."""
    for _ in range(times):
        data = zlib.compress(data, 9)
    return stream(data, b"/Filter [" + b"/FlateDecode " * times + b"]")


def bomb(megabytes: int) -> bytes:
    """Return what spaces become when they are compressed twice; made piece by piece."""
    once = zlib.compressobj(9)
    inner = b"".join(once.compress(b" " * 1_000_000) for _ in range(megabytes)) + once.flush()
    return pdf(content=stream(zlib.compress(inner, 9), b"/Filter [/FlateDecode /FlateDecode]"))


def forms(levels: int) -> bytes:
    """Return a page whose form draws a form ten times, which draws a form ten times, and so on."""
    made = []
    for level in range(levels):
        inner = b"<< /XObject << /X %d 0 R >> >>" % (7 + level)
        last = level == levels - 1
        words = WORDS if last else b"/X Do\n" * 10
        resources = b"<< /Font << /F 5 0 R >> >>" if last else inner
        kind = b"/Type /XObject /Subtype /Form /BBox [0 0 612 792] /Resources " + resources
        made.append(stream(words, kind))
    page = PAGE.replace(b"/Font << /F 5 0 R >>", b"/XObject << /X 6 0 R >>")
    return pdf(page=page, content=stream(b"/X Do\n" * 10), more=made)


def kids(count: int) -> bytes:
    listed = b"<< /Type /Pages /Kids [%s] /Count %d >>" % (b"3 0 R " * count, count)
    return pdf(pages=listed)


def sized(box: bytes) -> bytes:
    return pdf(page=PAGE.replace(b"0 0 612 792", box))


_CASES: dict[str, Callable[[], bytes] | bytes] = {
    "16 MB of spaces, compressed twice": lambda: bomb(16),
    "50,000 drawing operators": lambda: pdf(content=squeezed(b"0 0 m 9 9 l S\n" * 50_000)),
    "30,000 pieces of text": lambda: pdf(
        content=squeezed(b"BT /F 9 Tf 9 9 Td (a) Tj ET\n" * 30_000)
    ),
    "forms in forms, a hundred drawings": lambda: forms(2),
    "one page 20,000 times": lambda: kids(20_000),
    "arrays 200,000 deep": lambda: pdf(root=b"/X " + b"[" * 200_000 + b"]" * 200_000),
    "dictionaries 50,000 deep": lambda: pdf(root=b"/X <<" * 50_000 + b">>" * 50_000),
    "ten megabytes of zeros": lambda: b"%PDF-1.7\n" + bytes(10_000_000),
    "empty": b"",
    "a header and nothing else": b"%PDF-1.7\n",
    "not a PDF at all": b"MZ\x90\0 this is a program",
    "cut in the middle": lambda: pdf()[:300],
    "without its first half": lambda: pdf()[300:],
    "pages that hold themselves": lambda: pdf(pages=b"<< /Type /Pages /Kids [2 0 R] /Count 1 >>"),
    "a page that is its own parent": lambda: pdf(page=PAGE.replace(b"2 0 R", b"3 0 R")),
    "a billion pages that are not there": lambda: pdf(
        pages=b"<< /Type /Pages /Kids [3 0 R] /Count 1000000000 >>"
    ),
    "a table of contents that goes round": lambda: pdf(
        root=b"/Outlines 6 0 R",
        more=[
            b"<< /First 7 0 R /Last 7 0 R /Count 1 >>",
            b"<< /Title (x) /Next 7 0 R /First 7 0 R /Parent 6 0 R /Dest [3 0 R /Fit] >>",
        ],
    ),
    "labels of pages that go round": lambda: pdf(
        root=b"/PageLabels 6 0 R", more=[b"<< /Kids [6 0 R] /Nums [0 << /S /D >>] >>"]
    ),
    "a form that draws itself": lambda: pdf(
        page=PAGE.replace(b"/Font << /F 5 0 R >>", b"/XObject << /X 6 0 R >>"),
        content=stream(b"/X Do"),
        more=[
            stream(
                b"/X Do", b"/Subtype /Form /BBox [0 0 9 9] /Resources << /XObject << /X 6 0 R >> >>"
            )
        ],
    ),
    "a length below zero": lambda: pdf().replace(b"/Length 41", b"/Length -1"),
    "a length beyond the file": lambda: pdf().replace(b"/Length 41", b"/Length 99999999999"),
    "a length that is itself": lambda: pdf(
        content=b"<< /Length 4 0 R >>\nstream\nBT ET\nendstream"
    ),
    "a cross-reference table before itself": lambda: pdf(trailer=b"/Prev 9"),
    "a cross-reference table that lies": lambda: pdf().replace(b"00000 n", b"99999 n"),
    "a page of a light year": lambda: sized(b"0 0 1e15 1e15"),
    "a page without size": lambda: sized(b"0 0 0 0"),
    "a page inside out": lambda: sized(b"612 792 0 0"),
    "a page of no number": lambda: sized(b"nan inf -inf 1e999"),
    "a picture of 100,000 by 100,000": lambda: pdf(
        page=PAGE.replace(b"/Font << /F 5 0 R >>", b"/XObject << /X 6 0 R >>"),
        content=stream(b"600 0 0 700 0 0 cm /X Do"),
        more=[
            stream(
                zlib.compress(bytes(1000)),
                b"/Subtype /Image /Width 100000 /Height 100000 /BitsPerComponent 8 "
                b"/ColorSpace /DeviceRGB /Filter /FlateDecode",
            )
        ],
    ),
    "text of size 1e30": lambda: pdf(content=stream(b"BT /F 1e30 Tf 0 0 Td (A) Tj ET")),
    "text at no place": lambda: pdf(content=stream(b"BT /F 9 Tf nan inf Td (A) Tj ET")),
    "a program to be run at opening": lambda: pdf(
        root=b"/OpenAction << /S /JavaScript /JS (app.alert\\(1\\)) >>"
    ),
    "a program of the machine to be started": lambda: pdf(
        root=b"/OpenAction << /S /Launch /F (/bin/sh) >>"
    ),
    "locked with an unknown key": lambda: pdf(
        trailer=b"/Encrypt << /Filter /Standard /V 1 /R 2 /O (%s) /U (%s) /P -4 >> /ID [(a) (a)]"
        % (b"x" * 32, b"y" * 32)
    ),
    "100,000 levels of saved state": lambda: pdf(content=squeezed(b"q " * 100_000 + WORDS)),
    "a name of a megabyte": lambda: pdf(root=b"/X /" + b"a" * 1_000_000),
    "a number of a hundred thousand digits": lambda: pdf(root=b"/X " + b"9" * 100_000),
    "20,000 objects that refer to each other": lambda: pdf(
        more=[b"[%d 0 R]" % (6 + (number * 7) % 20_000) for number in range(20_000)]
    ),
}
_SLOW: dict[str, Callable[[], bytes]] = {
    "1 GB of spaces, compressed twice": lambda: bomb(1000),
    "5 million drawing operators": lambda: pdf(content=squeezed(b"0 0 m 9 9 l S\n" * 5_000_000)),
    "5 million pieces of text": lambda: pdf(
        content=squeezed(b"BT /F 9 Tf 9 9 Td (a) Tj ET\n" * 5_000_000)
    ),
    "forms in forms, a million drawings": lambda: forms(6),
    "forms in forms, 10^8 drawings": lambda: forms(8),
    "one page a million times": lambda: kids(1_000_000),
}
CASES = [
    *(Case("PDF", name, File("x.pdf", make)) for name, make in _CASES.items()),
    *(Case("PDF", name, File("x.pdf", make), slow=True) for name, make in _SLOW.items()),
]
