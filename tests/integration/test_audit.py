"""Gaps that were planted are found, editions are compared, rows are cited."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pincite import Index, PinciteError, find_files, ingest_files
from pincite.maintain.audit import Audit, audit
from pincite.maintain.editions import diff

SAMPLES = Path(__file__).parents[2] / "samples"

GAPPY = """# Gap Code

## 1.1 First
(a) One.
(b) Two, see 9.9.
(d) Four.

## 1.2 Empty

## 1.3 Single
(a) Alone.

## 1.4 Table

| A | B |
|---|---|
| 1 | 2 | 3 |
| 4 |

## 1.5 [Reserved]
"""


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    folder = tmp_path_factory.mktemp("samples")
    list(ingest_files(find_files([SAMPLES]), folder))
    with Index.open(folder) as index:
        yield index


@pytest.fixture
def report(tmp_path: Path) -> Audit:
    (tmp_path / "gap.md").write_text(GAPPY)
    (tmp_path / "copy.md").write_text(GAPPY)
    list(ingest_files(find_files([tmp_path / "gap.md", tmp_path / "copy.md"]), tmp_path / "index"))
    with Index.open(tmp_path / "index") as index:
        return audit(index.snapshot)


def test_planted_gaps_are_found(report: Audit) -> None:
    found = {(gap.kind, gap.place) for gap in report.gaps if gap.document == "gap.md"}
    assert ("numbering_hole", "1.1(d)") in found
    assert ("numbering_hole", "1.3(a)") in found
    assert ("empty_section", "1.2") in found
    assert ("table_not_read", "1.4 Table") in found
    assert ("duplicate_document", "") in found
    assert not any(place == "1.5" for _, place in found)


def test_a_misread_numbering_is_not_blamed_on_the_document(tmp_path: Path) -> None:
    named = "\n\n".join(f"As Section {n} says, see Section {n}." for n in range(8, 14))
    lists = "# Contract\n\n## Duties\n\n(a) One.\n(b) Two.\n\n(a) Again.\n\n"
    (tmp_path / "misread.md").write_text(lists + named)
    list(ingest_files(find_files([tmp_path / "misread.md"]), tmp_path / "index"))
    with Index.open(tmp_path / "index") as index:
        gaps = audit(index.snapshot).gaps
    told = [gap for gap in gaps if gap.kind == "numbering_not_understood"]
    assert [gap.place for gap in told] == ["", "Duties > “(a) Again.”"]
    assert "6 sections that Pincite did not find" in told[0].message
    assert not any(gap.kind == "dangling_reference" for gap in gaps)


def test_statistics_count_what_is_searched(report: Audit) -> None:
    facts = report.statistics
    assert facts["searched"] == 2 * 5
    assert facts["places"]["clause"] == 2 * 4
    assert 0 < facts["chars_p50"] <= facts["chars_p95"] <= facts["chars_max"]


def test_editions_differ_where_they_were_made_to(samples: Index) -> None:
    changes = diff(samples.snapshot, "electrical-code-2021.md", "electrical-code-2024.md")
    kinds = {(change.kind, change.locator) for change in changes}
    assert ("removed", "240.33") in kinds
    assert ("added", "555.38") in kinds
    assert ("changed", "210.8(D)") in kinds
    (testing,) = [change for change in changes if change.locator == "210.8(D)"]
    assert [words for edition, words in testing.words() if edition == "old"] == ["six"]
    assert [words for edition, words in testing.words() if edition == "new"] == ["three"]
    assert not any(locator.startswith("110.3") for _, locator in kinds)


def test_a_renumbered_section_has_moved_with_all_that_is_in_it(
    make_index: Callable[..., Index],
) -> None:
    old = "# Code\n\n## 4.2 Lamps\n(a) A lamp hangs high.\n(b) A lamp is lit.\n"
    new = old.replace("4.2", "4.3") + "\n## 4.2 Signs\nA sign is white on green.\n"
    index = make_index({"old.md": old, "new.md": new.replace("is lit", "is lit by night")})
    changes = diff(index.snapshot, "old.md", "new.md")
    assert [(change.kind, change.locator) for change in changes] == [
        ("moved", "4.2 → 4.3"),
        ("moved", "4.2(b) → 4.3(b)"),  # with other words; (a) has only followed
        ("added", "4.2"),
    ]


def test_a_document_does_not_differ_from_itself(samples: Index) -> None:
    assert diff(samples.snapshot, "manual.md", "manual.md") == []


def test_a_removed_section_says_which_edition_has_it(samples: Index) -> None:
    with pytest.raises(PinciteError, match=r"it is in electrical-code-2021\.md"):
        samples.show("240.33", "electrical-code-2024.md")


def test_a_hit_in_a_table_is_narrowed_to_its_row(samples: Index) -> None:
    first = samples.search("error E-07").passages[0]
    assert first.citation.endswith("Table 4 > E-07")
    assert "| Code | Meaning |" in first.snippet and "E-07" in first.snippet


def test_cells_are_looked_up_with_ranges(samples: Index) -> None:
    (found,) = samples.cells(
        "Table 250.66", "95 mm²", "electrode copper", "electrical-code-2024.md"
    )
    assert (found.cell.value, found.cell.unit) == ("35", "mm²")
    assert found.citation.startswith("Table 250.66 > Over 70 through 150 > Electrode")
    with pytest.raises(PinciteError, match="not a table"):
        samples.cells("210.8(D)", "1", "x", "electrical-code-2024.md")


def test_a_section_whose_words_follow_its_number_is_not_empty(tmp_path: Path) -> None:
    lines = [f"1.{n} Fees. The tenant pays fee number {n} to the landlord." for n in range(1, 5)]
    (tmp_path / "lease.txt").write_text("LEASE\n\n1. PAYMENT\n\n" + "\n\n".join(lines))
    list(ingest_files(find_files([tmp_path / "lease.txt"]), tmp_path / "index"))
    with Index.open(tmp_path / "index") as index:
        assert index.show("1.3")
        assert not [gap for gap in audit(index.snapshot).gaps if gap.kind == "empty_section"]
