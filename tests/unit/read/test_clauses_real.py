"""The clause tree of real documents, where the shared data are at hand."""

from __future__ import annotations

import os
import re
import time
from functools import cache
from pathlib import Path

import pytest

from pincite.read.extracted import Clause
from pincite.read.formats.markdown import markdown_blocks
from pincite.read.structure.clauses import clause_tree

ROOT = Path(__file__).resolve().parents[3]
DATA = Path(os.environ.get("PINCITE_DATA", ROOT.parent / "shared" / "data"))
PART97 = DATA / "part97" / "part97.md"
SRD = DATA / "srd-5.2" / "src"

needs_part97 = pytest.mark.skipif(not PART97.is_file(), reason=f"{PART97} is absent")
needs_srd = pytest.mark.skipif(not SRD.is_dir(), reason=f"{SRD} is absent")


@cache
def part97() -> tuple[str, dict[str, Clause]]:
    text = PART97.read_text(encoding="utf-8")
    clauses = clause_tree(text, markdown_blocks(text), "Part 97")
    assert "".join(text[c.start : c.own_end] for c in clauses) == text
    found = {clause.locator: clause for clause in clauses}
    assert len(found) == len(clauses), "a locator occurs twice"
    return text, found


@needs_part97
@pytest.mark.parametrize(
    ("locator", "words"),
    [
        ("97.113(a)(4)", "(4) Music using a phone emission"),
        ("97.303(h)(1)", "(1) In the 5330.5"),
        ("97.303(i)", "(i) Amateur stations"),
        ("97.307(f)(14)(ii)(B)", "(B) The control operator"),
        ("97.3(a)(11)(iii)", "(iii) Special event"),
        ("97.3(c)(2)(iii)", "(iii) emissions A1C"),
        ("97.207(g)(1)(vii)(D)(2)(ii)", "(ii) An assessment"),
        ("97.303 Note", "NOTE TO"),
        ("97.307(f)(14)(i) Table 1", "TABLE 1 TO"),
        ("97.303(h)(1) Table", "60 M BAND"),
        ("Appendix 2", "# Appendix 2"),
        ("Subpart D", "# Subpart D"),
    ],
)
def test_places_in_part_97(locator: str, words: str) -> None:
    text, clauses = part97()
    assert text[clauses[locator].start :].startswith(words)


@needs_part97
def test_an_item_of_part_97_is_exactly_its_line() -> None:
    text, clauses = part97()
    clause = clauses["97.113(a)(4)"]
    assert "\n" not in text[clause.start : clause.end].rstrip("\n")


@needs_part97
def test_counts_of_part_97() -> None:
    _, clauses = part97()
    kinds = [clause.kind for clause in clauses.values()]
    numbered = [c for c in clauses.values() if c.kind == "section" and c.label.startswith("§")]
    assert (len(numbered), kinds.count("table"), kinds.count("note")) == (63, 9, 1)
    assert len([c for c in clauses.values() if c.label.startswith("Appendix")]) == 2


@needs_part97
def test_every_labelled_line_of_part_97_is_a_clause() -> None:
    text, clauses = part97()
    starts = {clause.start for clause in clauses.values()}
    lines = [match.start() for match in re.finditer(r"^\([0-9A-Za-z]+\) ", text, re.MULTILINE)]
    assert len(lines) > 500
    assert [text[start : start + 40] for start in lines if start not in starts] == []


@needs_srd
def test_a_rulebook_of_over_a_megabyte_takes_seconds() -> None:
    text = "\n\n".join(path.read_text(encoding="utf-8") for path in sorted(SRD.glob("*.md")))
    started = time.perf_counter()
    clauses = clause_tree(text, markdown_blocks(text), "Rules")
    assert time.perf_counter() - started < 15
    assert "".join(text[c.start : c.own_end] for c in clauses) == text
    assert {"Fireball", "Rules Definitions > Initiative"} <= {c.locator for c in clauses}
    assert not [c.locator for c in clauses if c.kind == "clause"]
