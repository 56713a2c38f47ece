"""Archives (DOCX, EPUB, gzip, Office): bombs, lies, names that lead out, and XML in them."""

from __future__ import annotations

import gzip
import io
import stat
import struct
import zipfile
from collections.abc import Callable

from fuzz.cases.reading import File
from fuzz.hostile import Case
from fuzz.targets.documents import W

BODY = f"<w:document {W}><w:body><w:p><w:r><w:t>Words.</w:t></w:r></w:p></w:body></w:document>"
MAIN = "word/document.xml"
KINDS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
SECRET = "root:"  # how the file begins that these want to read


def zipped(*members: tuple[str, bytes | str], how: int = zipfile.ZIP_DEFLATED) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", how) as archive:
        for name, data in members:
            archive.writestr(name, data)
    return stream.getvalue()


def word(text: str = "Words.", *more: tuple[str, bytes | str]) -> bytes:
    return zipped((MAIN, BODY.replace("Words.", text)), *more)


def related(target: str, kind: str = "officeDocument", mode: str = "") -> bytes:
    """Return a Word file whose main part is said to be somewhere else."""
    external = f' TargetMode="{mode}"' if mode else ""
    relation = f'<Relationship Id="a" Type="{KINDS}/{kind}" Target="{target}"{external}/>'
    return zipped(("_rels/.rels", f"<Relationships>{relation}</Relationships>"), (MAIN, BODY))


def template(target: str) -> bytes:
    """Return a Word file with a template or picture elsewhere, as attacks by mail have them."""
    listed = "".join(
        f'<Relationship Id="{kind}" Type="{KINDS}/{kind}" Target="{target}" TargetMode="External"/>'
        for kind in ("attachedTemplate", "image", "styles", "numbering", "frame", "oleObject")
    )
    relations = f"<Relationships>{listed}</Relationships>"
    return word("Words.", ("word/_rels/document.xml.rels", relations))


def claimed(size: int) -> bytes:
    """Return an archive whose directory lies about how large its member is."""
    data = bytearray(word())
    at = data.rindex(b"PK\x01\x02")
    struct.pack_into("<I", data, at + 24, size)
    return bytes(data)


def overlapping() -> bytes:
    """Return an archive with a hundred members that are the same bytes of one."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(MAIN, " " * 1_000_000)
        info = archive.getinfo(MAIN)
        for number in range(100):
            other = zipfile.ZipInfo(f"word/{number}.xml")
            for name in ("compress_type", "CRC", "compress_size", "file_size", "header_offset"):
                setattr(other, name, getattr(info, name))
            archive.filelist.append(other)
            archive.NameToInfo[other.filename] = other
    return stream.getvalue()


def link() -> bytes:
    """Return an archive whose main part is a symbolic link."""
    info = zipfile.ZipInfo(MAIN)
    info.create_system = 3
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr(info, "/etc/passwd")
    return stream.getvalue()


def inner(how: int) -> bytes:
    return zipped((MAIN, BODY.replace("Words.", "a" * 5_000_000)), how=how)


def entity(declared: str, used: str) -> str:
    return f"<!DOCTYPE x [{declared}]><w:document {W}>{used}</w:document>"


LAUGHS = "".join(
    f'<!ENTITY a{n} "{f"&a{n - 1};" * 10 if n else "ha"}">' for n in range(10)
)  # fmt: skip
XXE = '<!ENTITY x SYSTEM "file:///etc/passwd">'
DEEP = f"<w:document {W}>{'<w:sdt>' * 5000}{'</w:sdt>' * 5000}</w:document>"
CELLS = "<w:tc><w:tcPr><w:gridSpan w:val='30000'/></w:tcPr><w:p/></w:tc>"
_CASES: dict[str, Callable[[], bytes] | bytes] = {
    "a bomb: 5 MB from a few bytes": lambda: inner(zipfile.ZIP_DEFLATED),
    "the same by bzip2": lambda: inner(zipfile.ZIP_BZIP2),
    "the same by lzma": lambda: inner(zipfile.ZIP_LZMA),
    "members that overlap": overlapping,
    "10,001 members": lambda: word("x", *((f"{n}", "") for n in range(10_001))),
    "a directory that says 4 GB": lambda: claimed(2**32 - 2),
    "a directory that says 5 bytes": lambda: claimed(5),
    "an archive in an archive in an archive": lambda: zipped((MAIN, zipped(("a", zipped(("b", "c")))))),
    "a main part that is a link": link,
    "names that lead out": lambda: word("x", ("../../../../tmp/x", "x"), ("/etc/x", "x"), ("C:\\x", "x")),
    "the same name twice": lambda: word("x", ("word/styles.xml", "<a/>"), ("word/styles.xml/", "<b/>")),
    "a name with a zero": lambda: word("x", ("word/a\0b.xml", "x")),
    "a main part outside": lambda: related("../../../../../../etc/passwd"),
    "a main part by address": lambda: related("file:///etc/passwd", mode="External"),
    "a main part in the net": lambda: related("http://127.0.0.1:9/x", mode="External"),
    "a template in the net": lambda: template("http://127.0.0.1:9/x.dotm"),
    "a template on a share": lambda: template("\\\\127.0.0.1\\share\\x.dotm"),
    "parts that refer to themselves": lambda: word(
        "x", ("word/_rels/document.xml.rels", f"<Relationships><Relationship Id='a' Type='{KINDS}/styles'"
              " Target='document.xml'/></Relationships>")),
    "a billion laughs": lambda: zipped((MAIN, entity(LAUGHS, "&a9;"))),
    "a file of the machine as entity": lambda: zipped((MAIN, entity(XXE, "&x;"))),
    "elements 5,000 deep": lambda: zipped((MAIN, DEEP)),
    "a cell over 30,000 columns": lambda: zipped(
        (MAIN, f"<w:document {W}><w:body><w:tbl><w:tr>{CELLS * 50}</w:tr></w:tbl></w:body></w:document>")),
    "numbers of lists beyond measure": lambda: word("x", ("word/numbering.xml",
        f"<w:numbering {W}><w:abstractNum w:abstractNumId='9'><w:lvl w:ilvl='999999999999'>"
        "<w:start w:val='-99999999999999'/></w:lvl></w:abstractNum></w:numbering>")),
    "text of control characters": lambda: word("a&#9;b&#x85;c\u202e\u200b"),
    "no archive": b"PK\x03\x04nonsense",
    "an old Word file": b"\xd0\xcf\x11\xe0" + bytes(600),
    "empty": b"",
    "an archive of another program": lambda: zipped(("xl/workbook.xml", "<a/>")),
}  # fmt: skip


def book(spine: str = "a.xhtml", *more: tuple[str, bytes | str], root: str = "o/x.opf") -> bytes:
    """Return an EPUB of one chapter; the spine names another file instead."""
    container = f"<container><rootfiles><rootfile full-path='{root}'/></rootfiles></container>"
    package = (
        "<package><metadata><title>T</title></metadata><manifest><item id='a' href='"
        f"{spine}' media-type='application/xhtml+xml'/></manifest><spine><itemref idref='a'/>"
        "</spine></package>"
    )
    page = "<html><title/><body><h1>1 Fees</h1><p>Words.</p></body></html>"
    files = [("META-INF/container.xml", container), ("o/x.opf", package), ("o/a.xhtml", page)]
    names = {name for name, _ in more}
    return zipped(*(each for each in files if each[0] not in names), *more)


_BOOKS: dict[str, Callable[[], bytes] | bytes] = {
    "a bomb in a chapter": lambda: book("a.xhtml", ("o/a.xhtml", "a" * 5_000_000)),
    "10,001 chapters": lambda: book("a.xhtml", *((f"o/{n}.xhtml", "") for n in range(10_001))),
    "a chapter outside": lambda: book("../../../../../../etc/passwd"),
    "a chapter outside, in other signs": lambda: book("..%2f..%2f..%2fetc/passwd"),
    "a chapter by address": lambda: book("file:///etc/passwd"),
    "a chapter in the net": lambda: book("http://127.0.0.1:9/x.xhtml"),
    "a package outside": lambda: book(root="../../../../etc/passwd"),
    "no spine": lambda: book("a.xhtml", ("o/x.opf", "<package/>")),
    "a spine that names nothing": lambda: book(
        "a.xhtml", ("o/x.opf", "<package><spine><itemref idref='z'/></spine></package>")),
    "a chapter ten thousand times": lambda: book(
        "a.xhtml", ("o/x.opf", "<package><manifest><item id='a' href='a.xhtml'/></manifest><spine>"
                    + "<itemref idref='a'/>" * 10_000 + "</spine></package>")),
    "entities in the package": lambda: book(
        "a.xhtml", ("o/x.opf", f"<!DOCTYPE x [{LAUGHS}]><package>&a9;</package>")),
    "a file of the machine as entity": lambda: book(
        "a.xhtml", ("o/a.xhtml", f"<!DOCTYPE x [{XXE}]><html><body>&x; words</body></html>")),
    "elements 6,000 deep": lambda: book("a.xhtml", ("o/a.xhtml", "<div>" * 6000 + "x")),
    "elements that never close": lambda: book("a.xhtml", ("o/a.xhtml", "<a " * 100_000 + "x")),
    "no container": lambda: zipped(("mimetype", "application/epub+zip")),
    "no archive": b"PK\x03\x04nonsense",
    "empty": b"",
}  # fmt: skip
_PACKED: dict[str, Callable[[], bytes] | bytes] = {
    "a bomb: 50 MB from a few bytes": lambda: gzip.compress(b"a" * 50_000_000),
    "a bomb in a bomb": lambda: gzip.compress(gzip.compress(b"a" * 50_000_000)),
    "ten thousand members": lambda: gzip.compress(b"word ") * 10_000,
    "empty members without end": lambda: gzip.compress(b"") * 100_000,
    "cut off": lambda: gzip.compress(b"Words of a text. " * 100)[:-20],
    "a wrong checksum": lambda: gzip.compress(b"Words.")[:-8] + bytes(8),
    "nonsense behind it": lambda: gzip.compress(b"Words.") + b"nonsense",
    "no archive": b"Words.",
    "empty": b"",
}


def _sheet(inner: str) -> bytes:
    """Return a workbook with one sheet of this."""
    relation = '<a><Relationship Id="r1" Type="/worksheet" Target="s.xml"/></a>'
    return zipped(
        ("xl/workbook.xml", '<w xmlns:r="r"><sheet name="S" r:id="r1"/></w>'),
        ("xl/_rels/workbook.xml.rels", relation),
        ("xl/s.xml", f"<worksheet><sheetData>{inner}</sheetData></worksheet>"),
    )


def _ods(inner: str) -> bytes:
    table = f'<t:table t:name="S">{inner}</t:table>'
    return zipped(
        (
            "content.xml",
            f'<o:c xmlns:o="o" xmlns:t="t" xmlns:x="x"><o:body><o:spreadsheet>{table}'
            "</o:spreadsheet></o:body></o:c>",
        )
    )


_MANY = 't:number-rows-repeated="999999999"'
_WIDE = 't:number-columns-repeated="999999999"'


def _row(number: int) -> str:
    return f"<row><c><v>{number}</v></c><c><v>{number * 7919 % 65_537}</v></c></row>"


_OFFICE: dict[str, tuple[str, Callable[[], bytes]]] = {
    "a sheet of 300,000 rows": ("xlsx", lambda: _sheet("".join(map(_row, range(300_000))))),
    "the same row again and again": ("xlsx", lambda: _sheet(_row(1) * 300_000)),
    "a cell in the last row and column": ("xlsx", lambda: _sheet('<row><c r="XFD1048576"><v>1</v></c></row>')),
    "numbers beyond all numbers": ("xlsx", lambda: _sheet("<row><c><v>1e999</v></c><c><v>NaN</v></c></row>" * 2)),
    "a billion rows by repetition": ("ods", lambda: _ods(f"<t:table-row {_MANY}><t:table-cell {_WIDE}><x:p>1</x:p></t:table-cell></t:table-row>")),
    "a billion laughs in a workbook": ("xlsx", lambda: zipped(("xl/workbook.xml", entity(LAUGHS, "&a9;")))),
    "a billion laughs in a text": ("odt", lambda: zipped(("content.xml", entity(LAUGHS, "&a9;")))),
    "a show without slides": ("pptx", lambda: zipped(("ppt/presentation.xml", "<p/>"))),
    "groups without end": ("rtf", lambda: b"{\\rtf1" + b"{" * 3_000_000),
    "raw bytes without end": ("rtf", lambda: b"{\\rtf1\\bin9999999999 x}"),
    "a million controls": ("rtf", lambda: b"{\\rtf1 word" + b"\\b0\\i0" * 500_000 + b"\\par}"),
    "a million cells in a row": ("rtf", lambda: b"{\\rtf1\\intbl " + b"x\\cell " * 1_000_000 + b"\\row\\pard}"),
}  # fmt: skip
_LARGE = {"a sheet of 300,000 rows", "a billion rows by repetition", "a million controls"}
CASES = [
    *(
        Case("DOCX and ZIP", name, File("x.docx", make, never=SECRET))
        for name, make in _CASES.items()
    ),
    *(Case("EPUB", name, File("x.epub", make, never=SECRET)) for name, make in _BOOKS.items()),
    *(Case("gzip", name, File("x.txt.gz", make)) for name, make in _PACKED.items()),
    *(
        Case("Office", name, File(f"x.{end}", make), slow=name in _LARGE)
        for name, (end, make) in _OFFICE.items()
    ),
]
