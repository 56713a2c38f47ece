"""Citations as people write them."""

from __future__ import annotations

import time

import pytest

from pincite.check.citations import numbered_sources, written_citations
from pincite.check.claims import read_claims


@pytest.mark.parametrize(
    ("text", "key", "work"),
    [
        ("47 CFR 97.113(a)(4)", "97.113(a)(4)", "47 CFR"),
        ("47 C.F.R. § 97.113(a)(4)", "97.113(a)(4)", "47 C.F.R."),
        ("47 U.S.C. § 303(g)(1)", "303(g)(1)", "47 U.S.C."),
        ("26 C.F.R. § 1.501(c)(3)-1", "1.501(c)(3)-1", "26 C.F.R."),
        ("NEC Table 310.16", "table 310.16", "NEC"),
        ("Debian Policy 7.2", "7.2", "Debian Policy"),
        ("Item 7 of the 10-K for 2022", "item 7", "10-K for 2022"),
        ("§ 433 Abs. 1 S. 2 BGB", "433(1)(2)", "BGB"),
        ("Art. 6 Abs. 1 lit. f DSGVO", "art. 6(1)(f)", "DSGVO"),
        (
            "Article 6(1)(f) of Regulation (EU) 2016/679",
            "article 6(1)(f)",
            "Regulation (EU) 2016/679",
        ),
        ("art. 2043 c.c.", "art. 2043", "c.c."),
        ("art. L. 121-1 du Code de la consommation", "l.121-1", "Code de la consommation"),
        ("s. 12(3) of the Companies Act 2006", "12(3)", "Companies Act 2006"),
        ("SOR/2008-34, s. 5", "5", "SOR/2008-34"),
        ("Fed. R. Civ. P. 12(b)(6)", "12(b)(6)", "Fed. R. Civ. P."),
        ("Cal. Civ. Code § 1798.100(a)(1)", "1798.100(a)(1)", "Cal. Civ. Code"),
        ("ISO/IEC 27001:2013 A.9.2.1", "a.9.2.1", "ISO/IEC 27001:2013"),
        ("ASC 606-10-25-1", "606-10-25-1", "ASC"),
        ("Art. 5(2) of the Code", "art. 5(2)", ""),
        (
            "subsection 10.19(1.1)(a) of the Canada Labour Code",
            "10.19(1.1)(a)",
            "Canada Labour Code",
        ),
        ("§ 879 Abs 1 ABGB", "879(1)", "ABGB"),
        ("Artikel 5 Absatz 1 der Richtlinie 2006/42/EG", "artikel 5(1)", "Richtlinie 2006/42/EG"),
        ("NIST SP 800-53, AC-2(1)", "ac-2(1)", "NIST SP 800-53"),
        ("N.Y. Gen. Bus. Law § 899-aa", "899-aa", "N.Y. Gen. Bus. Law"),
        ("U.S. Const. art. I, § 8", "8", "U.S. Const."),
    ],
)
def test_parts_of_a_citation(text: str, key: str, work: str) -> None:
    (found,) = written_citations(f"As provided in {text}, the licensee has to file.")
    assert (found.key, found.work) == (key, work)
    whole = f"As provided in {text}, the licensee has to file."
    assert whole[found.start : found.end] == text


def test_ranges_pages_and_what_stands_before() -> None:
    (found,) = written_citations("See §§ 97.111-97.113.")
    assert (found.key, found.last) == ("97.111", "97.113")
    (found,) = written_citations("See the 10-K 2022, p. 47.")
    assert (found.kind, found.page, found.years) == ("page", "47", (2022,))
    first, same, other = written_citations("See UCC § 2-207. Ibid. Id. at § 2-208.")
    assert (same.key, same.work) == (first.key, first.work) == ("2-207", "UCC")
    assert (other.key, other.work) == ("2-208", "UCC")
    (found,) = written_citations("Chapter 3, Section 2 says so.")
    assert (found.key, found.within) == ("2", "chapter 3")


def test_numbers_that_are_no_places() -> None:
    assert written_citations("It is 2.4 m long, costs 350 dollars and weighs 5 kg.") == []
    assert [each.is_bare for each in written_citations("see 97.1, § 97.3")] == [True, False]


def test_notes_lead_to_their_entries() -> None:
    text = "It is so [1], and so.[^a]\n\n## Sources\n\n1. 47 CFR 97.1\n\n[^a]: UCC § 2-207\n"
    assert numbered_sources(text) == {"1": "47 CFR 97.1", "a": "UCC § 2-207"}
    keys = [each.key for claim in read_claims(text).claims for each in claim.citations]
    assert {"97.1", "2-207"} <= set(keys)


@pytest.mark.parametrize(
    "piece", ["“", '"a ', "'a ", "§ 1(a)", "[1] ", "> ", "A. B. ", "a, ", "\n ", "ibid. ", "1.1 "]
)
def test_a_hostile_text_takes_time_that_grows_with_its_length(piece: str) -> None:
    text = piece * (20_000 // len(piece))
    started = time.process_time()
    read_claims(text)
    assert time.process_time() - started < 20


def test_the_same_section_may_be_cited_by_an_item_alone() -> None:
    first, again = written_citations("It says so (§ 97.119(a)), and how fast (id. at (b)(1)).")
    assert (first.key, again.key, again.kind) == ("97.119(a)", "97.119(b)(1)", "back")
