"""Documents that tests of the page are made of: long ones, and hostile ones."""

from __future__ import annotations

from collections.abc import Iterator

FLAG = "window.__xss=1"


def many_sections(count: int) -> str:
    parts = [
        f"## {n} Part {n}\n\nThe gasket of part {n} is grey and made of cork.\n"
        for n in range(1, count + 1)
    ]
    return "# Parts\n\n" + "\n".join(parts)


def long_table(rows: int) -> str:
    lines = [
        f"| bolt {n} | {n} mm | {2 * n} mm | steel | box {n % 40} |" for n in range(1, rows + 1)
    ]
    head = "| Name | Length | Reach | Material | Kept in |\n|---|---|---|---|---|\n"
    return "# Sizes\n\n**Table 1 Bolts**\n\n" + head + "\n".join(lines) + "\n"


def long_pdf(pages: int) -> bytes:
    """Return a PDF with a sentence on each of many pages."""
    kids = " ".join(f"{4 + 2 * n} 0 R" for n in range(pages))
    bodies = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Count {pages} /Kids [{kids}] >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for n in range(pages):
        words = f"The valve of pump {n + 1} shall be closed before its cover is opened."
        stream = f"BT /F1 12 Tf 72 600 Td ({words}) Tj ET"
        bodies.append(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources"
            f" << /Font << /F1 3 0 R >> >> /Contents {5 + 2 * n} 0 R >>"
        )
        bodies.append(f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream")
    out, starts = bytearray(b"%PDF-1.4\n"), []
    for number, body in enumerate(bodies, 1):
        starts.append(len(out))
        out += f"{number} 0 obj\n{body}\nendobj\n".encode()
    table = len(out)
    out += f"xref\n0 {len(bodies) + 1}\n0000000000 65535 f \n".encode()
    out += b"".join(f"{start:010} 00000 n \n".encode() for start in starts)
    out += f"trailer << /Size {len(bodies) + 1} /Root 1 0 R >>\nstartxref\n{table}\n%%EOF".encode()
    return bytes(out)


def payloads() -> list[str]:
    """Return more than a hundred ways in which words have become scripts elsewhere."""
    return list(dict.fromkeys(_payloads()))


_HANDLERS = (
    *("onerror", "onload", "onfocus", "onmouseover"),
    *("onclick", "ontoggle", "onpointerenter", "onanimationend"),
)
_TAGS = (
    *("img", "svg", "body", "video", "audio", "iframe", "input"),
    *("details", "marquee", "object", "embed", "select"),
)


def _payloads() -> Iterator[str]:
    yield f"<script>{FLAG}</script>"
    yield f"<ScRiPt>{FLAG}</sCrIpT>"
    yield f"<script src=data:text/javascript,{FLAG}></script>"
    yield f"<script/x>{FLAG}</script>"
    yield f"<scr<script>ipt>{FLAG}</scr</script>ipt>"
    yield f"</script><script>{FLAG}</script>"
    yield f"</title><script>{FLAG}</script>"
    yield f"</textarea><script>{FLAG}</script>"
    yield f"</style><script>{FLAG}</script>"
    yield f"--><script>{FLAG}</script>"
    yield f"]]><script>{FLAG}</script>"
    yield f'"><script>{FLAG}</script>'
    yield f"'><script>{FLAG}</script>"
    for handler in _HANDLERS:
        for tag in _TAGS[:7]:
            yield f"<{tag} src=x {handler}={FLAG} autofocus tabindex=1>"
    for quote in ('"', "'", "`"):
        yield f"{quote} onfocus={FLAG} autofocus x={quote}"
        yield f"{quote}><img src=x onerror={FLAG}>"
        yield f"{quote};{FLAG};//"
        yield f"{quote}+{FLAG}+{quote}"
    for scheme in (
        "javascript:",
        "JaVaScRiPt:",
        "java\tscript:",
        " javascript:",
        "data:text/html,",
    ):
        yield f'<a href="{scheme}{FLAG}">go</a>'
        yield f"[go]({scheme}{FLAG})"
        yield f'<iframe src="{scheme}<script>{FLAG}</script>"></iframe>'
    for tag in _TAGS:
        yield f"<{tag}><style onload={FLAG}></style></{tag}>"
    yield f"<svg><script>{FLAG}</script></svg>"
    yield f"<svg><animate onbegin={FLAG} attributeName=x dur=1s>"
    yield f"<svg><foreignObject><img src=x onerror={FLAG}></foreignObject></svg>"
    yield f"<math><mtext><img src=x onerror={FLAG}></mtext></math>"
    yield f"<template><img src=x onerror={FLAG}></template>"
    yield f"<noscript><p title='</noscript><img src=x onerror={FLAG}>'>"
    yield f"<base href='data:text/javascript,{FLAG}//'>"
    yield f"<meta http-equiv=refresh content='0;url=javascript:{FLAG}'>"
    yield f"<form action=javascript:{FLAG}><button autofocus>x</button></form>"
    yield f"<link rel=stylesheet href=x onerror={FLAG}>"
    yield f"&lt;img src=x onerror={FLAG}&gt;"
    yield f"&#60;script&#62;{FLAG}&#60;/script&#62;"
    yield f"%3Cscript%3E{FLAG}%3C/script%3E"
    yield f"\\u003cscript\\u003e{FLAG}\\u003c/script\\u003e"
    yield f"{{{{constructor.constructor('{FLAG}')()}}}}"
    yield "{{ 7*7 }}{% for x in ().__class__.__base__.__subclasses__() %}{{ x }}{% endfor %}"
    yield f"${{{FLAG}}}"
    yield f"<custom-x onclick={FLAG} id=status data-parts=reader>"
    yield f'<pincite-answer data-body=\'{{"question": "x"}}\'><img src=x onerror={FLAG}>'
    yield f"**<img src=x onerror={FLAG}>**"
    yield f"^<b>^<img src=x onerror={FLAG}>"
    yield f"| <img src=x onerror={FLAG}> |"
    yield f"<!--><img src=x onerror={FLAG}>-->"
    yield f"<x/onpointerrawupdate={FLAG}>"
    yield f"\u202e<img src=x onerror={FLAG}>"
    yield f"<img src=x onerror={FLAG}//"
    yield f"<img\nsrc=x\nonerror={FLAG}>"
    yield f"<<img src=x onerror={FLAG}>>"


def hostile_document(payload: str, number: int) -> str:
    """Return a document that has the payload in its title, a heading, its words and a table."""
    line = payload.replace("\n", " ")
    cell = line.replace("|", "\\|")
    return (
        f"# {line} title{number}\n\n## {number}.1 {line}\n\nHostile words {number}: {line}\n\n"
        f"**Table {number} {line}**\n\n| {cell} | Hostile |\n|---|---|\n| {cell} | {number} |\n"
    )
