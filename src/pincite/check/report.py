"""A report that a person can send on, and one that continuous integration reads."""

from __future__ import annotations

import re
from base64 import b64encode
from bisect import bisect_right
from collections.abc import Mapping
from html import escape
from typing import Any

from pincite.check.values import CheckedClaim, CheckReport, CheckVerdict, SourceEvidence
from pincite.model.markup import plain

# What each verdict is called, and its colour.
NAMES: dict[CheckVerdict, tuple[str, str]] = {
    "exact": ("exact", "green"),
    "supported": ("supported", "green"),
    "outside": ("outside the index", "blue"),
    "elsewhere": ("stands elsewhere", "yellow"),
    "altered": ("altered", "yellow"),
    "not_supported": ("not supported", "yellow"),
    "number_differs": ("number differs", "red"),
    "opposite": ("says the opposite", "red"),
    "not_found": ("not found", "red"),
    "no_such_place": ("no such place", "red"),
}
_LEVELS = {"red": "error", "yellow": "warning"}
_HTML_COLOURS = {"green": "#1a6b2f", "blue": "#1f4e9c", "yellow": "#7a5200", "red": "#a51d1d"}
_SHOWN = 200  # characters of a place that is only cited
_BLANK_LINES = re.compile(r"\n\s*\n")
_LINE_END = re.compile(r"\n")


def line_of(text: str) -> list[int]:
    """Return where the lines of a text begin."""
    return [0, *(match.end() for match in _LINE_END.finditer(text))]


def position(starts: list[int], offset: int) -> tuple[int, int]:
    """Return line and column of an offset, both from 1.

    >>> position(line_of("one\\ntwo"), 5)
    (2, 2)
    """
    line = bisect_right(starts, offset)
    return line, offset - starts[line - 1] + 1


def sarif(report: CheckReport, text: str, name: str) -> dict[str, Any]:
    """Return what failed as SARIF 2.1.0, which hosts of repositories show beside the lines."""
    starts = line_of(text)
    return {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "pincite check",
                        "rules": [
                            {"id": verdict, "shortDescription": {"text": words}}
                            for verdict, (words, colour) in NAMES.items()
                            if colour in _LEVELS
                        ],
                    }
                },
                "columnKind": "unicodeCodePoints",
                "results": [_result(claim, starts, name) for claim in report.failed],
            }
        ],
    }


def _result(claim: CheckedClaim, starts: list[int], name: str) -> dict[str, Any]:
    first, last = position(starts, claim.start), position(starts, claim.end)
    words, colour = NAMES[claim.verdict]
    return {
        "ruleId": claim.verdict,
        "level": _LEVELS[colour],
        "message": {"text": f"{words}: {claim.reason or claim.text}"},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": name},
                    "region": {
                        "startLine": first[0],
                        "startColumn": first[1],
                        "endLine": last[0],
                        "endColumn": last[1],
                    },
                }
            }
        ],
    }


_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; img-src data:; style-src 'unsafe-inline'">
<title>{title}</title><style>
body {{ font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 72rem; }}
main {{ padding: 0 1rem; }}
table {{ border-collapse: collapse; width: 100%; }}
th, td {{ border-top: 1px solid #bbb; padding: .5rem; text-align: left; vertical-align: top; }}
td {{ width: 42%; overflow-wrap: anywhere; white-space: pre-wrap; }}
td:first-child {{ width: 16%; font-weight: 600; }} td small {{ font-weight: 400; }}
tbody th {{ background: #eee; }}
del {{ background: #fbd5d5; }} ins {{ background: #d3f0d8; text-decoration: none; }}
small {{ color: #444; }} img {{ max-width: 100%; border: 1px solid #bbb; }}
</style></head><body><main><h1>{title}</h1><p>{summary}</p>{notes}
<table><thead><tr><th scope="col">verdict</th><th scope="col">as written</th>
<th scope="col">in the source</th></tr></thead>
{rows}
</table></main></body></html>
"""


Pictures = Mapping[tuple[str, int], bytes]  # of pages, as PNG, by document and page


def html(report: CheckReport, name: str, pictures: Pictures | None = None, text: str = "") -> str:
    """Return a page of its own with each claim beside what its source says; nothing is loaded.

    What somebody has to look at comes first. Pictures of the pages stand in it as well, each behind
    the first claim that has it, and of a ``text`` the lines in which the claims stand.
    """
    counts = ", ".join(f"{count} {NAMES[v][0]}" for v, count in sorted(report.counts.items()))
    left, starts = dict(pictures or {}), line_of(text) if text else []
    good = [claim for claim in report.claims if not claim.failed]
    parts = (("To look at", report.failed), ("What holds, or is of other works", good))
    return _PAGE.format(
        title=escape(f"Check of {name}"),
        summary=escape(_summary(report, counts)),
        notes="".join(f"<p>{escape(note)}</p>" for note in report.notes),
        rows="\n".join(
            f'<tbody><tr><th scope="rowgroup" colspan="3">{heading}</th></tr>\n'
            + "\n".join(_row(claim, left, starts) for claim in claims)
            + "</tbody>"
            for heading, claims in parts
            if claims
        ),
    )


def _summary(report: CheckReport, counts: str) -> str:
    if not counts:
        return "Nothing in it claims to come from a source."
    return f"{len(report.failed)} of {len(report.claims)} to look at: {counts}"


def _row(claim: CheckedClaim, pictures: dict[tuple[str, int], bytes], starts: list[int]) -> str:
    words, colour = NAMES[claim.verdict]
    told = [f"line {position(starts, claim.start)[0]}"] if starts else []
    told += [claim.reason] if claim.reason else []
    told += [] if claim.probability is None else [f"p = {claim.probability:.2f}"]
    why = "".join(f"<br><small>{escape(each)}</small>" for each in told)
    written = escape(" ".join(claim.text.split()))
    written += f"<br><small>{escape(claim.cited)}</small>" if claim.cited else ""
    source = "" if claim.evidence is None else _source(claim, claim.evidence)
    if claim.changes:
        source += "<br>" + " ".join(
            f"<del>{escape(each.written)}</del> <ins>{escape(each.source)}</ins>"
            for each in claim.changes
        )
    source += _picture(claim, pictures)
    style = f' style="color:{_HTML_COLOURS[colour]}"'
    return f"<tr><td{style}>{escape(words)}{why}</td><td>{written}</td><td>{source}</td></tr>"


def _source(claim: CheckedClaim, evidence: SourceEvidence) -> str:
    """Return the words of the source and where they stand; of a place that is there, its start."""
    words = _BLANK_LINES.sub("\n", plain(evidence.text).strip())
    if claim.kind == "citation" and len(words) > _SHOWN:
        words = f"{words[:_SHOWN]}…"
    return f"{escape(words)}<br><small>{escape(evidence.citation)}</small>"


def _picture(claim: CheckedClaim, pictures: dict[tuple[str, int], bytes]) -> str:
    """Return the page that a claim is about, if there is a picture that was not shown yet."""
    source = claim.evidence
    if source is None or source.page is None:
        return ""
    drawn = pictures.pop((source.document, source.page), None)
    if drawn is None:
        return ""
    words = escape(f"Page {source.page_label or source.page} of {source.document}")
    image = f'<img alt="{words}" src="data:image/png;base64,{b64encode(drawn).decode()}">'
    return f"<details><summary>{words}</summary>{image}</details>"
