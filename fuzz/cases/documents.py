"""XML, HTML, JSON, tables and text that are deep, wide, endless or not what they say."""

from __future__ import annotations

import json

from fuzz.cases.reading import File
from fuzz.hostile import Case

LAW = "<Regulation><Body><Section><Label>1</Label><Text>%s</Text></Section></Body></Regulation>"
SECRET = "root:"


def _entities(declared: str, used: str = "x") -> str:
    return f"<!DOCTYPE Regulation [{declared}]>{LAW % used}"


_LAUGHS = "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10 if n else "ha"}">' for n in range(10))
_LONG = f'<!ENTITY a "{"x" * 50_000}">'
XML: dict[str, str | bytes] = {
    "a billion laughs": _entities(_LAUGHS, "&a9;"),
    "one long entity many times": _entities(_LONG, "&a;" * 5000),
    "a file of the machine": _entities('<!ENTITY x SYSTEM "file:///etc/passwd">', "&x;"),
    "a file by a parameter entity": _entities('<!ENTITY % x SYSTEM "file:///etc/passwd"> %x;'),
    "an address of the net": _entities('<!ENTITY x SYSTEM "http://127.0.0.1:9/x">', "&x;"),
    "a definition in the net": f'<!DOCTYPE R SYSTEM "http://127.0.0.1:9/x.dtd">{LAW % "x"}',
    "entities in UTF-16": _entities(_LAUGHS, "&a9;").encode("utf-16"),
    "entities in UTF-16 without a mark": _entities(_LAUGHS, "&a9;").encode("utf-16-be"),
    "entities in UTF-32": _entities(_LAUGHS, "&a9;").encode("utf-32"),
    "entities in UTF-7": ('<?xml version="1.0" encoding="UTF-7"?>' + _entities(_LAUGHS, "&a9;")).encode("utf-7"),
    "a file by inclusion": LAW % '<xi:include xmlns:xi="http://www.w3.org/2001/XInclude" '
    'href="file:///etc/passwd" parse="text"/>',
    "a style sheet in the net": '<?xml-stylesheet href="http://127.0.0.1:9/x.xsl"?>' + LAW % "x",
    "200,000 elements inside each other": "<Regulation>" * 200_000,
    "200 elements inside each other": LAW % ("<Paragraph>" * 200 + "x" + "</Paragraph>" * 200),
    "an element of a million attributes": "<Regulation " + " ".join(f'a{n}="x"' for n in range(200_000)) + "/>",
    "a name of a megabyte": f"<{'a' * 1_000_000}/>",
    "another kind of XML": "<rss><channel/></rss>",
    "a column beyond measure": LAW % ('<TableGroup><table><tgroup cols="999999999"><tbody><row><entry '
    'morerows="999999999" namest="1" nameend="99999999">x</entry></row></tbody></tgroup></table></TableGroup>'),
    "not closed": "<Regulation><Body>",
    "a zero in it": LAW % "a\0b",
}  # fmt: skip
HTML: dict[str, str | bytes] = {
    "100,000 elements inside each other": "<div>" * 100_000 + "x",
    "100,000 tables inside each other": "<table><tr><td>" * 100_000 + "x",
    "a cell over a thousand million columns": "<table><tr><td colspan=999999999 rowspan=999999999>x",
    "1,000 cells over 1,000 rows and columns": "<table>" + "<tr>" + "<td rowspan=1000 colspan=1000>x" * 1000,
    "100,000 list items inside each other": "<ul><li>" * 100_000 + "x",
    "a list that begins at 10^30": "<ol start=1000000000000000000000000000000><li>x</ol>",
    "300,000 tags that are never closed": "<b><i>x" * 150_000,
    "an attribute of 5 MB": f"<p title='{'x' * 5_000_000}'>x",
    "scripts, frames and pictures elsewhere": "<script src=http://127.0.0.1:9/x></script><iframe src=file:///etc/"
    "passwd></iframe><img src=http://127.0.0.1:9/x onerror=alert(1)><link rel=stylesheet href=//x>words",
    "a page that sends elsewhere": "<meta http-equiv=refresh content='0;url=http://127.0.0.1:9/'>words",
    "characters of no number": "<p>&#0;&#xD800;&#x110000;&#99999999999;words",
    "a comment without end": "<p>x<!-- " + "- " * 500_000,
    "an unknown encoding": '<meta charset="x-evil">words',
    "a picture of text": "<svg><text>x</text><foreignObject><p>words</p></foreignObject></svg>",
    "binary": bytes(range(256)) * 100,
}  # fmt: skip
JSON: dict[str, str | bytes] = {
    "200,000 lists inside each other": "[" * 200_000 + "]" * 200_000,
    "200,000 objects inside each other": '{"a":' * 200_000 + "1" + "}" * 200_000,
    "chapters 500 deep": '{"chapters": [' * 500 + "]}" * 500,
    "items 100 deep": '{"sections": [{"number": 1, "items": ['
    + '{"label": "a", "text": "x", "items": [' * 100 + "]}" * 100 + "]}]}",
    "a number of 100,000 digits": f'[{{"text": "x", "page_idx": {"9" * 100_000}}}]',
    "an infinite page": '[{"text": "x", "page_idx": 1e999}]',
    "a page that is no number": '[{"text": "x", "page_idx": NaN}]',
    "a page below zero": '[{"text": "x", "page_idx": -1}]',
    "half a character": '[{"text": "\\ud800", "page_idx": 0}]',
    "the same key a hundred thousand times": "{" + '"chapters": [], ' * 100_000 + '"a": 1}',
    "a table of 10,000 columns": json.dumps(
        {"tables": [{"id": "1", "headers": ["a"] * 10_000, "rows": [["b"] * 10_000]}]}),
    "rows of other lengths": '{"tables": [{"id": "1", "headers": ["a"], "rows": [[], [1, 2, 3], "x", null]}]}',
    "words where lists should be": '{"chapters": "x", "articles": 5, "sections": {"1": null}}',
}  # fmt: skip
TABLES: dict[str, str | bytes] = {
    "20,000 columns": ",".join("a" * 20_000) + "\n" + ",".join("b" * 20_000),
    "a field of a megabyte": "a,b\n1," + "x" * 1_000_000,
    "a quotation without end": 'a,b\n"' + "x,\n" * 100_000,
    "rows of other lengths": "a,b\n1\n1,2,3,4,5\n,,,,\n",
    "only separators": ",,,,\n" * 1000,
    "formulas": "a,b\n=cmd|' /C calc'!A0,@SUM(1+1)\n+1,-1\n\t=1,x\n",
    "control characters": "a,b\n\x1b[31m,\x07\n",
    "a zero": "a,b\n\0,1\n",
}
TEXT: dict[str, str | bytes] = {
    "200,000 brackets": "[" * 200_000,
    "20,000 links inside each other": "[a](" * 20_000,
    "20,000 stars": "*a **a " * 20_000,
    "quotations 10,000 deep": "> " * 10_000 + "x",
    "lists 500 deep": "".join(f"{'  ' * n}- x\n" for n in range(500)),
    "200,000 backticks": "`" * 200_000 + "x",
    "20,000 headings": "# a\n" * 20_000,
    "10,000 labels": "(a) x\n" * 10_000,
    "labels in one line": "(a)(1)(i)" * 3000,
    "Roman numbers without end": f"({'ivxlc' * 20_000}) x\n",
    "a table of 5,000 columns": "|a" * 5000 + "|\n" + "|-" * 5000 + "|\n" + "|b" * 5000 + "|\n",
    "10,000 references": "see sections 1.1(a), (b) and (c) through 1.9; " * 2000,
    "one word of a megabyte": "x" * 1_000_000,
    "a megabyte of spaces": "a" + " " * 1_000_000 + "b",
    "100,000 line ends": "a\n" + "\n" * 100_000 + "b",
    "signs that turn the direction": "# \u202etxt.exe\n\n(a) \u2066words\u2069\n",
    "letters with 10,000 marks": "# a" + "\u0301" * 10_000 + "\n\nwords\n",
    "HTML in Markdown": "# <script>alert(1)</script>\n\n<img src=x onerror=alert(1)>\n",
    "front matter without end": "---\n" + "access: a\n" * 10_000,
    "dates by the thousand": "Effective July 1, 2021. " * 5000,
}
_KINDS = (
    ("XML", "x.xml", XML), ("HTML", "x.html", HTML), ("JSON", "x.json", JSON),
    ("CSV", "x.csv", TABLES), ("Markdown", "x.md", TEXT), ("plain text", "x.txt", TEXT),
)  # fmt: skip
CASES = [
    Case(kind, name, File(file, data, never=SECRET if kind == "XML" else ""))
    for kind, file, listed in _KINDS
    for name, data in listed.items()
]
