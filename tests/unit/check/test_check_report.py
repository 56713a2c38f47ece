"""The reports of a check: pages and SARIF."""

from __future__ import annotations

from pincite.check.report import NAMES, html, line_of, position, sarif
from pincite.check.values import (
    FAILED,
    CheckedClaim,
    CheckReport,
    SourceEvidence,
    WordChange,
)
from pincite.model.types import Span

TEXT = "One.\nIt says “<b>two</b> ropes”.\n"
CLAIM = CheckedClaim(
    "quotation", 14, 30, "<b>two</b> ropes", "altered", "words differ", "12.1(a)",
    SourceEvidence("code.md", "12.1(a)", "Code, 12.1", "two <i>lines</i>", Span("code.md", 0, 9)),
    "two lines", (WordChange("lines", "ropes<script>"),),
)  # fmt: skip
REPORT = CheckReport((CLAIM, CheckedClaim("citation", 0, 3, "One", "exact")), ("a <note>",))


def test_a_page_escapes_and_loads_nothing() -> None:
    page = html(REPORT, "draft <1>.md")
    assert "<script" not in page and "<b>two" not in page and "<i>lines" not in page
    assert "&lt;b&gt;two" in page and "a &lt;note&gt;" in page and "draft &lt;1&gt;.md" in page
    assert "default-src 'none'" in page
    assert "http" not in page.replace("http-equiv", "")
    assert "1 of 2 to look at: 1 altered, 1 exact" in page


def test_what_failed_comes_first_with_its_line() -> None:
    page = html(CheckReport(REPORT.claims[::-1]), "draft.md", text=TEXT)
    assert (
        page.index("To look at")
        < page.index("line 2")
        < page.index("What holds")
        < page.index("line 1")
    )


def test_sarif_names_lines_of_what_failed() -> None:
    (run,) = sarif(REPORT, TEXT, "draft.md")["runs"]
    (result,) = run["results"]
    region = result["locations"][0]["physicalLocation"]["region"]
    assert (region["startLine"], region["startColumn"]) == (2, 10)
    assert (result["ruleId"], result["level"]) == ("altered", "warning")
    assert {rule["id"] for rule in run["tool"]["driver"]["rules"]} == FAILED


def test_every_verdict_has_a_name() -> None:
    assert set(NAMES) > FAILED
    assert {
        verdict for verdict, (_, colour) in NAMES.items() if colour in ("red", "yellow")
    } == FAILED
    assert position(line_of("a\n\nb"), 3) == (3, 1)


def test_a_page_is_shown_once_beside_its_claims() -> None:
    source = SourceEvidence(
        "code.pdf", "1", "Code, 1, p. 2", "two", Span("code.pdf", 0, 3), page=2, page_label="ii"
    )
    claim = CheckedClaim("quotation", 0, 3, "two", "exact", evidence=source)
    page = html(CheckReport((claim, claim)), "draft.md", {("code.pdf", 2): b"picture"})
    assert (
        page.count('<img alt="Page ii of code.pdf" src="data:image/png;base64,cGljdHVyZQ==">') == 1
    )
    assert "img-src data:" in page
