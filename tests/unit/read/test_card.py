"""Cards: what a document is, whose, and of which time, by its own words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.model.settings import IngestSettings
from pincite.model.types import CARD_KEYS, Document
from pincite.read.card import TITLE_CHARS, card_of, is_junk
from pincite.read.extracted import Block, ExtractedText
from pincite.read.load import parse
from pincite.read.parties import parties_of, properly

COVER = """UNITED STATES

SECURITIES AND EXCHANGE COMMISSION

Washington, D.C. 20549

# FORM 10-K

☒ ANNUAL REPORT PURSUANT TO SECTION 13 OR 15(d) OF THE SECURITIES EXCHANGE ACT OF 1934

For the fiscal year ended January 28, 2023

Commission File Number: 0-12345

TUGBOAT HOLDINGS, INC.

(Exact name of registrant as specified in its charter)

| Title of each class | Trading Symbol | Name of each exchange on which registered |
| --- | --- | --- |
| Common Stock, $0.10 par value | TUGB | New York Stock Exchange |

Tugboat Holdings, Inc. (“Tugboat” or the “Company”) tows ships. {more}
"""


def document(text: str, name: str = "0000123456-23-000001.md") -> Document:
    return parse(text.encode(), name, IngestSettings(profile="none")).document


def test_a_registrant_whose_name_is_a_picture_is_whom_the_report_names_most() -> None:
    cover = COVER.replace("TUGBOAT HOLDINGS, INC.", "o TRANSITION REPORT PURSUANT TO SECTION 13")
    more = "The Company tows. " * 9 + "We at Tugboat Holdings, Inc. tow for Tow LLC. " * 3
    assert document(cover.format(more=more)).meta["issuer"] == "Tugboat Holdings, Inc."
    cover = cover.replace("o TRANSITION", "OR\n\no TRANSITION")
    assert document(cover.format(more=more)).meta["issuer"] == "Tugboat Holdings, Inc."


def test_an_annual_report_is_named_by_issuer_form_and_period() -> None:
    found = document(COVER.format(more="In fiscal 2022 and fiscal 2021. " * 6))
    assert found.title == (
        "Tugboat Holdings, Inc., Form 10-K for the fiscal year ended January 28, 2023"
    )
    card = {key: found.meta[key] for key in found.meta if key in CARD_KEYS and key != "years"}
    assert card == {
        "kind": "10-K", "issuer": "Tugboat Holdings, Inc.", "names": "Tugboat", "ticker": "TUGB",
        "period": "fiscal year ended January 28, 2023", "period_end": "2023-01-28",
        "fiscal_year": "2022",  # its own word for a year that ends in the next January
    }  # fmt: skip
    assert found.meta["years"].startswith("2022:")
    assert document(COVER.format(more="In fiscal 2023. " * 6)).meta["fiscal_year"] == "2023"


@pytest.mark.parametrize(
    ("told", "quarter"),
    [("three months ended", "1"), ("three and six months ended", "2"), ("nine months ended", "3"),
     ("12 weeks ended", "1"), ("24 weeks ended", "2"), ("thirty-nine weeks ended", "3")],
)  # fmt: skip
def test_the_quarter_is_as_long_as_the_year_so_far(told: str, quarter: str) -> None:
    text = COVER.replace("10-K", "10-Q").replace("ANNUAL", "QUARTERLY")
    text = text.replace("fiscal year ended January 28", "quarterly period ended July 29")
    found = document(text.format(more=f"For the {told} July 29. " * 3))
    assert (found.meta["kind"], found.meta["quarter"]) == ("10-Q", quarter)
    assert found.title.endswith("Form 10-Q for the quarterly period ended July 29, 2023")


def test_a_current_report_has_its_date_and_is_never_in_force() -> None:
    text = COVER.replace("10-K", "8-K").replace(
        "For the fiscal year ended January 28, 2023",
        "Date of Report (Date of earliest event reported): May 3, 2023 (May 1, 2023)",
    )
    found = document(text.format(more="The plan is effective June 1, 2023."))
    assert found.title == "Tugboat Holdings, Inc., Form 8-K of May 3, 2023"
    assert found.meta["date"] == "2023-05-03"
    assert not {"effective", "period"} & found.meta.keys()


def test_an_announcement_of_results() -> None:
    found = document(
        "# Exhibit 99.1\n\n## Tugboat Reports Third-Quarter 2023 Results; Raises Outlook\n\n"
        "PORTLAND - April 25, 2023 - Tugboat Holdings, Inc. (NYSE: TUGB) today spoke.\n"
    )
    assert found.title == "Tugboat Reports Third-Quarter 2023 Results; Raises Outlook"
    facts = [found.meta[key] for key in ("kind", "issuer", "quarter", "fiscal_year", "date")]
    assert facts == ["earnings release", "Tugboat", "3", "2023", "2023-04-25"]


CONTRACT = """# Exhibit 10.13

# EXECUTION VERSION

## TOWING AGREEMENT

THIS TOWING AGREEMENT (the “Agreement”) is made as of the 2nd day of May, 2012 by and between
TUGBOAT HOLDINGS, INC., a Maine corporation having an address of 5 Quay Road (“Tugboat”), and
Ann Barge, an individual (the “Owner”).

WHEREAS, the parties wish to tow, Tugboat Holdings, Inc. hereby agrees with Quay Company.
"""


def test_a_contract_is_named_by_itself_and_its_parties() -> None:
    found = document(CONTRACT, "a_2019_EX10.md")
    assert found.title == "Towing Agreement between Tugboat Holdings, Inc. and Ann Barge"
    assert found.meta["kind"] == "contract"
    assert found.meta["parties"] == "Tugboat Holdings, Inc.; Ann Barge"
    assert found.meta["names"] == "Tugboat"  # and not the role "Owner"
    assert found.meta["date"] == "2012-05-02"


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("SHIP TOWING\n\nAGREEMENT\n\nThe parties, Tow LLC (“Tow”) and "
         "Sea LLC (“Sea”), hereby agree between themselves.",
         "Ship Towing Agreement between Tow LLC and Sea LLC"),
        ("Exhibit 99.1 JOINT FILING AGREEMENT The undersigned hereby agree as parties. "
         + "It is so. " * 20, "Joint Filing Agreement"),
        ("The parties to this agreement hereby agree.\n\n"
         + "Tow LLC (“Tow”) and Sea LLC (“Sea”): each party of the agreement is bound.\n\n" * 12,
         "Agreement between Tow LLC and Sea LLC"),
    ],
)  # fmt: skip
def test_a_contract_without_a_heading_in_one_line(text: str, title: str) -> None:
    found = document(text, "x.txt")
    assert (found.title, found.meta["kind"]) == (title, "contract")


@pytest.mark.parametrize(
    ("opening", "parties"),
    [
        ("between Tow Co., Ltd. ( ), a company (hereinafter “Licensor”) and Sea LLC (“Sea”).",
         ["Tow Co., Ltd.", "Sea LLC"]),
        ("by and among (a) Tow, S.A. (“Tow”), a company, (b) Sea (BVI) Limited (“Sea”)",
         ["Tow, S.A.", "Sea (BVI) Limited"]),
        ("between TOW LLC, as Owner and SEA MANAGEMENT, LLC, as Servicer Dated as of April 8",
         ["TOW LLC", "SEA MANAGEMENT, LLC"]),
        ("between Tow Inc, a subsidiary of Big Company (“Tow”) and Sea Trust (“Sea”)",
         ["Tow Inc", "Sea Trust"]),
        ("from time to time by and between Consultant and Company, and so on", []),
        ("between the tides and the rocks", []),
    ],
)  # fmt: skip
def test_parties_stand_behind_between(opening: str, parties: list[str]) -> None:
    assert parties_of(f"This Agreement is made {opening}")[0] == parties


@pytest.mark.parametrize(
    ("title", "kind"),
    [
        ("Harbour Code, 2021 Edition", "code"),
        ("Crane User Manual", "manual"),
        ("Policy on Reports", "policy"),
        ("Rules of the Harbour", "rulebook"),
        ("Manual for the Annual Report", "manual"),
        ("Harbour Safety Regulations", "regulation"),
        ("Minutes of the Board", "minutes"),
        ("A Tale of the Sea", ""),
    ],
)
def test_a_title_says_what_it_is_the_title_of(title: str, kind: str) -> None:
    assert document(f"# {title}\n\nWords.\n", "x.md").meta.get("kind", "") == kind


@pytest.mark.parametrize(
    "title",
    ["0000104169-18-000028", "UNITED STATES", "SECURITIES AND EXCHANGE COMMISSION", "FORM 10-K",
     "Exhibit 10.13", "Q1 2023 8-K - Exhibit 99.1", "EXECUTION VERSION", "Microsoft Word - x.doc",
     "QuickLinks -- Click here to rapidly navigate through this document", "lease.pdf",
     "Untitled", "Table of Contents", "12", "", "CONFIDENTIAL", "Slide 1"],
)  # fmt: skip
def test_what_says_nothing_is_no_title(title: str) -> None:
    assert is_junk(title)
    parsed = ExtractedText(
        f"# {title}\n\n## Harbour dues\n\nWords.", title, [Block("heading", 0, 1)]
    )
    assert card_of(parsed, "x.pdf")[0] == "Harbour dues"


def test_a_title_in_a_pdf_is_believed_if_its_words_stand_in_it() -> None:
    text = "# Harbour dues\n\nThe dues of the harbour at Tarn."
    for stated, title in (("Dues of Tarn", "Dues of Tarn"), ("hd3_final FINAL", "Harbour dues")):
        parsed = ExtractedText(text, stated, [Block("heading", 0, 14)])
        assert card_of(parsed, "x.pdf")[0] == title


def test_a_year_in_a_file_name_is_no_date_of_the_document() -> None:
    card = document("# Notes\n\nWords.\n", "notes-2019-05-01.md").meta
    assert not {"date", "period", "effective", "years"} & card.keys()


def test_front_matter_corrects_the_card() -> None:
    front = "---\ntitle: Dues\ntype: policy\nissuer: Harbour Board\nperiod: 2024\n---\n"
    found = document(f"{front}\n# Harbour Code, 2021 Edition\n\nWords.\n")
    facts = [found.meta[key] for key in ("kind", "issuer", "period", "edition")]
    assert [found.title, *facts] == ["Dues", "policy", "Harbour Board", "2024", "2021 Edition"]


def test_names_keep_the_capitals_that_the_text_gives_them() -> None:
    assert properly("JPTUG & CO.", "At JPTug & Co. we") == "JPTug & Co."
    assert properly("AMENDMENT OF THE U.S. LEASE", "") == "Amendment of the U.S. Lease"
    assert properly("eTug plc", "ETUG PLC") == "eTug plc"


@given(st.text(st.sampled_from('FORM 10-K(“"”), and between Agreement LLC.\n#|'), max_size=300))
def test_any_text_has_a_card(text: str) -> None:
    title, card = card_of(ExtractedText(text, "name", []), "name.txt")
    assert len(title) <= TITLE_CHARS and set(card) <= set(CARD_KEYS) and all(card.values())
