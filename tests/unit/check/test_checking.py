"""Verdicts on quotations, citations and statements, against a small index of two documents."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pincite.check.checker import MAX_CHARS, Checker
from pincite.check.rules import opposite
from pincite.check.values import CheckedClaim
from pincite.model.settings import Settings
from pincite.search.reader import IndexReader
from pincite.update import ingest_files

CODE_2021 = """# Harbour Code, 2021 Edition

## § 12.1 Mooring.

(a) A vessel shall be moored with at least two lines.
(b) No vessel may anchor in the fairway unless the harbour master agrees in writing.
(c) Lines shall have a diameter of at least 24 mm and be renewed every 3 years.

## § 12.2 Fees.

The owner must pay the fee within 30 days after the invoice:
(1) for each day of the stay; and
(2) for water and power that was used.

| Length (m) | Fee per day (EUR) |
|---|---|
| up to 10 | 25 |
| over 10 | 40 |

## § 12.3 Signals.

A horn is sounded before a vessel leaves its berth, and the *red* light is shown at the bow.

## § 12.5 Ropes.

2.1.3Renewal of ropes. Every third year.
"""
CODE_2024 = (
    CODE_2021.replace("2021", "2024")
    .replace("within 30 days", "within 14 days")
    .replace("## § 12.3 Signals.", "## § 12.4 Signals.")
)


@pytest.fixture(scope="module")
def checker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Checker]:
    folder = tmp_path_factory.mktemp("check")
    (folder / "code-2021.md").write_text(CODE_2021, encoding="utf-8")
    (folder / "code-2024.md").write_text(CODE_2024, encoding="utf-8")
    names = ("code-2021.md", "code-2024.md")
    ingest_files([(folder / name, name) for name in names], folder / "index", Settings())
    index = IndexReader.open(folder / "index")
    yield Checker(index)
    index.snapshot.close()


def only(checker: Checker, text: str) -> CheckedClaim:
    (claim,) = checker.check(text).claims
    return claim


@pytest.mark.parametrize(
    "text",
    [
        "It says “A vessel shall be moored with at least two lines” (§ 12.1(a)).",
        '§ 12.1(a): "a vessel shall be moored with at least two lines."',
        "Nach § 12.1(a) gilt: „A vessel shall be moored with at least two lines.“",
        "« A vessel shall be moored with at least two lines » (section 12.1(a))",
        # hyphenation, line ends, small marks
        "“A ves-\nsel shall be moored\nwith at least two lines” (§ 12.1(a))",
        # ellipsis and brackets
        "“[A] vessel shall be moored with … two lines” (§ 12.1(a))",
        "“[it] shall be moored with at least two lines” (§ 12.1(a))",
        "“A vessel shall be moor[ing] with at least two lines” (§ 12.1(a))",
        # over items, with and without their labels
        "“within 14 days after the invoice: (1) for each day of the stay; and (2) for” (12.2)",
        "“within 14 days after the invoice: for each day of the stay; and for water” (§ 12.2)",
        # over cells, and emphasis in the source
        "“up to 10 25 over 10 40” (§ 12.2)",
        "“the red light is shown at the bow” (§ 12.4)",
        # marks inside marks
        "“A “vessel” shall be moored with at least two lines” (§ 12.1(a))",
        # the lead-in of what is cited
        "“The owner must pay the fee within 14 days after the invoice” (§ 12.2(1))",
        "> Lines shall have a diameter of at least 24 mm and be renewed every\n> — § 12.1(c)",
        "As § 12.1(c) says:\n\n> Lines shall have a diameter of at least 24 mm",
        "Lines “shall have a diameter of at least 24 mm” [1].\n\n[1]: Harbour Code 2024, § 12.1(c)",
        # a label that a reader glued to its heading
        "“2.1.3 Renewal of ropes. Every third year” (§ 12.5)",
        "Without any citation: “No vessel may anchor in the fairway unless the harbour master”.",
    ],
)
def test_true_quotations_are_exact(checker: Checker, text: str) -> None:
    quotations = [each for each in checker.check(text).claims if each.kind == "quotation"]
    assert [each.verdict for each in quotations] == ["exact"], quotations


@pytest.mark.parametrize(
    ("quote", "verdict"),
    [
        ("A vessel shall be moored with at least three lines", "number_differs"),
        ("A vessel may be moored with at least two lines", "opposite"),
        ("A vessel shall not be moored with at least two lines", "opposite"),
        ("A vessel shall be moored with at most two lines", "opposite"),
        ("A vessel shall be moored with two lines", "altered"),
        ("A ship shall be moored with at least two lines", "altered"),
        ("Lines shall have a diameter of at least 24 cm and be renewed", "number_differs"),
        ("and be renewed every 3 months", "number_differs"),
        ("A horn is sounded after a vessel leaves its berth", "opposite"),
        ("No vessel may anchor in the fairway if the harbour master agrees", "opposite"),
        ("No vessel may anchor in the … harbour master agrees orally", "altered"),
        ("A vessel shall be moored with at least two lines. A horn is sounded before", "altered"),
        ("Pirates are to be keelhauled at the owner’s expense on Mondays", "not_found"),
    ],
)
def test_a_changed_word_is_never_exact(checker: Checker, quote: str, verdict: str) -> None:
    claim = only(checker, f"It says “{quote}”.")
    assert claim.verdict == verdict, claim
    assert claim.failed
    if verdict not in ("not_found",):
        assert claim.remedy and claim.remedy in CODE_2021 + CODE_2024
        assert claim.changes


def test_an_ellipsis_must_not_hide_a_negation(checker: Checker) -> None:
    claim = only(checker, "“vessel may anchor in the fairway”")
    assert claim.verdict == "exact"
    hidden = only(checker, "“anchor in the fairway … the harbour master agrees”")
    assert (hidden.verdict, hidden.changes[0].source) == ("opposite", "unless")


@pytest.mark.parametrize(
    ("text", "verdict", "said"),
    [
        ("“A vessel shall be moored with at least two lines” (§ 12.1(b))", "elsewhere", "12.1(a)"),
        ("“A vessel shall be moored with at least two lines” (§ 12.9)", "elsewhere", "12.1(a)"),
        (
            "“within 30 days after the invoice” (Harbour Code 2024, § 12.2)",
            "elsewhere",
            "2021 Edition",
        ),
        ("“shall be moored with at least two lines” (Port Act 1999, § 5)", "outside", "Port Act"),
    ],
)
def test_the_right_words_at_the_wrong_place(
    checker: Checker, text: str, verdict: str, said: str
) -> None:
    claim = next(each for each in checker.check(text).claims if each.kind == "quotation")
    assert claim.verdict == verdict
    assert said in f"{claim.reason} {claim.remedy}"


@pytest.mark.parametrize(
    ("text", "verdict", "said"),
    [
        ("Compare § 12.1(c).", "exact", ""),
        ("Compare § 12.9.", "no_such_place", "12.5"),
        ("Compare § 12.1(f).", "no_such_place", "12.1"),
        ("Compare Harbour Code 2024, § 12.3.", "no_such_place", "2021 Edition"),
        ("Compare 47 U.S.C. § 303(g).", "outside", "47 U.S.C."),
        ("Compare § 433 Abs. 1 BGB.", "outside", "BGB"),
    ],
)
def test_citations(checker: Checker, text: str, verdict: str, said: str) -> None:
    claim = only(checker, text)
    assert (claim.kind, claim.verdict) == ("citation", verdict), claim
    assert said in claim.reason


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("Under § 12.1(a), vessels have to be moored with at least two lines.", "supported"),
        ("Under § 12.1(a), a vessel shall be moored with no fewer than two lines.", "supported"),
        ("Under § 12.1(a), a vessel shall be moored with at least 4 lines.", "number_differs"),
        ("Under § 12.1(a), a vessel shall be moored with at most two lines.", "opposite"),
        ("Under § 12.1(a), a vessel may be moored with at least two lines.", "opposite"),
        ("Under § 12.1(b), a vessel may anchor in the fairway.", "opposite"),
        ("Under § 12.1(a), the crew has to wear yellow jackets on deck.", "not_supported"),
        ("The harbour master was informed under § 12.9 of the Code.", "no_such_place"),
        # of a whole part much may be said; of other works nothing is
        ("In Smith v. Jones, 531 U.S. 98 (2000), the court spoke of harbours.", "outside"),
        ("Both 47 U.S.C. § 303(g) and the NEC in Table 250.66 say more on mooring.", "outside"),
    ],
)
def test_statements(checker: Checker, text: str, verdict: str) -> None:
    claim = only(checker, text)
    assert (claim.kind, claim.verdict) == ("statement", verdict), claim


def test_another_limit_is_another_number_and_not_another_rule() -> None:
    assert not opposite("A novice may use up to 10 W.", "No station may use more than 5 W.")
    assert opposite("A novice may use music.", "No station may use music.")


def test_a_statement_is_shown_as_it_is_written(checker: Checker) -> None:
    text = "Under § 12.1(a), vessels have to be moored with at least two lines."
    assert only(checker, text).text == text


def test_a_model_may_judge_statements(checker: Checker) -> None:
    asked = []

    def support(claim: str, evidence: str) -> float | None:
        asked.append((claim, evidence))
        return 0.1

    judged = Checker(checker._index, support)
    claim = only(judged, "Under § 12.1(a), a vessel shall be moored with at least two lines.")
    assert (claim.verdict, claim.probability) == ("not_supported", 0.1)
    assert "moored with at least two lines" in asked[0][1]


def test_terms_in_quotation_marks_are_no_claims(checker: Checker) -> None:
    assert (
        checker.check("The so-called “vessel” and the 'harbour master' are parties.").claims == ()
    )


def test_a_long_text_is_bounded_and_said_to_be(checker: Checker) -> None:
    report = checker.check("a " * (MAX_CHARS // 2 + 10))
    assert report.claims == ()
    assert "characters were checked" in report.notes[0]


def test_the_report_counts(checker: Checker) -> None:
    report = checker.check(
        "“A ship shall be moored with at least two lines”.\n\nCompare § 12.1(c)."
    )
    assert report.counts == {"altered": 1, "exact": 1}
    assert [each.verdict for each in report.failed] == ["altered"]
    plain = report.plain()
    assert plain["failed"] == 1
    assert plain["claims"][0]["changes"] == [{"source": "vessel", "written": "ship"}]
    assert [each.verdict for each in checker.stream("Compare § 12.1(c).").claims] == ["exact"]


def test_offsets_are_of_the_text(checker: Checker, tmp_path: Path) -> None:
    text = "First.\n\nThen “A ship shall be moored with at least two lines”."
    (claim,) = checker.check(text).claims
    assert text[claim.start : claim.end] == claim.text
